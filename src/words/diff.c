/* SPDX-License-Identifier: ISC */
/* Sentences on the differences of two recordings. */
#include "words/diff.h"

#include <string.h>

#include "analyse/graph.h"

#include "words/sentence.h"

const char *thrum__words_diff_side(int side)
{
	return side == THRUM__GOOD ? "GOOD" : "BAD";
}

/* ---- The recordings ------------------------------------------------------------------------ */

size_t thrum__words_diff_recording(const struct thrum__comparison *c, int side, char *to,
	size_t size)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, NULL);

	thrum__words_put_duration(&s, c->model[side]->end, 3);
	thrum__words_put(&s, ", ");
	thrum__words_put_number(&s, c->tasks[side]);
	thrum__words_put(&s, c->is_kin ? " tasks, without labels in common" : " labelled tasks");
	return s.text.size;
}

size_t thrum__words_diff_nothing(const struct thrum__comparison *c, char *to, size_t size)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, NULL);

	if (thrum__diff_has_nothing_in_common(c))
		thrum__words_put(&s, "Nothing can be compared: no labels in common.");
	else if (c->count == 0) {
		thrum__words_put(&s, "No differences in ");
		thrum__words_put_number(&s, c->common);
		thrum__words_put(&s, " groups of tasks.");
	}
	return s.text.size;
}

/* ---- A difference -------------------------------------------------------------------------- */

static void put_group(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	uint32_t group)
{
	size_t size;
	const char *name = thrum__diff_group_name(c, group, &size);

	if (c->is_kin) {
		/* Such a group has no label: it is of a kind and a function. */
		thrum__words_put(s, thrum__diff_group_kind(c, group));
		thrum__words_put(s, " in ");
		thrum__words_put_name(s, name, size);
		return;
	}
	thrum__words_put_quoted(s, name, size);
	thrum__words_put(s, " (");
	thrum__words_put(s, thrum__diff_group_kind(c, group));
	thrum__words_put(s, ")");
}

/* Writes "3 of 1,200". */
static void put_share(struct thrum__words_sentence *s, const struct thrum__difference_side *side)
{
	thrum__words_put_number(s, side->count);
	thrum__words_put(s, " of ");
	thrum__words_put_number(s, side->of);
}

/* Writes " (3 of 5; GOOD 0 of 5)". */
static void put_shares(struct thrum__words_sentence *s, const struct thrum__difference *d)
{
	const struct thrum__difference_side *good = &d->side[THRUM__GOOD];
	const struct thrum__difference_side *bad = &d->side[THRUM__BAD];

	if (bad->of <= 1 && good->of <= 1)
		return;
	thrum__words_put(s, " (");
	put_share(s, bad);
	thrum__words_put(s, "; GOOD ");
	put_share(s, good);
	thrum__words_put(s, ")");
}

static void put_times(struct thrum__words_sentence *s, uint32_t count)
{
	if (count < 2)
		return;
	thrum__words_put(s, " (");
	thrum__words_put_number(s, count);
	thrum__words_put(s, " of them)");
}

/* Writes " in fetch" if the place of a wait is known, and its function. */
static void put_function(struct thrum__words_sentence *s, const struct thrum_trace_site *site)
{
	if (!site || !site->function || !*site->function)
		return;
	thrum__words_put(s, " in ");
	thrum__words_put_name(s, site->function, strlen(site->function));
}

