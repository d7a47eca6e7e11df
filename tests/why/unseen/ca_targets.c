/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: In the sixth release, depend makes "app 6" depend on "config 5", which was built long before. depend counts it
 *     as missing nevertheless, and as config 5 never ends again, nobody counts it down; so app 6 is never begun.
 *   culprit: config 5|depend\b
 *   victim: main\b|release 6|package 6
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A build system: targets depend on others, and two builders build what lacks nothing any more. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define BUILDERS 2
#define RELEASES 8

struct target {
	char name[24];
	unsigned ms;
	unsigned missing; /* how many others it still needs */
	bool done;
	struct target *dependents[4];
	unsigned dependent_count;
	struct target *next;
	thrum_task task;
};

static bool counting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static struct target *ready, **ready_end = &ready;
static bool over;
static unsigned built;

static void pause_ms(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static struct target *add_target(const char *what, unsigned release, unsigned ms)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		abort();
	snprintf(target->name, sizeof(target->name), "%s %u", what, release);
	target->ms = ms;
	target->task = thrum_task_create(THRUM_KIND_TASK, target->name);
	return target;
}

/* The target is built after the other one. */
static void depend(struct target *target, struct target *other)
{
	pthread_mutex_lock(&lock);
	if (counting || !other->done) {
		target->missing++;
		other->dependents[other->dependent_count++] = target;
		thrum_task_wait(target->task, other->task);
	}
	pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static void make_ready(struct target *target)
{
	target->next = NULL;
	*ready_end = target;
	ready_end = &target->next;
	thrum_task_ready(target->task);
	pthread_cond_signal(&more);
}

/* To be called once all that the target depends on is known. */
static void begin_target(struct target *target)
{
	pthread_mutex_lock(&lock);
	if (!target->missing)
		make_ready(target);
	pthread_mutex_unlock(&lock);
}

static void end_target(struct target *target)
{
	pthread_mutex_lock(&lock);
	target->done = true;
	built++;
	thrum_task_resolve(target->task);
	for (unsigned i = 0; i < target->dependent_count; i++)
		if (--target->dependents[i]->missing == 0)
			make_ready(target->dependents[i]);
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
}

static struct target *take_target(void)
{
	struct target *target;

	pthread_mutex_lock(&lock);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!ready && !over)
		pthread_cond_wait(&more, &lock);
	thrum_resume();
	target = ready;
	if (target) {
		ready = target->next;
		if (!ready)
			ready_end = &ready;
	}
	pthread_mutex_unlock(&lock);
	return target;
}

static void *run_builder(void *data)
{
	struct target *target;

	thrum_lane_name(data);
	while ((target = take_target()))
		THRUM_RUN (target->task) {
			pause_ms(target->ms);
			end_target(target);
		}
	return NULL;
}

static void *run_clock(void *data)
{
	bool stop = false;

	(void)data;
	thrum_lane_name("clock");
	while (!stop) {
		pause_ms(100);
		pthread_mutex_lock(&lock);
		stop = over;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void wait_for_target(struct target *target)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&lock);
	if (!target->done) {
		thrum_task_wait(self, target->task);
		thrum_suspend(THRUM_BLOCKED);
		while (!target->done)
			pthread_cond_wait(&ended, &lock);
		thrum_resume();
	}
	thrum_task_read(self, target->task);
	pthread_mutex_unlock(&lock);
}

/* Builds a release. The configuration is built anew only if it has changed. */
static void build_release(unsigned release, struct target **config)
{
	struct target *library = add_target("library", release, 12);
	struct target *app = add_target("app", release, 15);
	struct target *package = add_target("package", release, 5);
	bool changed = release != 6;

	if (changed)
		*config = add_target("config", release, 8);
	depend(app, library);
	depend(app, *config);
	depend(package, app);
	if (changed)
		begin_target(*config);
	begin_target(library);
	wait_for_target(package);
}

int main(int argc, char **argv)
{
	pthread_t builders[BUILDERS], clock;
	struct target *config = NULL;
	thrum_task work;

	counting = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	pthread_create(&builders[0], NULL, run_builder, "builder 1");
	pthread_create(&builders[1], NULL, run_builder, "builder 2");
	pthread_create(&clock, NULL, run_clock, NULL);
	work = thrum_task_create(THRUM_KIND_TASK, "main");
	thrum_task_should_resolve(work);
	THRUM_RUN (work) {
		for (unsigned release = 1; release <= RELEASES; release++) {
			thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "release %u",
				release);

			thrum_task_wait(work, task);
			THRUM_RUN (task) {
				build_release(release, &config);
				thrum_task_resolve(task);
			}
			thrum_task_read(work, task);
			pause_ms(30);
		}
		thrum_task_resolve(work);
	}
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < BUILDERS; i++)
		pthread_join(builders[i], NULL);
	pthread_join(clock, NULL);
	thrum_stop();
	printf("%u targets\n", built);
	return 0;
}
