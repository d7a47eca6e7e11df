/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=feed-request
 *   truth: A batch of lookups is sent when eight are in it, but only three requests run at a time. So each
 *     batch waits for the timer linger to run out, 25 ms, and each request with it.
 *   culprit: linger
 *   victim: batch|lookup
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A server of feeds in one thread: requests look up users, and lookups go to the database in batches. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define CLIENTS 3
#define REQUESTS 16 /* of each client */
#define TIMERS 16

struct timer {
	int64_t due;
	thrum_task task;
	void (*expire)(void *data);
	void *data;
};

struct request {
	thrum_task task, lookup, disk;
	int served;
};

struct batch {
	thrum_task task, linger, query;
	struct timer *timer;
	struct request *requests[8];
	int count, limit, linger_ms;
};

static struct timer timers[TIMERS];
static struct request requests[CLIENTS];
static struct batch batch = {.limit = 8, .linger_ms = 25}, sent[4];
static int next_sent, served;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void compute(int us)
{
	for (int64_t end = now_ns() + us * 1000LL; now_ns() < end;)
		continue;
}

/* Calls `expire` after some time. The task ends then. */
static struct timer *start_timer(int ms, thrum_task task, void (*expire)(void *data), void *data)
{
	for (int i = 0; i < TIMERS; i++)
		if (!timers[i].expire) {
			timers[i] = (struct timer){now_ns() + ms * 1000000LL, task, expire, data};
			thrum_task_due(task, ms * 1000000LL);
			return &timers[i];
		}
	abort();
}

static void begin_request(struct request *request);

static void log_written(void *data)
{
	struct request *request = data;

	THRUM_RUN (request->task) {
		thrum_task_read(request->task, request->disk);
		thrum_task_resolve(request->task);
	}
	served++;
	if (++request->served < REQUESTS)
		begin_request(request);
}

/* The database has answered for all users of a batch. */
static void users_arrived(void *data)
{
	struct batch *answered = data;

	THRUM_RUN (answered->task) {
		thrum_task_read(answered->task, answered->query);
		compute(100);
		thrum_task_resolve(answered->task);
	}
	for (int i = 0; i < answered->count; i++) {
		struct request *request = answered->requests[i];

		THRUM_RUN (request->lookup) {
			thrum_task_read(request->lookup, answered->task);
			thrum_task_resolve(request->lookup);
		}
		THRUM_RUN (request->task) {
			thrum_task_read(request->task, request->lookup);
			compute(700); /* render the feed */
			request->disk = thrum_task_create(THRUM_KIND_REQUEST, "access-log");
			thrum_task_wait(request->task, request->disk);
			start_timer(1, request->disk, log_written, request);
		}
	}
}

static void send_batch(void)
{
	struct batch *now = &sent[next_sent++ % 4];

	*now = batch;
	batch.count = 0;
	THRUM_RUN (now->task) {
		now->query = thrum_task_create(THRUM_KIND_REQUEST, "users-query");
		thrum_task_wait(now->task, now->query);
		start_timer(3, now->query, users_arrived, now);
	}
}

static void linger_over(void *data)
{
	thrum_task_read(batch.task, ((struct batch *)data)->linger);
	send_batch();
}

static void look_up(struct request *request)
{
	if (batch.count == 0) {
		batch.task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_PROMISE, "batch");
		batch.linger = thrum_task_create_in(batch.task, THRUM_KIND_TIMER, "linger");
		thrum_task_wait(batch.task, batch.linger);
		batch.timer = start_timer(batch.linger_ms, batch.linger, linger_over, &batch);
	}
	request->lookup = thrum_task_create_waiting(THRUM_KIND_PROMISE, "lookup", batch.task);
	thrum_task_wait(request->task, request->lookup);
	batch.requests[batch.count++] = request;
	if (batch.count == batch.limit) {
		batch.timer->expire = NULL;
		thrum_task_cancel(batch.linger);
		send_batch();
	}
}

static void begin_request(struct request *request)
{
	request->task = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_TASK, "feed-request");
	thrum_task_should_resolve(request->task);
	THRUM_RUN (request->task) {
		compute(300); /* parse */
		look_up(request);
	}
}

static void run_loop(void)
{
	while (served < CLIENTS * REQUESTS) {
		struct timer *first = NULL, expired;
		struct timespec due;

		for (int i = 0; i < TIMERS; i++)
			if (timers[i].expire && (!first || timers[i].due < first->due))
				first = &timers[i];
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		due = (struct timespec){first->due / 1000000000, first->due % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		thrum_resume();
		expired = *first;
		first->expire = NULL;
		thrum_task_resolve(expired.task);
		expired.expire(expired.data);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "healthy"))
		batch = (struct batch){.limit = CLIENTS, .linger_ms = 1};
	thrum_start(NULL);
	for (int i = 0; i < CLIENTS; i++)
		begin_request(&requests[i]);
	run_loop();
	thrum_stop();
	printf("%d requests served\n", served);
	return 0;
}
