/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: a job that fails leaves run_job by exit before it puts its token back into the pipe of tokens. After two failures
 *     no token is left, and all further jobs wait in token_take for ever, and the parent for them.
 *   culprit: run_job|token_put|job-[25]\b|tokens
 *   victim: reap_jobs|waitpid|token_take
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Builds parts of a project in child processes. A pipe with two tokens limits how many work at a time, as make -j2 does. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	JOBS = 9,
	TOKENS = 2
};

static bool broken;
static int tokens[2];   /* the pipe: a byte is the right to work */
static int progress[2]; /* jobs tell here what they have done */
static atomic_bool finished;

static const char *const parts[JOBS] = {
	"core",
	"net",
	"config.in",
	"parser",
	"ui",
	"locale.in",
	"docs",
	"tests",
	"package",
};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static char token_take(void)
{
	char token;

	if (read(tokens[0], &token, 1) != 1)
		_exit(3);
	return token;
}

static void token_put(char token)
{
	if (write(tokens[1], &token, 1) != 1)
		_exit(3);
}

/* Configuration files are templates; some of their variables are not set on this machine. */
static bool compile(int number)
{
	pause_ms(20 + number * 5);
	return strstr(parts[number], ".in") == NULL;
}

static void tell(int number, const char *how)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%s: %s\n", parts[number], how);

	if (write(progress[1], line, (size_t)length) != length)
		_exit(3);
}

static void run_job(int number)
{
	char name[16], token;

	snprintf(name, sizeof(name), "job-%d", number);
	prctl(PR_SET_NAME, name);
	close(progress[0]);
	token = token_take();
	tell(number, "begins");
	if (!compile(number)) {
		tell(number, "failed");
		if (!broken)
			token_put(token);
		exit(1);
	}
	tell(number, "done");
	token_put(token);
	exit(0);
}

/* Copies the jobs' lines to the terminal. */
static void *show_progress(void *data)
{
	char lines[256];
	ssize_t count;

	(void)data;
	pthread_setname_np(pthread_self(), "progress");
	while ((count = read(progress[0], lines, sizeof(lines))) > 0)
		if (write(STDOUT_FILENO, lines, (size_t)count) < 0)
			break;
	return NULL;
}

/* A clock at the bottom of the terminal. */
static void *show_clock(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "clock");
	for (unsigned ticks = 0; !finished; ticks++) {
		if (ticks % 10 == 0)
			dprintf(STDOUT_FILENO, "[%u s]\n", ticks / 10);
		pause_ms(100);
	}
	return NULL;
}

static int reap_jobs(const pid_t *jobs)
{
	int failures = 0, status;

	for (int i = 0; i < JOBS; i++) {
		if (waitpid(jobs[i], &status, 0) != jobs[i])
			perror("waitpid");
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			failures++;
	}
	return failures;
}

int main(int argc, char **argv)
{
	pthread_t shower, clock;
	pid_t jobs[JOBS];
	int failures;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pipe(tokens) || pipe(progress))
		return 1;
	for (int i = 0; i < TOKENS; i++)
		token_put('+');
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = fork();
		if (jobs[i] < 0)
			return 1;
		if (jobs[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_job(i);
		}
		pause_ms(5);
	}
	close(progress[1]);
	pthread_create(&shower, NULL, show_progress, NULL);
	pthread_create(&clock, NULL, show_clock, NULL);
	failures = reap_jobs(jobs);
	finished = true;
	pthread_join(shower, NULL);
	pthread_join(clock, NULL);
	printf("%d of %d parts failed\n", failures, JOBS);
	return 0;
}
