/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: memcached pull request #920 ("Race leads to deadlock during shutdown"): logger_stop signals
 *     logger_stack_cond without taking logger_stack_lock. The logger thread has looked at do_run_logger already and
 *     is still writing entries, so nobody hears that signal. Then it waits for another one for ever, and the
 *     main thread, which joins it, hangs too. The thread that reports statistics goes on.
 *   culprit: logger_stack_cond|logger_stop
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A cache whose workers leave entries for a logger thread. The logger is stopped and started again when its
 * file is rotated, and stopped at the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 2
#define ENTRIES 64

struct entry {
	int worker;
	int request;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	int pending; /* requests that no worker has taken yet */
	int served;
	bool closed;
} requests = {.lock = PTHREAD_MUTEX_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t logger_stack_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t logger_stack_cond = PTHREAD_COND_INITIALIZER;
static struct entry entries[ENTRIES];
static int entry_count;
static int written;
static atomic_bool do_run_logger;
static atomic_bool quiet; /* ends the statistics */
static bool careful;
static pthread_t logger_id;
static FILE *log_file;

static void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* Called with the lock: entries and the file belong to the one who has it. */
static void logger_write_entries(void)
{
	for (int i = 0; i < entry_count; i++) {
		fprintf(log_file, "worker %d request %d\n", entries[i].worker, entries[i].request);
		sleep_ms(20); /* a slow disk */
		written++;
	}
	fflush(log_file);
	entry_count = 0;
}

static void *logger_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "logger");
	pthread_mutex_lock(&logger_stack_lock);
	while (atomic_load(&do_run_logger)) {
		logger_write_entries();
		pthread_cond_wait(&logger_stack_cond, &logger_stack_lock);
	}
	logger_write_entries();
	pthread_mutex_unlock(&logger_stack_lock);
	return NULL;
}

static void logger_start(void)
{
	atomic_store(&do_run_logger, true);
	pthread_create(&logger_id, NULL, logger_thread, NULL);
}

static void logger_stop(void)
{
	if (careful)
		pthread_mutex_lock(&logger_stack_lock);
	atomic_store(&do_run_logger, false);
	pthread_cond_signal(&logger_stack_cond);
	if (careful)
		pthread_mutex_unlock(&logger_stack_lock);
	pthread_join(logger_id, NULL);
}

static void logger_add(int worker, int request)
{
	pthread_mutex_lock(&logger_stack_lock);
	if (entry_count < ENTRIES) {
		entries[entry_count].worker = worker;
		entries[entry_count].request = request;
		entry_count++;
	}
	pthread_mutex_unlock(&logger_stack_lock);
}

/* Tells the logger that there is something to write. */
static void logger_kick(void)
{
	pthread_mutex_lock(&logger_stack_lock);
	pthread_cond_signal(&logger_stack_cond);
	pthread_mutex_unlock(&logger_stack_lock);
}

static void *worker_thread(void *data)
{
	int id = *(int *)data;
	char name[16];

	snprintf(name, sizeof name, "worker %d", id);
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		int request;

		pthread_mutex_lock(&requests.lock);
		while (!requests.pending && !requests.closed)
			pthread_cond_wait(&requests.ready, &requests.lock);
		if (!requests.pending) {
			pthread_mutex_unlock(&requests.lock);
			return NULL;
		}
		requests.pending--;
		request = ++requests.served;
		pthread_mutex_unlock(&requests.lock);
		sleep_ms(2); /* look it up, and answer */
		logger_add(id, request);
	}
}

static void *statistics_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "statistics");
	while (!atomic_load(&quiet)) {
		pthread_mutex_lock(&requests.lock);
		if (requests.served < 0)
			abort();
		pthread_mutex_unlock(&requests.lock);
		sleep_ms(50);
	}
	return NULL;
}

static void serve(int count)
{
	pthread_mutex_lock(&requests.lock);
	requests.pending += count;
	pthread_cond_broadcast(&requests.ready);
	pthread_mutex_unlock(&requests.lock);
	sleep_ms(60);
}

int main(int argc, char **argv)
{
	static int ids[WORKERS] = {1, 2};
	pthread_t workers[WORKERS];
	pthread_t statistics;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	log_file = fopen("/dev/null", "w");
	if (!log_file)
		return 1;
	logger_start();
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker_thread, &ids[i]);
	pthread_create(&statistics, NULL, statistics_thread, NULL);

	for (int day = 0; day < 3; day++) {
		serve(4);
		logger_kick();
		sleep_ms(250);
		logger_stop(); /* rotate the file */
		logger_start();
		sleep_ms(50);
	}
	serve(8);
	logger_kick();
	sleep_ms(40);

	logger_stop();
	pthread_mutex_lock(&requests.lock);
	requests.closed = true;
	pthread_cond_broadcast(&requests.ready);
	pthread_mutex_unlock(&requests.lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	atomic_store(&quiet, true);
	pthread_join(statistics, NULL);
	printf("served %d, wrote %d lines\n", requests.served, written);
	fclose(log_file);
	return 0;
}
