/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: skip_hole ends block 13 without taking its turn in the output and passing that on, so block 14
 *     and all later ones wait in turn_wait for a turn that never comes
 *   culprit: block 13|skip_hole
 *   victim: block 1[4-9]|block 2\d|turn|archive|compressor
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An archiver: a pool of threads compresses blocks in parallel; the output keeps their order. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define THREADS 3
#define BLOCKS 26
#define BLOCK_SIZE 4096

struct block {
	int number;
	unsigned char data[BLOCK_SIZE];
	size_t packed;
	struct block *next;
	thrum_task task;
};

/* The output is written by one after the other. */
struct turn {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int next;
	unsigned waiters;
	thrum_task task;
};

struct archive {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct block *queue, **queue_end;
	bool is_closed;
	struct turn turn;
	bool holes_take_turns;
	size_t written, holes;
};

static struct archive archive = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.turn = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

static void pause_us(long us)
{
	struct timespec time = {0, us * 1000};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

static void turn_wait(struct turn *turn, int number)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&turn->mutex);
	while (turn->next != number) {
		turn->waiters++;
		thrum_task_wait(self, turn->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&turn->changed, &turn->mutex);
		thrum_resume();
		thrum_task_read(self, turn->task);
	}
	pthread_mutex_unlock(&turn->mutex);
}

static void turn_pass(struct turn *turn)
{
	pthread_mutex_lock(&turn->mutex);
	turn->next++;
	thrum_task_signal(turn->task, turn->waiters);
	turn->waiters = 0;
	pthread_cond_broadcast(&turn->changed);
	pthread_mutex_unlock(&turn->mutex);
}

static bool is_hole(const struct block *block)
{
	for (int i = 0; i < BLOCK_SIZE; i++)
		if (block->data[i])
			return false;
	return true;
}

/* Run-length coding, good enough for an example. */
static size_t pack(const struct block *block)
{
	size_t runs = 1;

	for (int i = 1; i < BLOCK_SIZE; i++)
		if (block->data[i] != block->data[i - 1])
			runs++;
	pause_us(1000 + block->number % 4 * 1500);
	return runs * 2;
}

/* A block of zeros needs no room in the archive. */
static void skip_hole(struct block *block)
{
	thrum_logf("block %d is a hole", block->number);
	if (archive.holes_take_turns) {
		turn_wait(&archive.turn, block->number);
		archive.holes++;
		turn_pass(&archive.turn);
	} else {
		__atomic_add_fetch(&archive.holes, 1, __ATOMIC_RELAXED);
	}
}

static void compress_block(struct block *block)
{
	if (is_hole(block)) {
		skip_hole(block);
		return;
	}
	block->packed = pack(block);
	turn_wait(&archive.turn, block->number);
	archive.written += block->packed;
	turn_pass(&archive.turn);
}

static struct block *take_block(void)
{
	struct block *block;

	pthread_mutex_lock(&archive.mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!archive.queue && !archive.is_closed)
		pthread_cond_wait(&archive.changed, &archive.mutex);
	thrum_resume();
	block = archive.queue;
	if (block) {
		archive.queue = block->next;
		if (!archive.queue)
			archive.queue_end = &archive.queue;
	}
	pthread_mutex_unlock(&archive.mutex);
	return block;
}

static void *compressor(void *data)
{
	struct block *block;
	char name[32];

	snprintf(name, sizeof(name), "compressor %d", (int)(intptr_t)data);
	thrum_lane_name(name);
	while ((block = take_block())) {
		THRUM_RUN (block->task) {
			compress_block(block);
			thrum_task_resolve(block->task);
		}
		free(block);
	}
	return NULL;
}

static struct block *read_block(int number)
{
	struct block *block = calloc(1, sizeof(*block));

	block->number = number;
	if (number != 13)
		for (int i = 0; i < BLOCK_SIZE; i++)
			block->data[i] = (unsigned char)(1 + i / (number + 2));
	return block;
}

static void submit(struct block *block)
{
	block->task = thrum_task_createf(THRUM_KIND_TASK, "block %d", block->number);
	thrum_task_should_resolve(block->task);
	pthread_mutex_lock(&archive.mutex);
	thrum_task_ready(block->task);
	*archive.queue_end = block;
	archive.queue_end = &block->next;
	pthread_cond_signal(&archive.changed);
	pthread_mutex_unlock(&archive.mutex);
}

static void finish(pthread_t *threads)
{
	pthread_mutex_lock(&archive.mutex);
	archive.is_closed = true;
	pthread_cond_broadcast(&archive.changed);
	pthread_mutex_unlock(&archive.mutex);
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc != 2)
		return 2;
	archive.holes_take_turns = strcmp(argv[1], "broken") != 0;
	archive.queue_end = &archive.queue;
	thrum_start(NULL);
	archive.turn.task = thrum_task_create(THRUM_KIND_CONDITION, "turn to write");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, compressor, (void *)(intptr_t)i);
	for (int i = 0; i < BLOCKS; i++) {
		submit(read_block(i));
		pause_us(1200);
	}
	finish(threads);
	thrum_stop();
	printf("%zu bytes written, %zu holes\n", archive.written, archive.holes);
	return 0;
}
