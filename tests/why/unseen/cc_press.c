/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: The customers, each of whom waits for a sheet of his own, and the press, which waits for an empty tray,
 *     all wait for the one condition "tray". put_sheet signals only one of them. With two customers that signal
 *     wakes the wrong one, who waits again; the right one sleeps on beside his sheet, and the press waits for him.
 *   culprit: put_sheet|tray_signal|\btray\b
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A copy shop: the press puts one sheet at a time into the tray, and the customer whose sheet it is takes it. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define SHEETS 8

struct tray {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned waiters;
	thrum_task task;
	int sheet; /* 0: empty */
};

struct person {
	pthread_t thread;
	thrum_task task;
	char name[16];
	int sheet;
};

static struct tray tray = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static int orders[2]; /* a pipe with the numbers of the sheets */
static bool wake_all;

/* The caller holds the mutex. */
static void tray_wait(void)
{
	thrum_task self = thrum_task_current();

	tray.waiters++;
	thrum_task_wait(self, tray.task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&tray.changed, &tray.mutex);
	thrum_resume();
	thrum_task_read(self, tray.task);
}

/* The caller holds the mutex. */
static void tray_signal(void)
{
	thrum_task_signal(tray.task, tray.waiters);
	if (wake_all) {
		tray.waiters = 0;
		pthread_cond_broadcast(&tray.changed);
	} else {
		if (tray.waiters > 0)
			tray.waiters--;
		pthread_cond_signal(&tray.changed);
	}
}

static void put_sheet(int sheet)
{
	pthread_mutex_lock(&tray.mutex);
	while (tray.sheet)
		tray_wait();
	tray.sheet = sheet;
	tray_signal();
	pthread_mutex_unlock(&tray.mutex);
}

static void take_sheet(int sheet)
{
	pthread_mutex_lock(&tray.mutex);
	while (tray.sheet != sheet)
		tray_wait();
	tray.sheet = 0;
	tray_signal();
	pthread_mutex_unlock(&tray.mutex);
}

static void person_begin(struct person *person)
{
	thrum_lane_name(person->name);
	thrum_task_become(person->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
}

static void pause_ms(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static void *run_press(void *data)
{
	int sheet;

	person_begin(data);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(orders[0], &sheet, sizeof(sheet)) != sizeof(sheet))
			sheet = 0;
		thrum_resume();
		if (!sheet)
			break;
		pause_ms(60);
		put_sheet(sheet);
	}
	return NULL;
}

static void *run_customer(void *data)
{
	struct person *self = data;

	person_begin(self);
	take_sheet(self->sheet);
	printf("%s has sheet %d\n", self->name, self->sheet);
	fflush(stdout);
	return NULL;
}

static void person_start(struct person *person, void *run(void *), const char *name, int sheet)
{
	snprintf(person->name, sizeof(person->name), "%s", name);
	person->sheet = sheet;
	person->task = thrum_task_create(THRUM_KIND_THREAD, person->name);
	if (pthread_create(&person->thread, NULL, run, person))
		abort();
}

static void person_join(struct person *person)
{
	thrum_task_wait(thrum_task_current(), person->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(person->thread, NULL);
	thrum_resume();
	thrum_task_read(thrum_task_current(), person->task);
}

static void order_sheet(int sheet)
{
	if (write(orders[1], &sheet, sizeof(sheet)) != sizeof(sheet))
		abort();
}

/* Returns when so many people stand at the tray. */
static void look_at_tray(unsigned people)
{
	unsigned waiters;

	do {
		pause_ms(30);
		pthread_mutex_lock(&tray.mutex);
		waiters = tray.waiters;
		pthread_mutex_unlock(&tray.mutex);
	} while (waiters < people);
}

static void run_shop(void)
{
	struct person press, anton, berta;

	person_start(&press, run_press, "press", 0);
	/* In the morning there is one customer at a time. */
	for (int sheet = 1; sheet <= 4; sheet++) {
		person_start(&anton, run_customer, "anton", sheet);
		pause_ms(10);
		order_sheet(sheet);
		person_join(&anton);
	}
	/* At noon Anton comes first, but Berta's sheets were ordered before. */
	person_start(&anton, run_customer, "anton", 6);
	look_at_tray(1);
	person_start(&berta, run_customer, "berta", 5);
	look_at_tray(2);
	order_sheet(5);
	order_sheet(6);
	person_join(&berta);
	person_join(&anton);
	order_sheet(0);
	person_join(&press);
}

int main(int argc, char **argv)
{
	thrum_task program;

	wake_all = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL) || pipe(orders))
		return 1;
	program = thrum_task_create(THRUM_KIND_TASK, "main");
	thrum_task_should_resolve(program);
	tray.task = thrum_task_create(THRUM_KIND_CONDITION, "tray");
	THRUM_RUN (program) {
		run_shop();
		thrum_task_resolve(program);
	}
	printf("the shop closes\n");
	thrum_stop();
	return 0;
}
