/* SPDX-License-Identifier: ISC */
/* The lines that an opened band shows, and whether a time is empty: as if all lines were looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/bands/bands.h"
#include "laid_out.h"
#include "story.h"

#define LINES 4000
#define ROUNDS 400
#define END 40000000
#define MOST 64

struct bands {
	struct thrum__model *model;
	struct thrum__bands *all;
	struct thrum__bands_line lines[LINES]; /* by class and start */
	uint32_t count, group;
};

/* ---- The trace ------------------------------------------------------------------------------ */

struct event {
	long time;
	char text[60];
};

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? -1 : 1) : strcmp(x->text, y->text);
}

static void collect(struct bands *bands)
{
	struct thrum__bands_walk walk;

	bands->count = 0;
	thrum__bands_walk_begin(&walk, bands->all, bands->group, 0, THRUM__BANDS_CLASSES,
		INT64_MIN / 4, INT64_MAX / 4);
	while (thrum__bands_walk_next(&walk, &bands->lines[bands->count]))
		bands->count++;
	assert_int_equal(bands->count, LINES);
}

/* Lines of all lengths, of which each `odd`-th fails and as many never end; later ones are slower, as if
 * more and more waited. */
static struct bands *make(uint64_t seed, uint32_t odd)
{
	struct bands *bands = calloc(1, sizeof *bands);
	struct event *events = calloc(4 * LINES, sizeof *events);
	char *text = malloc(4 * LINES * 80);
	size_t count = 0, used;

	assert_true(bands && events && text);
	for (uint32_t i = 0; i < LINES; i++) {
		long start = layout_random(&seed, END - 20000000) / 100 * 100;
		long length = 1000 +
			100 * (long)layout_random(&seed, 10u << layout_random(&seed, 14)) +
			start / 1000 * 100;
		uint32_t kind = layout_random(&seed, odd);

		sprintf(events[count].text, "a create 1 %u promise", i + 2);
		events[count++].time = start;
		sprintf(events[count].text, "b label %u \"work %u", i + 2, i);
		events[count++].time = start;
		sprintf(events[count].text, "c should-resolve %u", i + 2);
		events[count++].time = start;
		if (kind == 0)
			continue;
		sprintf(events[count].text, kind == 1 ? "d fail 1 %u \"no" : "d resolve 1 %u",
			i + 2);
		events[count++].time = start + length;
	}
	qsort(events, count, sizeof *events, by_time);
	used = (size_t)sprintf(text, "0 create - 1 thread\n");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%ld %s\n", events[i].time,
			events[i].text + 2);
	sprintf(text + used, "%d log 1 \"end\n", END);
	bands->model = story_model(text, false);
	assert_int_equal(thrum__bands_make(bands->model, NULL, NULL, &bands->all), 0);
	bands->group = thrum__family_find(&bands->all->family, "work #", strlen("work #"));
	assert_int_not_equal(bands->group, THRUM__NONE);
	collect(bands);
	free(events);
	free(text);
	return bands;
}

static void finish(struct bands *bands)
{
	thrum__bands_destroy(bands->all);
	thrum__model_destroy(bands->model);
	free(bands);
}

/* ---- By looking at all lines ---------------------------------------------------------------- */

struct ranked {
	struct thrum__bands_line line;
	int rank;
};

static int64_t length_of(const struct thrum__bands_line *line)
{
	return line->end - line->start;
}

static int by_worth(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int64_t one = x->line.end - x->line.start, other = y->line.end - y->line.start;

	if (x->rank != y->rank)
		return x->rank - y->rank;
	if (one != other)
		return one > other ? -1 : 1;
	return x->line.start != y->line.start ? (x->line.start < y->line.start ? -1 : 1)
					      : (int)x->line.task - (int)y->line.task;
}

static int by_start(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->line.start != y->line.start ? (x->line.start < y->line.start ? -1 : 1)
					      : (int)x->line.task - (int)y->line.task;
}

static int by_length(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int64_t one = x->line.end - x->line.start, other = y->line.end - y->line.start;

	return one != other ? (one < other ? -1 : 1) : by_start(a, b);
}

/* Gives the bounds between which the median lies that is picked: of many in its class, some are looked at. */
static void bound_median(struct ranked *all, uint32_t count, int64_t *least, int64_t *most)
{
	uint32_t middle = count / 2, first = 0, end, apart;
	unsigned class = 0;

	qsort(all, count, sizeof *all, by_length);
	while (thrum__bands_bound(class + 1) <= length_of(&all[middle].line))
		class ++;
	while (length_of(&all[first].line) < thrum__bands_bound(class))
		first++;
	for (end = middle;
		end < count && length_of(&all[end].line) < thrum__bands_bound(class + 1);)
		end++;
	apart = end - first <= 64 ? 0 : (end - first) / 4;
	*least = length_of(&all[middle - first > apart ? middle - apart : first].line);
	*most = length_of(&all[middle + apart < end ? middle + apart : end - 1].line);
	/* A pending line may lie beside its class. */
	*least -= *least / 50;
	*most += *most / 50;
}

