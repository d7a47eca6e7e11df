/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: When the ink is filled up, refill_ink signals the condition "paper loaded" instead of "ink filled".
 *     So "print poster", which waits for "ink filled", never goes on.
 *   culprit: ink filled|refill ink|refill_ink|serve_press
 *   victim: main\b|(small|large) press
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A print shop: presses print jobs and ask for paper and ink, which an assistant brings. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct event {
	pthread_cond_t happened;
	thrum_task task;
	unsigned waiters;
};

struct job {
	const char *name;
	int pages;
	int ink; /* for each page */
};

struct press {
	const char *name;
	const struct job *jobs;
	int count;
	pthread_t thread;
	thrum_task task;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event paper_loaded = {.happened = PTHREAD_COND_INITIALIZER};
static struct event ink_filled = {.happened = PTHREAD_COND_INITIALIZER};
static struct event supplies_needed = {.happened = PTHREAD_COND_INITIALIZER};
static int paper = 30;
static int ink = 60;
static bool paper_wanted;
static bool ink_wanted;
static bool closing;
static int printed;
static struct event *ink_event = &paper_loaded;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* The caller holds the lock. */
static void event_wait(struct event *event, bool idle)
{
	thrum_task self = thrum_task_current();

	event->waiters++;
	thrum_task_wait(self, event->task);
	thrum_suspend(idle ? THRUM_WAIT_FOR_WORK : THRUM_BLOCKED);
	pthread_cond_wait(&event->happened, &lock);
	thrum_resume();
	thrum_task_read(self, event->task);
}

/* The caller holds the lock. */
static void event_broadcast(struct event *event)
{
	thrum_task_signal(event->task, event->waiters);
	event->waiters = 0;
	pthread_cond_broadcast(&event->happened);
}

/* ---- the assistant ---- */

static void load_paper(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "load paper");

	THRUM_RUN (task) {
		pause_ms(12);
		pthread_mutex_lock(&lock);
		paper += 30;
		paper_wanted = false;
		event_broadcast(&paper_loaded);
		pthread_mutex_unlock(&lock);
		thrum_task_resolve(task);
	}
}

static void refill_ink(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "refill ink");

	THRUM_RUN (task) {
		pause_ms(20);
		pthread_mutex_lock(&lock);
		ink += 200;
		ink_wanted = false;
		event_broadcast(ink_event);
		pthread_mutex_unlock(&lock);
		thrum_task_resolve(task);
	}
}

static void *serve_press(void *data)
{
	(void)data;
	thrum_lane_name("assistant");
	for (;;) {
		bool bring_paper;
		bool bring_ink;

		pthread_mutex_lock(&lock);
		while (!paper_wanted && !ink_wanted && !closing)
			event_wait(&supplies_needed, true);
		bring_paper = paper_wanted;
		bring_ink = ink_wanted;
		pthread_mutex_unlock(&lock);
		if (!bring_paper && !bring_ink)
			return NULL;
		if (bring_paper)
			load_paper();
		if (bring_ink)
			refill_ink();
	}
}

/* ---- presses ---- */

static void take_supplies(const struct job *job)
{
	pthread_mutex_lock(&lock);
	while (paper == 0) {
		paper_wanted = true;
		event_broadcast(&supplies_needed);
		event_wait(&paper_loaded, false);
	}
	paper--;
	while (ink < job->ink) {
		ink_wanted = true;
		event_broadcast(&supplies_needed);
		event_wait(&ink_filled, false);
	}
	ink -= job->ink;
	printed++;
	pthread_mutex_unlock(&lock);
}

static void print_job(const struct job *job)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "print %s", job->name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int i = 0; i < job->pages; i++) {
			take_supplies(job);
			pause_ms(2);
		}
		thrum_task_resolve(task);
	}
	printf("%s is printed\n", job->name);
	fflush(stdout);
}

static void *run_press(void *data)
{
	struct press *self = data;

	thrum_lane_name(self->name);
	thrum_task_become(self->task, thrum_task_current());
	for (int i = 0; i < self->count; i++)
		print_job(&self->jobs[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct job small[] = {{"flyer", 40, 0}, {"label", 30, 0}, {"form", 40, 0}};
	static const struct job large[] = {{"cover", 10, 3}, {"poster", 20, 6}};
	struct press presses[] = {
		{.name = "small press", .jobs = small, .count = 3},
		{.name = "large press", .jobs = large, .count = 2},
	};
	pthread_t assistant;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "healthy"))
		ink_event = &ink_filled;
	thrum_start(NULL);
	paper_loaded.task = thrum_task_create(THRUM_KIND_CONDITION, "paper loaded");
	ink_filled.task = thrum_task_create(THRUM_KIND_CONDITION, "ink filled");
	supplies_needed.task = thrum_task_create(THRUM_KIND_CONDITION, "supplies needed");
	pthread_create(&assistant, NULL, serve_press, NULL);
	for (int i = 0; i < 2; i++) {
		presses[i].task = thrum_task_create(THRUM_KIND_THREAD, presses[i].name);
		pthread_create(&presses[i].thread, NULL, run_press, &presses[i]);
	}
	for (int i = 0; i < 2; i++) {
		thrum_task_wait(thrum_task_current(), presses[i].task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_join(presses[i].thread, NULL);
		thrum_resume();
		thrum_task_read(thrum_task_current(), presses[i].task);
	}
	pthread_mutex_lock(&lock);
	closing = true;
	event_broadcast(&supplies_needed);
	pthread_mutex_unlock(&lock);
	pthread_join(assistant, NULL);
	printf("%d pages\n", printed);
	thrum_stop();
	return 0;
}
