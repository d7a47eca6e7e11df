/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: next_line polls the pipe before each fgets. The debugger writes "=breakpoint-created" and "^done" at once; the
 *     first fgets takes both into the FILE's buffer, so the pipe is empty, and poll waits for a line that is here already.
 *   culprit: next_line|\bmain\b|poll
 *   victim: run_debugger|debugger|child
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An editor's front end for a debugger, which it starts as a child and drives with lines of text over two pipes. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The debugger ---- */

static void answer(const char *text)
{
	size_t size = strlen(text);

	if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
		_exit(1);
}

static void run_debugger(void)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "-file", 5))
			answer("^done\n");
		else if (!strncmp(line, "-break-insert", 13))
			answer("=breakpoint-created,number=\"1\"\n^done\n");
		else if (!strncmp(line, "-exec-run", 9))
			answer("*running\n^running\n");
		else if (!strncmp(line, "-gdb-exit", 9))
			break;
		else
			answer("^error,msg=\"undefined command\"\n");
	}
	answer("^exit\n");
}

/* ---- The front end ---- */

struct debugger {
	pid_t pid;
	int commands;
	FILE *answers;
};

static bool debugger_start(struct debugger *debugger, bool broken)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return false;
	debugger->pid = fork();
	if (debugger->pid < 0)
		return false;
	if (debugger->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		run_debugger();
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	debugger->commands = to[1];
	debugger->answers = fdopen(from[0], "r");
	if (!debugger->answers)
		return false;
	if (!broken)
		setvbuf(debugger->answers, NULL, _IONBF,
			0); /* so that poll knows all that is there */
	return true;
}

static void show_busy(int seconds)
{
	fprintf(stderr, "the debugger works (%d s)\n", seconds);
}

/* Waits for the next line, and tells the user if that takes long. */
static bool next_line(struct debugger *debugger, char *line, int size)
{
	struct pollfd ready = {.fd = fileno(debugger->answers), .events = POLLIN};

	for (int seconds = 0; poll(&ready, 1, 5000) == 0; seconds += 5)
		show_busy(seconds);
	return fgets(line, size, debugger->answers) != NULL;
}

static void show_breakpoint(const char *line)
{
	int number;

	if (sscanf(line, "=breakpoint-created,number=\"%d\"", &number) == 1)
		printf("breakpoint %d\n", number);
}

/* Sends a command, and reads until its result comes. */
static bool command(struct debugger *debugger, const char *text)
{
	char line[256];

	if (dprintf(debugger->commands, "%s\n", text) < 0)
		return false;
	while (next_line(debugger, line, sizeof(line))) {
		if (line[0] == '=')
			show_breakpoint(line);
		else if (line[0] == '*')
			printf("state: %s", line + 1);
		else if (line[0] == '^')
			return strncmp(line, "^error", 6) != 0;
	}
	return false;
}

static void debugger_end(struct debugger *debugger)
{
	command(debugger, "-gdb-exit");
	close(debugger->commands);
	fclose(debugger->answers);
	waitpid(debugger->pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static const char *const script[] = {"-file-exec-and-symbols ./kiln",
		"-break-insert heat.c:88", "-break-insert main", "-exec-run"};
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct debugger debugger = {.pid = 0};

	signal(SIGPIPE, SIG_IGN);
	if (!debugger_start(&debugger, broken))
		return 1;
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++)
		if (!command(&debugger, script[i]))
			fprintf(stderr, "failed: %s\n", script[i]);
	debugger_end(&debugger);
	return 0;
}
