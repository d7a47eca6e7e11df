/* SPDX-License-Identifier: ISC */
/* Writes several recordings to one file. */
#ifndef CAPTURE_BUNDLE_H
#define CAPTURE_BUNDLE_H

#include "line/command.h"

/* Writes copies of the recordings that the arguments name to a descriptor; `path` is its name. Returns
 * STATUS_OK, or another status after a message. */
int bundle_write(const struct command *, char *const *arguments, int count, const char *path,
	int fd);

#endif
