/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: decoder and resizer take their buffers from one pool, which free_buffers counts. The decoder
 *     takes one for each image, as fast as it can, until none is left; the resizer needs two more for its
 *     results, before it can give back the one of the input. So both wait for a buffer, and the encoder
 *     gets nothing.
 *   culprit: free_buffers|resize
 *   victim: encode
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* An image pipeline: decode, resize, encode; a thread for each, with queues between them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BUFFERS 6
#define PIXELS (64 * 64)

struct buffer {
	uint8_t pixels[PIXELS];
	struct buffer *next;
	bool used, is_last; /* the last result of an image */
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct buffer *first, **last;
};

static struct buffer buffers[BUFFERS];
static sem_t free_buffers;
static sem_t images_allowed; /* limits how many images are under way */
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue to_resize = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&to_resize.first};
static struct queue to_encode = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
	&to_encode.first};
static bool limit_images;
static long encoded;

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static struct buffer *buffer_take(void)
{
	struct buffer *buffer = buffers;

	while (sem_wait(&free_buffers))
		continue;
	pthread_mutex_lock(&pool_lock);
	while (buffer->used)
		buffer++;
	buffer->used = true;
	pthread_mutex_unlock(&pool_lock);
	return buffer;
}

static void buffer_give_back(struct buffer *buffer)
{
	pthread_mutex_lock(&pool_lock);
	buffer->used = false;
	pthread_mutex_unlock(&pool_lock);
	sem_post(&free_buffers);
}

static void queue_put(struct queue *queue, struct buffer *buffer)
{
	buffer->next = NULL;
	pthread_mutex_lock(&queue->lock);
	*queue->last = buffer;
	queue->last = &buffer->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

static struct buffer *queue_get(struct queue *queue)
{
	struct buffer *buffer;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->lock);
	buffer = queue->first;
	queue->first = buffer->next;
	if (!queue->first)
		queue->last = &queue->first;
	pthread_mutex_unlock(&queue->lock);
	return buffer;
}

static void *decode_images(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "decoder");
	for (int number = 0;; number++) {
		struct buffer *buffer;

		if (limit_images)
			while (sem_wait(&images_allowed))
				continue;
		buffer = buffer_take();
		for (int i = 0; i < PIXELS; i++)
			buffer->pixels[i] = (uint8_t)(i * number);
		pause_ms(1);
		queue_put(&to_resize, buffer);
	}
	return NULL;
}

static void *resize_images(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "resizer");
	for (;;) {
		struct buffer *input = queue_get(&to_resize), *preview, *thumbnail;

		preview = buffer_take();
		for (int i = 0; i < PIXELS; i++)
			preview->pixels[i] = input->pixels[i / 2];
		pause_ms(3);
		thumbnail = buffer_take();
		for (int i = 0; i < PIXELS; i++)
			thumbnail->pixels[i] = input->pixels[i / 8];
		pause_ms(1);
		buffer_give_back(input);
		preview->is_last = false;
		queue_put(&to_encode, preview);
		thumbnail->is_last = true;
		queue_put(&to_encode, thumbnail);
	}
	return NULL;
}

static void *encode_images(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "encoder");
	for (;;) {
		struct buffer *buffer = queue_get(&to_encode);

		bool is_last = buffer->is_last;

		pause_ms(2);
		buffer_give_back(buffer);
		if (limit_images && is_last)
			sem_post(&images_allowed);
		if (++encoded % 40 == 0) {
			printf("%ld pictures\n", encoded);
			fflush(stdout);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const stages[])(void *) = {decode_images, resize_images, encode_images};
	pthread_t threads[3];

	limit_images = !(argc > 1 && !strcmp(argv[1], "broken"));
	sem_init(&free_buffers, 0, BUFFERS);
	sem_init(&images_allowed, 0, BUFFERS / 3);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, stages[i], NULL))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
