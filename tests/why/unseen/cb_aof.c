/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: redis #641 and pull request #1862 (write(2) of the append-only file blocks behind a running fsync). In the broken
 *     one, flush_append_only_file writes though the background thread syncs the file, and so the "SET"
 *     waits for the file's lock "appendonly.aof" that "bio fsync" holds for 70 ms. In the healthy one the write
 *     is put off until the fsync is over. So "SET" is slower, because of its waits for "appendonly.aof".
 *   culprit: appendonly.aof|bio fsync|flush_append_only_file
 *   victim: SET
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A store in memory that appends each change to a file; a background thread syncs the file every now and then. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 400

struct command {
	thrum_task task;
	bool writes;
	unsigned key;
	struct command *next;
};

/* The file; the system lets only one at a time at it, a writer or fsync. */
struct file {
	pthread_mutex_t inode;
	thrum_task task;
	size_t size;
	unsigned syncs;
};

THRUM_TAG(disk, NULL, "disk", 0);

static bool fixed;
static struct file file = {.inode = PTHREAD_MUTEX_INITIALIZER};
static atomic_bool fsync_in_progress;
static atomic_bool ends;
static char aof_buffer[COMMANDS * 32];
static size_t aof_buffered;
static unsigned values[64];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct command *commands; /* under mutex */
static struct command **commands_end = &commands;

static void file_lock(void)
{
	if (pthread_mutex_trylock(&file.inode)) {
		thrum_task_wait(thrum_task_current(), file.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&file.inode);
		thrum_resume();
	}
	thrum_lock_acquired(file.task);
}

static void file_unlock(void)
{
	thrum_lock_released(file.task);
	pthread_mutex_unlock(&file.inode);
}

static void bio_fsync(void)
{
	fsync_in_progress = true;
	file_lock();
	thrum_suspend(&disk);
	usleep(70000);
	thrum_resume();
	file.syncs++;
	file_unlock();
	fsync_in_progress = false;
}

static void *bio_thread(void *data)
{
	thrum_task task;

	(void)data;
	thrum_lane_name("bio");
	while (!ends) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(180000);
		thrum_resume();
		task = thrum_task_create(THRUM_KIND_TASK, "bio fsync");
		THRUM_RUN (task)
			bio_fsync();
		thrum_task_resolve(task);
	}
	return NULL;
}

static void flush_append_only_file(void)
{
	if (fixed && fsync_in_progress)
		return; /* it stays in the buffer, for the next call */
	file_lock();
	file.size += aof_buffered;
	aof_buffered = 0;
	file_unlock();
}

static void feed_append_only_file(unsigned key)
{
	aof_buffered += (size_t)snprintf(aof_buffer + aof_buffered, 32, "SET key:%u %u\n", key,
		values[key]);
}

static void call(const struct command *command)
{
	volatile unsigned hash = 5381;
	unsigned i;

	for (i = 0; i < 20000; i++)
		hash = hash * 33 + command->key;
	if (command->writes) {
		values[command->key]++;
		feed_append_only_file(command->key);
		flush_append_only_file();
	}
}

static void *client_thread(void *data)
{
	struct command *command;
	unsigned i;

	(void)data;
	thrum_lane_name("client");
	for (i = 0; i < COMMANDS; i++) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(5000);
		thrum_resume();
		command = calloc(1, sizeof(*command));
		command->writes = i % 2;
		command->key = i * 7 % 64;
		command->task = thrum_task_create(THRUM_KIND_TASK, command->writes ? "SET" : "GET");
		thrum_task_should_resolve(command->task);
		thrum_task_ready(command->task);
		pthread_mutex_lock(&mutex);
		*commands_end = command;
		commands_end = &command->next;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static struct command *next_command(void)
{
	struct command *command;

	pthread_mutex_lock(&mutex);
	if (!commands) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!commands)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	command = commands;
	commands = command->next;
	if (!commands)
		commands_end = &commands;
	pthread_mutex_unlock(&mutex);
	return command;
}

int main(int argc, char **argv)
{
	struct command *command;
	pthread_t bio, client;
	unsigned i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		fprintf(stderr, "nothing is recorded\n");
	file.task = thrum_task_create(THRUM_KIND_LOCK, "appendonly.aof");
	pthread_create(&bio, NULL, bio_thread, NULL);
	pthread_create(&client, NULL, client_thread, NULL);
	for (i = 0; i < COMMANDS; i++) {
		command = next_command();
		THRUM_RUN (command->task)
			call(command);
		thrum_task_resolve(command->task);
		free(command);
	}
	ends = true;
	pthread_join(client, NULL);
	pthread_join(bio, NULL);
	flush_append_only_file();
	thrum_stop();
	printf("%zu bytes, %u syncs\n", file.size, file.syncs);
	return 0;
}
