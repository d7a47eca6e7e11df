/* SPDX-License-Identifier: ISC */
/*
 * Listening streams of libuv whose callback returned without uv_accept: libuv then asks for no more
 * connections until the program accepts the one that came. A loop's thread looks now and then. It tells of
 * that only if a thread of this program waits for an answer by such a connection, and nothing is left that
 * may go on: no request, no handle but streams whose other ends are here, too, and no thread that waits for a
 * time or for the outside.
 */
#include "adapt/uv/noted.h"

#include <poll.h>
#include <string.h>

#define LEFT_LONG 500000000 /* ns; it may be accepted as late */

/* By the callback that did not accept. */
static struct noted_all left = {.max = 16};

REAL(uv_fileno)

/* ---- Noting ------------------------------------------------------------------------------------ */

static thrum_task look(int epoll, bool is_waiting);

void thrum__adapt_uv_listens_anew(const uv_stream_t *handle)
{
	thrum__adapt_uv_forget(&left, handle);
}

void thrum__adapt_uv_connected(uv_stream_t *handle, const void *callback)
{
	thrum__adapt_uv_forget(&left, handle);
	if (handle->accepted_fd >= 0)
		thrum__adapt_uv_note(&left, (uv_handle_t *)handle, callback, look);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Whether a thread waits for the other end of the connection that came, or of one in the queue behind it. */
static bool find_waiter(const struct noted *one, int accepted, int door, struct others *others)
{
	const struct looking looking = {.epoll = one->epoll, .is_endless = true};

	*others = (struct others){.fd = accepted, .event = POLLIN};
	if (thrum__adapt_others_settle(others, &looking) && !(others->origins & ~FROM_DOOR))
		return true;
	*others = (struct others){.fd = door, .event = POLLIN, .is_door = true};
	return thrum__adapt_others_settle(others, &looking) && !(others->origins & ~FROM_DOOR);
}

static void look_at(struct noted *one)
{
	const uv_stream_t *handle = (const void *)atomic_load(&one->handle);
	char label[CALL_MAX + PLACE_MAX + 40];
	struct others others;
	int fd;

	if (handle->accepted_fd < 0) {
		thrum__adapt_uv_unnote(one);
		return;
	}
	if (one->task || rough_time() - one->since < LEFT_LONG ||
		real_uv_fileno(NULL)((const uv_handle_t *)handle, &fd) != 0 ||
		!thrum__adapt_uv_rests(handle->loop, handle, thrum__adapt_uv_is_inner) ||
		!find_waiter(one, handle->accepted_fd, fd, &others))
		return;
	thrum__adapt_put_call(label, "queued connections of", fd);
	thrum__adapt_label(label + strlen(label), ", not accepted by the callback", one->place);
	/* A site is the place behind a call. */
	one->task = thrum__adapt_look_tell(label, (const char *)one->place + 1, others.waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	if (is_waiting)
		thrum__adapt_uv_each_noted(&left, epoll, look_at);
	return THRUM_TASK_NONE;
}
