/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: build_target returns without writing its token back to the pipe of the job server when the compiler
 *     fails. After two failures no token is left, and all makers wait in take_token for ever.
 *   culprit: build_target|take_token|give_token|pipe
 *   victim: wait_for_makers|main\b
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Some makers build a package each. A pipe with tokens limits how many compilers run at a time. */
enum {
	MAKERS = 3,
	TARGETS = 10,
	TOKENS = 2
};

static int tokens[2];
static bool strict;

static void pause_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

static char take_token(void)
{
	char token;

	if (read(tokens[0], &token, 1) != 1) {
		perror("token");
		exit(2);
	}
	return token;
}

static void give_token(char token)
{
	if (write(tokens[1], &token, 1) != 1) {
		perror("token");
		exit(2);
	}
}

/* The compiler of the example: a process that takes a while, and fails for some sources. */
static int compile(int maker, int target)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -1;
	if (child == 0) {
		close(tokens[0]);
		close(tokens[1]);
		pause_ms(4);
		_exit(maker == 1 && (target == 1 || target == 2) ? 1 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool build_target(int maker, int target)
{
	char token = take_token();
	int status = compile(maker, target);

	if (status != 0) {
		fprintf(stderr, "maker %d: target %d failed (%d), going on (-k)\n", maker, target,
			status);
		if (strict)
			give_token(token);
		return false;
	}
	give_token(token);
	return true;
}

static int run_maker(int maker)
{
	int failed = 0;

	for (int target = 0; target < TARGETS; target++)
		if (!build_target(maker, target))
			failed++;
	return failed;
}

static pid_t start_maker(int maker)
{
	pid_t child = fork();

	if (child == 0) {
		/* A maker doesn't outlive the program. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(run_maker(maker));
	}
	return child;
}

static int wait_for_makers(const pid_t *makers)
{
	int failed = 0, status;

	for (int i = 0; i < MAKERS; i++) {
		if (waitpid(makers[i], &status, 0) != makers[i])
			return -1;
		failed += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	return failed;
}

int main(int argc, char **argv)
{
	pid_t makers[MAKERS];

	strict = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (pipe(tokens))
		return 1;
	for (int i = 0; i < TOKENS; i++)
		give_token('+');
	for (int i = 0; i < MAKERS; i++) {
		makers[i] = start_maker(i);
		if (makers[i] < 0)
			return 1;
	}
	printf("%d targets failed\n", wait_for_makers(makers));
	return 0;
}
