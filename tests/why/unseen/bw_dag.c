/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: When a job fails, job_failed marks it, but doesn't count it as done and doesn't skip the jobs that
 *     depend on it. So "unfinished" never becomes 0, and the main thread waits for ever in wait_all while the workers idle.
 *   culprit: job_failed|run_job
 *   victim: wait_all|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A nightly scheduler: jobs run when the jobs that they depend on are done. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	JOBS = 8,
	WORKERS = 3
};
enum state {
	WAITING,
	QUEUED,
	RUNNING,
	DONE,
	FAILED,
	SKIPPED
};

struct job {
	const char *name;
	int needs[3]; /* indices, -1 ends */
	int ms;
	bool fails;
	enum state state;
};

static struct job jobs[JOBS] = {
	{"dump-orders", {-1}, 40, false, WAITING},
	{"dump-users", {-1}, 60, false, WAITING},
	{"clean-orders", {0, -1}, 50, false, WAITING},
	{"join", {1, 2, -1}, 80, true, WAITING},
	{"report", {3, -1}, 30, false, WAITING},
	{"mail-report", {4, -1}, 20, false, WAITING},
	{"compact", {0, 1, -1}, 90, false, WAITING},
	{"backup", {6, -1}, 40, false, WAITING},
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static int queue[JOBS], queue_head, queue_tail;
static int unfinished = JOBS;
static bool shutting_down, healthy;

/* The following functions are called with the mutex held. */

static bool is_ready(const struct job *job)
{
	for (const int *need = job->needs; *need >= 0; need++)
		if (jobs[*need].state != DONE)
			return false;
	return job->state == WAITING;
}

static void queue_ready_jobs(void)
{
	for (int i = 0; i < JOBS; i++)
		if (is_ready(&jobs[i])) {
			jobs[i].state = QUEUED;
			queue[queue_tail++] = i;
			pthread_cond_signal(&job_ready);
		}
}

static void count_down(void)
{
	if (--unfinished == 0)
		pthread_cond_signal(&all_done);
}

static void job_done(struct job *job)
{
	job->state = DONE;
	printf("%s: done\n", job->name);
	count_down();
	queue_ready_jobs();
}

static void skip_dependents(int failed)
{
	for (int i = 0; i < JOBS; i++)
		for (const int *need = jobs[i].needs; *need >= 0; need++)
			if (*need == failed && jobs[i].state == WAITING) {
				jobs[i].state = SKIPPED;
				printf("%s: skipped\n", jobs[i].name);
				count_down();
				skip_dependents(i);
			}
}

static void job_failed(struct job *job)
{
	job->state = FAILED;
	printf("%s: failed\n", job->name);
	if (healthy) {
		count_down();
		skip_dependents(job - jobs);
	}
}

static void run_job(struct job *job)
{
	bool ok;

	job->state = RUNNING;
	pthread_mutex_unlock(&mutex);
	usleep(job->ms * 1000);
	ok = !job->fails;
	pthread_mutex_lock(&mutex);
	if (ok)
		job_done(job);
	else
		job_failed(job);
}

static void *worker(void *data)
{
	(void)data;
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (queue_head == queue_tail && !shutting_down)
			pthread_cond_wait(&job_ready, &mutex);
		if (queue_head == queue_tail)
			break;
		run_job(&jobs[queue[queue_head++]]);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Tells the monitoring that the scheduler lives. */
static void *heartbeat(void *data)
{
	bool stop;

	(void)data;
	do {
		usleep(50000);
		pthread_mutex_lock(&mutex);
		stop = shutting_down;
		pthread_mutex_unlock(&mutex);
	} while (!stop);
	return NULL;
}

static void wait_all(void)
{
	pthread_mutex_lock(&mutex);
	while (unfinished > 0)
		pthread_cond_wait(&all_done, &mutex);
	shutting_down = true;
	pthread_cond_broadcast(&job_ready);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], beat;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&beat, NULL, heartbeat, NULL);
	pthread_setname_np(beat, "heartbeat");
	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "worker %d", i);
		pthread_create(&workers[i], NULL, worker, NULL);
		pthread_setname_np(workers[i], name);
	}
	pthread_mutex_lock(&mutex);
	queue_ready_jobs();
	pthread_mutex_unlock(&mutex);
	wait_all();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(beat, NULL);
	return 0;
}
