/* SPDX-License-Identifier: ISC */
/* The numbers of bands against counts by brute force, in random models. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/bands/parts.h"
#include "base/sort.h"
#include "laid_out.h"
#include "story.h"

#define COLUMNS 97

/* All lines of a group, found one by one. */
struct line {
	int64_t start, end;
	bool is_failed, is_pending;
	unsigned class;
};

struct seen {
	struct thrum__model *model;
	struct thrum__bands *bands;
	struct line *lines; /* of the group below */
	uint32_t count, group;
};

/* Makes bands of a random model, and finds the lines of its greatest group. */
static void look(struct seen *seen, uint64_t seed, uint32_t events, uint32_t lanes)
{
	struct thrum_event *made = layout_events(seed, events, lanes);
	const struct thrum__family *family;

	seen->model = layout_model(made, events);
	free(made);
	assert_int_equal(thrum__bands_make(seen->model, NULL, NULL, &seen->bands), 0);
	family = &seen->bands->family;
	seen->group = 0;
	for (uint32_t i = 0; i < family->group_count; i++)
		if (family->groups[i].lines > family->groups[seen->group].lines)
			seen->group = i;
	seen->lines = calloc(seen->model->tasks.count + UINT32_C(1), sizeof *seen->lines);
	assert_non_null(seen->lines);
	seen->count = 0;
	for (uint32_t i = 0; i < seen->model->tasks.count; i++) {
		uint32_t heir = thrum__model_heir(seen->model, i);
		struct line *line = &seen->lines[seen->count];

		if (!thrum__family_is_line(family, i) ||
			thrum__family_group(family, i) != seen->group)
			continue;
		line->start = THRUM__TASK(seen->model, i, start);
		line->end = THRUM__TASK(seen->model, heir, end);
		line->is_pending = line->end == THRUM__OPEN;
		if (line->is_pending)
			line->end = seen->model->end;
		line->end = line->end > line->start ? line->end : line->start;
		line->is_failed = THRUM__TASK(seen->model, heir, state) == THRUM__STATE_FAILED;
		line->class = thrum__bands_class(line->end - line->start);
		seen->count++;
	}
	assert_int_equal(seen->count, family->groups[seen->group].lines);
}

static void unsee(struct seen *seen)
{
	free(seen->lines);
	thrum__bands_destroy(seen->bands);
	thrum__model_destroy(seen->model);
}

/* Divides a time into columns: all alike, or with a long fold among them. */
static void divide(int64_t times[COLUMNS + 1], int64_t from, int64_t to, bool folded)
{
	for (int64_t i = 0; i <= COLUMNS; i++) {
		if (!folded)
			times[i] = from + (to - from) * i / COLUMNS;
		else if (i <= COLUMNS / 2)
			times[i] = from + (to - from) / 4 * i / (COLUMNS / 2);
		else
			times[i] = to - (to - from) / 4 * (COLUMNS - i) / (COLUMNS / 2);
	}
}

/* How many lines of a class touch from … to, without its last moment. */
static uint32_t touching(const struct seen *seen, unsigned class, int64_t from, int64_t to)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < seen->count; i++)
		count += seen->lines[i].class == class && seen->lines[i].start < to &&
			seen->lines[i].end >= from;
	return count;
}

/* How many end in it; `failed`: how many failed. */
static uint32_t ending(const struct seen *seen, unsigned class, int64_t from, int64_t to,
	bool failed)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < seen->count; i++)
		count += seen->lines[i].class == class && !seen->lines[i].is_pending &&
			seen->lines[i].end >= from && seen->lines[i].end < to &&
			(!failed || seen->lines[i].is_failed);
	return count;
}

static uint32_t quiet(const struct seen *seen, unsigned class, int64_t from, int64_t to)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < seen->count; i++)
		count += seen->lines[i].class == class && seen->lines[i].start < from &&
			seen->lines[i].end > to;
	return count;
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
	a = a > from ? a : from;
	b = b < to ? b : to;
	return b > a ? b - a : 0;
}

/* How many ns the lines of a class live in from … to. */
static double living(const struct seen *seen, unsigned class, int64_t from, int64_t to)
{
	double sum = 0;

	for (uint32_t i = 0; i < seen->count; i++)
		if (seen->lines[i].class == class)
			sum += (double)overlap(seen->lines[i].start, seen->lines[i].end, from, to);
	return sum;
}

