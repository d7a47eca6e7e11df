/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: with_connection gives the connection back only after a query that succeeds; the three reports
 *     that time out are cancelled and keep their places of the pool, so each later lookup waits for one
 *   culprit: report (4|9|14)|with_connection|connection_return
 *   victim: lookup|client|connections
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A database front end: clients run statements over a pool of three connections. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIENTS 4
#define STATEMENTS 20
#define CONNECTIONS 3
#define REPORT_LIMIT_MS 30

enum return_policy {
	RETURN_WITH_RESULT,
	RETURN_IN_ANY_CASE,
};

struct pool {
	struct thrum_semaphore *connections;
	enum return_policy policy;
	unsigned answered, timed_out;
};

struct statement {
	struct pool *pool;
	int number;
	unsigned cost_ms;
};

struct client {
	struct pool *pool;
	int number;
	int next;
};

static bool is_report(int number)
{
	return number % 5 == 4 && number < 15;
}

/* The server runs the statement. */
static struct thrum_promise *execute(struct thrum_loop *loop, const struct statement *statement)
{
	struct thrum_promise *answer = thrum_sleep(loop, statement->cost_ms);

	return thrum_promise_labelf(answer, "answer to %d", statement->number);
}

static struct thrum_promise *connection_return(struct thrum_loop *loop, void *data)
{
	struct pool *pool = data;

	thrum_semaphore_release(pool->connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *after_result(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return connection_return(loop, data);
}

/* Runs when the statement has got a connection. */
static struct thrum_promise *with_connection(struct thrum_loop *loop, void *value, void *data)
{
	struct statement *statement = data;
	struct pool *pool = statement->pool;
	struct thrum_promise *answer;

	(void)value;
	answer = thrum_timeout(execute(loop, statement), REPORT_LIMIT_MS);
	if (pool->policy == RETURN_WITH_RESULT)
		return thrum_promise_bind(answer, after_result, pool, NULL);
	return thrum_promise_finalize(answer, connection_return, pool, NULL);
}

static struct thrum_promise *count_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct pool *pool = data;

	(void)value;
	pool->answered++;
	return thrum_promise_return(loop, thrum_value_none());
}

/* A statement that takes too long is a row less in the statistics, and no error. */
static struct thrum_promise *count_timeout(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct pool *pool = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	pool->timed_out++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *run_statement(struct pool *pool, int number)
{
	struct statement *statement = malloc(sizeof(*statement));
	struct thrum_promise *done;

	statement->pool = pool;
	statement->number = number;
	statement->cost_ms = is_report(number) ? 80 : 4 + number % 7;
	done = thrum_promise_bind(thrum_semaphore_acquire(pool->connections), with_connection,
		statement, free);
	done = thrum_promise_labelf(done, "%s %d", is_report(number) ? "report" : "lookup", number);
	return thrum_promise_try_bind(done, count_answer, count_timeout, pool, NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *client_think(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 3), client_next, data, NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	int number = client->next;

	(void)value;
	if (number >= STATEMENTS)
		return thrum_promise_return(loop, thrum_value_none());
	client->next += CLIENTS;
	return thrum_promise_bind(run_statement(client->pool, number), client_think, client, NULL);
}

/* Prints what goes on, if somebody wants to know. */
static void on_statistics(uv_timer_t *timer)
{
	struct pool *pool = timer->data;

	if (getenv("DBPOOL_VERBOSE"))
		fprintf(stderr, "answered %u, timed out %u, free %zu\n", pool->answered,
			pool->timed_out, thrum_semaphore_free(pool->connections));
}

int main(int argc, char **argv)
{
	struct pool pool = {0};
	struct client clients[CLIENTS];
	struct thrum_promise *all[CLIENTS], *served;
	struct thrum_loop *loop;
	uv_timer_t statistics;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	pool.policy = strcmp(argv[1], "broken") ? RETURN_IN_ANY_CASE : RETURN_WITH_RESULT;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &statistics);
	statistics.data = &pool;
	uv_timer_start(&statistics, on_statistics, 100, 100);

	pool.connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){&pool, i, i};
		all[i] = client_next(loop, NULL, &clients[i]);
		all[i] = thrum_promise_labelf(all[i], "client %d", i);
	}
	served = thrum_promise_label(thrum_promise_join(loop, all, CLIENTS), "all clients");
	error = thrum_promise_run(thrum_promise_should_resolve(served));
	thrum_stop();

	printf("%u answered, %u timed out\n", pool.answered, pool.timed_out);
	thrum_semaphore_destroy(pool.connections);
	uv_close((uv_handle_t *)&statistics, NULL);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
