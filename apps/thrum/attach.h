/* SPDX-License-Identifier: ISC */
/* The parts of other commands of which `thrum attach` is made. */
#ifndef ATTACH_H
#define ATTACH_H

#include "output.h"

/* Copies a recording to a file, or, if name is NULL, to a free name in the current directory. */
int snapshot_to_file(const char *recording, const char *name);
/* Tells what of a process can be seen. Returns the exit status of `thrum doctor`. */
int doctor_process(struct output *, const char *name, long pid);

#endif
