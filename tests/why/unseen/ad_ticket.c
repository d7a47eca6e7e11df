/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_sales takes one sale for each wake-up of the eventfd; it should take all that are queued.
 *   culprit: on_sales
 *   victim: sell_ticket|run_counter|is_settled
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A box office: counters queue sales and wake the desk by an eventfd; its loop owns the seats. */

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define COUNTERS 4
#define SALES 20
#define SEATS 512

struct sale {
	struct sale *next;
	int counter, wanted, seat;
	bool is_done;
	pthread_cond_t is_settled;
};

static pthread_mutex_t desk_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sale *sales, **sales_end = &sales;
static bool is_closing, takes_all;
static int wakeup;

/* The loop's own. */
static struct event_base *base;
static char seats[SEATS];
static int sold, price = 40;

static struct sale *take_sale(void)
{
	struct sale *sale;

	pthread_mutex_lock(&desk_lock);
	sale = sales;
	if (sale)
		sales = sale->next;
	if (!sales)
		sales_end = &sales;
	pthread_mutex_unlock(&desk_lock);
	return sale;
}

static void settle_sale(struct sale *sale)
{
	int seat = sale->wanted;

	while (seats[seat])
		seat = (seat + 1) % SEATS;
	seats[seat] = (char)sale->counter;
	sold++;
	pthread_mutex_lock(&desk_lock);
	sale->seat = seat;
	sale->is_done = true;
	pthread_cond_signal(&sale->is_settled);
	pthread_mutex_unlock(&desk_lock);
}

static void on_sales(evutil_socket_t descriptor, short what, void *data)
{
	struct sale *sale;
	uint64_t wakeups;

	(void)what;
	(void)data;
	if (read(descriptor, &wakeups, sizeof(wakeups)) != sizeof(wakeups))
		return;
	do {
		sale = take_sale();
		if (sale)
			settle_sale(sale);
	} while (sale && takes_all);
	if (is_closing)
		event_base_loopbreak(base);
}

/* Adapts the price to the sales; at first it reads the season's calendar. */
static void on_prices(evutil_socket_t descriptor, short what, void *data)
{
	struct timespec work = {.tv_nsec = sold ? 300000 : 15000000};

	(void)descriptor;
	(void)what;
	(void)data;
	nanosleep(&work, NULL);
	price = 40 + sold / 10;
}

static void *run_desk(void *data)
{
	struct timeval pace = {.tv_usec = 4000};
	struct event *sales_event, *prices_event;

	base = event_base_new();
	sales_event = event_new(base, wakeup, EV_READ | EV_PERSIST, on_sales, NULL);
	prices_event = event_new(base, -1, EV_PERSIST, on_prices, NULL);
	event_add(sales_event, NULL);
	event_add(prices_event, &pace);
	event_active(prices_event, EV_TIMEOUT, 1);
	pthread_barrier_wait(data);
	event_base_dispatch(base);
	event_free(sales_event);
	event_free(prices_event);
	event_base_free(base);
	return NULL;
}

static void wake_desk(void)
{
	uint64_t one = 1;

	if (write(wakeup, &one, sizeof(one)) != sizeof(one))
		abort();
}

static int sell_ticket(int counter, int wanted)
{
	struct sale sale = {.counter = counter, .wanted = wanted};

	pthread_cond_init(&sale.is_settled, NULL);
	pthread_mutex_lock(&desk_lock);
	*sales_end = &sale;
	sales_end = &sale.next;
	pthread_mutex_unlock(&desk_lock);
	wake_desk();
	pthread_mutex_lock(&desk_lock);
	while (!sale.is_done)
		pthread_cond_wait(&sale.is_settled, &desk_lock);
	pthread_mutex_unlock(&desk_lock);
	pthread_cond_destroy(&sale.is_settled);
	return sale.seat;
}

static void *run_counter(void *data)
{
	struct timespec printing = {.tv_nsec = 1500000};
	int counter = *(int *)data, last = 0;

	for (int i = 0; i < SALES; i++) {
		last = sell_ticket(counter, (last + counter * 97) % SEATS);
		nanosleep(&printing, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t desk, counters[COUNTERS];
	pthread_barrier_t is_open;
	int numbers[COUNTERS];

	takes_all = argc < 2 || strcmp(argv[1], "broken") != 0;
	wakeup = eventfd(0, EFD_CLOEXEC);
	pthread_barrier_init(&is_open, NULL, 2);
	pthread_create(&desk, NULL, run_desk, &is_open);
	pthread_barrier_wait(&is_open);
	for (int i = 0; i < COUNTERS; i++) {
		numbers[i] = i + 1;
		pthread_create(&counters[i], NULL, run_counter, &numbers[i]);
	}
	for (int i = 0; i < COUNTERS; i++)
		pthread_join(counters[i], NULL);
	is_closing = true;
	wake_desk();
	pthread_join(desk, NULL);
	printf("%d tickets sold, the next costs %d\n", sold, price);
	return 0;
}
