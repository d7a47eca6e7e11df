/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: scanner_stop sets `stopping` and then wakes only one of the four idle scanners, by pthread_cond_signal
 *     where it must be a broadcast. The others sleep for ever, and main waits in pthread_join.
 *   culprit: scanner_stop|pthread_cond_signal|work_ready
 *   victim: main\b|quarantine
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A virus scanner: threads take files from a queue. It is stopped when all files are done; the quarantine goes on. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SCANNERS = 4,
	FILES = 60
};

struct file {
	int number;
	struct file *next;
};

struct scanner {
	pthread_mutex_t lock;
	pthread_cond_t work_ready; /* a file was queued, or the scanner stops */
	pthread_cond_t all_done;
	struct file *first, **last;
	int unfinished, infected;
	bool stopping;
	pthread_t threads[SCANNERS];
};

static bool broken;
static struct scanner scanner = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work_ready = PTHREAD_COND_INITIALIZER,
	.all_done = PTHREAD_COND_INITIALIZER,
	.last = &scanner.first,
};
static atomic_int quarantined;
static atomic_bool leaving;

static bool scan_file(const struct file *file)
{
	usleep(1000 + (useconds_t)(file->number % 7) * 500);
	return file->number % 13 == 0;
}

static void *scan(void *data)
{
	char name[16];
	struct file *file;

	snprintf(name, sizeof(name), "scan-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&scanner.lock);
	for (;;) {
		while (!scanner.first && !scanner.stopping)
			pthread_cond_wait(&scanner.work_ready, &scanner.lock);
		if (!scanner.first)
			break;
		file = scanner.first;
		scanner.first = file->next;
		if (!scanner.first)
			scanner.last = &scanner.first;
		pthread_mutex_unlock(&scanner.lock);
		bool is_infected = scan_file(file);
		free(file);
		pthread_mutex_lock(&scanner.lock);
		scanner.infected += is_infected;
		if (--scanner.unfinished == 0)
			pthread_cond_signal(&scanner.all_done);
	}
	pthread_mutex_unlock(&scanner.lock);
	return NULL;
}

static void scanner_start(void)
{
	for (long i = 0; i < SCANNERS; i++)
		pthread_create(&scanner.threads[i], NULL, scan, (void *)i);
}

static void scanner_add(int number)
{
	struct file *file = calloc(1, sizeof(*file));

	file->number = number;
	pthread_mutex_lock(&scanner.lock);
	*scanner.last = file;
	scanner.last = &file->next;
	scanner.unfinished++;
	pthread_cond_signal(&scanner.work_ready);
	pthread_mutex_unlock(&scanner.lock);
}

static void scanner_finish(void)
{
	pthread_mutex_lock(&scanner.lock);
	while (scanner.unfinished > 0)
		pthread_cond_wait(&scanner.all_done, &scanner.lock);
	pthread_mutex_unlock(&scanner.lock);
}

static void scanner_stop(void)
{
	pthread_mutex_lock(&scanner.lock);
	scanner.stopping = true;
	if (broken)
		pthread_cond_signal(&scanner.work_ready);
	else
		pthread_cond_broadcast(&scanner.work_ready);
	pthread_mutex_unlock(&scanner.lock);
	for (int i = 0; i < SCANNERS; i++)
		pthread_join(scanner.threads[i], NULL);
}

static void *quarantine_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "quarantine");
	while (!leaving) {
		usleep(15000);
		quarantined++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t quarantine;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_create(&quarantine, NULL, quarantine_main, NULL);
	scanner_start();
	for (int i = 0; i < FILES; i++) {
		scanner_add(i);
		if (i % 20 == 19)
			usleep(20000); /* the next folder */
	}
	scanner_finish();
	usleep(50000); /* writes the report */
	scanner_stop();
	leaving = true;
	pthread_join(quarantine, NULL);
	printf("%d of %d infected, %d looked after\n", scanner.infected, FILES, quarantined);
	return 0;
}
