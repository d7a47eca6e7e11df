/* SPDX-License-Identifier: ISC */
/* The program `thrum`: finds the command and runs it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "line/command.h"
#include "line/output.h"
#include "line/pager.h"

#ifndef THRUM_VERSION
#define THRUM_VERSION "unknown"
#endif

/* In the groups of `thrum --help`. */
const struct command *const commands[] = {&command_record, &command_why, &command_diff,
	&command_doctor, &command_view, &command_html, &command_render, &command_dump,
	&command_tasks, &command_stats, &command_info, &command_attach, &command_top, &command_ctl,
	&command_watch, &command_snapshot, &command_history, &command_metrics, &command_convert,
	&command_import, &command_bundle, &command_store, &command_ship, &command_fleet,
	&command_xen, NULL};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[sizeof(commands) / sizeof(commands[0]) + 4], *guess;
	size_t count = 0;

	for (; commands[count]; count++)
		names[count] = commands[count]->name;
	names[count++] = "help";
	names[count++] = "--help";
	names[count++] = "--version";
	names[count++] = "--no-pager";
	guess = nearest(name, names, count);
	if (guess)
		return complain_usage(NULL, "there is no command %s; did you mean %s?", name,
			guess);
	if (access(name, F_OK) == 0)
		return complain_usage(NULL,
			"there is no command %s; to read a trace: thrum dump %s", name, name);
	return complain_usage(NULL, "there is no command %s", name);
}

static int show_version(void)
{
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	output_text(&out, "thrum " THRUM_VERSION "\n");
	return output_close(&out);
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "help") == 0)
		return help_all();
	if (argc > 1)
		return complain_usage(NULL, "thrum help takes one command");
	if (strcmp(argv[0], "--table") == 0)
		return help_table();
	command = find_command(argv[0]);
	return command ? help_command(command) : unknown_command(argv[0]);
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *name;

	if (argc > 1 && strcmp(argv[1], "--no-pager") == 0) {
		pager_forbid();
		argc--;
		argv++;
	}
	name = argc > 1 ? argv[1] : NULL;
	/* Without arguments people get the help; to a script it is an error. */
	if (!name) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		help_all();
		return STATUS_USAGE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return show_version();
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help_all();
	if (strcmp(name, "help") == 0)
		return help(argc - 2, argv + 2);
	command = find_command(name);
	if (!command)
		return unknown_command(name);
	return command->run(command, argc - 2, argv + 2);
}
