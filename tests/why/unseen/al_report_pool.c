/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: GET /report/3 and GET /report/4 run out of patience while they queue for a connection. When pool_put hands
 *     them one, on_connection only answers 504 and doesn't put it back: both connections are lost, and the others of
 *     the queue (5 to 8) wait for ever.
 *   culprit: GET /report/[34]\b|on_connection
 *   victim: GET /report/[5678]\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A report server with an event loop of its own, which asks a warehouse over a pool of two connections. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 8
#define CONNECTIONS 2
#define PATIENCE_NS 250000000

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* ---- The warehouse: one thread for each connection -------------------------------------------------- */

static void *warehouse_serve(void *data)
{
	int descriptor = *(int *)data;
	unsigned char weeks;

	thrum_lane_name("warehouse");
	for (;;) {
		ssize_t size;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(descriptor, &weeks, 1);
		if (size == 1) /* looks through that many weeks */
			usleep(weeks * 10000u);
		thrum_resume();
		if (size != 1 || write(descriptor, &weeks, 1) != 1)
			return NULL;
	}
}

/* ---- Timers ------------------------------------------------------------------------------------------- */

struct timer {
	int64_t due; /* 0: not set */
	void (*expired)(void *data);
	void *data;
	thrum_task task;
};

static struct timer timers[2 * REQUESTS];

static struct timer *timer_start(const char *name, int64_t ns, void (*expired)(void *data),
	void *data)
{
	struct timer *timer = timers;

	while (timer->due)
		timer++;
	*timer = (struct timer){now_ns() + ns, expired, data,
		thrum_task_create(THRUM_KIND_TIMER, name)};
	thrum_task_due(timer->task, ns);
	return timer;
}

static void timer_stop(struct timer *timer)
{
	timer->due = 0;
	thrum_task_cancel(timer->task);
}

/* ---- The pool of connections --------------------------------------------------------------------------- */

struct request {
	unsigned number;
	unsigned char weeks;
	bool is_interactive, timed_out, done;
	struct timer *patience;
	struct connection *connection;
	struct request *next; /* in the pool's queue */
	thrum_task task;
};

struct connection {
	int descriptor, far_end;
	struct request *request; /* that it serves */
	thrum_task handle, question;
};

static struct connection connections[CONNECTIONS];
static struct connection *free_connections[CONNECTIONS];
static unsigned free_count, open_requests;
static struct request *queue, **queue_end = &queue;
static thrum_task pool; /* SEMAPHORE */

static void on_connection(struct request *request, struct connection *connection);

static void pool_get(struct request *request)
{
	if (free_count > 0) {
		thrum_lock_acquired(pool);
		on_connection(request, free_connections[--free_count]);
		return;
	}
	thrum_task_wait(request->task, pool);
	request->next = NULL;
	*queue_end = request;
	queue_end = &request->next;
}

/* The running task gives its connection to the next request, or back to the pool. */
static void pool_put(struct connection *connection)
{
	struct request *next = queue;

	connection->request = NULL;
	thrum_lock_released(pool);
	if (!next) {
		free_connections[free_count++] = connection;
		return;
	}
	queue = next->next;
	if (!queue)
		queue_end = &queue;
	THRUM_RUN (next->task) {
		thrum_lock_acquired(pool);
		on_connection(next, connection);
	}
}

/* ---- Requests -------------------------------------------------------------------------------------------- */

static void reply(struct request *request, int status)
{
	request->done = true;
	open_requests--;
	if (request->patience && request->patience->due && request->patience->data == request)
		timer_stop(request->patience);
	if (status == 200)
		thrum_task_resolve(request->task);
	else
		thrum_task_fail(request->task, "gateway timeout");
}

/* Runs in the request's task. */
static void on_connection(struct request *request, struct connection *connection)
{
	if (request->timed_out) {
		reply(request, 504);
		return;
	}
	request->connection = connection;
	connection->request = request;
	connection->question = thrum_task_create(THRUM_KIND_REQUEST, "query warehouse");
	thrum_task_wait(connection->question, connection->handle);
	thrum_task_wait(request->task, connection->question);
	if (write(connection->descriptor, &request->weeks, 1) != 1)
		abort();
}

static void on_impatient(void *data)
{
	struct request *request = data;

	if (!request->connection)
		request->timed_out = true; /* it still stands in the queue */
}

/* The loop found an answer. */
static void on_answer(struct connection *connection)
{
	struct request *request = connection->request;
	unsigned char weeks;

	if (read(connection->descriptor, &weeks, 1) != 1)
		abort();
	thrum_task_read(connection->question, connection->handle);
	thrum_task_resolve(connection->question);
	THRUM_RUN (request->task) {
		thrum_task_read(request->task, connection->question);
		pool_put(connection);
		reply(request, 200);
	}
}

static void on_request(void *data)
{
	struct request *request = data;

	request->task = thrum_task_createf(THRUM_KIND_TASK, "GET /report/%u", request->number);
	thrum_task_should_resolve(request->task);
	THRUM_RUN (request->task) {
		if (request->is_interactive)
			request->patience = timer_start("patience", PATIENCE_NS, on_impatient,
				request);
		pool_get(request);
	}
}

/* ---- The loop ---------------------------------------------------------------------------------------------- */

static void loop_run(void)
{
	struct pollfd polled[CONNECTIONS];

	while (open_requests > 0) {
		int64_t next = INT64_MAX, now = now_ns();

		for (unsigned i = 0; i < 2 * REQUESTS; i++)
			if (timers[i].due && timers[i].due < next)
				next = timers[i].due;
		for (unsigned i = 0; i < CONNECTIONS; i++)
			polled[i] = (struct pollfd){connections[i].descriptor, POLLIN, 0};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, CONNECTIONS,
			next == INT64_MAX     ? -1
				: next <= now ? 0
					      : (int)((next - now) / 1000000 + 1));
		thrum_resume();
		for (unsigned i = 0; i < CONNECTIONS; i++)
			if (polled[i].revents)
				on_answer(&connections[i]);
		now = now_ns();
		for (unsigned i = 0; i < 2 * REQUESTS; i++) {
			if (timers[i].due && timers[i].due <= now) {
				timers[i].due = 0;
				thrum_task_resolve(timers[i].task);
				timers[i].expired(timers[i].data);
			}
		}
	}
}

int main(int argc, char **argv)
{
	static struct request requests[REQUESTS];
	pthread_t threads[CONNECTIONS];
	bool is_yearly = argc > 1 && !strcmp(argv[1], "broken");

	if (thrum_start(NULL))
		return 2;
	pool = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		connections[i].descriptor = ends[0];
		connections[i].far_end = ends[1];
		connections[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "connection %u",
			i + 1);
		free_connections[free_count++] = &connections[i];
		pthread_create(&threads[i], NULL, warehouse_serve, &connections[i].far_end);
	}
	for (unsigned i = 0; i < REQUESTS; i++) {
		requests[i].number = i + 1;
		requests[i].weeks = is_yearly && i < 2 ? 52 : 1;
		requests[i].is_interactive = i == 2 || i == 3; /* the others run overnight */
		timer_start("arrival", (i + 1) * INT64_C(8000000), on_request, &requests[i]);
		open_requests++;
	}
	loop_run();
	thrum_stop();
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		close(connections[i].descriptor);
		pthread_join(threads[i], NULL);
		close(connections[i].far_end);
	}
	return 0;
}
