/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the command line. The input is a text: the arguments of a command, each on a line. There are
 * two recordings, "a" and "b". Commands that only read traces and write files run; of the others the
 * arguments are only parsed, since they would start programs, change processes or serve. Fails if a
 * command ends with a status that means nothing, or fails without a message.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../apps/thrum/line/command.h"
#include "line/line.h"

#define ARGUMENTS_MAX 24
#define OPTIONS_ROOM 8192 /* bytes of the largest command's options */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* RECORDINGS: the folder of thrum_trace's seeds. */
#define INCLUDE(name, file) \
	__asm__(".section .rodata\n" #name ": .incbin \"" RECORDINGS "/" file "\"\n" #name \
		"_end: .previous"); \
	extern const uint8_t name[], name##_end[]

INCLUDE(seed_a, "two_lanes");
INCLUDE(seed_b, "one_lane");

/* Those that may run. */
static const char *const runs[] = {"dump", "tasks", "stats", "why", "diff", "info", "snapshot",
	"convert", "import", "bundle", "render", "html", "help", "--help", "--version",
	"--no-pager"};

static bool may_run(const char *name)
{
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
		if (strcmp(runs[i], name) == 0)
			return true;
	return false;
}

/* Whether it names no file of another folder, no server and, being a small number, no process. */
static bool is_harmless(const char *argument)
{
	return !strpbrk(argument, "/:") &&
		(strlen(argument) <= 2 || argument[strspn(argument, "0123456789")]);
}

static void free_ids(const struct command *command, uint8_t *options)
{
	for (const struct option *o = command->options; o->name; o++)
		if (o->kind == OPTION_IDS)
			free(((struct id_list *)(options + o->offset))->ids);
}

static void parse(int argc, char **argv)
{
	_Alignas(16) uint8_t options[OPTIONS_ROOM] = {0};
	int status;

	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, argv[0]) == 0) {
			options_parse(commands[i], argc - 1, argv + 1, options, &status);
			free_ids(commands[i], options);
		}
}

static void run(int argc, char **argv)
{
	bool harmless = may_run(argv[0]);

	for (int i = 1; i < argc; i++)
		harmless = harmless && is_harmless(argv[i]);
	if (!harmless) {
		parse(argc, argv);
		return;
	}
	line_begin();
	line_put("a", seed_a, (size_t)(seed_a_end - seed_a));
	line_put("b", seed_b, (size_t)(seed_b_end - seed_b));
	line_run((const char *const *)argv);
	line_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *argv[ARGUMENTS_MAX + 1] = {0}, *text = malloc(size + 1), *rest = text;
	int argc = 0;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	while (argc < ARGUMENTS_MAX && rest && *rest)
		argv[argc++] = strsep(&rest, "\n");
	if (argc > 0)
		run(argc, argv);
	free(text);
	return 0;
}
