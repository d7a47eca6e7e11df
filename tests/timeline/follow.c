/* SPDX-License-Identifier: ISC */
/* An index that follows a trace piece by piece, compared with one made at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "laid_out.h"
#include "rounds.h"

struct follower {
	struct thrum__model *model;
	struct thrum__layout *layout;
	struct thrum__index *index, *fresh;
	uint64_t random;
};

static void begin(struct follower *f, uint64_t seed)
{
	f->random = seed;
	f->model = layout_model(&(struct thrum_event){0}, 0);
	f->layout = layout_of(f->model, seed % 2);
	assert_int_equal(thrum__index_create(f->model, f->layout, &f->index), 0);
}

static void finish(struct follower *f)
{
	thrum__index_destroy(f->index);
	thrum__layout_destroy(f->layout);
	thrum__model_destroy(f->model);
}

/* A random time that is not forgotten, or a little beyond the trace. */
static int64_t random_time(struct follower *f)
{
	int64_t first = f->model->forgotten;

	return first + layout_random(&f->random, (uint32_t)(f->model->end - first) + 20);
}

/* ---- The same answers ------------------------------------------------------------------------ */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Compares all but the parts of items before model->forgotten, which may be cut off differently. */
static void compare_walk(struct follower *f, int kind, uint32_t track, int64_t from, int64_t to,
	int64_t gap)
{
	struct thrum__index_walk walk, other;
	struct thrum__index_stretch a, b;
	bool more;

	thrum__index_walk_begin(&walk, f->index, kind, track, 1, from, to, gap);
	thrum__index_walk_begin(&other, f->fresh, kind, track, 1, from, to, gap);
	do {
		more = thrum__index_walk_next(&other, &b);
		assert_int_equal(thrum__index_walk_next(&walk, &a), more);
		if (!more)
			break;
		assert_int_equal(later(a.start, from), later(b.start, from));
		assert_int_equal(a.end, b.end);
		assert_int_equal(a.count, b.count);
		assert_int_equal(a.item, b.item);
		if (b.start >= f->model->forgotten)
			assert_int_equal(a.busy, b.busy);
	} while (more);
}

static void compare_points(struct follower *f, int kind, uint32_t track, int64_t time)
{
	size_t end, other_end;
	size_t at = thrum__index_seek(f->index, kind, track, time, &end);
	size_t other = thrum__index_seek(f->fresh, kind, track, time, &other_end);

	assert_int_equal(end - at, other_end - other);
	for (; at < end; at++, other++) {
		assert_int_equal(thrum__index_item(f->index, kind, at),
			thrum__index_item(f->fresh, kind, other));
		assert_int_equal(thrum__index_time(f->index, kind, at),
			thrum__index_time(f->fresh, kind, other));
	}
}

struct gaps {
	int64_t times[64];
	unsigned count;
};

static bool note_gap(void *context, int64_t start, int64_t end)
{
	struct gaps *gaps = context;

	gaps->times[gaps->count++] = start;
	gaps->times[gaps->count++] = end;
	return gaps->count < 64;
}

static void compare_all_tracks(struct follower *f)
{
	int64_t from = random_time(f), to = random_time(f), gap = layout_random(&f->random, 100);
	struct gaps a = {.count = 0}, b = {.count = 0};

	assert_int_equal(thrum__index_alive(f->index, from), thrum__index_alive(f->fresh, from));
	assert_int_equal(thrum__index_busy(f->index, from, to),
		thrum__index_busy(f->fresh, from, to));
	thrum__index_idle(f->index, from, to, gap, note_gap, &a);
	thrum__index_idle(f->fresh, from, to, gap, note_gap, &b);
	assert_int_equal(a.count, b.count);
	assert_memory_equal(a.times, b.times, a.count * sizeof(*a.times));
	for (uint32_t track = 0, other = 0; track < f->layout->tracks; track++, other++) {
		track = thrum__index_next_track(f->index, track, from, to);
		other = thrum__index_next_track(f->fresh, other, from, to);
		assert_int_equal(track, other);
	}
	for (uint32_t track = 0; track < f->layout->tracks; track++)
		assert_int_equal(thrum__index_is_loud(f->index, track, from, to),
			thrum__index_is_loud(f->fresh, track, from, to));
}

