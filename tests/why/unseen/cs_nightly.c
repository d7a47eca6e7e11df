/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The handler on_child waits for a single child at each SIGCHLD. The jobs “rotate” and “vacuum”
 *     end while main has the signal blocked in begin_jobs, so both leave but one signal. One of the two is
 *     never reaped, running stays at 1, and main waits in sigsuspend for ever. The fix loops until waitpid
 *     finds no more.
 *   culprit: on_child|zombie|reap|child.*ended|process \d+.*ended|ended.*process \d+
 *   victim: main\b|await_jobs
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Runs the jobs of the night, each as a process of its own that reports through a pipe. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	const char *name;
	int ms, lines;
	pid_t process;
	int report; /* the pipe's end that is read */
};

static struct job jobs[] = {
	{"rotate", 10, 2, 0, 0},
	{"vacuum", 15, 1, 0, 0},
	{"thumbs", 700, 4, 0, 0},
	{"index", 850, 3, 0, 0},
	{"backup", 1000, 2, 0, 0},
	{"report", 1150, 1, 0, 0},
};

enum {
	JOBS = sizeof jobs / sizeof *jobs
};

static volatile sig_atomic_t running, failed;
static bool broken;

/* ---- Children ------------------------------------------------------------------------------- */

static void on_child(int signal)
{
	int status, error = errno;

	(void)signal;
	while (waitpid(-1, &status, WNOHANG) > 0) {
		running--;
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
		if (broken)
			break;
	}
	errno = error;
}

static void do_job(const struct job *job, int report)
{
	char line[64];

	for (int i = 1; i <= job->lines; i++) {
		int size = snprintf(line, sizeof line, "%s: step %d of %d\n", job->name, i,
			job->lines);

		usleep(job->ms * 1000 / job->lines);
		if (write(report, line, size) != size)
			_exit(1);
	}
	_exit(0);
}

static void begin_job(struct job *job)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	job->process = fork();
	if (job->process < 0)
		exit(2);
	if (job->process == 0) {
		close(ends[0]);
		do_job(job, ends[1]);
	}
	close(ends[1]);
	job->report = ends[0];
	running++;
}

/* The jobs' numbers must be in the table before the handler sees one. */
static void begin_jobs(void)
{
	sigset_t children, before;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	for (int i = 0; i < JOBS; i++) {
		begin_job(&jobs[i]);
		printf("%s began\n", jobs[i].name);
	}
	fflush(stdout);
	usleep(300000); /* the disk spins up */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void await_jobs(void)
{
	sigset_t children, before;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, &before);
	while (running > 0)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static int show_report(const struct job *job)
{
	FILE *report = fdopen(job->report, "r");
	char line[64];
	int lines = 0;

	while (fgets(line, sizeof line, report))
		lines++;
	fclose(report);
	return lines;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
	int lines = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sigaction(SIGCHLD, &action, NULL);
	begin_jobs();
	await_jobs();
	for (int i = 0; i < JOBS; i++)
		lines += show_report(&jobs[i]);
	printf("%d jobs, %d failed, %d lines\n", JOBS, (int)failed, lines);
	return 0;
}
