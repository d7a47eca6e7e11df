/* SPDX-License-Identifier: ISC */
/* Parts of other commands that `thrum attach` uses. */
#ifndef CAPTURE_ATTACH_H
#define CAPTURE_ATTACH_H

#include "line/output.h"

/* Copies a recording to a file, or, if name is NULL, to a free name in the current directory. */
int snapshot_to_file(const char *recording, const char *name);
/* Says what can be seen of a process. Returns the exit status of `thrum doctor`. */
int doctor_process(struct output *, const char *name, long pid);

#endif
