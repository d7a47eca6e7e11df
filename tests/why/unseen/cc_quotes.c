/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: Requests for a quote that is being fetched share that fetch: share_fetch gives each a promise, and
 *     fetch_succeeded resolves them. When the exchange refuses the fetch, fetch_failed forgets the entry and fails only
 *     the request that began it. The promises "share VOLT" of the others are never ended.
 *   culprit: share VOLT|share_fetch|fetch_failed
 *   victim: main\b|GET /quote/VOLT
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A service for quotes, on promises. Several requests for the same quote make one fetch from the exchange. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SHARERS 8

struct fetch {
	struct fetch *next;
	char symbol[16];
	struct thrum_resolver *sharers[SHARERS];
	unsigned count;
};

static struct fetch *fetches;
static struct fetch *lost; /* for the end of the program */
static bool tell_all;
static unsigned answered, refused, fetched;

static void fetch_remove(struct fetch *fetch)
{
	struct fetch **at = &fetches;

	while (*at != fetch)
		at = &(*at)->next;
	*at = fetch->next;
}

/* The exchange takes 20 ms; while it is closed for VOLT it refuses after that time. */
static struct thrum_promise *exchange_answers(struct thrum_loop *loop, void *value, void *data)
{
	struct fetch *fetch = data;

	(void)value;
	fetched++;
	if (!strcmp(fetch->symbol, "VOLT"))
		return thrum_promise_fail(loop, -ECONNREFUSED, "the exchange refuses %s",
			fetch->symbol);
	return thrum_promise_return(loop, thrum_value_int(100 + (intptr_t)fetched));
}

static struct thrum_promise *fetch_succeeded(struct thrum_loop *loop, void *value, void *data)
{
	struct fetch *fetch = data;

	fetch_remove(fetch);
	for (unsigned i = 0; i < fetch->count; i++)
		thrum_resolver_resolve(fetch->sharers[i], thrum_value_static(value));
	free(fetch);
	return thrum_promise_return(loop, thrum_value_static(value));
}

static struct thrum_promise *fetch_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct fetch *fetch = data;

	fetch_remove(fetch);
	if (tell_all) {
		for (unsigned i = 0; i < fetch->count; i++)
			thrum_resolver_fail_again(fetch->sharers[i], failure);
		free(fetch);
	} else {
		fetch->next = lost;
		lost = fetch;
	}
	return thrum_promise_fail_again(loop, failure);
}

static struct thrum_promise *share_fetch(struct thrum_loop *loop, struct fetch *fetch)
{
	struct thrum_promise *promise;

	promise = thrum_promise_task(loop, NULL, &fetch->sharers[fetch->count++]);
	return thrum_promise_labelf(promise, "share %s", fetch->symbol);
}

static struct thrum_promise *get_quote(struct thrum_loop *loop, const char *symbol)
{
	struct thrum_promise *promise;
	struct fetch *fetch;

	for (fetch = fetches; fetch; fetch = fetch->next)
		if (!strcmp(fetch->symbol, symbol) && fetch->count < SHARERS)
			return share_fetch(loop, fetch);
	fetch = calloc(1, sizeof(*fetch));
	snprintf(fetch->symbol, sizeof(fetch->symbol), "%s", symbol);
	fetch->next = fetches;
	fetches = fetch;
	promise = thrum_promise_bind(thrum_sleep(loop, 20), exchange_answers, fetch, NULL);
	promise = thrum_promise_labelf(promise, "fetch %s", symbol);
	return thrum_promise_try_bind(promise, fetch_succeeded, fetch_failed, fetch, NULL);
}

static struct thrum_value answer_quote(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	answered += value != NULL;
	return thrum_value_none();
}

static struct thrum_promise *answer_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	printf("503 %s\n", failure->message);
	fflush(stdout);
	refused++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_request(struct thrum_loop *loop, const char *symbol)
{
	struct thrum_promise *promise;

	promise = thrum_promise_map(get_quote(loop, symbol), answer_quote, NULL, NULL);
	promise = thrum_promise_catch(promise, answer_failure, NULL, NULL);
	return thrum_promise_labelf(promise, "GET /quote/%s", symbol);
}

static struct thrum_promise *serve_burst(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *next_burst(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 10), serve_burst, data, NULL);
}

/* Some clients come at once; the last burst asks for a stock whose trade is suspended. */
static struct thrum_promise *serve_burst(struct thrum_loop *loop, void *value, void *data)
{
	static const char *const bursts[][4] = {
		{"ACME", "ACME", "BOLT", "BOLT"},
		{"CORK", "ACME", "CORK", "CORK"},
		{"BOLT", "BOLT", "BOLT", "ACME"},
		{"VOLT", "ACME", "BOLT", "CORK"},
		{"CORK", "ACME", "ACME", "BOLT"},
		{"VOLT", "VOLT", "ACME", "VOLT"},
		{"ACME", "BOLT", "BOLT", "CORK"},
	};
	intptr_t round = thrum_int(data);
	struct thrum_promise *requests[4];
	struct thrum_promise *all;

	(void)value;
	if (round == (intptr_t)(sizeof(bursts) / sizeof(bursts[0])))
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < 4; i++)
		requests[i] = serve_request(loop, bursts[round][i]);
	all = thrum_promise_labelf(thrum_promise_join(loop, requests, 4), "burst %d", (int)round);
	return thrum_promise_bind(all, next_burst, (void *)(round + 1), NULL);
}

static struct thrum_promise *keep_alive(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 500), keep_alive, data, NULL);
}

static struct thrum_promise *begin_alive(struct thrum_loop *loop, void *data)
{
	return keep_alive(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *program;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	tell_all = argc > 1 && !strcmp(argv[1], "healthy");
	uv_loop_init(&uv);
	if (thrum_start(NULL) || thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "keep alive", begin_alive, NULL, NULL);
	program = thrum_promise_label(serve_burst(loop, NULL, NULL), "main");
	code = thrum_promise_run(thrum_promise_should_resolve(program));
	printf("%u answered, %u refused\n", answered, refused);
	thrum_stop();
	thrum_loop_destroy(loop);
	return code;
}
