/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: note_access_by_offset compares the number of the block with the offset in bytes where the last
 *     read ended, so no file ever looks sequential, nothing is read ahead ("prefetch" is missing), and each
 *     block is read from the disk while the stream waits ("read block")
 *   culprit: prefetch|read block
 *   victim: stream
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Streams files to a player; blocks come from a slow disk, and a thread reads ahead. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define BLOCK 4096
#define BLOCKS 18
#define FILES 8
#define WINDOW 5

struct file {
	unsigned number;
	uint64_t next;     /* where the next read is expected */
	unsigned straight; /* reads in a row that went on where the last one ended */
	bool cached[BLOCKS], asked[BLOCKS];
};

struct ahead {
	struct ahead *next;
	struct file *file;
	unsigned first, count;
	thrum_task task;
};

struct player {
	pthread_mutex_t mutex;
	pthread_cond_t changed, work;
	struct ahead *first, **end;
	bool closed;
	unsigned misses, hits;
	bool (*note_access)(struct file *, unsigned block);
};

static void pause_us(unsigned us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000L};

	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* ---- Detecting readers that go straight ---- */

static bool note_access_by_block(struct file *file, unsigned block)
{
	file->straight = block == file->next ? file->straight + 1 : 0;
	file->next = block + 1;
	return file->straight >= 2;
}

static bool note_access_by_offset(struct file *file, unsigned block)
{
	file->straight = block == file->next ? file->straight + 1 : 0;
	file->next = (uint64_t)(block + 1) * BLOCK;
	return file->straight >= 2;
}

/* ---- Reading ahead ---- */

/* The caller holds the mutex. */
static void ask_ahead(struct player *player, struct file *file, unsigned first)
{
	struct ahead *ahead;
	unsigned count = 0;

	while (count < WINDOW && first + count < BLOCKS && !file->asked[first + count])
		file->asked[first + count++] = true;
	if (count == 0)
		return;
	ahead = malloc(sizeof(*ahead));
	if (!ahead)
		abort();
	*ahead = (struct ahead){NULL, file, first, count, THRUM_TASK_NONE};
	ahead->task = thrum_task_create(THRUM_KIND_TASK, "prefetch");
	thrum_task_ready(ahead->task);
	*player->end = ahead;
	player->end = &ahead->next;
	pthread_cond_signal(&player->work);
}

static void read_ahead(struct player *player, struct ahead *ahead)
{
	pause_us(3000 + 250 * ahead->count); /* one seek for all */
	pthread_mutex_lock(&player->mutex);
	memset(ahead->file->cached + ahead->first, true, ahead->count);
	pthread_cond_broadcast(&player->changed);
	pthread_mutex_unlock(&player->mutex);
	thrum_task_resolve(ahead->task);
}

static void *ahead_run(void *data)
{
	struct player *player = data;

	thrum_lane_name("read ahead");
	for (;;) {
		struct ahead *ahead;

		pthread_mutex_lock(&player->mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!player->first && !player->closed)
			pthread_cond_wait(&player->work, &player->mutex);
		thrum_resume();
		ahead = player->first;
		if (ahead && !(player->first = ahead->next))
			player->end = &player->first;
		pthread_mutex_unlock(&player->mutex);
		if (!ahead)
			return NULL;
		THRUM_RUN (ahead->task)
			read_ahead(player, ahead);
		free(ahead);
	}
}

/* ---- The player ---- */

static void read_block(struct player *player, struct file *file, unsigned block)
{
	thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "read block");

	pthread_mutex_unlock(&player->mutex);
	THRUM_RUN (task) {
		pause_us(3200);
		thrum_task_resolve(task);
	}
	pthread_mutex_lock(&player->mutex);
	file->cached[block] = true;
	player->misses++;
}

static void get_block(struct player *player, struct file *file, unsigned block)
{
	pthread_mutex_lock(&player->mutex);
	if (player->note_access(file, block)) {
		ask_ahead(player, file, block);
		ask_ahead(player, file, block + WINDOW / 2);
	}
	if (!file->cached[block] && !file->asked[block]) {
		file->asked[block] = true;
		read_block(player, file, block);
	} else {
		player->hits++;
	}
	while (!file->cached[block]) {
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&player->changed, &player->mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&player->mutex);
}

/* Files with an odd number have an index at their end, which is read first. */
static void stream_file(struct player *player, struct file *file)
{
	if (file->number % 2)
		get_block(player, file, BLOCKS - 1);
	for (unsigned block = 0; block < BLOCKS; block++) {
		get_block(player, file, block);
		pause_us(300); /* the player's socket */
	}
}

int main(int argc, char **argv)
{
	static struct file files[FILES];
	static struct player player;
	pthread_t ahead;

	if (argc != 2 || thrum_start(NULL))
		return 2;
	player.note_access = strcmp(argv[1], "healthy") == 0 ? note_access_by_block
							     : note_access_by_offset;
	player.end = &player.first;
	pthread_mutex_init(&player.mutex, NULL);
	pthread_cond_init(&player.changed, NULL);
	pthread_cond_init(&player.work, NULL);
	if (pthread_create(&ahead, NULL, ahead_run, &player))
		return 2;
	for (unsigned i = 0; i < FILES; i++) {
		thrum_task stream = thrum_task_createf(THRUM_KIND_TASK, "stream file %u", i);

		thrum_task_should_resolve(stream);
		files[i].number = i;
		THRUM_RUN (stream) {
			stream_file(&player, &files[i]);
			thrum_task_resolve(stream);
		}
	}
	pthread_mutex_lock(&player.mutex);
	player.closed = true;
	pthread_cond_signal(&player.work);
	pthread_mutex_unlock(&player.mutex);
	pthread_join(ahead, NULL);
	thrum_stop();
	printf("%u read, %u ahead\n", player.misses, player.hits);
	return 0;
}
