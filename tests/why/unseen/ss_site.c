/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The job render icons fails, and job_failed forgets its dependents. It should have released them.
 *   culprit: render icons|job_failed
 *   victim: pack sprites|publish
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Builds a web site: jobs with dependencies, run by three workers. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	PAGES = 40,
	JOBS = PAGES + 6
};

struct job {
	char name[24];
	int ms, missing; /* dependencies that haven't ended */
	int (*run)(struct job *job);
	struct job *dependents[4], *next;
	int dependent_count;
	bool done, failed;
	thrum_task task;
};

static struct job jobs[JOBS], *queue, **queue_end = &queue;
static int job_count;
static bool broken, closing;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct thrum_counter *ended;

static int work(struct job *job)
{
	usleep((unsigned)job->ms * 1000);
	return 0;
}

/* One icon has a size that the renderer doesn't know. The old icons are good enough. */
static int render_icons(struct job *job)
{
	work(job);
	return -1;
}

static struct job *job_new(const char *name, int number, int ms, int (*run)(struct job *job))
{
	struct job *job = &jobs[job_count++];

	snprintf(job->name, sizeof(job->name), name, number);
	job->ms = ms;
	job->run = run;
	job->task = thrum_task_create(THRUM_KIND_TASK, job->name);
	return job;
}

static void job_needs(struct job *job, struct job *source)
{
	source->dependents[source->dependent_count++] = job;
	job->missing++;
	thrum_task_wait(job->task, source->task);
}

/* From here on the caller holds the mutex. */
static void job_enqueue(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_broadcast(&changed);
}

static void release_dependents(struct job *job)
{
	for (int i = 0; i < job->dependent_count; i++) {
		thrum_task_read(job->dependents[i]->task, job->task);
		if (--job->dependents[i]->missing == 0)
			job_enqueue(job->dependents[i]);
	}
}

static void job_succeeded(struct job *job)
{
	thrum_task_resolve(job->task);
	release_dependents(job);
}

static void job_failed(struct job *job)
{
	job->failed = true;
	thrum_task_fail(job->task, "unknown size 48");
	if (!broken)
		release_dependents(job);
}

static void *worker(void *data)
{
	struct job *job;

	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		if (!queue)
			break;
		job = queue;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task) {
			int result = job->run(job);

			pthread_mutex_lock(&mutex);
			if (result)
				job_failed(job);
			else
				job_succeeded(job);
		}
		job->done = true;
		thrum_counter_add(ended, 1);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void wait_for(struct job *job)
{
	pthread_mutex_lock(&mutex);
	thrum_task_wait(thrum_task_current(), job->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!job->done)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), job->task);
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	static char names[WORKERS][12];
	struct job *icons, *sprites, *styles, *feed, *publish;
	pthread_t threads[WORKERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "site: not recorded\n");
	ended = thrum_counter_create("site/jobs-ended", THRUM_COUNTER_CUMULATIVE);
	icons = job_new("render icons", 0, 12, render_icons);
	styles = job_new("minify styles", 0, 9, work);
	sprites = job_new("pack sprites", 0, 6, work);
	feed = job_new("write feed", 0, 4, work);
	publish = job_new("publish", 0, 15, work);
	thrum_task_should_resolve(publish->task);
	job_needs(sprites, icons);
	job_needs(publish, sprites);
	job_needs(publish, styles);
	job_needs(publish, feed);
	job_enqueue(icons);
	job_enqueue(styles);
	for (int i = 0; i < PAGES; i++) {
		struct job *page = job_new("page %d", i, 2 + i % 5, work);

		if (i % 10 == 0)
			job_needs(feed, page);
		job_enqueue(page);
	}
	for (int i = 0; i < WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker %d", i);
		if (pthread_create(&threads[i], NULL, worker, names[i]))
			return 1;
	}
	wait_for(publish);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("published %d pages\n", PAGES);
	thrum_stop();
	return 0;
}
