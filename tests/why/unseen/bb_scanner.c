/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: run_scanner returns when an archive is damaged (files 6, 11 and 17) instead of going on with the
 *     next file: the threads "scanner 1" to "scanner 3" end one after the other, and nobody takes the files
 *     that are still queued.
 *   culprit: scanner [123]\b.*[Ee]nds?\b|[Ee]nds?\b.*scanner [123]\b|run_scanner
 *   victim: file [0-9]+|main|scan folder
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A virus scanner: a pool of threads scans the files of a folder. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define SCANNERS 3
#define FILES 32

enum verdict {
	UNKNOWN,
	CLEAN,
	INFECTED,
	DAMAGED
};

struct file {
	int number;
	enum verdict verdict;
	thrum_task task;
	struct file *next;
};

struct scanner {
	pthread_t thread;
	int number, scanned;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t queued, finished;
	struct file *first, **last;
	int done;
	bool is_closed, is_strict;
	struct file files[FILES];
	struct scanner scanners[SCANNERS];
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.queued = PTHREAD_COND_INITIALIZER,
	.finished = PTHREAD_COND_INITIALIZER,
	.last = &pool.first};

static void pause_ms(int ms)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep((useconds_t)ms * 1000);
	thrum_resume();
}

static enum verdict scan_file(const struct file *file)
{
	pause_ms(4);
	if (file->number == 6 || file->number == 11 || file->number == 17)
		return DAMAGED;
	pause_ms(4 + file->number % 3);
	return file->number == 21 ? INFECTED : CLEAN;
}

/* Returns the next file; NULL when there is none, and none will come. */
static struct file *next_file(void)
{
	struct file *file;

	pthread_mutex_lock(&pool.mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!pool.first && !pool.is_closed)
		pthread_cond_wait(&pool.queued, &pool.mutex);
	thrum_resume();
	file = pool.first;
	if (file) {
		pool.first = file->next;
		if (!pool.first)
			pool.last = &pool.first;
	}
	pthread_mutex_unlock(&pool.mutex);
	return file;
}

static void finish_file(struct file *file, enum verdict verdict)
{
	pthread_mutex_lock(&pool.mutex);
	file->verdict = verdict;
	pool.done++;
	pthread_cond_signal(&pool.finished);
	pthread_mutex_unlock(&pool.mutex);
}

static void *run_scanner(void *data)
{
	struct scanner *scanner = data;
	struct file *file;
	char name[16];

	snprintf(name, sizeof(name), "scanner %d", scanner->number);
	thrum_lane_name(name);
	while ((file = next_file())) {
		enum verdict verdict = UNKNOWN;

		THRUM_RUN (file->task)
			verdict = scan_file(file);
		thrum_task_resolve(file->task);
		finish_file(file, verdict);
		if (verdict == DAMAGED) {
			fprintf(stderr, "file %d: can't unpack\n", file->number);
			if (pool.is_strict)
				return NULL;
			continue;
		}
		scanner->scanned++;
	}
	return NULL;
}

static void queue_file(struct file *file)
{
	file->task = thrum_task_createf(THRUM_KIND_TASK, "file %d", file->number);
	thrum_task_should_resolve(file->task);
	pthread_mutex_lock(&pool.mutex);
	file->next = NULL;
	*pool.last = file;
	pool.last = &file->next;
	thrum_task_ready(file->task);
	pthread_cond_signal(&pool.queued);
	pthread_mutex_unlock(&pool.mutex);
}

static void wait_for_files(void)
{
	pthread_mutex_lock(&pool.mutex);
	while (pool.done < FILES) {
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&pool.finished, &pool.mutex);
		thrum_resume();
	}
	pool.is_closed = true;
	pthread_cond_broadcast(&pool.queued);
	pthread_mutex_unlock(&pool.mutex);
}

static void scan_folder(void)
{
	for (int i = 0; i < FILES; i++) {
		pool.files[i].number = i;
		queue_file(&pool.files[i]);
		if (i % 4 == 3)
			pause_ms(9);
	}
	wait_for_files();
}

int main(int argc, char **argv)
{
	int scanned = 0;

	if (argc != 2 || thrum_start(NULL))
		return 2;
	pool.is_strict = strcmp(argv[1], "healthy") != 0;
	for (int i = 0; i < SCANNERS; i++) {
		pool.scanners[i].number = i + 1;
		pthread_create(&pool.scanners[i].thread, NULL, run_scanner, &pool.scanners[i]);
	}
	scan_folder();
	thrum_stop();
	for (int i = 0; i < SCANNERS; i++) {
		pthread_join(pool.scanners[i].thread, NULL);
		scanned += pool.scanners[i].scanned;
	}
	printf("%d of %d files scanned\n", scanned, FILES);
	return 0;
}
