/* SPDX-License-Identifier: ISC */
/*
 * Categories are turned on and off all the time from another process, while four threads record.
 * Running time is never laid at the wrong task: each run lies within the time in which the program
 * itself says that the task ran.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/model.h"
#include "port/cpu.h"
#include "port/port.h"
#include "source/control.h"

#define THREADS 4
#define STINTS 1000000 /* of a thread, at most */
#define CHANGES 600
#define MARGIN 1000 /* ns: times are converted */

/* A time in which a task ran, by the program's own log. */
struct stint {
	uint64_t task, from, to; /* ticks */
};

/* Shared with the child, which records. */
struct shared {
	_Atomic bool is_ready, enough;
	bool has_tsc;
	_Atomic uint32_t count[THREADS];
	struct stint stints[THREADS][STINTS];
};

static struct shared *shared;
static char file[] = "/tmp/thrum-control-XXXXXX";

static uint64_t ticks_now(void)
{
	return shared->has_tsc ? read_tsc() >> 5 : thrum__port_monotonic() / 4;
}

/* ---- The program ---------------------------------------------------------------------------- */

static void *work(void *argument)
{
	unsigned thread = (unsigned)(uintptr_t)argument;

	for (uint32_t i = 0; i < STINTS && !atomic_load(&shared->enough); i++) {
		struct stint *stint = &shared->stints[thread][i];

		stint->task = thrum_task_create(THRUM_KIND_TASK, "stint");
		stint->from = ticks_now();
		thrum_task_switch(stint->task);
		thrum_log("works");
		if (i % 2 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		thrum_log("worked");
		thrum_task_switch(THRUM_TASK_NONE);
		stint->to = ticks_now();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (i % 16 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		thrum_resume();
		thrum_task_resolve(stint->task);
		atomic_store(&shared->count[thread], i + 1);
	}
	/* The log is full: the process must still be there. */
	while (!atomic_load(&shared->enough))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return NULL;
}

static int run_program(void)
{
	pthread_t threads[THREADS];

	if (thrum_start(&(struct thrum_config){.file = file, .size = 16 << 20}))
		return 1;
	shared->has_tsc = thrum__port_tsc_is_trusted();
	atomic_store(&shared->is_ready, true);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i))
			return 2;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}

/* ---- The others ----------------------------------------------------------------------------- */

static void control_it(void)
{
	static const char *const lists[] = {"switch", "task=1", "log", "wait,switch", "task=off",
		"life"};
	struct thrum__source_control *control;
	struct timespec pause = {.tv_nsec = 1000000};

	assert_int_equal(thrum__source_control_open(file, &control, NULL), 0);
	for (unsigned i = 0; i < CHANGES; i++) {
		const char *list = lists[i / 2 % (sizeof lists / sizeof *lists)];

		if (i % 2)
			assert_int_equal(thrum__source_control_set(control, THRUM__CONTROL_RESET,
						 "", NULL),
				0);
		else
			assert_int_equal(thrum__source_control_set(control, THRUM__CONTROL_DISABLE,
						 list, NULL),
				0);
		nanosleep(&pause, NULL);
	}
	thrum__source_control_close(control);
}

/* Finds the time in which the program says that the task ran. */
static const struct stint *stint_of(uint64_t task)
{
	for (unsigned thread = 0; thread < THREADS; thread++)
		for (uint32_t i = 0; i < atomic_load(&shared->count[thread]); i++)
			if (shared->stints[thread][i].task == task)
				return &shared->stints[thread][i];
	return NULL;
}

static void check_recording(void)
{
	struct thrum__model *model;
	struct thrum_trace *trace;
	uint32_t checked = 0;

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum__model_create(trace, &model), 0);
	assert_int_equal(thrum__model_load(model, trace, NULL, NULL, NULL), 0);
	const struct thrum_trace_info *info = thrum_trace_info(trace);
	double scale = 1e9 / (double)info->clock_frequency;

	assert_int_equal(info->damaged, 0);
	assert_true(model->unrecorded_count > 0);
	/* The search is slow: a part of the runs is enough. */
	uint32_t step = 1 + (model->runs.count - model->runs.first) / 4000;

	for (uint32_t i = model->runs.first; i < model->runs.count; i += step) {
		const struct stint *stint = stint_of(
			THRUM__TASK(model, THRUM__RUN(model, i, task), id));

		if (!stint)
			continue; /* a thread's own task */
		int64_t from = (int64_t)((double)(int64_t)(stint->from - info->clock_first) *
			scale);
		int64_t to = (int64_t)((double)(int64_t)(stint->to - info->clock_first) * scale);

		if (THRUM__RUN(model, i, start) < from - MARGIN ||
			THRUM__RUN(model, i, end) > to + MARGIN)
			fail_msg("run %u: %lld to %lld, but the task ran from %lld to %lld", i,
				(long long)THRUM__RUN(model, i, start),
				(long long)THRUM__RUN(model, i, end), (long long)from,
				(long long)to);
		checked++;
	}
	assert_true(checked > 100);
	thrum__model_destroy(model);
	thrum_trace_close(trace);
}

static void runs_are_never_laid_at_the_wrong_task(void **state)
{
	int status;

	(void)state;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	close(mkstemp(file));
	pid_t pid = fork();

	if (pid == 0)
		_exit(run_program());
	while (!atomic_load(&shared->is_ready))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	control_it();
	atomic_store(&shared->enough, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check_recording();
	unlink(file);
	munmap(shared, sizeof *shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_never_laid_at_the_wrong_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
