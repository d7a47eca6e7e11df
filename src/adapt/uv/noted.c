/* SPDX-License-Identifier: ISC */
/* Tables of handles that are noted, and whether the rest of a loop rests. */
#include "adapt/uv/noted.h"

#include <poll.h>

REAL(poll)
REAL(uv_fileno)
REAL(uv_is_active)
REAL(uv_timer_get_repeat)
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
		one->quiet = 0;
		one->overtaken = 0;
		one->task = THRUM_TASK_NONE;
		raise_to(&noted->used, i + 1);
		if (look)
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

void thrum__adapt_uv_each_noted(struct noted_all *noted, int epoll, void (*look_at)(struct noted *))
{
	struct noted *one;

	for (int i = 0; (one = thrum__adapt_uv_next_noted(noted, &i, epoll)) != NULL;)
		look_at(one);
}

/* ---- The rest of a loop ------------------------------------------------------------------------ */

/* A walk through a loop's handles. */
struct walk {
	const void *except;
	bool (*is_inner)(int fd);
	int64_t age;
	pid_t child;
	struct uv_rest rest;
};

static void look_at_stream(struct walk *walk, const uv_handle_t *handle)
{
	uv_os_fd_t fd;

	if (real_uv_fileno(NULL)(handle, &fd) != 0 || !walk->is_inner(fd))
		walk->rest.may_go_on = true;
	else if (thrum__adapt_pipe_waiter(fd))
		walk->rest.asked = fd;
}

static void look_at_handle(uv_handle_t *handle, void *data)
{
	struct walk *walk = data;
	uint64_t repeat;

	if (handle == walk->except || !real_uv_is_active(NULL)(handle))
		return;
	switch (handle->type) {
	case UV_ASYNC:
	case UV_PREPARE:
	case UV_CHECK: break;
	case UV_SIGNAL:
		walk->rest.has_signals = true;
		walk->rest.may_go_on |= !thrum__adapt_asks_to_end(((uv_signal_t *)handle)->signum);
		break;
	case UV_TIMER:
		repeat = real_uv_timer_get_repeat(NULL)((uv_timer_t *)handle);
		walk->rest.has_timers = true;
		walk->rest.may_go_on |= repeat == 0 || repeat > (uint64_t)walk->age / 2000000;
		break;
	case UV_NAMED_PIPE:
	case UV_TCP: look_at_stream(walk, handle); break;
	case UV_PROCESS:
		walk->rest.may_go_on |= ((uv_process_t *)handle)->pid != walk->child;
		break;
	default: walk->rest.may_go_on = true;
	}
}

static void look_at_all(const uv_loop_t *loop, struct walk *walk)
{
	walk->rest = (struct uv_rest){.may_go_on = loop->active_reqs.count > 0, .asked = -1};
	real_uv_walk(NULL)((uv_loop_t *)loop, look_at_handle, walk);
}

bool thrum__adapt_uv_is_still(const uv_loop_t *loop)
{
	struct pollfd events = {.fd = loop->backend_fd, .events = POLLIN};

	return real_poll(NULL)(&events, 1, 0) == 0;
}

bool thrum__adapt_uv_is_inner(int fd)
{
	return thrum__adapt_origin(fd) == FROM_INSIDE;
}

bool thrum__adapt_uv_rests(const uv_loop_t *loop, const void *except, bool (*is_inner)(int fd))
{
	struct walk walk = {.except = except, .is_inner = is_inner};

	look_at_all(loop, &walk);
	return !walk.rest.may_go_on && !walk.rest.has_timers && !walk.rest.has_signals &&
		thrum__adapt_uv_is_still(loop);
}

struct uv_rest thrum__adapt_uv_rest_of(const uv_loop_t *loop, int64_t age, pid_t child)
{
	struct walk walk = {.is_inner = thrum__adapt_uv_is_inner, .age = age, .child = child};

	look_at_all(loop, &walk);
	return walk.rest;
}

thrum_task thrum__adapt_uv_asker(const uv_loop_t *loop, const struct uv_rest *rest)
{
	const struct looking looking = {.epoll = loop->backend_fd, .is_endless = true};
	struct others others = {.fd = rest->asked, .event = POLLIN};

	return rest->asked >= 0 && thrum__adapt_others_settle(&others, &looking) &&
			!others.origins && thrum__adapt_uv_is_still(loop)
		? others.waiter
		: THRUM_TASK_NONE;
}
