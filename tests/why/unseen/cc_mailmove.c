/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: move_mail locks the folder from which it moves and then the one to which it moves. The archiver moves from "inbox" to "archive" and the restorer the other way round, so each holds the folder that the other one needs.
 *   culprit: archiver|restorer|move_mail
 *   victim: \bmain\b|indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "thrum.h"

/* A mail store: threads move mails between folders, each of which has a lock. */

#define ROUNDS 200

struct folder {
	pthread_mutex_t mutex;
	int mails;
	thrum_task task;
};

struct mover {
	const char *name;
	struct folder *from, *to;
};

static bool broken;
static struct folder inbox = {.mutex = PTHREAD_MUTEX_INITIALIZER, .mails = 500};
static struct folder archive = {.mutex = PTHREAD_MUTEX_INITIALIZER, .mails = 500};

static void folder_lock(struct folder *folder)
{
	if (pthread_mutex_trylock(&folder->mutex)) {
		thrum_task_wait(thrum_task_current(), folder->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&folder->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(folder->task);
}

static void folder_unlock(struct folder *folder)
{
	thrum_lock_released(folder->task);
	pthread_mutex_unlock(&folder->mutex);
}

static void move_mail(struct folder *from, struct folder *to)
{
	struct folder *first = from, *second = to;

	if (!broken && first > second) {
		first = to;
		second = from;
	}
	folder_lock(first);
	usleep(300); /* reads the header */
	folder_lock(second);
	from->mails--;
	to->mails++;
	usleep(300); /* writes both indexes */
	folder_unlock(second);
	folder_unlock(first);
}

static void *run_mover(void *data)
{
	const struct mover *mover = data;

	thrum_lane_name(mover->name);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < ROUNDS; i++) {
		move_mail(mover->from, mover->to);
		usleep(100);
	}
	return NULL;
}

/* Counts the mails of the inbox now and then. */
static void *run_indexer(void *unused)
{
	long sum = 0;

	(void)unused;
	thrum_lane_name("indexer");
	for (int i = 0; i < 20; i++) {
		usleep(10000);
		folder_lock(&inbox);
		sum += inbox.mails;
		folder_unlock(&inbox);
	}
	printf("%ld mails on average\n", sum / 20);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct mover movers[] = {
		{"archiver", &inbox, &archive},
		{"restorer", &archive, &inbox},
	};
	pthread_t threads[2], indexer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	inbox.task = thrum_task_create(THRUM_KIND_LOCK, "inbox");
	archive.task = thrum_task_create(THRUM_KIND_LOCK, "archive");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_mover, (void *)(uintptr_t)&movers[i]);
	pthread_create(&indexer, NULL, run_indexer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_join(indexer, NULL);
	printf("inbox %d, archive %d\n", inbox.mails, archive.mails);
	return 0;
}
