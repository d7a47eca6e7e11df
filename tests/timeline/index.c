/* SPDX-License-Identifier: ISC */
/* The index, compared with the same answers computed naively from the model and the layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "laid_out.h"
#include "story.h"

struct case_ {
	struct thrum_event *events;
	struct thrum__model *model;
	struct thrum__layout *layout;
	struct thrum__index *index;
};

static void init(struct case_ *c, uint64_t seed, uint32_t count)
{
	c->events = layout_events(seed, count, 1 + seed % 3);
	c->model = layout_model(c->events, count);
	c->layout = layout_of(c->model, true);
	assert_int_equal(thrum__index_create(c->model, c->layout, &c->index), 0);
}

static void finish(struct case_ *c)
{
	thrum__index_destroy(c->index);
	thrum__layout_destroy(c->layout);
	thrum__model_destroy(c->model);
	free(c->events);
}

static uint32_t track_of(const struct case_ *c, uint32_t task)
{
	return task < c->layout->task_count
		? thrum__layout_track(c->layout, thrum__layout_unit(c->layout, task))
		: THRUM__NONE;
}

/* ---- Naive answers --------------------------------------------------------------------------- */

struct item {
	int64_t start, end;
	uint32_t item;
};

static int by_start(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1) : x->item < y->item ? -1 : 1;
}

/* Gives the items of a track, sorted and cut where they overlap; returns how many they are. */
static size_t items_of(const struct case_ *c, int kind, uint32_t track, struct item *to)
{
	const struct thrum__model *m = c->model;
	size_t count = 0;

	if (kind == THRUM__INDEX_UNITS)
		for (uint32_t i = 0; i < c->layout->unit_count; i++) {
			const struct thrum__layout_unit *u = &c->layout->units[i];

			if (u->task != THRUM__NONE && thrum__layout_track(c->layout, i) == track)
				to[count++] = (struct item){u->start,
					thrum__layout_lasts(c->layout, i) ? m->end : u->end, i};
		}
	for (uint32_t i = 0; i < m->runs.count && kind == THRUM__INDEX_RUNS; i++) {
		int64_t end = THRUM__RUN(m, i, end);

		if (track_of(c, THRUM__RUN(m, i, task)) == track)
			to[count++] = (struct item){THRUM__RUN(m, i, start),
				end == THRUM__OPEN ? m->end : end, i};
	}
	for (uint32_t i = 0; i < m->edges.count && kind == THRUM__INDEX_EDGES; i++)
		if (track_of(c, THRUM__EDGE(m, i, from)) == track ||
			track_of(c, THRUM__EDGE(m, i, to)) == track)
			to[count++] = (struct item){THRUM__EDGE(m, i, time),
				THRUM__EDGE(m, i, time), i};
	for (uint32_t i = 0; i < m->notes.count && kind == THRUM__INDEX_NOTES; i++)
		if (track_of(c, THRUM__NOTE(m, i, task)) == track)
			to[count++] = (struct item){THRUM__NOTE(m, i, time),
				THRUM__NOTE(m, i, time), i};
	for (uint32_t i = 0; i < m->tasks.count && kind == THRUM__INDEX_FAILURES; i++)
		if (THRUM__TASK(m, i, state) == THRUM__STATE_FAILED && track_of(c, i) == track)
			to[count++] = (struct item){THRUM__TASK(m, i, end), THRUM__TASK(m, i, end),
				i};
	qsort(to, count, sizeof(*to), by_start);
	for (size_t i = 1; i < count; i++) {
		if (to[i].start < to[i - 1].end)
			to[i].start = to[i - 1].end;
		if (to[i].end < to[i].start)
			to[i].end = to[i].start;
	}
	return count;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static void check_walk(const struct case_ *c, int kind, uint32_t track, int64_t from, int64_t to,
	int64_t gap, struct item *items)
{
	size_t count = items_of(c, kind, track, items), i = 0;
	struct thrum__index_walk walk;
	struct thrum__index_stretch stretch;

	while (i < count && items[i].end < from)
		i++;
	thrum__index_walk_begin(&walk, c->index, kind, track, 1, from, to, gap);
	while (i < count && items[i].start <= to) {
		struct item first = items[i];
		int64_t end = first.end, busy = end - first.start;
		uint64_t seen = 1;

		for (i++; i < count && items[i].start <= to && items[i].start - end < gap; i++) {
			end = items[i].end;
			busy += end - items[i].start;
			seen++;
		}
		assert_true(thrum__index_walk_next(&walk, &stretch));
		assert_int_equal(stretch.start, first.start);
		assert_int_equal(stretch.end, end);
		assert_int_equal(stretch.count, seen);
		assert_int_equal(stretch.busy, busy);
		assert_int_equal(stretch.item, first.item);
	}
	assert_false(thrum__index_walk_next(&walk, &stretch));
}

static void walks_find_all_items(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t count = seed % 8 ? 800 : 8000;
		struct case_ c;
		uint64_t random = seed;

		init(&c, seed, count);
		struct item *items = calloc(count + 1, sizeof(*items));
		uint32_t span = (uint32_t)c.model->end + 1;

		assert_non_null(items);
		for (int i = 0; i < 100; i++) {
			int64_t from = layout_random(&random, span);
			int64_t to = i % 10 ? from + layout_random(&random, span / 3) : span;

			if (i % 10 == 0)
				from = -1;
			check_walk(&c, layout_random(&random, THRUM__INDEX_KINDS),
				layout_random(&random, c.layout->tracks), from, to,
				layout_random(&random, 1u << layout_random(&random, 16)), items);
		}
		free(items);
		finish(&c);
	}
}

