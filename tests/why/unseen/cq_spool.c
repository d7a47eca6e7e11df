/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Printers and clerks wait for the same condition, spool.changed. tell_changed wakes only one
 *     of them by pthread_cond_signal. When a printer has taken a page, its signal wakes the other idle
 *     printer and no clerk. The woken printer finds an empty spool and waits again, so the clerks' wake-up
 *     is lost and all five threads wait. The fix is a broadcast, or a condition for each of the two
 *     duties.
 *   culprit: tell_changed|(woke|wakes|woken|went to|taken by).*printer
 *   victim: wait_for_slot|wait_for_page|clerk|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A print spooler with one slot: three clerks put pages into it, two printers take them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	CLERKS = 3,
	PRINTERS = 2,
	LETTERS = 8,   /* single pages, in the course of the day */
	CONTRACTS = 4, /* in the evening, in two copies */
	COPIES = 2
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int page; /* 0: the slot is free */
	bool closed;
} spool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool broken;
static int printed[PRINTERS];

/* The caller holds the lock, as in the next three. */
static void __attribute__((noinline)) tell_changed(void)
{
	if (broken)
		pthread_cond_signal(&spool.changed);
	else
		pthread_cond_broadcast(&spool.changed);
}

static void __attribute__((noinline)) wait_for_slot(void)
{
	while (spool.page)
		pthread_cond_wait(&spool.changed, &spool.lock);
}

static bool __attribute__((noinline)) wait_for_page(void)
{
	while (!spool.page && !spool.closed)
		pthread_cond_wait(&spool.changed, &spool.lock);
	return spool.page;
}

static void put_page(int page)
{
	wait_for_slot();
	spool.page = page;
	tell_changed();
}

/* Returns 0 when the spool is closed. */
static int take_page(void)
{
	int page = 0;

	pthread_mutex_lock(&spool.lock);
	if (wait_for_page()) {
		page = spool.page;
		spool.page = 0;
		tell_changed();
	}
	pthread_mutex_unlock(&spool.lock);
	return page;
}

/* The copies of a document follow each other. */
static void submit(int document, int copies)
{
	pthread_mutex_lock(&spool.lock);
	for (int copy = 0; copy < copies; copy++)
		put_page(document);
	pthread_mutex_unlock(&spool.lock);
}

static void *printer(void *data)
{
	int *count = data;

	while (take_page()) {
		usleep(8000); /* paper moves */
		++*count;
	}
	return NULL;
}

static void *clerk(void *data)
{
	const int number = *(const int *)data;

	usleep(20000 * (unsigned)number);
	for (int i = 1; i <= LETTERS; i++) {
		submit(number * 100 + i, 1);
		usleep(60000);
	}
	usleep(150000 - 20000 * (unsigned)number); /* the evening is the same for all */
	for (int i = 1; i <= CONTRACTS; i++) {
		submit(number * 100 + 50 + i, COPIES);
		usleep(50000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const int numbers[CLERKS] = {1, 2, 3};
	pthread_t printers[PRINTERS], clerks[CLERKS];
	char name[16];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < PRINTERS; i++) {
		pthread_create(&printers[i], NULL, printer, &printed[i]);
		snprintf(name, sizeof(name), "printer %d", i + 1);
		pthread_setname_np(printers[i], name);
	}
	usleep(30000);
	for (int i = 0; i < CLERKS; i++) {
		pthread_create(&clerks[i], NULL, clerk, (void *)&numbers[i]);
		snprintf(name, sizeof(name), "clerk %d", i + 1);
		pthread_setname_np(clerks[i], name);
	}
	for (int i = 0; i < CLERKS; i++)
		pthread_join(clerks[i], NULL);
	pthread_mutex_lock(&spool.lock);
	spool.closed = true;
	pthread_cond_broadcast(&spool.changed);
	pthread_mutex_unlock(&spool.lock);
	for (int i = 0; i < PRINTERS; i++)
		pthread_join(printers[i], NULL);
	printf("%d pages\n", printed[0] + printed[1]);
	return 0;
}
