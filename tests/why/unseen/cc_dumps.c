/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=order-#
 *   truth: The export reads the table over the one connection to the database, and keeps it while it sends the file to
 *     the bookkeeper, for 600 ms (send_file, bound inside read_table). Orders that come meanwhile wait for the semaphore
 *     "database" until the export gives it back; usually an order takes 6 ms.
 *   culprit: export|send_file|send to bookkeeper
 *   victim: order-
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A shop's server on promises. Orders and a nightly export share the connection to the database. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ORDERS 24

static struct thrum_semaphore *database;
static bool keep;
static unsigned stored;

/* ---- The export ---- */

static struct thrum_promise *send_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 600), "send to bookkeeper");
}

static struct thrum_promise *read_table(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *rows = thrum_promise_label(thrum_sleep(loop, 6), "read table");

	if (keep)
		return thrum_promise_bind(rows, send_file, data, NULL);
	return rows;
}

static struct thrum_promise *run_export(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done = thrum_semaphore_with(database, read_table, data, NULL);

	(void)loop;
	(void)value;
	if (!keep)
		done = thrum_promise_bind(done, send_file, data, NULL);
	return thrum_promise_label(done, "export");
}

/* ---- Orders ---- */

static struct thrum_promise *insert_row(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 4), "insert");
}

static struct thrum_value order_stored(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	stored++;
	return thrum_value_none();
}

static struct thrum_promise *order_checked(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_semaphore_with(database, insert_row, data, NULL);
}

/* Checks the order for 2 ms, and stores it. */
static struct thrum_promise *handle_order(struct thrum_loop *loop, int number)
{
	struct thrum_promise *order = thrum_promise_label(thrum_sleep(loop, 2), "check");

	order = thrum_promise_bind(order, order_checked, NULL, NULL);
	order = thrum_promise_map(order, order_stored, NULL, NULL);
	return thrum_promise_labelf(order, "order-%d", number);
}

static struct thrum_promise *take_orders(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);
	struct thrum_promise *next;

	(void)value;
	if (number > ORDERS)
		return thrum_promise_return(loop, thrum_value_none());
	next = thrum_promise_bind(thrum_sleep(loop, 12), take_orders, (void *)(number + 1), NULL);
	return thrum_promise_both(thrum_promise_should_resolve(handle_order(loop, (int)number)),
		next);
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[2];
	struct thrum_promise *program;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	keep = !(argc > 1 && !strcmp(argv[1], "healthy"));
	uv_loop_init(&uv);
	if (thrum_start(NULL) || thrum_loop_create(&uv, &loop))
		return 1;
	database = thrum_semaphore_create(loop, "database", 1);
	parts[0] = take_orders(loop, NULL, (void *)1);
	parts[1] = thrum_promise_bind(thrum_sleep(loop, 150), run_export, NULL, NULL);
	program = thrum_promise_label(thrum_promise_join(loop, parts, 2), "main");
	code = thrum_promise_run(thrum_promise_should_resolve(program));
	printf("%u orders stored\n", stored);
	thrum_stop();
	thrum_semaphore_destroy(database);
	thrum_loop_destroy(loop);
	return code;
}
