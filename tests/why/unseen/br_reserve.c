/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2500
 *   ask: why
 *   truth: When a payment is declined, on_payment gives the seat back without calling the next customer in its line
 *     (seat_next). So those in the line wait for ever, and who comes later for that seat stands behind them.
 *   culprit: on_payment|payment_declined|\bdeclined\b|customer 7\b
 *   victim: customer (8|1[0-9])\b
 * case: healthy
 *   args: healthy
 *   run: self live 2500
 *   ask: why
 *   culprit: nothing
 */
/* Ticket reservation: a customer holds a seat while the bank is asked; others who want it stand in line. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SEATS 5

struct customer {
	struct customer *next; /* in the line */
	unsigned number;
	thrum_task task, payment;
	struct seat *seat;
};

struct seat {
	thrum_task task;
	struct customer *holder, *line;
};

typedef void callback(void *data);

struct timer {
	struct timer *next;
	long due;
	callback *function;
	void *data;
};

static bool fixed;
static struct timer *timers;
static struct seat seats[SEATS];
static unsigned customers, tickets, refused;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static void timer_add(long us, callback *function, void *data)
{
	struct timer *timer = calloc(1, sizeof(*timer)), **place = &timers;

	timer->due = now_us() + us;
	timer->function = function;
	timer->data = data;
	while (*place && (*place)->due <= timer->due)
		place = &(*place)->next;
	timer->next = *place;
	*place = timer;
}

static void run_loop(void)
{
	while (timers) {
		struct timer *timer = timers;
		long left = timer->due - now_us();

		if (left > 0) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep((useconds_t)left);
			thrum_resume();
		}
		timers = timer->next;
		timer->function(timer->data);
		free(timer);
	}
}

static void on_payment(void *data);

/* Runs in the customer's task. */
static void seat_take(struct customer *customer)
{
	struct seat *seat = customer->seat;

	seat->holder = customer;
	thrum_lock_acquired(seat->task);
	customer->payment = thrum_task_createf(THRUM_KIND_REQUEST, "payment %u", customer->number);
	thrum_task_wait(customer->task, customer->payment);
	timer_add(8000, on_payment, customer);
}

static void seat_next(struct seat *seat)
{
	struct customer *next = seat->line;

	seat->holder = NULL;
	if (!next)
		return;
	seat->line = next->next;
	THRUM_RUN (next->task)
		seat_take(next);
}

static void payment_declined(struct customer *customer)
{
	refused++;
	thrum_task_fail(customer->task, "card declined");
}

static void on_payment(void *data)
{
	struct customer *customer = data;
	struct seat *seat = customer->seat;
	bool paid = customer->number != 7; /* the bank knows that card */

	thrum_task_resolve(customer->payment);
	THRUM_RUN (customer->task) {
		thrum_task_read(customer->task, customer->payment);
		thrum_lock_released(seat->task);
		if (!paid) {
			payment_declined(customer);
			seat->holder = NULL;
			if (fixed)
				seat_next(seat);
			break;
		}
		tickets++;
		seat_next(seat); /* they want it for the next evening */
		thrum_task_resolve(customer->task);
	}
	free(customer);
}

static void customer_begin(struct customer *customer)
{
	struct seat *seat = customer->seat;
	struct customer **end = &seat->line;

	if (!seat->holder && !seat->line) {
		seat_take(customer);
		return;
	}
	while (*end)
		end = &(*end)->next;
	*end = customer;
	thrum_task_wait(customer->task, seat->task);
}

/* Customers often come in pairs, for the same seat. */
static void on_arrival(void *data)
{
	(void)data;
	for (int i = 0; i < 2; i++) {
		struct customer *customer = calloc(1, sizeof(*customer));

		customer->number = ++customers;
		customer->seat = &seats[(customers - 1) / 2 % SEATS];
		customer->task = thrum_task_createf(THRUM_KIND_TASK, "customer %u",
			customer->number);
		thrum_task_should_resolve(customer->task);
		THRUM_RUN (customer->task)
			customer_begin(customer);
	}
	timer_add(10000, on_arrival, NULL);
}

static void on_report(void *data)
{
	unsigned waiting = 0;

	(void)data;
	for (int i = 0; i < SEATS; i++)
		for (const struct customer *c = seats[i].line; c; c = c->next)
			waiting++;
	printf("%u customers, %u tickets, %u refused, %u in lines\n", customers, tickets, refused,
		waiting);
	fflush(stdout);
	timer_add(250000, on_report, NULL);
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	for (int i = 0; i < SEATS; i++)
		seats[i].task = thrum_task_createf(THRUM_KIND_LOCK, "seat %d", i);
	on_report(NULL);
	on_arrival(NULL);
	run_loop();
	return 0;
}
