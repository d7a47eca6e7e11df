/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: a unit that can't be compiled ends its process in abandon_unit without putting its token back
 *     into the pipe; units 4, 9 and 13 do so, then all three tokens are gone, and the others wait in
 *     token_take
 *   culprit: unit-(4|9|13)\b|abandon_unit
 *   victim: token_take|unit-\d+|run_unit|main|await_unit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Builds units in processes; tokens in a pipe limit how many compile at a time, as in a make jobserver. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNITS 18
#define TOKENS 3
#define AHEAD 6 /* processes that may exist at a time */

struct unit {
	unsigned number;
	pid_t process;
	bool running, failed;
};

struct build {
	int tokens[2];
	int messages[2];
	struct unit units[UNITS];
	unsigned started, ended, running;
	void (*on_error)(struct build *, const struct unit *, char token);
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&time, &time) && errno == EINTR)
		continue;
}

static __attribute__((noinline)) bool token_take(struct build *build, char *token)
{
	ssize_t n;

	do
		n = read(build->tokens[0], token, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static __attribute__((noinline)) void token_put(struct build *build, char token)
{
	if (write(build->tokens[1], &token, 1) != 1)
		_exit(4);
}

static void say(struct build *build, const struct unit *unit, const char *what)
{
	char line[80];
	int size = snprintf(line, sizeof(line), "unit %u: %s\n", unit->number, what);

	if (write(build->messages[1], line, (size_t)size) != size)
		_exit(4);
}

/* Whether the source is good. A few need a generated header that fails to include. */
static bool compile_unit(const struct unit *unit)
{
	pause_ms(12 + unit->number % 4 * 4);
	return unit->number != 4 && unit->number != 9 && unit->number != 13;
}

static __attribute__((noinline)) void abandon_unit(struct build *build, const struct unit *unit,
	char token)
{
	(void)token;
	say(build, unit, "error: no such file");
	_exit(1);
}

static __attribute__((noinline)) void fail_unit(struct build *build, const struct unit *unit,
	char token)
{
	say(build, unit, "error: no such file");
	token_put(build, token);
	_exit(1);
}

static void run_unit(struct build *build, const struct unit *unit)
{
	char name[16], token;

	snprintf(name, sizeof(name), "unit-%u", unit->number);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no build goes on without make */
	if (!token_take(build, &token))
		_exit(3);
	if (!compile_unit(unit))
		build->on_error(build, unit, token);
	say(build, unit, "compiled");
	token_put(build, token);
	_exit(0);
}

static void start_unit(struct build *build, unsigned number)
{
	struct unit *unit = &build->units[number];

	unit->number = number;
	unit->process = fork();
	if (unit->process == 0)
		run_unit(build, unit);
	if (unit->process < 0)
		exit(2);
	unit->running = true;
	build->running++;
	build->started++;
}

/* Waits for one process, and notes how it ended. */
static void await_unit(struct build *build)
{
	int status;
	pid_t process = waitpid(-1, &status, 0);

	for (unsigned i = 0; i < build->started; i++) {
		struct unit *unit = &build->units[i];

		if (!unit->running || unit->process != process)
			continue;
		unit->running = false;
		unit->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
		build->running--;
		build->ended++;
	}
}

static void print_messages(struct build *build)
{
	char text[4096];
	ssize_t size = read(build->messages[0], text, sizeof(text));

	if (size > 0)
		fwrite(text, 1, (size_t)size, stdout);
}

int main(int argc, char **argv)
{
	static struct build build;
	unsigned failed = 0;
	char token;

	if (argc != 2 || pipe2(build.tokens, O_CLOEXEC) || pipe2(build.messages, O_CLOEXEC))
		return 2;
	fcntl(build.messages[0], F_SETFL, O_NONBLOCK);
	build.on_error = strcmp(argv[1], "healthy") == 0 ? fail_unit : abandon_unit;
	for (int i = 0; i < TOKENS; i++)
		token_put(&build, '+');
	while (build.ended < UNITS) {
		while (build.started < UNITS && build.running < AHEAD)
			start_unit(&build, build.started);
		await_unit(&build);
		print_messages(&build);
	}
	for (int i = 0; i < TOKENS; i++)
		if (!token_take(&build, &token))
			return 1;
	for (unsigned i = 0; i < UNITS; i++)
		failed += build.units[i].failed;
	printf("%u units, %u failed\n", build.ended, failed);
	return failed == 3 ? 0 : 1;
}
