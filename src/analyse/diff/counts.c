/* SPDX-License-Identifier: ISC */
/* Compares how many tasks a group has for each creator, whether these are at the same time, and for
 * which groups the tasks of others wait. */
#include <stdlib.h>

#include "analyse/diff/parts.h"
#include "base/array.h"

#define TIMES 2        /* as many tasks for each creator: a difference */
#define SURPLUS 3      /* tasks that there are at least in addition */
#define OVERLAP 150    /* percent: lives of siblings that overlap take so much of their span */
#define NO_OVERLAP 112 /* percent: those that follow each other take no more */
#define IDLE 3         /* tasks that don't run: it is their habit */

/* A group's numbers in one recording. */
struct tally {
	uint32_t tasks;
	uint32_t first;        /* the first of them */
	uint64_t lives, spans; /* ns, over creators with several of these tasks, all ended */
	uint32_t several;      /* such creators */
	uint32_t ran;          /* tasks that ran */
	uint32_t first_ran;    /* the first of them */
};

/* ---- Tasks of each creator ----------------------------------------------------------------- */

/* Adds the tasks of one group below one creator; they come in the order of time. */
static void add_siblings(const struct thrum__model *model,
	const struct thrum__base_sort_item *items, uint32_t count, struct tally *tally)
{
	int64_t from = INT64_MAX, to = 0, sum = 0;
	bool all_ended = true;

	for (uint32_t i = 0; i < count; i++) {
		int64_t start = THRUM__TASK(model, items[i].item, start);
		int64_t end = thrum__slow_path_end(model, items[i].item);

		if (end == THRUM__OPEN || end < start || start < 0) {
			all_ended = false;
			break;
		}
		from = start < from ? start : from;
		to = end > to ? end : to;
		sum += end - start;
	}
	if (count < 2 || !all_ended || to <= from)
		return;
	tally->several++;
	tally->lives += (uint64_t)sum;
	tally->spans += (uint64_t)(to - from);
}

/* Counts the tasks of one group that ran. */
static void add_runs(const struct thrum__model *model, const struct thrum__base_sort_item *items,
	uint32_t count, struct tally *tally)
{
	for (uint32_t i = 0; i < count; i++)
		if (THRUM__TASK(model, items[i].item, run) != THRUM__NONE && tally->ran++ == 0)
			tally->first_ran = items[i].item;
}

/* Tallies the tasks of a recording. aligned->items are sorted by group. */
static void tally_side(struct thrum__aligned *aligned, struct tally *tallies)
{
	const struct thrum__base_sort_item *all = aligned->items;
	struct thrum__base_sort_item *items = aligned->room,
				     *room = aligned->room + aligned->labelled;

	for (uint32_t i = 0, end; i < aligned->labelled; i = end) {
		struct tally *tally = &tallies[all[i].key];

		for (end = i; end < aligned->labelled && all[end].key == all[i].key; end++)
			items[end - i] =
				(struct thrum__base_sort_item){(int64_t)aligned
								       ->above[all[end].item],
					all[end].item};
		tally->tasks = end - i;
		tally->first = all[i].item;
		add_runs(aligned->model, items, end - i, tally);
		thrum__base_sort(items, room, end - i, thrum__diff_compare_starts, aligned->model);
		for (uint32_t j = 0, next; j < end - i; j = next) {
			for (next = j; next < end - i && items[next].key == items[j].key;)
				next++;
			add_siblings(aligned->model, items + j, next - j, tally);
		}
	}
}

/* How many tasks could have created those of a group: all of the parent group, or 1. */
static uint32_t creators_of(const struct thrum__comparison *comparison, const struct tally *tallies,
	uint32_t group)
{
	uint32_t parent = comparison->parents[group];

	return parent == THRUM__NONE || tallies[parent].tasks == 0 ? 1 : tallies[parent].tasks;
}

/* Sets the first task of the group on both sides. */
static void set_examples(struct thrum__difference *d, const struct tally *tallies[THRUM__SIDES])
{
	for (int which = 0; which < THRUM__SIDES; which++) {
		const struct tally *tally = &tallies[which][d->group];

		d->side[which].task = tally->tasks > 0 ? tally->first : THRUM__NONE;
	}
}

/* Sets when the first tasks on both sides begin and end. */
static void set_times(const struct thrum__comparison *comparison, struct thrum__difference *d)
{
	for (int which = 0; which < THRUM__SIDES; which++) {
		const struct thrum__model *model = comparison->model[which];
		struct thrum__difference_side *side = &d->side[which];
		int64_t end;

		if (!thrum__model_has_row(&model->tasks, side->task))
			continue;
		end = thrum__slow_path_end(model, side->task);
		side->first = THRUM__TASK(model, side->task, start);
		side->second = end == THRUM__OPEN ? -1 : end;
	}
	d->time = d->side[THRUM__BAD].first;
}

