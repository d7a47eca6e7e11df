/* SPDX-License-Identifier: ISC */
/* Where the time of groups goes, for documents and the line below a band's name. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "scene/bands/bands.h"

#define SAMPLE 200          /* lines of a group whose paths are looked at */
#define EVENTS_MOST 6000000 /* in greater models it is done only if there are paths already */

const struct thrum__bands *thrum__scene_bands_of(const struct thrum__scene *scene)
{
	return scene->bands && thrum__scene_shows_bands(scene) ? scene->bands->all : NULL;
}

bool thrum__scene_bands_tells_range(const struct thrum__scene *scene)
{
	return thrum__scene_bands_of(scene) && thrum__bands_has_range(&scene->state.bands) &&
		(scene->selected == THRUM__NONE || scene->tells_range);
}

uint32_t thrum__scene_bands_subject(const struct thrum__scene *scene)
{
	const struct thrum__scene_bands_state *state = &scene->state.bands;
	uint64_t seed = (uint64_t)state->range_from * 31 + (uint64_t)state->range_to +
		((uint64_t)state->took_from * 31 + (uint64_t)state->took_to) * 961;

	struct thrum__bands_box box;

	if (!thrum__scene_bands_of(scene))
		return 4 * (scene->run + 1);
	return 4 *
		(uint32_t)thrum__base_hash_text(seed + scene->run, state->focus,
			strlen(state->focus)) +
		2 * thrum__scene_bands_box(scene, &box) + thrum__scene_bands_tells_range(scene);
}

/* Looks at the paths of lines that ended in a time. */
static int look(struct thrum__scene_bands *bands, uint32_t group,
	const struct thrum__bands_time *time, struct thrum__story_where *where)
{
	struct thrum__paths *paths = thrum__scene_bands_paths(bands);
	uint32_t tasks[SAMPLE];

	return paths ? thrum__story_where_make(paths, &bands->all->family, tasks,
			       thrum__bands_sample(bands->all, group, time, tasks, SAMPLE), where)
		     : -THRUM_E_MEMORY;
}

int thrum__scene_bands_look(struct thrum__scene *scene)
{
	struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__family *family = bands ? &bands->all->family : NULL;
	struct thrum__story_where *made;
	int status = 0;

	if (!bands || bands->where || (!bands->paths && scene->model->events > EVENTS_MOST))
		return 0;
	made = calloc(THRUM__FAMILY_BANDS, sizeof *made);
	if (!made)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; status == 0 && i < family->shown_count; i++)
		if (family->groups[family->shown[i]].size == THRUM__GROUP_LARGE)
			status = look(bands, family->shown[i],
				&(struct thrum__bands_time){{bands->all->from, 0},
					{bands->all->to, 0}},
				&made[i]);
	if (status < 0) {
		free(made);
		return status;
	}
	bands->where = made;
	return 0;
}

const struct thrum__story_where *thrum__scene_bands_where(const struct thrum__scene *scene)
{
	return scene->bands ? scene->bands->where : NULL;
}

int thrum__scene_bands_where_in(struct thrum__scene *scene, uint32_t group,
	const struct thrum__bands_time *time, struct thrum__story_where *where)
{
	struct thrum__scene_bands *bands = scene->bands;

	*where = (struct thrum__story_where){0};
	if (!bands || group >= bands->all->family.group_count ||
		(!bands->paths && scene->model->events > EVENTS_MOST))
		return 0;
	return look(bands, group, time, where);
}

/* Looks at the paths of the lines in a box, and of the others of its group. */
static int look_beside(struct thrum__scene_bands *bands, const struct thrum__bands_box *box,
	bool inside, struct thrum__story_where *where)
{
	struct thrum__paths *paths = thrum__scene_bands_paths(bands);
	uint32_t tasks[SAMPLE], of, count;

	count = thrum__bands_box_sample(bands->all, box, inside, tasks, SAMPLE, &of);
	return paths ? thrum__story_where_make(paths, &bands->all->family, tasks, count, where)
		     : -THRUM_E_MEMORY;
}

int thrum__scene_bands_where_beside(struct thrum__scene *scene, uint32_t group,
	struct thrum__story_where *here, struct thrum__story_where *other)
{
	const struct thrum__bands *bands = thrum__scene_bands_of(scene);
	int64_t from = scene->state.bands.range_from, to = scene->state.bands.range_to;
	struct thrum__bands_time within = {{from, 0}, {to, 0}};
	struct thrum__bands_time beside = {{bands->from, to}, {from, bands->to}};
	struct thrum__bands_box box;

	if (thrum__scene_bands_box(scene, &box) &&
		(scene->bands->paths || scene->model->events <= EVENTS_MOST))
		return look_beside(scene->bands, &box, true, here) < 0
			? -THRUM_E_MEMORY
			: look_beside(scene->bands, &box, false, other);
	if (thrum__scene_bands_where_in(scene, group, &within, here) < 0 ||
		thrum__scene_bands_where_in(scene, group, &beside, other) < 0)
		return -THRUM_E_MEMORY;
	return 0;
}
