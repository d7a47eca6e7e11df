/* SPDX-License-Identifier: ISC */
/* The layout: rules that hold for any trace, and rules that make a picture calm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "laid_out.h"
#include "story.h"

static uint32_t track_of(const struct thrum__layout *layout, const struct thrum__model *model,
	uint64_t id)
{
	return thrum__layout_track(layout, thrum__layout_unit(layout, story_task(model, id)));
}

/* ---- Any trace ------------------------------------------------------------------------------- */

/* Checks naively, beside thrum__layout_is_valid, that no two units of a track overlap. */
static void assert_no_overlap(const struct thrum__layout *layout)
{
	for (uint32_t i = 0; i < layout->unit_count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct thrum__layout_unit *a = &layout->units[i],
							*b = &layout->units[k];

			if (a->task == THRUM__NONE || b->task == THRUM__NONE ||
				thrum__layout_track(layout, i) != thrum__layout_track(layout, k))
				continue;
			assert_true(a->end < b->start || b->end < a->start);
		}
}

static void random_traces_are_laid_out(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint32_t count = seed % 10 ? 100 + (uint32_t)seed : 3000;
		struct thrum_event *events = layout_events(seed, count, 1 + seed % 4);
		struct thrum__model *model = layout_model(events, count);
		struct thrum__layout *layout = layout_of(model, seed % 2);

		if (count < 500)
			assert_no_overlap(layout);
		for (uint32_t i = 0; i < layout->unit_count; i++)
			assert_int_not_equal(layout->units[i].track, THRUM__NONE);
		assert_int_equal(layout->task_count, model->tasks.count);
		thrum__layout_destroy(layout);
		thrum__model_destroy(model);
		free(events);
	}
}

static unsigned long children, children_above;

static void lay_out_real(const char *name, const struct thrum__model *model)
{
	struct thrum__layout *layout = layout_of(model, true);
	uint32_t above, median = layout_median_distance(layout, &above);

	printf("%s: %u units in %u rows, children %u below their parents, %u of them above\n", name,
		(unsigned)layout->unit_count, (unsigned)layout->tracks, (unsigned)median,
		(unsigned)above);
	assert_in_range(median, 0, 8);
	children += layout->unit_count;
	children_above += above;
	thrum__layout_destroy(layout);
}

static void children_of_real_traces_lie_near_below_their_parents(void **state)
{
	(void)state;
	if (layout_each_trace(lay_out_real) == 0) {
		printf("skipped: no real traces (THRUM_MIRAGE_DATA)\n");
		skip();
	}
	assert_true(children_above * 4 < children);
}

/* ---- Calm pictures --------------------------------------------------------------------------- */

static void a_child_lies_below_its_parent(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "10 create 1 2 promise\n"
						 "20 create 1 3 promise\n"
						 "30 create 2 4 promise\n"
						 "90 resolve 1 2\n"
						 "91 resolve 1 3\n"
						 "92 resolve 1 4\n"
						 "100 resolve 1 1\n",
		true);
	struct thrum__layout *layout = layout_of(model, true);

	(void)state;
	assert_int_equal(track_of(layout, model, 1), 0);
	/* The later one is nearer: so the creation of 2 passes no task that is alive. */
	assert_int_equal(track_of(layout, model, 3), 1);
	assert_int_equal(track_of(layout, model, 2), 2);
	assert_int_equal(track_of(layout, model, 4), 3);
	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
}

static void a_chain_is_one_unit(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "10 create 1 2 bind\n"
						 "20 create 1 3 promise\n"
						 "25 create 1 5 promise\n"
						 "30 become 2 3\n"
						 "40 become 5 3\n"
						 "60 resolve 1 3\n"
						 "70 create 1 4 promise\n",
		true);
	struct thrum__layout *layout = layout_of(model, true);
	uint32_t first = story_task(model, 2), second = story_task(model, 3);
	const struct thrum__layout_unit *unit = &layout->units[thrum__layout_unit(layout, first)];

	(void)state;
	assert_int_equal(thrum__layout_unit(layout, first), thrum__layout_unit(layout, second));
	assert_int_equal(unit->task, first);
	assert_int_equal(unit->start, 10);
	assert_int_equal(unit->end, 60);
	assert_int_equal(thrum__layout_next(layout, model, first), second);
	assert_int_equal(thrum__layout_next(layout, model, second), THRUM__NONE);
	/* 3 belongs to the first task that became it. */
	assert_int_equal(thrum__layout_next(layout, model, story_task(model, 5)), THRUM__NONE);
	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
}

