/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_child_signal takes one SIGCHLD for one child. Signals of children that end at the same time
 *     are merged, so it never reaps some of them; their slots stay taken, and run_batch polls for ever
 *   culprit: on_child_signal|reap_one|SIGCHLD
 *   victim: run_batch|poll|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Runs a batch of jobs, some at a time, each in a process of its own; like a small make -j. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 12
#define SLOTS 4

enum job_state {
	QUEUED,
	RUNNING,
	DONE,
	FAILED
};

struct job {
	char name[16];
	int ms;
	pid_t pid;
	enum job_state state;
	int output; /* read end of its standard output; -1: closed */
	char text[128];
	size_t length;
};

struct batch {
	struct job jobs[JOBS];
	int running, finished, failed;
	int signals;
	bool sweeps;
};

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* Runs in the child. */
static void compile(const struct job *job, int output)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s: compiled in %d ms\n", job->name, job->ms);

	pause_ms(job->ms);
	_exit(write(output, line, (size_t)length) == length ? 0 : 1);
}

static int start_job(struct batch *batch, struct job *job)
{
	int ends[2];
	sigset_t none;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	job->pid = fork();
	if (job->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (job->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		close(ends[0]);
		compile(job, ends[1]);
	}
	close(ends[1]);
	job->output = ends[0];
	job->state = RUNNING;
	batch->running++;
	return 0;
}

static void job_ended(struct batch *batch, pid_t pid, int status)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *job = &batch->jobs[i];

		if (job->state != RUNNING || job->pid != pid)
			continue;
		job->state = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? DONE : FAILED;
		if (job->state == FAILED)
			batch->failed++;
		batch->running--;
		batch->finished++;
	}
}

__attribute__((noinline)) static bool reap_one(struct batch *batch, pid_t pid)
{
	int status;
	pid_t ended = waitpid(pid, &status, WNOHANG);

	if (ended <= 0)
		return false;
	job_ended(batch, ended, status);
	return true;
}

__attribute__((noinline)) static void on_child_signal(struct batch *batch)
{
	struct signalfd_siginfo info;

	if (read(batch->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (!batch->sweeps) {
		reap_one(batch, (pid_t)info.ssi_pid);
		return;
	}
	while (reap_one(batch, -1))
		continue;
}

static void on_output(struct job *job)
{
	ssize_t got = read(job->output, job->text + job->length, sizeof(job->text) - job->length);

	if (got > 0) {
		job->length += (size_t)got;
		return;
	}
	close(job->output);
	job->output = -1;
}

/* Shows how far it is; on a slow terminal that takes its time. */
static void show_progress(const struct batch *batch)
{
	fprintf(stderr, "\r%d of %d", batch->finished, JOBS);
	pause_ms(15);
}

static void fill_slots(struct batch *batch)
{
	for (int i = 0; i < JOBS && batch->running < SLOTS; i++)
		if (batch->jobs[i].state == QUEUED && start_job(batch, &batch->jobs[i])) {
			batch->jobs[i].state = FAILED;
			batch->failed++;
			batch->finished++;
		}
}

__attribute__((noinline)) static int run_batch(struct batch *batch)
{
	struct pollfd polls[JOBS + 1];
	struct job *of[JOBS + 1];

	while (batch->finished < JOBS) {
		nfds_t count = 1;

		fill_slots(batch);
		polls[0] = (struct pollfd){.fd = batch->signals, .events = POLLIN};
		for (int i = 0; i < JOBS; i++)
			if (batch->jobs[i].output >= 0) {
				of[count] = &batch->jobs[i];
				polls[count].fd = batch->jobs[i].output;
				polls[count++].events = POLLIN;
			}
		if (poll(polls, count, -1) < 0 && errno != EINTR)
			return -1;
		for (nfds_t i = 1; i < count; i++)
			if (polls[i].revents)
				on_output(of[i]);
		show_progress(batch);
		if (polls[0].revents)
			on_child_signal(batch);
	}
	return batch->failed;
}

int main(int argc, char **argv)
{
	struct batch batch = {0};
	sigset_t set;
	int failed;

	if (argc != 2)
		return 2;
	batch.sweeps = strcmp(argv[1], "healthy") == 0;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	batch.signals = signalfd(-1, &set, SFD_CLOEXEC);
	for (int i = 0; i < JOBS; i++) {
		snprintf(batch.jobs[i].name, sizeof(batch.jobs[i].name), "part%02d.c", i);
		batch.jobs[i].ms = 30 + i / SLOTS * 15;
		batch.jobs[i].output = -1;
	}
	failed = run_batch(&batch);
	for (int i = 0; i < JOBS; i++) {
		fputs(batch.jobs[i].text, stdout);
		if (batch.jobs[i].output >= 0)
			close(batch.jobs[i].output);
	}
	close(batch.signals);
	return failed != 0;
}
