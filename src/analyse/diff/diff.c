/* SPDX-License-Identifier: ISC */
/* Compares two recordings group by group. */
#include "analyse/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/diff/parts.h"
#include "analyse/locks.h"
#include "analyse/stats/parts.h"
#include "base/array.h"

#define DIFFERENCES_MAX 10000
#define Z_SQUARED 16.0    /* 4 standard deviations: by chance once in about 15,000 times */
#define FEW 3             /* tasks: a group of so few is compared without the test of chance */
#define SLOWER 150        /* percent of the other median: less is noise between two recordings */
#define CLEAR 70          /* percent of pairs that must agree */
#define MANY_TIMES 3      /* as long as GOOD's longest life: a single task is slower */
#define MANY 8            /* so many tasks show how long they usually take */
#define NOTABLE 10000000  /* ns that a few tasks take longer, all together */
#define NOTABLE_PERCENT 5 /* of the recording that these ns are at least */
#define LATE 2            /* times GOOD's longest life: a task that is pending longer never ends */

const char *thrum__diff_name(int kind)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) word,
		THRUM__DIFFERENCES(THRUM__X)
#undef THRUM__X
	};

	return kind >= 0 && kind < THRUM__DIFFERENCE_KINDS ? names[kind] : "unknown";
}

/* ---- Chance -------------------------------------------------------------------------------- */

/* Twice Mann and Whitney's U of b: the pairs in which b's value is greater, plus half of those with
 * equal values. Sets *ties to the sum of t³ - t over all series of t equal values. */
static double double_u(const int64_t *a, size_t a_count, const int64_t *b, size_t b_count,
	double *ties)
{
	double twice = 0;

	*ties = 0;
	for (size_t i = 0, j = 0; i < a_count || j < b_count;) {
		int64_t value = j == b_count || (i < a_count && a[i] < b[j]) ? a[i] : b[j];
		size_t a_first = i, b_first = j;
		double here;

		while (i < a_count && a[i] == value)
			i++;
		while (j < b_count && b[j] == value)
			j++;
		twice += (double)(j - b_first) * (double)(a_first + i);
		here = (double)(i - a_first) + (double)(j - b_first);
		*ties += here * here * here - here;
	}
	return twice;
}

int thrum__diff_rank_test(const int64_t *a, size_t a_count, const int64_t *b, size_t b_count,
	unsigned *longer)
{
	double n = (double)a_count, m = (double)b_count, all = n + m, ties, off, variance;
	double twice = double_u(a, a_count, b, b_count, &ties);

	*longer = 50;
	if (a_count == 0 || b_count == 0)
		return 0;
	*longer = (unsigned)(50 * twice / (n * m) + 0.5);
	off = twice / 2 - n * m / 2;
	variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	if (variance <= 0 || off * off < Z_SQUARED * variance)
		return 0;
	return off > 0 ? 1 : -1;
}

bool thrum__diff_share_differs(const struct thrum__difference_side side[THRUM__SIDES], bool few)
{
	const struct thrum__difference_side *good = &side[THRUM__GOOD], *bad = &side[THRUM__BAD];
	double n = good->of, m = bad->of, p, off, variance;

	if (good->of == 0 || bad->of == 0 || (double)bad->count / m <= (double)good->count / n)
		return false;
	if (few && good->count == 0 && (good->of <= FEW || bad->count >= bad->of - bad->count))
		return true;
	p = ((double)good->count + (double)bad->count) / (n + m);
	off = (double)bad->count / m - (double)good->count / n;
	variance = p * (1 - p) * (1 / n + 1 / m);
	return variance > 0 && off * off >= Z_SQUARED * variance;
}

/* ---- Groups -------------------------------------------------------------------------------- */

