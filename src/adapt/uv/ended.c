/* SPDX-License-Identifier: ISC */
/*
 * Streams of libuv whose callback has read the end: the other side has said all, and may wait for an answer.
 * A loop's thread looks now and then. It tells only of an answer for which a thread of this program waits, if
 * nothing was written since the end was read, and nothing is left that may go on: no request, no handle but
 * streams whose other ends are here, too, and no thread that waits for anything else than such a stream, or
 * for the end of another thread.
 */
#include "adapt/uv/uv.h"

#include <poll.h>
#include <string.h>

#include "adapt/look/look.h"

#define ENDED_MAX 64         /* further streams are not looked at */
#define ENDED_LONG 500000000 /* ns; an answer may take as long */

/* Only the thread of the handle's loop uses the other members. */
static struct ended {
	uv_stream_t *_Atomic handle; /* NULL: it is free */
	int epoll;                   /* of its loop */
	pid_t process;               /* a child of it has a copy only */
	const void *callback;        /* which read the end */
	uint64_t turn;               /* of the last write, then */
	int64_t since;
	thrum_task task; /* that tells of it, or NONE */
} ended[ENDED_MAX];
static _Atomic int used; /* no entry from this one on was ever used */

REAL(poll)
REAL(uv_fileno)
REAL(uv_is_active)
REAL(uv_walk)

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
	int fd;

	if (!find_fd(handle, &fd))
		return;
	for (int i = 0; i < ENDED_MAX; i++) {
		uv_stream_t *expected = NULL;

		if (!atomic_compare_exchange_strong(&ended[i].handle, &expected, handle))
			continue;
		ended[i].epoll = handle->loop->backend_fd;
		ended[i].process = own_pid();
		ended[i].callback = callback;
		ended[i].turn = turn_of(fd);
		ended[i].since = rough_time();
		ended[i].task = THRUM_TASK_NONE;
		raise_to(&used, i + 1);
		thrum__adapt_look_also(look);
		return;
	}
}

void thrum__adapt_uv_read_anew(const uv_stream_t *handle)
{
	for (int i = 0; i < atomic_load_explicit(&used, memory_order_relaxed); i++) {
		if (atomic_load_explicit(&ended[i].handle, memory_order_relaxed) != handle)
			continue;
		if (ended[i].task && ended[i].process == own_pid())
			thrum_task_resolve(ended[i].task);
		atomic_store(&ended[i].handle, NULL);
	}
}

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Whether something else than a stream whose other end is here may go on. */
static void look_at_handle(uv_handle_t *handle, void *data)
{
	bool *may_go_on = data;
	int fd;

	if (!real_uv_is_active(NULL)(handle))
		return;
	switch (handle->type) {
	case UV_ASYNC:
	case UV_PREPARE:
	case UV_CHECK: break;
	case UV_NAMED_PIPE:
	case UV_TCP: *may_go_on |= !find_fd((uv_stream_t *)handle, &fd); break;
	default: *may_go_on = true;
	}
}

/* Whether nothing has come that the loop would take now, and nothing can come. */
static bool rests(uv_loop_t *loop)
{
	struct pollfd events = {.fd = loop->backend_fd, .events = POLLIN};
	bool may_go_on = false;

	real_uv_walk(NULL)(loop, look_at_handle, &may_go_on);
	return !may_go_on && loop->active_reqs.count == 0 && real_poll(NULL)(&events, 1, 0) == 0;
}

static void look_at(struct ended *one, const uv_stream_t *handle)
{
	struct others others = {.event = POLLIN};
	char label[CALL_MAX + PLACE_MAX + 40];

	if (one->task || rough_time() - one->since < ENDED_LONG || !find_fd(handle, &others.fd) ||
		turn_of(others.fd) != one->turn || !rests(handle->loop) ||
		!thrum__adapt_others_settle(&others,
			&(struct looking){.epoll = one->epoll, .is_endless = true}) ||
		others.origins || others.waits_for_more)
		return;
	thrum__adapt_put_call(label, "answer by", others.fd);
	thrum__adapt_label(label + strlen(label), ", whose end was read by", one->callback);
	/* A site is the place behind a call. */
	one->task = thrum__adapt_look_tell(label, (const char *)one->callback + 1, others.waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	for (int i = 0; i < atomic_load(&used) && is_waiting; i++) {
		const uv_stream_t *handle = atomic_load(&ended[i].handle);

		if (handle && ended[i].epoll == epoll && ended[i].process == own_pid())
			look_at(&ended[i], handle);
	}
	return THRUM_TASK_NONE;
}
