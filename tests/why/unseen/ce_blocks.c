/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Blocks have numbers, and write_blocks writes them in this order. compress_blocks doesn't deliver blocks that
 *     hold nothing but zeros, and goes on with the next. So the number of such a block never comes, and
 *     write_blocks waits for it for ever, though all later ones are there.
 *   culprit: compress_blocks|compress
 *   victim: write_blocks|writer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Makes an image of a disk: one thread reads blocks, three compress them, and one writes them in order. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 60
#define SIZE 512
#define COMPRESSORS 3
#define QUEUE 8

struct block {
	unsigned number;
	size_t size;
	unsigned char bytes[SIZE];
};

struct image {
	pthread_mutex_t mutex;
	pthread_cond_t readable;  /* a block was read, or all were */
	pthread_cond_t room;      /* in the queue of those that were read */
	pthread_cond_t delivered; /* a block is compressed */
	struct block *queue[QUEUE];
	unsigned queued;
	bool all_read;
	struct block *compressed[BLOCKS];
	unsigned written;
	size_t bytes;
};

static struct image image = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.readable = PTHREAD_COND_INITIALIZER,
	.room = PTHREAD_COND_INITIALIZER,
	.delivered = PTHREAD_COND_INITIALIZER,
};
static bool keeps_holes;
static atomic_bool done;

static void *read_blocks(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "reader");
	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *block = calloc(1, sizeof *block);

		if (!block)
			abort();
		usleep(4000);
		block->number = i;
		block->size = SIZE;
		if (i != 37) /* a part of the disk that was never used */
			memset(block->bytes, (int)(i % 7 + 1), SIZE);
		pthread_mutex_lock(&image.mutex);
		while (image.queued == QUEUE)
			pthread_cond_wait(&image.room, &image.mutex);
		image.queue[image.queued++] = block;
		pthread_cond_signal(&image.readable);
		pthread_mutex_unlock(&image.mutex);
	}
	pthread_mutex_lock(&image.mutex);
	image.all_read = true;
	pthread_cond_broadcast(&image.readable);
	pthread_mutex_unlock(&image.mutex);
	return NULL;
}

static bool is_hole(const struct block *block)
{
	for (size_t i = 0; i < block->size; i++) {
		if (block->bytes[i])
			return false;
	}
	return true;
}

static void shrink(struct block *block)
{
	usleep(6000);
	block->size = is_hole(block) ? 0 : block->size / 8;
}

static void *compress_blocks(void *data)
{
	char name[16];

	snprintf(name, sizeof name, "compress %d", *(int *)data);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&image.mutex);
	for (;;) {
		struct block *block;

		while (!image.queued && !image.all_read)
			pthread_cond_wait(&image.readable, &image.mutex);
		if (!image.queued)
			break;
		block = image.queue[0];
		image.queued--;
		memmove(image.queue, image.queue + 1, image.queued * sizeof image.queue[0]);
		pthread_cond_signal(&image.room);
		pthread_mutex_unlock(&image.mutex);
		shrink(block);
		pthread_mutex_lock(&image.mutex);
		if (block->size == 0 && !keeps_holes) {
			free(block); /* nothing to write */
			continue;
		}
		image.compressed[block->number] = block;
		pthread_cond_signal(&image.delivered);
	}
	pthread_mutex_unlock(&image.mutex);
	return NULL;
}

static void *write_blocks(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "writer");
	pthread_mutex_lock(&image.mutex);
	while (image.written < BLOCKS) {
		struct block *block;

		while (!image.compressed[image.written])
			pthread_cond_wait(&image.delivered, &image.mutex);
		block = image.compressed[image.written++];
		pthread_mutex_unlock(&image.mutex);
		usleep(1000);
		image.bytes += block->size;
		free(block);
		pthread_mutex_lock(&image.mutex);
	}
	pthread_mutex_unlock(&image.mutex);
	atomic_store(&done, true);
	return NULL;
}

static void *show_progress(void *data)
{
	unsigned *shown = data;

	pthread_setname_np(pthread_self(), "progress");
	while (!atomic_load(&done)) {
		usleep(50000);
		pthread_mutex_lock(&image.mutex);
		*shown = image.written;
		pthread_mutex_unlock(&image.mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t compressors[COMPRESSORS];
	int numbers[COMPRESSORS];
	pthread_t reader;
	pthread_t writer;
	pthread_t progress;
	unsigned shown = 0;

	keeps_holes = argc < 2 || strcmp(argv[1], "broken");
	pthread_create(&writer, NULL, write_blocks, NULL);
	for (int i = 0; i < COMPRESSORS; i++) {
		numbers[i] = i + 1;
		pthread_create(&compressors[i], NULL, compress_blocks, &numbers[i]);
	}
	pthread_create(&reader, NULL, read_blocks, NULL);
	pthread_create(&progress, NULL, show_progress, &shown);
	pthread_join(reader, NULL);
	for (int i = 0; i < COMPRESSORS; i++)
		pthread_join(compressors[i], NULL);
	pthread_join(writer, NULL);
	pthread_join(progress, NULL);
	printf("image: %u blocks, %zu bytes\n", image.written, image.bytes);
	return 0;
}
