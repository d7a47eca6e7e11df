/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread of frame 3 finds damaged data and returns without reporting progress; frame 4 waits for that progress for ever.
 *   culprit: frame 3
 *   victim: frame 4
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about FFmpeg's HEVC decoder: decoding with several threads hangs, because a thread waits for the
 * progress of a frame that never reports it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	FRAMES = 5,
	DAMAGED = 3
};

struct frame {
	pthread_t thread;
	thrum_task task, progress;
	bool decoded;
};

static struct frame frames[FRAMES + 1];
static pthread_mutex_t progress_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress_made = PTHREAD_COND_INITIALIZER;
static bool broken;

static void report_progress(struct frame *frame)
{
	pthread_mutex_lock(&progress_mutex);
	frame->decoded = true;
	thrum_task_resolve(frame->progress);
	pthread_cond_broadcast(&progress_made);
	pthread_mutex_unlock(&progress_mutex);
}

static void await_progress(struct frame *frame)
{
	pthread_mutex_lock(&progress_mutex);
	while (!frame->decoded) {
		thrum_task_wait(thrum_task_current(), frame->progress);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&progress_made, &progress_mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&progress_mutex);
	thrum_task_read(thrum_task_current(), frame->progress);
}

static void decode(struct frame *frame, long number)
{
	if (number > 1)
		await_progress(frame - 1);
	usleep(3000);
	if (number == DAMAGED) {
		if (!broken)
			report_progress(frame); /* the rows are concealed */
		thrum_task_fail(frame->task, "invalid data");
		return;
	}
	report_progress(frame);
	thrum_task_resolve(frame->task);
}

static void *frame_worker(void *number)
{
	struct frame *frame = &frames[(long)number];

	thrum_lane_name("frame worker");
	THRUM_RUN (frame->task)
		decode(frame, (long)number);
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (long i = 1; i <= FRAMES; i++) {
		frames[i].task = thrum_task_createf(THRUM_KIND_TASK, "frame %ld", i);
		thrum_task_should_resolve(frames[i].task);
		frames[i].progress = thrum_task_createf(THRUM_KIND_PROMISE, "progress of frame %ld",
			i);
	}
	for (long i = 1; i <= FRAMES; i++)
		pthread_create(&frames[i].thread, NULL, frame_worker, (void *)i);
	for (long i = 1; i <= FRAMES; i++)
		pthread_join(frames[i].thread, NULL);
	puts("decoded");
	return 0;
}
