/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "recalc totals" and "recalc taxes" both read the sheet and then want to become its writer, in
 *     sheet_upgrade; each waits until it is the only reader left, so neither ever is
 *   culprit: recalc totals|recalc taxes
 *   victim: enter|view|close book
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A book of cells, which several sessions read, enter and recalculate, each in a thread of its own. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define CELLS 8

/* A lock for many readers or one writer. A reader may become the writer without letting go. */
struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned readers, upgrading;
	bool writing;
	thrum_task task;
};

struct session {
	const char *label;
	void (*run)(struct session *);
	unsigned after_ms, cell;
	int value;
	thrum_task task;
	pthread_t thread;
};

static struct shared sheet = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static int cells[CELLS] = {3, 1, 4, 1, 5, 9, 18, 6}; /* the last two: total and tax, as they were */

/* The caller holds the mutex. */
static void shared_wait(struct shared *shared)
{
	thrum_task_wait(thrum_task_current(), shared->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&shared->changed, &shared->mutex);
	thrum_resume();
}

static void sheet_read(void)
{
	pthread_mutex_lock(&sheet.mutex);
	while (sheet.writing || sheet.upgrading)
		shared_wait(&sheet);
	sheet.readers++;
	thrum_lock_acquired(sheet.task);
	pthread_mutex_unlock(&sheet.mutex);
}

static void sheet_read_end(void)
{
	pthread_mutex_lock(&sheet.mutex);
	sheet.readers--;
	thrum_lock_released(sheet.task);
	pthread_cond_broadcast(&sheet.changed);
	pthread_mutex_unlock(&sheet.mutex);
}

static void sheet_write(void)
{
	pthread_mutex_lock(&sheet.mutex);
	while (sheet.writing || sheet.readers || sheet.upgrading)
		shared_wait(&sheet);
	sheet.writing = true;
	thrum_lock_acquired(sheet.task);
	pthread_mutex_unlock(&sheet.mutex);
}

static void sheet_write_end(void)
{
	pthread_mutex_lock(&sheet.mutex);
	sheet.writing = false;
	thrum_lock_released(sheet.task);
	pthread_cond_broadcast(&sheet.changed);
	pthread_mutex_unlock(&sheet.mutex);
}

/* All that was read still holds when this returns: no other writer comes between. */
static __attribute__((noinline)) void sheet_upgrade(void)
{
	pthread_mutex_lock(&sheet.mutex);
	sheet.upgrading++;
	while (sheet.readers > 1)
		shared_wait(&sheet);
	sheet.upgrading--;
	sheet.readers--;
	sheet.writing = true;
	thrum_lock_released(sheet.task);
	thrum_lock_acquired(sheet.task);
	pthread_mutex_unlock(&sheet.mutex);
}

static void compute_for(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static __attribute__((noinline)) void view_cells(struct session *session)
{
	int sum = 0;

	sheet_read();
	for (unsigned i = 0; i < CELLS; i++)
		sum += cells[i];
	compute_for(20);
	sheet_read_end();
	session->value = sum;
}

static __attribute__((noinline)) void enter_cell(struct session *session)
{
	sheet_write();
	cells[session->cell] = session->value;
	sheet_write_end();
}

/* Sets a cell to what its formula gives, if it isn't so already. */
static __attribute__((noinline)) void recalculate(struct session *session)
{
	int value = 0;

	sheet_read();
	for (unsigned i = 0; i < session->cell; i++)
		value += cells[i];
	if (session->cell == CELLS - 1)
		value = cells[CELLS - 2] / 4 + cells[0] - cells[1];
	compute_for(160);
	if (cells[session->cell] == value) {
		sheet_read_end();
		return;
	}
	sheet_upgrade();
	cells[session->cell] = value;
	sheet_write_end();
}

static void *run_session(void *data)
{
	struct session *session = data;

	usleep(session->after_ms * 1000);
	THRUM_RUN (session->task) {
		session->run(session);
		thrum_task_resolve(session->task);
	}
	return NULL;
}

static struct session sessions[] = {
	{"view 1", view_cells, 0, 0, 0, THRUM_TASK_NONE, 0},
	{"enter 4", enter_cell, 60, 4, 6, THRUM_TASK_NONE, 0},
	{"recalc totals", recalculate, 120, CELLS - 2, 0, THRUM_TASK_NONE, 0},
	{"recalc taxes", recalculate, 125, CELLS - 1, 0, THRUM_TASK_NONE, 0},
	{"view 2", view_cells, 140, 0, 0, THRUM_TASK_NONE, 0},
	{"enter 5", enter_cell, 480, 5, 7, THRUM_TASK_NONE, 0},
	{"view 3", view_cells, 560, 0, 0, THRUM_TASK_NONE, 0},
};
#define SESSIONS (sizeof(sessions) / sizeof(sessions[0]))

int main(int argc, char **argv)
{
	thrum_task all;

	thrum_start(NULL);
	sheet.task = thrum_task_create(THRUM_KIND_LOCK, "sheet");
	all = thrum_task_create(THRUM_KIND_JOIN, "close book");
	thrum_task_should_resolve(all);
	if (argc > 1 && !strcmp(argv[1], "broken"))
		cells[0] = 7; /* also the tax is out of date */
	for (unsigned i = 0; i < SESSIONS; i++) {
		sessions[i].task = thrum_task_create(THRUM_KIND_TASK, sessions[i].label);
		thrum_task_wait(all, sessions[i].task);
		if (pthread_create(&sessions[i].thread, NULL, run_session, &sessions[i]))
			abort();
	}
	thrum_task_wait(thrum_task_current(), all);
	thrum_suspend(THRUM_BLOCKED);
	for (unsigned i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i].thread, NULL);
	thrum_resume();
	thrum_task_resolve(all);
	printf("total %d, tax %d\n", cells[CELLS - 2], cells[CELLS - 1]);
	thrum_stop();
	return 0;
}
