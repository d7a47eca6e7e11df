/* SPDX-License-Identifier: ISC */
/* `thrum ctl`: shows and changes which events a running program records. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "format/control.h"
#include "line/output.h"
#include "line/text.h"
#include "source/control.h"
#include "trace/input.h"

struct ctl_options {
	bool status, reset;
	const char *enable, *disable, *only;
	int format;
};

enum {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON
};

/* ---- The table of categories ----------------------------------------------------------------- */

/* Returns the words for a category's level. */
static const char *level_words(const struct thrum__source_category *category)
{
	if (category->is_part)
		return category->level < 0 ? "off" : "on";
	return thrum__format_level_name(category->level);
}

static void write_text(struct output *out, const struct thrum__source_category *category)
{
	char line[128];

	/* Parts of the category task are indented. */
	output_text(out, category->is_part ? "  " : "");
	output_display(out, category->name, strlen(category->name), 30);
	for (size_t size = strlen(category->name) + (category->is_part ? 2 : 0); size < 16; size++)
		output_text(out, " ");
	if (category->is_part)
		snprintf(line, sizeof line, "    %s\n", level_words(category));
	else
		snprintf(line, sizeof line, " %2d  %s%s\n", category->level, level_words(category),
			category->is_unknown ? ", when the program has it" : "");
	output_text(out, line);
}

static void write_tsv(struct output *out, const struct thrum__source_category *category)
{
	char line[64];

	output_put(out, category->name, strlen(category->name), put_escaped, 4);
	snprintf(line, sizeof line, "\t%d\t%s\t%s\n", category->level, level_words(category),
		category->is_part              ? "part"
			: category->is_unknown ? "unknown"
					       : "");
	output_text(out, line);
}

static void write_json(struct output *out, const struct thrum__source_category *category)
{
	char line[128];

	output_text(out, "{\"category\":\"");
	output_put(out, category->name, strlen(category->name), thrum__base_json_escape, 6);
	snprintf(line, sizeof line, "\",\"level\":%d,\"name\":\"%s\"%s%s}\n", category->level,
		level_words(category), category->is_part ? ",\"part\":true" : "",
		category->is_unknown ? ",\"unknown\":true" : "");
	output_text(out, line);
}

static int write_status(const struct thrum__source_control *control, int format)
{
	static void (*const write[])(struct output *, const struct thrum__source_category *) =
		{[FORMAT_TEXT] = write_text, [FORMAT_TSV] = write_tsv, [FORMAT_JSON] = write_json};
	struct thrum__source_category categories[THRUM__SOURCE_CATEGORIES_MAX];
	size_t count = thrum__source_control_list(control, categories);
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (format == FORMAT_TEXT)
		output_text(&out, "category        level\n");
	else if (format == FORMAT_TSV)
		output_text(&out, "category\tlevel\tname\tstate\n");
	for (size_t i = 0; i < count; i++)
		write[format](&out, &categories[i]);
	return output_close(&out);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int apply(struct thrum__source_control *control, const struct ctl_options *options,
	struct thrum_error_info *error)
{
	const struct {
		const char *list;
		enum thrum__source_verb verb;
	} orders[] = {
		{options->reset ? "" : NULL, THRUM__CONTROL_RESET},
		{options->only, THRUM__CONTROL_ONLY},
		{options->enable, THRUM__CONTROL_ENABLE},
		{options->disable, THRUM__CONTROL_DISABLE},
	};
	int result = 0;

	for (size_t i = 0; result == 0 && i < sizeof orders / sizeof *orders; i++)
		if (orders[i].list)
			result = thrum__source_control_set(control, orders[i].verb, orders[i].list,
				error);
	return result;
}

static int control_file(const char *path, const struct ctl_options *options)
{
	struct thrum__source_control *control;
	struct thrum_error_info error = {0};
	bool changes = options->reset || options->only || options->enable || options->disable;
	int status = STATUS_OK;

	if (thrum__source_control_open(path, &control, &error) < 0)
		return input_failed(path, &error);
	if (apply(control, options, &error) < 0) {
		complain("%s", error.message);
		status = error.code == -THRUM_E_ARGUMENT ? STATUS_USAGE : STATUS_FAILED;
	} else if (options->status || !changes) {
		status = write_status(control, options->format);
	}
	thrum__source_control_close(control);
	return status;
}

static int run_ctl(const struct command *command, int argc, char **argv)
{
	struct ctl_options options = {0};
	char path[PATH_MAX];
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	status = input_find(command, argv[0], path, sizeof(path));
	if (status != STATUS_OK)
		return status;
	if (strcmp(path, "-") == 0)
		return complain_usage(command, "standard input can't be controlled");
	return control_file(path, &options);
}

static const struct option options_of_ctl[] = {
	{"enable", 'e', OPTION_STRING, offsetof(struct ctl_options, enable), "NAME[=LEVEL],...",
		NULL,
		"record these categories, up to LEVEL: always, info,\n"
		"debug, all (the default), or 0 to 3"},
	{"disable", 'd', OPTION_STRING, offsetof(struct ctl_options, disable), "NAME,...", NULL,
		"record nothing of these categories"},
	{"only", 0, OPTION_STRING, offsetof(struct ctl_options, only), "NAME[=LEVEL],...", NULL,
		"record these categories and nothing else"},
	{"reset", 0, OPTION_FLAG, offsetof(struct ctl_options, reset), NULL, NULL,
		"record everything again"},
	{"status", 's', OPTION_FLAG, offsetof(struct ctl_options, status), NULL, NULL,
		"show the categories and their levels: also if\n"
		"nothing else is asked for"},
	{"format", 'f', OPTION_CHOICE, offsetof(struct ctl_options, format), NULL, "text|tsv|json",
		"text is for people, tsv and json for programs"},
	{0},
};

const struct command command_ctl = {
	.name = "ctl",
	.purpose = "show and change which events a running program records",
	.arguments = "PID|FILE",
	.min = 1,
	.max = 1,
	.options = options_of_ctl,
	.more = "A change takes effect at the next event of every thread. Categories are task,\n"
		"counter, log and those that the program has; one that it makes later has its\n"
		"level from the beginning. Parts of task are life (when tasks begin and end),\n"
		"wait (waits, reads, locks) and switch (which task runs). The recording says\n"
		"what was off, and when.\n\n"
		"Before a program starts, THRUM_ENABLE=NAME=LEVEL,... does the same; none,NAME\n"
		"turns off all others, and with none alone only counters are kept.",
	.examples = "thrum ctl 4711\n"
		    "thrum ctl 4711 --enable net=debug --disable switch\n"
		    "thrum ctl server.thrum --only task=info,log\n"
		    "thrum ctl 4711 --reset",
	.statuses = "0  success\n"
		    "2  the program doesn't record, or its recording may not be changed\n"
		    "64 usage error",
	.run = run_ctl,
};
