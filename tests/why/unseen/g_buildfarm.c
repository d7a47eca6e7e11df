/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The reaper thread takes one child for each SIGCHLD. While it copies the log of the first job, three further jobs end, and their signals become one; so two of them stay zombies, the reaper waits in sigwait, and main waits for that job for ever.
 *   culprit: reap
 *   victim: main|wait_for_job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A build farm's agent: forks jobs, lets those begin that depend on others, and takes the exits in a
 * thread of its own. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 4

struct job {
	const char *name;
	int work_ms;
	bool after_first; /* needs the output of the first job */
	pid_t pid;
	bool done;
	int status;
};

static struct job jobs[JOBS] = {
	{"codegen", 60},
	{"compile core", 15, true},
	{"compile ui", 20, true},
	{"translations", 5, true},
};

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_done = PTHREAD_COND_INITIALIZER;
static int tokens[2], build_log[2];
static bool drain;
static volatile bool over;

static void pause_ms(long milliseconds)
{
	struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Runs in the child. */
static void run_job(const struct job *job)
{
	char token;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(8);
	close(tokens[1]);
	close(build_log[0]);
	if (job->after_first && read(tokens[0], &token, 1) != 1)
		_exit(2);
	pause_ms(job->work_ms);
	dprintf(build_log[1], "%s: done\n", job->name);
	_exit(0);
}

/* Copies the log until the jobs that write to it have ended, or are silent for a while. */
static void copy_log(void)
{
	struct pollfd log = {.fd = build_log[0], .events = POLLIN};
	char buffer[256];
	ssize_t size;

	while (poll(&log, 1, 900) == 1) {
		size = read(build_log[0], buffer, sizeof(buffer));
		if (size <= 0)
			break;
		fwrite(buffer, 1, size, stderr);
	}
	pause_ms(100); /* compress it */
}

static void finish_job(struct job *job, int status)
{
	pthread_mutex_lock(&jobs_lock);
	job->status = status;
	job->done = true;
	pthread_cond_broadcast(&job_done);
	pthread_mutex_unlock(&jobs_lock);
	if (job != &jobs[0])
		return;
	for (int i = 1; i < JOBS; i++)
		if (write(tokens[1], "+", 1) != 1)
			abort();
	copy_log();
}

static bool reap_one(int flags)
{
	int status;
	pid_t pid = waitpid(-1, &status, flags);

	if (pid <= 0)
		return false;
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].pid == pid)
			finish_job(&jobs[i], status);
	return true;
}

/* Takes the exits of the jobs; SIGUSR1 ends it. */
static void *reap_children(void *data)
{
	sigset_t *signals = data;
	int signal;

	pthread_setname_np(pthread_self(), "reaper");
	for (;;) {
		if (sigwait(signals, &signal))
			continue;
		if (signal == SIGUSR1)
			return NULL;
		if (drain)
			while (reap_one(WNOHANG))
				continue;
		else
			reap_one(WNOHANG);
	}
}

static void wait_for_job(struct job *job)
{
	pthread_mutex_lock(&jobs_lock);
	while (!job->done)
		pthread_cond_wait(&job_done, &jobs_lock);
	pthread_mutex_unlock(&jobs_lock);
}

static void *report_progress(void *data)
{
	int done;

	pthread_setname_np(pthread_self(), "progress");
	while (!over) {
		pause_ms(60);
		pthread_mutex_lock(&jobs_lock);
		done = 0;
		for (int i = 0; i < JOBS; i++)
			done += jobs[i].done;
		pthread_mutex_unlock(&jobs_lock);
		fprintf(stderr, "%d of %d\n", done, JOBS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reaper, progress;
	sigset_t signals;
	int failed = 0;

	drain = argc < 2 || strcmp(argv[1], "broken");
	if (pipe(tokens) || pipe(build_log))
		return 1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_mutex_lock(&jobs_lock);
	for (int i = 0; i < JOBS; i++) {
		jobs[i].pid = fork();
		if (jobs[i].pid == 0)
			run_job(&jobs[i]);
	}
	pthread_mutex_unlock(&jobs_lock);
	close(build_log[1]);
	pthread_create(&reaper, NULL, reap_children, &signals);
	pthread_create(&progress, NULL, report_progress, NULL);
	for (int i = 0; i < JOBS; i++) {
		wait_for_job(&jobs[i]);
		failed += jobs[i].status != 0;
	}
	over = true;
	pthread_kill(reaper, SIGUSR1);
	pthread_join(reaper, NULL);
	pthread_join(progress, NULL);
	return failed;
}