struct thrum__difference *thrum__diff_add(struct thrum__comparison *comparison, int kind,
	uint32_t group, bool *failed)
{
	struct thrum__difference *difference;

	if (comparison->count >= DIFFERENCES_MAX)
		return NULL;
	if (comparison->count == comparison->room) {
		difference = thrum__base_grow(comparison->differences, &comparison->room,
			comparison->room + UINT64_C(1), sizeof(*difference));
		if (!difference) {
			*failed = true;
			return NULL;
		}
		comparison->differences = difference;
	}
	difference = &comparison->differences[comparison->count++];
	*difference = (struct thrum__difference){.kind = (uint8_t)kind,
		.group = group,
		.other_group = THRUM__NONE,
		.by_frame = THRUM__NONE,
		.by_task = THRUM__NONE};
	for (int side = 0; side < THRUM__SIDES; side++)
		difference->side[side] = (struct thrum__difference_side){.task = THRUM__NONE,
			.before = THRUM__NONE,
			.first = -1,
			.second = -1,
			.by = {THRUM__NONE, THRUM__NONE}};
	return difference;
}

/* The tasks of a group in one recording. */
struct members {
	const struct thrum__aligned *in;
	const struct thrum__base_sort_item *items;
	uint32_t count;
	int64_t *lives; /* in ns, of the tasks that ended; sorted */
	size_t life_count;
	struct thrum__diff_lives by_life; /* these tasks; valid while their group is compared */
	uint32_t median, slowest;
};

struct comparing {
	struct thrum__comparison *comparison;
	struct thrum__aligned aligned[THRUM__SIDES];
	struct members members[THRUM__SIDES];
	int64_t *lives[THRUM__SIDES]; /* memory for members[].lives, enough for any group */
	uint32_t outlive;             /* tasks of GOOD's members that end after their creators */
	bool failed;
};

static void measure_lives(struct members *members)
{
	const struct thrum__model *model = members->in->model;
	struct thrum__base_sort_item *items = members->in->room;
	size_t count = 0;

	for (uint32_t i = 0; i < members->count; i++) {
		uint32_t task = members->items[i].item;
		int64_t end = thrum__slow_path_end(model, task),
			start = THRUM__TASK(model, task, start);

		if (end != THRUM__OPEN && end >= start &&
			!(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING))
			items[count++] =
				(struct thrum__base_sort_item){thrum__stats_time_between(start,
								       end),
					task};
	}
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (size_t i = 0; i < count; i++)
		members->lives[i] = items[i].key;
	members->life_count = count;
	members->by_life = (struct thrum__diff_lives){items, count};
	members->median = count > 0 ? items[(count - 1) / 2].item : THRUM__NONE;
	members->slowest = count > 0 ? items[count - 1].item : THRUM__NONE;
}

/* Answers a question about a task. */
typedef bool is_so(const struct comparing *, const struct members *, uint32_t task);

static bool is_any_task(const struct comparing *c, const struct members *members, uint32_t task)
{
	(void)c;
	(void)members;
	(void)task;
	return true;
}

static bool has_both(const struct comparing *c, const struct members *members, uint32_t task)
{
	(void)c;
	return members->in->waited[task].time != THRUM__OPEN &&
		members->in->signalled[task].time != THRUM__OPEN;
}

static bool is_signalled_first(const struct comparing *c, const struct members *members,
	uint32_t task)
{
	return has_both(c, members, task) &&
		members->in->signalled[task].time < members->in->waited[task].time;
}

static bool is_waited_for(const struct comparing *c, const struct members *members, uint32_t task)
{
	(void)c;
	return THRUM__TASK(members->in->model, task, kind) == THRUM_KIND_CONDITION &&
		members->in->waited[task].time != THRUM__OPEN;
}

static bool is_unsignalled(const struct comparing *c, const struct members *members, uint32_t task)
{
	return is_waited_for(c, members, task) && members->in->signalled[task].time == THRUM__OPEN;
}

static int state_of(const struct members *members, uint32_t task)
{
	const struct thrum__model *model = members->in->model;

	return THRUM__TASK(model, thrum__model_heir(model, task), state);
}

