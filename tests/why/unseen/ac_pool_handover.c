/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The clients of two reports hang up, but their queries stay in the pool's queue. They are handed
 *     the two connections, see that nobody wants them any more, and never give the connections back.
 *   culprit: query of /report
 *   victim: GET /orders
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define CONNECTIONS 2
#define REQUESTS 48

struct request {
	thrum_task task, query;
	char path[32];
	unsigned arrives, query_ms, client_leaves; /* ms; client_leaves is 0 for a patient client */
	unsigned query_ends;
	bool arrived, gone, connected, done;
};

static struct request requests[REQUESTS];
static struct request *queue[REQUESTS];
static unsigned queued, free_connections = CONNECTIONS, now;
static thrum_task pool;
static bool give_back;

static void add_request(unsigned i, const char *path, unsigned arrives, unsigned query_ms,
	unsigned leaves)
{
	struct request *request = &requests[i];

	snprintf(request->path, sizeof(request->path), "%s/%u", path, i);
	request->arrives = arrives;
	request->query_ms = query_ms;
	request->client_leaves = leaves;
}

/* The query's task runs. It has a connection now. */
static void start_query(struct request *request)
{
	if (request->gone && !give_back)
		return;
	request->query_ends = request->gone ? now : now + request->query_ms;
	request->connected = true;
}

static void acquire_connection(struct request *request)
{
	THRUM_RUN (request->query) {
		if (free_connections) {
			free_connections--;
			thrum_lock_acquired(pool);
			start_query(request);
		} else {
			thrum_task_wait(request->query, pool);
			queue[queued++] = request;
		}
	}
}

/* The task that holds the connection runs. Hands it over to the first in the queue. */
static void release_connection(void)
{
	struct request *next;

	thrum_lock_released(pool);
	if (!queued) {
		free_connections++;
		return;
	}
	next = queue[0];
	memmove(queue, queue + 1, --queued * sizeof(*queue));
	THRUM_RUN (next->query) {
		thrum_lock_acquired(pool);
		start_query(next);
	}
}

static void begin_request(struct request *request)
{
	request->arrived = true;
	request->task = thrum_task_createf(THRUM_KIND_TASK, "GET %s", request->path);
	thrum_task_should_resolve(request->task);
	THRUM_RUN (request->task) {
		request->query = thrum_task_createf(THRUM_KIND_TASK, "query of %s", request->path);
		thrum_task_wait(request->task, request->query);
	}
	acquire_connection(request);
}

static void end_query(struct request *request)
{
	request->connected = false;
	THRUM_RUN (request->query) {
		release_connection();
		thrum_task_resolve(request->query);
	}
	if (request->gone)
		return;
	THRUM_RUN (request->task) {
		thrum_task_read(request->task, request->query);
		thrum_task_resolve(request->task);
	}
	request->done = true;
}

static void client_hangs_up(struct request *request)
{
	request->gone = request->done = true;
	thrum_task_cancel(request->task);
}

/* Does what is due in this millisecond. Returns whether requests are left. */
static bool turn(void)
{
	bool left = false;

	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		if (!request->arrived && request->arrives <= now)
			begin_request(request);
		if (request->connected && request->query_ends <= now)
			end_query(request);
		if (request->client_leaves && request->client_leaves <= now && !request->done)
			client_hangs_up(request);
		left |= !request->done;
	}
	return left;
}

static void sleep_1_ms(void)
{
	struct timespec time = {.tv_nsec = 1000000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&time, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	give_back = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	thrum_lane_name("web loop");
	pool = thrum_task_create(THRUM_KIND_SEMAPHORE, "database pool");
	for (unsigned i = 0; i < REQUESTS; i++) {
		if (i == 10 || i == 11)
			add_request(i, "/export", 50, 30, 0);
		else if (i == 12 || i == 13)
			add_request(i, "/report", 52, 10, 70);
		else
			add_request(i, "/orders", i * 5, 3 + i % 3, 0);
	}
	while (turn()) {
		sleep_1_ms();
		now++;
	}
	printf("%u requests in %u ms\n", REQUESTS, now);
	thrum_stop();
	return 0;
}
