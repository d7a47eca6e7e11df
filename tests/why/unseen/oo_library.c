/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=find-Melville
 *   truth: The task "export csv" keeps its read lock of the catalogue while it sends the list to a slow
 *     printer. A writer queues behind it, and the lock prefers writers, so the search waits too. The
 *     export should copy the titles and release the lock before it prints.
 *   culprit: export csv
 *   victim: find-Melville
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

/* The catalogue of a library: the desks search it, loans change it, the back office prints it. */

enum {
	TITLES = 400,
	DESKS = 3,
	SEARCHES = 40,
	LOANS = 12,
	PAGES = 22
};

static struct {
	pthread_rwlock_t lock;
	thrum_task task;
	char titles[TITLES][32];
	int lent[TITLES];
} catalogue;
static thrum_task printer;
static bool copy_first;

static void nap(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (nanosleep(&time, &time))
		continue;
	thrum_resume();
}

static void catalogue_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&catalogue.lock)
		     : pthread_rwlock_tryrdlock(&catalogue.lock)) {
		thrum_task_wait(thrum_task_current(), catalogue.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&catalogue.lock);
		else
			pthread_rwlock_rdlock(&catalogue.lock);
		thrum_resume();
	}
	thrum_lock_acquired(catalogue.task);
}

static void catalogue_unlock(void)
{
	thrum_lock_released(catalogue.task);
	pthread_rwlock_unlock(&catalogue.lock);
}

static int search(const char *author)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "find-%s", author);
	int found = 0;

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		catalogue_lock(false);
		for (int i = 0; i < TITLES; i++)
			found += strstr(catalogue.titles[i], author) && !catalogue.lent[i];
		catalogue_unlock();
		thrum_task_resolve(task);
	}
	return found;
}

static void *desk(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "desk %d", number);
	thrum_lane_name(name);
	for (int i = 0; i < SEARCHES; i++) {
		search(i % 2 ? "Austen" : "Bronte");
		nap(6 + number);
	}
	return NULL;
}

/* A reader looks for a book at the terminal by the door. */
static void *terminal(void *data)
{
	thrum_lane_name("terminal");
	nap(120);
	*(int *)data = search("Melville");
	return NULL;
}

static void *loans(void *data)
{
	(void)data;
	thrum_lane_name("loans");
	for (int i = 0; i < LOANS; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "renew loan %d", i);

		nap(20);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			catalogue_lock(true);
			catalogue.lent[i * 31 % TITLES] ^= 1;
			nap(1);
			catalogue_unlock();
			thrum_task_resolve(task);
		}
	}
	return NULL;
}

/* The printer takes a page of titles every ten milliseconds. */
static void print_page(int page)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "page %d", page);

	thrum_task_wait(request, printer);
	thrum_task_wait(thrum_task_current(), request);
	nap(10);
	thrum_task_read(request, printer);
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
}

static void *back_office(void *data)
{
	static char copy[TITLES][32];
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "export csv");

	(void)data;
	thrum_lane_name("back office");
	thrum_task_should_resolve(task);
	nap(70);
	THRUM_RUN (task) {
		catalogue_lock(false);
		memcpy(copy, catalogue.titles, sizeof(copy));
		if (copy_first)
			catalogue_unlock();
		for (int page = 0; page < PAGES; page++)
			print_page(page);
		if (!copy_first)
			catalogue_unlock();
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	int numbers[DESKS], found = 0;
	pthread_t desks[DESKS], reader, clerk, office;
	pthread_rwlockattr_t attributes;

	if (count != 2)
		return 2;
	copy_first = strcmp(arguments[1], "healthy") == 0;
	if (thrum_start(NULL))
		return 1;
	pthread_rwlockattr_init(&attributes);
	/* Loans must not starve behind the desks. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&catalogue.lock, &attributes);
	catalogue.task = thrum_task_create(THRUM_KIND_LOCK, "catalogue");
	printer = thrum_task_create(THRUM_KIND_HANDLE, "printer");
	for (int i = 0; i < TITLES; i++)
		snprintf(catalogue.titles[i], sizeof(catalogue.titles[i]), "Title %d by Melville",
			i);
	for (int i = 0; i < DESKS; i++) {
		numbers[i] = i;
		pthread_create(&desks[i], NULL, desk, &numbers[i]);
	}
	pthread_create(&reader, NULL, terminal, &found);
	pthread_create(&clerk, NULL, loans, NULL);
	pthread_create(&office, NULL, back_office, NULL);
	for (int i = 0; i < DESKS; i++)
		pthread_join(desks[i], NULL);
	pthread_join(reader, NULL);
	pthread_join(clerk, NULL);
	pthread_join(office, NULL);
	thrum_stop();
	printf("%d books by Melville are on the shelves\n", found);
	return found == 0;
}
