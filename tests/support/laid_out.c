/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "laid_out.h"

#include <dirent.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint32_t layout_random(uint64_t *seed, uint32_t below)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (uint32_t)((*seed * UINT64_C(0x2545f4914f6cdd1d) >> 32) * below >> 32);
}

struct thrum_event *layout_events(uint64_t seed, uint32_t count, uint32_t lanes)
{
	static const uint8_t TYPES[] = {THRUM_EVENT_CREATE, THRUM_EVENT_CREATE, THRUM_EVENT_SWITCH,
		THRUM_EVENT_SWITCH, THRUM_EVENT_WAIT, THRUM_EVENT_READ, THRUM_EVENT_RESOLVE,
		THRUM_EVENT_RESOLVE, THRUM_EVENT_FAIL, THRUM_EVENT_BECOME, THRUM_EVENT_LOG,
		THRUM_EVENT_SUSPEND, THRUM_EVENT_RESUME, THRUM_EVENT_SHOULD_RESOLVE};
	struct thrum_event *events = calloc(count, sizeof(*events));
	bool *has_ended = calloc(count + 2, sizeof(*has_ended)), is_sane = seed % 2 == 0;
	int64_t time = 0;
	uint32_t ids = 0;

	assert_non_null(events);
	assert_non_null(has_ended);
	for (uint32_t i = 0; i < count; i++) {
		struct thrum_event *e = &events[i];
		uint32_t back = ids < 30 ? ids + 1 : 30;

		time += layout_random(&seed, layout_random(&seed, 20) ? 10 : 2000);
		*e = (struct thrum_event){
			.time = time,
			.lane = layout_random(&seed, lanes),
			.type = TYPES[layout_random(&seed, sizeof(TYPES))],
			.kind = THRUM_KIND_PROMISE,
			.text = "text",
			.text_size = 4,
			.task = 1 + ids - layout_random(&seed, back),
			.other = 1 + ids - layout_random(&seed, back),
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER |
				THRUM_EVENT_HAS_TEXT,
		};
		if (e->type == THRUM_EVENT_CREATE)
			e->other = ++ids + 1;
		else if (e->type == THRUM_EVENT_SHOULD_RESOLVE && layout_random(&seed, 20))
			e->type = THRUM_EVENT_SWITCH;
		uint64_t ended = e->type == THRUM_EVENT_BECOME                          ? e->task
			: e->type == THRUM_EVENT_RESOLVE || e->type == THRUM_EVENT_FAIL ? e->other
											: 0;

		if (is_sane && has_ended[ended])
			e->type = THRUM_EVENT_READ;
		else if (ended)
			has_ended[ended] = true;
	}
	free(has_ended);
	return events;
}

struct thrum__model *layout_model(const struct thrum_event *events, size_t count)
{
	struct thrum__model *model;

	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, events, count), 0);
	return model;
}

struct thrum__layout *layout_of(const struct thrum__model *model, bool by_lane)
{
	struct thrum__layout *layout;

	assert_int_equal(thrum__layout_create(true, by_lane, &layout), 0);
	assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
	assert_true(thrum__layout_is_valid(layout, model));
	return layout;
}

static void visit_file(const char *folder, const char *name,
	void (*visit)(const char *name, const struct thrum__model *))
{
	struct thrum_trace *trace;
	struct thrum__model *model;
	char file[8192];

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum__model_create(trace, &model), 0);
	assert_int_equal(thrum__model_load(model, trace, NULL, NULL, NULL), 0);
	visit(name, model);
	thrum__model_destroy(model);
	thrum_trace_close(trace);
}

unsigned layout_each_trace(void (*visit)(const char *name, const struct thrum__model *))
{
	const char *folder = getenv("THRUM_MIRAGE_DATA"), *source = getenv("SOURCE");
	char pattern[4096];
	glob_t found = {0};
	unsigned count = 0;

	snprintf(pattern, sizeof(pattern), "%s/../*/data/mirage", source ? source : ".");
	if (!folder && glob(pattern, 0, NULL, &found) == 0)
		folder = found.gl_pathv[0];
	DIR *directory = folder ? opendir(folder) : NULL;

	if (directory) {
		for (struct dirent *entry; (entry = readdir(directory));) {
			size_t length = strlen(entry->d_name);

			if (length < 5 || strcmp(entry->d_name + length - 4, ".ctf") != 0)
				continue;
			visit_file(folder, entry->d_name, visit);
			count++;
		}
		closedir(directory);
	}
	globfree(&found);
	return count;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t layout_median_distance(const struct thrum__layout *layout, uint32_t *above)
{
	uint32_t *distance = malloc((layout->unit_count + 1u) * sizeof(*distance)), count = 0;

	assert_non_null(distance);
	*above = 0;
	for (uint32_t i = 0; i < layout->unit_count; i++) {
		const struct thrum__layout_unit *u = &layout->units[i];

		if (u->task == THRUM__NONE || u->parent == THRUM__NONE ||
			layout->units[u->parent].group != u->group)
			continue;
		uint32_t track = layout->units[u->parent].track;

		*above += u->track < track;
		distance[count++] = u->track < track ? track - u->track : u->track - track;
	}
	qsort(distance, count, sizeof(*distance), by_value);
	uint32_t median = count ? distance[count / 2] : 0;

	free(distance);
	return median;
}
