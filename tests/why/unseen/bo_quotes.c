/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2000
 *   ask: why
 *   truth: quote_lookup holds the readers-writer lock `table_lock` for reading when it finds an expired quote, and
 *     calls quote_store, which locks it for writing. The thread waits for its own read lock; all others queue behind.
 *   culprit: quote_lookup|quote_store|table_lock
 *   victim: ticker
 * case: healthy
 *   args: healthy
 *   run: live 2000
 *   ask: why
 *   culprit: nothing
 */
/* Serves stock quotes from a table in memory; quotes expire and are then fetched again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SYMBOLS 16
#define WEB_THREADS 3

struct quote {
	char symbol[8];
	double price;
	long fetched_ms;
	long ttl_ms;
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct quote table[SYMBOLS];
static int unlock_first;
static unsigned long served;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Asks the exchange. */
static double fetch_price(const char *symbol)
{
	struct timespec latency = {0, 3000000};

	nanosleep(&latency, NULL);
	return symbol[0] * 1.25 + (double)(now_ms() % 100) / 100;
}

static void quote_store(int index, double price)
{
	pthread_rwlock_wrlock(&table_lock);
	table[index].price = price;
	table[index].fetched_ms = now_ms();
	pthread_rwlock_unlock(&table_lock);
}

static double quote_lookup(int index)
{
	struct quote *quote = &table[index];
	double price;

	pthread_rwlock_rdlock(&table_lock);
	price = quote->price;
	if (now_ms() - quote->fetched_ms > quote->ttl_ms) {
		char symbol[8];

		memcpy(symbol, quote->symbol, sizeof symbol);
		if (unlock_first)
			pthread_rwlock_unlock(&table_lock);
		price = fetch_price(symbol);
		quote_store(index, price);
		if (unlock_first)
			return price;
	}
	pthread_rwlock_unlock(&table_lock);
	return price;
}

static void *web_thread(void *data)
{
	unsigned seed = (unsigned)(size_t)data;
	char name[16];

	snprintf(name, sizeof name, "web-%u", seed);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		struct timespec pause = {0, 2000000};

		if (quote_lookup((int)(rand_r(&seed) % SYMBOLS)) > 0)
			__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* The exchange pushes a few symbols by itself. */
static void *ticker(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "ticker");
	for (int i = 0;; i = (i + 1) % 4) {
		usleep(10000);
		quote_store(i, 100 + i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	unlock_first = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < SYMBOLS; i++) {
		snprintf(table[i].symbol, sizeof table[i].symbol, "%c%c%c", 'A' + i, 'C', 'M');
		table[i].price = 50 + i;
		table[i].fetched_ms = now_ms();
		table[i].ttl_ms = 400 + 40 * i;
	}
	pthread_create(&thread, NULL, ticker, NULL);
	for (size_t i = 1; i <= WEB_THREADS; i++)
		pthread_create(&thread, NULL, web_thread, (void *)i);
	/* the log, once in a while */
	for (;;) {
		usleep(200000);
		printf("served %lu\n", __atomic_load_n(&served, __ATOMIC_RELAXED));
		fflush(stdout);
	}
}
