/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_pool queues one end mark for each configured worker, but submit_file has added a worker when
 *     the backlog was long. One worker gets no end mark and waits for ever in take_file on files_waiting,
 *     and main, which joins all workers that were started, with it.
 *   culprit: take_file|files_waiting
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Scans log files for errors with a pool of threads, which grows when it can't keep up. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONFIGURED 3
#define MOST_WORKERS 6
#define LONG_BACKLOG 6
#define QUEUE_SIZE 32

struct file {
	char name[32];
	int lines;
	bool end; /* no file, but the mark that tells a worker to end */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t files_waiting;
	struct file queue[QUEUE_SIZE];
	unsigned head, tail;
	pthread_t threads[MOST_WORKERS];
	int configured, started;
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.files_waiting = PTHREAD_COND_INITIALIZER,
	.configured = CONFIGURED,
};

static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int files, lines, errors;
} totals;

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

__attribute__((noinline)) void take_file(struct file *file)
{
	pthread_mutex_lock(&pool.lock);
	while (pool.head == pool.tail)
		pthread_cond_wait(&pool.files_waiting, &pool.lock);
	*file = pool.queue[pool.head++ % QUEUE_SIZE];
	pthread_mutex_unlock(&pool.lock);
}

__attribute__((noinline)) void scan_file(const struct file *file)
{
	unsigned seed = 2166136261u;
	const char *c;
	int i, errors = 0;

	for (c = file->name; *c; c++)
		seed = (seed ^ (unsigned char)*c) * 16777619u;
	for (i = 0; i < file->lines; i++) {
		seed = seed * 1664525u + 1013904223u;
		errors += seed >> 24 < 5;
	}
	sleep_ms(20); /* the disk */
	pthread_mutex_lock(&totals_lock);
	totals.files++;
	totals.lines += file->lines;
	totals.errors += errors;
	pthread_mutex_unlock(&totals_lock);
}

static void *run_worker(void *argument)
{
	struct file file;
	char name[16];

	snprintf(name, sizeof(name), "scan-%d", (int)(long)argument);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		take_file(&file);
		if (file.end)
			break;
		scan_file(&file);
	}
	return NULL;
}

__attribute__((noinline)) void start_worker(void)
{
	int error;

	error = pthread_create(&pool.threads[pool.started], NULL, run_worker,
		(void *)(long)pool.started);
	if (error) {
		fprintf(stderr, "scan: no thread: %s\n", strerror(error));
		exit(1);
	}
	pool.started++;
}

static void enqueue(const struct file *file)
{
	pthread_mutex_lock(&pool.lock);
	pool.queue[pool.tail++ % QUEUE_SIZE] = *file;
	pthread_cond_signal(&pool.files_waiting);
	pthread_mutex_unlock(&pool.lock);
}

__attribute__((noinline)) void submit_file(const char *name, int lines)
{
	struct file file = {.lines = lines};
	unsigned backlog;

	snprintf(file.name, sizeof(file.name), "%s", name);
	enqueue(&file);

	pthread_mutex_lock(&pool.lock);
	backlog = pool.tail - pool.head;
	pthread_mutex_unlock(&pool.lock);
	if (backlog > LONG_BACKLOG && pool.started == pool.configured)
		start_worker();
}

/* Lets the workers finish what is queued, and ends them. */
__attribute__((noinline)) void stop_pool(void)
{
	struct file end = {.end = true};
	int i;

	for (i = 0; i < pool.configured; i++)
		enqueue(&end);
	for (i = 0; i < pool.started; i++)
		pthread_join(pool.threads[i], NULL);
}

int main(int argc, char **argv)
{
	char name[32];
	int i, n, rotated;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	/* After a busy night there are rotated files beside each log. */
	rotated = strcmp(argv[1], "broken") ? 0 : 4;
	for (i = 0; i < pool.configured; i++)
		start_worker();
	for (i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "service%d.log", i);
		submit_file(name, 800 + 100 * i);
		for (n = 1; n <= rotated; n++) {
			snprintf(name, sizeof(name), "service%d.log.%d", i, n);
			submit_file(name, 2000);
		}
	}
	stop_pool();
	printf("scan: %d files, %d lines, %d errors\n", totals.files, totals.lines, totals.errors);
	return 0;
}
