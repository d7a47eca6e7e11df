/* SPDX-License-Identifier: ISC */
/*
 * Output through one big buffer. After a failed write everything is dropped, and output_close
 * reports the failure, so that callers need no checks in between.
 */
#ifndef LINE_OUTPUT_H
#define LINE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	char *start, *at, *end; /* `at` is where the next byte goes */
	int fd;
	int error; /* errno of the first write that failed, or 0 */
};

/* Bytes: the most that output_room gives. */
#define OUTPUT_ROOM 65536

/* Returns 0, or -1 after a message if memory is exhausted. */
int output_open(struct output *, int fd);
/* The same for standard output, which goes through a pager on a terminal. */
int output_open_paged(struct output *);

/* Makes a write to a pipe without a reader fail with EPIPE, which output_close takes for success,
 * instead of ending thrum. */
void output_ignore_sigpipe(void);

/* Returns a place with room for `size` bytes; the caller writes there and then sets `at`. */
char *output_room(struct output *, size_t size);

void output_bytes(struct output *, const char *bytes, size_t size);
void output_text(struct output *, const char *text);
void output_flush(struct output *);

/* Appends `text` piece by piece with a put_ function, which makes it at most `growth` times as
 * long. */
void output_put(struct output *, const char *text, size_t size,
	char *(*put)(char *, const char *, size_t), size_t growth);

/* Appends `text` as put_display makes it for people, cut to `columns` and to OUTPUT_ROOM bytes. */
void output_display(struct output *, const char *text, size_t size, size_t columns);

/* Returns whether no write has failed and the reader of a pipe is still there. */
bool output_is_open(struct output *);

/*
 * Flushes and frees. Returns the exit status: 0, also if the reader of a pipe has closed it; or 2
 * after a message.
 */
int output_close(struct output *);

/* Writes a copy of a file to the descriptor `to`; `path` is its name in messages. Returns the exit
 * status; a pipe whose reader has gone is success. */
int output_copy(int from, const char *path, int to);

/* The values of an option whose choices are COLOR_CHOICES. */
enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER
};
#define COLOR_CHOICES "auto|always|never"

/* Returns whether standard output gets colours. auto: on a terminal, unless NO_COLOR is set. */
bool output_wants_color(int color);

/* Returns how many columns a line on standard output may take, at least 40: those of the terminal, or
 * of COLUMNS if it doesn't know. 0: as many as it needs, because it goes elsewhere. */
unsigned output_columns(void);

/* Begins a line of at most 8 KiB, whose pieces take no more than that of room. Returns its place for
 * output_end_line, which breaks the line between words, so that it takes output_columns(); the
 * lines after the first begin with `indent` spaces. */
size_t output_begin_line(struct output *);
void output_end_line(struct output *, size_t begin, size_t indent);

#endif
