/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The encoder's take_frame frees a place in the frame queue and tells nobody: nothing ever signals the condition on which the capture thread waits for space. The encoder empties the queue and then waits for frames, too.
 *   culprit: encoder|encode_frames|take_frame
 *   victim: capture|grab_frames
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Records a camera: one thread grabs frames into a small queue, another compresses them. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FRAMES = 60,
	ROOM = 4,
	PIXELS = 4096
};

struct frame {
	int number;
	unsigned char pixels[PIXELS];
};

static struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled, space;
	struct frame *frames[ROOM];
	unsigned first, count;
	bool closed;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.space = PTHREAD_COND_INITIALIZER};

static sem_t prerolled;
static bool broken;

static void put_frame(struct frame *frame)
{
	pthread_mutex_lock(&queue.mutex);
	while (queue.count == ROOM)
		pthread_cond_wait(&queue.space, &queue.mutex);
	queue.frames[(queue.first + queue.count++) % ROOM] = frame;
	if (queue.count == ROOM && frame->number == ROOM - 1)
		sem_post(&prerolled);
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

static struct frame *take_frame(void)
{
	struct frame *frame = NULL;

	pthread_mutex_lock(&queue.mutex);
	while (!queue.count && !queue.closed)
		pthread_cond_wait(&queue.filled, &queue.mutex);
	if (queue.count) {
		frame = queue.frames[queue.first];
		queue.first = (queue.first + 1) % ROOM;
		queue.count--;
		if (!broken)
			pthread_cond_signal(&queue.space);
	}
	pthread_mutex_unlock(&queue.mutex);
	return frame;
}

static void *grab_frames(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "capture");
	for (int i = 0; i < FRAMES; i++) {
		struct frame *frame = malloc(sizeof *frame);

		if (!frame)
			break;
		frame->number = i;
		memset(frame->pixels, i, sizeof frame->pixels);
		put_frame(frame);
	}
	pthread_mutex_lock(&queue.mutex);
	queue.closed = true;
	pthread_cond_broadcast(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
	return NULL;
}

/* Stands for the wavelet transform, and for the write to the card. */
static size_t compress_frame(const struct frame *frame)
{
	size_t runs = 1;

	for (size_t i = 1; i < sizeof frame->pixels; i++)
		runs += frame->pixels[i] != frame->pixels[i - 1];
	usleep(4000);
	return runs * 2;
}

static void *encode_frames(void *total)
{
	struct frame *frame;

	pthread_setname_np(pthread_self(), "encoder");
	while ((frame = take_frame())) {
		*(size_t *)total += compress_frame(frame);
		free(frame);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t capture, encoder;
	size_t total = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&prerolled, 0, 0);
	pthread_create(&capture, NULL, grab_frames, NULL);
	/* The encoder begins when the pre-roll is complete. */
	sem_wait(&prerolled);
	pthread_create(&encoder, NULL, encode_frames, &total);
	pthread_join(capture, NULL);
	pthread_join(encoder, NULL);
	printf("%d frames, %zu bytes\n", FRAMES, total);
	return 0;
}
