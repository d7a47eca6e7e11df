/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "line/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_forbidden;
static pid_t pager;
/* Standard output and standard error as they were. */
static int terminal = STDOUT_FILENO, messages = -1;

void pager_forbid(void)
{
	is_forbidden = true;
}

int pager_terminal(void)
{
	return terminal;
}

/* Returns the pager's command, or NULL if none is wanted. */
static const char *wanted_pager(void)
{
	const char *name = getenv("THRUM_PAGER"), *kind = getenv("TERM");

	if (is_forbidden || pager || !isatty(STDOUT_FILENO) || (kind && strcmp(kind, "dumb") == 0))
		return NULL;
	if (!name)
		name = getenv("PAGER");
	if (!name)
		name = "less";
	return *name && strcmp(name, "cat") != 0 ? name : NULL;
}

/* Closes the pipe, so that the pager sees the end, and waits for the pager. Safe in a handler. */
static void finish(void)
{
	dup2(terminal, STDOUT_FILENO);
	if (messages >= 0)
		dup2(messages, STDERR_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

static void end_by_signal(int number)
{
	finish();
	raise(number); /* SA_RESETHAND: it ends thrum once the handler has returned */
}

/* Starts the command with `input` as its standard input. Returns 0 or an error. */
static int start(const char *name, int input)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char shell[] = "sh", option[] = "-c", command[4096];
	char *arguments[] = {shell, option, command, NULL};
	sigset_t defaults;
	int error;

	/* An interrupt is the pager's to understand: the shell stays. Its 127 means that there is no
	 * such program: then the rest is shown plainly. */
	if (snprintf(command, sizeof(command), "trap : INT\n%s\n[ $? != 127 ] || exec cat", name) >=
		(int)sizeof(command))
		return E2BIG;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (error == 0)
		error = posix_spawn(&pager, "/bin/sh", &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

void pager_start(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = SA_RESETHAND};
	const char *name = wanted_pager();
	int ends[2], kept;

	if (!name || pipe2(ends, O_CLOEXEC) < 0)
		return;
	kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	/* Quit if all fits the screen, show colours, and leave the text there. */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (kept >= 0 && start(name, ends[0]) == 0) {
		terminal = kept;
		messages = isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
		dup2(ends[1], STDOUT_FILENO);
		if (messages >= 0)
			dup2(ends[1], STDERR_FILENO);
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			sigaction(signals[i], &action, NULL);
		atexit(finish);
	} else if (kept >= 0) {
		close(kept);
	}
	close(ends[0]);
	close(ends[1]);
}