/* Writes by what the tasks became slower: "; 95 ms more waiting in fetch for lock “db”, held by “backup”". */
static void put_change(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	const struct thrum__paths *paths = &c->paths[THRUM__BAD];
	uint32_t frames[THRUM__STACK_DEPTH + 1], count = 0;

	if (d->by_frame == THRUM__NONE)
		return;
	thrum__words_put(s, "; ");
	if (d->percentile > 0) {
		thrum__words_put(s, "in one slower than ");
		thrum__words_put_number(s, d->percentile);
		thrum__words_put(s, " % of them, ");
	}
	thrum__words_put_duration(s, d->by_time[THRUM__BAD] - d->by_time[THRUM__GOOD], 3);
	thrum__words_put(s, " more ");
	for (uint32_t i = d->by_frame; paths->frames[i].parent != THRUM__NONE;
		i = paths->frames[i].parent)
		if (paths->frames[i].doing == THRUM__DOING_RUNS && count < THRUM__STACK_DEPTH)
			frames[count++] = i;
	if (count > 0) {
		thrum__words_put(s, "waiting");
		put_function(s, d->by_site);
		thrum__words_put(s, " for ");
	}
	for (uint32_t i = count; i-- > 0;) {
		size_t size;
		const char *name = thrum__slow_frame_name(paths, frames[i], &size);

		thrum__words_put(s,
			thrum__words_kind_before(c->model[THRUM__BAD],
				paths->frames[frames[i]].task));
		thrum__words_put_quoted(s, name, size);
		thrum__words_put(s,
			i == 0                                                ? ""
				: thrum__slow_frame_is_lock(paths, frames[i]) ? ", held by "
									      : " › ");
	}
	switch (d->by_doing) {
	case THRUM__DOING_RUNS: thrum__words_put(s, count > 0 ? ", which runs" : "running"); break;
	case THRUM__DOING_WAITS: thrum__words_put(s, count > 0 ? "" : "waiting"); break;
	case THRUM__DOING_PREEMPTED:
		thrum__words_put(s,
			count > 0 ? ", which is ready, but not on a CPU"
				  : "ready, but not on a CPU");
		break;
	case THRUM__DOING_BLOCKED:
		thrum__words_put(s,
			count > 0 ? ", which is blocked in the kernel" : "blocked in the kernel");
		break;
	case THRUM__DOING_FAULTS:
		thrum__words_put(s, count > 0 ? ", which is in page faults" : "in page faults");
		break;
	case THRUM__DOING_INTERRUPTED:
		thrum__words_put(s, count > 0 ? ", which is interrupted" : "interrupted");
		break;
	case THRUM__DOING_NETWORK:
		thrum__words_put(s,
			count > 0 ? ", whose message is on the network"
				  : "for messages on the network");
		break;
	case THRUM__DOING_SUSPENDED: {
		size_t size;
		const char *name = thrum__slow_frame_name(paths, d->by_frame, &size);

		thrum__words_put(s, count > 0 ? ", which is suspended: “" : "suspended: “");
		thrum__words_put_name(s, name, size);
		thrum__words_put(s, "”");
		break;
	}
	default:
		thrum__words_put(s,
			count > 0 ? ", while its thread runs " : "while the thread runs ");
		thrum__words_put_task(s, c->model[THRUM__BAD], d->by_task, "other tasks");
	}
}

/* Writes how much longer tasks took. */
static void put_slower(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	thrum__words_put(s, ": slower in BAD: ");
	if (d->is_few) {
		thrum__words_put(s, d->side[THRUM__BAD].of > 1 ? "the slowest took " : "it took ");
		thrum__words_put_duration(s, d->side[THRUM__BAD].longest, 3);
		thrum__words_put(s, ", in GOOD ");
		thrum__words_put_duration(s, d->side[THRUM__GOOD].longest, 3);
	} else {
		thrum__words_put(s, "of two, BAD's takes longer in ");
		thrum__words_put_number(s, d->longer);
		thrum__words_put(s, " % of cases");
	}
	put_change(s, c, d);
}

/* Writes " for each “page #”" if the creators have a group. */
static void put_creators(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	size_t size;
	const char *name;

	if (d->other_group == THRUM__NONE)
		return;
	name = thrum__diff_group_name(c, d->other_group, &size);
	thrum__words_put(s, " for each “");
	thrum__words_put_name(s, name, size);
	thrum__words_put(s, "”");
}

/* Writes "12 times as many in BAD for each “page #”: 60, in GOOD 5". */
static void put_more(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	const struct thrum__difference_side *good = &d->side[THRUM__GOOD];
	const struct thrum__difference_side *bad = &d->side[THRUM__BAD];
	bool is_more = d->kind == THRUM__DIFFERENCE_MORE;
	const struct thrum__difference_side *most = is_more ? bad : good,
					    *least = is_more ? good : bad;
	double times = (double)most->count * least->of / ((double)most->of * least->count);

	thrum__words_put(s, ": ");
	thrum__words_put_number(s, (uint64_t)(times + 0.5));
	thrum__words_put(s, is_more ? " times as many in BAD" : " times as many in GOOD");
	put_creators(s, c, d);
	thrum__words_put(s, ": ");
	thrum__words_put_number(s, bad->count);
	thrum__words_put(s, ", in GOOD ");
	thrum__words_put_number(s, good->count);
}

