/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: A call takes a place of the semaphore "api slots", and on_reply gives it back, but only if the call was
 *     answered well. After three answers 429 all places are lost, and the calls that come then wait for ever.
 *   culprit: api slots|on_reply|on_slot
 *   victim: call \d+
 * case: healthy
 *   args: healthy
 *   run: self kill 2000
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CALLS 40
#define SLOTS 3
#define TOO_MANY 429

struct call {
	int number;
	const char *path;
};

static const char *const paths[] = {"/users", "/orders", "/stock", "/prices"};
static struct call calls[CALLS];
static struct thrum_semaphore *slots;
static bool healthy;
static int answered, refused;

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;

	(void)value;
	if (call->number % 8 == 5)
		return thrum_promise_fail(loop, TOO_MANY, "429 for %s", call->path);
	return thrum_promise_return(loop, thrum_value_int(200));
}

/* The service answers after a while. */
static struct thrum_promise *http_get(struct thrum_loop *loop, struct call *call)
{
	struct thrum_promise *reply = thrum_sleep(loop, 5 + call->number % 4 * 3);

	return thrum_promise_label(thrum_promise_bind(reply, answer, call, NULL), "GET");
}

static struct thrum_promise *on_reply(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	(void)value;
	answered++;
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

static struct thrum_promise *on_slot(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *reply = http_get(loop, data);

	(void)value;
	reply = thrum_promise_bind(reply, on_reply, data, NULL);
	if (healthy)
		reply = thrum_promise_finalize(reply, give_back, NULL, NULL);
	return reply;
}

/* The next run of the importer asks again. */
static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	if (failure->code != TOO_MANY)
		return thrum_promise_fail_again(loop, failure);
	refused++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *begin_call(struct thrum_loop *loop, void *data)
{
	struct call *call = data;
	struct thrum_promise *whole = thrum_promise_bind(thrum_semaphore_acquire(slots), on_slot,
		call, NULL);

	(void)loop;
	whole = thrum_promise_catch(whole, on_refused, call, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(whole, "call %d", call->number));
}

static struct thrum_promise *next_call(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;

	(void)value;
	thrum_promise_ignore_result(begin_call(loop, call));
	if (call->number + 1 == CALLS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 10), next_call, call + 1, NULL);
}

static struct thrum_promise *report(struct thrum_loop *loop, void *value, void *data)
{
	int *last = data;

	(void)value;
	if (answered != *last) {
		printf("%d answered, %d refused\n", answered, refused);
		fflush(stdout);
	}
	*last = answered;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 100), "report"), report,
		last, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int last = 0;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	slots = thrum_semaphore_create(loop, "api slots", SLOTS);
	for (int i = 0; i < CALLS; i++) {
		calls[i].number = i;
		calls[i].path = paths[i % 4];
	}
	thrum_promise_ignore_result(thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 10),
								next_call, calls, NULL),
		"importer"));
	thrum_promise_ignore_result(
		thrum_promise_bind(thrum_sleep(loop, 100), report, &last, NULL));
	uv_run(&uv, UV_RUN_DEFAULT);
	return 0;
}
