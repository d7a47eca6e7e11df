/* SPDX-License-Identifier: ISC */
/* A pool of two threads. With the bug, its jobs wait for other jobs of the same pool. */
#include "annotate.h"

struct job {
	struct job *next;
	void (*run)(struct job *job);
	struct job *part;
	const char *name;
	bool done;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;

static void pool_submit(struct job *job)
{
	job->task = thrum_task_create(THRUM_KIND_TASK, job->name);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&mutex);
	thrum_task_ready(job->task);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *pool_thread(void *data)
{
	struct job *job;

	thrum_lane_name("pool");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		job = queue;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			job->run(job);
		pthread_mutex_lock(&mutex);
		job->done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void pool_wait(struct job *job)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	thrum_task_wait(self, job->task);
	thrum_suspend(THRUM_BLOCKED);
	while (!job->done)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	thrum_task_read(self, job->task);
	pthread_mutex_unlock(&mutex);
}

static void run_part(struct job *job)
{
	pause_ms(5);
}

static void run_whole(struct job *job)
{
	pause_ms(broken ? 500 : 0);
	pool_submit(job->part);
	pool_wait(job->part);
}

int main(int argc, char **argv)
{
	static struct job jobs[4] = {
		{.name = "left", .run = run_whole, .part = &jobs[2]},
		{.name = "right", .run = run_whole, .part = &jobs[3]},
		{.name = "left part", .run = run_part},
		{.name = "right part", .run = run_part},
	};

	begin(argc);
	start(pool_thread, NULL);
	start(pool_thread, NULL);
	pool_submit(&jobs[0]);
	if (!broken)
		pool_wait(&jobs[0]);
	pause_ms(20);
	pool_submit(&jobs[1]);
	pool_wait(&jobs[0]);
	pool_wait(&jobs[1]);
	return 0;
}
