/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the builder shares two tokens among the compile processes over a pipe. compile_unit leaves the
 *     process by _exit when a unit has errors (b.c and d.c), and so doesn't write its token back with
 *     token_return. When both tokens are gone the rest of the processes wait in token_take for ever.
 *   culprit: compile_unit|cc[ -]?(b|d)\.c|token_return
 *   victim: token_take|build_wait|wait|cc[ -]?[efgh]\.c
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A builder with one process for each unit, which share tokens as the job server of make does. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKENS 2

struct unit {
	const char *name;
	unsigned cost_ms;
	unsigned errors;
	pid_t process;
	int status;
};

struct jobserver {
	int take;
	int give;
};

static struct jobserver jobserver;
static bool give_back_on_error;

static struct unit units[] = {
	{.name = "a.c", .cost_ms = 20},
	{.name = "b.c", .cost_ms = 35, .errors = 3},
	{.name = "c.c", .cost_ms = 15},
	{.name = "d.c", .cost_ms = 40, .errors = 1},
	{.name = "e.c", .cost_ms = 25},
	{.name = "f.c", .cost_ms = 10},
	{.name = "g.c", .cost_ms = 30},
	{.name = "h.c", .cost_ms = 20},
};

#define UNITS (sizeof(units) / sizeof(*units))

static int jobserver_open(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	jobserver.take = ends[0];
	jobserver.give = ends[1];
	for (int i = 0; i < TOKENS; i++)
		if (write(jobserver.give, "+", 1) != 1)
			return -1;
	return 0;
}

/* Waits until there is a token, and takes it. */
static char token_take(void)
{
	char token = 0;
	ssize_t got;

	do
		got = read(jobserver.take, &token, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(3);
	return token;
}

static void token_return(char token)
{
	if (write(jobserver.give, &token, 1) != 1)
		perror("builder: token");
}

static void parse(const struct unit *unit)
{
	usleep(unit->cost_ms * 500);
}

static void generate(const struct unit *unit)
{
	usleep(unit->cost_ms * 500);
}

static void report_errors(const struct unit *unit)
{
	printf("%s: %u errors\n", unit->name, unit->errors);
	fflush(stdout);
}

/* The body of a compile process. */
static void compile_unit(const struct unit *unit)
{
	char token = token_take();

	parse(unit);
	if (unit->errors > 0) {
		report_errors(unit);
		if (give_back_on_error)
			token_return(token);
		_exit(1);
	}
	generate(unit);
	token_return(token);
	_exit(0);
}

static int unit_start(struct unit *unit)
{
	char name[16];

	unit->process = fork();
	if (unit->process < 0)
		return -1;
	if (unit->process > 0)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "cc-%s", unit->name);
	pthread_setname_np(pthread_self(), name);
	compile_unit(unit);
	_exit(4);
}

static struct unit *unit_of(pid_t process)
{
	for (size_t i = 0; i < UNITS; i++)
		if (units[i].process == process)
			return &units[i];
	return NULL;
}

/* Waits for all processes, and returns the number of units that failed. */
static unsigned build_wait(void)
{
	unsigned failed = 0;

	for (size_t i = 0; i < UNITS; i++) {
		struct unit *unit;
		int status;
		pid_t process = wait(&status);

		if (process < 0)
			break;
		unit = unit_of(process);
		if (!unit)
			continue;
		unit->status = status;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			failed++;
		printf("%s %s\n", unit->name, WEXITSTATUS(status) ? "failed" : "done");
		fflush(stdout);
	}
	return failed;
}

int main(int argc, char **argv)
{
	unsigned failed;

	if (argc < 2)
		return 2;
	give_back_on_error = !strcmp(argv[1], "healthy");
	if (jobserver_open()) {
		perror("builder: pipe");
		return 1;
	}
	for (size_t i = 0; i < UNITS; i++) {
		if (unit_start(&units[i])) {
			perror("builder: fork");
			return 1;
		}
		usleep(3000); /* reads the next rule */
	}
	failed = build_wait();
	printf("%u of %zu units failed\n", failed, UNITS);
	return failed == 2 ? 0 : 1;
}
