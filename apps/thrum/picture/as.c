/* SPDX-License-Identifier: ISC */
/* Reads the options that choose rows or bands, and writes them as a state's text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line/text.h"
#include "picture/as.h"
#include "trace/load.h"

/* ---- Reading ------------------------------------------------------------------------------- */

static int read_opened(const struct command *command, const struct text_list *names,
	struct thrum__scene_bands_state *state)
{
	_Static_assert((int)TEXTS_MAX <= (int)THRUM__OPENED_MAX, "each name has a place");

	for (size_t i = 0; i < names->count; i++) {
		if (strlen(names->texts[i]) >= sizeof(state->opened[0]))
			return complain_usage(command, "--open: too long a name: %s",
				names->texts[i]);
		strcpy(state->opened[i], names->texts[i]);
	}
	state->opened_count = (uint8_t)names->count;
	return STATUS_OK;
}

static int read_stories(const struct command *command, const char *ids,
	struct thrum__scene_bands_state *state)
{
	for (;;) {
		size_t size = strcspn(ids, ",");

		if (state->story_count == THRUM__STORIES_MAX)
			return complain_usage(command, "--story: at most three are shown");
		if (!parse_id(ids, size, &state->stories[state->story_count++]))
			return complain_usage(command, "--story needs a number, not \"%.*s\"",
				(int)size, ids);
		if (!ids[size])
			return STATUS_OK;
		ids += size + 1;
	}
}

static int read_range(const struct command *command, const char *range,
	struct thrum__scene_bands_state *state)
{
	const char *dots = strstr(range, "..");
	int64_t from, to;
	char first[64];

	snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - range) : 0, range);
	if (!dots || !parse_time(first, &from) || !parse_time(dots + 2, &to) ||
		from < -THRUM__TIME_MAX || to > THRUM__TIME_MAX)
		return complain_usage(command,
			"--range needs two times such as 1.2s..1.3s, not \"%s\"", range);
	if (from >= to)
		return complain_usage(command, "--range: %s ends before it begins", range);
	state->range_from = from;
	state->range_to = to;
	return STATUS_OK;
}

int as_read(const struct command *command, struct as_options *options,
	struct thrum__scene_bands_state *state)
{
	bool needs_bands = options->open.count > 0 || options->story || options->range ||
		options->pair;
	int status = read_opened(command, &options->open, state);

	if (status == STATUS_OK && options->story)
		status = read_stories(command, options->story, state);
	if (status == STATUS_OK && options->range)
		status = read_range(command, options->range, state);
	if (needs_bands && options->as < 0)
		options->as = THRUM__AS_BANDS;
	return status;
}

int as_check_pair(const struct command *command, const struct as_options *options, int traces)
{
	if (!options->pair || traces == 1)
		return STATUS_OK;
	return complain_usage(command, "--pair compares one trace with another: give one trace");
}

/* ---- Writing ------------------------------------------------------------------------------- */

int as_state(const struct command *command, struct as_options *options, const char *state,
	char **text)
{
	struct thrum__scene_bands_state bands = {0};
	int status = as_read(command, options, &bands);
	size_t size, old = state ? strlen(state) : 0, room;
	const char *name, *pair = options->pair ? "&pair=1" : "";

	*text = NULL;
	if (status != STATUS_OK || options->as < 0)
		return status;
	name = thrum__scene_as_name(options->as);
	size = old + strlen(name) + sizeof("&as=&") + strlen(pair);
	room = size + thrum__scene_bands_state_print(&bands, NULL, 0);
	*text = malloc(room);
	if (!*text)
		return load_no_memory();
	size = (size_t)snprintf(*text, room, "%s%sas=%s%s&", old ? state : "", old ? "&" : "", name,
		pair);
	if (thrum__scene_bands_state_print(&bands, *text + size, room - size) == 0)
		(*text)[size - 1] = '\0';
	return STATUS_OK;
}
