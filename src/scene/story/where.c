/* SPDX-License-Identifier: ISC */
/* Where the time of groups goes, for documents and the line below a band's name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "scene/bands/bands.h"

#define SAMPLE 200      /* lines of a group whose paths are looked at */
#define SHARE_LEAST 0.5 /* of a part that is told below the name */
#define BEFORE 5        /* 1/5 of the rows that are looked at lie before the time in question */

const struct thrum__bands *thrum__scene_bands_of(const struct thrum__scene *scene)
{
	return scene->bands && thrum__scene_shows_bands(scene) ? scene->bands->all : NULL;
}

bool thrum__scene_bands_tells_range(const struct thrum__scene *scene)
{
	return thrum__scene_bands_of(scene) && thrum__bands_has_range(&scene->state.bands) &&
		(scene->selected == THRUM__NONE || scene->tells_range);
}

/* Whether a band or a thread has the focus, so that the panel tells about that. */
static bool tells_focus(const struct thrum__scene *scene)
{
	return thrum__scene_bands_focus(scene) != THRUM__NONE ||
		thrum__scene_bands_focus_thread(scene) != THRUM__NONE;
}

uint32_t thrum__scene_bands_subject(const struct thrum__scene *scene)
{
	const struct thrum__scene_bands_state *state = &scene->state.bands;
	uint64_t seed = (uint64_t)state->range_from * 31 + (uint64_t)state->range_to +
		((uint64_t)state->took_from * 31 + (uint64_t)state->took_to) * 961;

	if (!thrum__scene_bands_of(scene))
		return 8 * (scene->run + 1);
	return 8 *
		(uint32_t)thrum__base_hash_text(seed + scene->run, state->focus,
			strlen(state->focus)) +
		4 * tells_focus(scene) + 2 * thrum__scene_bands_box_opens(scene) +
		thrum__scene_bands_tells_range(scene);
}

/* ---- Parts of a model ----------------------------------------------------------------------- */

/* The paths of a part of a model: of the edges and runs of a time, and of all tasks. It is as if
 * all that happened before were forgotten, so only lines that began later are looked at. */
struct thrum__scene_bands_part {
	struct thrum__model model; /* shares all blocks with the whole */
	struct thrum__paths paths;
	int64_t since;
};

static void part_destroy(struct thrum__scene_bands_part *part)
{
	if (part)
		thrum__slow_paths_finish(&part->paths);
	free(part);
}

void thrum__scene_bands_forget_part(struct thrum__scene_bands *bands)
{
	part_destroy(bands->part);
	bands->part = NULL;
}

void thrum__scene_bands_forget_where(struct thrum__scene_bands *bands)
{
	thrum__scene_bands_forget_part(bands);
	free(bands->where);
	bands->where = NULL;
	bands->looked = 0;
}

/* The first edge, or run, at a time or later. Rows that are forgotten lie before. */
static uint32_t row_from(const struct thrum__model *model, bool is_run, int64_t time)
{
	const struct thrum__model_rows *rows = is_run ? &model->runs : &model->edges;
	uint32_t low = rows->first, high = rows->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!thrum__model_has_row(rows, middle) ||
			(is_run ? THRUM__RUN(model, middle, start)
				: THRUM__EDGE(model, middle, time)) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t rows_between(const struct thrum__model *model, int64_t from, int64_t to)
{
	return row_from(model, false, to) - row_from(model, false, from) +
		row_from(model, true, to) - row_from(model, true, from);
}

/* Returns since when the part is whose end is `to`: it has at most `most` rows, and if there are so many, a
 * part of them lies before `from`, and so does a time as long as from … to. */
static int64_t begin_of(const struct thrum__model *model, int64_t from, int64_t to, uint32_t most)
{
	int64_t low = model->forgotten > 0 ? model->forgotten : 0, high = to;
	int64_t wanted = from - low > to - from ? from - (to - from) : low;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		uint32_t rows = rows_between(model, middle, to);

		if (rows > most)
			low = middle;
		else if (middle > wanted || rows_between(model, middle, from) < most / BEFORE)
			high = middle;
		else
			low = middle;
	}
	return rows_between(model, low, to) > most ? high : low;
}

/* Begins the paths for lines that end in from … to. Returns NULL if there is no memory. */
static struct thrum__scene_bands_part *part_begin(const struct thrum__scene_bands *bands,
	int64_t from, int64_t to)
{
	const struct thrum__model *model = bands->all->model;
	struct thrum__scene_bands_part *part = malloc(sizeof *part);

	if (!part)
		return NULL;
	to += to < INT64_MAX;
	part->model = *model;
	part->since = begin_of(model, from, to, bands->path_rows);
	part->model.edges.first = row_from(model, false, part->since);
	part->model.edges.count = row_from(model, false, to);
	part->model.runs.first = row_from(model, true, part->since);
	part->model.runs.count = row_from(model, true, to);
	thrum__slow_paths_begin(&part->paths, &part->model);
	return part;
}

