/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 700
 *   ask: why
 *   truth: "slice worker 2" meets a corrupt macroblock in frame 5 and leaves its thread without counting down the
 *          frame's latch. Frame 5 waits for a fourth slice that nobody encodes; the muxer waits for frame 5.
 *   culprit: slice worker 2|slice 2|corrupt|encode_slices
 *   victim: (frame 5|mux|GOP)
 * case: healthy
 *   args: healthy
 *   run: stop 500
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 4
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int frame_number, left, stopping, picky;
static thrum_task frame, slices_done, new_frame;

static void *encode_slices(void *data)
{
	int number = (int)(long)data, seen = 0;
	char name[32];

	snprintf(name, sizeof(name), "slice worker %d", number);
	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_task slice;

		while (frame_number == seen && !stopping) {
			thrum_task_wait(thrum_task_current(), new_frame);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			thrum_task_read(thrum_task_current(), new_frame);
		}
		if (stopping)
			break;
		seen = frame_number;
		pthread_mutex_unlock(&mutex);
		slice = thrum_task_createf(THRUM_KIND_TASK, "frame %d slice %d", seen, number);
		THRUM_RUN (slice) {
			usleep(number == 3 && seen % 3 == 0 ? 45000 : 6000);
			if (number == 2 && seen == 5) {
				if (picky) {
					thrum_task_fail(slice, "corrupt macroblock");
					return NULL;
				}
				thrum_log("corrupt macroblock, concealed");
			}
			thrum_task_resolve(slice);
		}
		pthread_mutex_lock(&mutex);
		if (--left == 0) {
			thrum_task_resolve(slices_done);
			pthread_cond_broadcast(&changed);
		}
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *on_signals(void *data)
{
	int signal;

	thrum_lane_name("signals");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	sigwait(data, &signal);
	thrum_resume();
	pthread_mutex_lock(&mutex);
	stopping = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	usleep(150000); /* long enough for a frame */
	thrum_log("workers don't stop; giving up");
	_exit(3);
}

int main(int argc, char **argv)
{
	static sigset_t set;
	pthread_t workers[WORKERS], signals;
	thrum_task stream;

	picky = argc > 1 && !strcmp(argv[1], "broken");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	stream = thrum_task_create(THRUM_KIND_TASK, "mux live stream");
	new_frame = thrum_task_create(THRUM_KIND_CONDITION, "new frame");
	pthread_create(&signals, NULL, on_signals, &set);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, encode_slices, (void *)(i + 1));
	usleep(20000);
	pthread_mutex_lock(&mutex);
	while (!stopping) {
		frame = thrum_task_createf(THRUM_KIND_TASK, "frame %d", frame_number + 1);
		thrum_task_should_resolve(frame);
		slices_done = thrum_task_createf(THRUM_KIND_TASK, "latch of frame %d",
			frame_number + 1);
		thrum_task_wait(frame, slices_done);
		thrum_task_wait(stream, frame);
		left = WORKERS;
		frame_number++;
		thrum_task_signal(new_frame, WORKERS);
		pthread_cond_broadcast(&changed);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (left && !(stopping && !picky))
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		if (left) {
			/* stopped amid a frame */
			thrum_task_cancel(frame);
			break;
		}
		thrum_task_read(frame, slices_done);
		thrum_task_resolve(frame);
		thrum_task_read(stream, frame);
		pthread_mutex_unlock(&mutex);
		usleep(4000); /* the camera's pace */
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_mutex_lock(&mutex);
	if (left)
		thrum_task_cancel(slices_done);
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(stream);
	return 0;
}
