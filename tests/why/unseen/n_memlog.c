/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_threads sets the stop flag and signals logger_stack_cond without its lock while the logger
 *     still writes its batch; the signal finds nobody, the logger then waits for ever, and so do main, which
 *     joins it, and the workers, which want worker_hang_lock.
 *   culprit: logger_stack_cond|stack_cond|logger_thread|mc-logger
 *   victim: mc-worker|worker_libevent|worker_hang_lock|join
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about memcached: after SIGTERM the process sometimes hangs, as the logger thread is
 * signalled without its lock and misses the signal.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 3
#define LINES 12

static pthread_mutex_t logger_stack_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t logger_stack_cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t worker_hang_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t loaded;
static atomic_bool run_logger = true;
static atomic_bool stopping;
static atomic_bool writing_last;
static int lines_queued, lines_written;
static bool healthy;

/* Writes the lines to a slow disk. The last batch is still under way when the shutdown begins. */
static void write_batch(int count)
{
	usleep(500 * (useconds_t)count);
	lines_written += count;
	if (lines_written < WORKERS * LINES)
		return;
	atomic_store(&writing_last, true);
	while (!atomic_load(&stopping))
		usleep(2000);
}

static void *logger_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "mc-logger");
	pthread_mutex_lock(&logger_stack_lock);
	while (atomic_load(&run_logger)) {
		int count = lines_queued;

		lines_queued = 0;
		if (count > 0) {
			pthread_mutex_unlock(&logger_stack_lock);
			write_batch(count);
			pthread_mutex_lock(&logger_stack_lock);
			/* The healthy logger looks at the flag again. */
			if (healthy)
				continue;
		}
		if (lines_queued == 0)
			pthread_cond_wait(&logger_stack_cond, &logger_stack_lock);
	}
	pthread_mutex_unlock(&logger_stack_lock);
	return NULL;
}

static void log_line(void)
{
	pthread_mutex_lock(&logger_stack_lock);
	lines_queued++;
	pthread_cond_signal(&logger_stack_cond);
	pthread_mutex_unlock(&logger_stack_lock);
}

static void *worker_libevent(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "mc-worker");
	for (int i = 0; i < LINES; i++) {
		usleep(1000);
		log_line();
	}
	pthread_barrier_wait(&loaded);
	/* The worker parks behind this lock until the shutdown is over. */
	pthread_mutex_lock(&worker_hang_lock);
	pthread_mutex_unlock(&worker_hang_lock);
	return NULL;
}

static void stop_threads(pthread_t logger)
{
	if (healthy)
		pthread_mutex_lock(&logger_stack_lock);
	atomic_store(&run_logger, false);
	pthread_cond_signal(&logger_stack_cond);
	if (healthy)
		pthread_mutex_unlock(&logger_stack_lock);
	atomic_store(&stopping, true);
	pthread_join(logger, NULL);
}

int main(int argc, char **argv)
{
	pthread_t logger, workers[WORKERS];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_barrier_init(&loaded, NULL, WORKERS + 1);
	pthread_mutex_lock(&worker_hang_lock);
	pthread_create(&logger, NULL, logger_thread, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker_libevent, NULL);
	pthread_barrier_wait(&loaded);
	while (!atomic_load(&writing_last))
		usleep(2000);
	stop_threads(logger);
	pthread_mutex_unlock(&worker_hang_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d lines\n", lines_written);
	return 0;
}
