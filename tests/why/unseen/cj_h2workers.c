/* SPDX-License-Identifier: ISC */
/*
 * After icing/mod_h2, issue #212.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: Workers above the minimum end when they have been idle for a while, and slot_run doesn't count these off. So
 *     worker_count never comes to 0 after the stop, no worker that leaves is the last one and signals "all_done",
 *     and h2_workers_shutdown waits for it for ever.
 *   culprit: all_done|h2 worker|slot_run
 *   victim: main\b|http/1.1
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A child process of a web server: HTTP/2 requests are jobs for a pool that grows and shrinks. It is stopped gracefully. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define MIN_WORKERS 2
#define MAX_WORKERS 5
#define IDLE_MS 40

struct job {
	struct job *next;
	thrum_task task;
};

struct slot {
	pthread_t thread;
	int number;
	bool is_dynamic; /* above the minimum: ends when it is idle */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t not_idle;
	pthread_cond_t all_done;
	thrum_task all_done_task;
	unsigned all_done_waiters;
	struct slot slots[32];
	int slots_used;
	int worker_count;
	int idle_workers;
	int queued;
	struct job *first, **end;
	bool aborted;
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.not_idle = PTHREAD_COND_INITIALIZER,
	.all_done = PTHREAD_COND_INITIALIZER};

static bool counts_off;
static atomic_uint served, old_served;
static atomic_bool stopped;

static void pause_ms(int ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep((useconds_t)ms * 1000);
	thrum_resume();
}

/* The caller holds the lock. A worker leaves the pool. */
static void worker_leaves(void)
{
	workers.worker_count--;
	if (workers.worker_count > 0)
		return;
	thrum_task_signal(workers.all_done_task, workers.all_done_waiters);
	workers.all_done_waiters = 0;
	pthread_cond_broadcast(&workers.all_done);
}

/* The caller holds the lock. Returns NULL if the worker is to end, and sets `expired` if it was idle too long. */
static struct job *get_next(const struct slot *slot, bool *expired)
{
	struct timespec until;
	struct job *job;

	*expired = false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += IDLE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	workers.idle_workers++;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!workers.first && !workers.aborted && !*expired)
		if (slot->is_dynamic)
			*expired = pthread_cond_timedwait(&workers.not_idle, &workers.lock,
					   &until) != 0;
		else
			pthread_cond_wait(&workers.not_idle, &workers.lock);
	thrum_resume();
	workers.idle_workers--;
	job = workers.first;
	if (job) {
		*expired = false;
		workers.first = job->next;
		workers.queued--;
		if (!workers.first)
			workers.end = &workers.first;
	}
	return job;
}

static void *slot_run(void *data)
{
	struct slot *slot = data;
	char name[16];
	bool expired;
	struct job *job;

	snprintf(name, sizeof(name), "h2 worker %d", slot->number);
	thrum_lane_name(name);
	pthread_mutex_lock(&workers.lock);
	while ((job = get_next(slot, &expired))) {
		pthread_mutex_unlock(&workers.lock);
		THRUM_RUN (job->task) {
			pause_ms(5);
			served++;
			thrum_task_resolve(job->task);
		}
		free(job);
		pthread_mutex_lock(&workers.lock);
	}
	if (!expired || counts_off)
		worker_leaves();
	pthread_mutex_unlock(&workers.lock);
	return NULL;
}

/* The caller holds the lock. */
static void add_worker(void)
{
	struct slot *slot = &workers.slots[workers.slots_used];

	slot->number = ++workers.slots_used;
	slot->is_dynamic = slot->number > MIN_WORKERS;
	workers.worker_count++;
	pthread_create(&slot->thread, NULL, slot_run, slot);
}

static void h2_workers_register(int number)
{
	struct job *job = calloc(1, sizeof(*job));

	job->task = thrum_task_createf(THRUM_KIND_TASK, "GET /%d h2", number);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&workers.lock);
	thrum_task_ready(job->task);
	*workers.end = job;
	workers.end = &job->next;
	workers.queued++;
	if (workers.queued > workers.idle_workers && workers.worker_count < MAX_WORKERS &&
		workers.slots_used < 32)
		add_worker();
	pthread_cond_signal(&workers.not_idle);
	pthread_mutex_unlock(&workers.lock);
}

static void h2_workers_shutdown(void)
{
	thrum_task self = thrum_task_create(THRUM_KIND_TASK, "graceful stop");

	thrum_task_should_resolve(self);
	THRUM_RUN (self) {
		pthread_mutex_lock(&workers.lock);
		workers.aborted = true;
		pthread_cond_broadcast(&workers.not_idle);
		while (workers.worker_count > 0) {
			workers.all_done_waiters++;
			thrum_task_wait(self, workers.all_done_task);
			thrum_suspend(THRUM_BLOCKED);
			pthread_cond_wait(&workers.all_done, &workers.lock);
			thrum_resume();
			thrum_task_read(self, workers.all_done_task);
		}
		pthread_mutex_unlock(&workers.lock);
		thrum_task_resolve(self);
	}
}

/* A slow download over HTTP/1.1, which may end before the process does. */
static void *http1_connection(void *data)
{
	(void)data;
	thrum_lane_name("http/1.1");
	while (!stopped) {
		pause_ms(20);
		old_served++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t download;
	int number = 0;

	if (argc < 2)
		return 2;
	counts_off = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	workers.end = &workers.first;
	workers.all_done_task = thrum_task_create(THRUM_KIND_CONDITION, "all_done");
	pthread_create(&download, NULL, http1_connection, NULL);
	pthread_mutex_lock(&workers.lock);
	for (int i = 0; i < MIN_WORKERS; i++)
		add_worker();
	pthread_mutex_unlock(&workers.lock);
	/* A quiet time, a burst of requests, and a quiet time again. */
	for (int i = 0; i < 6; i++) {
		h2_workers_register(++number);
		pause_ms(12);
	}
	for (int i = 0; i < 20; i++)
		h2_workers_register(++number);
	pause_ms(150);
	for (int i = 0; i < 6; i++) {
		h2_workers_register(++number);
		pause_ms(12);
	}
	h2_workers_shutdown();
	stopped = true;
	pthread_join(download, NULL);
	for (int i = 0; i < workers.slots_used; i++)
		pthread_join(workers.slots[i].thread, NULL);
	printf("%u requests, %d workers, %u parts\n", served, workers.slots_used, old_served);
	return 0;
}
