/* SPDX-License-Identifier: ISC */
/* Stories of tasks, rows of opened bands, and where the time of groups goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/bands/bands.h"
#include "analyse/story/story.h"
#include "story.h"

#define LANE \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

/* A request that waits for a timer and then for its lane, which runs a hog. */
#define HOG \
	LANE "10 create 1 2 promise\n10 label 2 \"request 7\n" \
	     "10 create 1 4 promise\n10 label 4 \"hog\n" \
	     "10 switch 2\n" \
	     "15 create 2 3 timer\n" \
	     "20 wait 2 3\n20 switch 1\n" \
	     "100 resolve 1 3\n100 switch 4\n" \
	     "150 switch 2\n150 read 2 3\n160 resolve 2 2\n"

/* A reader that waits for a lock, whose holder waits for the disk. */
#define LOCK \
	LANE "10 create 1 2 lock\n10 label 2 \"database\n" \
	     "10 create 1 3 task\n10 label 3 \"writer\n" \
	     "11 create 3 5 request\n11 label 5 \"disk\n" \
	     "12 lock 3 2\n15 wait 3 5\n" \
	     "20 create 1 4 task\n20 label 4 \"reader\n20 wait 4 2\n" \
	     "90 resolve 1 5\n90 switch 3\n" \
	     "95 unlock 3 2\n95 switch 4\n95 lock 4 2\n99 resolve 4 4\n"

struct seen {
	struct thrum__model *model;
	struct thrum__paths paths;
	struct thrum__family family;
	struct thrum__story story;
};

static void look(struct seen *seen, const char *lines, uint64_t id, int64_t grain)
{
	seen->model = story_model(lines, false);
	assert_int_equal(thrum__slow_paths_init(&seen->paths, seen->model), 0);
	assert_int_equal(thrum__family_init(&seen->family, seen->model), 0);
	assert_int_equal(thrum__story_make(&seen->paths, story_task(seen->model, id), grain,
				 &seen->story),
		0);
}

static void unsee(struct seen *seen)
{
	thrum__story_free(&seen->story);
	thrum__slow_paths_finish(&seen->paths);
	thrum__family_finish(&seen->family);
	thrum__model_destroy(seen->model);
}

/* Writes the boxes of all levels: "LEVEL FROM-TO DOING TASK", a line each. */
static void expect_boxes(const struct seen *seen, const char *expected)
{
	static const char *const DOING[] = {"waits", "runs", "busy"};
	char text[2000] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < seen->story.level_count; i++)
		for (uint32_t j = 0; j < seen->story.levels[i].count; j++) {
			const struct thrum__story_box *box = &seen->story.levels[i].boxes[j];

			used += (size_t)snprintf(text + used, sizeof text - used,
				"%d %d-%d %s %d\n", (int)i, (int)box->from, (int)box->to,
				DOING[box->doing],
				box->task == THRUM__NONE
					? 0
					: (int)THRUM__TASK(seen->model, box->task, id));
		}
	assert_string_equal(text, expected);
}

static void expect_row(struct seen *seen, uint64_t id, int64_t grain, const char *expected)
{
	static const char *const DOING[] = {"waits", "runs", "busy"};
	struct thrum__story_row row;
	char text[2000] = "";
	size_t used = 0;

	assert_int_equal(thrum__story_row_make(&seen->paths, story_task(seen->model, id), grain,
				 &row),
		0);
	for (uint32_t i = 0; i < row.count; i++) {
		const struct thrum__story_stretch *stretch = &row.stretches[i];

		used += (size_t)snprintf(text + used, sizeof text - used, "%d-%d %s %d\n",
			(int)stretch->from, (int)stretch->to, DOING[stretch->doing],
			stretch->task == THRUM__NONE
				? 0
				: (int)THRUM__TASK(seen->model, stretch->task, id));
	}
	assert_string_equal(text, expected);
	thrum__story_row_free(&row);
}

/* ---- Stories -------------------------------------------------------------------------------- */

static void test_busy_thread(void **state)
{
	struct seen seen;

	(void)state;
	look(&seen, HOG, 2, 1);
	expect_boxes(&seen,
		"0 10-160 waits 2\n"
		"1 20-100 waits 0\n"
		"1 100-150 busy 4\n");
	assert_int_equal(seen.story.levels[1].kind, THRUM__STORY_NAMED);
	assert_int_equal(seen.story.levels[1].time, 130);
	assert_false(seen.story.is_pending || seen.story.is_failed);
	/* Small boxes are left out. */
	assert_int_equal(thrum__story_remake(&seen.paths, 60, &seen.story), 0);
	expect_boxes(&seen,
		"0 10-160 waits 2\n"
		"1 20-100 waits 0\n");
	assert_int_equal(thrum__story_remake(&seen.paths, 100, &seen.story), 0);
	assert_int_equal(seen.story.level_count, 1);
	expect_row(&seen, 2, 1,
		"10-20 runs 0\n"
		"20-100 waits 0\n"
		"100-150 busy 4\n"
		"150-160 runs 0\n");
	expect_row(&seen, 2, 20,
		"10-20 runs 0\n"
		"20-100 waits 0\n"
		"100-160 busy 4\n");
	unsee(&seen);
}

