/* SPDX-License-Identifier: ISC */
/*
 * Standard output through one big buffer. The first failure is remembered, what comes after it is
 * dropped, and output_close tells; so nobody in between has to look.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	char *start, *at, *end; /* `at` is where the next byte goes */
	int fd;
	int error; /* errno of the first write that failed, or 0 */
};

/* The most that output_room gives. */
#define OUTPUT_ROOM 65536

/* Returns 0, or -1 when there is no memory, which it has then said. */
int output_open(struct output *, int fd);

/* Room for `size` bytes at the place returned, to be followed by setting `at`. */
char *output_room(struct output *, size_t size);

void output_bytes(struct output *, const char *bytes, size_t size);
void output_text(struct output *, const char *text);
void output_flush(struct output *);

/* Appends `text` piece by piece, with a put_ function that grows it at most `growth` times. */
void output_put(struct output *, const char *text, size_t size,
	char *(*put)(char *, const char *, size_t), size_t growth);

/* Appends `text` as put_display makes it for people, cut to `columns`. At most OUTPUT_ROOM bytes.
 */
void output_display(struct output *, const char *text, size_t size, size_t columns);

/* Whether there is any sense in going on: nothing failed, and a reader of a pipe is still there. */
bool output_is_open(struct output *);

/*
 * Flushes and frees. Returns the exit status: 0, also when the reader of a pipe had enough; else 2,
 * and the reason was printed.
 */
int output_close(struct output *);

/* Values of an option of the choices COLOR_CHOICES. */
enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER
};
#define COLOR_CHOICES "auto|always|never"

/* Whether standard output gets colours. auto: on a terminal, unless NO_COLOR is set. */
bool output_wants_color(int color);

#endif