/* Makes all steps. Returns NULL if there is no memory, and frees the part then. */
static struct thrum__scene_bands_part *part_finish(struct thrum__scene_bands_part *part)
{
	int more = part ? 1 : -THRUM_E_MEMORY;

	while (more > 0)
		more = thrum__slow_paths_step(&part->paths);
	if (more == 0)
		return part;
	part_destroy(part);
	return NULL;
}

/* Whether a part is made: all would take too long, or in place of the old paths. */
static bool takes_part(const struct thrum__scene_bands *bands)
{
	const struct thrum__model *model = bands->all->model;

	if (bands->paths)
		return bands->are_paths_old;
	return (uint64_t)(model->edges.count - model->edges.first) +
		(model->runs.count - model->runs.first) >
		bands->path_rows;
}

/* Whether there is nothing to look at yet. */
static bool is_early(struct thrum__scene_bands *bands)
{
	return !takes_part(bands) && thrum__scene_bands_lacks_paths(bands);
}

/* ---- Looking -------------------------------------------------------------------------------- */

/* The lines among `count` that began since a time; returns how many. */
static uint32_t keep_since(const struct thrum__model *model, int64_t since, uint32_t *tasks,
	uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (THRUM__TASK(model, tasks[i], start) >= since)
			tasks[kept++] = tasks[i];
	return kept;
}

/* The paths for lines that end in from … to, or NULL: no memory. They are to be given back. */
static struct thrum__paths *take_paths(struct thrum__scene_bands *bands, int64_t from, int64_t to,
	struct thrum__scene_bands_part **part)
{
	*part = NULL;
	if (!takes_part(bands))
		return thrum__scene_bands_paths(bands);
	if (to >= bands->all->to && bands->part) {
		*part = part_finish(bands->part);
		bands->part = *part;
	} else {
		*part = part_finish(part_begin(bands, from, to));
	}
	return *part ? &(*part)->paths : NULL;
}

/* Those of the latest part are kept, as the panel asks for it again and again. */
static void give_paths(struct thrum__scene_bands *bands, int64_t to,
	struct thrum__scene_bands_part *part)
{
	if (to >= bands->all->to && part)
		bands->part = part;
	else
		part_destroy(part);
}

/* Sums up the paths of lines, of which those of a part that began before it are left out. Gives the paths
 * back. */
static int sum_up(struct thrum__scene_bands *bands, struct thrum__paths *paths,
	struct thrum__scene_bands_part *part, int64_t to, uint32_t *tasks, uint32_t count,
	struct thrum__story_where *where)
{
	int status;

	if (part)
		count = keep_since(paths->model, part->since, tasks, count);
	status = thrum__story_where_make(paths, &bands->all->family, tasks, count, where);
	where->since = part ? part->since : 0;
	give_paths(bands, to, part);
	return status;
}

/* Looks at the paths of lines that ended in a time. */
static int look(struct thrum__scene_bands *bands, uint32_t group,
	const struct thrum__bands_time *time, struct thrum__story_where *where)
{
	int last = time->from[1] < time->to[1];
	int64_t from = time->from[last], to = time->to[last];
	struct thrum__scene_bands_part *part;
	struct thrum__paths *paths = take_paths(bands, from, to, &part);
	struct thrum__bands_time known = *time;
	uint32_t tasks[SAMPLE], count;

	if (!paths)
		return -THRUM_E_MEMORY;
	for (int i = 0; part && i < 2; i++)
		known.from[i] = known.from[i] > part->since ? known.from[i] : part->since;
	count = thrum__bands_sample(bands->all, group, &known, tasks, SAMPLE);
	return sum_up(bands, paths, part, to, tasks, count, where);
}

/* Makes a step of the paths for lines of all times. Returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. */
static int step_paths(struct thrum__scene_bands *bands)
{
	if (!takes_part(bands))
		return thrum__scene_bands_step_paths(bands);
	if (!bands->part)
		bands->part = part_begin(bands, bands->all->from, bands->all->to);
	return bands->part ? thrum__slow_paths_step(&bands->part->paths) : -THRUM_E_MEMORY;
}

