/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: the object of util.c is in the cache already, but cc_object puts the asker into the list of waiters, which only the end of a compilation empties: "cached util.o" is never resolved. "request 5 util.c" and "session" wait behind it.
 *   culprit: cached util\.o|cc_object
 *   victim: session|request 5
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A compiler server with a cache of objects, on promises. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static bool broken;
static struct object {
	const char *name;
	int ms;
	enum {
		ABSENT,
		COMPILING,
		READY
	} state;
	struct thrum_resolver *waiters[8];
	int count;
} objects[] = {{"main.o", 60, ABSENT, {NULL}, 0}, {"util.o", 40, ABSENT, {NULL}, 0},
	{"net.o", 90, ABSENT, {NULL}, 0}};

static void compiled(struct thrum_loop *loop, void *value, void *data)
{
	struct object *object = data;
	int count = object->count;

	(void)loop, (void)value;
	object->state = READY;
	object->count = 0;
	for (int i = 0; i < count; i++)
		thrum_resolver_resolve(object->waiters[i], thrum_value_static(object->name));
}

static struct thrum_promise *cc_object(struct thrum_loop *loop, struct object *object)
{
	struct thrum_promise *promise;
	char label[40];

	if (object->state == READY && !broken)
		return thrum_promise_return(loop, thrum_value_static(object->name));
	snprintf(label, sizeof(label), "%s %s", object->state == READY ? "cached" : "object",
		object->name);
	promise = thrum_promise_task(loop, label, &object->waiters[object->count++]);
	if (object->state == ABSENT) {
		object->state = COMPILING;
		thrum_promise_on_success(thrum_sleep(loop, object->ms), compiled, object, NULL);
	}
	return promise;
}

struct request {
	int number;
	struct object *object;
	int at;
};

static struct thrum_promise *request_begin(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	return cc_object(loop, request->object);
}

static void tick(uv_timer_t *timer)
{
	(void)timer; /* statistics */
}

int main(int argc, char **argv)
{
	static struct request requests[] = {{1, &objects[0], 0}, {2, &objects[1], 5},
		{3, &objects[1], 20}, {4, &objects[2], 30}, {5, &objects[1], 120},
		{6, &objects[0], 400}};
	struct thrum_promise *promises[6];
	struct thrum_loop *loop;
	uv_timer_t statistics;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &statistics);
	uv_timer_start(&statistics, tick, 50, 50);
	if (broken)
		requests[5].object = &objects[2], requests[5].at = 60;
	else
		requests[5].at = 200;
	for (int i = 0; i < 6; i++) {
		promises[i] = thrum_promise_bind(thrum_sleep(loop, requests[i].at), request_begin,
			&requests[i], NULL);
		thrum_promise_labelf(promises[i], "request %d %.*sc", requests[i].number,
			(int)strlen(requests[i].object->name) - 1, requests[i].object->name);
	}
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, promises, 6), "session")));
	thrum_stop();
	uv_close((uv_handle_t *)&statistics, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("%d\n", result);
	return result ? 1 : 0;
}
