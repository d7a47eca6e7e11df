/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: Printers and applications wait for the same condition `moved` of the spool, but spool_put and spool_get
 *     wake only one waiter. Sooner or later the wake-up goes to one of the same kind, who sleeps again, and all sleep.
 *   culprit: moved|spool_put|spool_get
 *   victim: main\b|status
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A print spooler: applications put pages into a short queue, printers take them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 2
#define APPLICATIONS 5
#define PRINTERS 5
#define PAGES 40000

struct page {
	int application, number;
};

static struct spool {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct page pages[ROOM];
	int first, count;
	bool closed;
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static bool wake_all;
static unsigned long printed;
static bool over;

static void spool_moved(void)
{
	if (wake_all)
		pthread_cond_broadcast(&spool.moved);
	else
		pthread_cond_signal(&spool.moved);
}

static void spool_put(struct page page)
{
	pthread_mutex_lock(&spool.lock);
	while (spool.count == ROOM)
		pthread_cond_wait(&spool.moved, &spool.lock);
	spool.pages[(spool.first + spool.count++) % ROOM] = page;
	spool_moved();
	pthread_mutex_unlock(&spool.lock);
}

static bool spool_get(struct page *page)
{
	pthread_mutex_lock(&spool.lock);
	while (!spool.count && !spool.closed)
		pthread_cond_wait(&spool.moved, &spool.lock);
	if (!spool.count) {
		pthread_mutex_unlock(&spool.lock);
		return false;
	}
	*page = spool.pages[spool.first];
	spool.first = (spool.first + 1) % ROOM;
	spool.count--;
	spool_moved();
	pthread_mutex_unlock(&spool.lock);
	return true;
}

static void spool_close(void)
{
	pthread_mutex_lock(&spool.lock);
	spool.closed = true;
	pthread_cond_broadcast(&spool.moved);
	pthread_mutex_unlock(&spool.lock);
}

static void *application(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof name, "app-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < PAGES / APPLICATIONS; i++)
		spool_put((struct page){number, i});
	return NULL;
}

static void *printer(void *data)
{
	struct page page;
	char name[16];

	snprintf(name, sizeof name, "printer-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	while (spool_get(&page))
		__atomic_add_fetch(&printed, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *status(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "status");
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		usleep(50000);
		printf("\r%lu pages", __atomic_load_n(&printed, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t applications[APPLICATIONS], printers[PRINTERS], reporter;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	wake_all = !strcmp(argv[1], "healthy");
	pthread_create(&reporter, NULL, status, NULL);
	for (long i = 0; i < PRINTERS; i++)
		pthread_create(&printers[i], NULL, printer, (void *)i);
	for (long i = 0; i < APPLICATIONS; i++)
		pthread_create(&applications[i], NULL, application, (void *)i);
	for (int i = 0; i < APPLICATIONS; i++)
		pthread_join(applications[i], NULL);
	spool_close();
	for (int i = 0; i < PRINTERS; i++)
		pthread_join(printers[i], NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(reporter, NULL);
	printf("\n%lu pages printed\n", printed);
	return printed == PAGES ? EXIT_SUCCESS : EXIT_FAILURE;
}