/* How many ns tasks run for the lines of a class. */
static double running(const struct seen *seen, unsigned class, int64_t from, int64_t to)
{
	const struct thrum__model *model = seen->model;
	double sum = 0;

	for (uint32_t i = 0; i < model->runs.count; i++) {
		int64_t end = THRUM__RUN(model, i, end);
		struct thrum__bands_line line;
		uint32_t group,
			worker = thrum__family_worker(&seen->bands->family,
				THRUM__RUN(model, i, task));

		if (worker == THRUM__NONE ||
			!thrum__bands_line_of(seen->bands, worker, &line, &group) ||
			group != seen->group || thrum__bands_class(line.end - line.start) != class)
			continue;
		sum += (double)overlap(THRUM__RUN(model, i, start),
			end == THRUM__OPEN ? model->end : end, from, to);
	}
	return sum;
}

static void assert_near(double a, double b, double slack)
{
	if (fabs(a - b) > slack)
		fail_msg("%.3f is not %.3f ± %.3f", a, b, slack);
}

/*
 * Compares the cells of a class with counts. Cells that come from sums know times to a slot, so they
 * lie between the counts of a column that is a slot shorter at both ends and one that is longer.
 */
static void check_cells(const struct seen *seen, unsigned class, const int64_t *times,
	const struct thrum__bands_window *window)
{
	struct thrum__bands_cell cells[COLUMNS];
	const struct thrum__bands_row *row = thrum__bands_row(seen->bands, seen->group, class);
	int64_t slot = row->slots > 0 && window->least >= row->slot ? row->slot : 0;
	int64_t coarse = slot * THRUM__BANDS_COARSE;
	int64_t from = times[0], to = times[COLUMNS];

	if (row->slots % THRUM__BANDS_COARSE == 0 && coarse <= window->least / 2)
		slot = coarse;
	thrum__bands_cells(seen->bands, seen->group, class, 1, window, cells);
	for (int i = 0; i < COLUMNS; i++) {
		int64_t a = times[i], b = times[i + 1], last = i == COLUMNS - 1;

		assert_in_range(cells[i].lines, touching(seen, class, a + slot, b - slot + last),
			touching(seen, class, a - slot, b + slot + last));
		assert_in_range(cells[i].ended, ending(seen, class, a + slot, b - slot, false),
			ending(seen, class, a - slot, b + slot + last, false));
		assert_in_range(cells[i].failed, ending(seen, class, a + slot, b - slot, true),
			ending(seen, class, a - slot, b + slot + last, true));
		if (cells[i].lines > 0)
			assert_in_range(cells[i].quiet, quiet(seen, class, from - slot, to + slot),
				quiet(seen, class, from + slot, to - slot));
		assert_near((double)cells[i].life, living(seen, class, a, b),
			1 + 1e-4 * (double)cells[i].life +
				2 * (double)slot * touching(seen, class, a - slot, b + slot));
	}
}

