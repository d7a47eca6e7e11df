/* SPDX-License-Identifier: ISC */
/* Time. */
#include "promise/uv/glue.h"
#include <string.h>

struct sleeper {
	struct thrum__promise_held held;
	uv_timer_t timer;
};

static void stop_timer(struct thrum__promise_held *held)
{
	thrum__promise_uv_close((uv_handle_t *)&((struct sleeper *)held)->timer);
}

static void sleep_canceled(struct thrum_resolver *resolver, void *data)
{
	struct sleeper *sleeper = data;

	sleeper->held.resolver = NULL;
	stop_timer(&sleeper->held);
	thrum_resolver_drop(resolver);
}

static void timer_fired(uv_timer_t *timer)
{
	struct sleeper *sleeper = timer->data;

	stop_timer(&sleeper->held);
	thrum__promise_uv_resolve(&sleeper->held.resolver, thrum_value_none());
}

static struct thrum_promise *begin_sleep(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, uint64_t milliseconds)
{
	struct sleeper *sleeper = loop ? thrum__promise_hold(loop, sizeof(*sleeper), stop_timer)
				       : NULL;
	struct thrum_promise *promise;
	bool began;

	if (!sleeper)
		return thrum__promise_no_memory(loop);
	promise = thrum__promise_uv_begin(&sleeper->held, site, THRUM_KIND_TIMER, label,
		sleep_canceled, &began);
	if (!began)
		return promise;
	thrum_task_due(thrum_promise_task_id(promise),
		milliseconds < INT64_MAX / 1000000 ? (int64_t)milliseconds * 1000000 : INT64_MAX);
	/* In libuv neither call can fail. Its own time is that of its last look at the clock, so it
	 * looks again. */
	uv_timer_init(thrum_loop_uv(loop), &sleeper->timer);
	sleeper->timer.data = sleeper;
	uv_update_time(thrum_loop_uv(loop));
	uv_timer_start(&sleeper->timer, timer_fired, milliseconds, 0);
	return promise;
}

#define LABEL_SIZE 40

/* Returns a label such as `timeout 400 ms`, or NULL while nothing is recorded. A server has a timer for
 * each request, so it is made by hand. */
static const char *make_label(char label[LABEL_SIZE], const char *word, uint64_t milliseconds)
{
	char *at = label + LABEL_SIZE - sizeof(" ms");
	size_t length = strlen(word);

	if (!thrum_enabled())
		return NULL;
	memcpy(at, " ms", sizeof(" ms"));
	do {
		*--at = (char)('0' + milliseconds % 10);
		milliseconds /= 10;
	} while (milliseconds);
	return memcpy(at - length, word, length);
}

struct thrum_promise *thrum__sleep(struct thrum_site *site, struct thrum_loop *loop,
	uint64_t milliseconds)
{
	char label[LABEL_SIZE];

	return begin_sleep(site, loop, make_label(label, "sleep ", milliseconds), milliseconds);
}

/* `data` is the call's site, which is never freed. */
static struct thrum_promise *fail_timed_out(struct thrum_loop *loop, void *value, void *data)
{
	return thrum__promise_fail_code(data, loop, -ETIMEDOUT);
}

struct thrum_promise *thrum__timeout(struct thrum_site *site, struct thrum_promise *promise,
	uint64_t milliseconds)
{
	struct thrum_loop *loop = thrum__promise_loop_of(promise);
	struct thrum_promise *timer;
	char label[LABEL_SIZE];

	if (!promise || thrum_promise_state(promise) != THRUM_PROMISE_PENDING)
		return promise;
	timer = begin_sleep(site, loop, make_label(label, "timeout ", milliseconds), milliseconds);
	timer = thrum__promise_bind(site, timer, fail_timed_out, site, NULL);
	return thrum__promise_pick(site, loop, (struct thrum_promise *[]){promise, timer}, 2);
}