/* The tracks of a loop whose iterations create each other; each ends `overlap` ns after that. */
static uint32_t tracks_of_loop(uint32_t turns, int64_t overlap)
{
	struct thrum_event *events = calloc(2 * turns + 1, sizeof(*events));
	size_t count = 0;

	assert_non_null(events);
	for (uint32_t i = 0; i < turns; i++) {
		events[count++] = (struct thrum_event){.type = THRUM_EVENT_CREATE,
			.time = 1000ll * i,
			.task = i,
			.other = i + 1,
			.kind = THRUM_KIND_BIND,
			.text = "",
			.flags = THRUM_EVENT_HAS_OTHER | (i ? THRUM_EVENT_HAS_TASK : 0)};
		if (i > 0)
			events[count++] = (struct thrum_event){.type = THRUM_EVENT_RESOLVE,
				.time = 1000ll * i + overlap,
				.task = i,
				.other = i,
				.text = "",
				.flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_HAS_TASK};
	}
	struct thrum__model *model = layout_model(events, count);
	struct thrum__layout *layout = layout_of(model, false);
	uint32_t tracks = layout->tracks;

	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
	free(events);
	return tracks;
}

static void loops_are_no_staircase(void **state)
{
	(void)state;
	assert_in_range(tracks_of_loop(1000, 0), 2, 4);
	assert_in_range(tracks_of_loop(1000, 1), 2, 4);
	assert_in_range(tracks_of_loop(1000, 50), 2, 4);
	assert_in_range(tracks_of_loop(100000, 1), 2, 4);
}

static void families_stay_with_their_lane(void **state)
{
	struct thrum__model *model = story_model("0 @0 create - 1 thread\n"
						 "0 @1 create - 2 thread\n"
						 "0 @0 switch 1\n"
						 "0 @1 switch 2\n"
						 "5 @0 create 1 3 promise\n"
						 "6 @1 create 2 4 promise\n"
						 "7 @1 create 3 5 promise\n"
						 "9 @1 resolve 5 5\n",
		true);
	struct thrum__layout *layout = layout_of(model, true);

	(void)state;
	assert_int_equal(layout->group_count, 2);
	assert_int_equal(layout->groups[0].first_track, 0);
	assert_int_equal(layout->groups[1].first_track, layout->groups[0].tracks);
	for (uint64_t id = 1; id <= 5; id++) {
		uint32_t unit = thrum__layout_unit(layout, story_task(model, id));
		uint32_t lane = layout->groups[layout->units[unit].group].lane;

		/* 5 was created on lane 1 by 3, whose parent is on lane 0. */
		assert_int_equal(lane, id == 2 || id == 4);
	}
	assert_int_equal(track_of(layout, model, 1), 0);
	assert_int_equal(track_of(layout, model, 2), layout->groups[1].first_track);
	thrum__layout_destroy(layout);
	layout = layout_of(model, false);
	assert_int_equal(layout->group_count, 1);
	assert_int_equal(layout->groups[0].lane, THRUM__NONE);
	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
}

/* ---- Growing --------------------------------------------------------------------------------- */

struct before {
	uint32_t *track, *task;
	uint32_t count, room;
};

static void remember(struct before *before, const struct thrum__layout *layout)
{
	before->count = layout->unit_count;
	before->track = realloc(before->track, (before->count + 1u) * sizeof(uint32_t));
	before->task = realloc(before->task, (before->count + 1u) * sizeof(uint32_t));
	for (uint32_t i = 0; i < before->count; i++) {
		before->track[i] = layout->units[i].track;
		before->task[i] = layout->units[i].task;
	}
}

/* Counts the units that had a track and have another one, or are part of a unit on another one. */
static uint32_t moved(const struct before *before, const struct thrum__layout *layout)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < before->count; i++)
		count += before->task[i] == layout->units[i].task &&
			before->track[i] != layout->units[i].track;
	return count;
}

static void what_has_a_track_keeps_it(void **state)
{
	uint64_t moves = 0, units = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint32_t count = 2000, at = 0, step;
		uint64_t random = seed;
		struct thrum_event *events = layout_events(seed, count, 1 + seed % 3);
		struct thrum__model *model = layout_model(events, 0);
		struct thrum__layout *layout = layout_of(model, true);
		struct before before = {0};

		for (; at < count; at += step) {
			step = 1 + layout_random(&random, 100);
			step = step < count - at ? step : count - at;
			assert_int_equal(thrum__model_append(model, events + at, step), 0);
			remember(&before, layout);
			assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
			assert_true(thrum__layout_is_valid(layout, model));
			moves += moved(&before, layout);
		}
		units += layout->unit_count;
		/* The chains are those of a layout made at once, if no task ends twice. */
		struct thrum__layout *once = layout_of(model, true);

		for (uint32_t task = 0; task < model->tasks.count && seed % 2 == 0; task++)
			assert_int_equal(thrum__layout_next(layout, model, task) == THRUM__NONE,
				thrum__layout_next(once, model, task) == THRUM__NONE);
		thrum__layout_destroy(once);
		thrum__layout_destroy(layout);
		thrum__model_destroy(model);
		free(before.track);
		free(before.task);
		free(events);
	}
	printf("%llu of %llu units moved when something grew into them\n",
		(unsigned long long)moves, (unsigned long long)units);
	/* Random tasks fall silent and are heard of again more often than real ones. */
	assert_true(moves * 5 < units);
}

