/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The actor “indexer” waits for the letter FLUSHED and takes no pages meanwhile, so the crawlers
 *     fill its inbox. The actor “archive” then can't put FLUSHED into that inbox: the two wait for
 *     each other.
 *   culprit: indexer|archive
 *   victim: crawler|crawl
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A crawler of actors. An actor is a thread with a small inbox, and may wait for a letter of one kind. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define ROOM 8
#define RESERVE 2 /* places for answers */
#define CRAWLERS 3
#define PAGES 20

enum kind {
	ANY,
	PAGE,
	FLUSH,
	FLUSHED,
	END
};

struct letter {
	enum kind kind;
	int number;
};

struct inbox {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct letter letters[ROOM + RESERVE];
	int count, readers;
	thrum_task task;
};

static struct inbox pages = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static struct inbox orders = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static bool fixed;
static int indexed, flushes;

static void milliseconds(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

/* The caller holds the mutex. */
static void inbox_wait(struct inbox *inbox)
{
	thrum_task_wait(thrum_task_current(), inbox->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&inbox->changed, &inbox->mutex);
	thrum_resume();
}

static void inbox_put(struct inbox *inbox, enum kind kind, int number)
{
	int room = ROOM + (fixed && kind == FLUSHED ? RESERVE : 0);

	pthread_mutex_lock(&inbox->mutex);
	while (inbox->count >= room)
		inbox_wait(inbox);
	inbox->letters[inbox->count++] = (struct letter){kind, number};
	thrum_task_signal(inbox->task, (unsigned)inbox->readers);
	pthread_cond_broadcast(&inbox->changed);
	pthread_mutex_unlock(&inbox->mutex);
}

/* Returns the place of the first letter of that kind, or -1. */
static int inbox_find(const struct inbox *inbox, enum kind kind)
{
	for (int i = 0; i < inbox->count; i++)
		if (kind == ANY || inbox->letters[i].kind == kind)
			return i;
	return -1;
}

static struct letter inbox_take(struct inbox *inbox, enum kind kind)
{
	struct letter letter;
	int place;

	pthread_mutex_lock(&inbox->mutex);
	inbox->readers++;
	while ((place = inbox_find(inbox, kind)) < 0)
		inbox_wait(inbox);
	inbox->readers--;
	letter = inbox->letters[place];
	inbox->count--;
	memmove(&inbox->letters[place], &inbox->letters[place + 1],
		(size_t)(inbox->count - place) * sizeof(letter));
	thrum_task_read(thrum_task_current(), inbox->task);
	pthread_cond_broadcast(&inbox->changed);
	pthread_mutex_unlock(&inbox->mutex);
	return letter;
}

static void *archive_main(void *data)
{
	struct letter order;

	(void)data;
	thrum_lane_name("archive");
	while ((order = inbox_take(&orders, ANY)).kind != END) {
		milliseconds(12); /* compresses and writes a segment */
		inbox_put(&pages, FLUSHED, order.number);
	}
	return NULL;
}

static void *indexer_main(void *data)
{
	(void)data;
	thrum_lane_name("indexer");
	while (inbox_take(&pages, ANY).kind != END) {
		milliseconds(1);
		if (++indexed % 12)
			continue;
		inbox_put(&orders, FLUSH, flushes);
		inbox_take(&pages, FLUSHED);
		flushes++;
	}
	inbox_put(&orders, END, 0);
	return NULL;
}

static void *crawler_main(void *data)
{
	int first = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "crawler %d", first);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < PAGES; i++) {
		if (i % 5 == 4)
			milliseconds(1);
		inbox_put(&pages, PAGE, first + i * CRAWLERS);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t crawlers[CRAWLERS], indexer, archive;
	int numbers[CRAWLERS];
	thrum_task crawl;

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	pages.task = thrum_task_create(THRUM_KIND_MAILBOX, "inbox 0");
	orders.task = thrum_task_create(THRUM_KIND_MAILBOX, "inbox 1");
	crawl = thrum_task_create(THRUM_KIND_TASK, "crawl of example.org");
	thrum_task_should_resolve(crawl);
	pthread_create(&archive, NULL, archive_main, NULL);
	pthread_create(&indexer, NULL, indexer_main, NULL);
	for (int i = 0; i < CRAWLERS; i++) {
		numbers[i] = i;
		pthread_create(&crawlers[i], NULL, crawler_main, &numbers[i]);
	}
	THRUM_RUN (crawl) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		for (int i = 0; i < CRAWLERS; i++)
			pthread_join(crawlers[i], NULL);
		thrum_resume();
		inbox_put(&pages, END, 0);
		thrum_task_resolve(crawl);
	}
	pthread_join(indexer, NULL);
	pthread_join(archive, NULL);
	thrum_stop();
	printf("indexed %d pages in %d segments\n", indexed, flushes);
	return 0;
}