/* Checks walks over blocks: no item is left out, and the units that they name exist. */
static void check_blocks(struct follower *f, int kind)
{
	uint32_t shift = layout_random(&f->random, 2) ? 4 : 8;
	uint32_t track = layout_random(&f->random, f->layout->tracks) >> shift << shift;
	struct thrum__index_stretch *all = calloc(20000, sizeof(*all)), stretch;
	struct thrum__index_walk walk;
	size_t count = 0;

	if (track + (1u << shift) > f->layout->tracks) {
		free(all);
		return;
	}
	thrum__index_walk_begin(&walk, f->index, kind, track, 1u << shift, f->model->forgotten,
		INT64_MAX, 1);
	while (count < 20000 && thrum__index_walk_next(&walk, &all[count])) {
		assert_true(count == 0 || all[count].start > all[count - 1].end);
		assert_true(all[count].end >= all[count].start && all[count].count > 0);
		if (kind == THRUM__INDEX_UNITS)
			assert_int_not_equal(f->layout->units[all[count].item].task, THRUM__NONE);
		count++;
	}
	for (uint32_t end = track + (1u << shift); track < end; track++) {
		size_t at = 0;

		thrum__index_walk_begin(&walk, f->fresh, kind, track, 1, f->model->forgotten,
			INT64_MAX, 0);
		while (thrum__index_walk_next(&walk, &stretch)) {
			while (at < count && all[at].end < stretch.start)
				at++;
			assert_true(at < count);
			assert_true(all[at].start <= later(stretch.start, f->model->forgotten));
			assert_true(all[at].end >= stretch.end);
		}
	}
	free(all);
}

static void compare(struct follower *f)
{
	assert_int_equal(thrum__index_create(f->model, f->layout, &f->fresh), 0);
	for (int kind = 0; kind < THRUM__INDEX_KINDS; kind++) {
		for (uint32_t track = 0; track < f->layout->tracks; track++)
			compare_points(f, kind, track, f->model->forgotten);
		for (int i = 0; i < 20 && f->layout->tracks > 0; i++)
			compare_walk(f, kind, layout_random(&f->random, f->layout->tracks),
				random_time(f), random_time(f),
				layout_random(&f->random, 1u << layout_random(&f->random, 12)));
		for (uint32_t track = 0; track < f->layout->tracks; track++)
			compare_walk(f, kind, track, f->model->forgotten, INT64_MAX, 0);
		if (f->layout->tracks > 0)
			check_blocks(f, kind);
	}
	for (int i = 0; i < 20; i++)
		compare_all_tracks(f);
	thrum__index_destroy(f->fresh);
}

/* ---- Stories --------------------------------------------------------------------------------- */

static void step(struct follower *f, const struct thrum_event *events, uint32_t count)
{
	assert_int_equal(thrum__model_append(f->model, events, count), 0);
	assert_int_equal(thrum__layout_update(f->layout, f->model, NULL, NULL), 0);
	assert_int_equal(thrum__follow_update(f->index, f->model, f->layout), 0);
}

static void follow(uint64_t seed, uint32_t count, uint32_t most, unsigned compare_each)
{
	struct thrum_event *events = layout_events(seed, count, 1 + seed % 3);
	struct follower f;
	uint32_t at = 0, piece;

	begin(&f, seed);
	/* Some events come late. */
	for (uint32_t i = 0; i < count; i++)
		if (seed % 4 < 2 && layout_random(&f.random, 50) == 0)
			events[i].time -= events[i].time / (1 + layout_random(&f.random, 100));
	for (unsigned i = 0; at < count; at += piece, i++) {
		piece = 1 + layout_random(&f.random, most);
		piece = piece < count - at ? piece : count - at;
		step(&f, events + at, piece);
		if (i % compare_each == 0)
			compare(&f);
	}
	compare(&f);
	finish(&f);
	free(events);
}

static void pieces_are_as_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(60, 18); seed++)
		follow(seed, 1500, 1u << seed % 9, 7);
}

static void many_tracks_are_followed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(4, 2); seed++)
		follow(seed, 20000, 3000, 1);
}

static void forgotten_items_go(void **state)
{
	uint32_t count = 60000, piece = 700;

	(void)state;
	for (uint64_t seed = 1; seed <= rounds(6, 3); seed++) {
		struct thrum_event *events = layout_events(seed, count, 1 + seed % 3);
		struct follower f;

		begin(&f, seed);
		for (uint32_t at = 0; at + piece < count; at += piece) {
			if (at > 10 * piece)
				thrum__model_forget(f.model, events[at - 10 * piece].time);
			step(&f, events + at, piece);
			if (at / piece % 5 == 0)
				compare(&f);
		}
		finish(&f);
		free(events);
	}
}

static void skipping_an_update_is_noticed(void **state)
{
	struct thrum_event *events = layout_events(3, 1000, 2);
	struct follower f;

	(void)state;
	begin(&f, 3);
	step(&f, events, 300);
	assert_int_equal(thrum__model_append(f.model, events + 300, 300), 0);
	assert_int_equal(thrum__layout_update(f.layout, f.model, NULL, NULL), 0);
	step(&f, events + 600, 400);
	compare(&f);
	finish(&f);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_as_the_whole),
		cmocka_unit_test(many_tracks_are_followed),
		cmocka_unit_test(forgotten_items_go),
		cmocka_unit_test(skipping_an_update_is_noticed),
	};

	return cmocka_run_group_tests_name("tracks_follow", tests, NULL, NULL);
}
