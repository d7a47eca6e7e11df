/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The settlement in yen keeps the book locked while it waits for a rate. It should unlock it.
 *   culprit: settle JPY 49|await_rate
 *   victim: rate feed|post rate|close of day
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Settles a day's orders: a book of rates under a mutex, a feed of rates, orders in five currencies. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CURRENCIES = 5,
	ORDERS = 60
};

static const char *const names[CURRENCIES] = {"EUR", "USD", "GBP", "CHF", "JPY"};

struct book {
	struct thrum_mutex *mutex;
	struct thrum_condition *rates_changed;
	double rates[CURRENCIES], total;
	bool careful;
	int settled, posted, beats;
};

struct order {
	struct book *book;
	int currency, amount;
};

static struct book book;
static struct order orders[ORDERS];

static struct thrum_promise *nothing(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- Orders ---- */

static struct thrum_promise *settle_at_rate(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)value;
	order->book->total += order->amount * order->book->rates[order->currency];
	order->book->settled++;
	return thrum_sleep(loop, 1); /* writes the slip */
}

static struct thrum_promise *await_rate(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;
	struct book *in = order->book;

	if (in->rates[order->currency] > 0)
		return settle_at_rate(loop, value, data);
	return thrum_promise_bind(thrum_condition_wait(in->rates_changed,
					  in->careful ? in->mutex : NULL),
		await_rate, order, NULL);
}

static struct thrum_promise *settle_order(struct thrum_loop *loop, void *data)
{
	return await_rate(loop, NULL, data);
}

static struct thrum_promise *take_order(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)loop;
	(void)value;
	return thrum_promise_labelf(thrum_mutex_with(order->book->mutex, settle_order, order, NULL),
		"settle %s %d", names[order->currency], order->amount);
}

/* ---- The feed of rates ---- */

static struct thrum_promise *write_rate(struct thrum_loop *loop, void *data)
{
	struct book *in = data;

	in->rates[in->posted % CURRENCIES] = 1.1 + 0.01 * in->posted;
	in->posted++;
	thrum_condition_broadcast(in->rates_changed, thrum_value_none());
	return nothing(loop);
}

static struct thrum_promise *next_rate(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *post_rate(struct thrum_loop *loop, void *value, void *data)
{
	struct book *in = data;
	struct thrum_promise *posted = thrum_mutex_with(in->mutex, write_rate, in, NULL);

	(void)loop;
	(void)value;
	posted = thrum_promise_labelf(posted, "post rate %s", names[in->posted % CURRENCIES]);
	return thrum_promise_bind(posted, next_rate, in, NULL);
}

/* The rate of the yen comes last: Tokyo is asleep. */
static struct thrum_promise *next_rate(struct thrum_loop *loop, void *value, void *data)
{
	struct book *in = data;

	(void)value;
	if (in->posted == 3 * CURRENCIES)
		return nothing(loop);
	return thrum_promise_bind(thrum_sleep(loop, in->posted == CURRENCIES - 1 ? 60 : 5),
		post_rate, in, NULL);
}

/* ---- The link to the exchange wants a beat now and then ---- */

static struct thrum_promise *beat(struct thrum_loop *loop, void *value, void *data)
{
	struct book *in = data;

	(void)value;
	in->beats++;
	if (in->settled == ORDERS)
		return nothing(loop);
	return thrum_promise_bind(thrum_sleep(loop, 8), beat, in, NULL);
}

static struct thrum_promise *begin_beats(struct thrum_loop *loop, void *data)
{
	return beat(loop, NULL, data);
}

static struct thrum_promise *close_day(struct thrum_loop *loop)
{
	struct thrum_promise *all[ORDERS + 1];

	thrum_promise_async(loop, "beats", begin_beats, &book, NULL);
	for (int i = 0; i < ORDERS; i++) {
		/* Orders in yen come from the fourth dozen on. */
		orders[i] = (struct order){&book, i % (i < 36 ? 4 : 5), 10 + i};
		all[i] = thrum_promise_bind(thrum_sleep(loop, 25 + (uint64_t)i), take_order,
			&orders[i], NULL);
	}
	all[ORDERS] = thrum_promise_label(next_rate(loop, NULL, &book), "rate feed");
	return thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, all, ORDERS + 1), "close of day"));
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	if (thrum_start(NULL))
		fprintf(stderr, "settle: not recorded\n");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	book.careful = argc < 2 || strcmp(argv[1], "broken");
	book.mutex = thrum_mutex_create(loop, "book");
	book.rates_changed = thrum_condition_create(loop, "rates changed");
	result = thrum_promise_run(close_day(loop));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%d orders, %.2f in all, %d rates\n", book.settled, book.total, book.posted);
	thrum_condition_destroy(book.rates_changed);
	thrum_mutex_destroy(book.mutex);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result != 0;
}