/* How many tasks there are on both sides, and how many could have created them. */
struct numbers {
	uint32_t tasks[THRUM__SIDES], creators[THRUM__SIDES];
};

static struct numbers numbers_of(const struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], uint32_t group)
{
	struct numbers numbers;

	for (int which = 0; which < THRUM__SIDES; which++) {
		numbers.tasks[which] = tallies[which][group].tasks;
		numbers.creators[which] = creators_of(comparison, tallies[which], group);
	}
	return numbers;
}

/* Whether there are many times as many tasks for each creator in `which` as in the other. Tasks of
 * a creator that lives on, such as a timer's, may only be more because the recording is longer. */
static bool has_more(const struct thrum__comparison *comparison, const struct numbers *numbers,
	int which)
{
	uint32_t more = numbers->tasks[which], less = numbers->tasks[!which];
	double creators = numbers->creators[which], others = numbers->creators[!which];
	double expected = less / others * creators;

	if (creators == 1 && others == 1 &&
		comparison->model[which]->end > comparison->model[!which]->end)
		expected = expected * (double)comparison->model[which]->end /
			(double)(comparison->model[!which]->end + 1);
	return less > 0 && more >= TIMES * expected && more - expected >= SURPLUS;
}

/* Adds a difference MORE or LESS if the numbers differ so. NULL: they don't, or there is no room. */
static struct thrum__difference *compare_numbers(struct thrum__comparison *comparison,
	const struct numbers *numbers, uint32_t group, bool *failed)
{
	bool is_more = has_more(comparison, numbers, THRUM__BAD);
	struct thrum__difference *d;

	if (!is_more && !has_more(comparison, numbers, THRUM__GOOD))
		return NULL;
	d = thrum__diff_add(comparison, is_more ? THRUM__DIFFERENCE_MORE : THRUM__DIFFERENCE_LESS,
		group, failed);
	for (int which = 0; d && which < THRUM__SIDES; which++) {
		d->side[which].count = numbers->tasks[which];
		d->side[which].of = numbers->creators[which];
	}
	return d;
}

static void compare_tasks(struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], uint32_t group, bool *failed)
{
	const struct numbers numbers = numbers_of(comparison, tallies, group);
	struct thrum__difference *d = compare_numbers(comparison, &numbers, group, failed);

	if (!d)
		return;
	d->other_group = comparison->parents[group];
	set_examples(d, tallies);
	set_times(comparison, d);
}

/* Groups of one kind and pattern below creators of several patterns, such as “run compiler” below each
 * “compile FILE”. */
struct alike {
	struct numbers numbers;
	uint32_t group; /* the first that both recordings have */
	bool differs;   /* one of them does so by itself */
};

static void add_alike(const struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], uint32_t group, struct alike *alike)
{
	const struct numbers numbers = numbers_of(comparison, tallies, group);
	uint32_t at;

	if (alike->group == THRUM__NONE && numbers.tasks[THRUM__GOOD] && numbers.tasks[THRUM__BAD])
		alike->group = group;
	alike->differs |= thrum__diff_has(comparison, THRUM__DIFFERENCE_MORE, group, &at) ||
		thrum__diff_has(comparison, THRUM__DIFFERENCE_LESS, group, &at);
	for (int which = 0; which < THRUM__SIDES; which++) {
		alike->numbers.tasks[which] += numbers.tasks[which];
		alike->numbers.creators[which] += numbers.creators[which];
	}
}

/* Compares the sums of groups that are alike, where each alone differs by too little. */
static int compare_alike(struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES])
{
	uint32_t count = comparison->groups.count, at;
	struct alike *alikes = calloc((size_t)count + 1, sizeof *alikes);
	struct thrum__base_keys keys = {0};
	bool failed = !alikes;

	for (uint32_t group = 0; group < count && !failed; group++) {
		uint64_t kind = comparison->groups.keys[group].number & 0xff;
		uint32_t known = keys.count;
		size_t size;
		const char *name = thrum__diff_group_name(comparison, group, &size);

		failed = thrum__base_keys_add(&keys, kind, name, size, &at) < 0;
		if (failed)
			break;
		if (at >= known)
			alikes[at].group = THRUM__NONE;
		add_alike(comparison, tallies, group, &alikes[at]);
	}
	for (at = 0; at < keys.count && !failed; at++) {
		struct thrum__difference *d = alikes[at].differs || alikes[at].group == THRUM__NONE
			? NULL
			: compare_numbers(comparison, &alikes[at].numbers, alikes[at].group,
				  &failed);

		if (!d)
			continue;
		d->other_group = THRUM__NONE;
		set_examples(d, tallies);
		set_times(comparison, d);
	}
	thrum__base_keys_free(&keys);
	free(alikes);
	return failed ? -THRUM_E_MEMORY : 0;
}