/* When the nearest labelled creator of a task ended, or OPEN. */
static int64_t creator_end(const struct members *members, uint32_t task)
{
	uint32_t above = members->in->above[task];

	return above == THRUM__NONE ? THRUM__OPEN : thrum__slow_path_end(members->in->model, above);
}

/* How many tasks end after their creators, or never. */
static uint32_t count_outlive(const struct members *members)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < members->count; i++) {
		uint32_t task = members->items[i].item;
		int64_t end = thrum__slow_path_end(members->in->model, task);

		count += end == THRUM__OPEN || end > creator_end(members, task);
	}
	return count;
}

/* Whether a handle outlives its creator, while each of GOOD's was closed by then. Other handles may
 * stay open: a pool keeps its connections. */
static bool is_left_open(const struct comparing *c, const struct members *members, uint32_t task)
{
	return c->outlive == 0 && creator_end(members, task) != THRUM__OPEN;
}

/* Whether a task is pending for much longer than any of GOOD's took: it isn't just under way. */
static bool is_endless(const struct comparing *c, const struct members *members, uint32_t task)
{
	const struct members *good = &c->members[THRUM__GOOD];
	const struct thrum__model *model = members->in->model;
	int64_t longest = good->life_count > 0 ? good->lives[good->life_count - 1] : 0;

	return good->life_count > 0 && state_of(members, task) == THRUM__STATE_PENDING &&
		(THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE ||
			is_left_open(c, members, task)) &&
		thrum__stats_time_between(THRUM__TASK(model, task, start), model->end) / LATE >
		longest;
}

static bool has_failed(const struct comparing *c, const struct members *members, uint32_t task)
{
	(void)c;
	return state_of(members, task) == THRUM__STATE_FAILED;
}

static bool is_cancelled(const struct comparing *c, const struct members *members, uint32_t task)
{
	(void)c;
	return state_of(members, task) == THRUM__STATE_CANCELLED;
}

/* The kinds of differences that count tasks: of those that `counts`, how many `is_so`. */
static const struct {
	uint8_t kind;
	is_so *is_so, *counts;
	bool is_never_chance; /* a single task in BAD is enough if GOOD has none */
} questions[] = {
	{THRUM__DIFFERENCE_SIGNAL_FIRST, is_signalled_first, has_both, false},
	{THRUM__DIFFERENCE_NO_SIGNAL, is_unsignalled, is_waited_for, false},
	{THRUM__DIFFERENCE_NEVER_ENDS, is_endless, is_any_task, true},
	{THRUM__DIFFERENCE_FAILS, has_failed, is_any_task, true},
	{THRUM__DIFFERENCE_CANCELLED, is_cancelled, is_any_task, false},
};

/* ---- Differences --------------------------------------------------------------------------- */

/* Counts the tasks of one recording. The example is the first task that shows the difference: in
 * BAD one of which it is true, in GOOD one of which it isn't. */
static struct thrum__difference_side count_side(const struct comparing *c, unsigned question,
	int which)
{
	const struct members *members = &c->members[which];
	struct thrum__difference_side side = {.task = THRUM__NONE};

	for (uint32_t i = 0; i < members->count; i++) {
		uint32_t task = members->items[i].item;
		bool so;

		if (!questions[question].counts(c, members, task))
			continue;
		so = questions[question].is_so(c, members, task);
		side.of++;
		side.count += so;
		if (side.task == THRUM__NONE && so == (which == THRUM__BAD))
			side.task = task;
	}
	return side;
}

/* Whether several of a group's tasks were cancelled, and all others had ended by then: they were cut off.
 * Those that lose a race are cancelled by chance, but one by one, while others go on. */
static bool are_cut_off(const struct members *members)
{
	int64_t first_cut = THRUM__OPEN, last_other = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < members->count; i++) {
		uint32_t task = members->items[i].item;
		int64_t end = thrum__slow_path_end(members->in->model, task);

		if (state_of(members, task) == THRUM__STATE_CANCELLED) {
			first_cut = end < first_cut ? end : first_cut;
			count++;
		} else {
			last_other = end > last_other ? end : last_other;
		}
	}
	return count > 1 && first_cut > last_other;
}

