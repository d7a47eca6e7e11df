/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: offer_frame doesn't give its reference to a frame back when the subscriber doesn't want it, as
 *     archive wants only one of three. So those frames never return to the pool, and the camera waits for a
 *     free one for ever.
 *   culprit: offer_frame|frame_ref|frame_unref|pool_take|run_camera
 *   victim: display|motion|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A camera's frames go to several subscribers. Each frame counts its references. */
enum {
	FRAMES = 8,
	SHOTS = 120,
	QUEUE = 2,
	SUBSCRIBERS = 3
};

struct frame {
	int refs, number;
	struct frame *next_free;
};

struct subscriber {
	const char *name;
	int delay_ms, every; /* it wants one of so many frames */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct frame *queue[QUEUE];
	int first, count, seen, skipped;
	bool ended;
	pthread_t thread;
};

static struct frame frames[FRAMES], *free_frames;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t frame_free = PTHREAD_COND_INITIALIZER;
static bool careful;

static struct subscriber subscribers[SUBSCRIBERS] = {
	{.name = "display", .delay_ms = 1, .every = 1},
	{.name = "motion", .delay_ms = 1, .every = 1},
	{.name = "archive", .delay_ms = 2, .every = 3},
};

static void pause_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

static struct frame *pool_take(int number)
{
	struct frame *frame;

	pthread_mutex_lock(&pool_lock);
	while (!free_frames)
		pthread_cond_wait(&frame_free, &pool_lock);
	frame = free_frames;
	free_frames = frame->next_free;
	frame->refs = 1;
	frame->number = number;
	pthread_mutex_unlock(&pool_lock);
	return frame;
}

static void frame_ref(struct frame *frame)
{
	pthread_mutex_lock(&pool_lock);
	frame->refs++;
	pthread_mutex_unlock(&pool_lock);
}

static void frame_unref(struct frame *frame)
{
	pthread_mutex_lock(&pool_lock);
	if (--frame->refs == 0) {
		frame->next_free = free_frames;
		free_frames = frame;
		pthread_cond_signal(&frame_free);
	}
	pthread_mutex_unlock(&pool_lock);
}

static void offer_frame(struct subscriber *to, struct frame *frame)
{
	frame_ref(frame);
	pthread_mutex_lock(&to->lock);
	if (frame->number % to->every != 0) {
		to->skipped++;
		pthread_mutex_unlock(&to->lock);
		if (careful)
			frame_unref(frame);
		return;
	}
	while (to->count == QUEUE)
		pthread_cond_wait(&to->changed, &to->lock);
	to->queue[(to->first + to->count++) % QUEUE] = frame;
	pthread_cond_broadcast(&to->changed);
	pthread_mutex_unlock(&to->lock);
}

static struct frame *next_frame(struct subscriber *self)
{
	struct frame *frame = NULL;

	pthread_mutex_lock(&self->lock);
	while (self->count == 0 && !self->ended)
		pthread_cond_wait(&self->changed, &self->lock);
	if (self->count > 0) {
		frame = self->queue[self->first++ % QUEUE];
		self->count--;
		pthread_cond_broadcast(&self->changed);
	}
	pthread_mutex_unlock(&self->lock);
	return frame;
}

static void *run_subscriber(void *data)
{
	struct subscriber *self = data;
	struct frame *frame;

	while ((frame = next_frame(self))) {
		pause_ms(self->delay_ms);
		self->seen++;
		frame_unref(frame);
	}
	return NULL;
}

static void *run_camera(void *unused)
{
	for (int i = 0; i < SHOTS; i++) {
		struct frame *frame = pool_take(i);

		for (int s = 0; s < SUBSCRIBERS; s++)
			offer_frame(&subscribers[s], frame);
		frame_unref(frame);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t camera;

	careful = argc < 2 || strcmp(argv[1], "broken") != 0;
	for (int i = 0; i < FRAMES; i++) {
		frames[i].next_free = free_frames;
		free_frames = &frames[i];
	}
	for (int s = 0; s < SUBSCRIBERS; s++) {
		struct subscriber *subscriber = &subscribers[s];

		pthread_mutex_init(&subscriber->lock, NULL);
		pthread_cond_init(&subscriber->changed, NULL);
		pthread_create(&subscriber->thread, NULL, run_subscriber, subscriber);
		pthread_setname_np(subscriber->thread, subscriber->name);
	}
	pthread_create(&camera, NULL, run_camera, NULL);
	pthread_setname_np(camera, "camera");
	pthread_join(camera, NULL);
	for (int s = 0; s < SUBSCRIBERS; s++) {
		pthread_mutex_lock(&subscribers[s].lock);
		subscribers[s].ended = true;
		pthread_cond_broadcast(&subscribers[s].changed);
		pthread_mutex_unlock(&subscribers[s].lock);
		pthread_join(subscribers[s].thread, NULL);
		printf("%s: %d seen, %d skipped\n", subscribers[s].name, subscribers[s].seen,
			subscribers[s].skipped);
	}
	return 0;
}
