/* SPDX-License-Identifier: ISC */
/* `thrum why`: reports problems in a trace, each from its cause to its victim. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/graph.h"
#include "answer/find.h"
#include "answer/slow.h"
#include "answer/why.h"
#include "line/match.h"
#include "line/output.h"
#include "line/text.h"
#include "scene/scene.h"
#include "trace/clocks.h"
#include "trace/load.h"
#include "trace/times.h"

struct why_options {
	int format, color;
	const char *task;
	int64_t at; /* ns; -1: the end */
	struct times times;
	bool together;
	struct slow_options slow;
};

#define STATUS_FINDINGS 1

/* ---- Findings on one task -------------------------------------------------------------------- */

static bool is_meant(const struct thrum__model *model, const char *wanted, uint32_t task)
{
	uint64_t id;
	const char *name;
	size_t size;

	if (parse_id(wanted, strlen(wanted), &id) && thrum__model_find(model, id) != THRUM__NONE)
		return thrum__model_find(model, id) == task;
	name = thrum__model_task_name(model, task, &size);
	return label_matches(wanted, name, size);
}

static bool has_task(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task)
{
	for (unsigned i = 0; i < finding->step_count; i++)
		if (thrum__model_heir(model, finding->steps[i].task) == task)
			return true;
	return false;
}

/* Returns whether a step of a finding is of that time. */
static bool is_of(const struct thrum__finding *finding, const struct times *times)
{
	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].time >= times->start && finding->steps[i].time <= times->end)
			return true;
	return times_are_all(times);
}

static void keep_findings_of(struct thrum__findings *findings, const struct times *times)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < findings->count; i++)
		if (is_of(&findings->findings[i], times))
			findings->findings[kept++] = findings->findings[i];
	findings->count = kept;
}

/* Returns whether a task takes part in a finding, or waits for one that does. */
static bool leads_to(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	task = thrum__model_heir(model, task);
	for (uint32_t i = 0; i < model->tasks.count; i++) {
		if (has_task(model, finding, task))
			return true;
		if (thrum__analyse_waits_of(model, task, waits) == 0)
			return false;
		task = waits[0].next == THRUM__NONE ? waits[0].on : waits[0].next;
	}
	return false;
}

/* Keeps only findings that concern the wanted tasks. Returns the number of wanted tasks, and in
 * *task the first of them, or the first pending one. */
