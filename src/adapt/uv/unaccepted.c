/* SPDX-License-Identifier: ISC */
/*
 * Listening streams of libuv whose callback returned without uv_accept: libuv then asks for no more
 * connections until the program accepts the one that came. A loop's thread looks now and then. It tells of
 * that only if a thread of this program waits for an answer by such a connection, and nothing is left that
 * may go on: no request, no handle but streams whose other ends are here, too, and no thread that waits for a
 * time or for the outside.
 */
#include "adapt/uv/uv.h"

#include <poll.h>
#include <string.h>

#include "adapt/look/look.h"

#define LEFT_MAX 16         /* further listeners are not looked at */
#define LEFT_LONG 500000000 /* ns; it may be accepted as late */

/* Only the thread of the handle's loop uses the other members. */
static struct left {
	uv_stream_t *_Atomic handle; /* NULL: it is free */
	int epoll;                   /* of its loop */
	pid_t process;               /* a child of it has a copy only */
	const void *callback;        /* which did not accept */
	int64_t since;
	thrum_task task; /* that tells of it, or NONE */
} left[LEFT_MAX];
static _Atomic int used; /* no entry from this one on was ever used */

REAL(poll)
REAL(uv_fileno)
REAL(uv_is_active)
REAL(uv_walk)

/* ---- Noting ------------------------------------------------------------------------------------ */

static thrum_task look(int epoll, bool is_waiting);

static void forget(struct left *one)
{
	if (one->task && one->process == own_pid())
		thrum_task_resolve(one->task);
	atomic_store(&one->handle, NULL);
}

void thrum__adapt_uv_listens_anew(const uv_stream_t *handle)
{
	for (int i = 0; i < atomic_load_explicit(&used, memory_order_relaxed); i++)
		if (atomic_load_explicit(&left[i].handle, memory_order_relaxed) == handle)
			forget(&left[i]);
}

void thrum__adapt_uv_connected(uv_stream_t *handle, const void *callback)
{
	thrum__adapt_uv_listens_anew(handle);
	if (handle->accepted_fd < 0)
		return;
	for (int i = 0; i < LEFT_MAX; i++) {
		uv_stream_t *expected = NULL;

		if (!atomic_compare_exchange_strong(&left[i].handle, &expected, handle))
			continue;
		left[i].epoll = handle->loop->backend_fd;
		left[i].process = own_pid();
		left[i].callback = callback;
		left[i].since = rough_time();
		left[i].task = THRUM_TASK_NONE;
		raise_to(&used, i + 1);
		thrum__adapt_look_also(look);
		return;
	}
}

/* ---- Looking ----------------------------------------------------------------------------------- */

/* The rest of a loop, beside a listener. */
struct rest {
	const uv_stream_t *listener;
	bool may_go_on;
};

static void look_at_handle(uv_handle_t *handle, void *data)
{
	struct rest *rest = data;
	int fd;

	if (handle == (const uv_handle_t *)rest->listener || !real_uv_is_active(NULL)(handle))
		return;
	switch (handle->type) {
	case UV_ASYNC:
	case UV_PREPARE:
	case UV_CHECK: break;
	case UV_NAMED_PIPE:
	case UV_TCP:
		rest->may_go_on |= real_uv_fileno(NULL)(handle, &fd) != 0 ||
			thrum__adapt_origin(fd) != FROM_INSIDE;
		break;
	default: rest->may_go_on = true;
	}
}

/* Whether nothing has come that the loop would take now, and nothing can come. */
static bool rests(const uv_stream_t *listener)
{
	struct rest rest = {listener, listener->loop->active_reqs.count > 0};
	struct pollfd events = {.fd = listener->loop->backend_fd, .events = POLLIN};

	real_uv_walk(NULL)(listener->loop, look_at_handle, &rest);
	return !rest.may_go_on && real_poll(NULL)(&events, 1, 0) == 0;
}

/* Whether a thread waits for the other end of the connection that came, or of one in the queue behind it. */
static bool find_waiter(const struct left *one, int accepted, int door, struct others *others)
{
	const struct looking looking = {.epoll = one->epoll, .is_endless = true};

	*others = (struct others){.fd = accepted, .event = POLLIN};
	if (thrum__adapt_others_settle(others, &looking) && !(others->origins & ~FROM_DOOR))
		return true;
	*others = (struct others){.fd = door, .event = POLLIN, .is_door = true};
	return thrum__adapt_others_settle(others, &looking) && !(others->origins & ~FROM_DOOR);
}

static void look_at(struct left *one, const uv_stream_t *handle)
{
	char label[CALL_MAX + PLACE_MAX + 40];
	struct others others;
	int fd;

	if (handle->accepted_fd < 0) {
		forget(one);
		return;
	}
	if (one->task || rough_time() - one->since < LEFT_LONG ||
		real_uv_fileno(NULL)((const uv_handle_t *)handle, &fd) != 0 || !rests(handle) ||
		!find_waiter(one, handle->accepted_fd, fd, &others))
		return;
	thrum__adapt_put_call(label, "queued connections of", fd);
	thrum__adapt_label(label + strlen(label), ", not accepted by the callback", one->callback);
	/* A site is the place behind a call. */
	one->task = thrum__adapt_look_tell(label, (const char *)one->callback + 1, others.waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	for (int i = 0; i < atomic_load(&used) && is_waiting; i++) {
		const uv_stream_t *handle = atomic_load(&left[i].handle);

		if (handle && left[i].epoll == epoll && left[i].process == own_pid())
			look_at(&left[i], handle);
	}
	return THRUM_TASK_NONE;
}