/* Looks at the next group. Returns as thrum__scene_bands_look_on. */
static int look_at_next(struct thrum__scene_bands *bands)
{
	const struct thrum__family *family = &bands->all->family;
	const struct thrum__bands_time time = {{bands->all->from, 0}, {bands->all->to, 0}};
	int more;

	while (bands->looked < family->shown_count &&
		family->groups[family->shown[bands->looked]].size != THRUM__GROUP_LARGE)
		bands->looked++;
	if (bands->looked == family->shown_count)
		return 0;
	more = step_paths(bands);
	if (more != 0)
		return more;
	more = look(bands, family->shown[bands->looked], &time, &bands->where[bands->looked]);
	bands->looked++;
	return more < 0 ? more : 1;
}

int thrum__scene_bands_look_on(struct thrum__scene *scene)
{
	struct thrum__scene_bands *bands = scene->bands;
	int more;

	if (!bands || !thrum__scene_shows_bands(scene) || is_early(bands))
		return 0;
	if (!bands->where)
		bands->where = calloc(THRUM__FAMILY_BANDS, sizeof *bands->where);
	if (!bands->where)
		return -THRUM_E_MEMORY;
	more = look_at_next(bands);
	if (more < 0)
		thrum__scene_bands_forget_where(bands);
	return more;
}

int thrum__scene_bands_look(struct thrum__scene *scene)
{
	int more;

	do
		more = thrum__scene_bands_look_on(scene);
	while (more > 0);
	return more;
}

bool thrum__scene_bands_lacks_where(const struct thrum__scene *scene)
{
	const struct thrum__scene_bands *bands = scene->bands;

	return bands && thrum__scene_shows_bands(scene) &&
		bands->looked < bands->all->family.shown_count;
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
	if (!bands || group >= bands->all->family.group_count || is_early(bands))
		return 0;
	return look(bands, group, time, where);
}

/* Looks at the paths of the lines in a box, or of the others of its group. */
static int look_beside(struct thrum__scene_bands *bands, const struct thrum__bands_box *box,
	bool inside, struct thrum__story_where *where)
{
	int64_t from = inside ? box->from : bands->all->from;
	int64_t to = inside ? box->to : bands->all->to;
	struct thrum__scene_bands_part *part;
	struct thrum__paths *paths = take_paths(bands, from, to, &part);
	uint32_t tasks[SAMPLE], of, count;

	if (!paths)
		return -THRUM_E_MEMORY;
	count = thrum__bands_box_sample(bands->all, box, inside, tasks, SAMPLE, &of);
	return sum_up(bands, paths, part, to, tasks, count, where);
}

int thrum__scene_bands_where_beside(struct thrum__scene *scene, uint32_t group,
	struct thrum__story_where *here, struct thrum__story_where *other)
{
	const struct thrum__bands *bands = thrum__scene_bands_of(scene);
	int64_t from = scene->state.bands.range_from, to = scene->state.bands.range_to;
	struct thrum__bands_time within = {{from, 0}, {to, 0}};
	struct thrum__bands_time beside = {{bands->from, to}, {from, bands->to}};
	struct thrum__bands_box box;

	*here = *other = (struct thrum__story_where){0};
	if (is_early(scene->bands))
		return 0;
	if (thrum__scene_bands_box(scene, &box))
		return look_beside(scene->bands, &box, true, here) < 0
			? -THRUM_E_MEMORY
			: look_beside(scene->bands, &box, false, other);
	if (thrum__scene_bands_where_in(scene, group, &within, here) < 0 ||
		thrum__scene_bands_where_in(scene, group, &beside, other) < 0)
		return -THRUM_E_MEMORY;
	return 0;
}

/* ---- The line below a large band's name ------------------------------------------------------ */

void thrum__story_where_words(const struct thrum__scene_bands *bands, uint32_t group, char *to,
	size_t size)
{
	uint32_t shown = bands->all->family.groups[group].shown;
	const struct thrum__story_where *where = bands->where && shown != THRUM__NONE
		? &bands->where[shown]
		: NULL;
	char name[THRUM__NAME_MAX], percent[32];

	*to = 0;
	if (!where || where->count == 0 || where->parts[0].share < SHARE_LEAST)
		return;
	thrum__words_percent(where->parts[0].share, percent, sizeof percent);
	switch (where->parts[0].kind) {
	case THRUM__WHERE_RUNS: snprintf(to, size, "%s runs", percent); break;
	case THRUM__WHERE_BUSY: snprintf(to, size, "%s ready, thread busy", percent); break;
	case THRUM__WHERE_OUTSIDE: snprintf(to, size, "%s waits for the outside", percent); break;
	default:
		thrum__scene_bands_group_name(bands->all, where->parts[0].group, name);
		snprintf(to, size, "%s waits for %s", percent, name);
	}
}
