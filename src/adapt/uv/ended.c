/* SPDX-License-Identifier: ISC */
/*
 * Streams of libuv whose callback has read the end: the other side has said all, and may wait for an answer.
 * A loop's thread looks now and then. It tells only of an answer for which a thread of this program waits, if
 * nothing was written since the end was read, and nothing is left that may go on: no request, no handle but
 * streams whose other ends are here, too, and no thread that waits for anything else than such a stream, or
 * for the end of another thread.
 */
#include "adapt/uv/noted.h"

#include <poll.h>
#include <string.h>

#define ENDED_LONG 500000000 /* ns; an answer may take as long */

/* By the callback that read the end; `more` is the turn of the last write then. */
static struct noted_all ended = {.max = NOTED_MAX};

REAL(uv_fileno)

static uint64_t turn_of(int fd)
{
	return thrum__adapt_pipe_turn(thrum__adapt_pipe_other(fd, false));
}

static bool find_fd(const uv_stream_t *handle, int *fd)
{
	return real_uv_fileno(NULL)((const uv_handle_t *)handle, fd) == 0 && is_of_own_pipe(*fd);
}

/* ---- Noting ------------------------------------------------------------------------------------ */

static thrum_task look(int epoll, bool is_waiting);

void thrum__adapt_uv_read_end(uv_stream_t *handle, const void *callback)
{
	struct noted *one;
	int fd;

	if (!find_fd(handle, &fd))
		return;
	one = thrum__adapt_uv_note(&ended, (uv_handle_t *)handle, callback, look);
	if (one)
		one->more = turn_of(fd);
}

void thrum__adapt_uv_read_anew(const uv_stream_t *handle)
{
	thrum__adapt_uv_forget(&ended, handle);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static bool is_inner(int fd)
{
	return is_of_own_pipe(fd);
}

static void look_at(struct noted *one)
{
	const uv_stream_t *handle = (const void *)atomic_load(&one->handle);
	struct others others = {.event = POLLIN};
	char label[CALL_MAX + PLACE_MAX + 40];

	if (one->task || rough_time() - one->since < ENDED_LONG || !find_fd(handle, &others.fd) ||
		turn_of(others.fd) != one->more ||
		!thrum__adapt_uv_rests(handle->loop, NULL, is_inner) ||
		!thrum__adapt_others_settle(&others,
			&(struct looking){.epoll = one->epoll, .is_endless = true}) ||
		others.origins || others.waits_for_more)
		return;
	thrum__adapt_put_call(label, "answer by", others.fd);
	thrum__adapt_label(label + strlen(label), ", whose end was read by", one->place);
	/* A site is the place behind a call. */
	one->task = thrum__adapt_look_tell(label, (const char *)one->place + 1, others.waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	if (is_waiting)
		thrum__adapt_uv_each_noted(&ended, epoll, look_at);
	return THRUM_TASK_NONE;
}
