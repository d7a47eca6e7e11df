/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="thread handle_order"
 *   truth: An order for goods asks the stock thread for a reservation, which takes some milliseconds. But wait_for_reservation looks for it only every 150 ms, and sleeps in between, so the order takes as long as that sleep.
 *   culprit: wait_for_reservation|sleep
 *   victim: reserve_goods
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A shop: a thread for each order, and one thread that reserves goods. */

#define ORDERS 16

struct order {
	struct order *next;
	int number;
	bool goods, reserved;
};

static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stock_changed = PTHREAD_COND_INITIALIZER;
static struct order *first, **last = &first;
static bool closing, broken;
static int shipped;

static void *reserve_goods(void *unused)
{
	struct order *order;

	(void)unused;
	pthread_mutex_lock(&stock_lock);
	for (;;) {
		while (!first && !closing)
			pthread_cond_wait(&stock_changed, &stock_lock);
		if (!first)
			break;
		order = first;
		first = order->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&stock_lock);
		usleep(3000); /* the warehouse answers */
		pthread_mutex_lock(&stock_lock);
		order->reserved = true;
		pthread_cond_broadcast(&stock_changed);
	}
	pthread_mutex_unlock(&stock_lock);
	return NULL;
}

static bool is_reserved(struct order *order)
{
	bool reserved;

	pthread_mutex_lock(&stock_lock);
	reserved = order->reserved;
	pthread_mutex_unlock(&stock_lock);
	return reserved;
}

static void wait_for_reservation(struct order *order)
{
	if (broken) {
		while (!is_reserved(order))
			usleep(150000);
		return;
	}
	pthread_mutex_lock(&stock_lock);
	while (!order->reserved)
		pthread_cond_wait(&stock_changed, &stock_lock);
	pthread_mutex_unlock(&stock_lock);
}

static void *handle_order(void *data)
{
	struct order *order = data;

	if (order->goods) {
		pthread_mutex_lock(&stock_lock);
		order->next = NULL;
		*last = order;
		last = &order->next;
		pthread_cond_broadcast(&stock_changed);
		pthread_mutex_unlock(&stock_lock);
		wait_for_reservation(order);
	}
	usleep(2000); /* the payment */
	__atomic_add_fetch(&shipped, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct order orders[ORDERS];
	pthread_t stock, handlers[ORDERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&stock, NULL, reserve_goods, NULL);
	for (int i = 0; i < ORDERS; i++) {
		orders[i].number = i;
		orders[i].goods = i % 5 == 2; /* the others buy music */
		pthread_create(&handlers[i], NULL, handle_order, &orders[i]);
		usleep(10000);
	}
	for (int i = 0; i < ORDERS; i++)
		pthread_join(handlers[i], NULL);
	pthread_mutex_lock(&stock_lock);
	closing = true;
	pthread_cond_broadcast(&stock_changed);
	pthread_mutex_unlock(&stock_lock);
	pthread_join(stock, NULL);
	printf("%d orders shipped\n", shipped);
	return 0;
}