/* Whether siblings overlap, in percent of their spans. */
static unsigned overlap_of(const struct tally *tally)
{
	return tally->several == 0 ? 0
				   : (unsigned)((double)tally->lives * 100 / (double)tally->spans);
}

/* The mean life of the tasks that have siblings, in ns. */
static uint64_t length_of(const struct tally *tally)
{
	return tally->tasks > 0 ? tally->lives / tally->tasks : 0;
}

static void compare_overlap(struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], uint32_t group, bool *failed)
{
	unsigned good = overlap_of(&tallies[THRUM__GOOD][group]);
	unsigned bad = overlap_of(&tallies[THRUM__BAD][group]);
	bool is_sequential = good >= OVERLAP && bad > 0 && bad <= NO_OVERLAP;
	bool has_creator = comparison->parents[group] != THRUM__NONE;
	struct thrum__difference *d;

	if (!is_sequential && !(bad >= OVERLAP && good > 0 && good <= NO_OVERLAP))
		return;
	/* The tasks of a whole program may overlap by chance, or because they became slower, and don't
	 * where they became faster. */
	if (!has_creator &&
		(!is_sequential || tallies[THRUM__GOOD][group].tasks <= TIMES ||
			good < TIMES * 100 ||
			length_of(&tallies[THRUM__BAD][group]) * TIMES <
				length_of(&tallies[THRUM__GOOD][group])))
		return;
	d = thrum__diff_add(comparison,
		is_sequential ? THRUM__DIFFERENCE_SEQUENTIAL : THRUM__DIFFERENCE_PARALLEL, group,
		failed);
	if (!d)
		return;
	d->other_group = comparison->parents[group];
	set_examples(d, tallies);
	set_times(comparison, d);
	for (int which = 0; which < THRUM__SIDES; which++) {
		d->side[which].count = tallies[which][group].tasks;
		d->side[which].of = overlap_of(&tallies[which][group]);
	}
}

/* Adds a difference if a timer's or a handle's callback runs in BAD that never does in GOOD. */
static void compare_runs(struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], uint32_t group, bool *failed)
{
	const struct tally *good = &tallies[THRUM__GOOD][group], *bad = &tallies[THRUM__BAD][group];
	uint8_t kind = comparison->groups.keys[group].number & 0xff;
	struct thrum__difference *d;

	if ((kind != THRUM_KIND_TIMER && kind != THRUM_KIND_HANDLE) || good->tasks < IDLE ||
		good->ran > 0 || bad->ran == 0)
		return;
	d = thrum__diff_add(comparison, THRUM__DIFFERENCE_RUNS, group, failed);
	if (!d)
		return;
	set_examples(d, tallies);
	d->side[THRUM__BAD].task = bad->first_ran;
	set_times(comparison, d);
	for (int which = 0; which < THRUM__SIDES; which++) {
		d->side[which].count = tallies[which][group].ran;
		d->side[which].of = tallies[which][group].tasks;
	}
}

/* ---- Uses ---------------------------------------------------------------------------------- */

/* How many tasks of one group wait for, read or lock tasks of another. */
struct use {
	uint32_t count[THRUM__SIDES];
	uint32_t task[THRUM__SIDES]; /* the first that does, or NONE */
	uint32_t last;               /* the last that was counted */
	int64_t time[THRUM__SIDES];  /* of the first use */
};

struct uses {
	struct thrum__base_keys keys; /* number: the using group and the used one */
	struct use *uses;
	uint32_t room;
};

