/* SPDX-License-Identifier: ISC */
/* Adds up the parts of paths by frame, and makes boxes of these sums. */
#include "analyse/slow/flame.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/stats/parts.h"
#include "base/array.h"

#define PARTS_MAX 4000000  /* of all paths together: a hostile trace may have long paths only */
#define PARTS_AT_ONCE 1000 /* in a step */

/* The times of a frame, in ns. */
struct sum {
	int64_t runs, waits; /* its own; all but running is `waits` */
	int64_t time;        /* its own, and that of all frames below */
	int64_t next;        /* the left edge of the next box below it */
};

struct pile {
	struct sum *sums;
	uint32_t room;
};

struct thrum__flame_work {
	struct thrum__paths *paths;
	const struct thrum__lives *lives;
	struct pile pile;
	struct thrum__flame made;
	uint32_t life;  /* where the next step goes on */
	uint64_t parts; /* of all paths so far, and the paths */
};

static int add_path(struct pile *pile, const struct thrum__paths *paths,
	const struct thrum__path *path)
{
	while (pile->room < paths->frame_count) {
		uint32_t room = pile->room;
		struct sum *grown = thrum__base_grow(pile->sums, &room, room + UINT64_C(1),
			sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		memset(grown + pile->room, 0, (room - pile->room) * sizeof(*grown));
		pile->sums = grown;
		pile->room = room;
	}
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *stretch = &path->parts[i];
		struct sum *sum = &pile->sums[stretch->frame];
		int64_t *to = stretch->doing == THRUM__DOING_RUNS ? &sum->runs : &sum->waits;

		*to = thrum__stats_add_time(*to, stretch->to - stretch->from);
	}
	return 0;
}

/* Adds the paths of some lives. Returns 1 if there are more, 0, or -THRUM_E_MEMORY. */
static int add_paths(struct thrum__flame_work *work)
{
	const struct thrum__lives *lives = work->lives;
	uint32_t step = lives->count / THRUM__FLAME_TASKS + 1;

	for (uint64_t end = work->parts + PARTS_AT_ONCE;
		work->life < lives->count && work->parts < PARTS_MAX; work->life += step) {
		struct thrum__path path;
		int error;

		if (work->parts >= end)
			return 1;
		error = thrum__slow_path_make(work->paths, lives->items[work->life].item, &path);
		if (error == 0) {
			error = add_path(&work->pile, work->paths, &path);
			work->parts += path.count + 1;
			thrum__slow_path_free(&path);
		}
		if (error < 0)
			return error;
		work->made.tasks++;
	}
	return 0;
}

/* ---- Boxes --------------------------------------------------------------------------------- */

static int compare_names(const void *context, uint32_t a, uint32_t b)
{
	const struct thrum__paths *paths = context;
	size_t a_size, b_size;
	const char *x = thrum__slow_frame_name(paths, a, &a_size);
	const char *y = thrum__slow_frame_name(paths, b, &b_size);
	int order = memcmp(x, y, a_size < b_size ? a_size : b_size);

	return order != 0 ? order : a_size < b_size ? -1 : a_size > b_size;
}

/* The left edge of a box of that width below the frame `parent`, or at the top if that is NONE. */
static int64_t place_box(struct pile *pile, uint32_t parent, int64_t time, int64_t *ground)
{
	int64_t *next = parent == THRUM__NONE ? ground : &pile->sums[parent].next;
	int64_t at = *next;

	*next = thrum__stats_add_time(at, time);
	return at;
}

static void add_boxes(struct pile *pile, const struct thrum__paths *paths, uint32_t index,
	struct thrum__flame *flame)
{
	const struct thrum__frame *frame = &paths->frames[index];
	struct sum *sum = &pile->sums[index];
	struct thrum__flame_box box = {.frame = index,
		.doing = frame->doing == THRUM__DOING_RUNS ? THRUM__DOING_WAITS : frame->doing,
		.depth = frame->depth,
		.time = sum->time,
		.self = sum->waits};

	if (sum->time == 0)
		return;
	box.from = place_box(pile, frame->parent, sum->time, &flame->total);
	sum->next = box.from;
	flame->boxes[flame->count++] = box;
	if (box.depth > flame->depth)
		flame->depth = box.depth;
	if (sum->runs == 0)
		return;
	/* The frame's running time is a box of its own below it, at the left. */
	box.doing = THRUM__DOING_RUNS;
	box.depth++;
	box.time = box.self = sum->runs;
	box.from = place_box(pile, index, sum->runs, &flame->total);
	flame->boxes[flame->count++] = box;
	if (box.depth > flame->depth)
		flame->depth = box.depth;
}

static int make_boxes(struct pile *pile, const struct thrum__paths *paths,
	struct thrum__flame *flame)
{
	size_t count = paths->frame_count < pile->room ? paths->frame_count : pile->room;
	struct thrum__base_sort_item *items = calloc(2 * count + 1, sizeof(*items));

	flame->boxes = calloc(2 * count + 1, sizeof(*flame->boxes));
	if (!items || !flame->boxes) {
		free(items);
		return -THRUM_E_MEMORY;
	}
	/* A frame's index is greater than its parent's, so the children come first here. */
	for (size_t i = count; i-- > 0;) {
		uint32_t parent = paths->frames[i].parent;
		struct sum *sum = &pile->sums[i];

		sum->time = thrum__stats_add_time(sum->time,
			thrum__stats_add_time(sum->runs, sum->waits));
		if (parent != THRUM__NONE)
			pile->sums[parent].time = thrum__stats_add_time(pile->sums[parent].time,
				sum->time);
		items[i] = (struct thrum__base_sort_item){paths->frames[i].depth, (uint32_t)i};
	}
	thrum__base_sort(items, items + count, count, compare_names, paths);
	for (size_t i = 0; i < count; i++)
		add_boxes(pile, paths, items[i].item, flame);
	free(items);
	return 0;
}

struct thrum__flame_work *thrum__slow_flame_begin(struct thrum__paths *paths,
	const struct thrum__lives *lives)
{
	struct thrum__flame_work *work = calloc(1, sizeof *work);

	if (!work)
		return NULL;
	work->paths = paths;
	work->lives = lives;
	work->made.of = lives->count;
	return work;
}

int thrum__slow_flame_go_on(struct thrum__flame_work *work)
{
	int more = add_paths(work);

	return more != 0 ? more : make_boxes(&work->pile, work->paths, &work->made);
}

void thrum__slow_flame_end(struct thrum__flame_work *work, struct thrum__flame *flame)
{
	if (!work)
		return;
	if (flame)
		*flame = work->made;
	else
		thrum__slow_flame_free(&work->made);
	free(work->pile.sums);
	free(work);
}

int thrum__slow_flame_make(struct thrum__paths *paths, const struct thrum__lives *lives,
	struct thrum__flame *flame)
{
	struct thrum__flame_work *work = thrum__slow_flame_begin(paths, lives);
	int more = work ? 1 : -THRUM_E_MEMORY;

	while (more > 0)
		more = thrum__slow_flame_go_on(work);
	thrum__slow_flame_end(work, more < 0 ? NULL : flame);
	return more;
}

void thrum__slow_flame_free(struct thrum__flame *flame)
{
	free(flame->boxes);
	*flame = (struct thrum__flame){0};
}
