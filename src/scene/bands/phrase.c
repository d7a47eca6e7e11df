/* SPDX-License-Identifier: ISC */
/* The line below a large band's name: where most of the time of its lines goes. */
#include <stdio.h>

#include "analyse/story/story.h"
#include "scene/bands/bands.h"

#define SAMPLE 60         /* lines of a group that are looked at */
#define TASKS_MOST 500000 /* in larger traces it would take too long while somebody waits */
#define SHARE_LEAST 0.5

/* Chooses lines that resolved, spread over the whole trace. */
static uint32_t choose_lines(const struct thrum__bands *bands, uint32_t group,
	uint32_t tasks[SAMPLE])
{
	uint32_t lines = bands->family.groups[group].lines, step = lines / SAMPLE + 1;
	uint32_t count = 0, at = 0;
	struct thrum__bands_walk walk;
	struct thrum__bands_line line;

	thrum__bands_walk_begin(&walk, bands, group, 0, THRUM__BANDS_CLASSES, bands->from,
		bands->to + 1);
	while (count < SAMPLE && thrum__bands_walk_next(&walk, &line))
		if (!line.is_failed && !line.is_pending && at++ % step == 0)
			tasks[count++] = line.task;
	return count;
}

static void write_where(const struct thrum__bands *bands, const struct thrum__story_part *part,
	char *to, size_t size)
{
	char name[THRUM__NAME_MAX];
	char percent[THRUM__NUMBER_ROOM];

	thrum__words_percent(part->share, percent, sizeof percent);
	switch (part->kind) {
	case THRUM__WHERE_RUNS: snprintf(to, size, "%s runs", percent); break;
	case THRUM__WHERE_BUSY: snprintf(to, size, "%s ready, thread busy", percent); break;
	case THRUM__WHERE_OUTSIDE: snprintf(to, size, "%s waits for the outside", percent); break;
	default:
		thrum__scene_bands_group_name(bands, part->group, name);
		snprintf(to, size, "%s waits for %.30s", percent, name);
	}
}

void thrum__scene_bands_find_where(struct thrum__scene_bands *bands)
{
	const struct thrum__family *family = &bands->all->family;
	struct thrum__paths *paths;
	uint32_t tasks[SAMPLE];

	if (bands->has_where || (!bands->paths && bands->all->model->tasks.count > TASKS_MOST))
		return;
	paths = thrum__scene_bands_paths(bands);
	bands->has_where = true;
	for (uint32_t i = 0; paths && i < family->shown_count; i++) {
		struct thrum__story_where where;
		uint32_t count;

		bands->counted[i].where[0] = 0;
		if (family->groups[family->shown[i]].size != THRUM__GROUP_LARGE)
			continue;
		count = choose_lines(bands->all, family->shown[i], tasks);
		if (count > 0 &&
			thrum__story_where_make(paths, family, tasks, count, &where) == 0 &&
			where.count > 0 && where.parts[0].share >= SHARE_LEAST)
			write_where(bands->all, &where.parts[0], bands->counted[i].where,
				sizeof bands->counted[i].where);
	}
}
