/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow=letter
 *   truth: The printer takes jobs in the order of their arrival; the slowest letter stands in its queue behind the "poster", which takes 400 ms.
 *   culprit: poster
 *   victim: letter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A print spooler. Each printer has a queue and a thread. In the healthy office posters go to the plotter.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct job {
	struct job *next;
	thrum_task task;
	long ms;
};

struct printer {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const char *name;
	struct job *queue, **end;
	bool closed;
	pthread_t thread;
};

static bool broken;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

/* Returns the next job, or NULL when the office closes. */
static struct job *next_job(struct printer *printer)
{
	struct job *job;

	pthread_mutex_lock(&printer->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!printer->queue && !printer->closed)
		pthread_cond_wait(&printer->changed, &printer->mutex);
	thrum_resume();
	job = printer->queue;
	if (job && !(printer->queue = job->next))
		printer->end = &printer->queue;
	pthread_mutex_unlock(&printer->mutex);
	return job;
}

static void *run_printer(void *data)
{
	struct printer *printer = data;
	struct job *job;

	thrum_lane_name(printer->name);
	while ((job = next_job(printer))) {
		THRUM_RUN (job->task) {
			pause_ms(job->ms);
			thrum_task_resolve(job->task);
		}
		free(job);
	}
	return NULL;
}

static void print(struct printer *printer, const char *what, long ms)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		exit(1);
	job->ms = ms;
	job->task = thrum_task_create(THRUM_KIND_REQUEST, what);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&printer->mutex);
	thrum_task_ready(job->task);
	*printer->end = job;
	printer->end = &job->next;
	pthread_cond_signal(&printer->changed);
	pthread_mutex_unlock(&printer->mutex);
}

static void start(struct printer *printer, const char *name)
{
	pthread_mutex_init(&printer->mutex, NULL);
	pthread_cond_init(&printer->changed, NULL);
	printer->name = name;
	printer->end = &printer->queue;
	if (pthread_create(&printer->thread, NULL, run_printer, printer))
		exit(1);
}

static void finish(struct printer *printer)
{
	pthread_mutex_lock(&printer->mutex);
	printer->closed = true;
	pthread_cond_signal(&printer->changed);
	pthread_mutex_unlock(&printer->mutex);
	pthread_join(printer->thread, NULL);
}

int main(int argc, char **argv)
{
	static struct printer laser, plotter;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	start(&laser, "laser");
	start(&plotter, "plotter");
	for (int i = 0; i < 16; i++) {
		if (i == 9)
			print(broken ? &laser : &plotter, "poster", 400);
		print(&laser, "letter", 4);
		pause_ms(12);
	}
	finish(&laser);
	finish(&plotter);
	return 0;
}
