/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "janitor" goes to sleep at its inbox without going offline (the early way out of an empty
 *     vacuum). "reloader" waits for the janitor's epoch before it frees the old table, and only afterwards
 *     would it put the next letter into that inbox.
 *   culprit: janitor
 *   victim: admin
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A lookup server whose readers use a table without a lock; the reloader frees an old table when all readers have moved on. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define READERS 3
#define OFFLINE 0U
#define RELOADS 3
#define QUIT (-1)

struct reader {
	const char *name;
	unsigned seen; /* the last epoch that it saw, or OFFLINE */
	unsigned waiters;
	thrum_task moved; /* the condition that it has moved on */
	pthread_cond_t has_moved;
	pthread_t thread;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct reader readers[READERS] = {
	{.name = "lookup 1", .has_moved = PTHREAD_COND_INITIALIZER},
	{.name = "lookup 2", .has_moved = PTHREAD_COND_INITIALIZER},
	{.name = "janitor", .has_moved = PTHREAD_COND_INITIALIZER},
};
static unsigned epoch = 1;
static int *table;
static bool stops;

static int inbox[8]; /* of the janitor: how many rows it is to vacuum */
static unsigned inbox_count, inbox_readers;
static pthread_cond_t inbox_filled = PTHREAD_COND_INITIALIZER;
static thrum_task inbox_task;
static const int *dead_rows;

static void sleep_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* The reader holds no pointer into the table now. */
static __attribute__((noinline)) void quiescent(struct reader *self, bool goes_offline)
{
	pthread_mutex_lock(&mutex);
	self->seen = goes_offline ? OFFLINE : epoch;
	thrum_task_signal(self->moved, self->waiters);
	self->waiters = 0;
	pthread_cond_broadcast(&self->has_moved);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void *lookup_main(void *data)
{
	struct reader *self = data;
	int sum = 0;

	thrum_lane_name(self->name);
	while (!__atomic_load_n(&stops, __ATOMIC_ACQUIRE)) {
		quiescent(self, false);
		sum += __atomic_load_n(&table, __ATOMIC_ACQUIRE)[sum & 3];
		sleep_ms(5);
	}
	quiescent(self, true);
	return NULL;
}

static __attribute__((noinline)) void inbox_put(int letter)
{
	pthread_mutex_lock(&mutex);
	inbox[inbox_count++] = letter;
	thrum_task_signal(inbox_task, inbox_readers);
	pthread_cond_broadcast(&inbox_filled);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) int inbox_take(void)
{
	int letter;

	pthread_mutex_lock(&mutex);
	inbox_readers++;
	while (!inbox_count) {
		thrum_task_wait(thrum_task_current(), inbox_task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&inbox_filled, &mutex);
		thrum_resume();
	}
	inbox_readers--;
	letter = inbox[0];
	memmove(inbox, inbox + 1, --inbox_count * sizeof(*inbox));
	thrum_task_read(thrum_task_current(), inbox_task);
	pthread_mutex_unlock(&mutex);
	return letter;
}

static __attribute__((noinline)) void vacuum(struct reader *self, int rows)
{
	quiescent(self, false); /* online again */
	if (rows == 0)
		return;
	for (; rows > 0; rows--) {
		(void)__atomic_load_n(&table, __ATOMIC_ACQUIRE)[rows & 3];
		sleep_ms(4);
		quiescent(self, false);
	}
	quiescent(self, true);
}

static __attribute__((noinline)) void *janitor_main(void *data)
{
	struct reader *self = data;
	int rows;

	thrum_lane_name(self->name);
	while ((rows = inbox_take()) != QUIT)
		vacuum(self, rows);
	return NULL;
}

/* Waits until no reader can hold a pointer of an epoch before this one. */
static __attribute__((noinline)) void synchronize(unsigned target)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < READERS; i++)
		while (readers[i].seen != OFFLINE && readers[i].seen < target) {
			readers[i].waiters++;
			thrum_task_wait(thrum_task_current(), readers[i].moved);
			thrum_suspend(THRUM_BLOCKED);
			pthread_cond_wait(&readers[i].has_moved, &mutex);
			thrum_resume();
			thrum_task_read(thrum_task_current(), readers[i].moved);
		}
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void reload(int number)
{
	int *new = calloc(4, sizeof(*new)), *old;

	new[0] = number;
	old = __atomic_exchange_n(&table, new, __ATOMIC_ACQ_REL);
	synchronize(__atomic_add_fetch(&epoch, 1, __ATOMIC_ACQ_REL));
	free(old);
	inbox_put(dead_rows[number]);
}

static __attribute__((noinline)) void *reloader_main(void *data)
{
	thrum_lane_name("reloader");
	thrum_task_become(*(thrum_task *)data, thrum_task_current());
	for (int i = 0; i < RELOADS; i++) {
		reload(i);
		sleep_ms(150);
	}
	inbox_put(QUIT);
	return NULL;
}

int main(int argc, char **argv)
{
	static const int usual[RELOADS] = {3, 2, 4}, sparse[RELOADS] = {3, 0, 4};
	pthread_t reloader;
	thrum_task admin, reloader_task;

	dead_rows = argc > 1 && !strcmp(argv[1], "broken") ? sparse : usual;
	thrum_start(NULL);
	table = calloc(4, sizeof(*table));
	inbox_task = thrum_task_create(THRUM_KIND_MAILBOX, "janitor's inbox");
	admin = thrum_task_create(THRUM_KIND_TASK, "admin: reload all");
	thrum_task_should_resolve(admin);
	for (int i = 0; i < READERS; i++)
		readers[i].moved = thrum_task_createf(THRUM_KIND_CONDITION, "epoch of %s",
			readers[i].name);
	for (int i = 0; i < READERS; i++)
		pthread_create(&readers[i].thread, NULL, i < 2 ? lookup_main : janitor_main,
			&readers[i]);
	thrum_task_switch(admin);
	reloader_task = thrum_task_create(THRUM_KIND_THREAD, "reloader");
	pthread_create(&reloader, NULL, reloader_main, &reloader_task);
	thrum_task_wait(admin, reloader_task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(reloader, NULL);
	thrum_resume();
	thrum_task_read(admin, reloader_task);
	thrum_task_resolve(admin);
	__atomic_store_n(&stops, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	thrum_stop();
	return 0;
}
