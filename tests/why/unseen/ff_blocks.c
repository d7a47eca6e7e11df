/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The checksum of block 5 is wrong; decode_blocks logs that and takes the next block without handing block 5 on,
 *     not even as a failure. The writer, which writes the blocks in order, waits for block 5 for ever.
 *   culprit: \bblock 5\b|hand_on
 *   victim: write archive|restore|\bblock [67]\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about parallel bzip2, which hung at damaged files. Restores an archive: threads decode its blocks, and
 * the main thread writes them in their order.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define DECODERS 3
#define BLOCKS 10
#define SIZE 4096

struct block {
	int number;
	bool done, bad;
	uint32_t checksum;
	unsigned char packed[SIZE], plain[SIZE];
	thrum_task task;
};

static struct block blocks[BLOCKS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int next_block;
static bool drop_bad;

static uint32_t checksum(const unsigned char *data)
{
	uint32_t sum = 1;

	for (int i = 0; i < SIZE; i++)
		sum = sum * 16777619 ^ data[i];
	return sum;
}

/* The archive. A bit of block 5 has tipped over. */
static void load_archive(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		struct block *block = &blocks[i];

		block->number = i;
		for (int j = 0; j < SIZE; j++)
			block->plain[j] = (unsigned char)(i * j >> 3);
		block->checksum = checksum(block->plain);
		for (int j = 0; j < SIZE; j++)
			block->packed[j] = block->plain[j] ^ 0x5a;
		block->task = thrum_task_createf(THRUM_KIND_TASK, "block %d", i);
	}
	blocks[5].packed[77] ^= 4;
}

static bool decode(struct block *block)
{
	for (int i = 0; i < SIZE; i++)
		block->plain[i] = block->packed[i] ^ 0x5a;
	nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL); /* the disk */
	return checksum(block->plain) == block->checksum;
}

static void hand_on(struct block *block)
{
	pthread_mutex_lock(&mutex);
	block->done = true;
	thrum_task_resolve(block->task);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct block *take(void)
{
	struct block *block = NULL;

	pthread_mutex_lock(&mutex);
	if (next_block < BLOCKS)
		block = &blocks[next_block++];
	pthread_mutex_unlock(&mutex);
	return block;
}

static void *decode_blocks(void *unused)
{
	struct block *block;

	(void)unused;
	thrum_lane_name("decoder");
	while ((block = take()))
		THRUM_RUN (block->task) {
			if (!decode(block)) {
				fprintf(stderr, "block %d is damaged\n", block->number);
				if (drop_bad)
					break;
				block->bad = true;
			}
			hand_on(block);
		}
	return NULL;
}

static void await_block(struct block *block)
{
	pthread_mutex_lock(&mutex);
	while (!block->done) {
		thrum_task_wait(thrum_task_current(), block->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), block->task);
	pthread_mutex_unlock(&mutex);
}

static int write_archive(void)
{
	int written = 0;

	for (int i = 0; i < BLOCKS; i++) {
		await_block(&blocks[i]);
		if (!blocks[i].bad)
			written++;
	}
	return written;
}

int main(int argc, char **argv)
{
	thrum_task all = thrum_task_create(THRUM_KIND_TASK, "write archive");
	pthread_t decoders[DECODERS];

	drop_bad = argc > 1 && !strcmp(argv[1], "broken");
	thrum_task_should_resolve(all);
	load_archive();
	for (int i = 0; i < DECODERS; i++)
		pthread_create(&decoders[i], NULL, decode_blocks, NULL);
	THRUM_RUN (all) {
		printf("%d of %d blocks\n", write_archive(), BLOCKS);
		thrum_task_resolve(all);
	}
	for (int i = 0; i < DECODERS; i++)
		pthread_join(decoders[i], NULL);
	return 0;
}
