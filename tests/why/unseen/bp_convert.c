/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: start_converter forks while the thread "audit" holds log_lock. In the child the mutex stays locked for ever, because
 *     that thread isn't there, so its first log_line hangs, and main waits for the child in vain.
 *   culprit: start_converter|log_lock|log_line|fork
 *   victim: wait_converters|statistics
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Converts scanned pages in processes of their own, so that a broken page can't take the service down. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 12
#define AT_A_TIME 3

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ending;
static atomic_uint pages_done;

static void log_line(const char *format, ...)
{
	va_list arguments;

	pthread_mutex_lock(&log_lock);
	va_start(arguments, format);
	vdprintf(STDOUT_FILENO, format, arguments);
	va_end(arguments);
	pthread_mutex_unlock(&log_lock);
}

static void log_before_fork(void)
{
	pthread_mutex_lock(&log_lock);
}

static void log_after_fork(void)
{
	pthread_mutex_unlock(&log_lock);
}

/* Sends the log to the archive, which wants nothing to be written meanwhile. */
static void *audit(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "audit");
	while (!atomic_load(&ending)) {
		pthread_mutex_lock(&log_lock);
		usleep(9000);
		pthread_mutex_unlock(&log_lock);
		usleep(3000);
	}
	return NULL;
}

static void *statistics(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "statistics");
	while (!atomic_load(&ending)) {
		usleep(150000);
		fprintf(stderr, "%u pages\n", atomic_load(&pages_done));
	}
	return NULL;
}

static void convert_page(unsigned page)
{
	unsigned long pixels = page;

	log_line("page %u: begin\n", page);
	for (unsigned i = 0; i < 300000; i++)
		pixels = pixels * 2862933555777941757ul + 3037000493ul;
	usleep(3000);
	log_line("page %u: %lx\n", page, pixels);
}

static pid_t start_converter(unsigned page)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		convert_page(page);
		_exit(0);
	}
	return child;
}

/* Returns how many pages have failed. */
static unsigned wait_converters(const pid_t *child, unsigned count)
{
	unsigned failed = 0;

	for (unsigned i = 0; i < count; i++) {
		int status;

		if (waitpid(child[i], &status, 0) != child[i] || status)
			failed++;
		else
			atomic_fetch_add(&pages_done, 1);
	}
	return failed;
}

int main(int argc, char **argv)
{
	pthread_t auditor, counter;
	unsigned failed = 0;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "broken"))
		pthread_atfork(log_before_fork, log_after_fork, log_after_fork);
	pthread_create(&auditor, NULL, audit, NULL);
	pthread_create(&counter, NULL, statistics, NULL);
	for (unsigned page = 0; page < PAGES; page += AT_A_TIME) {
		pid_t child[AT_A_TIME];

		for (unsigned i = 0; i < AT_A_TIME; i++) {
			usleep(2500); /* scan it */
			child[i] = start_converter(page + i);
		}
		failed += wait_converters(child, AT_A_TIME);
	}
	atomic_store(&ending, true);
	pthread_join(auditor, NULL);
	pthread_join(counter, NULL);
	log_line("all pages converted, %u failed\n", failed);
	return 0;
}
