/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="get session"
 *   truth: put_session doubles the table when it is half full, all at once and under the table's lock; while "put session
 *     s32" copies the buckets, every get waits for the lock, a fifth of a second instead of microseconds.
 *   culprit: put session s32|grow|move_buckets
 *   victim: get session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Keeps the sessions of a web site in a table whose buckets are in a file. The healthy one moves a few buckets each put. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define PUTS 48
#define PAGE 512

static struct {
	pthread_mutex_t mutex;
	thrum_task task;
	int file;
	int buckets, used;
	int unmoved; /* buckets that are still in the old place */
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER, .buckets = 64};

static atomic_bool ended;
static bool at_once;

static void pause_us(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void table_lock(void)
{
	if (pthread_mutex_trylock(&table.mutex)) {
		thrum_task_wait(thrum_task_current(), table.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&table.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(table.task);
}

static void table_unlock(void)
{
	thrum_lock_released(table.task);
	pthread_mutex_unlock(&table.mutex);
}

/* Each bucket is a page, which the disk has to fetch. */
static void move_buckets(int count)
{
	char page[PAGE];

	while (count-- > 0 && table.unmoved > 0) {
		off_t place = --table.unmoved * PAGE;

		if (pread(table.file, page, PAGE, place) < 0 ||
			pwrite(table.file, page, PAGE, place * 2) < 0)
			perror("move");
		pause_us(3000);
	}
}

static void grow(void)
{
	table.unmoved = table.buckets;
	table.buckets *= 2;
	if (at_once)
		move_buckets(table.unmoved);
}

static void put_session(int number)
{
	thrum_task put = thrum_task_createf(THRUM_KIND_TASK, "put session s%d", number);
	char page[PAGE] = "session";

	THRUM_RUN (put) {
		table_lock();
		if (table.used >= table.buckets / 2)
			grow();
		else if (table.unmoved > 0)
			move_buckets(1);
		if (pwrite(table.file, page, PAGE, number % table.buckets * PAGE) != PAGE)
			perror("put");
		table.used++;
		table_unlock();
		thrum_task_resolve(put);
	}
}

static void get_session(int number)
{
	thrum_task get = thrum_task_create(THRUM_KIND_REQUEST, "get session");
	char page[PAGE];

	THRUM_RUN (get) {
		table_lock();
		if (pread(table.file, page, PAGE, number % table.buckets * PAGE) < 0)
			perror("get");
		table_unlock();
		thrum_task_resolve(get);
	}
}

static void *read_sessions(void *unused)
{
	(void)unused;
	thrum_lane_name("web");
	for (int i = 0; !ended; i++) {
		get_session(i);
		pause_us(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t web[2];

	at_once = argc > 1 && !strcmp(argv[1], "broken");
	table.task = thrum_task_create(THRUM_KIND_LOCK, "sessions");
	table.file = memfd_create("sessions", MFD_CLOEXEC);
	if (table.file < 0 || ftruncate(table.file, 256 * PAGE))
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&web[i], NULL, read_sessions, NULL);
	for (int i = 0; i < PUTS; i++) {
		put_session(i);
		pause_us(3000);
	}
	ended = true;
	for (int i = 0; i < 2; i++)
		pthread_join(web[i], NULL);
	close(table.file);
	return 0;
}
