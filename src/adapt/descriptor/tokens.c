/* SPDX-License-Identifier: ISC */
/*
 * Pipes that hold tokens, such as those of make, and that fork's children got: each job takes a byte, and
 * gives it back. The bytes that are in a pipe when others get it are its tokens, if they are few. It is noted
 * which thread takes one, also while nothing is recorded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "adapt/descriptor/descriptor.h"
#include "adapt/shared/sets.h"

#define PIPES 32u
#define RETURNS_MIN 3 /* so many must have been given back: else its bytes may be jobs */

static struct pipe {
	int from, to;
} pipes[PIPES];
static _Atomic uint32_t made;
/* By descriptor that is DESCRIPTOR_TOKENS: the number of its pipe. */
static _Atomic uint8_t pipe_at[DESCRIPTORS];

static const struct pipe *pipe_of(int fd)
{
	return &pipes[atomic_load(&pipe_at[fd])];
}

static int value_of(const void *address)
{
	const struct pipe *pipe = address;
	int value;

	return is_of_tokens(pipe->from) && pipe_of(pipe->from) == pipe &&
			ioctl(pipe->from, FIONREAD, &value) == 0
		? value
		: -1;
}

static void put_name(char *to, const void *address)
{
	const struct pipe *pipe = address;

	to = thrum__adapt_put_number(stpcpy(to, "shared tokens of pipe "), (uint64_t)pipe->to);
	*thrum__adapt_put_number(stpcpy(to, " to "), (uint64_t)pipe->from) = '\0';
}

static const struct share_kind in_pipe = {value_of, put_name, RETURNS_MIN};

/* The place of a pipe gets another one. */
static void leave(int fd, uint32_t n)
{
	if (is_of_tokens(fd) && atomic_load(&pipe_at[fd]) == n)
		atomic_fetch_and(&thrum__adapt_descriptors[fd], (uint8_t)~DESCRIPTOR_TOKENS);
}

void thrum__adapt_tokens_begin(int from, int to)
{
	int count, error = errno;
	uint32_t n;

	if (ioctl(from, FIONREAD, &count) == 0 && count > 0 && count <= FORKS_PERMITS) {
		n = atomic_fetch_add(&made, 1) % PIPES;
		leave(pipes[n].from, n);
		leave(pipes[n].to, n);
		pipes[n] = (struct pipe){from, to};
		atomic_store(&pipe_at[from], (uint8_t)n);
		atomic_store(&pipe_at[to], (uint8_t)n);
		thrum__adapt_share_begins(&pipes[n], (unsigned)count, &in_pipe);
		atomic_fetch_or(&thrum__adapt_descriptors[from], DESCRIPTOR_TOKENS);
		atomic_fetch_or(&thrum__adapt_descriptors[to], DESCRIPTOR_TOKENS);
	}
	errno = error;
}

void thrum__adapt_tokens_end(int fd)
{
	if (is_of_tokens(fd))
		share_spoils(pipe_of(fd));
}

void thrum__adapt_tokens_took(int fd, ssize_t size, const void *caller)
{
	if (size == 1)
		share_takes(pipe_of(fd), caller);
	else if (size > 0)
		share_spoils(pipe_of(fd));
}

void thrum__adapt_tokens_gives(int fd, size_t size)
{
	if (size == 1)
		share_gives(pipe_of(fd), NULL);
	else if (size > 0)
		share_spoils(pipe_of(fd));
}

uint64_t thrum__adapt_tokens_key(int fd)
{
	return is_of_tokens(fd) ? thrum__adapt_share_key(pipe_of(fd)) : 0;
}
