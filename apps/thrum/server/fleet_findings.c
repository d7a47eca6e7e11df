/* SPDX-License-Identifier: ISC */
#include "server/fleet_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/why.h"
#include "line/output.h"
#include "source/input.h"
#include "trace/clocks.h"
#include "trace/input.h"
#include "trace/load.h"
#include "words/words.h"
#include "world/world.h"

#define FINDINGS_MAX 10 /* that are written */

static void write_finding(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding)
{
	const char *process = thrum__model_process(model, finding->steps[0].task);

	if (*process) {
		output_display(out, process, strlen(process), 60);
		output_text(out, ": ");
	}
	why_write_headline(out, model, finding, false);
}

/* Loads the recordings of an address as one trace, or as many as can be one: *left weren't loaded. If there
 * is none, *error says why, and there is no model. */
static int load_fleet(const struct command *command, const char *name,
	const struct thrum__fleet_address *address, struct load *load, struct fleet_findings *found,
	size_t *left, struct thrum_error_info *error)
{
	char(*keys)[THRUM__FLEET_KEY] = calloc(THRUM__FLEET_PARTS_MAX, sizeof(*keys));
	char path[64];
	int fd, status;

	found->count = 0;
	if (!keys)
		return load_no_memory();
	fd = thrum__source_fetch(address, keys, left, error);
	while (found->count < THRUM__FLEET_PARTS_MAX && *keys[found->count]) {
		struct fleet_found *next = &found->all[found->count];

		*next = (struct fleet_found){.clock_error = -1};
		memcpy(next->key, keys[found->count++], sizeof(next->key));
	}
	free(keys);
	if (fd == -THRUM_E_NOT_FOUND)
		return STATUS_OK;
	if (fd < 0)
		return input_failed(name, error);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = input_open(command, path, &load->input);
	close(fd);
	if (status != STATUS_OK)
		return status;
	snprintf(load->input.path, sizeof(load->input.path), "%s", name);
	return load_input(load);
}

/* The recording that has a task. */
static struct fleet_found *recording_of(struct fleet_findings *found,
	const struct thrum__model *model, uint32_t task)
{
	uint64_t part = model->is_joined ? THRUM__TASK(model, task, id) / THRUM__WORLD_ID_STEP : 0;

	return part < found->count ? &found->all[part] : NULL;
}

/* Counts the findings of each recording that causes some, and notes how well its clock is known. */
static void count_findings(const struct load *load, const struct thrum__findings *findings,
	struct fleet_findings *found)
{
	const struct thrum__model *model = load->model;

	for (uint32_t i = 0; i < findings->count; i++) {
		const struct thrum__finding *finding = &findings->findings[i];
		struct fleet_found *of = recording_of(found, model, finding->steps[0].task);

		if (of && of->count++ == 0)
			thrum__words_finding(model, finding, of->worst, sizeof(of->worst));
	}
	for (uint32_t i = 0; i < model->lane_count && model->is_joined; i++) {
		struct fleet_found *of = recording_of(found, model, model->lanes[i].task);
		int64_t error = clocks_error(load->input.trace, i, 0, INT64_MAX);

		if (of && error < INT64_MAX)
			of->clock_error = error;
	}
}

static int write_none(const struct thrum_error_info *error, int fd)
{
	struct output out;

	if (output_open(&out, fd) < 0)
		return STATUS_FAILED;
	output_text(&out, "\nno findings: ");
	output_text(&out, error->message);
	output_text(&out, "\n");
	return output_close(&out);
}

static int write_text(const struct load *load, const struct thrum__findings *findings, size_t left,
	int fd)
{
	struct output out;
	char line[120];

	if (output_open(&out, fd) < 0)
		return STATUS_FAILED;
	output_text(&out, "\n");
	clocks_write(&out, load->input.trace, 0, INT64_MAX);
	for (uint32_t i = 0; i < findings->count && i < FINDINGS_MAX; i++)
		write_finding(&out, load->model, &findings->findings[i]);
	if (findings->count == 0)
		output_text(&out, "no findings\n");
	if (left > 0) {
		snprintf(line, sizeof(line),
			"not looked at: %zu recording%s, as at most %d can be one trace\n", left,
			left == 1 ? "" : "s", THRUM__FLEET_PARTS_MAX);
		output_text(&out, line);
	}
	return output_close(&out);
}

int fleet_find(const struct command *command, const char *name,
	const struct thrum__fleet_address *address, int fd, struct fleet_findings *found)
{
	struct thrum_error_info error = {0};
	struct thrum__findings findings;
	struct load load = {0};
	size_t left = 0;
	int status = load_fleet(command, name, address, &load, found, &left, &error);

	if (status != STATUS_OK)
		return status;
	if (!load.model)
		return fd >= 0 ? write_none(&error, fd) : STATUS_OK;
	if (thrum__why_make(load.model, &findings) < 0) {
		load_finish(&load);
		return load_no_memory();
	}
	count_findings(&load, &findings, found);
	if (fd >= 0)
		status = write_text(&load, &findings, left, fd);
	else if (left > 0)
		complain("%zu recordings weren't looked at, as at most %d can be one trace", left,
			THRUM__FLEET_PARTS_MAX);
	if (status == STATUS_OK && (fd < 0 || fd == STDOUT_FILENO))
		input_warn(&load.input);
	thrum__why_free(&findings);
	load_finish(&load);
	return status;
}

const struct fleet_found *fleet_found(const struct fleet_findings *found, const char *key)
{
	for (size_t i = 0; i < found->count; i++)
		if (strcmp(found->all[i].key, key) == 0)
			return &found->all[i];
	return NULL;
}
