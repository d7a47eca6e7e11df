/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: The worker that had job 6 gave it up and left it to its lease, which should run out. But renew_leases renews
 *     the leases of all jobs, also of those on which nobody works any more, so lease 6 never runs out and the job stays.
 *   culprit: lease 6|renew_leases|renewer
 *   victim: batch
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
#include <time.h>
#include <unistd.h>

#define JOBS 15
#define WORKERS 3
#define LEASE_MS 120
#define TICK_US 20000

enum state {
	QUEUED,
	LEASED,
	DONE
};

struct job {
	int number, attempt;
	enum state state;
	int64_t lease_until;
	thrum_task task, lease;
	int holder;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job jobs[JOBS];
static struct job *works_on[WORKERS];
static int done;
static bool healthy;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void nap(int us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(us);
	thrum_resume();
}

static void lease_renew(struct job *job)
{
	job->lease_until = now_ms() + LEASE_MS;
	thrum_task_due(job->lease, LEASE_MS * 1000000LL);
}

/* Takes the first job that waits. The caller holds the mutex. */
static struct job *lease_job(int worker)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *job = &jobs[i];

		if (job->state != QUEUED)
			continue;
		job->state = LEASED;
		job->holder = worker;
		job->lease = thrum_task_createf(THRUM_KIND_TIMER, "lease %d", job->number);
		lease_renew(job);
		works_on[worker] = job;
		return job;
	}
	return NULL;
}

static bool run_job(struct job *job)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(8000);
	thrum_resume();
	/* Its input is uploaded late. */
	return job->number != 6 || job->attempt++ > 0;
}

static void finish_job(struct job *job)
{
	job->state = DONE;
	thrum_task_cancel(job->lease);
	thrum_task_resolve(job->task);
	done++;
	pthread_cond_broadcast(&changed);
}

static void *worker(void *data)
{
	int number = *(int *)data;
	struct job *job;
	bool good = false;

	thrum_lane_name("worker");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!(job = lease_job(number)))
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task) {
			good = run_job(job);
			if (!good)
				thrum_task_wait(job->task,
					job->lease); /* another one tries later */
		}
		pthread_mutex_lock(&mutex);
		works_on[number] = NULL;
		if (good)
			finish_job(job);
	}
	return NULL;
}

static void renew_leases(void)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *job = &jobs[i];

		if (job->state != LEASED)
			continue;
		if (healthy && works_on[job->holder] != job)
			continue;
		lease_renew(job);
	}
}

static void *renewer(void *data)
{
	(void)data;
	thrum_lane_name("renewer");
	for (;;) {
		pthread_mutex_lock(&mutex);
		renew_leases();
		pthread_mutex_unlock(&mutex);
		nap(TICK_US);
	}
	return NULL;
}

static void *reaper(void *data)
{
	(void)data;
	thrum_lane_name("reaper");
	for (;;) {
		pthread_mutex_lock(&mutex);
		for (int i = 0; i < JOBS; i++) {
			struct job *job = &jobs[i];

			if (job->state != LEASED || now_ms() < job->lease_until)
				continue;
			thrum_task_resolve(job->lease);
			thrum_task_ready(job->task);
			job->state = QUEUED;
			pthread_cond_broadcast(&changed);
		}
		pthread_mutex_unlock(&mutex);
		nap(TICK_US);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[WORKERS] = {0, 1, 2};
	pthread_t thread;
	thrum_task batch;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	batch = thrum_task_create(THRUM_KIND_JOIN, "batch");
	thrum_task_should_resolve(batch);
	for (int i = 0; i < JOBS; i++) {
		jobs[i].number = i;
		jobs[i].task = thrum_task_createf(THRUM_KIND_TASK, "job %d", i);
		thrum_task_ready(jobs[i].task);
		thrum_task_wait(batch, jobs[i].task);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread, NULL, worker, &numbers[i]);
	pthread_create(&thread, NULL, renewer, NULL);
	pthread_create(&thread, NULL, reaper, NULL);
	pthread_mutex_lock(&mutex);
	thrum_task_wait(thrum_task_current(), batch);
	thrum_suspend(THRUM_BLOCKED);
	while (done < JOBS)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	thrum_task_resolve(batch);
	thrum_task_read(thrum_task_current(), batch);
	thrum_stop();
	printf("batch done\n");
	return 0;
}
