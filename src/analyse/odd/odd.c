/* SPDX-License-Identifier: ISC */
#include "analyse/odd/odd.h"

#include <string.h>

#include "analyse/odd/turns.h"

#define WITH_MIN 3     /* so many turns with an effect show that each should have it, */
#define WITH_TIMES 4   /* or so many times as many as lack it, if several do */
#define LOOKED_MOST 64 /* turns without an effect that are looked at */

static bool is_vague(const struct thrum__odd_work *work, const struct thrum__odd_effect *effect)
{
	return (effect->kind == THRUM__EFFECT_SETS || effect->kind == THRUM__EFFECT_STOPS) &&
		effect->like < work->vague_room && work->is_vague[effect->like];
}

/* Whether a turn is over. One that goes on at the end is if its thread waits as after the turn before. */
static bool is_over(const struct thrum__odd_work *work, const struct thrum__odd_turn *turn)
{
	const struct thrum__odd_turn *before = turn->before > 0 ? &work->turns[turn->before - 1]
								: NULL;

	if (turn->until != THRUM__OPEN)
		return true;
	return THRUM__TASK(work->model, turn->task, kind) == THRUM_KIND_THREAD && before &&
		turn->has_waited == before->has_waited && turn->waits_on == before->waits_on;
}

/* Whether it is sure that a turn lacks an effect. Nobody tells of signals that no task hears, or of what
 * comes before an object is known. Any thread may be the last that comes to a barrier. */
static bool is_sure(const struct thrum__odd_work *work, const struct thrum__odd_effect *effect,
	const struct thrum__odd_turn *turn)
{
	const struct thrum__model *model = work->model;
	int64_t until = turn->until < model->end ? turn->until : model->end;

	if (!is_over(work, turn))
		return false;
	if (effect->kind != THRUM__EFFECT_SIGNALS)
		return true;
	if (effect->is_several || THRUM__TASK(model, effect->on, created) > turn->time)
		return false;
	switch (THRUM__TASK(model, effect->on, kind)) {
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_SEMAPHORE:
		return thrum__analyse_had_waiter(model, effect->on, turn->time) &&
			thrum__analyse_had_waiter(model, effect->on, until) &&
			strncmp(thrum__model_task_name(model, effect->on, NULL), "barrier", 7) != 0;
	default: return true;
	}
}

/* Looks for the turns of a series that have the effect a, and surely lack b. The latest comes first. Turns
 * that closed their handle count only if `may_close`. Returns false if the latest is no later than all with
 * b, or if there are too many. */
static bool find_turns(const struct thrum__odd_work *work, const struct thrum__odd_series *series,
	unsigned a, unsigned b, bool may_close, struct thrum__odd *odd)
{
	const struct thrum__odd_effect *effect = &series->of[b - 1];
	unsigned looked = 0, with = 0;

	*odd = (struct thrum__odd){.with = series->both[a][b],
		.apart = UINT32_MAX,
		.effect = effect->kind,
		.on = effect->on,
		.given = a > 0 ? series->of[a - 1].kind : THRUM__EFFECT_NONE,
		.given_on = a > 0 ? series->of[a - 1].on : THRUM__NONE};
	for (uint32_t t = series->last; t > 0; t = work->turns[t - 1].before) {
		const struct thrum__odd_turn *turn = &work->turns[t - 1];

		if (turn->closes && !may_close)
			continue;
		if (odd->count == 0 && turn->time <= effect->last)
			return false;
		with += turn->effects >> a & turn->effects >> b & 1;
		if (!(turn->effects >> a & 1) || turn->effects >> b & 1)
			continue;
		if (looked++ == LOOKED_MOST)
			return false;
		if (!is_sure(work, effect, turn))
			continue;
		if (odd->count == THRUM__ODD_TURNS)
			return false;
		if (odd->count == 0) {
			odd->after = turn->after;
			odd->descriptor = turn->descriptor;
		} else {
			odd->apart = with < odd->apart ? with : odd->apart;
		}
		with = 0;
		odd->task[odd->count] = turn->task;
		odd->time[odd->count++] = turn->time;
	}
	odd->apart = with < odd->apart ? with : odd->apart;
	return odd->count == 1 || (odd->count > 0 && odd->with / WITH_TIMES >= odd->count);
}

