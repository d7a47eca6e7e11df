/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=order
 *   truth: recount goes over all shelves in the loop's own thread (count_shelves), for some 90 ms at a time. Orders
 *     that come meanwhile have got their answer from the card service long ago, and wait for their turn.
 *   culprit: recount
 *   victim: order
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A stockroom's service: it takes orders, writes mails, and recounts the shelves now and then. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

enum {
	ORDERS = 110,
	SHELVES = 4000,
	RECOUNTS = 4
};

struct stockroom {
	struct thrum_loop *loop;
	struct thrum_mutex *till; /* the journal of sales */
	unsigned shelf[SHELVES];
	unsigned list[SHELVES]; /* a copy, to count */
	unsigned long sum;
	unsigned ordered, mails, recounts;
};

static struct stockroom room;
static bool broken;

/* ---- Orders ---- */

static struct thrum_promise *write_sale(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 1), "write the journal");
}

static struct thrum_promise *take_goods(struct thrum_loop *loop, void *value, void *data)
{
	const unsigned *number = data;

	(void)loop;
	(void)value;
	room.shelf[*number * 13 % SHELVES]--;
	room.ordered++;
	return thrum_mutex_with(room.till, write_sale, NULL, NULL);
}

static struct thrum_promise *take_order(unsigned *number)
{
	struct thrum_promise *paid;

	paid = thrum_promise_label(thrum_sleep(room.loop, 4), "ask the card service");
	paid = thrum_promise_bind(paid, take_goods, number, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(paid, "order %u", *number));
}

/* ---- Mails ---- */

/* The mail server is far away. */
static struct thrum_promise *send_mail(struct thrum_loop *loop)
{
	struct thrum_promise *sent = thrum_promise_label(thrum_sleep(loop, 70),
		"ask the mail server");

	room.mails++;
	return thrum_promise_labelf(thrum_promise_protected(sent), "mail %u", room.mails);
}

/* ---- The recount ---- */

static int count_shelves(void *data, struct thrum_value *result)
{
	struct timespec now, end;
	unsigned long sum = 0;

	(void)data;
	(void)result;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 90000000L;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_nsec -= 1000000000L;
		end.tv_sec++;
	}
	/* So many shelves take their time. */
	do {
		for (unsigned i = 0; i < SHELVES; i++)
			sum += room.list[i] ^ i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (
		now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	__atomic_store_n(&room.sum, sum, __ATOMIC_RELAXED);
	return 0;
}

static struct thrum_promise *recount(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value none = thrum_value_none();

	(void)value;
	(void)data;
	room.recounts++;
	memcpy(room.list, room.shelf, sizeof(room.list));
	if (!broken)
		return thrum_work(loop, "count", count_shelves, NULL, NULL);
	count_shelves(NULL, &none);
	return thrum_promise_return(loop, none);
}

static struct thrum_promise *next_recount(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done;

	(void)value;
	if (room.recounts == RECOUNTS)
		return thrum_promise_return(loop, thrum_value_none());
	done = thrum_promise_bind(thrum_sleep(loop, 280), recount, NULL, NULL);
	done = thrum_promise_label(done, "recount");
	return thrum_promise_bind(done, next_recount, data, NULL);
}

/* ---- A day ---- */

struct day {
	struct thrum_promise *order[ORDERS];
	unsigned number[ORDERS];
	unsigned count;
};

static struct thrum_promise *next_customer(struct thrum_loop *loop, void *value, void *data)
{
	struct day *day = data;

	(void)value;
	if (day->count == ORDERS)
		return thrum_promise_join(loop, day->order, ORDERS);
	day->number[day->count] = day->count + 1;
	day->order[day->count] = take_order(&day->number[day->count]);
	if (++day->count % 9 == 0)
		thrum_promise_ignore_result(send_mail(loop));
	/* Two customers at once, every third time. */
	return thrum_promise_bind(thrum_sleep(loop, day->count % 3 ? 13 : 1), next_customer, day,
		NULL);
}

int main(int argc, char **argv)
{
	static struct day day;
	struct thrum_promise *both;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &room.loop))
		return 1;
	room.till = thrum_mutex_create(room.loop, "till");
	for (unsigned i = 0; i < SHELVES; i++)
		room.shelf[i] = 1000;
	both = thrum_promise_both(next_customer(room.loop, NULL, &day),
		next_recount(room.loop, NULL, NULL));
	error = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(both, "day")));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("done: %u orders, %u mails, %u recounts, %d\n", room.ordered, room.mails,
		room.recounts, error);
	thrum_mutex_destroy(room.till);
	thrum_loop_destroy(room.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