static void put_difference(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	switch (d->kind) {
	case THRUM__DIFFERENCE_SIGNAL_FIRST:
		thrum__words_put(s, ": in BAD the signal precedes the wait");
		break;
	case THRUM__DIFFERENCE_NO_SIGNAL: thrum__words_put(s, ": in BAD nobody signals it"); break;
	case THRUM__DIFFERENCE_ENDS_LATER:
	case THRUM__DIFFERENCE_ENDS_SOONER:
		thrum__words_put(s,
			d->kind == THRUM__DIFFERENCE_ENDS_LATER ? ": in BAD begins before "
								: ": in BAD ends before ");
		put_group(s, c, d->other_group);
		thrum__words_put(s, " ends");
		break;
	case THRUM__DIFFERENCE_NEVER_ENDS: thrum__words_put(s, ": never ends in BAD"); break;
	case THRUM__DIFFERENCE_FAILS: thrum__words_put(s, ": fails in BAD"); break;
	case THRUM__DIFFERENCE_CANCELLED: thrum__words_put(s, ": is cancelled in BAD"); break;
	case THRUM__DIFFERENCE_RUNS: thrum__words_put(s, ": runs only in BAD"); break;
	case THRUM__DIFFERENCE_MISSING:
		if (d->other_group != THRUM__NONE) {
			thrum__words_put(s, ": in BAD doesn't come after ");
			put_group(s, c, d->other_group);
			break;
		}
		thrum__words_put(s, ": missing in BAD");
		if (d->side[THRUM__GOOD].count < d->side[THRUM__GOOD].of) {
			thrum__words_put(s, " (");
			put_share(s, &d->side[THRUM__GOOD]);
			thrum__words_put(s, ")");
			return;
		}
		put_times(s, d->side[THRUM__GOOD].count);
		return;
	case THRUM__DIFFERENCE_ADDED:
		thrum__words_put(s, ": only in BAD");
		put_times(s, d->side[THRUM__BAD].count);
		return;
	case THRUM__DIFFERENCE_USES:
		thrum__words_put(s, ": waits for, reads or locks ");
		put_group(s, c, d->other_group);
		thrum__words_put(s, " only in BAD");
		break;
	case THRUM__DIFFERENCE_UNUSED:
		thrum__words_put(s, ": waits for, reads or locks ");
		put_group(s, c, d->other_group);
		thrum__words_put(s, " only in GOOD");
		thrum__words_put(s, " (");
		put_share(s, &d->side[THRUM__GOOD]);
		thrum__words_put(s, ")");
		return;
	case THRUM__DIFFERENCE_SEQUENTIAL:
	case THRUM__DIFFERENCE_PARALLEL:
		thrum__words_put(s,
			d->kind == THRUM__DIFFERENCE_SEQUENTIAL ? ": one after the other"
								: ": at the same time");
		put_creators(s, c, d);
		thrum__words_put(s,
			d->kind == THRUM__DIFFERENCE_SEQUENTIAL
				? " in BAD, at the same time in GOOD"
				: " in BAD, one after the other in GOOD");
		return;
	case THRUM__DIFFERENCE_MORE:
	case THRUM__DIFFERENCE_LESS: put_more(s, c, d); return;
	case THRUM__DIFFERENCE_SLOWER: put_slower(s, c, d); return;
	default:
		thrum__words_put(s, ": faster in BAD: of two, BAD's takes longer in ");
		thrum__words_put_number(s, d->longer);
		thrum__words_put(s, " % of cases");
		return;
	}
	put_shares(s, d);
}

/* Writes how much of the slowest group's additional time the main difference explains. */
static void put_explained(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	if (c->first == THRUM__NONE || c->slowest == THRUM__NONE || d->explains == 0 ||
		d != &c->differences[c->first])
		return;
	thrum__words_put(s, "; explains ");
	thrum__words_put_number(s, d->explains);
	thrum__words_put(s, " % of what ");
	put_group(s, c, c->differences[c->slowest].group);
	thrum__words_put(s, " takes more");
}

size_t thrum__words_difference(const struct thrum__comparison *c, const struct thrum__difference *d,
	char *to, size_t size)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, NULL);

	put_group(&s, c, d->group);
	put_difference(&s, c, d);
	put_explained(&s, c, d);
	return s.text.size;
}

/* ---- Examples ------------------------------------------------------------------------------ */

/* Writes two events in the order of their times: a signal and a wait, or an end and a beginning. */
static void put_two(struct thrum__words_sentence *s, const struct thrum__model *model,
	const struct thrum__difference_side *side, const uint32_t tasks[2],
	const char *const verbs[2])
{
	bool is_swapped = side->first < 0 || (side->second >= 0 && side->second < side->first);
	const int64_t times[] = {side->first, side->second == THRUM__OPEN ? -1 : side->second};
	bool any = false;

	for (int i = 0; i < 2; i++) {
		int which = is_swapped ? !i : i;

		if (times[which] < 0 || times[which] == THRUM__OPEN)
			continue;
		thrum__words_put(s, any ? ", then at " : "at ");
		thrum__words_put_duration(s, times[which], 6);
		thrum__words_put(s, " ");
		thrum__words_put_task_id(s, model, tasks[which], "an unknown task");
		thrum__words_put(s, verbs[which]);
		any = true;
	}
}

