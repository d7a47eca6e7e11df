/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_filter forks while the thread flush_log holds log_lock; the child has no such thread, so its log_line waits for the lock for ever, and the spooler waits for the child.
 *   culprit: log_lock|log_line|flush_log|log-flush|run_filter
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A print spooler: it forks a filter for each job. A thread flushes the log to the disk.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_buffer[4096];
static size_t log_size;
static sem_t flush_wanted, flush_began, disk_done;
static bool stopping;

static void log_line(const char *text)
{
	size_t size = strlen(text);

	pthread_mutex_lock(&log_lock);
	if (log_size + size < sizeof(log_buffer)) {
		memcpy(log_buffer + log_size, text, size);
		log_size += size;
	}
	pthread_mutex_unlock(&log_lock);
}

/* The disk is slow; it is never done before the next filter has been started. */
static void write_to_disk(void)
{
	while (sem_wait(&disk_done))
		continue;
	log_size = 0;
}

static void *flush_log(void *unused)
{
	for (;;) {
		while (sem_wait(&flush_wanted))
			continue;
		if (stopping)
			return unused;
		pthread_mutex_lock(&log_lock);
		sem_post(&flush_began);
		write_to_disk();
		pthread_mutex_unlock(&log_lock);
	}
}

/* Starts a flush and doesn't wait for its end. */
static void start_flush(void)
{
	sem_post(&flush_wanted);
	while (sem_wait(&flush_began))
		continue;
}

static pid_t run_filter(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (broken)
		log_line("filter starts\n");
	execl("/bin/true", "pdftops", (char *)NULL);
	_exit(127);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;
	pid_t filter;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	sem_init(&flush_wanted, 0, 0);
	sem_init(&flush_began, 0, 0);
	sem_init(&disk_done, 0, 0);
	if (pthread_create(&thread, NULL, flush_log, NULL))
		return 1;
	pthread_setname_np(thread, "log-flush");
	for (int job = 0; job < 3; job++) {
		log_line("job arrives\n");
		start_flush();
		filter = run_filter();
		sem_post(&disk_done);
		if (filter < 0 || waitpid(filter, &status, 0) != filter)
			return 1;
		log_line("job is printed\n");
	}
	stopping = true;
	sem_post(&flush_wanted);
	pthread_join(thread, NULL);
	return 0;
}
