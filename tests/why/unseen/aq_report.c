/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the jobs "reindex N" of empty tables return early and never give their database session back;
 *     after three of them no session is left, and all further jobs wait for one
 *   culprit: \breindex (4|8|16)\b
 *   victim: \bsum \d+|\breindex (12|20|24)\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A report generator: a thread pool runs queries, each of which needs one of three database sessions, and main
 * waits for their futures. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	SESSIONS = 3,
	JOBS = 24
};

struct future {
	pthread_mutex_t mutex;
	pthread_cond_t done;
	bool is_done;
	long value;
	thrum_task task;
};

struct job {
	struct job *next;
	long (*run)(struct job *);
	int table, rows;
	struct future future;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static bool is_closing;
static sem_t sessions;
static thrum_task sessions_task;

static __attribute__((noinline)) void session_take(void)
{
	if (sem_trywait(&sessions)) {
		thrum_task_wait(thrum_task_current(), sessions_task);
		thrum_suspend(THRUM_BLOCKED);
		while (sem_wait(&sessions))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(sessions_task);
}

static __attribute__((noinline)) void session_give_back(void)
{
	thrum_lock_released(sessions_task);
	sem_post(&sessions);
}

static void ask_database(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(ms * 1000);
	thrum_resume();
}

static __attribute__((noinline)) long table_sum(struct job *job)
{
	long sum = 0;

	session_take();
	ask_database(4);
	for (int row = 0; row < job->rows; row++)
		sum += row * job->table;
	session_give_back();
	return sum;
}

static __attribute__((noinline)) long table_reindex(struct job *job)
{
	session_take();
	ask_database(1);
	if (job->rows == 0)
		return 0; /* nothing to do */
	ask_database(5);
	session_give_back();
	return job->rows;
}

static void future_set(struct future *future, long value)
{
	pthread_mutex_lock(&future->mutex);
	future->value = value;
	future->is_done = true;
	thrum_task_resolve(future->task);
	pthread_cond_signal(&future->done);
	pthread_mutex_unlock(&future->mutex);
}

static long future_get(struct future *future)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&future->mutex);
	while (!future->is_done) {
		thrum_task_wait(self, future->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&future->done, &future->mutex);
		thrum_resume();
	}
	thrum_task_read(self, future->task);
	pthread_mutex_unlock(&future->mutex);
	return future->value;
}

static void submit(struct job *job, const char *what, long (*run)(struct job *))
{
	job->run = run;
	job->next = NULL;
	job->future.task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", what, job->table);
	pthread_mutex_init(&job->future.mutex, NULL);
	pthread_cond_init(&job->future.done, NULL);
	pthread_mutex_lock(&mutex);
	thrum_task_ready(job->future.task);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *work(void *data)
{
	struct job *job;

	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!queue && !is_closing) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		job = queue;
		if (!job)
			break;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->future.task)
			future_set(&job->future, job->run(job));
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	static char names[WORKERS][16];
	static struct job jobs[JOBS];
	pthread_t threads[WORKERS];
	thrum_task report;
	long total = 0;

	thrum_start(NULL);
	thrum_lane_name("main");
	sem_init(&sessions, 0, SESSIONS);
	sessions_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "database sessions");
	report = thrum_task_create(THRUM_KIND_TASK, "report");
	thrum_task_should_resolve(report);
	for (int i = 0; i < WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker %d", i + 1);
		if (pthread_create(&threads[i], NULL, work, names[i]))
			return 1;
	}
	THRUM_RUN (report) {
		for (int i = 0; i < JOBS; i++) {
			jobs[i].table = i + 1;
			jobs[i].rows = broken && (i == 3 || i == 7 || i == 15) ? 0 : 100 + i;
			if (i % 4 == 3)
				submit(&jobs[i], "reindex", table_reindex);
			else
				submit(&jobs[i], "sum", table_sum);
		}
		for (int i = 0; i < JOBS; i++)
			total += future_get(&jobs[i].future);
		thrum_task_resolve(report);
	}
	pthread_mutex_lock(&mutex);
	is_closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("total %ld\n", total);
	return 0;
}
