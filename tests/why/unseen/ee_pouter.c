/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: fetch_profile makes a promise of its own and resolves it from within the chain; when the chain fails
 *     ("read profile 3" fails), the handler log_failure only logs, and the outer promise "profile 3" is never ended.
 *     The page waits for it.
 *   culprit: read profile 3|log_failure|profile 3\b.*(fail|nobody|never)
 *   victim: profile 3|page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Pages that are made of several profiles, on promises. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PROFILES 5

static bool broken;
static int ticks, failures;
static uv_timer_t heartbeat;

struct fetch {
	struct thrum_resolver *outer;
	int number;
};

static void on_heartbeat(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

static struct thrum_promise *parse(struct thrum_loop *loop, void *value, void *data)
{
	struct fetch *fetch = data;

	(void)value;
	if (fetch->number == 3)
		return thrum_promise_fail(loop, -5, "the profile is damaged");
	return thrum_promise_return(loop, thrum_value_int(fetch->number));
}

static void give_profile(struct thrum_loop *loop, void *value, void *data)
{
	struct fetch *fetch = data;

	(void)loop;
	thrum_resolver_resolve(fetch->outer, thrum_value_int(thrum_int(value)));
}

static void log_failure(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	struct fetch *fetch = data;

	(void)loop;
	(void)failure;
	failures++;
	if (!broken)
		thrum_resolver_resolve(fetch->outer, thrum_value_int(0));
}

static struct thrum_promise *fetch_profile(struct thrum_loop *loop, int number)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	struct thrum_promise *profile, *read;
	char label[32];

	snprintf(label, sizeof(label), "profile %d", number);
	fetch->number = number;
	profile = thrum_promise_task(loop, label, &fetch->outer);
	read = thrum_promise_bind(thrum_sleep(loop, 10 + 7 * (unsigned)number), parse, fetch, NULL);
	thrum_promise_labelf(read, "read profile %d", number);
	thrum_promise_on_any(read, give_profile, log_failure, fetch, NULL);
	return profile;
}

static struct thrum_promise *make_page(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *profiles[PROFILES];

	(void)value;
	(void)data;
	for (int i = 0; i < PROFILES; i++)
		profiles[i] = fetch_profile(loop, i);
	return thrum_promise_join(loop, profiles, PROFILES);
}

int main(int argc, char **argv)
{
	struct thrum_promise *page;
	struct thrum_loop *loop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	uv_timer_init(uv_default_loop(), &heartbeat);
	uv_timer_start(&heartbeat, on_heartbeat, 30, 30);
	page = thrum_promise_bind(thrum_sleep(loop, 20), make_page, NULL, NULL);
	thrum_promise_label(page, "page");
	if (thrum_promise_run(thrum_promise_should_resolve(page)))
		return 1;
	printf("page made, %d failures\n", failures);
	return 0;
}
