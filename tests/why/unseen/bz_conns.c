/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: give hands the connection to the first in the line, also if that one's wait has timed out; then
 *     nobody has the connection
 *   culprit: is woken for “connection”
 *   victim: query 1[0-9]|all
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_loop *loop;
static bool is_broken;
static uv_timer_t heart;
static int beats;

static void on_heart(uv_timer_t *timer)
{
	(void)timer;
	beats++;
	thrum_promise_ignore_result(thrum_promise_label(thrum_sleep(loop, 2), "heartbeat"));
}

static void begin(int argc, char **argv)
{
	is_broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		exit(1);
	uv_timer_init(uv_default_loop(), &heart);
	uv_timer_start(&heart, on_heart, 10, 20);
}

static int finish(struct thrum_promise *all)
{
	int result = thrum_promise_run(thrum_promise_should_resolve(all));

	thrum_stop();
	return result ? 1 : 0;
}

/* A pool of two connections; a query waits at most 60 ms for one. */
struct wait {
	struct wait *next;
	struct thrum_resolver *resolver;
};
static int idle = 2, numbers;
static struct wait *line, **line_end = &line;

static void give(void)
{
	struct wait *wait;

	while ((wait = line)) {
		bool is_wanted = thrum_resolver_wanted(wait->resolver);

		line = wait->next;
		if (!line)
			line_end = &line;
		thrum_resolver_resolve(wait->resolver, thrum_value_none());
		free(wait);
		if (is_wanted || is_broken)
			return;
	}
	idle++;
}

static struct thrum_promise *take(void)
{
	struct wait *wait;
	struct thrum_promise *promise;

	if (idle > 0) {
		idle--;
		return thrum_promise_return(loop, thrum_value_none());
	}
	wait = calloc(1, sizeof(*wait));
	promise = thrum_promise_task(loop, "connection", &wait->resolver);
	*line_end = wait;
	line_end = &wait->next;
	return promise;
}

static struct thrum_promise *on_answer(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	give();
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *on_connection(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(l, (uint64_t)(intptr_t)data), on_answer, NULL, NULL);
}

static struct thrum_promise *ask(int ms, int patience)
{
	struct thrum_promise *connection = take();

	if (patience)
		connection = thrum_timeout(connection, (uint64_t)patience);
	return thrum_promise_labelf(thrum_promise_bind(connection, on_connection,
					    (void *)(intptr_t)ms, NULL),
		"query %d", ++numbers);
}

static struct thrum_promise *ignore(struct thrum_loop *l, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	(void)data;
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *client(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_promise *all[4];

	(void)value;
	(void)data;
	if (numbers >= 40)
		return thrum_promise_return(l, thrum_value_none());
	for (int i = 0; i < 4; i++)
		all[i] = thrum_promise_catch(ask(numbers == 8 || numbers == 9 || numbers == 20 ||
								     numbers == 21
							     ? 50
							     : 3,
						     30),
			ignore, NULL, NULL);
	return thrum_promise_bind(thrum_promise_join(l, all, 4), client, NULL, NULL);
}

static struct thrum_promise *last(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)l;
	(void)data;
	return ask(5, 0);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	return finish(
		thrum_promise_label(thrum_promise_bind(client(loop, NULL, NULL), last, NULL, NULL),
			"all"));
}
