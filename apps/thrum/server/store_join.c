/* SPDX-License-Identifier: ISC */
#include "server/store_join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/finding.h"
#include "world/world.h"

void store_put_name(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", *from ? from : "unknown");
	for (; *to; to++)
		if (strchr("/=% ", *to) || (unsigned char)*to < ' ')
			*to = '_';
}

/* Notes how the tables of a recording name it. */
static int name_part(const struct command *command, const struct thrum__source_recording *recording,
	struct store_join *join, size_t i)
{
	struct input input;
	int status = input_open(command, recording->path, &input);

	if (status != STATUS_OK)
		return status;
	store_put_name(join->hosts[i], sizeof(join->hosts[i]),
		recording->host ? recording->host : input.info->host);
	if (recording->program)
		snprintf(join->programs[i], sizeof(join->programs[i]), "%s", recording->program);
	else
		input_program(input.path, input.info->program, join->programs[i]);
	join->parts[i] = (struct thrum__store_part){join->hosts[i], join->programs[i],
		input.info->pid};
	input_close(&input);
	return STATUS_OK;
}

static int load_join(const struct command *command, const struct thrum__source_group *group,
	struct store_join *join)
{
	int status = STATUS_OK;

	join->load.input.info = thrum_trace_info(join->load.input.trace);
	snprintf(join->load.input.path, sizeof(join->load.input.path), "%zu recordings as one",
		group->count);
	for (size_t i = 0; i < group->count && status == STATUS_OK; i++)
		status = name_part(command, &group->all[i], join, i);
	if (status != STATUS_OK) {
		input_close(&join->load.input);
		return status;
	}
	status = load_input(&join->load);
	if (status != STATUS_OK)
		return status;
	join->findings = calloc(1, sizeof(*join->findings));
	if (!join->findings || thrum__why_make(join->load.model, join->findings) < 0) {
		free(join->findings);
		join->findings = NULL;
		return load_no_memory();
	}
	join->joined = (struct thrum__store_joined){join->load.model, join->findings, join->parts,
		(uint32_t)group->count, THRUM__WORLD_ID_STEP};
	return STATUS_OK;
}

int store_join(const struct command *command, const struct thrum__source_group *group,
	struct store_join **to)
{
	struct store_join *join = group->count > 1 ? calloc(1, sizeof(*join)) : NULL;
	uint64_t messages = 0;
	int status;

	*to = NULL;
	if (group->count < 2)
		return STATUS_OK;
	if (!join)
		return load_no_memory();
	/* A recording that can't be read is told of when it is stored. */
	if (thrum__source_join(group, &join->load.input.trace, &messages, NULL) < 0) {
		free(join);
		return STATUS_OK;
	}
	if (messages == 0) {
		input_close(&join->load.input);
		free(join);
		return STATUS_OK;
	}
	status = load_join(command, group, join);
	if (status == STATUS_OK)
		*to = join;
	else
		store_join_free(join);
	return status;
}

void store_join_free(struct store_join *join)
{
	if (!join)
		return;
	if (join->findings)
		thrum__why_free(join->findings);
	free(join->findings);
	if (join->load.model)
		load_finish(&join->load);
	free(join);
}