/* Cells equal a count by brute force, at ten zooms, in windows of equal columns and in folded ones. */
static void test_cells(void **state)
{
	struct thrum__bands_window window = {0};
	struct seen seen;
	unsigned walked = 0, summed = 0;

	(void)state;
	look(&seen, 42, 150000, 3);
	for (int zoom = 0; zoom < 10; zoom++) {
		int64_t length = seen.model->end >> zoom, times[COLUMNS + 1];
		int64_t from = (seen.model->end - length) / 3;

		if (length < 10 * COLUMNS)
			break;
		divide(times, from, from + length, zoom % 3 == 2);
		assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
		for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
			const struct thrum__bands_row *row = thrum__bands_row(seen.bands,
				seen.group, class);

			if (!row || row->count == 0 || (row->slots == 0 && class % 4))
				continue;
			walked += row->slots == 0 || window.least < row->slot;
			summed += row->slots > 0 && window.least >= row->slot;
			check_cells(&seen, class, times, &window);
		}
	}
	assert_true(walked > 10);
	assert_true(summed > 4);
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* Cells of several classes are the sums of their cells. */
static void test_classes_together(void **state)
{
	struct thrum__bands_cell all[COLUMNS], one[COLUMNS];
	struct thrum__bands_window window = {0};
	int64_t times[COLUMNS + 1];
	struct seen seen;

	(void)state;
	look(&seen, 7, 20000, 2);
	divide(times, seen.model->end / 5, seen.model->end / 2, false);
	assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
	thrum__bands_cells(seen.bands, seen.group, 0, THRUM__BANDS_CLASSES, &window, all);
	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
		thrum__bands_cells(seen.bands, seen.group, class, 1, &window, one);
		for (int i = 0; i < COLUMNS; i++) {
			all[i].lines -= one[i].lines;
			all[i].ended -= one[i].ended;
			all[i].failed -= one[i].failed;
			all[i].quiet -= one[i].quiet;
		}
	}
	for (int i = 0; i < COLUMNS; i++)
		assert_int_equal(all[i].lines | all[i].ended | all[i].failed | all[i].quiet, 0);
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* The sum of the lives is the integral of how many are alive; and each run is in exactly one band. */
static void test_sums(void **state)
{
	struct thrum__bands_cell cells[COLUMNS];
	struct thrum__bands_window window = {0};
	uint32_t alive[COLUMNS];
	int64_t times[COLUMNS + 1];
	struct seen seen;
	double life = 0, lives = 0, ran = 0, runs = 0;

	(void)state;
	look(&seen, 1234, 50000, 4);
	divide(times, 0, seen.model->end, false);
	assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
	for (uint32_t group = 0; group < seen.bands->family.group_count; group++) {
		thrum__bands_cells(seen.bands, group, 0, THRUM__BANDS_CLASSES, &window, cells);
		for (int i = 0; i < COLUMNS; i++) {
			ran += (double)cells[i].ran;
			life += group == seen.group ? (double)cells[i].life : 0;
		}
	}
	for (uint32_t i = 0; i < seen.count; i++)
		lives += (double)(seen.lines[i].end - seen.lines[i].start);
	assert_near(life, lives, 1e-5 * lives);
	for (uint32_t i = 0; i < seen.model->runs.count; i++) {
		int64_t end = THRUM__RUN(seen.model, i, end);

		if (thrum__family_worker(&seen.bands->family, THRUM__RUN(seen.model, i, task)) !=
			THRUM__NONE)
			runs += (double)((end == THRUM__OPEN ? seen.model->end : end) -
				THRUM__RUN(seen.model, i, start));
	}
	assert_true(runs > 0);
	assert_near(ran, runs, 1e-5 * runs);
	thrum__bands_alive(seen.bands, seen.group, &window, alive);
	for (int i = 0; i < COLUMNS; i++) {
		uint32_t count = 0, slack = 0;
		int64_t slot = seen.model->end / 100;

		for (uint32_t j = 0; j < seen.count; j++) {
			const struct line *line = &seen.lines[j];

			count += line->start <= times[i + 1] &&
				(line->end > times[i + 1] || line->is_pending);
			slack += llabs(line->start - times[i + 1]) < slot ||
				llabs(line->end - times[i + 1]) < slot;
		}
		assert_near(alive[i], count, slack);
	}
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* Narrow windows count a group's runs one by one. */
static void test_runs(void **state)
{
	struct thrum__bands_cell cells[COLUMNS];
	struct thrum__bands_window window = {0};
	int64_t times[COLUMNS + 1];
	struct seen seen;

	(void)state;
	look(&seen, 99, 2500, 2);
	for (int zoom = 0; zoom < 5; zoom++) {
		int64_t length = seen.model->end >> zoom, from = seen.model->end / 3 >> zoom;

		if (length < 2 * COLUMNS)
			break;
		divide(times, from, from + length / 2, false);
		assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
		for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
			if (!thrum__bands_row(seen.bands, seen.group, class))
				continue;
			thrum__bands_cells(seen.bands, seen.group, class, 1, &window, cells);
			for (int i = 0; i < COLUMNS; i += 5)
				assert_near((double)cells[i].ran,
					running(&seen, class, times[i], times[i + 1]), 0.01);
		}
	}
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void test_select(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (uint32_t count = 1; count < 60; count++) {
		int64_t values[60], sorted[60];

		for (uint32_t i = 0; i < count; i++)
			values[i] = sorted[i] = layout_random(&seed, count % 7 ? 1000 : 3);
		qsort(sorted, count, sizeof *sorted, by_value);
		for (uint32_t rank = 0; rank < count; rank++)
			assert_int_equal(thrum__base_select(values, count, rank), sorted[rank]);
	}
}

static void test_numbers(void **state)
{
	struct seen seen;
	int64_t *lengths, end;

	(void)state;
	look(&seen, 42, 60000, 3);
	end = seen.model->end;
	lengths = malloc((seen.count + UINT32_C(1)) * sizeof *lengths);
	assert_non_null(lengths);
	for (int i = 0; i < 5; i++) {
		const struct thrum__bands_time times[] = {
			{{0, 0}, {end, 0}},
			{{end / 3, 0}, {end / 2, 0}},
			{{0, end / 2}, {end / 3, end}},
			{{end / 2, 0}, {end / 2 + 1, 0}},
			{{5, 0}, {5, 0}},
		};
		const struct thrum__bands_time *time = &times[i];
		struct thrum__bands_numbers numbers;
		uint32_t count = 0, failed = 0;

		for (uint32_t j = 0; j < seen.count; j++) {
			const struct line *line = &seen.lines[j];
			bool is_in = false;

			for (int part = 0; part < 2; part++)
				is_in = is_in ||
					(line->end >= time->from[part] &&
						time->from[part] < time->to[part] &&
						(line->end < time->to[part] ||
							(line->end == end &&
								time->to[part] == end)));
			if (!is_in || line->is_pending)
				continue;
			failed += line->is_failed;
			lengths[count++] = line->end - line->start;
		}
		qsort(lengths, count, sizeof *lengths, by_value);
		thrum__bands_numbers(seen.bands, seen.group, time, &numbers);
		assert_int_equal(numbers.ended, count);
		assert_int_equal(numbers.failed, failed);
		assert_int_equal(numbers.half, count ? lengths[(count * 50 + 99) / 100 - 1] : 0);
		assert_int_equal(numbers.slow, count ? lengths[(count * 99 + 99) / 100 - 1] : 0);
	}
	free(lengths);
	unsee(&seen);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Neighbours lead through all lines of a group by start, and back. */
static void test_neighbours(void **state)
{
	struct seen seen;
	uint32_t task = THRUM__NONE, count = 1, last;
	struct thrum__bands_line line, next;
	struct thrum__bands_walk walk;
	uint32_t group;

	(void)state;
	look(&seen, 11, 5000, 2);
	thrum__bands_walk_begin(&walk, seen.bands, seen.group, 0, THRUM__BANDS_CLASSES, 0,
		INT64_MAX);
	while (thrum__bands_walk_next(&walk, &next))
		if (task == THRUM__NONE || next.start < line.start ||
			(next.start == line.start && next.task < task)) {
			line = next;
			task = next.task;
		}
	assert_int_equal(thrum__bands_neighbour(seen.bands, task, -1), THRUM__NONE);
	for (;; count++) {
		last = thrum__bands_neighbour(seen.bands, task, 1);
		if (last == THRUM__NONE)
			break;
		assert_true(thrum__bands_line_of(seen.bands, last, &next, &group));
		assert_int_equal(group, seen.group);
		assert_true(next.start >= line.start);
		assert_int_equal(thrum__bands_neighbour(seen.bands, last, -1), task);
		line = next;
		task = last;
	}
	assert_int_equal(count, seen.count);
	unsee(&seen);
}

/* Exceptions come by their ends, and all come. */
static void test_exceptions(void **state)
{
	struct seen seen;
	uint32_t task = THRUM__NONE, failed = 0, found = 0;
	int64_t end = INT64_MIN;

	(void)state;
	look(&seen, 11, 5000, 2);
	for (uint32_t i = 0; i < seen.count; i++)
		failed += seen.lines[i].is_failed;
	assert_true(failed > 0);
	for (;;) {
		struct thrum__bands_line line;
		uint32_t group,
			next = thrum__bands_exception(seen.bands, seen.group, task, INT64_MIN, 1);

		if (next == THRUM__NONE)
			break;
		assert_true(thrum__bands_line_of(seen.bands, next, &line, &group));
		assert_true(line.end >= end);
		if (task != THRUM__NONE)
			assert_int_equal(thrum__bands_exception(seen.bands, seen.group, next, 0,
						 -1),
				task);
		found += line.is_failed;
		end = line.end;
		task = next;
	}
	assert_int_equal(found, failed);
	unsee(&seen);
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* Whether a run counts for its lane. */
static bool counts(const struct thrum__model *model, uint32_t run)
{
	return !(THRUM__TASK(model, THRUM__RUN(model, run, task), flags) & THRUM__TASK_LANE);
}

static int64_t run_end(const struct thrum__model *model, uint32_t run)
{
	int64_t end = THRUM__RUN(model, run, end);

	return end == THRUM__OPEN ? model->end : end;
}

static void test_threads(void **state)
{
	struct thrum__bands_window window = {0};
	int64_t times[COLUMNS + 1], least;
	float shares[COLUMNS];
	struct seen seen;

	(void)state;
	look(&seen, 1234, 50000, 4);
	assert_int_equal(seen.bands->thread_count, 1); /* none has a name */
	assert_int_equal(seen.bands->threads[0].count, seen.model->lane_count);
	for (int zoom = 0; zoom < 10; zoom += 3) {
		int64_t from = seen.model->end / 7, to = from + (seen.model->end >> zoom) / 2;
		struct thrum__bands_run runs[9];
		double all = 0;
		uint32_t count, longer = 0;

		divide(times, from, to, zoom == 3);
		assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
		thrum__bands_thread_shares(seen.bands, 0, &window, shares);
		for (int i = 0; i < COLUMNS; i++) {
			double ran = 0;

			for (uint32_t j = 0; j < seen.model->runs.count; j++)
				if (counts(seen.model, j))
					ran += (double)overlap(THRUM__RUN(seen.model, j, start),
						run_end(seen.model, j), times[i], times[i + 1]);
			all += ran;
			ran /= (double)(times[i + 1] - times[i]) * seen.model->lane_count;
			assert_near((double)shares[i], ran, 1e-4);
		}
		assert_near(thrum__bands_thread_share(seen.bands, 0, from, to),
			all / ((double)(to - from) * seen.model->lane_count), 1e-6);
		count = thrum__bands_longest_runs(seen.bands, 0, from, to, 1, runs, 9);
		least = runs[count - 1].ran;
		for (uint32_t i = 1; i < count; i++)
			assert_true(runs[i - 1].ran >= runs[i].ran);
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(THRUM__RUN(seen.model, runs[i].run, start), runs[i].from);
		for (uint32_t i = 0; i < seen.model->runs.count; i++) {
			int64_t start = THRUM__RUN(seen.model, i, start);
			int64_t end = run_end(seen.model, i);

			longer += counts(seen.model, i) && start < to && end > from &&
				end - start > least;
		}
		assert_true(longer < count);
	}
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* The shares of a thread of many lanes come from sums, and are right to 2 %. */
static void test_many_lanes(void **state)
{
	struct thrum__bands_window window = {0};
	struct thrum_event later = {.type = THRUM_EVENT_LOG, .text = ""};
	int64_t times[COLUMNS + 1];
	float shares[COLUMNS], before[COLUMNS];
	struct seen seen;

	(void)state;
	look(&seen, 77, 50000, 40);
	assert_in_range(seen.bands->threads[0].count, 20, 40);
	for (int zoom = 0; zoom < 12; zoom += 2) {
		int64_t from = seen.model->end / 7, to = from + (seen.model->end >> zoom) / 2;
		double all = 0;

		divide(times, from, to, zoom == 4);
		assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
		thrum__bands_thread_shares(seen.bands, 0, &window, shares);
		for (int i = 0; i < COLUMNS; i++) {
			double ran = 0;

			for (uint32_t j = 0; j < seen.model->runs.count; j++)
				if (counts(seen.model, j))
					ran += (double)overlap(THRUM__RUN(seen.model, j, start),
						run_end(seen.model, j), times[i], times[i + 1]);
			all += ran;
			ran /= (double)(times[i + 1] - times[i]) * seen.bands->threads[0].count;
			assert_near((double)shares[i], ran, 0.02);
		}
		assert_true(all > 0);
	}
	/* They stay as they are while the trace goes on. */
	divide(times, 0, seen.model->end, false);
	assert_int_equal(thrum__bands_window_set(&window, times, COLUMNS), 0);
	thrum__bands_thread_shares(seen.bands, 0, &window, before);
	later.time = 3 * seen.model->end;
	assert_int_equal(thrum__model_append(seen.model, &later, 1), 0);
	thrum__bands_advance(seen.bands);
	assert_int_equal(seen.bands->to, later.time);
	thrum__bands_thread_shares(seen.bands, 0, &window, shares);
	for (int i = 0; i < COLUMNS; i++)
		assert_near((double)shares[i], (double)before[i], 1e-6);
	thrum__bands_window_finish(&window);
	unsee(&seen);
}

/* The bands of a big trace take at most 70 bytes a task. */
static void test_memory(void **state)
{
	struct seen seen;
	size_t memory;

	(void)state;
	look(&seen, 5, 600000, 4);
	memory = thrum__bands_memory(seen.bands);
	assert_true(seen.model->tasks.count > 50000);
	assert_true(memory <= 70 * (size_t)seen.model->tasks.count);
	unsee(&seen);
}

/* Boxes hold all that ran, and hold apart those for whom it ran. */
static void test_boxes(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen, 4321, 30000, 2);
	for (int level = 0; level < 3; level++)
		for (uint32_t lane = 0; lane < seen.model->lane_count; lane++)
			for (int64_t blur = 0; blur < 100000; blur = blur * 20 + 1) {
				struct thrum__bands_boxes boxes;
				struct thrum__bands_run run;
				double ran = 0, all = 0;
				int64_t until = INT64_MIN;

				for (uint32_t i = 0; i < seen.model->runs.count; i++)
					if (THRUM__RUN(seen.model, i, lane) == lane &&
						counts(seen.model, i))
						all += (double)(run_end(seen.model, i) -
							THRUM__RUN(seen.model, i, start));
				thrum__bands_boxes_begin(&boxes, seen.bands, lane, level, 0,
					seen.model->end + 1, blur * 3, blur);
				while (thrum__bands_boxes_next(&boxes, &run)) {
					assert_true(run.from >= until);
					until = run.to;
					ran += (double)run.ran;
				}
				assert_near(ran, all, 0.1);
			}
	unsee(&seen);
}

/* Holes are the times in which no lane runs. */
static void test_holes(void **state)
{
	struct seen seen;
	int64_t end;

	(void)state;
	look(&seen, 77, 20000, 2);
	end = seen.model->end;
	for (int64_t least = 1; least < end / 20; least = least * 7) {
		static struct thrum__bands_hole holes[30000];
		uint32_t count = thrum__bands_holes(seen.bands, end / 9, end / 2, least, holes,
			30000);
		uint64_t seed = 3;

		for (uint32_t i = 0; i < count; i++) {
			assert_true(holes[i].to - holes[i].from >= least);
			assert_true(i == 0 || holes[i].from > holes[i - 1].to);
		}
		/* A moment in which nothing runs lies in a hole, or in one that is too short. */
		for (int tries = 0; tries < 200; tries++) {
			int64_t time = end / 9 + layout_random(&seed, (uint32_t)(end / 3));
			int64_t before = end / 9, after = end / 2;
			bool runs = false, is_in = false;

			for (uint32_t i = 0; i < seen.model->runs.count; i++) {
				int64_t a = THRUM__RUN(seen.model, i, start);
				int64_t b = run_end(seen.model, i);

				if (!counts(seen.model, i))
					continue;
				runs = runs || (a <= time && b >= time);
				before = b < time && b > before ? b : before;
				after = a > time && a < after ? a : after;
			}
			for (uint32_t i = 0; i < count; i++)
				is_in = is_in || (holes[i].from < time && holes[i].to > time);
			assert_int_equal(is_in, !runs && after - before >= least);
		}
	}
	unsee(&seen);
}

/* ---- Others --------------------------------------------------------------------------------- */

static void test_classes(void **state)
{
	(void)state;
	assert_int_equal(thrum__bands_class(-5), 0);
	assert_int_equal(thrum__bands_class(1), 0);
	assert_int_equal(thrum__bands_class(10), 8);
	assert_int_equal(thrum__bands_class(1000000), 48);
	assert_int_equal(thrum__bands_class(INT64_MAX), 151);
	for (unsigned class = 1; class < THRUM__BANDS_CLASSES; class ++) {
		int64_t bound = thrum__bands_bound(class);

		assert_true(bound >= thrum__bands_bound(class - 1));
		if (class < 8) /* these are of a few ns, and some of them of none */
			continue;
		assert_true(bound < thrum__bands_bound(class + 1));
		assert_int_equal(thrum__bands_class(bound), class);
		assert_true(thrum__bands_class(bound - 1) < class);
	}
}

/* A time ends before its last moment, unless that is the last of all. */
static void test_last_moment(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "10 create 1 2 request\n"
						 "10 label 2 \"get\n"
						 "20 create 1 3 request\n"
						 "20 label 3 \"get\n"
						 "50 resolve 1 2\n"
						 "90 resolve 1 3\n",
		false);
	static const struct thrum__bands_time before = {{0, 0}, {50, 0}},
					      after = {{50, 0}, {90, 0}};
	struct thrum__bands_numbers numbers;
	struct thrum__bands *bands;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(bands->to, 90);
	thrum__bands_numbers(bands, 0, &before, &numbers);
	assert_int_equal(numbers.ended, 0);
	thrum__bands_numbers(bands, 0, &after, &numbers);
	assert_int_equal(numbers.ended, 2);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

static bool stop(void *context, double part)
{
	(void)part;
	return --*(int *)context > 0;
}

/* Making bands can be given up; bands of a model that has grown can be brought up to date. */
static void test_update(void **state)
{
	struct thrum_event *events = layout_events(12, 8000, 2);
	struct thrum__model *model = layout_model(events, 4000);
	struct thrum__bands *bands;
	struct thrum__bands_numbers numbers;
	int calls = 2;

	(void)state;
	assert_int_equal(thrum__bands_make(model, stop, &calls, &bands), 1);
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_true(thrum__bands_memory(bands) > 0);
	assert_int_equal(thrum__model_append(model, events + 4000, 4000), 0);
	assert_true(bands->to < model->end);
	thrum__bands_numbers(bands, 0,
		&(struct thrum__bands_time){{bands->from, 0}, {bands->to, 0}}, &numbers);
	assert_int_equal(thrum__bands_update(bands), 0);
	assert_int_equal(bands->to, model->end);
	assert_int_equal(bands->family.shown_count, 1);
	thrum__model_forget(model, model->end / 2);
	assert_int_equal(thrum__bands_update(bands), 0);
	thrum__bands_destroy(bands);
	thrum__bands_destroy(NULL);
	thrum__model_destroy(model);
	free(events);
}

/* Asserts that bands say the same as others of the same model. */
static void same_bands(const struct thrum__bands *a, const struct thrum__bands *b)
{
	struct thrum__bands_time all = {{a->from, 0}, {a->to, 0}};

	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
	assert_int_equal(a->thread_count, b->thread_count);
	assert_int_equal(a->queue_count, b->queue_count);
	assert_int_equal(a->family.group_count, b->family.group_count);
	for (uint32_t i = 0; i < a->family.group_count; i++) {
		struct thrum__bands_numbers is, should;

		thrum__bands_numbers(a, i, &all, &is);
		thrum__bands_numbers(b, i, &all, &should);
		assert_int_equal(is.ended, should.ended);
		assert_int_equal(is.touched, should.touched);
		assert_int_equal(is.half, should.half);
	}
	for (uint32_t i = 0; i < a->thread_count; i++)
		assert_true(thrum__bands_thread_share(a, i, a->from, a->to) ==
			thrum__bands_thread_share(b, i, a->from, a->to));
}

/* Bands can be made without what the model is about to forget; the old ones are right until then. */
static void test_ahead(void **state)
{
	struct thrum_event *events = layout_events(12, 60000, 2);
	struct thrum__model *model = layout_model(events, 60000), *ahead;
	struct thrum__bands *bands, *made, *wanted;
	uint32_t first;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	ahead = thrum__model_forget_begin(model, model->end / 2);
	assert_int_equal(thrum__bands_make(ahead, NULL, NULL, &made), 0);
	assert_false(thrum__bands_is_broken(bands));
	first = model->runs.first;
	thrum__model_forget_end(model, ahead);
	assert_true(model->runs.first > first);
	assert_true(thrum__bands_is_broken(bands));
	thrum__bands_rebase(made, model);
	assert_int_equal(thrum__bands_replace(bands, made), 0);
	assert_false(thrum__bands_is_broken(bands));
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &wanted), 0);
	same_bands(bands, wanted);
	thrum__bands_destroy(bands);
	thrum__bands_destroy(wanted);
	thrum__model_destroy(model);
	free(events);
}

/* Bands of a big model wait until it has grown by a part. */
static void test_growth(void **state)
{
	struct thrum_event *events = layout_events(12, 50000, 2);
	struct thrum__model *model = layout_model(events, 30000);
	struct thrum__bands *bands;
	int64_t to;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	to = bands->to;
	assert_int_equal(thrum__model_append(model, events + 30000, 1000), 0);
	assert_true(thrum__bands_is_old(bands));
	assert_int_equal(thrum__bands_update(bands), 0);
	assert_int_equal(bands->made_to, to);
	assert_int_equal(bands->to, model->end);
	assert_int_equal(thrum__model_append(model, events + 31000, 1000), 0);
	assert_int_equal(thrum__bands_update(bands), 0);
	assert_int_equal(bands->made_to, model->end);
	assert_int_equal(bands->to, model->end);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
	free(events);
}

/* Gives the line of a task of a story. */
static struct thrum__bands_line line_of(const struct thrum__bands *bands, uint64_t id)
{
	struct thrum__bands_line line;
	uint32_t group;

	assert_true(thrum__bands_line_of(bands, story_task(bands->model, id), &line, &group));
	return line;
}

/* How many lines of the only group with lines stand in a class, in one column. */
static uint32_t standing(const struct thrum__bands *bands, unsigned class, int64_t from, int64_t to)
{
	struct thrum__bands_window window = {0};
	int64_t times[] = {from, to};
	struct thrum__bands_cell cell;

	assert_int_equal(thrum__bands_window_set(&window, times, 1), 0);
	thrum__bands_cells(bands,
		bands->family.shown_count ? bands->family.shown[0] : bands->family.more[0], class,
		1, &window, &cell);
	thrum__bands_window_finish(&window);
	return cell.lines;
}

/* Pending lines go on and rise as time passes, without bands being made anew, until they end. */
static void test_advance(void **state)
{
	static const char begin[] = "0 create - 9 thread\n"
				    "0 create 9 1 promise\n0 label 1 \"work 1\n"
				    "0 create 9 2 promise\n0 label 2 \"work 2\n"
				    "100000 log 9 \"nothing\n";
	struct thrum_event later[] = {
		{.type = THRUM_EVENT_LOG, .time = 1000000, .text = ""},
		{.type = THRUM_EVENT_FAIL,
			.time = 2000000,
			.task = 9,
			.other = 1,
			.text = "",
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER},
		{.type = THRUM_EVENT_LOG, .time = 9000000, .text = ""},
	};
	struct thrum__model *model = story_model(begin, false);
	struct thrum__bands *bands;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(line_of(bands, 1).end, 100000);
	assert_int_equal(standing(bands, thrum__bands_class(100000), 0, 100001), 2);
	assert_int_equal(thrum__model_append(model, later, 1), 0);
	thrum__bands_advance(bands);
	assert_int_equal(bands->to, 1000000);
	assert_int_equal(line_of(bands, 1).end, 1000000);
	assert_true(line_of(bands, 1).is_pending);
	assert_int_equal(standing(bands, thrum__bands_class(100000), 0, 1000001), 0);
	assert_int_equal(standing(bands, thrum__bands_class(1000000), 900000, 1000001), 2);
	assert_int_equal(thrum__model_append(model, later + 1, 2), 0);
	thrum__bands_advance(bands);
	assert_false(line_of(bands, 1).is_pending);
	assert_true(line_of(bands, 1).is_failed);
	assert_int_equal(line_of(bands, 1).end, 2000000);
	assert_int_equal(line_of(bands, 2).end, 9000000);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

/* The same of a band with thousands of pending lines, of which sums are kept. */
static void test_advance_many(void **state)
{
	enum {
		LINES = 3000
	};
	struct thrum_event *events = calloc(LINES + 1, sizeof *events);
	struct thrum_event later = {.type = THRUM_EVENT_LOG, .time = 20000000, .text = ""};
	struct thrum__model *model;
	struct thrum__bands *bands;
	uint32_t counted = 0;

	(void)state;
	assert_non_null(events);
	for (uint32_t i = 0; i < LINES; i++)
		events[i] = (struct thrum_event){.type = THRUM_EVENT_CREATE,
			.time = i,
			.other = i + 1,
			.kind = THRUM_KIND_PROMISE,
			.text = "work",
			.text_size = 4,
			.flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_HAS_TEXT};
	events[LINES] = (struct thrum_event){.type = THRUM_EVENT_LOG, .time = 10000000, .text = ""};
	model = layout_model(events, LINES + 1);
	free(events);
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(thrum__model_append(model, &later, 1), 0);
	thrum__bands_advance(bands);
	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++)
		counted += standing(bands, class, 15000000, 20000001);
	assert_int_equal(counted, LINES);
	assert_int_equal(standing(bands, thrum__bands_class(20000000), 15000000, 20000001), LINES);
	counted = 0;
	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++)
		counted += standing(bands, class, 21000000, 30000000);
	assert_int_equal(counted, 0);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

/* Pending lines are alive up to the end of their trace, though the window goes on. */
static void test_alive_end(void **state)
{
	struct thrum__model *model = story_model("0 create - 9 thread\n"
						 "0 create 9 1 promise\n0 label 1 \"work 1\n"
						 "100000 log 9 \"nothing\n",
		false);
	struct thrum__bands_window window = {0};
	int64_t times[] = {0, 50000, 100000, 150000, 200000};
	struct thrum__bands *bands;
	uint32_t alive[4];

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(thrum__bands_window_set(&window, times, 4), 0);
	thrum__bands_alive(bands, thrum__family_group(&bands->family, story_task(model, 1)),
		&window, alive);
	assert_int_equal(alive[0], 1);
	assert_int_equal(alive[1], 1);
	assert_int_equal(alive[2], 0);
	assert_int_equal(alive[3], 0);
	thrum__bands_window_finish(&window);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

static void test_empty(void **state)
{
	struct thrum_event event = {.type = THRUM_EVENT_LOG, .text = ""};
	struct thrum__model *model = layout_model(&event, 1);
	struct thrum__bands_window window = {0};
	int64_t times[] = {0, 1};
	struct thrum__bands_hole hole;
	struct thrum__bands_run run;
	struct thrum__bands *bands;
	float share;

	(void)state;
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(bands->family.shown_count, 0);
	assert_int_equal(bands->queue_count, 0);
	assert_int_equal(thrum__bands_window_set(&window, times, 1), 0);
	for (uint32_t i = 0; i < bands->thread_count; i++)
		thrum__bands_thread_shares(bands, i, &window, &share);
	assert_int_equal(thrum__bands_holes(bands, 0, 1, 1, &hole, 1), 0);
	assert_int_equal(thrum__bands_longest_runs(bands, THRUM__NONE, 0, 1, 1, &run, 1), 0);
	assert_int_equal(thrum__bands_exception(bands, THRUM__NONE, THRUM__NONE, 0, 1),
		THRUM__NONE);
	thrum__bands_window_finish(&window);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_classes_together),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_many_lanes),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_last_moment),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_advance),
		cmocka_unit_test(test_advance_many),
		cmocka_unit_test(test_alive_end),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