static void a_chain_that_grows_keeps_its_track(void **state)
{
	struct story story;

	(void)state;
	story_init(&story,
		"0 create - 1 thread\n"
		"10 create 1 2 bind\n"
		"20 create 1 3 promise\n"
		"20 label 2 \"alive\n"
		"30 become 2 3\n"
		"60 resolve 1 3\n");
	struct thrum__model *model = layout_model(story.events, 4);
	struct thrum__layout *layout = layout_of(model, true);
	uint32_t track = track_of(layout, model, 2);

	assert_int_not_equal(track, track_of(layout, model, 3));
	assert_int_equal(thrum__model_append(model, story.events + 4, 2), 0);
	assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
	assert_true(thrum__layout_is_valid(layout, model));
	assert_int_equal(track_of(layout, model, 2), track);
	assert_int_equal(track_of(layout, model, 3), track);
	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
	story_finish(&story);
}

static void what_is_forgotten_leaves(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint32_t count = 60000;
		struct thrum_event *events = layout_events(seed, count, 2);
		struct thrum__model *model = layout_model(events, count / 2);
		struct thrum__layout *layout = layout_of(model, true);

		thrum__model_forget(model, events[count / 3].time);
		assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
		assert_true(thrum__layout_is_valid(layout, model));
		assert_int_equal(thrum__model_append(model, events + count / 2, count / 2), 0);
		thrum__model_forget(model, events[count * 2 / 3].time);
		assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
		assert_true(thrum__layout_is_valid(layout, model));
		for (uint32_t task = 0; task < model->tasks.count; task++)
			if (!thrum__model_has_row(&model->tasks, task))
				assert_int_equal(thrum__layout_unit(layout, task), THRUM__NONE);
		thrum__layout_destroy(layout);
		thrum__model_destroy(model);
		free(events);
	}
}

/* How many tracks a server takes that has 100 live requests, each with a child, when the layout is
 * updated every so many steps. */
static uint32_t tracks_of_server(unsigned each)
{
	struct thrum_event first = {.type = THRUM_EVENT_CREATE,
		.other = 1,
		.flags = THRUM_EVENT_HAS_OTHER};
	struct thrum__model *model = layout_model(&first, 1);
	struct thrum__layout *layout = layout_of(model, true);
	int64_t time = 0;

	for (uint64_t step = 1; step <= 8000; step++) {
		struct thrum_event events[4];
		unsigned count = 0;

		for (unsigned i = 0; i < (step > 100 ? 4 : 2); i++) {
			uint64_t id = 2 * step + i % 2 - (i < 2 ? 0 : 200);

			events[count++] = (struct thrum_event){
				.type = i < 2 ? THRUM_EVENT_CREATE : THRUM_EVENT_RESOLVE,
				.time = time += 1000,
				.task = i == 1 ? id - 1 : 1,
				.other = id,
				.kind = THRUM_KIND_PROMISE,
				.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER,
			};
		}
		assert_int_equal(thrum__model_append(model, events, count), 0);
		if (step % each)
			continue;
		thrum__model_forget(model, time - 8000000);
		assert_int_equal(thrum__layout_update(layout, model, NULL, NULL), 0);
		assert_true(step % 1000 || thrum__layout_is_valid(layout, model));
	}
	uint32_t tracks = layout->tracks;

	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
	return tracks;
}

static void tracks_are_few_however_often_one_looks(void **state)
{
	(void)state;
	for (unsigned each = 10; each <= 2000; each *= 4) {
		uint32_t tracks = tracks_of_server(each);

		printf("each %u steps: %u rows\n", each, (unsigned)tracks);
		assert_in_range(tracks, 201, 400);
	}
}

static bool never(void *context, double part)
{
	++*(unsigned *)context;
	return false;
}

static void can_be_interrupted(void **state)
{
	uint32_t count = 60000;
	struct thrum_event *events = layout_events(5, count, 2);
	struct thrum__model *model = layout_model(events, count);
	struct thrum__layout *layout;
	unsigned asked = 0;

	(void)state;
	assert_int_equal(thrum__layout_create(true, true, &layout), 0);
	while (thrum__layout_update(layout, model, never, &asked) == 1)
		assert_true(thrum__layout_is_valid(layout, model));
	assert_true(asked > 1);
	for (uint32_t i = 0; i < layout->unit_count; i++)
		assert_int_not_equal(layout->units[i].track, THRUM__NONE);
	thrum__layout_destroy(layout);
	thrum__model_destroy(model);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_traces_are_laid_out),
		cmocka_unit_test(children_of_real_traces_lie_near_below_their_parents),
		cmocka_unit_test(a_child_lies_below_its_parent),
		cmocka_unit_test(a_chain_is_one_unit),
		cmocka_unit_test(loops_are_no_staircase),
		cmocka_unit_test(families_stay_with_their_lane),
		cmocka_unit_test(what_has_a_track_keeps_it),
		cmocka_unit_test(a_chain_that_grows_keeps_its_track),
		cmocka_unit_test(what_is_forgotten_leaves),
		cmocka_unit_test(tracks_are_few_however_often_one_looks),
		cmocka_unit_test(can_be_interrupted),
	};

	return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
