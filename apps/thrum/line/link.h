/* SPDX-License-Identifier: ISC */
/* Links to source files in text on a terminal. */
#ifndef LINE_LINK_H
#define LINE_LINK_H

#include "line/output.h"

/* Makes what follows a link to a source file, until link_end, if standard output is a terminal that
 * gets colours and the file exists on this machine. Returns whether it did. */
bool link_begin(struct output *, const char *file);
void link_end(struct output *);

#endif