static int add_use(struct uses *uses, int which, uint32_t task, uint32_t group, uint32_t used,
	int64_t time)
{
	struct use *use;
	uint32_t key;

	if (thrum__base_keys_add(&uses->keys, (uint64_t)group << 32 | used, "", 0, &key) < 0)
		return -THRUM_E_MEMORY;
	if (key >= uses->room) {
		uint32_t from = uses->room;
		struct use *grown = thrum__base_grow(uses->uses, &uses->room, key + UINT64_C(1),
			sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		uses->uses = grown;
		for (uint32_t i = from; i < uses->room; i++)
			grown[i] = (struct use){.task = {THRUM__NONE, THRUM__NONE},
				.last = THRUM__NONE};
	}
	use = &uses->uses[key];
	if (use->task[which] == THRUM__NONE) {
		use->task[which] = task;
		use->time[which] = time;
	} else if (use->last == task)
		return 0;
	use->last = task;
	use->count[which]++;
	return 0;
}

static int find_uses(const struct thrum__aligned *aligned, int which, struct uses *uses)
{
	const struct thrum__model *model = aligned->model;

	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		uint32_t from, to;
		uint8_t kind;

		if (!thrum__model_has_row(&model->edges, edge))
			continue;
		kind = THRUM__EDGE(model, edge, kind);
		if (kind != THRUM__EDGE_WAIT && kind != THRUM__EDGE_READ &&
			kind != THRUM__EDGE_LOCK)
			continue;
		from = THRUM__EDGE(model, edge, from);
		to = THRUM__EDGE(model, edge, to);
		if (from >= aligned->count || to >= aligned->count)
			continue;
		if (aligned->group[from] == THRUM__NONE)
			from = aligned->above[from];
		if (from >= aligned->count || aligned->group[to] == THRUM__NONE ||
			aligned->group[from] == THRUM__NONE ||
			aligned->group[from] == aligned->group[to])
			continue;
		if (add_use(uses, which, from, aligned->group[from], aligned->group[to],
			    THRUM__EDGE(model, edge, time)) < 0)
			return -THRUM_E_MEMORY;
	}
	return 0;
}

/* Adds a difference if at least half of a group's tasks use another in one recording, and none does
 * in the other, which has both groups. */
static void compare_use(struct thrum__comparison *comparison,
	const struct tally *tallies[THRUM__SIDES], const struct uses *uses, uint32_t key,
	bool *failed)
{
	const struct use *use = &uses->uses[key];
	uint32_t group = (uint32_t)(uses->keys.keys[key].number >> 32);
	uint32_t used = (uint32_t)uses->keys.keys[key].number;
	int which = use->count[THRUM__BAD] > 0 ? THRUM__BAD : THRUM__GOOD;
	struct thrum__difference *d;

	if (use->count[!which] > 0 || tallies[!which][group].tasks == 0 ||
		tallies[!which][used].tasks == 0 ||
		(uint64_t)use->count[which] * TIMES < tallies[which][group].tasks)
		return;
	d = thrum__diff_add(comparison,
		which == THRUM__BAD ? THRUM__DIFFERENCE_USES : THRUM__DIFFERENCE_UNUSED, group,
		failed);
	if (!d)
		return;
	d->other_group = used;
	for (int side = 0; side < THRUM__SIDES; side++) {
		d->side[side].task = side == which ? use->task[side] : tallies[side][group].first;
		d->side[side].count = use->count[side];
		d->side[side].of = tallies[side][group].tasks;
	}
	set_times(comparison, d);
	if (which == THRUM__BAD)
		d->time = use->time[which];
}

static int compare_uses(struct thrum__comparison *comparison, struct thrum__aligned *aligned,
	const struct tally *tallies[THRUM__SIDES])
{
	struct uses uses = {0};
	bool failed = false;

	for (int which = 0; which < THRUM__SIDES && !failed; which++) {
		for (uint32_t i = 0; i < uses.keys.count; i++)
			uses.uses[i].last = THRUM__NONE;
		failed = find_uses(&aligned[which], which, &uses) < 0;
	}
	for (uint32_t key = 0; key < uses.keys.count && !failed; key++)
		compare_use(comparison, tallies, &uses, key, &failed);
	thrum__base_keys_free(&uses.keys);
	free(uses.uses);
	return failed ? -THRUM_E_MEMORY : 0;
}

/* ---- Both recordings ----------------------------------------------------------------------- */

int thrum__diff_counts(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	uint32_t count = comparison->groups.count;
	struct tally *made[THRUM__SIDES];
	const struct tally *tallies[THRUM__SIDES];
	bool failed = false;
	int error = 0;

	for (int which = 0; which < THRUM__SIDES; which++) {
		tallies[which] = made[which] = calloc((size_t)count + 1, sizeof(*made[which]));
		if (made[which])
			tally_side(&aligned[which], made[which]);
		else
			failed = true;
	}
	for (uint32_t group = 0; group < count && !failed; group++) {
		compare_tasks(comparison, tallies, group, &failed);
		compare_overlap(comparison, tallies, group, &failed);
		compare_runs(comparison, tallies, group, &failed);
	}
	if (!failed)
		failed = compare_alike(comparison, tallies) < 0;
	error = failed ? -THRUM_E_MEMORY : compare_uses(comparison, aligned, tallies);
	for (int which = 0; which < THRUM__SIDES; which++)
		free(made[which]);
	return error;
}
