/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=recalc
 *   truth: save_sheet keeps the sheet locked while it writes the file, which takes 90 ms. A recalculation that comes meanwhile
 *     waits for the lock until the autosave has ended; the others take about 1 ms.
 *   culprit: autosave|save_sheet
 *   victim: recalc
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A spreadsheet: edits make cells be calculated anew by a pool of threads; the sheet is saved now and then. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define CELLS 4096
#define EDITS 150
#define CALCULATORS 2

struct recalc {
	thrum_task task;
	int cell;
	struct recalc *next;
};

THRUM_TAG(disk, NULL, "write the file", 0);

static pthread_mutex_t sheet_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task sheet_lock;
static double cells[CELLS], copy[CELLS];

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct recalc *queue, **queue_end = &queue;
static int done;
static bool copy_first, closing;

static void lock_sheet(void)
{
	if (pthread_mutex_trylock(&sheet_mutex)) {
		thrum_task_wait(thrum_task_current(), sheet_lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&sheet_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(sheet_lock);
}

static void unlock_sheet(void)
{
	thrum_lock_released(sheet_lock);
	pthread_mutex_unlock(&sheet_mutex);
}

static void write_file(const double *content)
{
	(void)content;
	thrum_suspend(&disk);
	usleep(90000);
	thrum_resume();
}

static void save_sheet(void)
{
	lock_sheet();
	if (copy_first) {
		memcpy(copy, cells, sizeof(cells));
		unlock_sheet();
		write_file(copy);
	} else {
		write_file(cells);
		unlock_sheet();
	}
}

static void *autosave_main(void *unused)
{
	(void)unused;
	thrum_lane_name("autosave");
	for (int i = 1; !__atomic_load_n(&closing, __ATOMIC_ACQUIRE); i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "autosave %d", i);

		THRUM_RUN (task)
			save_sheet();
		thrum_task_resolve(task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(300000);
		thrum_resume();
	}
	return NULL;
}

static void calculate(struct recalc *recalc)
{
	double sum = 0;

	lock_sheet();
	for (int round = 0; round < 60; round++)
		for (int i = 0; i < CELLS; i++)
			sum += cells[i] * (round % 3);
	cells[recalc->cell] = sum / CELLS / 100;
	unlock_sheet();
}

static void *calculator_main(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&queue_mutex);
	for (;;) {
		struct recalc *recalc;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&queue_changed, &queue_mutex);
		thrum_resume();
		if (!queue)
			break;
		recalc = queue;
		queue = recalc->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&queue_mutex);
		THRUM_RUN (recalc->task)
			calculate(recalc);
		pthread_mutex_lock(&queue_mutex);
		thrum_task_resolve(recalc->task);
		done++;
		free(recalc);
	}
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

static void edit(int number)
{
	struct recalc *recalc = calloc(1, sizeof(*recalc));

	recalc->cell = number * 37 % CELLS;
	recalc->task = thrum_task_createf(THRUM_KIND_TASK, "recalc %d", number);
	thrum_task_should_resolve(recalc->task);
	pthread_mutex_lock(&queue_mutex);
	thrum_task_ready(recalc->task);
	*queue_end = recalc;
	queue_end = &recalc->next;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
}

int main(int argc, char **argv)
{
	pthread_t calculators[CALCULATORS], autosave;
	static char *names[CALCULATORS] = {"calculator 1", "calculator 2"};

	copy_first = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	sheet_lock = thrum_task_create(THRUM_KIND_LOCK, "sheet");
	for (int i = 0; i < CELLS; i++)
		cells[i] = i % 10;
	for (int i = 0; i < CALCULATORS; i++)
		pthread_create(&calculators[i], NULL, calculator_main, names[i]);
	pthread_create(&autosave, NULL, autosave_main, NULL);
	for (int number = 1; number <= EDITS; number++) {
		edit(number);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(12000);
		thrum_resume();
	}
	pthread_mutex_lock(&queue_mutex);
	__atomic_store_n(&closing, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	for (int i = 0; i < CALCULATORS; i++)
		pthread_join(calculators[i], NULL);
	pthread_join(autosave, NULL);
	thrum_resume();
	printf("%d recalculations\n", done);
	thrum_stop();
	return 0;
}