static int64_t time_or_none(int64_t time)
{
	return time == THRUM__OPEN ? -1 : time;
}

/* Sets the times and tasks that prove the difference at the side's example. */
static void set_proof(const struct members *members, int kind, struct thrum__difference_side *side)
{
	uint32_t task = side->task;

	side->before = side->by[0] = side->by[1] = THRUM__NONE;
	side->first = side->second = -1;
	if (task == THRUM__NONE)
		return;
	if (kind == THRUM__DIFFERENCE_SIGNAL_FIRST || kind == THRUM__DIFFERENCE_NO_SIGNAL) {
		side->first = time_or_none(members->in->signalled[task].time);
		side->second = time_or_none(members->in->waited[task].time);
		side->by[0] = members->in->signalled[task].by;
		side->by[1] = members->in->waited[task].by;
		return;
	}
	side->first = THRUM__TASK(members->in->model, task, start);
	side->second = time_or_none(thrum__slow_path_end(members->in->model, task));
}

/* Adds a difference if the answers to a question differ between the recordings. */
static void compare_counts(struct comparing *c, uint32_t group, unsigned question)
{
	struct thrum__difference_side side[THRUM__SIDES];
	struct thrum__difference *difference;
	int kind = questions[question].kind;
	bool is_never_chance = questions[question].is_never_chance ||
		(kind == THRUM__DIFFERENCE_CANCELLED && are_cut_off(&c->members[THRUM__BAD]));

	for (int which = 0; which < THRUM__SIDES; which++)
		side[which] = count_side(c, question, which);
	if (!(is_never_chance && side[THRUM__GOOD].count == 0 && side[THRUM__BAD].count > 0) &&
		!thrum__diff_share_differs(side, true))
		return;
	difference = thrum__diff_add(c->comparison, kind, group, &c->failed);
	if (!difference)
		return;
	for (int which = 0; which < THRUM__SIDES; which++) {
		set_proof(&c->members[which], kind, &side[which]);
		difference->side[which] = side[which];
	}
	difference->time = side[THRUM__BAD].first >= 0 ? side[THRUM__BAD].first
						       : side[THRUM__BAD].second;
}

/* Adds a difference of lives. Returns it, or NULL without memory. */
static struct thrum__difference *add_times(struct comparing *c, uint32_t group, int kind,
	unsigned longer, bool is_few)
{
	const struct members *good = &c->members[THRUM__GOOD], *bad = &c->members[THRUM__BAD];
	struct thrum__difference *difference = thrum__diff_add(c->comparison, kind, group,
		&c->failed);
	struct thrum__diff_lives by_life[] = {good->by_life, bad->by_life};
	uint32_t examples[] = {good->median, is_few ? bad->slowest : bad->median};
	double sum[THRUM__SIDES] = {0};

	if (!difference)
		return NULL;
	if (kind == THRUM__DIFFERENCE_SLOWER && !is_few)
		thrum__diff_tail(by_life, examples, &difference->percentile);
	difference->longer = longer;
	difference->is_few = is_few;
	for (int which = 0; which < THRUM__SIDES; which++) {
		const struct members *members = &c->members[which];
		struct thrum__difference_side *side = &difference->side[which];

		side->task = examples[which];
		set_proof(members, difference->kind, side);
		side->count = side->of = (uint32_t)members->life_count;
		side->p50 = members->lives[(members->life_count - 1) / 2];
		side->p90 = members->lives[(members->life_count * 90 + 99) / 100 - 1];
		side->longest = members->lives[members->life_count - 1];
		for (size_t i = 0; i < members->life_count; i++)
			sum[which] += (double)members->lives[i];
	}
	difference->extra = (int64_t)(sum[THRUM__BAD] -
		sum[THRUM__GOOD] / (double)good->life_count * (double)bad->life_count);
	difference->time = difference->side[THRUM__BAD].first;
	return difference;
}

