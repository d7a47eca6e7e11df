/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=serve request
 *   truth: The slowest request asked for a collection, which begins only when all threads have come to a safepoint; "export report" compresses 60 blocks in one go without one, some 240 ms. The collection itself takes 3 ms.
 *   culprit: export report|export_report|exporter
 *   victim: collect garbage|collector
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server in a managed language: requests, a nightly export, and a collector that stops both. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	REQUESTS = 30,
	BLOCKS = 60
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	thrum_task stopped, started; /* the conditions "world stopped" and "world started" */
	unsigned stopped_waiters, started_waiters;
	int mutators, parked, collections;
	bool stop, exit;
} vm = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .mutators = 2};

static sem_t export_runs;
static bool broken;

/* The caller holds the mutex. */
static void wait_for(thrum_task condition, unsigned *waiters)
{
	++*waiters;
	thrum_task_wait(thrum_task_current(), condition);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&vm.changed, &vm.mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), condition);
}

/* The caller holds the mutex. */
static void tell(thrum_task condition, unsigned *waiters)
{
	thrum_task_signal(condition, *waiters);
	*waiters = 0;
	pthread_cond_broadcast(&vm.changed);
}

/* Stops here if a collection wants to begin. The caller holds the mutex. */
static void park(void)
{
	vm.parked++;
	if (vm.parked == vm.mutators)
		tell(vm.stopped, &vm.stopped_waiters);
	while (vm.stop)
		wait_for(vm.started, &vm.started_waiters);
	vm.parked--;
}

static void safepoint(void)
{
	pthread_mutex_lock(&vm.mutex);
	if (vm.stop)
		park();
	pthread_mutex_unlock(&vm.mutex);
}

static void leave_vm(void)
{
	pthread_mutex_lock(&vm.mutex);
	if (vm.parked == --vm.mutators)
		tell(vm.stopped, &vm.stopped_waiters);
	pthread_mutex_unlock(&vm.mutex);
}

static void *collect(void *unused)
{
	(void)unused;
	thrum_lane_name("collector");
	pthread_mutex_lock(&vm.mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!vm.stop && !vm.exit)
			pthread_cond_wait(&vm.changed, &vm.mutex);
		thrum_resume();
		if (vm.exit)
			break;
		THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "collect garbage")) {
			while (vm.parked < vm.mutators)
				wait_for(vm.stopped, &vm.stopped_waiters);
			usleep(3000);
			vm.collections++;
			vm.stop = false;
			tell(vm.started, &vm.started_waiters);
			thrum_task_resolve(thrum_task_current());
		}
	}
	pthread_mutex_unlock(&vm.mutex);
	return NULL;
}

static void compress_block(void)
{
	usleep(4000);
}

static void *export_report(void *unused)
{
	(void)unused;
	thrum_lane_name("exporter");
	THRUM_RUN (thrum_task_create(THRUM_KIND_TASK, "export report")) {
		for (int i = 0; i < BLOCKS; i++) {
			compress_block();
			if (i == 1)
				sem_post(&export_runs);
			if (!broken)
				safepoint();
		}
		safepoint();
		thrum_task_resolve(thrum_task_current());
	}
	leave_vm();
	return NULL;
}

static void *serve_requests(void *unused)
{
	(void)unused;
	thrum_lane_name("server");
	for (int i = 0; i < REQUESTS; i++) {
		if (i == 10) {
			thrum_suspend(THRUM_WAIT_FOR_WORK); /* a quiet minute */
			sem_wait(&export_runs);
			thrum_resume();
		}
		THRUM_RUN (thrum_task_create(THRUM_KIND_REQUEST, "serve request")) {
			thrum_task_should_resolve(thrum_task_current());
			usleep(2000);
			pthread_mutex_lock(&vm.mutex);
			if (i == 12) { /* the heap is full */
				vm.stop = true;
				pthread_cond_broadcast(&vm.changed);
			}
			if (vm.stop)
				park();
			pthread_mutex_unlock(&vm.mutex);
			usleep(1000);
			thrum_task_resolve(thrum_task_current());
		}
	}
	leave_vm();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t collector, server, exporter;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&export_runs, 0, 0);
	vm.stopped = thrum_task_create(THRUM_KIND_CONDITION, "world stopped");
	vm.started = thrum_task_create(THRUM_KIND_CONDITION, "world started");
	pthread_create(&collector, NULL, collect, NULL);
	pthread_create(&server, NULL, serve_requests, NULL);
	usleep(20000);
	pthread_create(&exporter, NULL, export_report, NULL);
	pthread_join(server, NULL);
	pthread_join(exporter, NULL);
	pthread_mutex_lock(&vm.mutex);
	vm.exit = true;
	pthread_cond_broadcast(&vm.changed);
	pthread_mutex_unlock(&vm.mutex);
	pthread_join(collector, NULL);
	printf("%d requests, %d collections\n", REQUESTS, vm.collections);
	thrum_stop();
	return 0;
}
