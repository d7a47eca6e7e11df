/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=checkout
 *   truth: The reindex task holds the catalogue's lock for a whole pass of 30 ms. The job “warm page” waits
 *     for that lock on the only loader thread, so the price that a checkout needs is not loaded meanwhile.
 *   culprit: reindex
 *   victim: load price|warm page
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A web shop: checkouts need prices, which one loader thread loads; it also warms pages of the catalogue. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CHECKOUTS 60
#define PASSES 8
#define ENTRIES 60

struct job {
	struct job *next;
	thrum_task task;
	void (*run)(void);
	bool is_done;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static pthread_mutex_t catalogue_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task catalogue;
static int jobs_left = 2 * CHECKOUTS;
static bool careful;

static void compute(long us)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < us);
}

static void rest(long us)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep((useconds_t)us);
	thrum_resume();
}

static void lock_catalogue(void)
{
	if (pthread_mutex_trylock(&catalogue_mutex)) {
		thrum_task_wait(thrum_task_current(), catalogue);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&catalogue_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(catalogue);
}

static void unlock_catalogue(void)
{
	thrum_lock_released(catalogue);
	pthread_mutex_unlock(&catalogue_mutex);
}

static void load_price(void)
{
	compute(300);
}

static void warm_page(void)
{
	lock_catalogue();
	compute(150);
	unlock_catalogue();
}

/* The caller holds queue_mutex. */
static struct job *submit(const char *label, void (*run)(void))
{
	static struct job jobs[2 * CHECKOUTS];
	static int submitted;
	struct job *job = &jobs[submitted++];

	job->run = run;
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_broadcast(&queue_changed);
	return job;
}

static void wait_for_change(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&queue_changed, &queue_mutex);
	thrum_resume();
}

static void *run_loader(void *unused)
{
	thrum_lane_name("loader");
	pthread_mutex_lock(&queue_mutex);
	while (jobs_left > 0) {
		struct job *job;

		while (!(job = queue))
			wait_for_change();
		if (!(queue = job->next))
			queue_end = &queue;
		jobs_left--;
		pthread_mutex_unlock(&queue_mutex);
		THRUM_RUN (job->task)
			job->run();
		pthread_mutex_lock(&queue_mutex);
		job->is_done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&queue_changed);
	}
	pthread_mutex_unlock(&queue_mutex);
	return unused;
}

static void *run_indexer(void *unused)
{
	thrum_lane_name("indexer");
	for (int pass = 0; pass < PASSES; pass++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "reindex");

		THRUM_RUN (task) {
			for (int entry = 0; entry < ENTRIES; entry++) {
				if (!careful && entry == 0)
					lock_catalogue();
				compute(450); /* splits the words */
				if (careful)
					lock_catalogue();
				compute(50);
				if (careful || entry == ENTRIES - 1)
					unlock_catalogue();
			}
			thrum_task_resolve(task);
		}
		rest(8000);
	}
	return unused;
}

static void check_out(void)
{
	thrum_task self = thrum_task_create(THRUM_KIND_REQUEST, "checkout");
	struct job *job;

	thrum_task_should_resolve(self);
	THRUM_RUN (self) {
		compute(100);
		pthread_mutex_lock(&queue_mutex);
		job = submit("load price", load_price);
		thrum_task_wait(self, job->task);
		while (!job->is_done)
			wait_for_change();
		thrum_task_read(self, job->task);
		submit("warm page", warm_page); /* with what others bought, too */
		pthread_mutex_unlock(&queue_mutex);
		thrum_task_resolve(self);
	}
}

int main(int argc, char **argv)
{
	void *(*const runs[])(void *) = {run_indexer, run_loader};
	pthread_t threads[2];

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	thrum_start(NULL);
	catalogue = thrum_task_create(THRUM_KIND_LOCK, "catalogue");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, runs[i], NULL);
	for (int i = 0; i < CHECKOUTS; i++) {
		check_out();
		rest(2000);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}
