/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: lookup_quote holds quotes_lock for reading. If the quote is old, it calls store_quote, which
 *     takes the same lock for writing: the thread waits for itself to unlock.
 *   culprit: lookup_quote|store_quote
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Traders look up quotes in a shared table; old quotes are fetched again. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUOTES 16
#define TRADERS 3
#define LIFE 40 /* so many lookups */

struct quote {
	int price;
	atomic_int age;
};

struct trader {
	pthread_t thread;
	int number;
	long total;
};

static pthread_rwlock_t quotes_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct quote quotes[QUOTES];
static bool stores_at_once;
static atomic_int fetched, deals;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* Asks the exchange. */
static int fetch_price(int number)
{
	pause_ms(2);
	fetched++;
	return 100 + number * 7 + fetched % 5;
}

static void __attribute__((noinline)) store_quote(int number, int price)
{
	pthread_rwlock_wrlock(&quotes_lock);
	quotes[number].price = price;
	quotes[number].age = 0;
	pthread_rwlock_unlock(&quotes_lock);
}

static int __attribute__((noinline)) lookup_quote(int number)
{
	int price;
	bool is_old;

	pthread_rwlock_rdlock(&quotes_lock);
	price = quotes[number].price;
	is_old = ++quotes[number].age > LIFE;
	if (is_old && stores_at_once) {
		price = fetch_price(number);
		store_quote(number, price);
		is_old = false;
	}
	pthread_rwlock_unlock(&quotes_lock);
	if (is_old) {
		price = fetch_price(number);
		store_quote(number, price);
	}
	return price;
}

static void *trade(void *data)
{
	struct trader *trader = data;
	unsigned turn = (unsigned)trader->number * 5;

	for (int i = 0; i < 1000000; i++) {
		trader->total += lookup_quote((int)(turn++ % QUOTES));
		deals++;
		if (i % 4 == 3)
			pause_ms(1);
	}
	return NULL;
}

/* Writes what was traded so far. */
static void *report(void *data)
{
	(void)data;
	for (;;) {
		pause_ms(300);
		printf("%d deals, %d fetched\n", deals, fetched);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct trader traders[TRADERS];
	pthread_t reporter;
	long total = 0;

	stores_at_once = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < QUOTES; i++)
		store_quote(i, 100 + i * 7);
	if (pthread_create(&reporter, NULL, report, NULL))
		return 1;
	for (int i = 0; i < TRADERS; i++) {
		traders[i].number = i;
		if (pthread_create(&traders[i].thread, NULL, trade, &traders[i]))
			return 1;
	}
	for (int i = 0; i < TRADERS; i++) {
		pthread_join(traders[i].thread, NULL);
		total += traders[i].total;
	}
	printf("%ld\n", total);
	return 0;
}
