/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Chunks are parsed in parallel and appended in the order of the file. "chunk 7" has a malformed row and fails before its turn, without passing the turn on; "chunk 8" and all later ones wait for a turn that never comes.
 *   culprit: chunk 7\b
 *   victim: chunk (8|9|1\d)|loader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * Loads a large CSV file into a table. Workers parse chunks of it; each appends its rows when those
 * before it are in the table. A chunk with a bad row is rejected as a whole.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define CHUNKS 16
#define WORKERS 3
#define ROWS 40

struct chunk {
	int number;
	thrum_task task;
	char text[ROWS * 16];
	long amounts[ROWS];
	int rows;
	bool done, rejected;
};

static bool broken;
static struct chunk chunks[CHUNKS + 1]; /* from 1 on */
static int next_chunk = 1;              /* to be parsed */

/* The table, and whose turn it is to append to it. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t chunk_done = PTHREAD_COND_INITIALIZER;
static thrum_task turn_task;
static int turn = 1;
static unsigned turn_waiters;
static long table[CHUNKS * ROWS];
static int table_rows;

static void read_file(void)
{
	for (int i = 1; i <= CHUNKS; i++) {
		char *p = chunks[i].text;

		chunks[i].number = i;
		for (int row = 0; row < ROWS; row++) {
			/* Someone has edited the file by hand. */
			if (i == 7 && row == 31)
				p += sprintf(p, "%d;12,5O\n", row);
			else
				p += sprintf(p, "%d;%d\n", row, row * i);
		}
	}
}

static bool parse_chunk(struct chunk *chunk)
{
	char *p = chunk->text, *end;

	while (*p) {
		strtol(p, &end, 10);
		if (*end != ';')
			return false;
		chunk->amounts[chunk->rows++] = strtol(end + 1, &end, 10);
		if (*end != '\n')
			return false;
		p = end + 1;
	}
	usleep(2000u + (unsigned)chunk->number % 3 * 1500u); /* looks up keys */
	return true;
}

/* The caller holds the lock. */
static void wait_turn(const struct chunk *chunk)
{
	while (turn != chunk->number) {
		turn_waiters++;
		thrum_task_wait(chunk->task, turn_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&turn_changed, &table_lock);
		thrum_resume();
		thrum_task_read(chunk->task, turn_task);
	}
}

/* The caller holds the lock, and it is its turn. */
static void pass_turn(void)
{
	turn++;
	thrum_task_signal(turn_task, turn_waiters);
	turn_waiters = 0;
	pthread_cond_broadcast(&turn_changed);
}

static void load_chunk(struct chunk *chunk)
{
	bool good = parse_chunk(chunk);

	pthread_mutex_lock(&table_lock);
	if (good || !broken) {
		wait_turn(chunk);
		for (int i = 0; good && i < chunk->rows; i++)
			table[table_rows++] = chunk->amounts[i];
		pass_turn();
	}
	chunk->rejected = !good;
	if (good)
		thrum_task_resolve(chunk->task);
	else
		thrum_task_fail(chunk->task, "malformed row");
	chunk->done = true;
	pthread_cond_signal(&chunk_done);
	pthread_mutex_unlock(&table_lock);
}

static struct chunk *take_chunk(void)
{
	struct chunk *chunk = NULL;

	pthread_mutex_lock(&table_lock);
	if (next_chunk <= CHUNKS)
		chunk = &chunks[next_chunk++];
	pthread_mutex_unlock(&table_lock);
	return chunk;
}

static void *worker(void *data)
{
	struct chunk *chunk;

	thrum_lane_name("worker");
	while ((chunk = take_chunk()))
		THRUM_RUN (chunk->task)
			load_chunk(chunk);
	return data;
}

/* Tells the user about each chunk, in order. Returns how many were rejected. */
static int report(void)
{
	thrum_task loader = thrum_task_create(THRUM_KIND_TASK, "loader");
	int rejected = 0;

	thrum_task_should_resolve(loader);
	for (int i = 1; i <= CHUNKS; i++) {
		struct chunk *chunk = &chunks[i];

		pthread_mutex_lock(&table_lock);
		if (!chunk->done) {
			thrum_task_wait(loader, chunk->task);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			while (!chunk->done)
				pthread_cond_wait(&chunk_done, &table_lock);
			thrum_resume();
		}
		thrum_task_read(loader, chunk->task);
		pthread_mutex_unlock(&table_lock);
		if (chunk->rejected)
			fprintf(stderr, "chunk %d is rejected\n", i);
		rejected += chunk->rejected;
	}
	thrum_task_resolve(loader);
	return rejected;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	int rejected;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	read_file();
	turn_task = thrum_task_create(THRUM_KIND_CONDITION, "turn");
	for (int i = 1; i <= CHUNKS; i++) {
		chunks[i].task = thrum_task_createf(THRUM_KIND_TASK, "chunk %d", i);
		thrum_task_should_resolve(chunks[i].task);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	rejected = report();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d rows, %d chunks rejected\n", table_rows, rejected);
	thrum_stop();
	return 0;
}