/* Adds a difference if a few tasks took much longer than any of GOOD's: by so much that two
 * recordings of the same program hardly differ so. */
static void compare_few(struct comparing *c, uint32_t group)
{
	struct thrum__difference *difference;
	const struct members *good = &c->members[THRUM__GOOD], *bad = &c->members[THRUM__BAD];
	int64_t most = good->lives[good->life_count - 1], extra = 0;
	size_t outliers = 0;
	int64_t whole = good->in->model->end < bad->in->model->end ? good->in->model->end
								   : bad->in->model->end;

	for (size_t i = 0; i < bad->life_count; i++)
		if (bad->lives[i] > most) {
			extra += bad->lives[i] - most;
			outliers += bad->lives[i] / MANY_TIMES >= most;
		}
	if (outliers == 0 || extra < NOTABLE || extra < whole / 100 * NOTABLE_PERCENT)
		return;
	difference = add_times(c, group, THRUM__DIFFERENCE_SLOWER, 100, true);
	if (difference)
		difference->is_one = outliers == 1 && good->life_count >= MANY &&
			bad->life_count >= MANY;
}

/* Adds a difference if the group's lives are clearly longer or shorter in BAD. */
static void compare_times(struct comparing *c, uint32_t group)
{
	const struct members *good = &c->members[THRUM__GOOD], *bad = &c->members[THRUM__BAD];
	unsigned longer;
	int result = thrum__diff_rank_test(good->lives, good->life_count, bad->lives,
		bad->life_count, &longer);
	double a, b;

	if (good->life_count == 0 || bad->life_count == 0)
		return;
	a = (double)good->lives[(good->life_count - 1) / 2];
	b = (double)bad->lives[(bad->life_count - 1) / 2];
	if (result == 0 || (result > 0 ? b : a) * 100 < (result > 0 ? a : b) * SLOWER ||
		(result > 0 ? longer : 100 - longer) < CLEAR)
		compare_few(c, group);
	else
		add_times(c, group,
			result > 0 ? THRUM__DIFFERENCE_SLOWER : THRUM__DIFFERENCE_FASTER, longer,
			false);
}

/* Adds a difference for a group that only one recording has, unless the other recording ended
 * before the group's first task would have come. A lock counts if tasks wait for
 * it in BAD, for long. */
static void compare_presence(struct comparing *c, uint32_t group)
{
	int which = c->members[THRUM__GOOD].count > 0 ? THRUM__GOOD : THRUM__BAD;
	const struct members *members = &c->members[which];
	const struct thrum__model *other = c->members[!which].in->model;
	uint32_t task = members->items[0].item;
	struct thrum__difference *difference;

	if (members->in->named[task] > other->end ||
		(thrum__analyse_task_is_lock(members->in->model, task) &&
			(which == THRUM__GOOD ||
				thrum__diff_longest_wait(members->in->model, task) < NOTABLE)) ||
		thrum__diff_group_is_in_both(c->comparison, group))
		return;
	difference = thrum__diff_add(c->comparison,
		which == THRUM__GOOD ? THRUM__DIFFERENCE_MISSING : THRUM__DIFFERENCE_ADDED, group,
		&c->failed);
	if (!difference)
		return;
	difference->side[which].task = task;
	set_proof(members, difference->kind, &difference->side[which]);
	difference->side[which].count = difference->side[which].of = members->count;
	difference->time = members->in->named[task];
}

