/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: generate_parser exits with an error and does not write its token back, so no token is left.
 *   culprit: generate_parser
 *   victim: compile_unit|link_program
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
#include <sys/wait.h>
#include <unistd.h>

/* A build driver. Each job is a process, and needs a token out of a pipe while it works, as those of make. */

enum {
	TOKENS = 2,
	JOBS = 14
};

static int tokens[2];
static bool broken;

static char take_token(void)
{
	char token;

	if (read(tokens[0], &token, 1) != 1)
		_exit(3);
	return token;
}

static void give_token(char token)
{
	if (write(tokens[1], &token, 1) != 1)
		_exit(3);
}

static unsigned int work(int rounds)
{
	unsigned int hash = 5381;

	for (int i = 0; i < rounds * 1000; i++)
		hash = hash * 33 + (hash >> 27) + i;
	usleep(4000);
	return hash;
}

static int compile_unit(int number)
{
	char token = take_token();
	unsigned int hash = work(200 + number);

	give_token(token);
	return hash == 0;
}

static int generate_parser(int number)
{
	char token = take_token();
	bool has_grammar = access("/nonexistent/grammar.y", R_OK) == 0;

	if (!has_grammar) {
		/* The parser in the repository will do, but the build must say so. */
		if (!broken)
			give_token(token);
		return 2;
	}
	work(100 + number);
	give_token(token);
	return 0;
}

static int link_program(int number)
{
	char token = take_token();

	work(number);
	give_token(token);
	return 0;
}

static pid_t start_job(int (*job)(int), int number)
{
	pid_t child = fork();

	if (child == 0) {
		signal(SIGINT, SIG_DFL);
		alarm(8); /* no job takes that long */
		_exit(job(number));
	}
	return child;
}

static int wait_for_jobs(int count)
{
	int failed = 0, status;

	while (count-- > 0) {
		if (wait(&status) < 0)
			return -1;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
			failed++;
		else if (status)
			exit(1);
	}
	return failed;
}

int main(int argc, char **argv)
{
	int old;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(tokens))
		return 1;
	for (int i = 0; i < TOKENS; i++)
		give_token('+');
	for (int i = 0; i < JOBS; i++)
		start_job(i == 3 || i == 7 ? generate_parser : compile_unit, i);
	old = wait_for_jobs(JOBS);
	printf("%d parsers are those of the repository\n", old);
	start_job(link_program, 20);
	return wait_for_jobs(1);
}
