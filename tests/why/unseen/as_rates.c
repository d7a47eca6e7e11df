/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the first who asks for JPY ("ticker JPY") loses patience after 250 ms; its timeout cancels the
 *     shared "fetch JPY", so on_quote never runs, and the ledgers that joined the fetch are never answered
 *   culprit: fetch JPY|ticker JPY
 *   victim: ledger|all requests
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A cache of exchange rates: the first who asks for a currency fetches its quote, and others join him. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct waiter {
	struct waiter *next;
	struct thrum_resolver *resolver;
};

struct entry {
	const char *currency;
	unsigned delay_ms; /* of the provider */
	intptr_t quote;    /* in hundredths */
	bool known, loading;
	thrum_task fetch;
	struct waiter *waiters;
};

struct request {
	struct entry *entry;
	const char *who;
	unsigned after_ms, patience_ms;
};

static struct entry entries[] = {
	{"EUR", 30, 0, false, false, THRUM_TASK_NONE, NULL},
	{"GBP", 45, 0, false, false, THRUM_TASK_NONE, NULL},
	{"JPY", 40, 0, false, false, THRUM_TASK_NONE, NULL},
	{"CHF", 35, 0, false, false, THRUM_TASK_NONE, NULL},
};

static const struct request requests[] = {
	{&entries[0], "ticker", 0, 250},
	{&entries[0], "ledger", 10, 0},
	{&entries[1], "ledger", 5, 0},
	{&entries[1], "ticker", 15, 250},
	{&entries[2], "ticker", 60, 250},
	{&entries[2], "ledger", 75, 0},
	{&entries[2], "ledger", 80, 0},
	{&entries[3], "ticker", 90, 250},
	{&entries[3], "ledger", 100, 0},
	{&entries[0], "ledger", 200, 0},
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

static struct thrum_value parse_quote(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	(void)loop;
	(void)value;
	return thrum_value_int(100 + entry->currency[0] + entry->currency[1]);
}

/* Asks the provider. */
static struct thrum_promise *ask_provider(struct thrum_loop *loop, struct entry *entry)
{
	return thrum_promise_map(thrum_sleep(loop, entry->delay_ms), parse_quote, entry, NULL);
}

/* The quote has come: keeps it, and answers all that joined. */
static struct thrum_promise *on_quote(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	entry->quote = thrum_int(value);
	entry->known = true;
	entry->loading = false;
	while (entry->waiters) {
		struct waiter *waiter = entry->waiters;

		entry->waiters = waiter->next;
		thrum_resolver_resolve(waiter->resolver, thrum_value_int(entry->quote));
		free(waiter);
	}
	return thrum_promise_return(loop, thrum_value_int(entry->quote));
}

static struct thrum_promise *join_fetch(struct thrum_loop *loop, struct entry *entry)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	struct thrum_promise *joined;

	if (!waiter)
		abort();
	joined = thrum_promise_task(loop, "joined", &waiter->resolver);
	thrum_promise_labelf(joined, "joined %s", entry->currency);
	thrum_task_wait(thrum_promise_task_id(joined), entry->fetch);
	waiter->next = entry->waiters;
	entry->waiters = waiter;
	return joined;
}

static struct thrum_promise *rate_get(struct thrum_loop *loop, struct entry *entry)
{
	struct thrum_promise *fetch;

	if (entry->known)
		return thrum_promise_return(loop, thrum_value_int(entry->quote));
	if (entry->loading)
		return join_fetch(loop, entry);
	entry->loading = true;
	fetch = thrum_promise_bind(ask_provider(loop, entry), on_quote, entry, NULL);
	fetch = thrum_promise_labelf(fetch, "fetch %s", entry->currency);
	entry->fetch = thrum_promise_task_id(fetch);
	return fetch;
}

static struct thrum_promise *answer_stale(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	const struct request *request = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	printf("%s %s: no quote yet\n", request->who, request->entry->currency);
	return thrum_promise_return(loop, thrum_value_int(0));
}

static struct thrum_promise *begin_request(struct thrum_loop *loop, void *value, void *data)
{
	const struct request *request = data;
	struct thrum_promise *rate = rate_get(loop, request->entry);

	(void)value;
	if (!request->patience_ms)
		return rate;
	rate = thrum_timeout(rate, request->patience_ms);
	return thrum_promise_catch(rate, answer_stale, data, NULL);
}

static struct thrum_value print_rate(struct thrum_loop *loop, void *value, void *data)
{
	const struct request *request = data;

	(void)loop;
	if (value)
		printf("%s %s: %jd.%02jd\n", request->who, request->entry->currency,
			(intmax_t)(thrum_int(value) / 100), (intmax_t)(thrum_int(value) % 100));
	return thrum_value_none();
}

static struct thrum_promise *serve(struct thrum_loop *loop, const struct request *request)
{
	void *data = (void *)(uintptr_t)request;
	struct thrum_promise *served;

	served = thrum_promise_bind(thrum_sleep(loop, request->after_ms), begin_request, data,
		NULL);
	served = thrum_promise_map(served, print_rate, data, NULL);
	return thrum_promise_labelf(served, "%s %s", request->who, request->entry->currency);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[REQUESTS], *reload, *done;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (argc > 1 && !strcmp(argv[1], "broken"))
		entries[2].delay_ms = 500; /* Tokyo is slow today */
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	reload = thrum_promise_label(thrum_signal_wait(loop, SIGHUP), "reload on SIGHUP");
	for (size_t i = 0; i < REQUESTS; i++)
		all[i] = serve(loop, &requests[i]);
	done = thrum_promise_label(thrum_promise_join(loop, all, REQUESTS), "all requests");
	error = thrum_promise_run(thrum_promise_should_resolve(done));
	thrum_stop();
	thrum_promise_cancel(reload);
	thrum_promise_unref(reload);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
