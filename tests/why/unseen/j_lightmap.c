/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="frame *"
 *   truth: While frame 12 waits for its jobs, its thread helps by running any job of the pool, the newest first. So it
 *     runs a "bake lightmap", which takes 30 ms and has nothing to do with the frame, while the frame's own "cull",
 *     "animate" and "shadows" lie in the queue.
 *   culprit: bake lightmap
 *   victim: cull|animate|shadows
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The loop of a game: each frame makes jobs for a pool of threads, and helps the pool until they are done. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define FRAMES 20
#define BAKES 3

struct frame {
	int open; /* jobs that haven't ended; the mutex guards it */
	int count;
	thrum_task task, jobs[3];
};

struct job {
	struct job *next;
	struct frame *frame; /* NULL: it belongs to no frame */
	int us;              /* of work */
	thrum_task task;
};

static bool broken, over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *stack; /* the newest job first */
static int bakes_done;

/* Computes for so many microseconds of processor time. */
static void compute(int us)
{
	struct timespec time;
	int64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	end = time.tv_sec * INT64_C(1000000000) + time.tv_nsec + us * INT64_C(1000);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	while (time.tv_sec * INT64_C(1000000000) + time.tv_nsec < end);
}

/* The caller holds the mutex. */
static void submit(struct frame *frame, const char *label, int us)
{
	struct job *job = malloc(sizeof(*job));

	*job = (struct job){.frame = frame, .us = us};
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	thrum_task_ready(job->task);
	job->next = stack;
	stack = job;
	if (frame) {
		frame->open++;
		frame->jobs[frame->count++] = job->task;
	}
	pthread_cond_broadcast(&changed);
}

/* The caller holds the mutex. Takes the newest job, or the newest one of the frame. */
static struct job *take(const struct frame *frame)
{
	struct job **link = &stack, *job;

	while (frame && *link && (*link)->frame != frame)
		link = &(*link)->next;
	job = *link;
	if (job)
		*link = job->next;
	return job;
}

/* The caller holds the mutex, which is free while the job runs. */
static void run(struct job *job)
{
	pthread_mutex_unlock(&mutex);
	THRUM_RUN (job->task) {
		compute(job->us);
		thrum_task_resolve(job->task);
	}
	pthread_mutex_lock(&mutex);
	if (job->frame)
		job->frame->open--;
	else
		bakes_done++;
	pthread_cond_broadcast(&changed);
	free(job);
}

static void wait_for_change(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&changed, &mutex);
	thrum_resume();
}

static void *pool_thread(void *data)
{
	struct job *job;

	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	while (!over) {
		if ((job = take(NULL)))
			run(job);
		else
			wait_for_change();
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* The caller holds the mutex. Runs jobs until those of the frame have ended. */
static void frame_join(struct frame *frame)
{
	struct job *job;

	for (int i = 0; i < frame->count; i++)
		thrum_task_wait(frame->task, frame->jobs[i]);
	while (frame->open > 0) {
		if ((job = take(broken ? NULL : frame)))
			run(job);
		else
			wait_for_change();
	}
	for (int i = 0; i < frame->count; i++)
		thrum_task_read(frame->task, frame->jobs[i]);
}

static void draw_frame(int number)
{
	struct frame frame = {.task = thrum_task_createf(THRUM_KIND_TASK, "frame %d", number)};

	THRUM_RUN (frame.task) {
		compute(100);
		pthread_mutex_lock(&mutex);
		submit(&frame, "cull", 150);
		submit(&frame, "animate", 250);
		submit(&frame, "shadows", 200);
		if (number == 12) /* the player enters a cave that has no light yet */
			for (int i = 0; i < BAKES; i++)
				submit(NULL, "bake lightmap", 30000);
		frame_join(&frame);
		pthread_mutex_unlock(&mutex);
		compute(150);
		thrum_task_resolve(frame.task);
	}
}

int main(int argc, char **argv)
{
	static char names[2][16] = {"pool 1", "pool 2"};
	const struct timespec pause = {.tv_nsec = 3000000};
	pthread_t threads[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, pool_thread, names[i]);
	for (int number = 1; number <= FRAMES; number++) {
		draw_frame(number);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&pause, NULL); /* until the screen is refreshed */
		thrum_resume();
	}
	pthread_mutex_lock(&mutex);
	while (bakes_done < BAKES)
		wait_for_change();
	over = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("drew %d frames\n", FRAMES);
	return 0;
}
