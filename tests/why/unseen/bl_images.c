/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: A decoder drops image 21, which is damaged, instead of passing it on as failed; the writer puts
 *     images out in order and waits for it, and the decoders can't put later ones into the full window.
 *   culprit: image 21\b
 *   victim: image 2[2-9]|image 3|writer|scanner|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An image pipeline: a scanner finds images, two threads decode them, and a writer puts them out in order. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define IMAGES 60
#define DECODERS 2
#define FOUND 4
#define WINDOW 6

struct image {
	int number;
	thrum_task task;
	bool bad;
	unsigned checksum;
};

struct pipeline {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	/* From the scanner to the decoders. */
	struct image *found[FOUND];
	int first, count, decoders_waiting;
	bool scanned;
	thrum_task found_task;
	/* From the decoders to the writer. */
	struct image *window[WINDOW];
	int next, writer_waiting;
	thrum_task window_task;
};

static struct pipeline pipeline = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static struct image images[IMAGES];
static bool pass_on;

/* The caller holds the mutex. */
static void pipeline_wait(thrum_task waiter, thrum_task source)
{
	thrum_task_wait(waiter, source);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&pipeline.changed, &pipeline.mutex);
	thrum_resume();
}

static void found_put(struct image *image)
{
	pthread_mutex_lock(&pipeline.mutex);
	while (pipeline.count == FOUND)
		pipeline_wait(thrum_task_current(), pipeline.found_task);
	pipeline.found[(pipeline.first + pipeline.count++) % FOUND] = image;
	thrum_task_ready(image->task);
	thrum_task_signal(pipeline.found_task, (unsigned)pipeline.decoders_waiting);
	pthread_cond_broadcast(&pipeline.changed);
	pthread_mutex_unlock(&pipeline.mutex);
}

static struct image *found_take(void)
{
	struct image *image = NULL;

	pthread_mutex_lock(&pipeline.mutex);
	pipeline.decoders_waiting++;
	while (pipeline.count == 0 && !pipeline.scanned)
		pipeline_wait(thrum_task_current(), pipeline.found_task);
	pipeline.decoders_waiting--;
	if (pipeline.count > 0) {
		image = pipeline.found[pipeline.first++ % FOUND];
		pipeline.first %= FOUND;
		pipeline.count--;
		thrum_task_read(thrum_task_current(), pipeline.found_task);
		pthread_cond_broadcast(&pipeline.changed);
	}
	pthread_mutex_unlock(&pipeline.mutex);
	return image;
}

static void window_put(struct image *image)
{
	pthread_mutex_lock(&pipeline.mutex);
	while (image->number >= pipeline.next + WINDOW)
		pipeline_wait(thrum_task_current(), pipeline.window_task);
	pipeline.window[image->number % WINDOW] = image;
	thrum_task_ready(image->task);
	thrum_task_signal(pipeline.window_task, (unsigned)pipeline.writer_waiting);
	pthread_cond_broadcast(&pipeline.changed);
	pthread_mutex_unlock(&pipeline.mutex);
}

static struct image *window_take(void)
{
	struct image *image;
	int slot;

	pthread_mutex_lock(&pipeline.mutex);
	slot = pipeline.next % WINDOW;
	pipeline.writer_waiting = 1;
	while (!pipeline.window[slot])
		pipeline_wait(thrum_task_current(), pipeline.window_task);
	pipeline.writer_waiting = 0;
	image = pipeline.window[slot];
	pipeline.window[slot] = NULL;
	pipeline.next++;
	thrum_task_read(thrum_task_current(), pipeline.window_task);
	pthread_cond_broadcast(&pipeline.changed);
	pthread_mutex_unlock(&pipeline.mutex);
	return image;
}

/* Returns whether the image could be decoded. */
static bool decode(struct image *image)
{
	unsigned char pixels[4096];

	for (size_t i = 0; i < sizeof pixels; i++)
		pixels[i] = (unsigned char)(i * (size_t)(image->number + 3));
	for (size_t i = 0; i < sizeof pixels; i++)
		image->checksum = image->checksum * 31 + pixels[i];
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(2000);
	thrum_resume();
	image->bad = image->number == 21;
	return !image->bad;
}

static void *decoder_run(void *data)
{
	struct image *image;
	char name[16];

	snprintf(name, sizeof name, "decoder %d", *(int *)data);
	thrum_lane_name(name);
	while ((image = found_take())) {
		bool good = false;

		THRUM_RUN (image->task)
			good = decode(image);
		if (!good && !pass_on)
			continue;
		window_put(image);
	}
	return NULL;
}

static void *writer_run(void *data)
{
	unsigned sum = 0, written = 0;

	(void)data;
	thrum_lane_name("writer");
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < IMAGES; i++) {
		struct image *image = window_take();

		THRUM_RUN (image->task) {
			if (image->bad) {
				thrum_task_cancel(image->task);
				continue;
			}
			sum += image->checksum;
			written++;
			thrum_task_resolve(image->task);
		}
	}
	printf("%u images, checksum %08x\n", written, sum);
	return NULL;
}

static void *scanner_run(void *data)
{
	(void)data;
	thrum_lane_name("scanner");
	for (int i = 0; i < IMAGES; i++) {
		images[i].number = i;
		images[i].task = thrum_task_createf(THRUM_KIND_TASK, "image %d", i);
		thrum_task_should_resolve(images[i].task);
		found_put(&images[i]);
	}
	pthread_mutex_lock(&pipeline.mutex);
	pipeline.scanned = true;
	thrum_task_signal(pipeline.found_task, (unsigned)pipeline.decoders_waiting);
	pthread_cond_broadcast(&pipeline.changed);
	pthread_mutex_unlock(&pipeline.mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[DECODERS + 2];
	int numbers[DECODERS];

	if (argc < 2)
		return 2;
	pass_on = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	pipeline.found_task = thrum_task_create(THRUM_KIND_MAILBOX, "found images");
	pipeline.window_task = thrum_task_create(THRUM_KIND_MAILBOX, "window");
	for (int i = 0; i < DECODERS; i++) {
		numbers[i] = i + 1;
		pthread_create(&threads[i], NULL, decoder_run, &numbers[i]);
	}
	pthread_create(&threads[DECODERS], NULL, writer_run, NULL);
	pthread_create(&threads[DECODERS + 1], NULL, scanner_run, NULL);
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < DECODERS + 2; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	thrum_stop();
	return 0;
}
