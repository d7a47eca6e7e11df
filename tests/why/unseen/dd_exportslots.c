/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="thread serve_page"
 *   truth: The slowest serve_page waits for a place of read_slots, because export_tables (the nightly export) takes all four places and keeps them until each of its tables is written.
 *   culprit: export_tables|export_table|nightly
 *   victim: serve_page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A web server with four places for reads of the database. A nightly export uses the same places, a thread for
 * each table.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 4
#define PAGES 24
#define TABLES 4

static bool broken;
static sem_t read_slots, export_slot, export_reads;
static long rows_read;

static void read_rows(int count)
{
	struct timespec time = {.tv_nsec = 1000000};

	for (int i = 0; i < count; i++)
		nanosleep(&time, NULL);
	__atomic_fetch_add(&rows_read, count, __ATOMIC_RELAXED);
}

static void take(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		continue;
}

static void *serve_page(void *rows)
{
	take(&read_slots);
	read_rows((int)(size_t)rows);
	sem_post(&read_slots);
	return NULL;
}

/* The healthy export uses one place at a time, and gives it back after each part of a table. */
static void *export_table(void *rows)
{
	int count = (int)(size_t)rows, part = broken ? count : 10;

	for (int done = 0; done < count; done += part) {
		if (!broken)
			take(&export_slot);
		take(&read_slots);
		sem_post(&export_reads);
		read_rows(part);
		sem_post(&read_slots);
		if (!broken)
			sem_post(&export_slot);
	}
	return NULL;
}

static void *export_tables(void *unused)
{
	pthread_t threads[TABLES];

	for (size_t i = 0; i < TABLES; i++)
		if (pthread_create(&threads[i], NULL, export_table,
			    (void *)(broken ? 200 + 20 * i : 40)))
			exit(1);
	for (int i = 0; i < TABLES; i++)
		pthread_join(threads[i], NULL);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t pages[PAGES], export;
	struct timespec time = {.tv_nsec = 8000000};

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	sem_init(&read_slots, 0, SLOTS);
	sem_init(&export_slot, 0, 1);
	sem_init(&export_reads, 0, 0);
	for (size_t i = 0; i < PAGES; i++) {
		if (i == PAGES / 3) {
			/* It is three o'clock. */
			if (pthread_create(&export, NULL, export_tables, NULL))
				return 1;
			pthread_setname_np(export, "nightly");
			for (int reads = 0; reads < (broken ? TABLES : 1); reads++)
				take(&export_reads);
		}
		if (pthread_create(&pages[i], NULL, serve_page, (void *)(3 + i % 3)))
			return 1;
		nanosleep(&time, NULL);
	}
	for (int i = 0; i < PAGES; i++)
		pthread_join(pages[i], NULL);
	pthread_join(export, NULL);
	printf("%ld rows\n", rows_read);
	return 0;
}
