/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: frames_submit wakes one calibrator, and only if the queue was empty. In night 6 it puts a light frame and the dark
 *     frame that belongs to it: one calibrator takes the light and waits for the dark, which stays in the queue, as the other
 *     calibrator sleeps and was not woken.
 *   culprit: dark of night 6|frames_submit
 *   victim: light of night 6|camera|telescope
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The image pipeline of a telescope: a camera submits the frames of a night, and two calibrators work them off. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CALIBRATORS = 2,
	NIGHTS = 8,
	FRAMES = 2
};

struct frame {
	thrum_task task;
	struct frame *dark; /* is subtracted from this one; may be NULL */
	struct frame *next;
	unsigned night;
	bool is_done;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t calibrated = PTHREAD_COND_INITIALIZER;
static struct frame *queue;
static struct frame **queue_end = &queue;
static thrum_task frames; /* the queue */
static unsigned sleeping; /* calibrators that wait for a frame */
static bool is_morning;
static bool wake_each;
static atomic_bool closed;

static void pause_ms(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static void wake_one(void)
{
	thrum_task_signal(frames, sleeping);
	pthread_cond_signal(&arrived);
}

/* Puts the frames of an exposure into the queue, all at once so that they stay together. */
static void frames_submit(struct frame *exposure, unsigned count)
{
	bool was_empty;

	pthread_mutex_lock(&mutex);
	was_empty = !queue;
	for (unsigned i = 0; i < count; i++) {
		thrum_task_ready(exposure[i].task);
		*queue_end = &exposure[i];
		queue_end = &exposure[i].next;
		if (wake_each)
			wake_one();
	}
	if (was_empty && !wake_each)
		wake_one();
	pthread_mutex_unlock(&mutex);
}

static struct frame *frames_take(void)
{
	thrum_task self = thrum_task_current();
	struct frame *frame;

	pthread_mutex_lock(&mutex);
	while (!queue && !is_morning) {
		sleeping++;
		thrum_task_wait(self, frames);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&arrived, &mutex);
		thrum_resume();
		sleeping--;
	}
	frame = queue;
	if (frame) {
		thrum_task_read(self, frames);
		queue = frame->next;
		if (!queue)
			queue_end = &queue;
	}
	pthread_mutex_unlock(&mutex);
	return frame;
}

static void frame_wait(struct frame *frame)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	if (!frame->is_done) {
		thrum_task_wait(self, frame->task);
		thrum_suspend(THRUM_BLOCKED);
		while (!frame->is_done)
			pthread_cond_wait(&calibrated, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, frame->task);
	pthread_mutex_unlock(&mutex);
}

static void frame_calibrate(struct frame *frame)
{
	pause_ms(4); /* flat field */
	if (frame->dark)
		frame_wait(frame->dark);
	pause_ms(4);
}

static void frame_done(struct frame *frame)
{
	pthread_mutex_lock(&mutex);
	frame->is_done = true;
	thrum_task_resolve(frame->task);
	pthread_cond_broadcast(&calibrated);
	pthread_mutex_unlock(&mutex);
}

static void *calibrator(void *data)
{
	struct frame *frame;
	char name[24];

	snprintf(name, sizeof name, "calibrator %d", (int)(size_t)data);
	thrum_lane_name(name);
	while ((frame = frames_take())) {
		THRUM_RUN (frame->task)
			frame_calibrate(frame);
		frame_done(frame);
	}
	return NULL;
}

/* Watches the dome's weather station, and has nothing to do with the frames. */
static void *weather(void *data)
{
	(void)data;
	thrum_lane_name("weather");
	while (!atomic_load(&closed)) {
		thrum_task reading = thrum_task_create(THRUM_KIND_TASK, "wind reading");

		THRUM_RUN (reading)
			pause_ms(30);
		thrum_task_resolve(reading);
	}
	return NULL;
}

static void expose(unsigned night, struct frame *exposure)
{
	bool with_dark = night == 6;

	memset(exposure, 0, FRAMES * sizeof *exposure);
	for (int i = 0; i < FRAMES; i++) {
		bool is_dark = with_dark && i == 1;

		exposure[i].night = night;
		exposure[i].task = thrum_task_createf(THRUM_KIND_TASK, "%s of night %u",
			is_dark     ? "dark"
				: i ? "second light"
				    : "light",
			night);
	}
	if (with_dark)
		exposure[0].dark = &exposure[1];
}

static void telescope(unsigned night)
{
	static struct frame exposures[NIGHTS + 1][FRAMES];
	struct frame *exposure = exposures[night];

	expose(night, exposure);
	frames_submit(exposure, FRAMES);
	for (int i = 0; i < FRAMES; i++)
		frame_wait(&exposure[i]);
	printf("night %u is calibrated\n", night);
	pause_ms(30);
}

int main(int argc, char **argv)
{
	pthread_t calibrators[CALIBRATORS];
	pthread_t station;
	thrum_task camera;

	wake_each = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	frames = thrum_task_create(THRUM_KIND_MAILBOX, "frames");
	for (size_t i = 0; i < CALIBRATORS; i++)
		pthread_create(&calibrators[i], NULL, calibrator, (void *)(i + 1));
	pthread_create(&station, NULL, weather, NULL);
	camera = thrum_task_create(THRUM_KIND_TASK, "camera");
	thrum_task_should_resolve(camera);
	THRUM_RUN (camera) {
		pause_ms(30);
		for (unsigned night = 1; night <= NIGHTS; night++)
			telescope(night);
		thrum_task_resolve(camera);
	}
	atomic_store(&closed, true);
	pthread_mutex_lock(&mutex);
	is_morning = true;
	thrum_task_signal(frames, sleeping);
	pthread_cond_broadcast(&arrived);
	pthread_mutex_unlock(&mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < CALIBRATORS; i++)
		pthread_join(calibrators[i], NULL);
	pthread_join(station, NULL);
	thrum_resume();
	thrum_stop();
	return 0;
}
