/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: deliveries to b.example are refused, and each of them is put back with its high priority at
 *     once, without a limit. So the workers do nothing else any more, and jobs of lower priority never get
 *     a turn.
 *   culprit: b\.example
 *   victim: digest|export
 * case: healthy
 *   args: healthy
 *   run: self kill 2000
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

enum {
	WORKERS = 2,
	LEVELS = 3
};

struct job {
	struct job *next;
	thrum_task task;
	const char *host; /* NULL: not a delivery */
	unsigned tries;
	unsigned level; /* 0 is served first */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *first[LEVELS], **last[LEVELS];
static unsigned most_tries, done, dropped;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* The caller holds the mutex. */
static void job_queue(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*last[job->level] = job;
	last[job->level] = &job->next;
	pthread_cond_signal(&changed);
}

static struct job *job_new(thrum_task task, unsigned level, const char *host)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		abort();
	job->task = task;
	thrum_task_should_resolve(task);
	job->level = level;
	job->host = host;
	pthread_mutex_lock(&mutex);
	job_queue(job);
	pthread_mutex_unlock(&mutex);
	return job;
}

/* The caller holds the mutex. */
static struct job *job_take(void)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		struct job *job = first[i];

		if (!job)
			continue;
		first[i] = job->next;
		if (!job->next)
			last[i] = &first[i];
		return job;
	}
	return NULL;
}

static bool deliver(struct job *job)
{
	thrum_task try = thrum_task_createf(THRUM_KIND_REQUEST, "POST %s", job->host);
	bool came = strcmp(job->host, "b.example") != 0;

	thrum_task_wait(job->task, try);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	pause_ms(3);
	thrum_resume();
	if (came)
		thrum_task_resolve(try);
	else
		thrum_task_fail(try, "connection refused");
	thrum_task_read(job->task, try);
	return came;
}

static void job_run(struct job *job)
{
	bool came = true;

	THRUM_RUN (job->task) {
		if (job->host) {
			came = deliver(job);
		} else {
			thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
			pause_ms(2);
			thrum_resume();
		}
	}
	if (!came && ++job->tries < most_tries) {
		pthread_mutex_lock(&mutex);
		job_queue(job);
		pthread_mutex_unlock(&mutex);
		return;
	}
	pthread_mutex_lock(&mutex);
	if (came)
		done++;
	else
		dropped++;
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(job->task);
	free(job);
}

static void *work(void *data)
{
	char name[16];

	snprintf(name, sizeof name, "worker %d", (int)(long)data);
	thrum_lane_name(name);
	for (;;) {
		struct job *job;

		pthread_mutex_lock(&mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!(job = job_take()))
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		pthread_mutex_unlock(&mutex);
		job_run(job);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;

	most_tries = count > 1 && !strcmp(arguments[1], "broken") ? ~0U : 4;
	thrum_lane_name("main");
	for (unsigned i = 0; i < LEVELS; i++)
		last[i] = &first[i];
	for (long i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, work, (void *)i))
			return 1;
	for (unsigned i = 0;; i++) {
		job_new(thrum_task_createf(THRUM_KIND_TASK, "delivery %u to a.example", i), 0,
			"a.example");
		if (i == 12 || i == 14 || i == 15)
			job_new(thrum_task_createf(THRUM_KIND_TASK, "delivery %u to b.example", i),
				0, "b.example");
		if (i % 2)
			job_new(thrum_task_createf(THRUM_KIND_TASK, "digest %u", i), 1, NULL);
		if (i % 10 == 0)
			job_new(thrum_task_createf(THRUM_KIND_TASK, "export %u", i), 2, NULL);
		if (i % 25 == 24) {
			pthread_mutex_lock(&mutex);
			fprintf(stderr, "%u jobs done, %u dropped\n", done, dropped);
			pthread_mutex_unlock(&mutex);
		}
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		pause_ms(20);
		thrum_resume();
	}
}