/* The oddest thing of a series: what all its turns have comes first, then what most of them have. Unless `on`
 * is NONE, only effects on that task count, and a turn that closed its handle needs none. */
static void find_in(const struct thrum__odd_work *work, const struct thrum__odd_series *series,
	uint32_t on, struct thrum__odd *found)
{
	struct thrum__odd odd;

	found->count = 0;
	for (unsigned a = 0; a <= series->count && found->count == 0; a++)
		for (unsigned b = 1; b <= series->count; b++) {
			uint32_t with = series->both[a][b];

			if (a == b || with < WITH_MIN || is_vague(work, &series->of[b - 1]) ||
				(a > 0 && is_vague(work, &series->of[a - 1])) ||
				with == series->both[a][a] ||
				(on != THRUM__NONE && series->of[b - 1].on != on) ||
				(found->count > 0 && with <= found->with))
				continue;
			if (find_turns(work, series, a, b, on == THRUM__NONE, &odd))
				*found = odd;
		}
}

static uint32_t find_odd(const struct thrum__odd_work *work, uint32_t on, int64_t before,
	struct thrum__odd *found, uint32_t max)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < work->keys.count; i++) {
		struct thrum__odd odd;
		uint32_t at;

		if (work->series[i].turns <= WITH_MIN)
			continue;
		find_in(work, &work->series[i], on, &odd);
		if (odd.count == 0 || odd.time[0] >= before)
			continue;
		for (at = count; at > 0 && found[at - 1].time[0] < odd.time[0]; at--)
			if (at < max)
				found[at] = found[at - 1];
		if (at < max)
			found[at] = odd;
		count += count < max;
	}
	return count;
}

/* Whether no row of a table is forgotten. */
static bool has_all(const struct thrum__model_rows *rows)
{
	for (uint32_t row = 0; row < rows->count; row += THRUM__BLOCK)
		if (!thrum__model_has_row(rows, row))
			return false;
	return true;
}

/* Whether all events since the program's start are known. */
static bool is_whole(const struct thrum__model *model)
{
	return model->gaps.count == 0 && !model->is_cut && !model->is_mirage &&
		model->damaged == 0 && has_all(&model->tasks) && has_all(&model->runs) &&
		has_all(&model->edges) && has_all(&model->notes) && has_all(&model->suspensions) &&
		thrum__model_unrecorded_until(model, THRUM__PART_LIFE) < 0 &&
		thrum__model_unrecorded_until(model, THRUM__PART_WAIT) < 0 &&
		thrum__model_unrecorded_until(model, THRUM__PART_SWITCH) < 0;
}

void thrum__analyse_odd_prepare(struct thrum__odd_search *search, const atomic_bool *is_unwanted)
{
	if (is_whole(search->model))
		search->work = thrum__odd_turns_make(search->model, is_unwanted);
}

static void join(struct thrum__odd_search *search, bool is_wanted)
{
	if (search->join)
		search->join(search, is_wanted);
	search->join = NULL;
}

int thrum__analyse_odd(struct thrum__odd_search *search, uint32_t on, int64_t before,
	struct thrum__odd *odd, uint32_t max)
{
	static const atomic_bool never = false;

	join(search, true);
	if (!search->work && !is_whole(search->model))
		return 0;
	if (!search->work)
		search->work = thrum__odd_turns_make(search->model, &never);
	return search->work ? (int)find_odd(search->work, on, before, odd, max) : -THRUM_E_MEMORY;
}

void thrum__analyse_odd_free(struct thrum__odd_search *search)
{
	join(search, false);
	thrum__odd_turns_free(search->work);
	search->work = NULL;
}