static uint32_t filter_findings(const struct thrum__model *model, struct thrum__findings *findings,
	const char *wanted, uint32_t *task)
{
	uint32_t meant = 0;
	bool *is_kept = calloc(findings->count + 1, sizeof *is_kept);
	uint32_t kept = 0;

	*task = THRUM__NONE;
	for (uint32_t i = model->tasks.first; is_kept && i < model->tasks.count; i++) {
		if (!thrum__model_has_row(&model->tasks, i) || !is_meant(model, wanted, i))
			continue;
		/* The question is about a pending task rather than about one that has ended. */
		if (meant++ == 0 ||
			(!thrum__analyse_task_is_pending(model, *task) &&
				thrum__analyse_task_is_pending(model, i)))
			*task = i;
		for (uint32_t f = 0; f < findings->count; f++)
			is_kept[f] |= leads_to(model, &findings->findings[f], i);
	}
	for (uint32_t f = 0; f < findings->count; f++)
		if (is_kept && is_kept[f])
			findings->findings[kept++] = findings->findings[f];
	findings->count = kept;
	free(is_kept);
	return meant;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int write_findings(const struct load *load, struct thrum__findings *findings,
	const struct why_options *options, uint32_t task)
{
	const struct thrum__model *model = load->model;
	bool color = output_wants_color(options->color);
	char unknown[1000];
	struct output out;
	bool is_unjudged, is_silent, is_quiet = findings->count + findings->idle_count > 0;
	int status;

	thrum__words_unknown(model, load->input.info, unknown, sizeof unknown);
	if (output_open_paged(&out) < 0)
		return STATUS_FAILED;
	for (uint32_t i = 0; i < findings->count; i++) {
		if (options->format == WHY_JSON)
			why_write_json(&out, model, &findings->findings[i], unknown);
		else
			why_write_text(&out, model, &findings->findings[i], i > 0, color);
	}
	if (findings->count == 0 && options->format != WHY_JSON && !times_are_all(&options->times))
		output_text(&out, "no findings in that time\n");
	else if (findings->count == 0 && options->format != WHY_JSON)
		why_write_nothing(&out, model, task);
	is_unjudged = findings->count == 0 && task == THRUM__NONE && findings->unjudged_count > 0;
	if (is_unjudged && options->format != WHY_JSON)
		why_write_unjudged(&out, model, findings);
	is_silent = findings->count == 0 && task == THRUM__NONE && options->format != WHY_JSON;
	if (is_silent)
		why_write_idle(&out, model, findings);
	if (is_silent && findings->idle_count == 0) {
		is_quiet |= why_write_blocked(&out, model);
		why_write_polling(&out, model);
	}
	if (is_silent)
		is_quiet |= why_write_lasts(&out, model);
	if (is_silent && is_quiet)
		why_write_logs(&out, model, false);
	else if (findings->count > 0 && options->format != WHY_JSON)
		why_write_logs(&out, model, true);
	if (is_quiet && task == THRUM__NONE && options->format != WHY_JSON &&
		times_are_all(&options->times))
		why_write_odd(&out, findings);
	if (options->format != WHY_JSON) {
		clocks_write(&out, load->input.trace, options->times.start, options->times.end);
		why_write_unknown(&out, unknown);
	}
	status = output_close(&out);
	if (status != STATUS_OK)
		return status;
	return findings->count > 0 || is_unjudged ? STATUS_FINDINGS : STATUS_OK;
}

/* Whether the traces can be read again, all of them. */
static bool is_readable_again(const struct why_options *options, char **argv, int argc)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			return false;
	return options->at < 0 && times_are_all(&options->times);
}

/* Finds the faults. If there are none, or they may be due to the program's death, finds those before it was
 * killed: then it reads the traces again. Returns an exit status; unless that is STATUS_OK, nothing stays
 * open. */
static int find(const struct command *command, int argc, char **argv,
	const struct why_options *options, struct load *load, struct thrum__findings *findings)
{
	struct times until = TIMES_ALL;
	struct load before = {.times = &until, .is_exact = true, .keeps_ending = true};
	int status = STATUS_OK;
	int64_t death;

	if (find_faults(load->model, findings) < 0) {
		load_finish(load);
		return load_no_memory();
	}
	death = thrum__why_before_death(load->model);
	if ((findings->count > 0 && !thrum__why_is_outlived(load->model)) || death < 0 ||
		!is_readable_again(options, argv, argc))
		return STATUS_OK;
	until.end = death;
	thrum__why_free(findings);
	load_finish(load);
	status = load_runs(command, argv, argc, options->together, &before);
	before.times = &options->times;
	*load = before;
	if (status != STATUS_OK)
		return status;
	if (find_faults(load->model, findings) == 0)
		return STATUS_OK;
	load_finish(load);
	return load_no_memory();
}

static int explain(const struct load *load, struct thrum__findings found,
	const struct why_options *options)
{
	struct thrum__findings findings = found;
	uint32_t task = THRUM__NONE;
	int status = STATUS_OK;

	keep_findings_of(&findings, &options->times);
	if (options->task && filter_findings(load->model, &findings, options->task, &task) == 0) {
		complain("%s: no task has the id or label \"%.100s\"", load->input.path,
			options->task);
		status = STATUS_FAILED;
	}
	if (status == STATUS_OK)
		status = write_findings(load, &findings, options, task);
	if (status != STATUS_FAILED)
		input_warn(&load->input);
	thrum__why_free(&findings);
	return status;
}

