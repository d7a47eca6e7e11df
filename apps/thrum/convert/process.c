/* SPDX-License-Identifier: ISC */
/* The processes of a trace: one, or those that it joins. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "convert/export.h"

int export_processes_make(struct export *export)
{
	const struct thrum__model *model = export->model;
	struct export_processes *processes = &export->processes;

	processes->of_lane = calloc((size_t)model->lane_count + 1, sizeof(uint32_t));
	processes->names = calloc((size_t)model->lane_count + 1, sizeof(uint32_t));
	if (!processes->of_lane || !processes->names)
		return -THRUM_E_MEMORY;
	for (uint32_t lane = 0; lane < model->lane_count; lane++) {
		uint32_t name = model->lanes[lane].process, i = 0;

		while (i < processes->count && processes->names[i] != name)
			i++;
		if (i == processes->count)
			processes->names[processes->count++] = name;
		processes->of_lane[lane] = i;
	}
	if (processes->count == 0)
		processes->names[processes->count++] = THRUM__NONE;
	return 0;
}

void export_processes_free(struct export *export)
{
	free(export->processes.of_lane);
	free(export->processes.names);
}

uint32_t export_process(const struct export *export, uint32_t task)
{
	uint32_t lane = THRUM__TASK(export->model, task, lane);

	return lane < export->model->lane_count ? export->processes.of_lane[lane] : 0;
}

/* The whole name: with the machine's behind an @, if there are several machines. */
static const char *whole_name(const struct export *export, uint32_t process, size_t *size)
{
	uint32_t name = export->processes.names[process];

	if (name != THRUM__NONE)
		return thrum__model_string(export->model, name, size);
	*size = strlen(export->info->program);
	return export->info->program;
}

/* The @ in a whole name, or NULL. */
static const char *machine_in(const struct export *export, const char *name, size_t size)
{
	return *export->info->host ? NULL : memrchr(name, '@', size);
}

const char *export_process_name(const struct export *export, uint32_t process, size_t *size)
{
	const char *name = whole_name(export, process, size);
	const char *machine = machine_in(export, name, *size);

	if (machine)
		*size = (size_t)(machine - name);
	return name;
}

const char *export_process_host(const struct export *export, uint32_t process, size_t *size)
{
	size_t all;
	const char *name = whole_name(export, process, &all);
	const char *machine = machine_in(export, name, all);

	*size = machine ? all - (size_t)(machine + 1 - name) : strlen(export->info->host);
	return machine ? machine + 1 : export->info->host;
}

int64_t export_process_pid(const struct export *export, uint32_t process)
{
	return export->processes.count == 1 && export->info->pid > 0 ? export->info->pid
								     : (int64_t)process + 1;
}

bool export_cut_process(const struct export *export, uint32_t process, const char **text,
	size_t *size)
{
	size_t length;
	const char *name = thrum__model_string(export->model, process, &length);

	if (*size <= length || memcmp(*text, name, length) != 0 || (*text)[length] != '/')
		return false;
	*text += length + 1;
	*size -= length + 1;
	return true;
}

uint32_t export_counter_process(const struct export *export, const char **name, size_t *size)
{
	for (uint32_t i = 0; i < export->processes.count; i++)
		if (export->processes.names[i] != THRUM__NONE &&
			export_cut_process(export, export->processes.names[i], name, size))
			return i;
	return 0;
}
