/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the process cc-parser took a token from the jobserver's pipe and left by give_up_parse() without
 *     writing it back; the process ld-tool waits in jobserver_acquire() for that token for ever
 *   culprit: cc-parser|give_up_parse
 *   victim: ld-tool|build-driver
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A build driver with a jobserver pipe: compilers and a linker are processes,
 * each works with a token. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOKENS 2
#define UNITS 3

struct unit {
	const char *process;
	const char *source;
	int work_ms;
};

static int jobserver[2];   /* 0: take a token, 1: give it back */
static int status_pipe[2]; /* the compilers tell the linker what they made */

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static __attribute__((noinline)) char jobserver_acquire(void)
{
	char token;
	ssize_t n;

	do
		n = read(jobserver[0], &token, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(3);
	return token;
}

static __attribute__((noinline)) void jobserver_release(char token)
{
	if (write(jobserver[1], &token, 1) != 1)
		_exit(3);
}

static __attribute__((noinline)) void report_object(const char *source, char state)
{
	char line[32];
	int n = snprintf(line, sizeof line, "%-14s%c\n", source, state);

	if (write(status_pipe[1], line, n) != n)
		_exit(3);
}

/* A unit with errors has no object; the linker takes the one of the last build.
 */
static __attribute__((noinline)) void give_up_parse(const struct unit *u)
{
	report_object(u->source, 'E');
	_exit(1);
}

static __attribute__((noinline)) int count_braces(const char *text)
{
	int depth = 0;

	for (; *text; text++)
		depth += *text == '{' ? 1 : *text == '}' ? -1 : 0;
	return depth;
}

static __attribute__((noinline)) void compile_unit(const struct unit *u, const char *text)
{
	char token = jobserver_acquire();

	nap(u->work_ms);
	if (count_braces(text))
		give_up_parse(u);
	report_object(u->source, 'O');
	jobserver_release(token);
	_exit(0);
}

/* The linker runs parallel code generation and so needs all tokens at once. */
static __attribute__((noinline)) void link_tool(void)
{
	char line[32], tokens[TOKENS];
	int objects = 0;

	close(status_pipe[1]);
	for (int i = 0; i < UNITS; i++) {
		size_t have = 0;

		while (have < 16) {
			ssize_t n = read(status_pipe[0], line + have, 16 - have);

			if (n <= 0)
				_exit(4);
			have += n;
		}
		objects += line[14] == 'O';
	}
	for (int i = 0; i < TOKENS; i++)
		tokens[i] = jobserver_acquire();
	nap(50);
	for (int i = 0; i < TOKENS; i++)
		jobserver_release(tokens[i]);
	_exit(objects == 0);
}

static pid_t start_process(const char *name)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, 9); /* nothing outlives its driver */
		prctl(PR_SET_NAME, name);
	}
	return pid;
}

static __attribute__((noinline)) int wait_for_units(pid_t *pids, int n)
{
	int failed = 0;

	for (int i = 0; i < n; i++) {
		int st;

		if (waitpid(pids[i], &st, 0) < 0)
			exit(1);
		failed += !WIFEXITED(st) || WEXITSTATUS(st);
	}
	return failed;
}

static __attribute__((noinline)) void build_all(const char *parser_text)
{
	static const struct unit units[UNITS] = {
		{"cc-util", "util.c", 60},
		{"cc-parser", "parser.c", 150},
		{"cc-main", "main.c", 200},
	};
	pid_t pids[UNITS], linker;
	int failed, st;

	linker = start_process("ld-tool");
	if (!linker)
		link_tool();
	for (int i = 0; i < UNITS; i++) {
		pids[i] = start_process(units[i].process);
		if (!pids[i])
			compile_unit(&units[i], i == 1 ? parser_text : "int f(void) { return 0; }");
	}
	close(status_pipe[1]);
	failed = wait_for_units(pids, UNITS);
	if (waitpid(linker, &st, 0) < 0)
		exit(1);
	printf("%d units failed, link status %d\n", failed, WEXITSTATUS(st));
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken");

	prctl(PR_SET_NAME, "build-driver");
	if (pipe(jobserver) || pipe(status_pipe))
		return 1;
	for (int i = 0; i < TOKENS; i++)
		jobserver_release('+');
	build_all(broken ? "int parse(void) { if (x) { return 1; }"
			 : "int parse(void) { if (x) { return 1; } }");
	return 0;
}