/* Lists the best lines in the order of their worth, and gives how many there are in all. */
static uint32_t choose(const struct bands *bands, const struct thrum__bands_box *box, uint32_t most,
	struct ranked *chosen, uint32_t *all, int64_t median[2])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bands->count; i++) {
		struct thrum__bands_line line = bands->lines[i];
		int64_t length = length_of(&line);

		if (line.start >= box->to || line.end < box->from ||
			(box->shortest < box->longest &&
				(length < box->shortest || length >= box->longest)))
			continue;
		chosen[count++] = (struct ranked){line,
			line.is_failed || line.is_pending                        ? 0
				: line.start >= box->from && line.end <= box->to ? 1
										 : 2};
	}
	*all = count;
	if (count > most)
		bound_median(chosen, count, &median[0], &median[1]);
	qsort(chosen, count, sizeof *chosen, by_worth);
	return count < most ? count : most;
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static struct thrum__bands_box random_box(const struct bands *bands, uint64_t *seed)
{
	struct thrum__bands_box box = {.group = bands->group};

	box.from = (int64_t)layout_random(seed, END);
	box.to = box.from + 1 + layout_random(seed, 1u << (1 + layout_random(seed, 25)));
	if (layout_random(seed, 4) == 0) {
		box.from = 0;
		box.to = bands->model->end;
	}
	if (layout_random(seed, 3) == 0) {
		box.shortest = thrum__bands_bound(layout_random(seed, 60));
		box.longest = box.shortest + layout_random(seed, 10000000);
	}
	return box;
}

static bool has_task(const struct thrum__bands_line *lines, uint32_t count, uint32_t task)
{
	for (uint32_t i = 0; i < count; i++)
		if (lines[i].task == task)
			return true;
	return false;
}

static void compare(const struct bands *bands, uint64_t seed)
{
	static struct ranked expected[LINES];

	for (int round = 0; round < ROUNDS; round++) {
		struct thrum__bands_box box = random_box(bands, &seed);
		uint32_t most = 2 + layout_random(&seed, MOST - 1), all, in_sight, count,
			 medians = 0;
		int64_t median[2] = {0, INT64_MAX};
		uint32_t expect = choose(bands, &box, most, expected, &all, median);
		struct thrum__bands_line lines[MOST];

		count = thrum__bands_pick(bands->all, &box, lines, most, &in_sight);
		assert_int_equal(in_sight, all);
		assert_int_equal(count, expect);
		/* The median may stand in the place of the last. */
		for (uint32_t i = 0; i + (all > most) < count; i++)
			assert_true(has_task(lines, count, expected[i].line.task));
		for (uint32_t i = 0; i < count; i++) {
			int64_t length = length_of(&lines[i]);

			assert_true(i == 0 || lines[i].start >= lines[i - 1].start);
			if (lines[i].is_median)
				assert_true(length >= median[0] && length <= median[1]);
			medians += lines[i].is_median;
		}
		assert_int_equal(medians, all > most ? 1 : 0);
	}
}

static void the_best_lines_are_picked(void **state)
{
	static const uint32_t odd[] = {40, 3, 2};

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct bands *bands = make(i + 1, odd[i]);
		struct thrum_event late = {.time = 60000000,
			.type = THRUM_EVENT_LOG,
			.task = 1,
			.flags = THRUM_EVENT_HAS_TASK,
			.text = ""};

		compare(bands, i + 7);
		/* Pending lines go on. */
		late.clock = (uint64_t)late.time;
		assert_int_equal(thrum__model_append(bands->model, &late, 1), 0);
		thrum__bands_advance(bands->all);
		collect(bands);
		compare(bands, i + 17);
		finish(bands);
	}
}

static void the_nearest_lines_are_found(void **state)
{
	struct bands *bands = make(5, 1000);
	uint64_t seed = 3;
	unsigned empty = 0;

	(void)state;
	for (int round = 0; round < ROUNDS * 10; round++) {
		int64_t from = (int64_t)layout_random(&seed, END),
			to = from + layout_random(&seed, 3);
		int64_t before = INT64_MIN, after = INT64_MAX, end = before, start = after;
		bool is_empty = true;

		if (round % 2 == 0)
			from = to = -5; /* nothing is there */
		for (uint32_t i = 0; i < bands->count; i++) {
			const struct thrum__bands_line *line = &bands->lines[i];

			is_empty = is_empty && (line->start >= to || line->end < from);
			end = line->end < from && line->end > end ? line->end : end;
			start = line->start >= to && line->start < start ? line->start : start;
		}
		assert_int_equal(thrum__bands_is_empty(bands->all, bands->group, from, to, &before,
					 &after),
			is_empty);
		empty += is_empty;
		if (!is_empty)
			continue;
		assert_int_equal(before, end);
		assert_int_equal(after, start);
	}
	assert_true(empty > ROUNDS);
	finish(bands);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_lines_are_picked),
		cmocka_unit_test(the_nearest_lines_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
