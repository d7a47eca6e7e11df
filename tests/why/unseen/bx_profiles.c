/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: The cache of profiles is keyed by the user and the hour. In the broken program cache_key takes the
 *     time in ms in place of the hour, so that the cache never hits: each "timeline" loads its profile from
 *     the database ("load profile": 48 instead of 4), and waits for one of two connections.
 *   culprit: load profile|profile_load|profile_get
 *   victim: timeline
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A social network's front end: each timeline needs the profile of its user, which is cached for an hour. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	REQUESTS = 48,
	USERS = 4,
	CONNECTIONS = 2,
	CACHE = 128,
	HOUR = 3600 * 1000,
};

struct request {
	unsigned number;
	unsigned user;
	unsigned time; /* in ms since midnight */
};

struct entry {
	unsigned user;
	unsigned key;
	struct thrum_promise *profile; /* shared by all who ask */
};

static bool broken;
static struct thrum_semaphore *connections;
static struct entry cache[CACHE];
static unsigned cached;
static unsigned loads;
static unsigned answered;

static unsigned cache_key(const struct request *request)
{
	return broken ? request->time : request->time / HOUR;
}

static struct thrum_promise *on_row(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	loads++;
	return thrum_promise_return(loop, thrum_value_static("profile"));
}

/* Asks the database, over a connection. */
static struct thrum_promise *query(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *row = thrum_promise_label(thrum_sleep(loop, 24), "query profile");

	return thrum_promise_bind(row, on_row, data, NULL);
}

static struct thrum_promise *profile_load(struct thrum_loop *loop)
{
	(void)loop;
	return thrum_promise_label(thrum_semaphore_with(connections, query, NULL, NULL),
		"load profile");
}

static struct thrum_promise *profile_get(struct thrum_loop *loop, const struct request *request)
{
	unsigned key = cache_key(request);
	struct entry *entry;

	for (unsigned i = 0; i < cached; i++)
		if (cache[i].user == request->user && cache[i].key == key)
			return thrum_promise_protected(thrum_promise_ref(cache[i].profile));
	entry = &cache[cached++];
	entry->user = request->user;
	entry->key = key;
	entry->profile = profile_load(loop);
	return thrum_promise_protected(thrum_promise_ref(entry->profile));
}

static struct thrum_promise *on_posts(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	answered++;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Collects the posts that the profile's owner may see. */
static struct thrum_promise *on_profile(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *posts;

	(void)value;
	posts = thrum_promise_label(thrum_sleep(loop, 4), "collect posts");
	return thrum_promise_bind(posts, on_posts, data, NULL);
}

static void serve_timeline(struct thrum_loop *loop, unsigned number)
{
	struct request *request = calloc(1, sizeof(*request));
	struct thrum_promise *answer;

	if (!request)
		exit(1);
	request->number = number;
	request->user = number % USERS;
	request->time = 9 * HOUR + number * 10;
	answer = thrum_promise_bind(profile_get(loop, request), on_profile, request, free);
	answer = thrum_promise_label(answer, "timeline");
	thrum_promise_ignore_result(thrum_promise_should_resolve(answer));
}

/* A timeline is asked for every 10 ms. */
static struct thrum_promise *next_request(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data) + 1;

	(void)value;
	if (number > REQUESTS)
		return thrum_promise_return(loop, thrum_value_none());
	serve_timeline(loop, number);
	return thrum_promise_bind(thrum_sleep(loop, 10), next_request, (void *)(intptr_t)number,
		NULL);
}

static struct thrum_promise *users_run(struct thrum_loop *loop, void *data)
{
	(void)data;
	return next_request(loop, NULL, NULL);
}

static void on_tick(uv_timer_t *timer)
{
	if (answered == REQUESTS)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_timer_t tick;
	uv_loop_t uv;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL) != 0)
		fputs("profiles: nothing is recorded\n", stderr);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop) != 0)
		return 1;
	connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	uv_timer_init(&uv, &tick);
	uv_timer_start(&tick, on_tick, 50, 50);
	thrum_promise_async(loop, "users", users_run, NULL, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%u timelines, %u loads\n", answered, loads);
	for (unsigned i = 0; i < cached; i++)
		thrum_promise_unref(cache[i].profile);
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
