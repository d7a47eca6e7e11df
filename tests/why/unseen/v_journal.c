/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow="publish order"
 *   truth: the audit writer does an "fsync journal" of 260 ms after entry 15, takes nothing from the stream "audit entries" meanwhile, which fills; "publish order" waits for room in it.
 *   culprit: fsync journal|audit writer
 *   victim: publish order|audit entries
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An exchange that writes each order to a journal, over a bounded stream. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ORDERS 32

static struct thrum_stream *entries;
static struct thrum_promise *published[ORDERS];
static int numbers[ORDERS], written;
static bool slow_disk;

/* ---- The journal ---- */

static struct thrum_promise *write_entry(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *next_entry(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(thrum_stream_next(entries), write_entry, NULL, NULL);
}

static struct thrum_promise *sync_journal(struct thrum_loop *loop, void *value, void *data)
{
	if (++written % 15)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_label(thrum_sleep(loop, slow_disk && written == 15 ? 260 : 9),
		"fsync journal");
}

static struct thrum_promise *write_entry(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	done = thrum_promise_label(thrum_sleep(loop, 3), "append entry");
	done = thrum_promise_bind(done, sync_journal, NULL, NULL);
	return thrum_promise_bind(done, next_entry, NULL, NULL);
}

/* ---- The exchange ---- */

static struct thrum_promise *push_entry(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_stream_push(entries, thrum_value_static(data));
}

static struct thrum_promise *publish(struct thrum_loop *loop, int *number)
{
	struct thrum_promise *matched = thrum_promise_label(thrum_sleep(loop, 2), "match");

	return thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_bind(matched, push_entry, number, NULL),
			"publish order"));
}

static struct thrum_promise *take_orders(struct thrum_loop *loop, void *value, void *data)
{
	int *number = data;

	if (number == numbers + ORDERS)
		return thrum_promise_return(loop, thrum_value_none());
	published[number - numbers] = publish(loop, number);
	return thrum_promise_bind(thrum_sleep(loop, 7), take_orders, number + 1, NULL);
}

static struct thrum_promise *all_published(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_join(loop, published, ORDERS);
}

static struct thrum_promise *close_entries(struct thrum_loop *loop, void *value, void *data)
{
	thrum_stream_close(entries);
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *writer, *orders;
	struct thrum_loop *loop;
	int result;

	slow_disk = argc > 1 && !strcmp(argv[1], "slow");
	for (int i = 0; i < ORDERS; i++)
		numbers[i] = i + 1;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	entries = thrum_stream_create(loop, "audit entries", 4);
	writer = thrum_promise_label(next_entry(loop, NULL, NULL), "audit writer");
	orders = take_orders(loop, NULL, numbers);
	orders = thrum_promise_label(thrum_promise_bind(orders, all_published, NULL, NULL),
		"orders of the day");
	orders = thrum_promise_bind(orders, close_entries, NULL, NULL);
	result = thrum_promise_run(thrum_promise_both(orders, writer));
	thrum_stop();
	printf("%d entries, %s\n", written, result ? thrum_promise_error_message(result) : "ok");
	thrum_stream_destroy(entries);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result != 0;
}
