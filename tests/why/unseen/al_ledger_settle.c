/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=settle #
 *   truth: "compact" (compact_segments) copies old segments synchronously in the loop of the thread "ledger" and blocks
 *     it for about 280 ms; the settlements that arrive meanwhile can't begin.
 *   culprit: \bcompact\b|compact_segments
 *   victim: settle \d+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A till whose thread settles payments in the ledger, which lives in a loop of its own; promises in two threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

#define PAYMENTS 14

static struct thrum_inbox *ledger;
static uv_sem_t opened;
static unsigned old_segments; /* that the ledger's compaction finds */

/* ---- The ledger: all of this runs in its thread -------------------------------------------------- */

struct entry {
	int amount;
	struct entry *next;
};

static struct entry *entries;
static struct thrum_mutex *book;
static int64_t balance;

static void delay_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* Copies one segment to the new file, and waits for the disk. */
static __attribute__((noinline)) void copy_segment(unsigned number)
{
	(void)number;
	delay_ms(40);
}

static __attribute__((noinline)) void compact_segments(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		copy_segment(i);
}

static struct thrum_promise *begin_compact(struct thrum_loop *loop, void *data)
{
	(void)data;
	compact_segments(old_segments);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_value add_entry(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	(void)loop;
	(void)value;
	entry->next = entries;
	entries = entry;
	balance += entry->amount;
	return thrum_value_int((intptr_t)balance);
}

static struct thrum_promise *append_entry(struct thrum_loop *loop, void *data)
{
	return thrum_promise_map(thrum_sleep(loop, 2), add_entry, data, NULL);
}

static struct thrum_promise *settle(struct thrum_loop *loop, void *data)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	(void)loop;
	entry->amount = *(const int *)data;
	return thrum_mutex_with(book, append_entry, entry, NULL);
}

static struct thrum_promise *close_ledger(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_inbox_close(ledger);
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_ledger(void *data)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)data;
	pthread_setname_np(pthread_self(), "ledger");
	thrum_lane_name("ledger");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	book = thrum_mutex_create(loop, "book");
	ledger = thrum_inbox_create(loop, "ledger's inbox");
	uv_sem_post(&opened);
	uv_run(&uv, UV_RUN_DEFAULT); /* until the inbox is closed */
	thrum_mutex_destroy(book);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	while (entries) {
		struct entry *next = entries->next;

		free(entries);
		entries = next;
	}
	return NULL;
}

/* ---- The till ---------------------------------------------------------------------------------------- */

static int amounts[PAYMENTS];

static struct thrum_promise *pay(struct thrum_loop *loop, void *value, void *data)
{
	int *amount = data;
	struct thrum_promise *settled;

	(void)value;
	settled = thrum_inbox_call(ledger, loop, "append", settle, amount, NULL);
	settled = thrum_promise_labelf(settled, "settle %d", (int)(amount - amounts) + 1);
	return thrum_promise_should_resolve(settled);
}

/* Every hour, here: once, the ledger is asked to compact its segments. */
static struct thrum_value ask_compact(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	if (thrum_inbox_post(ledger, "compact", begin_compact, NULL, NULL))
		fprintf(stderr, "the ledger is closed\n");
	return thrum_value_none();
}

int main(int argc, char **argv)
{
	struct thrum_promise *payments[PAYMENTS + 1], *day;
	struct thrum_loop *loop;
	pthread_t thread;
	int result;

	if (thrum_start(NULL))
		return 2;
	old_segments = argc > 1 && !strcmp(argv[1], "broken") ? 7 : 0;
	if (uv_sem_init(&opened, 0) || thrum_loop_create(uv_default_loop(), &loop) ||
		pthread_create(&thread, NULL, run_ledger, NULL))
		return 2;
	uv_sem_wait(&opened);
	for (int i = 0; i < PAYMENTS; i++) {
		amounts[i] = 100 + i;
		payments[i] = thrum_promise_bind(thrum_sleep(loop, 30 * (unsigned)i), pay,
			&amounts[i], NULL);
		thrum_promise_labelf(payments[i], "customer %d", i + 1);
	}
	payments[PAYMENTS] = thrum_promise_map(thrum_sleep(loop, 290), ask_compact, NULL, NULL);
	day = thrum_promise_label(thrum_promise_join(loop, payments, PAYMENTS + 1), "day");
	result = thrum_promise_run(thrum_promise_should_resolve(day));
	thrum_stop();
	result |= thrum_inbox_post(ledger, "close", close_ledger, NULL, NULL);
	pthread_join(thread, NULL);
	thrum_inbox_unref(ledger);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("balance %lld\n", (long long)balance);
	return result ? 1 : 0;
}
