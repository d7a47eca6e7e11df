/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The call "watch leases" gets GOAWAY and shuts the channel down from within its own callback. There
 *          it waits until all calls are drained, but it is itself a call in flight, and so never is done.
 *   culprit: watch leases
 *   victim: (close client|calls drained)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A client of a key-value store: two executor threads run the callbacks of calls on one channel. */
#define THREADS 2
#define CALLS 40

struct call {
	struct call *next;
	thrum_task task;
	void (*run)(struct call *call);
	int key;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct call *queue, **queue_end = &queue;
static bool stopping;

static pthread_cond_t drained = PTHREAD_COND_INITIALIZER;
static thrum_task drained_task;
static unsigned in_flight, drain_waiters, fetched;
static bool healthy, shut;

static void start_call(const char *name, int key, void (*run)(struct call *call))
{
	struct call *call = calloc(1, sizeof *call);

	call->task = thrum_task_createf(THRUM_KIND_TASK, key < 0 ? "%s" : "%s %d", name, key);
	thrum_task_should_resolve(call->task);
	call->run = run;
	call->key = key;
	pthread_mutex_lock(&lock);
	in_flight++;
	thrum_task_ready(call->task);
	*queue_end = call;
	queue_end = &call->next;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static void leave_flight(void)
{
	if (--in_flight > 0)
		return;
	thrum_task_signal(drained_task, drain_waiters);
	drain_waiters = 0;
	pthread_cond_broadcast(&drained);
}

static void *run_executor(void *unused)
{
	(void)unused;
	thrum_lane_name("executor");
	pthread_mutex_lock(&lock);
	for (;;) {
		struct call *call;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !stopping)
			pthread_cond_wait(&changed, &lock);
		thrum_resume();
		call = queue;
		if (!call)
			break;
		queue = call->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&lock);
		THRUM_RUN (call->task)
			call->run(call);
		thrum_task_resolve(call->task);
		free(call);
		pthread_mutex_lock(&lock);
		leave_flight();
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Waits until no call is in flight. */
static void wait_for_drain(void)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&lock);
	while (in_flight > 0) {
		drain_waiters++;
		thrum_task_wait(self, drained_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&drained, &lock);
		thrum_resume();
		thrum_task_read(self, drained_task);
	}
	pthread_mutex_unlock(&lock);
}

static void shut_down_channel(void)
{
	shut = true;
	wait_for_drain();
}

static void get_key(struct call *call)
{
	usleep(1000 + call->key % 7 * 300);
	pthread_mutex_lock(&lock);
	fetched++;
	pthread_mutex_unlock(&lock);
}

static void close_later(struct call *call)
{
	(void)call;
	shut = true; /* main waits for the drain */
}

static void watch_leases(struct call *call)
{
	(void)call;
	usleep(20000); /* the server is going to restart: GOAWAY */
	if (healthy)
		start_call("close channel", -1, close_later);
	else
		shut_down_channel();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	thrum_task client;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	drained_task = thrum_task_create(THRUM_KIND_CONDITION, "calls drained");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_executor, NULL);
	for (int key = 0; key < CALLS; key++) {
		start_call("get key", key, get_key);
		if (key == CALLS / 2)
			start_call("watch leases", -1, watch_leases);
	}
	client = thrum_task_create(THRUM_KIND_TASK, "close client");
	thrum_task_should_resolve(client);
	THRUM_RUN (client) {
		wait_for_drain();
		thrum_task_resolve(client);
	}
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_task_resolve(drained_task);
	printf("client: %u keys, channel %s\n", fetched, shut ? "shut" : "open");
	return 0;
}
