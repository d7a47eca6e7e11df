/* SPDX-License-Identifier: ISC */
/* Tables of handles that are noted, and whether the rest of a loop rests. */
#include "adapt/uv/noted.h"

#include <poll.h>

REAL(poll)
REAL(uv_fileno)
REAL(uv_is_active)
REAL(uv_walk)

/* ---- Tables ------------------------------------------------------------------------------------ */

struct noted *thrum__adapt_uv_note(struct noted_all *noted, uv_handle_t *handle, const void *place,
	also_look *look)
{
	for (int i = 0; i < noted->max; i++) {
		struct noted *one = &noted->all[i];
		uv_handle_t *expected = NULL;

		if (!atomic_compare_exchange_strong(&one->handle, &expected, handle))
			continue;
		one->epoll = handle->loop->backend_fd;
		one->process = own_pid();
		one->place = place;
		one->more = 0;
		one->since = rough_time();
		one->task = THRUM_TASK_NONE;
		raise_to(&noted->used, i + 1);
		thrum__adapt_look_also(look);
		return one;
	}
	return NULL;
}

struct noted *thrum__adapt_uv_noted(struct noted_all *noted, const void *handle)
{
	for (int i = 0; i < atomic_load_explicit(&noted->used, memory_order_relaxed); i++)
		if (atomic_load_explicit(&noted->all[i].handle, memory_order_relaxed) == handle)
			return &noted->all[i];
	return NULL;
}

void thrum__adapt_uv_unnote(struct noted *one)
{
	if (one->task && one->process == own_pid())
		thrum_task_resolve(one->task);
	atomic_store(&one->handle, NULL);
}

void thrum__adapt_uv_forget(struct noted_all *noted, const void *handle)
{
	struct noted *one;

	while ((one = thrum__adapt_uv_noted(noted, handle)) != NULL)
		thrum__adapt_uv_unnote(one);
}

struct noted *thrum__adapt_uv_next_noted(struct noted_all *noted, int *i, int epoll)
{
	while (*i < atomic_load(&noted->used)) {
		struct noted *one = &noted->all[(*i)++];

		if (atomic_load(&one->handle) && one->epoll == epoll && one->process == own_pid())
			return one;
	}
	return NULL;
}

/* ---- The rest of a loop ------------------------------------------------------------------------ */

struct rest {
	const void *except;
	bool (*is_inner)(int fd);
	bool may_go_on;
};

static void look_at_handle(uv_handle_t *handle, void *data)
{
	struct rest *rest = data;
	int fd;

	if (handle == rest->except || !real_uv_is_active(NULL)(handle))
		return;
	switch (handle->type) {
	case UV_ASYNC:
	case UV_PREPARE:
	case UV_CHECK: break;
	case UV_NAMED_PIPE:
	case UV_TCP:
		rest->may_go_on |= real_uv_fileno(NULL)(handle, &fd) != 0 || !rest->is_inner(fd);
		break;
	default: rest->may_go_on = true;
	}
}

bool thrum__adapt_uv_rests(const uv_loop_t *loop, const void *except, bool (*is_inner)(int fd))
{
	struct rest rest = {except, is_inner, loop->active_reqs.count > 0};
	struct pollfd events = {.fd = loop->backend_fd, .events = POLLIN};

	real_uv_walk(NULL)((uv_loop_t *)loop, look_at_handle, &rest);
	return !rest.may_go_on && real_poll(NULL)(&events, 1, 0) == 0;
}
