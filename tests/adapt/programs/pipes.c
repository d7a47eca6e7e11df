/* SPDX-License-Identifier: ISC */
/*
 * A worker reads from a pipe to which a feeder writes, of the same program. `deadlock`: the feeder needs a
 * lock that the worker holds while it reads. `gone`: the feeder has ended. `full`: the worker never
 * reads. `child`: a child process has the pipe, too. `print`: the C library writes to it. It knows nothing
 * of thrum.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang.h"

static const char *chosen;
static int jobs[2];
static atomic_int worker_tid, has_lock, is_writing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static void *work(void *unused)
{
	char job;

	atomic_store(&worker_tid, gettid());
	if (is("full"))
		for (;;)
			pause();
	while (read(jobs[0], &job, 1) == 1 && job != '.')
		if (is("deadlock")) {
			pthread_mutex_lock(&lock);
			atomic_store(&has_lock, 1);
		}
	return unused;
}

static void *feed(void *unused)
{
	static const char many[1 << 17];
	sigset_t alarms;

	/* A signal would end the write of many bytes when some of them are written. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	while (!is_asleep(worker_tid))
		sched_yield();
	atomic_store(&is_writing, 1);
	if (is("full"))
		(void)!write(jobs[1], many, sizeof many);
	(void)!write(jobs[1], "a", 1);
	while (is("deadlock") && !atomic_load(&has_lock))
		sched_yield();
	if (is("fine"))
		usleep(300000);
	pthread_mutex_lock(&lock);
	if (is("print"))
		dprintf(jobs[1], "%s", ".");
	if (is("fine") || is("child"))
		(void)!write(jobs[1], ".", 1);
	pthread_mutex_unlock(&lock);
	return unused;
}

static bool is_stuck(void)
{
	return atomic_load(&is_writing) && !is("fine") && !is("child") && !is("print");
}

int main(int argc, char **argv)
{
	pthread_t worker, feeder;

	if (argc < 2 || pipe(jobs) < 0)
		return 1;
	chosen = argv[1];
	if (is("fine")) /* they stay open */
		close_range((unsigned)jobs[0], (unsigned)jobs[1], CLOSE_RANGE_CLOEXEC);
	end_when(is_stuck);
	if (pthread_create(&worker, NULL, work, NULL) != 0)
		return 1;
	if (is("child")) {
		while (!atomic_load(&worker_tid) || !is_asleep(worker_tid))
			sched_yield();
		if (fork() == 0)
			_exit(0);
		wait(NULL);
	}
	if (pthread_create(&feeder, NULL, feed, NULL) != 0)
		return 1;
	pthread_join(feeder, NULL);
	pthread_join(worker, NULL);
	return 0;
}