static void put_order(struct thrum__words_sentence *s, const struct thrum__model *model,
	const struct thrum__difference_side *side, const char *verb)
{
	const char *const verbs[] = {" ends", verb};
	const uint32_t pair[] = {side->before, side->task};

	put_two(s, model, side, pair, verbs);
	if (side->first != THRUM__OPEN)
		return;
	thrum__words_put(s, "; ");
	thrum__words_put_task_id(s, model, side->before, "an unknown task");
	thrum__words_put(s, " never ends");
}

static void put_durations(struct thrum__words_sentence *s,
	const struct thrum__difference_side *side)
{
	thrum__words_put(s, "median ");
	thrum__words_put_duration(s, side->p50, 3);
	thrum__words_put(s, ", 90 % within ");
	thrum__words_put_duration(s, side->p90, 3);
	thrum__words_put(s, ", of ");
	thrum__words_put_number(s, side->of);
}

/* Writes for what a task waits that hasn't ended: it may have been forgotten where that ended. */
static void put_wait(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t edge = thrum__model_last_edge(model, task), on;
	int64_t end;

	if (edge == THRUM__NONE || THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
		return;
	on = THRUM__EDGE(model, edge, to);
	if (!thrum__model_has_row(&model->tasks, on))
		return;
	thrum__words_put(s, ", waits for ");
	thrum__words_put_task_id(s, model, on, "an unknown task");
	end = THRUM__TASK(model, thrum__model_heir(model, on), end);
	if (end == THRUM__OPEN)
		return;
	thrum__words_put(s, ", which ends at ");
	thrum__words_put_duration(s, end, 6);
}

static void put_life(struct thrum__words_sentence *s, const struct thrum__model *model,
	const struct thrum__difference_side *side)
{
	uint32_t heir = thrum__model_heir(model, side->task);
	bool has_failed = THRUM__TASK(model, heir, state) == THRUM__STATE_FAILED;
	char name[256];
	size_t size = 0;
	const char *reason = thrum__model_string(model, THRUM__TASK(model, heir, failure), &size);

	thrum__words_put_task_id(s, model, side->task, "an unknown task");
	thrum__words_put(s, " begins at ");
	thrum__words_put_duration(s, side->first, 6);
	/* Its name tells no place where the program uses it. */
	if (thrum__analyse_task_is_object(model, side->task)) {
		thrum__words_kind_and_site(model, side->task, name, sizeof name);
		thrum__words_put(s, " as ");
		thrum__words_put(s, name);
	}
	if (side->second < 0) {
		put_wait(s, model, heir);
		return;
	}
	thrum__words_put(s, has_failed ? ", fails at " : ", ends at ");
	thrum__words_put_duration(s, side->second, 6);
	if (!has_failed || size == 0)
		return;
	thrum__words_put(s, ": “");
	thrum__words_put_name(s, reason, size);
	thrum__words_put(s, "”");
}

size_t thrum__words_difference_side(const struct thrum__comparison *c,
	const struct thrum__difference *d, int which, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	static const char *const conditions[] = {" signals", " waits"};
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);
	const struct thrum__difference_side *side = &d->side[which];
	const struct thrum__model *model = c->model[which];

	if (side->task != THRUM__NONE)
		switch (d->kind) {
		case THRUM__DIFFERENCE_SIGNAL_FIRST:
		case THRUM__DIFFERENCE_NO_SIGNAL:
			put_two(&s, model, side, side->by, conditions);
			break;
		case THRUM__DIFFERENCE_ENDS_LATER: put_order(&s, model, side, " begins"); break;
		case THRUM__DIFFERENCE_ENDS_SOONER: put_order(&s, model, side, " ends"); break;
		case THRUM__DIFFERENCE_SLOWER:
		case THRUM__DIFFERENCE_FASTER: put_durations(&s, side); break;
		default: put_life(&s, model, side);
		}
	if (count)
		*count = s.count;
	return s.text.size;
}

const char *thrum__words_difference_mark(const struct thrum__difference *d, bool is_second)
{
	switch (d->kind) {
	case THRUM__DIFFERENCE_SIGNAL_FIRST:
	case THRUM__DIFFERENCE_NO_SIGNAL: return is_second ? "waits" : "signals";
	case THRUM__DIFFERENCE_ENDS_LATER: return is_second ? "begins" : "the other ends";
	case THRUM__DIFFERENCE_ENDS_SOONER: return is_second ? "ends" : "the other ends";
	default: return is_second ? "ends" : "begins";
	}
}
