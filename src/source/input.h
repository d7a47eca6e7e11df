/* SPDX-License-Identifier: ISC */
/*
 * source/: where a recording's bytes come from and where they go: files, standard input, processes,
 * CTF directories. Never parses.
 */
#ifndef SOURCE_INPUT_H
#define SOURCE_INPUT_H

#include <thrum/trace.h>

#include "format/format.h"

/*
 * Opens a file, or standard input as "-". What isn't a regular file (a pipe) is read to its end
 * first, into an unlinked temporary file. *input is to be closed with
 * thrum__source_close(input->owner). Returns 0 or a negative enum thrum_error.
 */
int thrum__source_open(const char *file, struct thrum__input *input, struct thrum_error_info *);
void thrum__source_close(void *owner);
/* The same for a regular file's descriptor, which it takes over, also on failure. */
int thrum__source_input_of(int fd, struct thrum__input *input);
/* Its file descriptor, to read only. */
int thrum__source_fd(const struct thrum__input *);

/* Reads the header of a recording of thrum's own, and refuses anything else. */
int thrum__source_header(const struct thrum__input *, struct thrum__header *,
	struct thrum_error_info *);

/* Whether somebody may still write to it. */
bool thrum__source_is_recorded_to(const struct thrum__header *);
/* Whether its process is gone without having stopped it. */
bool thrum__source_was_killed(const struct thrum__header *);
/* Copies a recording to an empty regular file, packet by packet under the reader's protocol. */
int thrum__source_copy(const struct thrum__input *, int to, uint64_t *overwritten);

/* A temporary file without a name, for reading and writing: its descriptor, or a negative enum
 * thrum_error. */
int thrum__source_temporary_file(void);
/* Writes all of it at the descriptor's position; returns 0 or a negative enum thrum_error. */
int thrum__source_write_all(int fd, const void *from, size_t size);
/* What errno means. */
int thrum__source_error_of(int number);

#endif