static void test_lock(void **state)
{
	struct thrum__story_outside outside[2];
	struct thrum__story_where where;
	struct seen seen;
	uint32_t task;

	(void)state;
	look(&seen, LOCK, 4, 1);
	expect_boxes(&seen,
		"0 20-99 waits 4\n"
		"1 20-95 waits 2\n"
		"2 20-90 waits 3\n"
		"2 90-95 runs 3\n"
		"3 20-90 waits 5\n");
	assert_int_equal(seen.story.levels[1].kind, THRUM__STORY_NAMED);
	assert_int_equal(seen.story.levels[1].task, story_task(seen.model, 2));
	assert_int_equal(seen.story.levels[2].kind, THRUM__STORY_HOLDERS);
	assert_int_equal(seen.story.levels[2].time, 75);
	assert_int_equal(thrum__story_outside(&seen.paths, &seen.story, 10, outside, 2), 1);
	assert_int_equal(outside[0].from, 20);
	assert_int_equal(outside[0].to, 90);
	assert_int_equal(outside[0].level, 3);
	assert_false(outside[0].is_lock);
	assert_true(seen.story.levels[1].is_lock);
	assert_int_equal(thrum__story_outside(&seen.paths, &seen.story, 80, outside, 2), 0);
	/* In a row the lock counts for all that its holders do. */
	expect_row(&seen, 4, 1,
		"20-95 waits 2\n"
		"95-99 runs 0\n");
	task = story_task(seen.model, 4);
	assert_int_equal(thrum__story_where_make(&seen.paths, &seen.family, &task, 1, &where), 0);
	assert_int_equal(where.count, 2);
	assert_int_equal(where.parts[0].kind, THRUM__WHERE_WAITS);
	assert_int_equal(where.parts[0].group,
		thrum__family_group(&seen.family, story_task(seen.model, 2)));
	assert_true(where.parts[0].share > 0.94 && where.parts[0].share < 0.95);
	assert_int_equal(where.parts[1].kind, THRUM__WHERE_RUNS);
	unsee(&seen);
}

static void test_where(void **state)
{
	struct thrum__story_where where;
	struct seen seen;
	uint32_t task;

	(void)state;
	look(&seen, HOG, 2, 1);
	task = story_task(seen.model, 2);
	assert_int_equal(thrum__story_where_make(&seen.paths, &seen.family, &task, 1, &where), 0);
	assert_int_equal(where.count, 3);
	assert_int_equal(where.parts[0].kind, THRUM__WHERE_OUTSIDE);
	assert_int_equal(where.parts[1].kind, THRUM__WHERE_BUSY);
	assert_true(where.parts[1].share > 0.33 && where.parts[1].share < 0.34);
	assert_int_equal(where.parts[2].kind, THRUM__WHERE_RUNS);
	assert_int_equal(thrum__story_where_make(&seen.paths, &seen.family, &task, 0, &where), 0);
	assert_int_equal(where.count, 0);
	unsee(&seen);
}

/* ---- Usual ones ----------------------------------------------------------------------------- */

/* The usual line is the median of those that resolved; a sample is taken of these alone. */
static void test_usual(void **state)
{
	char text[8000];
	size_t used = 0;
	struct thrum__model *model;
	struct thrum__bands *bands;
	uint32_t count, tasks[10];

	(void)state;
	used = (size_t)snprintf(text, sizeof text, "%s", LANE);
	for (int i = 0; i < 30; i++)
		used += (size_t)snprintf(text + used, sizeof text - used,
			"%d create 1 %d request\n%d label %d \"GET /%d\n%d %s 1 %d%s\n", i * 1000,
			i + 10, i * 1000, i + 10, i, i * 1000 + 10 * (i + 1),
			i < 9 ? "fail" : "resolve", i + 10, i < 9 ? " \"broken" : "");
	assert_true(used < sizeof text);
	model = story_model(text, false);
	assert_int_equal(thrum__bands_make(model, NULL, NULL, &bands), 0);
	assert_int_equal(thrum__bands_usual(bands, 0, &count), story_task(model, 10 + 19));
	assert_int_equal(count, 21);
	count = thrum__bands_sample(bands, 0, &(struct thrum__bands_time){{0, 0}, {bands->to, 0}},
		tasks, 10);
	assert_int_equal(count, 7);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(THRUM__TASK(model, tasks[i], state), THRUM__STATE_RESOLVED);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busy_thread),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
