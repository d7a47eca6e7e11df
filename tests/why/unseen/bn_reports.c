/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: a query gives its database connection back in on_rows, which doesn't run when the query times out. After two
 *     time-outs both connections are lost, and all further reports wait for one for ever.
 *   culprit: database connections|on_connection|on_rows|query [25]\b
 *   victim: all reports|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A server of reports, on promises: a report needs one of two connections to the database, and its query has a time limit. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	REPORTS = 12,
	CONNECTIONS = 2,
	LIMIT_MS = 150
};

struct report {
	int number, rows, status;
};

static bool broken, leaving;
static struct thrum_semaphore *connections;
static struct report reports[REPORTS];
static int health_checks;

/* Reports over a whole year take long. */
static uint64_t query_ms(const struct report *report)
{
	return report->number == 2 || report->number == 5 ? 700
							  : 15 + (uint64_t)report->number % 4 * 10;
}

static struct thrum_promise *on_rows(struct thrum_loop *loop, void *value, void *data)
{
	struct report *report = data;

	(void)value;
	report->rows = report->number * 100 + 17;
	if (broken)
		thrum_semaphore_release(connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *connection_give(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_semaphore_release(connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_connection(struct thrum_loop *loop, void *value, void *data)
{
	struct report *report = data;
	struct thrum_promise *query;

	(void)value;
	query = thrum_promise_labelf(thrum_sleep(loop, query_ms(report)), "query %d",
		report->number);
	query = thrum_timeout(query, LIMIT_MS);
	query = thrum_promise_bind(query, on_rows, report, NULL);
	if (!broken)
		query = thrum_promise_finalize(query, connection_give, NULL, NULL);
	return query;
}

static struct thrum_promise *on_formatted(struct thrum_loop *loop, void *value, void *data)
{
	struct report *report = data;

	(void)value;
	report->status = 200;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *format(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 5), on_formatted, data, NULL);
}

static struct thrum_promise *on_query_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct report *report = data;

	report->status = failure->code == UV_ETIMEDOUT ? 504 : 500;
	thrum_logf("report %d: %s", report->number, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_report(struct thrum_loop *loop, void *value, void *data)
{
	struct report *report = data;
	struct thrum_promise *answer;

	(void)loop;
	(void)value;
	answer = thrum_promise_bind(thrum_semaphore_acquire(connections), on_connection, report,
		NULL);
	answer = thrum_promise_bind(answer, format, report, NULL);
	return thrum_promise_catch(answer, on_query_failed, report, NULL);
}

/* The load balancer asks now and then. */
static struct thrum_promise *check_health(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *health_begin(struct thrum_loop *loop, void *data)
{
	if (leaving)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), check_health, data, NULL);
}

static struct thrum_promise *check_health(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	health_checks++;
	return health_begin(loop, data);
}

static struct thrum_promise *serve_all(struct thrum_loop *loop)
{
	struct thrum_promise *served[REPORTS];

	for (int i = 0; i < REPORTS; i++) {
		reports[i].number = i;
		served[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)i * 40 + 1),
			serve_report, &reports[i], NULL);
		thrum_promise_labelf(served[i], "GET /report/%d", i);
		thrum_promise_should_resolve(served[i]);
	}
	return thrum_promise_label(thrum_promise_join(loop, served, REPORTS), "all reports");
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "database connections", CONNECTIONS);
	thrum_promise_async(loop, "health", health_begin, NULL, NULL);
	error = thrum_promise_run(serve_all(loop));
	leaving = true;
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	if (error)
		fprintf(stderr, "%s\n", thrum_promise_error_message(error));
	for (int i = 0; i < REPORTS; i++)
		printf("report %d: %d, %d rows\n", i, reports[i].status, reports[i].rows);
	printf("%d health checks\n", health_checks);
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_NOWAIT);
	return uv_loop_close(&uv) ? 1 : 0;
}
