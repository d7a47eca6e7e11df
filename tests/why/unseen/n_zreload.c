/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the threads that log hold env_lock for reading one over the other, so that it is never free; the
 *     lock prefers readers, and reload_conf, which wants to write, starves.
 *   culprit: log_lines|log-\d
 *   victim: reload_conf|reload
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about zlog: zlog_reload sits in pthread_rwlock_wrlock for ever while two or more threads log
 * steadily, as new readers overtake the waiting writer.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOGGERS 4

static pthread_rwlock_t env_lock;
static pthread_barrier_t all_log;
static atomic_bool reloaded;
static int level = 1;
static atomic_int lines;

/* Formats a line with the configuration and writes it to the file. */
static void write_line(void)
{
	char line[64];

	pthread_rwlock_rdlock(&env_lock);
	snprintf(line, sizeof(line), "level %d: line %d", level, atomic_fetch_add(&lines, 1));
	usleep(6000);
	pthread_rwlock_unlock(&env_lock);
}

static void *log_lines(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "log-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	/* The threads begin one after the other, so that they are out of step. */
	pthread_rwlock_rdlock(&env_lock);
	pthread_barrier_wait(&all_log);
	usleep(1500 * (useconds_t)(1 + (long)data));
	pthread_rwlock_unlock(&env_lock);
	while (!atomic_load(&reloaded))
		write_line();
	return NULL;
}

static void *reload_conf(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "reload");
	pthread_rwlock_wrlock(&env_lock);
	level = 2;
	pthread_rwlock_unlock(&env_lock);
	atomic_store(&reloaded, true);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loggers[LOGGERS], reloader;
	pthread_rwlockattr_t kind;

	pthread_rwlockattr_init(&kind);
	if (argc > 1 && !strcmp(argv[1], "healthy"))
		pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&env_lock, &kind);
	pthread_barrier_init(&all_log, NULL, LOGGERS + 1);
	for (long i = 0; i < LOGGERS; i++)
		pthread_create(&loggers[i], NULL, log_lines, (void *)i);
	pthread_barrier_wait(&all_log);
	/* The configuration file changes a little later. */
	usleep(150000);
	pthread_create(&reloader, NULL, reload_conf, NULL);
	pthread_join(reloader, NULL);
	for (int i = 0; i < LOGGERS; i++)
		pthread_join(loggers[i], NULL);
	printf("%d lines\n", atomic_load(&lines));
	return 0;
}
