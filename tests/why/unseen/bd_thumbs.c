/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=thumb #
 *   truth: worker_for deals the jobs out by turns, whatever the workers have to do. So each job "thumb" that
 *     falls to a worker which runs a "transcode" (120 ms) stands behind that, while other workers are idle.
 *   culprit: transcode
 *   victim: worker|queue|decode
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A media service: a pool of workers, each with its own queue, makes thumbnails and transcodes videos. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define JOBS 120

struct job {
	struct job *next;
	void (*run)(struct job *);
	int number;
	unsigned cost_us;
	thrum_task task;
};

struct worker {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct job *first;
	struct job **end;
	unsigned load; /* jobs in the queue or under way */
	bool closed;
	int number;
};

struct pool {
	struct worker worker[WORKERS];
	unsigned turn;
	bool by_load;
	pthread_mutex_t mutex;
	pthread_cond_t idle;
	unsigned pending;
};

static struct pool pool = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
};

static void spend(unsigned us)
{
	struct timespec time = {0, us * 1000L};

	nanosleep(&time, NULL); /* stands for the processor's work */
}

/* ---- jobs ---- */

static void make_thumbnail(struct job *job)
{
	spend(job->cost_us / 2); /* decode */
	spend(job->cost_us / 2); /* scale */
}

static void transcode_video(struct job *job)
{
	for (int chunk = 0; chunk < 12; chunk++)
		spend(job->cost_us / 12);
}

/* ---- the pool ---- */

static void pool_job_done(void)
{
	pthread_mutex_lock(&pool.mutex);
	if (--pool.pending == 0)
		pthread_cond_signal(&pool.idle);
	pthread_mutex_unlock(&pool.mutex);
}

static struct job *worker_next(struct worker *worker)
{
	struct job *job;

	pthread_mutex_lock(&worker->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!worker->first && !worker->closed)
		pthread_cond_wait(&worker->changed, &worker->mutex);
	thrum_resume();
	job = worker->first;
	if (job) {
		worker->first = job->next;
		if (!worker->first)
			worker->end = &worker->first;
	}
	pthread_mutex_unlock(&worker->mutex);
	return job;
}

static void *worker_run(void *data)
{
	struct worker *worker = data;
	char name[32];
	struct job *job;

	snprintf(name, sizeof(name), "worker %d", worker->number);
	thrum_lane_name(name);
	while ((job = worker_next(worker))) {
		THRUM_RUN (job->task) {
			job->run(job);
			thrum_task_resolve(job->task);
		}
		pthread_mutex_lock(&worker->mutex);
		worker->load--;
		pthread_mutex_unlock(&worker->mutex);
		free(job);
		pool_job_done();
	}
	return NULL;
}

static unsigned worker_load(struct worker *worker)
{
	unsigned load;

	pthread_mutex_lock(&worker->mutex);
	load = worker->load;
	pthread_mutex_unlock(&worker->mutex);
	return load;
}

static struct worker *worker_for(void)
{
	struct worker *best = &pool.worker[pool.turn++ % WORKERS];
	unsigned load = worker_load(best);

	if (!pool.by_load)
		return best;
	for (int i = 0; i < WORKERS && load > 0; i++) {
		unsigned other = worker_load(&pool.worker[i]);

		if (other >= load)
			continue;
		best = &pool.worker[i];
		load = other;
	}
	return best;
}

static void pool_submit(struct job *job)
{
	struct worker *worker = worker_for();

	pthread_mutex_lock(&pool.mutex);
	pool.pending++;
	pthread_mutex_unlock(&pool.mutex);
	pthread_mutex_lock(&worker->mutex);
	thrum_task_ready(job->task);
	*worker->end = job;
	worker->end = &job->next;
	worker->load++;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

static void pool_start(void)
{
	for (int i = 0; i < WORKERS; i++) {
		struct worker *worker = &pool.worker[i];

		worker->number = i + 1;
		worker->end = &worker->first;
		pthread_mutex_init(&worker->mutex, NULL);
		pthread_cond_init(&worker->changed, NULL);
		pthread_create(&worker->thread, NULL, worker_run, worker);
	}
}

static void pool_finish(void)
{
	pthread_mutex_lock(&pool.mutex);
	thrum_suspend(THRUM_BLOCKED);
	while (pool.pending > 0)
		pthread_cond_wait(&pool.idle, &pool.mutex);
	thrum_resume();
	pthread_mutex_unlock(&pool.mutex);
	for (int i = 0; i < WORKERS; i++) {
		pthread_mutex_lock(&pool.worker[i].mutex);
		pool.worker[i].closed = true;
		pthread_cond_signal(&pool.worker[i].changed);
		pthread_mutex_unlock(&pool.worker[i].mutex);
		pthread_join(pool.worker[i].thread, NULL);
	}
}

/* ---- uploads ---- */

static struct job *job_create(int number)
{
	bool is_video = number % 30 == 7;
	struct job *job = calloc(1, sizeof(*job));

	job->number = number;
	job->run = is_video ? transcode_video : make_thumbnail;
	job->cost_us = is_video ? 120000 : 2000 + 500 * (number % 3);
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", is_video ? "transcode" : "thumb",
		number);
	thrum_task_should_resolve(job->task);
	return job;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	pool.by_load = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	pool_start();
	for (int i = 1; i <= JOBS; i++) {
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(4000); /* the next upload */
		thrum_resume();
		pool_submit(job_create(i));
	}
	pool_finish();
	thrum_stop();
	printf("%d jobs done\n", JOBS);
	return 0;
}
