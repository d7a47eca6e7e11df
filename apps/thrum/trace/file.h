/* SPDX-License-Identifier: ISC */
/* Writes files that appear complete or not at all. */
#ifndef TRACE_FILE_H
#define TRACE_FILE_H

enum file_kind {
	FILE_RECORDING, /* private; it may replace an older recording, but no other file */
	FILE_OUTPUT,    /* with the usual permissions; it may replace any file but a trace */
};

/*
 * Opens a file, or standard output for "-", and calls `write` to fill it. A regular file gets its name
 * when it is complete: a failure or a signal that ends thrum leaves nothing behind. Symbolic links are
 * never replaced; pipes and devices are written directly. Returns the status of `write`, or
 * STATUS_FAILED after a message.
 */
int file_write(const char *file, enum file_kind,
	int (*write)(void *context, const char *path, int fd), void *context);

/* Makes a folder and those above it, unless they are there. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
int file_make_folders(const char *path);

#endif
