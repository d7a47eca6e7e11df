/* SPDX-License-Identifier: ISC */
/* The processes of a trace: one, or those that it joins. */
#include <stdlib.h>
#include <string.h>

#include "export.h"

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

const char *export_process_name(const struct export *export, uint32_t process, size_t *size)
{
	uint32_t name = export->processes.names[process];

	if (name != THRUM__NONE)
		return thrum__model_string(export->model, name, size);
	*size = strlen(export->info->program);
	return export->info->program;
}
