/* SPDX-License-Identifier: ISC */
/*
 * The events of programs with tracepoints of LTTng-UST, as babeltrace2 prints them: each is a log line of
 * its thread, and functions that gcc instruments are slices.
 *
 *     [1795732506.590780848] host shop:order: { cpu_id = 1 }, { vpid = 7, vtid = 8, ... }, { item = 3 }
 */
#include <stdio.h>
#include <string.h>

#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE

/* Finds the last of several { … }, whose texts may hold such signs, too. Returns its content's size. */
static size_t last_group(const char *fields, const char **content)
{
	bool is_text = false;
	const char *at, *end = NULL;
	size_t depth = 0, size;

	*content = "";
	for (at = fields; *at; at++) {
		if (is_text && *at == '\\' && at[1]) {
			at++;
		} else if (*at == '"') {
			is_text = !is_text;
		} else if (!is_text && *at == '{' && depth++ == 0) {
			*content = at + 1;
			end = NULL;
		} else if (!is_text && *at == '}' && depth > 0 && --depth == 0) {
			end = at;
		}
	}
	size = **content ? (size_t)((end ? end : at) - *content) : 0;
	while (size > 0 && **content == ' ') {
		++*content;
		size--;
	}
	while (size > 0 && (*content)[size - 1] == ' ')
		size--;
	return size;
}

static uint32_t lane_of(struct thrum__import *im, const struct thrum__import_user *user)
{
	uint32_t part = thrum__import_part(im, user->pid, "", 0), lane;
	char name[32];
	int size = snprintf(name, sizeof name, "thread %lld", (long long)user->tid);

	if (!im->failed && im->parts[part].name == NONE && user->process_size > 0)
		im->parts[part].name = thrum__import_text(im, user->process, user->process_size);
	if (!im->failed && im->parts[part].host == NONE)
		im->parts[part].host = thrum__import_text(im, user->host, user->host_size);
	lane = thrum__import_lane(im, part, user->tid, "", 0);
	if (!im->failed && im->lanes[lane].name == NONE)
		im->lanes[lane].name = thrum__import_text(im, name, (size_t)size);
	return lane;
}

/* A function's address, as long as nobody knows its name. */
static int write_function(char *line, size_t room, const char *content)
{
	static const char field[] = "addr = ";

	if (strncmp(content, field, sizeof field - 1) == 0)
		content += sizeof field - 1;
	return snprintf(line, room, "function %.*s", (int)strcspn(content, ", }"), content);
}

static void add_event(struct thrum__import *im, const struct thrum__import_user *user)
{
	const char *content;
	size_t size = last_group(user->fields, &content), length;
	bool is_function = strncmp(user->provider, "lttng_ust_cyg_profile", 21) == 0;
	bool is_end = is_function && strcmp(user->event, "func_exit") == 0;
	char line[512];
	int written = is_function
		? write_function(line, sizeof line, content)
		: snprintf(line, sizeof line, "%s:%s %.*s", user->provider, user->event,
			  (int)(size < sizeof line ? size : sizeof line), content);

	length = (size_t)written < sizeof line ? (size_t)written : sizeof line - 1;
	thrum__import_add(im,
		&(struct thrum__import_item){.type = is_end ? THRUM__IMPORT_END
				: is_function               ? THRUM__IMPORT_BEGIN
							    : THRUM__IMPORT_LOG,
			.time = user->time,
			.lane = lane_of(im, user),
			.task = NONE,
			.other = NONE,
			.text = is_end ? NONE : thrum__import_text(im, line, length)});
}

bool thrum__import_user(struct thrum__import *im, const struct thrum__import_user *user)
{
	/* LTTng tells of itself there. */
	if (strcmp(user->provider, "lttng_ust_statedump") == 0)
		return false;
	add_event(im, user);
	return true;
}