/*
 * Walks over many tracks at once: each item lies within a stretch, stretches aren't empty and are
 * in order, and no item is counted twice.
 */
static void check_block(const struct case_ *c, int kind, uint32_t track, uint32_t tracks,
	struct item *items)
{
	struct thrum__index_walk walk;
	struct thrum__index_stretch stretch;
	uint64_t seen = 0, there = 0;
	int64_t last = INT64_MIN;
	struct thrum__index_stretch *all = calloc(20000, sizeof(*all));
	size_t stretches = 0;

	assert_non_null(all);
	thrum__index_walk_begin(&walk, c->index, kind, track, tracks, INT64_MIN, INT64_MAX, 1);
	while (thrum__index_walk_next(&walk, &stretch)) {
		assert_true(stretch.start > last || last == INT64_MIN);
		assert_true(stretch.end >= stretch.start);
		assert_true(stretch.count > 0);
		assert_in_range(stretch.busy, 0, stretch.end - stretch.start + 1);
		last = stretch.end;
		seen += stretch.count;
		all[stretches++] = stretch;
		assert_true(stretches < 20000);
	}
	for (uint32_t i = track; i < track + tracks; i++) {
		size_t count = items_of(c, kind, i, items), k = 0;

		there += count;
		for (size_t n = 0; n < count; n++) {
			while (k < stretches && all[k].end < items[n].start)
				k++;
			assert_true(k < stretches);
			assert_true(all[k].start <= items[n].start);
			assert_true(all[k].end >= items[n].end);
		}
	}
	assert_int_equal(seen, there);
	free(all);
}

