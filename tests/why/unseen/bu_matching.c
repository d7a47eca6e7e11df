/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: book_submit returns without unlocking the book when the price lies outside of the collar. The book's mutex
 *     stays locked by the trader that sent the odd order, and the next order for this book waits for ever.
 *   culprit: book_submit|trader_b
 *   victim: trader_a\b|trader_c
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 64
#define ORDERS 120

enum side {
	BUY,
	SELL
};

struct order {
	enum side side;
	int price, amount;
};

struct book {
	const char *symbol;
	pthread_mutex_t lock;
	struct order resting[DEPTH];
	int count;
	int last_price;
	long traded;
};

static struct book acme = {.symbol = "ACME", .lock = PTHREAD_MUTEX_INITIALIZER, .last_price = 100};
static struct book zinc = {.symbol = "ZINC", .lock = PTHREAD_MUTEX_INITIALIZER, .last_price = 100};
static pthread_mutex_t tape_lock = PTHREAD_MUTEX_INITIALIZER;
static long tape_trades;
static atomic_bool closing;
static bool healthy;

static void tape_print(int amount)
{
	pthread_mutex_lock(&tape_lock);
	tape_trades += amount > 0;
	pthread_mutex_unlock(&tape_lock);
}

/* Takes what crosses from the book; the rest stays there. The caller holds the lock. */
static void match(struct book *book, struct order order)
{
	for (int i = 0; i < book->count && order.amount > 0; i++) {
		struct order *other = &book->resting[i];
		int amount = other->amount < order.amount ? other->amount : order.amount;

		if (other->side == order.side)
			continue;
		if (order.side == BUY ? order.price < other->price : order.price > other->price)
			continue;
		other->amount -= amount;
		order.amount -= amount;
		book->traded += amount;
		book->last_price = other->price;
		tape_print(amount);
		if (other->amount == 0)
			*other-- = book->resting[--book->count], i--;
	}
	if (order.amount > 0 && book->count < DEPTH)
		book->resting[book->count++] = order;
}

static int book_submit(struct book *book, struct order order)
{
	pthread_mutex_lock(&book->lock);
	/* The collar: half to double the last price. */
	if (order.price < book->last_price / 2 || order.price > book->last_price * 2) {
		if (healthy)
			pthread_mutex_unlock(&book->lock);
		return -1;
	}
	match(book, order);
	pthread_mutex_unlock(&book->lock);
	return 0;
}

static void trade(struct book *book, unsigned seed, int odd_at)
{
	int rejects = 0;

	for (int i = 0; i < ORDERS; i++) {
		struct order order = {rand_r(&seed) % 2 ? BUY : SELL,
			95 + (int)(rand_r(&seed) % 10), 1 + (int)(rand_r(&seed) % 5)};

		if (i == odd_at)
			order.price *= 10; /* a fat finger */
		if (book_submit(book, order))
			rejects++;
		usleep(1000);
	}
	if (rejects)
		printf("%s: %d rejected\n", book->symbol, rejects);
}

static void *trader_a(void *data)
{
	trade(data, 1, -1);
	return NULL;
}

static void *trader_b(void *data)
{
	trade(data, 2, 40);
	/* Stays logged in for the drop copies until the close. */
	while (!closing)
		usleep(20000);
	return NULL;
}

static void *trader_c(void *data)
{
	trade(data, 3, -1);
	return NULL;
}

static void *heartbeat(void *data)
{
	(void)data;
	while (!closing) {
		pthread_mutex_lock(&tape_lock);
		long now = tape_trades;
		pthread_mutex_unlock(&tape_lock);
		if (now < 0)
			abort();
		usleep(30000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b, c, d, beat;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&beat, NULL, heartbeat, NULL);
	pthread_create(&a, NULL, trader_a, &acme);
	pthread_create(&b, NULL, trader_b, &acme);
	pthread_create(&c, NULL, trader_c, &acme);
	pthread_create(&d, NULL, trader_a, &zinc);
	pthread_join(d, NULL);
	pthread_join(a, NULL);
	pthread_join(c, NULL);
	closing = true;
	pthread_join(b, NULL);
	pthread_join(beat, NULL);
	printf("%ld and %ld traded\n", acme.traded, zinc.traded);
	return 0;
}
