/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: "open array sales" holds "array directory" while it waits for its part and helps the pool meanwhile; wait_for_job runs whatever job lies on top of the stack, here the prefetch "open array stock", which wants "array directory", too: the same thread waits for itself.
 *   culprit: open array sales
 *   victim: open array stock|query|load footer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store for arrays. Jobs run in a pool of one thread, newest first, and may wait for jobs that they submit. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct job {
	struct job *below, *parent;
	void (*run)(struct job *);
	const char *array;
	thrum_task task;
	bool done;
};

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *stack;
static bool closed, broken;

static struct {
	pthread_mutex_t mutex;
	thrum_task task;
	int open;
} directory = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void lock_directory(void)
{
	if (pthread_mutex_trylock(&directory.mutex)) {
		thrum_task_wait(thrum_task_current(), directory.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&directory.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(directory.task);
}

static void unlock_directory(void)
{
	thrum_lock_released(directory.task);
	pthread_mutex_unlock(&directory.mutex);
}

static struct job *submit(struct job *parent, const char *what, const char *array,
	void (*run)(struct job *))
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		exit(1);
	job->parent = parent;
	job->run = run;
	job->array = array;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %s", what, array);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	pthread_mutex_lock(&pool);
	job->below = stack;
	stack = job;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&pool);
	return job;
}

/* The caller holds the pool's mutex, which is given up while the job runs. */
static void run_job(struct job *job)
{
	pthread_mutex_unlock(&pool);
	THRUM_RUN (job->task) {
		job->run(job);
		thrum_task_resolve(job->task);
	}
	pthread_mutex_lock(&pool);
	job->done = true;
	pthread_cond_broadcast(&changed);
}

/* Takes the top job of the stack; of a parent's, if it is not NULL. The caller holds the pool's mutex. */
static struct job *pop(const struct job *parent)
{
	struct job **place = &stack, *job;

	while (*place && parent && (*place)->parent != parent)
		place = &(*place)->below;
	job = *place;
	if (job)
		*place = job->below;
	return job;
}

/* Waits for a job that this one has submitted, and works meanwhile. */
static void wait_for_job(struct job *self, struct job *awaited)
{
	struct job *other;

	pthread_mutex_lock(&pool);
	while (!awaited->done) {
		other = pop(broken ? NULL : self);
		if (other) {
			run_job(other);
			continue;
		}
		thrum_task_wait(thrum_task_current(), awaited->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &pool);
		thrum_resume();
	}
	pthread_mutex_unlock(&pool);
}

static void load_footer(struct job *job)
{
	(void)job;
	usleep(4000);
}

static void open_array(struct job *job)
{
	struct job *footer;

	lock_directory();
	footer = submit(job, "load footer", job->array, load_footer);
	/* A reader of the sales will soon want the stock. */
	if (!strcmp(job->array, "sales"))
		submit(NULL, "open array", "stock", open_array);
	wait_for_job(job, footer);
	directory.open++;
	unlock_directory();
}

static void *pool_thread(void *unused)
{
	struct job *job;

	(void)unused;
	thrum_lane_name("pool");
	pthread_mutex_lock(&pool);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!stack && !closed)
			pthread_cond_wait(&changed, &pool);
		thrum_resume();
		job = pop(NULL);
		if (!job)
			break;
		run_job(job);
	}
	pthread_mutex_unlock(&pool);
	return NULL;
}

static void query(const char *array)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "query %s", array);
	struct job *job;

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		job = submit(NULL, "open array", array, open_array);
		thrum_task_wait(task, job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&pool);
		while (!job->done)
			pthread_cond_wait(&changed, &pool);
		pthread_mutex_unlock(&pool);
		thrum_resume();
		thrum_task_read(task, job->task);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	static const char *const arrays[] = {"customers", "regions", "sales", "returns"};
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	directory.task = thrum_task_create(THRUM_KIND_LOCK, "array directory");
	pthread_create(&thread, NULL, pool_thread, NULL);
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		query(arrays[i]);
	pthread_mutex_lock(&pool);
	closed = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&pool);
	pthread_join(thread, NULL);
	printf("%d arrays open\n", directory.open);
	thrum_stop();
	return 0;
}