static void compare_group(struct comparing *c, uint32_t group)
{
	if (c->members[THRUM__GOOD].count == 0 || c->members[THRUM__BAD].count == 0) {
		compare_presence(c, group);
		return;
	}
	c->comparison->common++;
	for (int which = 0; which < THRUM__SIDES; which++)
		measure_lives(&c->members[which]);
	c->outlive = count_outlive(&c->members[THRUM__GOOD]);
	for (unsigned i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		compare_counts(c, group, i);
	compare_times(c, group);
}

/* ---- All groups ---------------------------------------------------------------------------- */

/* Compares all groups; the tasks of both recordings are sorted by group. */
static void compare_groups(struct comparing *c)
{
	uint32_t at[THRUM__SIDES] = {0};

	for (;;) {
		int64_t group = INT64_MAX;

		for (int which = 0; which < THRUM__SIDES; which++) {
			const struct thrum__aligned *in = &c->aligned[which];

			if (at[which] < in->labelled && in->items[at[which]].key < group)
				group = in->items[at[which]].key;
		}
		if (group == INT64_MAX || c->failed)
			return;
		for (int which = 0; which < THRUM__SIDES; which++) {
			const struct thrum__aligned *in = &c->aligned[which];
			uint32_t from = at[which];

			while (at[which] < in->labelled && in->items[at[which]].key == group)
				at[which]++;
			c->members[which] = (struct members){in, in->items + from, at[which] - from,
				c->lives[which], 0};
		}
		compare_group(c, (uint32_t)group);
	}
}

/* Sorts the differences by kind, and within a kind by time. */
static int put_in_order(struct thrum__comparison *comparison)
{
	size_t count = comparison->count;
	struct thrum__base_sort_item *items = calloc(2 * count + 1, sizeof(*items));
	struct thrum__difference *ordered = calloc(count + 1, sizeof(*ordered));

	if (!items || !ordered) {
		free(items);
		free(ordered);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){comparison->differences[i].time, i};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (size_t i = 0; i < count; i++)
		items[i].key = comparison->differences[items[i].item].kind;
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; i < count; i++)
		ordered[i] = comparison->differences[items[i].item];
	free(items);
	free(comparison->differences);
	comparison->differences = ordered;
	comparison->room = (uint32_t)count + 1;
	return 0;
}

int thrum__diff_make(const struct thrum__model *good, const struct thrum__model *bad,
	struct thrum__comparison *comparison)
{
	struct thrum__comparison made = {.model = {good, bad},
		.first = THRUM__NONE,
		.slowest = THRUM__NONE};
	struct comparing c = {.comparison = &made};
	int error = thrum__diff_align(&made, c.aligned);

	for (int which = 0; which < THRUM__SIDES && error == 0; which++) {
		c.lives[which] = calloc((size_t)c.aligned[which].labelled + 1,
			sizeof(*c.lives[which]));
		error = c.lives[which] ? 0 : -THRUM_E_MEMORY;
	}
	if (error == 0) {
		compare_groups(&c);
		error = c.failed ? -THRUM_E_MEMORY : thrum__diff_order(&made, c.aligned);
	}
	if (error == 0)
		error = thrum__diff_unsignalled(&made, c.aligned);
	if (error == 0)
		error = thrum__diff_items(&made, c.aligned);
	if (error == 0)
		error = thrum__diff_missing(&made, c.aligned);
	if (error == 0)
		error = thrum__diff_sooner(&made, c.aligned);
	if (error == 0)
		error = thrum__diff_counts(&made, c.aligned);
	if (error == 0)
		error = put_in_order(&made);
	if (error == 0)
		error = thrum__diff_main(&made, c.aligned);
	for (int which = 0; which < THRUM__SIDES; which++) {
		free(c.lives[which]);
		thrum__diff_aligned_free(&c.aligned[which]);
	}
	if (error < 0)
		thrum__diff_free(&made);
	else
		*comparison = made;
	return error;
}

bool thrum__diff_has_nothing_in_common(const struct thrum__comparison *c)
{
	return c->common == 0 && c->tasks[THRUM__GOOD] + c->tasks[THRUM__BAD] > 0;
}

void thrum__diff_free(struct thrum__comparison *comparison)
{
	thrum__base_keys_free(&comparison->groups);
	free(comparison->parents);
	free(comparison->in);
	free(comparison->differences);
	for (int which = 0; which < THRUM__SIDES; which++)
		if (comparison->paths[which].model)
			thrum__slow_paths_finish(&comparison->paths[which]);
	*comparison = (struct thrum__comparison){0};
}
