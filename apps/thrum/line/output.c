/* SPDX-License-Identifier: ISC */
/* Buffered output that remembers its first failure. */
#define _GNU_SOURCE
#include "line/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "line/command.h"
#include "line/pager.h"
#include "line/text.h"

#define BUFFER_SIZE (4 * OUTPUT_ROOM)

int output_open(struct output *out, int fd)
{
	char *buffer = malloc(BUFFER_SIZE);

	if (!buffer) {
		complain("out of memory");
		return -1;
	}
	*out = (struct output){buffer, buffer, buffer + BUFFER_SIZE, fd, 0};
	return 0;
}

/* Waits for a terminal or pipe that another program has made non-blocking. */
static void wait_writable(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};

	(void)poll(&wait, 1, -1);
}

int output_open_paged(struct output *out)
{
	pager_start();
	return output_open(out, STDOUT_FILENO);
}

void output_flush(struct output *out)
{
	const char *from = out->start;

	while (from < out->at && !out->error) {
		ssize_t n = write(out->fd, from, (size_t)(out->at - from));

		if (n >= 0)
			from += n;
		else if (errno == EAGAIN)
			wait_writable(out->fd);
		else if (errno != EINTR)
			out->error = errno;
	}
	out->at = out->start;
}

char *output_room(struct output *out, size_t size)
{
	if ((size_t)(out->end - out->at) < size)
		output_flush(out);
	return out->at;
}

void output_bytes(struct output *out, const char *bytes, size_t size)
{
	while (size > 0) {
		size_t n = size < OUTPUT_ROOM ? size : OUTPUT_ROOM;

		memcpy(output_room(out, n), bytes, n);
		out->at += n;
		bytes += n;
		size -= n;
	}
}

void output_text(struct output *out, const char *text)
{
	output_bytes(out, text, strlen(text));
}

void output_put(struct output *out, const char *text, size_t size,
	char *(*put)(char *, const char *, size_t), size_t growth)
{
	size_t most = OUTPUT_ROOM / growth;

	while (size > 0) {
		size_t n = size <= most ? size : most;

		/* Don't cut a UTF-8 character in two. */
		for (size_t back = 0;
			n < size && back < 3 && ((unsigned char)text[n] & 0xc0) == 0x80; back++)
			n--;
		out->at = put(output_room(out, n * growth), text, n);
		text += n;
		size -= n;
	}
}

void output_display(struct output *out, const char *text, size_t size, size_t columns)
{
	size_t room = 4 * size + 16, used;

	room = room < OUTPUT_ROOM ? room : OUTPUT_ROOM;
	out->at = put_display(output_room(out, room), room, text, size, columns, &used);
}

bool output_is_open(struct output *out)
{
	struct pollfd look = {.fd = out->fd, .events = 0};

	if (!out->error && poll(&look, 1, 0) == 1 && look.revents & POLLERR)
		out->error = EPIPE;
	return !out->error;
}

void output_ignore_sigpipe(void)
{
	signal(SIGPIPE, SIG_IGN);
}

int output_close(struct output *out)
{
	output_flush(out);
	free(out->start);
	out->start = out->at = out->end = NULL;
	if (!out->error || out->error == EPIPE)
		return STATUS_OK;
	complain("standard output: %s", strerror(out->error));
	return STATUS_FAILED;
}

unsigned output_columns(void)
{
	const char *variable = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;

	if (!isatty(pager_terminal()))
		return 0;
	if (ioctl(pager_terminal(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		columns = size.ws_col;
	else if (!variable || !parse_id(variable, strlen(variable), &columns) || columns > 10000)
		columns = 80;
	return columns < 40 ? 40 : (unsigned)columns;
}

/* Returns the size of the character, or of the change of colour or link, at `text`; sets its columns. */
static size_t size_of_character(const char *text, const char *end, size_t *columns)
{
	const char *at = text + 1;
	uint32_t character;
	size_t size;

	*columns = 0;
	if (*text == '\033') {
		/* A colour ends with m; a link begins with ] and ends with ESC and a backslash. */
		char last = at < end && *at == ']' ? '\\' : 'm';

		while (at < end && *at != last)
			at++;
		return (size_t)(at - text) + (at < end);
	}
	size = thrum__base_utf8_decode(text, (size_t)(end - text), &character);
	*columns = thrum__base_utf8_columns(character);
	return size > 0 ? size : 1;
}

/* Returns the size of the word at `text` with the spaces before it; sets their columns. */
static size_t size_of_word(const char *text, const char *end, size_t *columns)
{
	const char *at = text;

	for (*columns = 0; at < end && *at == ' '; at++)
		++*columns;
	while (at < end && *at != ' ') {
		size_t more;

		at += size_of_character(at, end, &more);
		*columns += more;
	}
	return (size_t)(at - text);
}

size_t output_begin_line(struct output *out)
{
	return (size_t)(output_room(out, OUTPUT_ROOM) - out->start);
}

void output_end_line(struct output *out, size_t begin, size_t indent)
{
	size_t room = output_columns(), size = (size_t)(out->at - out->start) - begin;
	size_t column = 0, width;
	char line[8192], *end = line + size;

	if (room == 0 || size > sizeof(line)) {
		output_text(out, "\n");
		return;
	}
	out->at -= size;
	memcpy(line, out->at, size);
	for (const char *at = line, *next; at < end; at = next) {
		next = at + size_of_word(at, end, &width);
		if (column > indent && column + width > room) {
			output_text(out, "\n");
			out->at = put_spaces(output_room(out, indent), indent);
			column = indent;
			while (at < next && *at == ' ')
				at++;
		}
		/* A word that is too long breaks anywhere. */
		for (size_t n; at < next; at += n) {
			n = size_of_character(at, end, &width);
			if (column + width > room) {
				output_text(out, "\n");
				column = 0;
			}
			output_bytes(out, at, n);
			column += width;
		}
	}
	output_text(out, "\n");
}

bool output_wants_color(int color)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(pager_terminal()) && !(no_color && *no_color) &&
		!(terminal && strcmp(terminal, "dumb") == 0);
}

int output_copy(int from, const char *path, int to)
{
	struct output out;
	char buffer[OUTPUT_ROOM];
	ssize_t size;
	int error;

	if (output_open(&out, to) < 0)
		return STATUS_FAILED;
	for (off_t at = 0; (size = pread(from, buffer, sizeof(buffer), at)) > 0; at += size)
		output_bytes(&out, buffer, (size_t)size);
	output_flush(&out);
	error = size < 0 ? errno : out.error;
	out.error = 0;
	(void)output_close(&out);
	if (error == 0 || (error == EPIPE && to == STDOUT_FILENO))
		return STATUS_OK;
	complain("%s: %s", path, strerror(error));
	return STATUS_FAILED;
}
