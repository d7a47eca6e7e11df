/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=feed
 *   truth: the slowest request "feed" was ready to run, but waited for its turn some 150 ms while "thumbnail 5" (a huge
 *     picture) ran on the only thread.
 *   culprit: thumbnail
 *   victim: feed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A small server on one thread: a queue of runnable jobs; jobs arrive by a schedule. */
struct job {
	struct job *next;
	thrum_task task;
	bool feed;
	int steps, number;
};
static struct job *queue, **queue_end = &queue;
static bool split;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void make_ready(struct job *job)
{
	thrum_task_ready(job->task);
	job->next = NULL;
	*queue_end = job;
	queue_end = &job->next;
}

static void arrive(bool feed, int number, int steps)
{
	struct job *job = calloc(1, sizeof *job);

	job->feed = feed;
	job->steps = steps;
	job->number = number;
	job->task = feed ? thrum_task_create(THRUM_KIND_REQUEST, "feed")
			 : thrum_task_createf(THRUM_KIND_TASK, "thumbnail %d", number);
	thrum_task_should_resolve(job->task);
	make_ready(job);
}

static void scale_rows(void)
{
	struct timespec begin, t;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((t.tv_sec - begin.tv_sec) * 1000000000 + t.tv_nsec - begin.tv_nsec < 1000000);
}

static void run(struct job *job)
{
	THRUM_RUN (job->task) {
		if (job->feed) {
			usleep(500);
			job->steps--;
		} else
			do
				scale_rows();
			while (--job->steps && !split);
		if (job->steps) {
			make_ready(job);
			break;
		}
		thrum_task_resolve(job->task);
		free(job);
	}
}

int main(int argc, char **argv)
{
	int64_t begin = now_ms();
	int feeds = 0, pictures = 0;

	split = argc > 1 && !strcmp(argv[1], "healthy");
	while (feeds < 60 || queue) {
		int64_t passed = now_ms() - begin;

		while (feeds < 60 && passed >= feeds * 10)
			arrive(true, feeds++, 2);
		while (pictures < 9 && passed >= pictures * 60 + 5) {
			arrive(false, pictures, pictures == 5 ? 150 : 3);
			pictures++;
		}
		if (queue) {
			struct job *job = queue;

			queue = job->next;
			if (!queue)
				queue_end = &queue;
			run(job);
		} else {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
		}
	}
	thrum_stop();
	puts("feed: done");
	return 0;
}
