/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The payment of booking 7, by a voucher, is reported before its seats are written. on_paid signals the condition
 *     then, when nobody waits for it; await_payment begins to wait later, and no second signal comes.
 *   culprit: on_paid|await_payment|paid 7
 *   victim: booking 7
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define BOOKINGS 12

struct booking {
	int number;
	int pay_ms;
	bool is_paid;
	struct thrum_condition *paid;
};

static struct booking bookings[BOOKINGS];
static bool healthy;
static int confirmed, departures;

static struct thrum_promise *confirm(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;

	(void)value;
	confirmed++;
	printf("booking %d confirmed\n", booking->number);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *await_payment(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;

	(void)value;
	if (healthy && booking->is_paid)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_condition_wait(booking->paid, NULL);
}

/* The bank, or the voucher office, tells by a web hook. */
static struct thrum_promise *on_paid(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;

	(void)value;
	booking->is_paid = true;
	thrum_condition_signal(booking->paid, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *hold_seats(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;

	(void)value;
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, booking->pay_ms), on_paid,
					    booking, NULL),
			"web hook"));
	/* Writes the seats to the plan of the deck. */
	return thrum_promise_label(thrum_sleep(loop, 60), "write seats");
}

static struct thrum_promise *book(struct thrum_loop *loop, struct booking *booking)
{
	struct thrum_promise *step = thrum_sleep(loop, 10 + 15 * booking->number);

	step = thrum_promise_bind(step, hold_seats, booking, NULL);
	step = thrum_promise_bind(step, await_payment, booking, NULL);
	step = thrum_promise_bind(step, confirm, booking, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(step, "booking %d", booking->number));
}

static struct thrum_promise *refresh_board(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	departures++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 40), "board"),
		refresh_board, NULL, NULL);
}

static struct thrum_promise *all_done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	printf("all %d confirmed\n", confirmed);
	fflush(stdout);
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[BOOKINGS];
	struct thrum_loop *loop;
	uv_loop_t uv;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	setlinebuf(stdout);
	if (thrum_start(NULL))
		return 1;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < BOOKINGS; i++) {
		char label[32];

		snprintf(label, sizeof(label), "paid %d", i);
		bookings[i].number = i;
		bookings[i].pay_ms = i == 7 ? 5 : 200 + 5 * i;
		bookings[i].paid = thrum_condition_create(loop, label);
		all[i] = book(loop, &bookings[i]);
	}
	thrum_promise_ignore_result(
		thrum_promise_bind(thrum_promise_join(loop, all, BOOKINGS), all_done, NULL, NULL));
	thrum_promise_ignore_result(
		thrum_promise_bind(thrum_sleep(loop, 40), refresh_board, NULL, NULL));
	/* The terminal never closes. */
	uv_run(&uv, UV_RUN_DEFAULT);
	return 0;
}
