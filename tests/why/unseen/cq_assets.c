/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: A terrain tile that was refined asks for its next level of detail, until the finest one.
 *     refine_tile cuts the level to the finest one before it asks, so the finest tiles ask for themselves
 *     again and again. Refinements come before music and voices in pop_job, so the loader never gets to
 *     "music" and "voices", and the level doesn't begin. The fix asks for no level beyond the finest.
 *   culprit: refine
 *   victim: music|voices|begin level|game
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The asset loader of a game: a thread loads what is near first. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	TILES = 6,
	FINEST = 4,
	JOBS = 64
};

/* Near is what the camera sees. */
enum urgency {
	NEAR,
	FAR,
	URGENCIES
};

struct job {
	void (*load)(int number, int detail);
	int number, detail;
	thrum_task task;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job jobs[URGENCIES][JOBS];
	unsigned first[URGENCIES], count[URGENCIES];
	bool closed;
} loader = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* The level begins when these are loaded. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t loaded;
	int missing;
	thrum_task task;
} sounds = {.lock = PTHREAD_MUTEX_INITIALIZER, .loaded = PTHREAD_COND_INITIALIZER};

static bool broken;
static int refinements;

THRUM_TAG(disk, NULL, "read the disk", 0);

static void read_disk(unsigned ms)
{
	thrum_suspend(&disk);
	usleep(ms * 1000);
	thrum_resume();
}

static void push_job(enum urgency urgency, const struct job *job)
{
	pthread_mutex_lock(&loader.lock);
	if (loader.count[urgency] == JOBS)
		exit(2);
	loader.jobs[urgency][(loader.first[urgency] + loader.count[urgency]++) % JOBS] = *job;
	thrum_task_ready(job->task);
	pthread_cond_signal(&loader.changed);
	pthread_mutex_unlock(&loader.lock);
}

/* Returns false when the loader is closed. */
static bool pop_job(struct job *job)
{
	int urgency = NEAR;

	pthread_mutex_lock(&loader.lock);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!loader.count[NEAR] && !loader.count[FAR] && !loader.closed)
		pthread_cond_wait(&loader.changed, &loader.lock);
	thrum_resume();
	while (urgency < URGENCIES && !loader.count[urgency])
		urgency++;
	if (urgency < URGENCIES) {
		*job = loader.jobs[urgency][loader.first[urgency]];
		loader.first[urgency] = (loader.first[urgency] + 1) % JOBS;
		loader.count[urgency]--;
	}
	pthread_mutex_unlock(&loader.lock);
	return urgency < URGENCIES;
}

static void *run_loader(void *data)
{
	struct job job;

	(void)data;
	thrum_lane_name("loader");
	while (pop_job(&job)) {
		THRUM_RUN (job.task) {
			job.load(job.number, job.detail);
			thrum_task_resolve(job.task);
		}
	}
	return NULL;
}

static void refine_tile(int number, int detail);

static void ask_for_tile(int number, int detail)
{
	struct job job = {.load = refine_tile,
		.number = number,
		.detail = detail,
		.task = thrum_task_createf(THRUM_KIND_TASK, "refine tile %d", number)};

	push_job(NEAR, &job);
}

static void refine_tile(int number, int detail)
{
	read_disk(4);
	refinements++;
	detail++;
	if (broken && detail > FINEST)
		detail = FINEST;
	if (detail <= FINEST)
		ask_for_tile(number, detail);
}

static void load_sound(int number, int detail)
{
	(void)detail;
	read_disk(20 + (unsigned)number * 10);
	pthread_mutex_lock(&sounds.lock);
	thrum_task_signal(sounds.task, 1);
	sounds.missing--;
	pthread_cond_signal(&sounds.loaded);
	pthread_mutex_unlock(&sounds.lock);
}

static void ask_for_sound(int number, const char *name)
{
	struct job job = {.load = load_sound,
		.number = number,
		.task = thrum_task_create(THRUM_KIND_TASK, name)};

	thrum_task_should_resolve(job.task);
	sounds.missing++;
	push_job(FAR, &job);
}

static void load_model(int number, int detail)
{
	(void)number;
	(void)detail;
	read_disk(12);
}

static void ask_for_model(int number)
{
	struct job job = {.load = load_model,
		.number = number,
		.task = thrum_task_createf(THRUM_KIND_TASK, "model %d", number)};

	push_job(FAR, &job);
}

static void nap(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static void begin_level(void)
{
	thrum_task level = thrum_task_create(THRUM_KIND_TASK, "begin level");

	thrum_task_should_resolve(level);
	THRUM_RUN (level) {
		for (int i = 1; i <= TILES; i++)
			ask_for_tile(i, 0);
		pthread_mutex_lock(&sounds.lock);
		ask_for_sound(1, "music");
		ask_for_sound(2, "voices");
		while (sounds.missing > 0) {
			thrum_task_wait(level, sounds.task);
			thrum_suspend(THRUM_BLOCKED);
			pthread_cond_wait(&sounds.loaded, &sounds.lock);
			thrum_resume();
			thrum_task_read(level, sounds.task);
		}
		pthread_mutex_unlock(&sounds.lock);
		thrum_task_resolve(level);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("game");
	sounds.task = thrum_task_create(THRUM_KIND_CONDITION, "sounds loaded");
	pthread_create(&thread, NULL, run_loader, NULL);
	for (int i = 1; i <= 20; i++) { /* the title screen */
		ask_for_model(i);
		nap(20);
	}
	begin_level();
	nap(300); /* the game */
	pthread_mutex_lock(&loader.lock);
	loader.closed = true;
	pthread_cond_signal(&loader.changed);
	pthread_mutex_unlock(&loader.lock);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(thread, NULL);
	thrum_resume();
	thrum_stop();
	printf("%d refinements\n", refinements);
	return 0;
}
