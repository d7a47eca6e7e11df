/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: quote_basket holds the price list for reading and calls best_rebate for a large basket, which takes the
 *     same lock for reading again. The feed already waits to write, and the lock lets writers go first: so the
 *     clerk waits behind the feed, and the feed behind the clerk.
 *   culprit: best_rebate
 *   victim: run_feed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A shop's price service: clerks quote baskets, a feed changes prices, a ledger counts. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	ARTICLES = 32,
	CLERKS = 3,
	ROUNDS = 14,
	LARGE = 8
};

struct basket {
	unsigned count;
	unsigned article[LARGE];
};

static pthread_rwlock_t price_list;
static unsigned price[ARTICLES];
static unsigned rebate_percent[3] = {0, 3, 7};

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long quoted;
static unsigned quotes;
static bool closed;
static bool broken;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* The rebate for a sum of so many cents; the caller holds the price list. */
static unsigned rebate_of(unsigned sum)
{
	if (sum > 4000)
		return rebate_percent[2];
	return sum > 2000 ? rebate_percent[1] : rebate_percent[0];
}

/* The same for those who don't hold it, such as the counter at the door. */
static __attribute__((noinline)) unsigned best_rebate(unsigned sum)
{
	unsigned percent;

	pthread_rwlock_rdlock(&price_list);
	percent = rebate_of(sum);
	pthread_rwlock_unlock(&price_list);
	return percent;
}

/* Asks the supplier whether that many are in stock. */
static void ask_supplier(const struct basket *basket)
{
	nap(basket->count < LARGE ? 1 : 60);
}

static unsigned quote_basket(const struct basket *basket)
{
	unsigned sum = 0;

	pthread_rwlock_rdlock(&price_list);
	for (unsigned i = 0; i < basket->count; i++)
		sum += price[basket->article[i]];
	if (basket->count >= LARGE) {
		ask_supplier(basket);
		sum -= sum * (broken ? best_rebate(sum) : rebate_of(sum)) / 100;
	}
	pthread_rwlock_unlock(&price_list);
	return sum;
}

static void note_quote(unsigned sum)
{
	pthread_mutex_lock(&ledger_lock);
	quoted += sum;
	quotes++;
	pthread_mutex_unlock(&ledger_lock);
}

static void *run_clerk(void *data)
{
	unsigned number = *(unsigned *)data;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct basket basket = {2 + round % 3, {0}};

		/* The second clerk serves a restaurant in the end. */
		if (number == 1 && round == ROUNDS - 4)
			basket.count = LARGE;
		for (unsigned i = 0; i < basket.count; i++)
			basket.article[i] = (number * 7 + round * 3 + i) % ARTICLES;
		note_quote(quote_basket(&basket));
		nap(25);
	}
	return NULL;
}

static bool is_closed(void)
{
	bool answer;

	pthread_mutex_lock(&ledger_lock);
	answer = closed;
	pthread_mutex_unlock(&ledger_lock);
	return answer;
}

/* Prices change all the time. */
static void *run_feed(void *data)
{
	unsigned turn = 0;

	while (!is_closed()) {
		pthread_rwlock_wrlock(&price_list);
		for (unsigned i = turn % 4; i < ARTICLES; i += 4)
			price[i] = 200 + (i * 37 + turn * 11) % 700;
		pthread_rwlock_unlock(&price_list);
		turn++;
		nap(15);
	}
	return data;
}

/* Prints the ledger now and then. */
static void *run_ledger(void *data)
{
	while (!is_closed()) {
		pthread_mutex_lock(&ledger_lock);
		printf("%u quotes, %lu cents\n", quotes, quoted);
		pthread_mutex_unlock(&ledger_lock);
		fflush(stdout);
		nap(100);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t clerk[CLERKS], feed, ledger;
	unsigned number[CLERKS];
	pthread_rwlockattr_t attributes;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	/* Without this the feed would never get its turn. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&price_list, &attributes);
	for (unsigned i = 0; i < ARTICLES; i++)
		price[i] = 250 + i * 20;

	pthread_create(&feed, NULL, run_feed, NULL);
	pthread_create(&ledger, NULL, run_ledger, NULL);
	for (unsigned i = 0; i < CLERKS; i++) {
		number[i] = i;
		pthread_create(&clerk[i], NULL, run_clerk, &number[i]);
		nap(5);
	}
	for (unsigned i = 0; i < CLERKS; i++)
		pthread_join(clerk[i], NULL);
	pthread_mutex_lock(&ledger_lock);
	closed = true;
	pthread_mutex_unlock(&ledger_lock);
	pthread_join(feed, NULL);
	pthread_join(ledger, NULL);
	printf("done: %u quotes\n", quotes);
	return 0;
}
