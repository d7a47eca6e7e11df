/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Each order holds a database connection while its audit entry asks the same pool for a second one.
 *     A burst of three orders takes all three connections, so no audit entry ever gets one.
 *   culprit: [Hh]olds “db connections”|needs “db connections”|write_audit
 *   victim: PUT /order|burst|audit
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * A shop's backend. An order runs in a transaction on a connection of the pool, and leaves an entry in the
 * audit log. Orders come one by one first, then in a burst.
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CONNECTIONS 3
#define SINGLE 4
#define BURST 3

static struct thrum_semaphore *connections;
static bool broken;
static int stored, audited;

/* A statement takes some milliseconds in the database. */
static struct thrum_promise *query(struct thrum_loop *loop, const char *statement, unsigned ms)
{
	return thrum_promise_label(thrum_sleep(loop, ms), statement);
}

static struct thrum_promise *insert_audit(struct thrum_loop *loop, void *data)
{
	(void)data;
	audited++;
	return query(loop, "INSERT INTO audit", 2);
}

static struct thrum_promise *write_audit(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	/* The bug: the helper doesn't know of the transaction, and takes a connection of its own. */
	if (broken) {
		struct thrum_promise *entry;

		entry = thrum_semaphore_with(connections, insert_audit, data, NULL);
		return thrum_promise_label(entry, "audit");
	}
	return insert_audit(loop, data);
}

static struct thrum_promise *commit(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	stored++;
	return query(loop, "COMMIT", 1);
}

static struct thrum_promise *transaction(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *step = query(loop, "INSERT INTO orders", 5);

	step = thrum_promise_bind(step, write_audit, data, NULL);
	return thrum_promise_bind(step, commit, data, NULL);
}

static struct thrum_promise *put_order(int number)
{
	struct thrum_promise *order = thrum_semaphore_with(connections, transaction, NULL, NULL);

	return thrum_promise_should_resolve(thrum_promise_labelf(order, "PUT /order/%d", number));
}

/* The burst, when the single orders are stored. */
static struct thrum_promise *burst(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *orders[BURST];

	(void)value;
	(void)data;
	for (int i = 0; i < BURST; i++)
		orders[i] = put_order(SINGLE + i);
	return thrum_promise_label(thrum_promise_join(loop, orders, BURST), "burst");
}

/* Orders one after the other. */
static struct thrum_promise *next_single(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)thrum_int(data);

	if (number == SINGLE)
		return burst(loop, value, NULL);
	return thrum_promise_bind(put_order(number), next_single, (void *)(intptr_t)(number + 1),
		NULL);
}

/* Pings the database to keep idle connections open. */
static struct thrum_promise *keep_alive(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 30), keep_alive, data, NULL);
}

static struct thrum_promise *begin_keep_alive(struct thrum_loop *loop, void *data)
{
	return keep_alive(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *orders;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "db connections", CONNECTIONS);
	if (!connections)
		return 1;
	thrum_promise_async(loop, "keep alive", begin_keep_alive, NULL, NULL);
	orders = next_single(loop, NULL, NULL);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(orders, "orders")));
	thrum_stop();
	printf("%d stored, %d audited\n", stored, audited);
	return error ? 1 : 0;
}
