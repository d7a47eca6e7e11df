/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the thread "rotate" returns early because the new segment can't be opened, and doesn't unlock the mutex
 *     "journal". The writers wait for it for ever.
 *   culprit: \brotate\b
 *   victim: writer|append
 * case: swap
 *   args: swap
 *   run: kill 700
 *   ask: why
 *   truth: deadlock: the thread "stats" takes "index" and then "journal", a writer takes "journal" and then "index".
 *   culprit: \bstats\b
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* journald of a small database: writers append under the lock "journal", then update the lock "index". */
struct lock {
	pthread_mutex_t mutex;
	thrum_task task;
};
static struct lock journal = {PTHREAD_MUTEX_INITIALIZER}, index_lock = {PTHREAD_MUTEX_INITIALIZER};
static const char *mode;
static int entries;

static void lock(struct lock *l)
{
	if (pthread_mutex_trylock(&l->mutex)) {
		thrum_task_wait(thrum_task_current(), l->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&l->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(l->task);
}

static void unlock(struct lock *l)
{
	thrum_lock_released(l->task);
	pthread_mutex_unlock(&l->mutex);
}

static void *writer(void *data)
{
	thrum_lane_name(data);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < 25; i++) {
		lock(&journal);
		entries++;
		usleep(i == 12 ? 30000 : 800);
		lock(&index_lock);
		usleep(300);
		unlock(&index_lock);
		unlock(&journal);
		usleep(2000);
	}
	return NULL;
}

static void *rotate(void *data)
{
	thrum_lane_name("rotate");
	for (int i = 0; i < 4; i++) {
		int fd;

		usleep(20000);
		lock(&journal);
		fd = open(i == 2 ? "/nonexistent/journal.2" : "/dev/null", O_WRONLY);
		if (fd < 0) {
			thrum_logf("can't rotate: %s", strerror(errno));
			if (strcmp(mode, "broken") == 0)
				return NULL;
		} else
			close(fd);
		unlock(&journal);
	}
	return NULL;
}

static void *stats(void *data)
{
	thrum_lane_name("stats");
	for (int i = 0; i < 5; i++) {
		struct lock *first = strcmp(mode, "swap") ? &journal : &index_lock;
		struct lock *second = first == &journal ? &index_lock : &journal;

		usleep(9000);
		lock(first);
		usleep(5000);
		lock(second);
		thrum_logf("%d entries", entries);
		unlock(second);
		unlock(first);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[5];
	char names[3][16];

	mode = argc > 1 ? argv[1] : "healthy";
	journal.task = thrum_task_create(THRUM_KIND_LOCK, "journal");
	index_lock.task = thrum_task_create(THRUM_KIND_LOCK, "index");
	for (int i = 0; i < 3; i++) {
		snprintf(names[i], sizeof names[i], "writer %d", i);
		pthread_create(&threads[i], NULL, writer, names[i]);
	}
	pthread_create(&threads[3], NULL, rotate, NULL);
	pthread_create(&threads[4], NULL, stats, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	thrum_stop();
	printf("journal: %d entries\n", entries);
	return 0;
}
