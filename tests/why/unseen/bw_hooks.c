/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: deliver takes one of three slots and gives it back in on_accepted, so only if the receiver accepts.
 *     A delivery that is refused ("410 gone") keeps its slot. After three of those nobody gets a slot any more.
 *   culprit: deliver\b|on_accepted|Holds .slots|still holds .slots|with_slot
 *   victim: all hooks|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Sends web hooks, at most three at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	HOOKS = 16,
	SLOTS = 3,
	GONE = 410
};

struct hook {
	int number;
	bool gone;
};

static bool healthy;
static struct thrum_semaphore *slots;
static struct hook hooks[HOOKS];
static unsigned accepted, refused, beats;
static uv_timer_t statistics;

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	struct hook *hook = data;

	(void)value;
	if (hook->gone)
		return thrum_promise_fail(loop, GONE, "410 gone");
	return thrum_promise_return(loop, thrum_value_int(200));
}

/* Stands for the HTTP request. */
static struct thrum_promise *post(struct thrum_loop *loop, struct hook *hook)
{
	return thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, 15 + hook->number % 4 * 5),
					    answer, hook, NULL),
		"POST /hook/%d", hook->number);
}

static struct thrum_promise *on_accepted(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	accepted++;
	if (!healthy)
		thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *give_back(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *with_slot(struct thrum_loop *loop, void *value, void *data)
{
	struct hook *hook = data;
	struct thrum_promise *sent;

	(void)value;
	sent = thrum_promise_bind(post(loop, hook), on_accepted, hook, NULL);
	if (healthy)
		sent = thrum_promise_finalize(sent, give_back, NULL, NULL);
	return sent;
}

static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct hook *hook = data;

	if (failure->code != GONE)
		return thrum_promise_fail_again(loop, failure);
	printf("hook %d is unsubscribed: %s\n", hook->number, failure->message);
	refused++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *deliver(struct hook *hook)
{
	struct thrum_promise *done;

	done = thrum_promise_bind(thrum_semaphore_acquire(slots), with_slot, hook, NULL);
	done = thrum_promise_catch(done, on_refused, hook, NULL);
	done = thrum_promise_labelf(done, "deliver %d", hook->number);
	return thrum_promise_should_resolve(done);
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	if (++beats % 10 == 0)
		fprintf(stderr, "%u accepted, %u refused\n", accepted, refused);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[HOOKS], *end;
	struct thrum_loop *loop;
	uv_loop_t *uv = uv_default_loop();
	int result;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &statistics);
	uv_timer_start(&statistics, on_statistics, 50, 50);
	slots = thrum_semaphore_create(loop, "slots", SLOTS);
	for (int i = 0; i < HOOKS; i++) {
		hooks[i].number = i;
		hooks[i].gone = i == 2 || i == 5 || i == 9;
		all[i] = deliver(&hooks[i]);
	}
	end = thrum_promise_label(thrum_promise_join(loop, all, HOOKS), "all hooks");
	result = thrum_promise_run(thrum_promise_should_resolve(end));
	thrum_stop();
	printf("%u accepted, %u refused: %s\n", accepted, refused, result ? "failed" : "ok");
	thrum_semaphore_destroy(slots);
	uv_close((uv_handle_t *)&statistics, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return 0;
}
