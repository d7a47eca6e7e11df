/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: run_jobs waits with waitpid for the wrong child (the cache daemon, which lives on, instead of the compiler, which has ended), and holds job_table_lock meanwhile. report_status and main are victims.
 *   culprit: run_jobs|waitpid|reap_job
 *   victim: report_status|main|job_table_lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small build supervisor: one cache daemon, compilers one after the other, a status line. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 5

static struct child {
	pid_t pid;
	const char *what;
	int status;
} children[JOBS + 1];
static int child_count;
static pthread_mutex_t job_table_lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs_done;
static bool off_by_one;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static int start_child(const char *what, int ms)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ms < 0)
			for (;;)
				pause();
		pause_ms(ms);
		_exit(0);
	}
	children[child_count].pid = pid;
	children[child_count].what = what;
	return child_count++;
}

/* The caller holds the lock. Index of the newest child: the number of children was once kept
 * differently. */
static int newest(void)
{
	return off_by_one ? child_count - 2 : child_count - 1;
}

/* The compilers are short; the table stays locked, so that nobody sees a half-filled row. */
static void reap_job(void)
{
	struct child *child = &children[newest()];

	while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
		continue;
	jobs_done++;
}

static void *run_jobs(void *unused)
{
	for (int i = 0; i < JOBS; i++) {
		pthread_mutex_lock(&job_table_lock);
		start_child("cc", 25);
		reap_job();
		pthread_mutex_unlock(&job_table_lock);
		pause_ms(15);
	}
	return NULL;
}

static void *report_status(void *unused)
{
	int done;

	do {
		pause_ms(30);
		pthread_mutex_lock(&job_table_lock);
		done = jobs_done;
		pthread_mutex_unlock(&job_table_lock);
	} while (done < JOBS);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t runner, reporter;

	off_by_one = argc > 1 && !strcmp(argv[1], "broken");
	start_child("cache daemon", -1);
	pthread_create(&reporter, NULL, report_status, NULL);
	pthread_create(&runner, NULL, run_jobs, NULL);
	pthread_join(runner, NULL);
	pthread_join(reporter, NULL);
	kill(children[0].pid, SIGTERM);
	waitpid(children[0].pid, &children[0].status, 0);
	printf("%d jobs\n", jobs_done);
	return 0;
}
