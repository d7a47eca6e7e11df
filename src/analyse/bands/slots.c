/* SPDX-License-Identifier: ISC */
/* Sums over slots of time of how long threads of many lanes ran: a column of a wide window is two look-ups
 * then, instead of two for each lane. */
#include <stdlib.h>

#include "analyse/bands/parts.h"

#define SLOTS 65536
#define LANES_LEAST 16 /* of a thread with sums */
#define ACCURATE 4     /* slots of the shortest column that is made of them */

/* The times of a thread in slots. `whole`: how many runs begin to cover whole slots, less those that cease
 * to. */
struct summing {
	const struct thrum__bands *bands;
	double each; /* slots of one ns */
	double *sums;
	int32_t whole[SLOTS + 1];
};

static double slots_of_ns(const struct thrum__bands *bands)
{
	return bands->made_to > bands->from ? SLOTS / (double)(bands->made_to - bands->from) : 0;
}

static void add_run(struct summing *s, uint32_t run)
{
	int64_t start = THRUM__RUN(s->bands->model, run, start);
	int64_t end = thrum__bands_run_end(s->bands, run);
	double from, to;
	uint32_t first, last;

	thrum__bands_clip(s->bands, &start, &end);
	if (end <= start)
		return;
	from = (double)(start - s->bands->from) * s->each;
	to = (double)(end - s->bands->from) * s->each;
	first = from < SLOTS ? (uint32_t)from : SLOTS - 1;
	last = to < SLOTS ? (uint32_t)to : SLOTS - 1;
	if (first == last) {
		s->sums[first] += to - from;
		return;
	}
	s->sums[first] += first + 1 - from;
	s->sums[last] += to - last;
	s->whole[first + 1]++;
	s->whole[last]--;
}

/* Makes each element the sum of those before, with the whole slots. */
static void sum_up(struct summing *s)
{
	double sum = 0;
	int64_t whole = 0;

	for (uint32_t i = 0; i <= SLOTS; i++) {
		double ran = s->sums[i];

		s->sums[i] = sum;
		whole += s->whole[i];
		sum += ran + (double)whole;
	}
}

static int sum_thread(struct thrum__bands *bands, const struct thrum__bands_thread *thread)
{
	const struct thrum__bands_lanes *lanes = bands->lanes;
	struct summing *s = calloc(1, sizeof *s);

	if (!s)
		return -THRUM_E_MEMORY;
	s->bands = bands;
	s->each = slots_of_ns(bands);
	s->sums = lanes->slots + thread->first_slot;
	for (uint32_t i = 0; i < thread->count; i++) {
		const struct thrum__bands_lane *lane =
			&lanes->lanes[bands->thread_lanes[thread->first + i]];

		for (uint32_t k = 0; k < lane->count; k++)
			add_run(s, lanes->runs[lane->first + k]);
	}
	sum_up(s);
	free(s);
	return 0;
}

int thrum__bands_slots_make(struct thrum__bands *bands)
{
	struct thrum__bands_lanes *lanes = bands->lanes;
	int error = 0;

	for (uint32_t i = 0; i < bands->thread_count; i++) {
		bands->threads[i].first_slot = THRUM__NONE;
		if (bands->threads[i].count < LANES_LEAST)
			continue;
		bands->threads[i].first_slot = lanes->slot_count;
		lanes->slot_count += SLOTS + 1;
	}
	if (lanes->slot_count == 0)
		return 0;
	lanes->slots = calloc(lanes->slot_count, sizeof *lanes->slots);
	if (!lanes->slots)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < bands->thread_count && error == 0; i++)
		if (bands->threads[i].first_slot != THRUM__NONE)
			error = sum_thread(bands, &bands->threads[i]);
	return error;
}

/* How many slots the lanes ran before a time. */
static double ran_before(const struct thrum__bands *bands, const double *sums, int64_t time,
	double each)
{
	double at = (double)(time - bands->from) * each;
	uint32_t slot = at > 0 && at < SLOTS ? (uint32_t)at : 0;

	if (at >= SLOTS)
		return sums[SLOTS];
	return at <= 0 ? 0 : sums[slot] + (at - slot) * (sums[slot + 1] - sums[slot]);
}

bool thrum__bands_slots_shares(const struct thrum__bands *bands, uint32_t thread,
	const struct thrum__bands_window *window, float *shares)
{
	const struct thrum__bands_thread *of = &bands->threads[thread];
	double each = slots_of_ns(bands), before;
	const double *sums;

	if (of->first_slot == THRUM__NONE || (double)window->least * each < ACCURATE)
		return false;
	sums = bands->lanes->slots + of->first_slot;
	before = ran_before(bands, sums, window->times[0], each);
	for (uint32_t i = 0; i < window->columns; i++) {
		double next = ran_before(bands, sums, window->times[i + 1], each);
		double length = (double)(window->times[i + 1] - window->times[i]) * each;

		shares[i] = (float)((next - before) / (length * of->count));
		before = next;
	}
	return true;
}