static void blocks_leave_nothing_out(void **state)
{
	uint32_t tasks = 20000, count = 0;
	struct thrum_event *events = calloc(4 * tasks, sizeof(*events));
	uint64_t random = 7;
	struct case_ c = {.events = events};

	(void)state;
	assert_non_null(events);
	/* All tasks are alive to the end: so there are as many tracks. */
	for (uint32_t i = 1; i <= tasks; i++) {
		int64_t time = 100ll * i;
		struct thrum_event e = {.type = THRUM_EVENT_CREATE,
			.time = time,
			.task = 1 + layout_random(&random, i),
			.other = i,
			.kind = THRUM_KIND_PROMISE,
			.text = "",
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER};

		if (i == 1)
			e.flags = THRUM_EVENT_HAS_OTHER;
		events[count++] = e;
		e.type = THRUM_EVENT_SHOULD_RESOLVE;
		e.task = i;
		e.flags = THRUM_EVENT_HAS_TASK;
		events[count++] = e;
		e.type = THRUM_EVENT_SWITCH;
		e.time = time + 1 + layout_random(&random, 98);
		events[count++] = e;
	}
	c.model = layout_model(events, count);
	c.layout = layout_of(c.model, true);
	assert_int_equal(thrum__index_create(c.model, c.layout, &c.index), 0);
	assert_true(c.layout->tracks > 4096);
	struct item *items = calloc(count, sizeof(*items));

	for (int kind = 0; kind <= THRUM__INDEX_RUNS; kind++) {
		check_block(&c, kind, 0, 7, items);
		check_block(&c, kind, 100, 15, items);
		check_block(&c, kind, 16, 16, items);
		check_block(&c, kind, 256, 256, items);
		check_block(&c, kind, 512, 512, items);
		check_block(&c, kind, 4096, 4096, items);
	}
	/* Neighbouring walks that begin anywhere have all items together. */
	uint64_t seen = 0;

	for (uint32_t track = 5; track < c.layout->tracks; track += 50) {
		struct thrum__index_walk walk;
		struct thrum__index_stretch stretch;

		thrum__index_walk_begin(&walk, c.index, THRUM__INDEX_UNITS, track, 50, INT64_MIN,
			INT64_MAX, 1);
		while (thrum__index_walk_next(&walk, &stretch))
			seen += stretch.count;
	}
	assert_int_equal(seen, c.layout->unit_count);
	free(items);
	finish(&c);
}

/* ---- All tracks ------------------------------------------------------------------------------ */

struct idle {
	const uint8_t *is_busy; /* by ns: 1 busy, 2 a run begins or ends */
	int64_t last, sum, gap;
	int64_t from, to;
};

static bool check_gap(void *context, int64_t start, int64_t end)
{
	struct idle *idle = context;

	assert_true(start >= idle->last);
	assert_true(end - start >= idle->gap);
	for (int64_t t = start; t < end; t++)
		assert_false(t >= 0 && idle->is_busy[t] & 1);
	assert_true(start == idle->from || idle->is_busy[start] & 2);
	assert_true(end == idle->to || idle->is_busy[end] & 2);
	idle->last = end;
	idle->sum += end - start;
	return true;
}

static void idle_and_busy_are_each_other(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct case_ c;
		uint64_t random = seed;

		init(&c, seed, 500);
		uint32_t span = (uint32_t)c.model->end + 1;
		uint8_t *is_busy = calloc(span + 1, 1);

		for (uint32_t i = 0; i < c.model->runs.count; i++) {
			int64_t end = THRUM__RUN(c.model, i, end);

			if (end == THRUM__OPEN)
				end = c.model->end;
			for (int64_t t = THRUM__RUN(c.model, i, start); t < end; t++)
				is_busy[t] |= 1;
			is_busy[THRUM__RUN(c.model, i, start)] |= 2;
			is_busy[end] |= 2;
		}
		for (int i = 0; i < 50; i++) {
			int64_t from = layout_random(&random, span), busy = 0;
			int64_t to = from + layout_random(&random, span - (uint32_t)from);
			struct idle idle = {is_busy, INT64_MIN, 0, 1, from, to};

			for (int64_t t = from; t < to; t++)
				busy += is_busy[t] & 1;
			assert_int_equal(thrum__index_busy(c.index, from, to), busy);
			thrum__index_idle(c.index, from, to, 1, check_gap, &idle);
			assert_int_equal(idle.sum, to - from - busy);
			idle = (struct idle){is_busy, INT64_MIN, 0, 100, from, to};
			thrum__index_idle(c.index, from, to, 100, check_gap, &idle);
		}
		free(is_busy);
		finish(&c);
	}
}

static void the_alive_are_counted(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct case_ c;
		struct item items[600];
		uint64_t random = seed;

		init(&c, seed, 500);
		for (int i = 0; i < 50; i++) {
			int64_t time = layout_random(&random, (uint32_t)c.model->end + 1);
			uint32_t alive = 0;

			for (uint32_t track = 0; track < c.layout->tracks; track++)
				for (size_t k = items_of(&c, THRUM__INDEX_UNITS, track, items);
					k--;)
					alive += items[k].start <= time && items[k].end >= time;
			assert_int_equal(thrum__index_alive(c.index, time), alive);
		}
		finish(&c);
	}
}

