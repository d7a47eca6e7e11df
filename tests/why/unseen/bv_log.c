/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: write_record returns without file_put when a record is too long. The user "backup" so leaves the log file in
 *     use for ever; the rotation waits until nobody uses it, and all writers wait for the rotation.
 *   culprit: backup|write_record
 *   victim: rotation|rotate|nginx|sshd
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A logging daemon with rotation: the file is only rotated while no writer uses it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define ROTATIONS 8
#define RECORD_MAX 256

struct log_file {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	thrum_task use; /* writers share it, a rotation has it alone */
	unsigned users;
	bool is_rotating;
	unsigned generation;
	size_t size;
};

struct writer {
	const char *name;
	unsigned pause_ms;
	unsigned long_every; /* 0: no long records */
	pthread_t thread;
};

static struct log_file file = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static bool broken;
static atomic_bool stopped;

/* The caller holds the mutex. */
static void file_wait(void)
{
	thrum_task_wait(thrum_task_current(), file.use);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&file.changed, &file.mutex);
	thrum_resume();
}

static void file_get(void)
{
	pthread_mutex_lock(&file.mutex);
	while (file.is_rotating)
		file_wait();
	file.users++;
	thrum_lock_acquired(file.use);
	pthread_mutex_unlock(&file.mutex);
}

static void file_put(void)
{
	pthread_mutex_lock(&file.mutex);
	thrum_lock_released(file.use);
	if (--file.users == 0)
		pthread_cond_broadcast(&file.changed);
	pthread_mutex_unlock(&file.mutex);
}

static int write_record(size_t size)
{
	file_get();
	if (size > RECORD_MAX) {
		if (!broken)
			file_put();
		return -1;
	}
	file.size += size;
	file_put();
	return 0;
}

static void rotate(void)
{
	pthread_mutex_lock(&file.mutex);
	file.is_rotating = true;
	while (file.users > 0)
		file_wait();
	thrum_lock_acquired(file.use);
	printf("generation %u: %zu bytes\n", file.generation++, file.size);
	file.size = 0;
	file.is_rotating = false;
	thrum_lock_released(file.use);
	pthread_cond_broadcast(&file.changed);
	pthread_mutex_unlock(&file.mutex);
}

static void pause_ms(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static void *run_writer(void *data)
{
	struct writer *writer = data;

	thrum_lane_name(writer->name);
	for (unsigned i = 1; !stopped; i++) {
		bool is_long = writer->long_every && i % writer->long_every == 0;
		thrum_task record = thrum_task_createf(THRUM_KIND_TASK, "record %u of %s", i,
			writer->name);

		thrum_task_should_resolve(record);
		THRUM_RUN (record) {
			if (write_record(is_long ? 2 * RECORD_MAX : 80))
				thrum_task_fail(record, "too long");
			else
				thrum_task_resolve(record);
		}
		pause_ms(writer->pause_ms);
	}
	return NULL;
}

/* Tells systemd that the daemon lives. */
static void *run_watchdog(void *data)
{
	(void)data;
	thrum_lane_name("watchdog");
	while (!stopped)
		pause_ms(50);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct writer writers[] = {
		{.name = "nginx", .pause_ms = 7},
		{.name = "sshd", .pause_ms = 15},
		{.name = "backup", .pause_ms = 30, .long_every = 9},
	};
	pthread_t watchdog;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	thrum_start(NULL);
	file.use = thrum_task_create(THRUM_KIND_LOCK, "log file");
	pthread_create(&watchdog, NULL, run_watchdog, NULL);
	for (size_t i = 0; i < 3; i++)
		pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]);
	for (int i = 0; i < ROTATIONS; i++) {
		thrum_task rotation = thrum_task_createf(THRUM_KIND_TASK, "rotation %d", i);

		pause_ms(100);
		thrum_task_should_resolve(rotation);
		THRUM_RUN (rotation) {
			rotate();
			thrum_task_resolve(rotation);
		}
	}
	stopped = true;
	thrum_suspend(THRUM_BLOCKED);
	for (size_t i = 0; i < 3; i++)
		pthread_join(writers[i].thread, NULL);
	pthread_join(watchdog, NULL);
	thrum_resume();
	return 0;
}
