/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: unit_skip ends the unit "firstboot", whose condition isn't met, without unit_notify for the units
 *     that are ordered after it; so "login" never becomes ready, and "graphical" waits for it and boot for
 *     that
 *   culprit: firstboot|unit_skip
 *   victim: login|graphical|boot
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Starts the units of a system in the order of their dependencies, with two threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define STARTERS 2

struct unit {
	const char *name;
	const char *after[3];
	int ms;
	bool is_unmet; /* its condition says that it isn't needed */
	int missing;   /* the number of units before it that haven't ended */
	bool has_ended;
	thrum_task task;
	struct unit *next;
};

static struct unit units[] = {
	{.name = "journal", .ms = 4},
	{.name = "mounts", .ms = 6},
	{.name = "swap", .ms = 1, .is_unmet = true},
	{.name = "network", .after = {"journal"}, .ms = 15},
	{.name = "firstboot", .after = {"mounts"}, .ms = 20, .is_unmet = true},
	{.name = "bus", .after = {"journal", "mounts"}, .ms = 3},
	{.name = "ssh", .after = {"network", "bus"}, .ms = 5},
	{.name = "login", .after = {"bus", "firstboot"}, .ms = 4},
	{.name = "graphical", .after = {"login", "ssh"}, .ms = 12},
	{.name = "cron", .after = {"mounts"}, .ms = 3},
};
#define UNITS (sizeof(units) / sizeof(units[0]))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct unit *ready;
static struct unit **ready_end = &ready;
static bool notify_skipped;
static bool is_over;
static size_t started;
static size_t skipped;

static struct unit *unit_find(const char *name)
{
	for (size_t i = 0; i < UNITS; i++)
		if (!strcmp(units[i].name, name))
			return &units[i];
	abort();
}

static bool unit_is_after(const struct unit *unit, const struct unit *other)
{
	for (int i = 0; i < 3 && unit->after[i]; i++)
		if (!strcmp(unit->after[i], other->name))
			return true;
	return false;
}

static void unit_make_ready(struct unit *unit)
{
	thrum_task_ready(unit->task);
	unit->next = NULL;
	*ready_end = unit;
	ready_end = &unit->next;
	pthread_cond_broadcast(&changed);
}

/* The caller holds the mutex. */
static void unit_notify(struct unit *unit)
{
	unit->has_ended = true;
	for (size_t i = 0; i < UNITS; i++)
		if (unit_is_after(&units[i], unit) && !--units[i].missing)
			unit_make_ready(&units[i]);
	pthread_cond_broadcast(&changed);
}

/* The caller holds the mutex. */
static void unit_skip(struct unit *unit)
{
	skipped++;
	thrum_task_cancel(unit->task);
	if (notify_skipped)
		unit_notify(unit);
	else
		unit->has_ended = true;
}

/* The caller holds the mutex. */
static void unit_start(struct unit *unit)
{
	if (unit->is_unmet) {
		unit_skip(unit);
		return;
	}
	pthread_mutex_unlock(&mutex);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep((useconds_t)unit->ms * 1000); /* what the started program needs */
	thrum_resume();
	pthread_mutex_lock(&mutex);
	started++;
	thrum_task_resolve(unit->task);
	unit_notify(unit);
}

static void *starter(void *data)
{
	thrum_lane_name("starter");
	pthread_mutex_lock(&mutex);
	while (!is_over) {
		struct unit *unit = ready;

		if (!unit) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			continue;
		}
		ready = unit->next;
		if (!ready)
			ready_end = &ready;
		THRUM_RUN (unit->task)
			unit_start(unit);
	}
	pthread_mutex_unlock(&mutex);
	return data;
}

static void units_load(void)
{
	for (size_t i = 0; i < UNITS; i++) {
		units[i].task = thrum_task_create(THRUM_KIND_JOIN, units[i].name);
		thrum_task_should_resolve(units[i].task);
	}
	for (size_t i = 0; i < UNITS; i++) {
		for (int j = 0; j < 3 && units[i].after[j]; j++) {
			units[i].missing++;
			thrum_task_wait(units[i].task, unit_find(units[i].after[j])->task);
		}
	}
}

static void boot_to(struct unit *target)
{
	thrum_task boot = thrum_task_create(THRUM_KIND_TASK, "boot");

	thrum_task_should_resolve(boot);
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < UNITS; i++)
		if (!units[i].missing)
			unit_make_ready(&units[i]);
	THRUM_RUN (boot) {
		while (!target->has_ended) {
			thrum_task_wait(boot, target->task);
			thrum_suspend(THRUM_BLOCKED);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
	}
	thrum_task_resolve(boot);
	while (started + skipped < UNITS)
		pthread_cond_wait(&changed, &mutex);
	is_over = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	pthread_t threads[STARTERS];

	notify_skipped = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (thrum_start(NULL))
		return 1;
	units_load();
	for (int i = 0; i < STARTERS; i++)
		pthread_create(&threads[i], NULL, starter, NULL);
	boot_to(unit_find("graphical"));
	thrum_stop();
	for (int i = 0; i < STARTERS; i++)
		pthread_join(threads[i], NULL);
	printf("%zu started, %zu skipped\n", started, skipped);
	return 0;
}