static int run_why(const struct command *command, int argc, char **argv)
{
	struct why_options options = {.at = -1, .times = TIMES_ALL};
	struct times until = TIMES_ALL;
	struct load load = {.times = &options.times};
	struct thrum__findings findings;
	int status;

	argc = options_parse(command, argc, argv, &options, &status);
	if (argc < 0)
		return status;
	status = times_check(command, &options.times);
	if (status != STATUS_OK)
		return status;
	output_ignore_sigpipe();
	if (options.slow.label) {
		load.times = NULL;
		options.slow.is_json = options.format == WHY_JSON;
		options.slow.color = options.color;
		if (!times_are_all(&options.times))
			return complain_usage(command,
				"--slow takes no --start, --end and --duration");
	} else if (options.slow.flame || options.slow.folded)
		return complain_usage(command, "--flame and --folded need --slow");
	if (options.at >= 0) {
		until.end = options.at;
		load.times = &until;
		load.is_exact = true;
	}
	status = load_runs(command, argv, argc, options.together, &load);
	if (status != STATUS_OK)
		return status;
	if (options.slow.label) {
		status = why_slow(&load, &options.slow);
	} else {
		status = find(command, argc, argv, &options, &load, &findings);
		if (status != STATUS_OK)
			return status;
		status = explain(&load, findings, &options);
	}
	load_leave(&load);
	return status;
}

#define OFFSET(member) offsetof(struct why_options, member)

static const struct option options_of_why[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "text|json",
		"text is for people, json for programs"},
	{"task", 't', OPTION_STRING, OFFSET(task), "ID|LABEL", NULL,
		"report only problems of this task; if it has none,\n"
		"show what it waits for (* and ? stand for anything)"},
	{"slow", 's', OPTION_STRING, OFFSET(slow.label), "LABEL", NULL,
		"show where the slowest task of this label, or wait\n"
		"in this function, spent its time, beside a usual\n"
		"one; where there is none, LABEL may be a beginning"},
	{"percentile", 0, OPTION_CHOICE, OFFSET(slow.percentile), NULL, SLOW_PERCENTILES,
		"with --slow: take the slowest task (max), or the\n"
		"99th or 90th percentile"},
	{"flame", 0, OPTION_STRING, OFFSET(slow.flame), "FILE", NULL,
		"with --slow: draw what all tasks of the label waited\n"
		"for as a flame graph; FILE ends in .svg, .png or\n"
		".pdf"},
	{"folded", 0, OPTION_STRING, OFFSET(slow.folded), "FILE", NULL,
		"with --slow: write the same as folded stacks for\n"
		"other tools"},
	{"at", 0, OPTION_TIME, OFFSET(at), "TIME", NULL,
		"explain the state at that time, not at the end"},
	TIMES_OPTIONS(struct why_options, times, "show findings"),
	TOGETHER_OPTION(OFFSET(together)),
	{"color", 0, OPTION_CHOICE, OFFSET(color), NULL, COLOR_CHOICES,
		"colour the text; auto: if it goes to a terminal and\n"
		"NO_COLOR isn't set"},
	{0},
};

const struct command command_why = {
	.name = "why",
	.purpose = "explain why tasks hang, starve, fail or leak",
	.arguments = "TRACE|PID|-...",
	.min = 1,
	.max = INPUTS_MAX,
	.options = options_of_why,
	.reads_traces = true,
	.more = "TRACE is a recording, or a .ctf file of mirage-profile; PID a process that\n"
		"records; - standard input. Recordings TRACE.PID of the same run are read with\n"
		"TRACE. Each finding lists its steps from the cause on, with the times of their\n"
		"events as thrum dump prints them.",
	.examples = "thrum why server.thrum                   what hangs?\n"
		    "thrum why --task='GET *' 4711            what does it wait for?\n"
		    "thrum why --slow='GET *' server.thrum    why did one take so long?\n"
		    "thrum why --at=1.5s server.thrum         what hung at that time?\n"
		    "thrum why --format=json server.thrum || echo there are problems",
	.statuses = "0  no findings\n"
		    "1  findings, or tasks that should resolve are pending and can't be judged\n"
		    "2  not a trace, or it could not be read or written; no such task\n"
		    "64 usage error",
	.run = run_why,
};
