/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: read_block takes memory from the budget and, when the checksum of a block is wrong, returns
 *     without giving it back; after four such blocks the budget is used up and all loaders wait in
 *     budget_take for ever
 *   culprit: read_block
 *   victim: budget_take|collect_blocks|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Loads the blocks of a table file with several threads, under a limit of memory, and collects their keys. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCKS = 48,
	LOADERS = 3,
	BLOCK_SIZE = 64 << 10,
	BUDGET = 4 * BLOCK_SIZE
};

struct budget {
	pthread_mutex_t mutex;
	pthread_cond_t freed;
	size_t left;
};

struct block {
	struct block *next;
	int number;
	uint32_t checksum;
	unsigned char *bytes;
};

struct table {
	int file;
	struct budget budget;
	pthread_mutex_t mutex;
	pthread_cond_t loaded;
	int next_block;
	int outstanding;
	int damaged;
	struct block *ready;
	uint32_t checksums[BLOCKS];
	bool skim; /* leave a damaged block as soon as it is known */
};

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static uint32_t checksum_of(const unsigned char *bytes, size_t size)
{
	uint32_t sum = 2166136261u;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

static void budget_take(struct budget *budget, size_t size)
{
	pthread_mutex_lock(&budget->mutex);
	while (budget->left < size)
		pthread_cond_wait(&budget->freed, &budget->mutex);
	budget->left -= size;
	pthread_mutex_unlock(&budget->mutex);
}

static void budget_give(struct budget *budget, size_t size)
{
	pthread_mutex_lock(&budget->mutex);
	budget->left += size;
	pthread_cond_broadcast(&budget->freed);
	pthread_mutex_unlock(&budget->mutex);
}

static void block_free(struct table *table, struct block *block)
{
	free(block->bytes);
	free(block);
	budget_give(&table->budget, BLOCK_SIZE);
}

/* Reads a block into memory from the budget, which the caller gives back with the block. */
static __attribute__((noinline)) int read_block(struct table *table, int number,
	struct block **result)
{
	struct block *block;

	budget_take(&table->budget, BLOCK_SIZE);
	block = calloc(1, sizeof(*block));
	block->number = number;
	block->bytes = malloc(BLOCK_SIZE);
	if (pread(table->file, block->bytes, BLOCK_SIZE, (off_t)number * BLOCK_SIZE) !=
		BLOCK_SIZE) {
		block_free(table, block);
		return -EIO;
	}
	pause_us(1500); /* a disk is not that fast */
	block->checksum = checksum_of(block->bytes, BLOCK_SIZE);
	if (block->checksum != table->checksums[number]) {
		if (table->skim) {
			free(block->bytes);
			free(block);
			return -EBADMSG;
		}
		block_free(table, block);
		return -EBADMSG;
	}
	*result = block;
	return 0;
}

static void *load_blocks(void *data)
{
	struct table *table = data;
	struct block *block = NULL;
	int number, error;

	pthread_setname_np(pthread_self(), "loader");
	for (;;) {
		pthread_mutex_lock(&table->mutex);
		number = table->next_block < BLOCKS ? table->next_block++ : -1;
		pthread_mutex_unlock(&table->mutex);
		if (number < 0)
			return NULL;
		error = read_block(table, number, &block);
		pthread_mutex_lock(&table->mutex);
		if (error) {
			table->damaged++;
			table->outstanding--;
		} else {
			block->next = table->ready;
			table->ready = block;
		}
		pthread_cond_signal(&table->loaded);
		pthread_mutex_unlock(&table->mutex);
	}
}

static uint64_t collect_blocks(struct table *table)
{
	struct block *block;
	uint64_t keys = 0;

	pthread_mutex_lock(&table->mutex);
	while (table->outstanding > 0) {
		block = table->ready;
		if (!block) {
			pthread_cond_wait(&table->loaded, &table->mutex);
			continue;
		}
		table->ready = block->next;
		table->outstanding--;
		pthread_mutex_unlock(&table->mutex);
		keys += block->bytes[0] + 1u;
		pause_us(700);
		block_free(table, block);
		pthread_mutex_lock(&table->mutex);
	}
	pthread_mutex_unlock(&table->mutex);
	return keys;
}

static int make_table(struct table *table)
{
	char path[] = "/tmp/table.XXXXXX";
	unsigned char *bytes = malloc(BLOCK_SIZE);

	table->file = mkstemp(path);
	if (table->file < 0)
		return -errno;
	unlink(path);
	for (int i = 0; i < BLOCKS; i++) {
		memset(bytes, i * 7 + 1, BLOCK_SIZE);
		table->checksums[i] = checksum_of(bytes, BLOCK_SIZE);
		if (i % 8 == 5)
			bytes[i] ^= 0x40; /* the medium is old */
		if (pwrite(table->file, bytes, BLOCK_SIZE, (off_t)i * BLOCK_SIZE) != BLOCK_SIZE)
			return -EIO;
	}
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	struct table table = {.outstanding = BLOCKS};
	pthread_t loaders[LOADERS];
	uint64_t keys;

	table.skim = argc > 1 && !strcmp(argv[1], "broken");
	pthread_mutex_init(&table.mutex, NULL);
	pthread_cond_init(&table.loaded, NULL);
	pthread_mutex_init(&table.budget.mutex, NULL);
	pthread_cond_init(&table.budget.freed, NULL);
	table.budget.left = BUDGET;
	if (make_table(&table))
		return 1;
	for (int i = 0; i < LOADERS; i++)
		pthread_create(&loaders[i], NULL, load_blocks, &table);
	keys = collect_blocks(&table);
	for (int i = 0; i < LOADERS; i++)
		pthread_join(loaders[i], NULL);
	printf("%llu keys, %d damaged blocks\n", (unsigned long long)keys, table.damaged);
	return table.damaged == 6 ? 0 : 1;
}
