/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=request
 *   truth: nginx pull request #1189 ("Proxy: added proxy_cache_lock_wait_time"): a request that finds the page's entry
 *     locked looks again only after a fixed 500 ms, in wait_for_entry, although the entry is there after some 30 ms. So
 *     nearly all of its time is the timer “look again”; the origin is not slow.
 *   culprit: look again|wait_for_entry
 *   victim: request
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A cache in front of an origin. Requests for a page that is being fetched wait for the one that fetches it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ENTRIES 4
#define ROUNDS 4
#define REQUESTS 24

struct entry {
	const char *path;
	bool locked;
	uint64_t fresh_until;
	struct thrum_condition *unlocked;
};

static struct entry entries[ENTRIES] = {{.path = "/home"}, {.path = "/list"}, {.path = "/item"},
	{.path = "/cart"}};
static bool prompt;
static unsigned fetched;
static unsigned hits;
static uint64_t slowest;

static struct thrum_promise *look_up(struct thrum_loop *loop, void *value, void *data);

static uint64_t now(struct thrum_loop *loop)
{
	return uv_now(thrum_loop_uv(loop));
}

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *store(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	(void)value;
	fetched++;
	entry->fresh_until = now(loop) + 2000;
	entry->locked = false;
	thrum_condition_broadcast(entry->unlocked, thrum_value_none());
	return done(loop);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, struct entry *entry)
{
	struct thrum_promise *answer = thrum_sleep(loop, 25 + fetched % 10);

	entry->locked = true;
	thrum_promise_labelf(answer, "origin sends %s", entry->path);
	return thrum_promise_bind(answer, store, entry, NULL);
}

static struct thrum_promise *wait_for_entry(struct thrum_loop *loop, struct entry *entry)
{
	struct thrum_promise *again;

	if (prompt)
		again = thrum_condition_wait(entry->unlocked, NULL);
	else
		again = thrum_promise_label(thrum_sleep(loop, 500), "look again");
	return thrum_promise_bind(again, look_up, entry, NULL);
}

static struct thrum_promise *look_up(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	(void)value;
	if (entry->fresh_until > now(loop)) {
		hits++;
		return thrum_promise_label(thrum_sleep(loop, 1), "send page");
	}
	if (entry->locked)
		return wait_for_entry(loop, entry);
	return fetch(loop, entry);
}

struct request {
	uint64_t begin;
};

static void on_answered(struct thrum_loop *loop, void *data)
{
	struct request *request = data;
	uint64_t took = now(loop) - request->begin;

	if (took > slowest)
		slowest = took;
}

static struct thrum_value log_request(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_none();
}

static struct thrum_promise *begin_request(struct thrum_loop *loop, struct entry *entry)
{
	struct request *request = malloc(sizeof *request);
	struct thrum_promise *parsed = thrum_promise_pause(loop);
	struct thrum_promise *sent = thrum_promise_bind(parsed, look_up, entry, NULL);
	struct thrum_promise *promise = thrum_promise_map(sent, log_request, entry, NULL);

	thrum_promise_label(promise, "request");
	thrum_promise_should_resolve(promise);
	if (request) {
		request->begin = now(loop);
		thrum_promise_on_termination(thrum_promise_ref(promise), on_answered, request,
			free);
	}
	return promise;
}

struct traffic {
	unsigned round;
	unsigned count;
	struct thrum_promise *requests[ROUNDS * REQUESTS];
};

/* Visitors come in waves. Each wave asks for one page that isn't there yet, four times within 20 ms, and else for those that
 * are. */
static struct thrum_promise *next_request(struct thrum_loop *loop, void *value, void *data)
{
	struct traffic *traffic = data;
	unsigned number = traffic->count % REQUESTS;
	struct entry *entry = &entries[traffic->round];

	(void)value;
	if (number >= 4)
		entry = &entries[number % (traffic->round + 1)];
	traffic->requests[traffic->count++] = begin_request(loop, entry);
	if (number + 1 == REQUESTS && ++traffic->round == ROUNDS)
		return thrum_promise_join(loop, traffic->requests, traffic->count);
	return thrum_promise_bind(thrum_sleep(loop,
					  number < 3            ? 5
						  : number == 3 ? 60
								: 12),
		next_request, traffic, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *all;
	static struct traffic traffic;
	int result;

	prompt = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < ENTRIES; i++)
		entries[i].unlocked = thrum_condition_create(loop, entries[i].path);
	all = thrum_promise_bind(thrum_sleep(loop, 10), next_request, &traffic, NULL);
	result = thrum_promise_run(thrum_promise_label(all, "visitors"));
	thrum_stop();
	printf("%d: %u fetched, %u hits, slowest %u ms\n", result, fetched, hits,
		(unsigned)slowest);
	for (int i = 0; i < ENTRIES; i++)
		thrum_condition_destroy(entries[i].unlocked);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return result != 0;
}
