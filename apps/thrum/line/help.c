/* SPDX-License-Identifier: ISC */
/* Prints `--help` and the table for completion, both from the commands' tables. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "line/command.h"
#include "line/output.h"

static const struct option option_help = {"help", 'h', OPTION_FLAG, 0, NULL, NULL,
	"show this help"};

/* The column at which an option's explanation begins. */
#define COLUMN 28

static void print_lines(struct output *out, const char *lines, size_t column)
{
	static const char spaces[] = "                                        ";

	for (;;) {
		size_t size = strcspn(lines, "\n");

		output_bytes(out, lines, size);
		output_text(out, "\n");
		if (!lines[size])
			return;
		lines += size + 1;
		output_bytes(out, spaces, column);
	}
}

static const char *value_of(const struct option *option)
{
	return option->kind == OPTION_FLAG ? "" : option->value ? option->value : option->choices;
}

/* Returns an option without its letter, if the letter is one of the command's own options. */
static struct option as_parsed(const struct command *command, const struct option *place)
{
	struct option shown = *place;

	for (const struct option *option = command->options; option->name; option++)
		if (option->letter == place->letter)
			shown.letter = 0;
	return shown;
}

static void print_option(struct output *out, const struct option *option)
{
	const char *value = value_of(option);
	char line[128], letter[] = "-x, ";
	int n;

	letter[1] = option->letter;
	n = snprintf(line, sizeof(line), "  %s--%s%s%s", option->letter ? letter : "    ",
		option->name, *value ? "=" : "", value);
	output_text(out, line);
	if (n < COLUMN - 1)
		snprintf(line, sizeof(line), "%*s", COLUMN - n, "");
	else
		snprintf(line, sizeof(line), "\n%*s", COLUMN, "");
	output_text(out, line);
	print_lines(out, option->help, COLUMN);
}

static void print_section(struct output *out, const char *title, const char *text)
{
	if (!text)
		return;
	output_text(out, "\n");
	output_text(out, title);
	output_text(out, ":\n  ");
	print_lines(out, text, 2);
}

int help_command(const struct command *command)
{
	struct output out;
	char line[256];

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	snprintf(line, sizeof(line), "thrum %s: %s.\n\nUsage: thrum %s [OPTION...] %s\n",
		command->name, command->purpose, command->name, command->arguments);
	output_text(&out, line);
	if (command->more) {
		output_text(&out, "\n");
		print_lines(&out, command->more, 0);
	}
	output_text(&out, "\nOptions:\n");
	for (const struct option *option = command->options; option->name; option++)
		print_option(&out, option);
	for (const struct option *place = places_of(command); place->name; place++) {
		struct option shown = as_parsed(command, place);

		print_option(&out, &shown);
	}
	print_option(&out, &option_help);
	print_section(&out, "Examples", command->examples);
	print_section(&out, "Exit status", command->statuses);
	return output_close(&out);
}

static const char introduction[] =
	"thrum shows what an asynchronous program is doing, task by task: who created a\n"
	"task, when it ran, what it waits for, who resolved it, and why it hangs.\n"
	"\n"
	"Usage: thrum [--no-pager] COMMAND [OPTION...] [ARGUMENT...]\n"
	"\n"
	"Record a program first, then ask why it hangs, and look at the run:\n"
	"  thrum record -o run.thrum -- ./server --port 80\n"
	"  thrum why run.thrum                 what hangs, and why\n"
	"  thrum why --slow='GET *' run.thrum  why the slowest of these took so long\n"
	"  thrum view run.thrum                a window; thrum html makes a page\n";

/* The groups of commands, by the first one of each. */
static const struct group {
	const char *first, *title;
} groups[] = {
	{"record", "Find out what is wrong"},
	{"view", "Look at a recording"},
	{"dump", "Read a recording as text"},
	{"attach", "Processes that run already"},
	{"convert", "Other tools"},
	{"ship", "Other machines"},
};

static const char conclusion[] =
	"\n"
	"Help:\n"
	"  help       explain a command: thrum help COMMAND, or thrum COMMAND --help\n"
	"\n"
	"Options:\n"
	"  -h, --help     show this help\n"
	"  -V, --version  show the version\n"
	"      --no-pager let no pager, such as less, show long output on a terminal\n"
	"\n"
	"Exit status:\n"
	"  0  success, even if data is lost or damaged (standard error says how much)\n"
	"  1  something was found, if the command looks for something, as thrum why does\n"
	"  2  bad input, or another failure\n"
	"  64 usage error\n"
	"\n"
	"thrum records any dynamically linked program. One that uses libthrum (thrum.h)\n"
	"records its own tasks. More: man thrum.\n";

static void print_group(struct output *out, const char *command)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (strcmp(groups[i].first, command) != 0)
			continue;
		output_text(out, "\n");
		output_text(out, groups[i].title);
		output_text(out, ":\n");
	}
}

int help_all(void)
{
	struct output out;
	char line[256];

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	output_text(&out, introduction);
	for (size_t i = 0; commands[i]; i++) {
		print_group(&out, commands[i]->name);
		snprintf(line, sizeof(line), "  %-10s %s\n", commands[i]->name,
			commands[i]->purpose);
		output_text(&out, line);
	}
	output_text(&out, conclusion);
	return output_close(&out);
}

static void print_row(struct output *out, const char *command, const struct option *option)
{
	char letter[2] = {option->letter, 0}, help[128];
	size_t size = strcspn(option->help, "\n");

	/* Completion needs the choices, also where the help has a word for them. */
	const char *value = option->kind == OPTION_FLAG ? ""
		: option->choices                       ? option->choices
							: option->value;
	const char *cells[] = {command, option->name, letter, value, help};

	snprintf(help, sizeof(help), "%.*s", (int)size, option->help);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		output_text(out, cells[i]);
		output_text(out, i == 4 ? "\n" : "\t");
	}
}

int help_table(void)
{
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	for (size_t i = 0; commands[i]; i++) {
		const struct command *command = commands[i];
		struct option row = {"", 0, OPTION_STRING, 0, command->arguments, NULL,
			command->purpose};

		print_row(&out, command->name, &row);
		for (const struct option *option = command->options; option->name; option++)
			print_row(&out, command->name, option);
		for (const struct option *place = places_of(command); place->name; place++) {
			struct option shown = as_parsed(command, place);

			print_row(&out, command->name, &shown);
		}
		print_row(&out, command->name, &option_help);
	}
	return output_close(&out);
}
