/* SPDX-License-Identifier: ISC */
/*
 * Streams of libuv that were accepted and never read, and sockets for datagrams whose receiving was
 * stopped. A loop's thread looks now and then. It tells of data that nobody takes only if a thread of this
 * program waits for an answer to it, and nothing is left that may go on: no request, no handle but streams
 * whose other ends are here, too, or that listen, and no thread that waits for a time or for the outside.
 */
#include "adapt/uv/noted.h"

#include <poll.h>
#include <string.h>

#define UNREAD_LONG 500000000 /* ns; it may be read as late */

/* By the place that accepted the stream, or stopped to receive. */
static struct noted_all unread = {.max = NOTED_MAX};

REAL(uv_accept)
REAL(uv_fileno)
REAL(uv_udp_recv_stop)

/* ---- Noting ------------------------------------------------------------------------------------ */

static thrum_task look(int epoll, bool is_waiting);

void thrum__adapt_uv_is_taken(const void *handle)
{
	thrum__adapt_uv_forget(&unread, handle);
}

STAND_IN int uv_accept(uv_stream_t *listener, uv_stream_t *stream)
{
	int result = real_uv_accept(CALLER)(listener, stream);

	if (result == 0 && thrum__adapt_uv_begin(CALLER) && !thrum__adapt_uv_noted(&unread, stream))
		thrum__adapt_uv_note(&unread, (uv_handle_t *)stream, thrum__adapt_caller(CALLER),
			look);
	return result;
}

STAND_IN int uv_udp_recv_stop(uv_udp_t *handle)
{
	if (thrum__adapt_uv_begin(CALLER) && !thrum__adapt_uv_noted(&unread, handle))
		thrum__adapt_uv_note(&unread, (uv_handle_t *)handle, thrum__adapt_caller(CALLER),
			look);
	return real_uv_udp_recv_stop(CALLER)(handle);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static bool is_inner(int fd)
{
	return thrum__adapt_origin(fd) == FROM_INSIDE || thrum__adapt_listens(fd);
}

static void look_at(struct noted *one)
{
	const struct looking looking = {.epoll = one->epoll, .is_endless = true};
	const uv_handle_t *handle = atomic_load(&one->handle);
	/* A socket for datagrams is as a door: many may send to it. */
	struct others others = {.event = POLLIN, .is_door = handle->type == UV_UDP};
	char label[CALL_MAX + PLACE_MAX + 40];

	if (one->task || rough_time() - one->since < UNREAD_LONG ||
		real_uv_fileno(NULL)(handle, &others.fd) != 0 ||
		!thrum__adapt_has_data(others.fd) ||
		!thrum__adapt_uv_rests(handle->loop, NULL, is_inner) ||
		!thrum__adapt_others_settle(&others, &looking) || others.origins & ~FROM_DOOR ||
		!thrum__adapt_has_data(others.fd))
		return;
	thrum__adapt_put_call(label, "unread data of", others.fd);
	thrum__adapt_label(label + strlen(label),
		others.is_door ? ", receiving stopped by" : ", not read since uv_accept in",
		one->place);
	one->task = thrum__adapt_look_tell(label, one->place, others.waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	if (is_waiting)
		thrum__adapt_uv_each_noted(&unread, epoll, look_at);
	return THRUM_TASK_NONE;
}
