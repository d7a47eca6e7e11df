/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=page
 *   truth: refresh_words keeps the lock of the dictionary while it downloads the new words (150 ms each time). The
 *     pages need the lock for each correction, and so wait for the download.
 *   culprit: dictionary|refresh words|refresh_words
 *   victim: recognize|scanner
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* OCR: two threads recognize pages and correct them with a dictionary, which another thread refreshes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define PAGES 80
#define READERS 2

struct dictionary {
	pthread_mutex_t mutex;
	int words;
	thrum_task task;
};

THRUM_TAG(download, NULL, "download", 0);
THRUM_TAG(scan, NULL, "scan", 0);

static bool broken;
static struct dictionary dictionary = {.mutex = PTHREAD_MUTEX_INITIALIZER, .words = 20000};
static atomic_int next_page, corrected;
static atomic_bool finished;

static void dictionary_lock(void)
{
	if (pthread_mutex_trylock(&dictionary.mutex)) {
		thrum_task_wait(thrum_task_current(), dictionary.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&dictionary.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(dictionary.task);
}

static void dictionary_unlock(void)
{
	thrum_lock_released(dictionary.task);
	pthread_mutex_unlock(&dictionary.mutex);
}

static void blocking(struct thrum_tag *tag, unsigned ms)
{
	thrum_suspend(tag);
	usleep(ms * 1000);
	thrum_resume();
}

static void recognize(int page)
{
	volatile double score = page;

	for (int i = 0; i < 100000; i++)
		score = score * 0.99 + i;
}

static void correct(int page)
{
	dictionary_lock();
	if (page % dictionary.words)
		atomic_fetch_add(&corrected, 1);
	dictionary_unlock();
}

static void process_page(int number)
{
	thrum_task page = thrum_task_createf(THRUM_KIND_TASK, "page %d", number);

	thrum_task_should_resolve(page);
	THRUM_RUN (page) {
		blocking(&scan, 3);
		recognize(number);
		correct(number);
		thrum_task_resolve(page);
	}
}

static void *reader(void *data)
{
	int number;

	(void)data;
	thrum_lane_name("reader");
	while ((number = atomic_fetch_add(&next_page, 1)) < PAGES) {
		process_page(number + 1);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(8000);
		thrum_resume();
	}
	return NULL;
}

/* Fetches the words that other users have added. */
static void refresh_words(void)
{
	thrum_task refresh = thrum_task_create(THRUM_KIND_TASK, "refresh words");

	THRUM_RUN (refresh) {
		if (broken)
			dictionary_lock();
		blocking(&download, 150);
		if (!broken)
			dictionary_lock();
		dictionary.words += 10;
		dictionary_unlock();
		thrum_task_resolve(refresh);
	}
}

static void *refresher(void *data)
{
	(void)data;
	thrum_lane_name("refresher");
	while (!atomic_load(&finished)) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(100000);
		thrum_resume();
		refresh_words();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t readers[READERS], refreshing;
	struct timespec begin, end;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	dictionary.task = thrum_task_create(THRUM_KIND_LOCK, "dictionary");
	pthread_create(&refreshing, NULL, refresher, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, reader, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	atomic_store(&finished, true);
	pthread_join(refreshing, NULL);
	printf("%d pages in %ld ms\n", atomic_load(&corrected),
		(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
	thrum_stop();
	return 0;
}
