/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=put-orders
 *   truth: the put waits for room in the cache, which is full of dirty pages; the thread "flusher" could
 *     make room but naps for its whole interval, as page_make_dirty wakes it only when the count is exactly
 *     the high mark (==), and puts of three pages jump over that
 *   culprit: \bflusher\b|\bflusher nap\b
 *   victim: put-orders
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A write-behind cache: puts make pages dirty, and a flusher writes them to a file, now and then or when many are
 * dirty. A put waits while too many are. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	ROOM = 12,
	HIGH = 8,
	PAGE = 512,
	INTERVAL = 600
};

struct watched {
	pthread_cond_t happened;
	thrum_task task;
	unsigned waiters;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct watched room = {.happened = PTHREAD_COND_INITIALIZER};
static struct watched work = {.happened = PTHREAD_COND_INITIALIZER};
static int dirty, written, flushes, file;
static bool is_urgent, is_closing;

/* The caller holds the mutex. */
static void watched_signal(struct watched *watched)
{
	thrum_task_signal(watched->task, watched->waiters);
	watched->waiters = 0;
	pthread_cond_broadcast(&watched->happened);
}

/* The caller holds the mutex. */
static __attribute__((noinline)) void wait_for_room(int pages)
{
	thrum_task self = thrum_task_current();

	while (dirty + pages > ROOM) {
		room.waiters++;
		thrum_task_wait(self, room.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&room.happened, &mutex);
		thrum_resume();
		thrum_task_read(self, room.task);
	}
}

/* The caller holds the mutex. Wakes the flusher once, when the high mark is reached. */
static __attribute__((noinline)) void page_make_dirty(int pages)
{
	dirty += pages;
	if (dirty == HIGH) {
		is_urgent = true;
		watched_signal(&work);
	}
}

static __attribute__((noinline)) void cache_put(const char *label, int pages)
{
	thrum_task put = thrum_task_create(THRUM_KIND_TASK, label);

	thrum_task_should_resolve(put);
	THRUM_RUN (put) {
		pthread_mutex_lock(&mutex);
		wait_for_room(pages);
		page_make_dirty(pages);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(put);
	}
}

/* Waits until all is written. */
static __attribute__((noinline)) void cache_sync(void)
{
	pthread_mutex_lock(&mutex);
	is_urgent = true;
	watched_signal(&work);
	wait_for_room(ROOM);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void flush_pages(int pages)
{
	char page[PAGE] = {0};
	thrum_task flush = thrum_task_createf(THRUM_KIND_TASK, "flush %d", ++flushes);

	THRUM_RUN (flush) {
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		for (int i = 0; i < pages; i++)
			if (pwrite(file, page, PAGE, i * PAGE) != PAGE)
				abort();
		usleep(2000); /* a slow disk */
		thrum_resume();
		pthread_mutex_lock(&mutex);
		dirty -= pages;
		written += pages;
		watched_signal(&room);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(flush);
	}
}

/* The caller holds the mutex. */
static __attribute__((noinline)) void flusher_nap(thrum_task self)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "flusher nap");
	thrum_task either = thrum_task_create(THRUM_KIND_CHOOSE, "flusher sleeps");
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += INTERVAL * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	thrum_task_due(timer, INTERVAL * 1000000L);
	thrum_task_wait(either, work.task);
	thrum_task_wait(either, timer);
	thrum_task_wait(self, either);
	work.waiters++;
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	while (!is_urgent && !is_closing)
		if (pthread_cond_timedwait(&work.happened, &mutex, &until))
			break;
	thrum_resume();
	thrum_task_read(either, is_urgent || is_closing ? work.task : timer);
	if (is_urgent || is_closing)
		thrum_task_cancel(timer);
	else
		thrum_task_resolve(timer);
	work.waiters = 0;
	thrum_task_resolve(either);
	thrum_task_read(self, either);
}

static void *run_flusher(void *data)
{
	(void)data;
	thrum_lane_name("flusher");
	pthread_mutex_lock(&mutex);
	while (!is_closing || dirty > 0) {
		int pages;

		if (!is_urgent && !is_closing)
			flusher_nap(thrum_task_current());
		is_urgent = false;
		pages = dirty;
		if (pages == 0)
			continue;
		pthread_mutex_unlock(&mutex);
		flush_pages(pages);
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	char path[] = "/tmp/aq_cache.XXXXXX";
	pthread_t flusher;

	thrum_start(NULL);
	thrum_lane_name("main");
	file = mkstemp(path);
	if (file < 0 || unlink(path))
		return 1;
	room.task = thrum_task_create(THRUM_KIND_CONDITION, "room in the cache");
	work.task = thrum_task_create(THRUM_KIND_CONDITION, "many dirty pages");
	if (pthread_create(&flusher, NULL, run_flusher, NULL))
		return 1;
	for (int round = 0; round < 24; round++) {
		/* an order with an attachment takes three pages */
		int pages = broken && round >= 12 && round < 18 ? 3 : 1;

		if (round == 12)
			cache_sync();
		cache_put("put-orders", pages);
		usleep(5000);
	}
	pthread_mutex_lock(&mutex);
	is_closing = true;
	watched_signal(&work);
	pthread_mutex_unlock(&mutex);
	pthread_join(flusher, NULL);
	thrum_stop();
	printf("%d pages written in %d flushes\n", written, flushes);
	return 0;
}