static void quiet_tracks_are_quiet(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct case_ c;
		struct item items[600];
		uint64_t random = seed;

		init(&c, seed, 500);
		for (int i = 0; i < 50; i++) {
			int64_t from = layout_random(&random, (uint32_t)c.model->end + 1);
			int64_t to = from + layout_random(&random, 300);
			uint32_t next = 0;

			for (uint32_t track = 0; track < c.layout->tracks; track++) {
				size_t count = items_of(&c, THRUM__INDEX_UNITS, track, items);
				bool is_used = false, happens = false;

				for (size_t k = 0; k < count; k++)
					is_used |= items[k].start <= to && items[k].end >= from;
				if (is_used) {
					assert_int_equal(thrum__index_next_track(c.index, next,
								 from, to),
						track);
					next = track + 1;
				}
				for (int kind = THRUM__INDEX_RUNS; kind < THRUM__INDEX_KINDS;
					kind++)
					for (size_t k = items_of(&c, kind, track, items); k--;)
						happens |= is_used && items[k].start <= to &&
							items[k].end >= from;
				if (happens)
					assert_true(thrum__index_is_loud(c.index, track, from, to));
				if (!is_used)
					assert_false(
						thrum__index_is_loud(c.index, track, from, to));
			}
			assert_int_equal(thrum__index_next_track(c.index, next, from, to),
				c.layout->tracks);
		}
		finish(&c);
	}
}

static void points_are_found(void **state)
{
	struct case_ c;
	struct item items[900];
	size_t end;

	(void)state;
	init(&c, 3, 800);
	for (uint32_t track = 0; track < c.layout->tracks; track++) {
		size_t count = items_of(&c, THRUM__INDEX_EDGES, track, items);
		size_t first = thrum__index_seek(c.index, THRUM__INDEX_EDGES, track, INT64_MIN,
			&end);

		assert_int_equal(end - first, count);
		for (size_t i = 0; i < count; i++) {
			size_t at = thrum__index_seek(c.index, THRUM__INDEX_EDGES, track,
				items[i].start, &end);

			assert_int_equal(thrum__index_item(c.index, THRUM__INDEX_EDGES, first + i),
				items[i].item);
			assert_int_equal(thrum__index_time(c.index, THRUM__INDEX_EDGES, at),
				items[i].start);
			assert_true(at == first ||
				thrum__index_time(c.index, THRUM__INDEX_EDGES, at - 1) <
					items[i].start);
		}
	}
	finish(&c);
}

static void an_empty_model_has_an_empty_index(void **state)
{
	struct case_ c;
	struct thrum__index_walk walk;
	struct thrum__index_stretch stretch;
	struct idle idle = {NULL, INT64_MIN, 0, 10, 0, 100};
	uint8_t is_busy[101] = {0};

	(void)state;
	init(&c, 1, 0);
	idle.is_busy = is_busy;
	thrum__index_walk_begin(&walk, c.index, THRUM__INDEX_RUNS, 0, 1, 0, 100, 1);
	assert_false(thrum__index_walk_next(&walk, &stretch));
	assert_int_equal(thrum__index_alive(c.index, 0), 0);
	assert_int_equal(thrum__index_busy(c.index, 0, 100), 0);
	thrum__index_idle(c.index, 0, 100, 10, check_gap, &idle);
	assert_int_equal(idle.sum, 100);
	assert_true(thrum__index_memory(c.index) > 0);
	finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_find_all_items),
		cmocka_unit_test(blocks_leave_nothing_out),
		cmocka_unit_test(idle_and_busy_are_each_other),
		cmocka_unit_test(the_alive_are_counted),
		cmocka_unit_test(quiet_tracks_are_quiet),
		cmocka_unit_test(points_are_found),
		cmocka_unit_test(an_empty_model_has_an_empty_index),
	};

	return cmocka_run_group_tests_name("tracks", tests, NULL, NULL);
}
