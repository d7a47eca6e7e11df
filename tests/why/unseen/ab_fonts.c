/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=render page
 *   truth: One page has a sign that needs the font cache. Its lock is held by "rescan fonts", which stats a
 *     network folder meanwhile. The rescan should have done that before it took the lock.
 *   culprit: rescan fonts
 *   victim: font cache
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why --slow=render page
 *   culprit: nothing
 */
/*
 * Renders the pages of a document with a small pool of threads. A page with an uncommon sign looks up a font
 * in a cache, which a job of housekeeping brings up to date.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define THREADS 3
#define PAGES 12
#define UNCOMMON 7

struct job {
	void (*run)(struct job *);
	thrum_task task;
	int page;
	struct job *next;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static bool is_closing;

static pthread_mutex_t cache_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task cache_task;
static int fonts = 40, rendered;
static bool broken;

static void submit(struct job *job, const char *label)
{
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&queue_mutex);
	thrum_task_ready(job->task);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
}

static void *pool_thread(void *data)
{
	(void)data;
	thrum_lane_name("pool");
	pthread_mutex_lock(&queue_mutex);
	for (;;) {
		struct job *job;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !is_closing)
			pthread_cond_wait(&queue_changed, &queue_mutex);
		thrum_resume();
		job = queue;
		if (!job)
			break;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&queue_mutex);
		THRUM_RUN (job->task) {
			job->run(job);
			thrum_task_resolve(job->task);
		}
		pthread_mutex_lock(&queue_mutex);
	}
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

static void cache_lock(void)
{
	if (pthread_mutex_trylock(&cache_mutex)) {
		thrum_task_wait(thrum_task_current(), cache_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&cache_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(cache_task);
}

static void cache_unlock(void)
{
	thrum_lock_released(cache_task);
	pthread_mutex_unlock(&cache_mutex);
}

/* The folder lies on a file server. */
static int stat_network_folder(void)
{
	usleep(110000);
	return 2;
}

static void rescan_fonts(struct job *job)
{
	int found = 0;

	(void)job;
	if (!broken)
		found = stat_network_folder();
	cache_lock();
	if (broken)
		found = stat_network_folder();
	fonts += found;
	cache_unlock();
}

static void render(struct job *job)
{
	usleep(3000);
	if (job->page == UNCOMMON) {
		cache_lock();
		rendered += fonts > 0;
		cache_unlock();
	}
	usleep(3000);
}

int main(int argc, char **argv)
{
	static struct job rescan = {.run = rescan_fonts}, pages[PAGES];
	pthread_t threads[THREADS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	cache_task = thrum_task_create(THRUM_KIND_LOCK, "font cache");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, pool_thread, NULL))
			return 1;
	submit(&rescan, "rescan fonts");
	for (int i = 0; i < PAGES; i++) {
		pages[i] = (struct job){.run = render, .page = i};
		submit(&pages[i], "render page");
		usleep(7000);
	}
	pthread_mutex_lock(&queue_mutex);
	is_closing = true;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("%d pages, %d fonts, %d looked up\n", PAGES, fonts, rendered);
	return 0;
}
