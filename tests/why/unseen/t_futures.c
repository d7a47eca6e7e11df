/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: The job "render invoice 13" fails for lack of a font and returns early on its error path, which doesn't complete its future; the mailing run waits for the future of invoice 13 for ever.
 *   culprit: render invoice 13
 *   victim: future 13|mailing run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* invoices: renders on a pool of threads, with futures for the results */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct future {
	bool done;
	int result;
	thrum_task task;
};

struct job {
	struct job *next;
	int number;
	struct future *future;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct job *first, **last = &first;
static bool broken, closing;

static void complete(struct future *future, int result)
{
	pthread_mutex_lock(&mutex);
	future->done = true;
	future->result = result;
	if (result)
		thrum_task_fail(future->task, "not rendered");
	else
		thrum_task_resolve(future->task);
	pthread_cond_broadcast(&done);
	pthread_mutex_unlock(&mutex);
}

static void render(struct job *job)
{
	usleep(4000 + job->number % 5 * 1000);
	if (job->number == 13) {
		thrum_task_fail(job->task, "no font for U+20BF");
		if (!broken)
			complete(job->future, -1);
		return;
	}
	complete(job->future, 0);
	thrum_task_resolve(job->task);
}

static void *pool_thread(void *data)
{
	struct job *job;

	thrum_lane_name("pool");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!first && !closing)
			pthread_cond_wait(&queued, &mutex);
		thrum_resume();
		if (!first)
			break;
		job = first;
		first = job->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			render(job);
		free(job);
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void submit(int number, struct future *future)
{
	struct job *job = calloc(1, sizeof(*job));

	job->number = number;
	job->future = future;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "render invoice %d", number);
	future->task = thrum_task_createf(THRUM_KIND_PROMISE, "future %d", number);
	thrum_task_should_resolve(future->task);
	pthread_mutex_lock(&mutex);
	thrum_task_ready(job->task);
	*last = job;
	last = &job->next;
	pthread_cond_signal(&queued);
	pthread_mutex_unlock(&mutex);
}

static int get(struct future *future)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	if (!future->done) {
		thrum_task_wait(self, future->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!future->done)
			pthread_cond_wait(&done, &mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&mutex);
	thrum_task_read(self, future->task);
	return future->result;
}

int main(int argc, char **argv)
{
	static struct future futures[24];
	thrum_task run = thrum_task_create(THRUM_KIND_TASK, "mailing run");
	pthread_t threads[3];
	int failed = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, pool_thread, NULL);
	thrum_task_should_resolve(run);
	THRUM_RUN (run) {
		for (int i = 0; i < 24; i++)
			submit(i, &futures[i]);
		for (int i = 0; i < 24; i++)
			failed += get(&futures[i]) != 0;
		thrum_task_resolve(run);
	}
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("invoices: %d failed\n", failed);
	return 0;
}
