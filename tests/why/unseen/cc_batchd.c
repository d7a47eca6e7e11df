/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: wait_for_jobs takes each SIGCHLD that it reads from the signalfd for the end of one child and reaps one. Several children end while it prints their logs, their signals become one, and main waits for signals that never come.
 *   culprit: \bmain\b|wait_for_jobs
 *   victim: run_job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A batch converter: runs a child for each picture, shows their logs, and then takes their status. */

#define JOBS 6

static bool broken;
static int child_signals;
static int failed;

static void run_job(int number, int log)
{
	unsigned checksum = 0;
	char line[64];
	int size;

	for (unsigned i = 0; i < 200000u * (unsigned)(1 + number % 3); i++)
		checksum = checksum * 31 + i;
	size = snprintf(line, sizeof(line), "picture %d: checksum %08x\n", number, checksum);
	if (write(log, line, (size_t)size) != size)
		_exit(1);
	_exit(0);
}

static void start_job(int number, int log)
{
	pid_t child = fork();

	if (child < 0)
		exit(1);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_job(number, log);
	}
}

static void show_logs(int log)
{
	char buffer[512];
	ssize_t got;

	while ((got = read(log, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, 1, (size_t)got, stdout);
	fflush(stdout);
}

/* Reaps one child. Returns false if none has ended. */
static bool reap_one(void)
{
	int status;

	if (waitpid(-1, &status, WNOHANG) <= 0)
		return false;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		failed++;
	return true;
}

static void wait_for_jobs(int running)
{
	struct signalfd_siginfo info;

	while (running > 0) {
		if (read(child_signals, &info, sizeof(info)) != sizeof(info))
			exit(1);
		if (broken) {
			if (reap_one())
				running--;
			continue;
		}
		while (running > 0 && reap_one())
			running--;
	}
}

int main(int argc, char **argv)
{
	sigset_t set;
	int log[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child_signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (child_signals < 0 || pipe(log))
		return 1;
	for (int i = 0; i < JOBS; i++)
		start_job(i, log[1]);
	close(log[1]);
	show_logs(log[0]);
	wait_for_jobs(JOBS);
	printf("%d of %d jobs failed\n", failed, JOBS);
	return 0;
}
