/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread “import” returns from import_batch without giving its connection back when a batch is malformed; after three such batches all permits of the semaphore are gone, and the web workers wait for a connection for ever.
 *   culprit: import
 *   victim: web-\d|serve_pages
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A shop: web workers and a nightly import share three database connections. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 3
#define WORKERS 4
#define PAGES 90

struct batch {
	const char *file, *rows;
};

static const struct batch batches[] = {
	{"prices-01.csv", "apple;3 pear;4 plum;2"},
	{"prices-02.csv", "fig;7 date;9"},
	{"prices-03.csv", "lime:2 lemon;3"},
	{"prices-04.csv", "kiwi;1"},
	{"prices-05.csv", "mango:5"},
	{"prices-06.csv", "melon;8 cherry:6"},
};

static sem_t connections;
static bool tidy;
static atomic_bool closing;
static atomic_int pages_served, rows_imported, batches_refused;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool shop_open;

static void pause_us(long microseconds)
{
	struct timespec time = {0, microseconds * 1000};

	nanosleep(&time, NULL);
}

static void connection_take(void)
{
	while (sem_wait(&connections))
		continue;
}

static void connection_give_back(void)
{
	sem_post(&connections);
}

/* Returns the number of rows, or -1 if the batch can't be parsed. */
static int import_batch(const struct batch *batch)
{
	char copy[64], *row, *state;
	int rows = 0;

	snprintf(copy, sizeof(copy), "%s", batch->rows);
	connection_take();
	for (row = strtok_r(copy, " ", &state); row; row = strtok_r(NULL, " ", &state)) {
		if (!strchr(row, ';')) {
			if (tidy)
				connection_give_back();
			return -1;
		}
		pause_us(1500); /* INSERT */
		rows++;
	}
	connection_give_back();
	return rows;
}

static void open_shop(void)
{
	pthread_mutex_lock(&open_lock);
	shop_open = true;
	pthread_cond_broadcast(&opened);
	pthread_mutex_unlock(&open_lock);
}

/* Imports the batches of the night, then looks for new ones until the shop closes. */
static void *run_imports(void *data)
{
	int rows;

	pthread_setname_np(pthread_self(), "import");
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		pause_us(12000); /* the next file comes */
		rows = import_batch(&batches[i]);
		if (rows < 0) {
			batches_refused++;
			fprintf(stderr, "%s: malformed, skipped\n", batches[i].file);
		} else {
			rows_imported += rows;
		}
		if (i == 1)
			open_shop();
	}
	while (!closing)
		pause_us(15000);
	return NULL;
}

static void query(unsigned *seed)
{
	connection_take();
	pause_us(500 + rand_r(seed) % 3000);
	connection_give_back();
}

static void *serve_pages(void *data)
{
	unsigned seed = (unsigned)(size_t)data;
	char name[16];

	snprintf(name, sizeof(name), "web-%u", seed);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&open_lock);
	while (!shop_open)
		pthread_cond_wait(&opened, &open_lock);
	pthread_mutex_unlock(&open_lock);
	for (int i = 0; i < PAGES; i++) {
		query(&seed);
		if (i % 8 == 0)
			query(&seed);                /* the cart, too */
		pause_us(300 + rand_r(&seed) % 700); /* render */
		pages_served++;
	}
	return NULL;
}

static void *report_load(void *data)
{
	pthread_setname_np(pthread_self(), "stats");
	while (!closing) {
		pause_us(50000);
		fprintf(stderr, "%d pages, %d rows\n", pages_served, rows_imported);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], import, stats;

	tidy = argc < 2 || strcmp(argv[1], "broken");
	sem_init(&connections, 0, CONNECTIONS);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, serve_pages, (void *)(i + 1));
	pthread_create(&import, NULL, run_imports, NULL);
	pthread_create(&stats, NULL, report_load, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	closing = true;
	pthread_join(import, NULL);
	pthread_join(stats, NULL);
	return pages_served == WORKERS * PAGES ? 0 : 1;
}
