/* SPDX-License-Identifier: ISC */
/* Sentences on the differences of two recordings. */
#include "words/diff.h"

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
	thrum__words_put(&s, " labelled tasks");
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

	thrum__words_put(s, "“");
	thrum__words_put_name(s, name, size);
	thrum__words_put(s, "” (");
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

static void put_difference(struct thrum__words_sentence *s, const struct thrum__comparison *c,
	const struct thrum__difference *d)
{
	switch (d->kind) {
	case THRUM__DIFFERENCE_SIGNAL_FIRST:
		thrum__words_put(s, ": in BAD the signal precedes the wait");
		break;
	case THRUM__DIFFERENCE_NO_SIGNAL: thrum__words_put(s, ": in BAD nobody signals it"); break;
	case THRUM__DIFFERENCE_ENDS_LATER:
		thrum__words_put(s, ": in BAD begins before ");
		put_group(s, c, d->other_group);
		thrum__words_put(s, " ends");
		break;
	case THRUM__DIFFERENCE_NEVER_ENDS: thrum__words_put(s, ": never ends in BAD"); break;
	case THRUM__DIFFERENCE_FAILS: thrum__words_put(s, ": fails in BAD"); break;
	case THRUM__DIFFERENCE_CANCELLED: thrum__words_put(s, ": is cancelled in BAD"); break;
	case THRUM__DIFFERENCE_MISSING:
		thrum__words_put(s, ": missing in BAD");
		put_times(s, d->side[THRUM__GOOD].count);
		return;
	case THRUM__DIFFERENCE_ADDED:
		thrum__words_put(s, ": only in BAD");
		put_times(s, d->side[THRUM__BAD].count);
		return;
	default:
		thrum__words_put(s,
			d->kind == THRUM__DIFFERENCE_SLOWER ? ": slower in BAD: of "
							    : ": faster in BAD: of ");
		thrum__words_put(s, "two, BAD's takes longer in ");
		thrum__words_put_number(s, d->longer);
		thrum__words_put(s, " % of cases");
		return;
	}
	put_shares(s, d);
}

size_t thrum__words_difference(const struct thrum__comparison *c, const struct thrum__difference *d,
	char *to, size_t size)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, NULL);

	put_group(&s, c, d->group);
	put_difference(&s, c, d);
	return s.text.size;
}

/* ---- Examples ------------------------------------------------------------------------------ */

/* Writes “main” (task 6). */
static void put_task(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task)
{
	size_t from = s->text.size;

	thrum__words_put_task(s, model, task, "an unknown task");
	if (!thrum__model_has_row(&model->tasks, task))
		return;
	thrum__words_put(s, " (");
	thrum__words_put_id(s, model, task);
	thrum__words_put(s, ")");
	thrum__words_mention(s, model, from, task);
}

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
		put_task(s, model, tasks[which]);
		thrum__words_put(s, verbs[which]);
		any = true;
	}
}

static void put_order(struct thrum__words_sentence *s, const struct thrum__model *model,
	const struct thrum__difference_side *side)
{
	static const char *const verbs[] = {" ends", " begins"};
	const uint32_t pair[] = {side->before, side->task};

	put_two(s, model, side, pair, verbs);
	if (side->first != THRUM__OPEN)
		return;
	thrum__words_put(s, "; ");
	put_task(s, model, side->before);
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

static void put_life(struct thrum__words_sentence *s, const struct thrum__model *model,
	const struct thrum__difference_side *side)
{
	put_task(s, model, side->task);
	thrum__words_put(s, " begins at ");
	thrum__words_put_duration(s, side->first, 6);
	if (side->second < 0)
		return;
	thrum__words_put(s, ", ends at ");
	thrum__words_put_duration(s, side->second, 6);
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
		case THRUM__DIFFERENCE_ENDS_LATER: put_order(&s, model, side); break;
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
	default: return is_second ? "ends" : "begins";
	}
}
