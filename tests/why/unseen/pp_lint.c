/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The child of replace_worker keeps the writing end of worker 0's jobs, which it should have closed.
 *   culprit: replace_worker
 *   victim: retire_workers|serve_jobs
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Checks the files of a tree in a few processes. A worker that has grown too much is replaced. */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	FILES = 60,
	HUGE_FILE = 25
};

struct job {
	int file;
	int size;
};

struct verdict {
	int file;
	int warnings;
	int worker;
	bool is_last; /* the worker ends after this one */
};

struct worker {
	pid_t pid;
	int jobs;     /* the end to which the runner writes */
	int verdicts; /* the end from which it reads */
};

static struct worker workers[WORKERS];
static bool closes_all;

static int check_file(const struct job *job)
{
	unsigned hash = (unsigned)job->file + 1;

	for (int i = 0; i < job->size * 200; i++)
		hash = hash * 1664525 + 1013904223;
	usleep(2500);
	return hash % 5;
}

/* A worker: ends when the runner closes its jobs, or after a file that took too much memory. */
static void serve_jobs(int index, int jobs, int verdicts)
{
	struct job job;

	while (read(jobs, &job, sizeof job) == sizeof job) {
		struct verdict verdict = {.file = job.file, .worker = index};

		verdict.warnings = check_file(&job);
		verdict.is_last = job.file == HUGE_FILE;
		if (write(verdicts, &verdict, sizeof verdict) != sizeof verdict)
			_exit(2);
		if (verdict.is_last)
			break;
	}
	_exit(0);
}

static void make_pipes(int jobs[2], int verdicts[2])
{
	if (pipe2(jobs, O_CLOEXEC) || pipe2(verdicts, O_CLOEXEC)) {
		perror("pipe");
		exit(1);
	}
}

static void close_others(int index)
{
	for (int i = 0; i < WORKERS; i++) {
		if (i == index || !workers[i].pid)
			continue;
		close(workers[i].jobs);
		close(workers[i].verdicts);
	}
}

static void adopt(int index, pid_t pid, const int jobs[2], const int verdicts[2])
{
	close(jobs[0]);
	close(verdicts[1]);
	workers[index] = (struct worker){.pid = pid, .jobs = jobs[1], .verdicts = verdicts[0]};
}

static void start_worker(int index)
{
	int jobs[2], verdicts[2];
	pid_t pid;

	make_pipes(jobs, verdicts);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(jobs[1]);
		close(verdicts[0]);
		close_others(index);
		serve_jobs(index, jobs[0], verdicts[1]);
	}
	adopt(index, pid, jobs, verdicts);
}

/* The old worker has ended by itself. */
static void replace_worker(int index)
{
	int jobs[2], verdicts[2];
	pid_t pid;

	waitpid(workers[index].pid, NULL, 0);
	close(workers[index].jobs);
	close(workers[index].verdicts);
	make_pipes(jobs, verdicts);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(jobs[1]);
		close(verdicts[0]);
		if (closes_all)
			close_others(index);
		serve_jobs(index, jobs[0], verdicts[1]);
	}
	adopt(index, pid, jobs, verdicts);
	fprintf(stderr, "worker %d replaced\n", index);
}

static int run_round(int first)
{
	int warnings = 0;

	for (int i = 0; i < WORKERS; i++) {
		struct job job = {.file = first + i, .size = 40 + (first * 37 + i * 11) % 300};

		if (write(workers[i].jobs, &job, sizeof job) != sizeof job)
			exit(1);
	}
	for (int i = 0; i < WORKERS; i++) {
		struct verdict verdict;

		if (read(workers[i].verdicts, &verdict, sizeof verdict) != sizeof verdict)
			exit(1);
		warnings += verdict.warnings;
		if (verdict.is_last)
			replace_worker(i);
	}
	return warnings;
}

/* One after the other, so that their summaries don't mix. */
static void retire_workers(void)
{
	for (int i = 0; i < WORKERS; i++) {
		int status;

		close(workers[i].jobs);
		waitpid(workers[i].pid, &status, 0);
		close(workers[i].verdicts);
		fprintf(stderr, "worker %d ended with %d\n", i, WEXITSTATUS(status));
	}
}

int main(int argc, char **argv)
{
	int warnings = 0;

	closes_all = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	for (int i = 0; i < WORKERS; i++)
		start_worker(i);
	for (int file = 0; file < FILES; file += WORKERS)
		warnings += run_round(file);
	retire_workers();
	printf("%d warnings in %d files\n", warnings, FILES);
	return 0;
}
