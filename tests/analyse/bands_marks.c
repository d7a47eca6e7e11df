/* SPDX-License-Identifier: ISC */
/* A stall, a timeout, a leak, a contended lock, an outlier: each shows in the bands as it should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/bands/bands.h"
#include "story.h"

#define COLUMNS 100
#define MAIN \
	"0 create - 1 thread\n" \
	"0 label 1 \"loop 1\n" \
	"0 switch 1\n"

struct seen {
	char text[300000];
	size_t size;
	struct thrum__model *model;
	struct thrum__bands *bands;
	struct thrum__bands_window window;
	int64_t times[COLUMNS + 1];
	struct thrum__bands_cell cells[COLUMNS];
};

static void put(struct seen *seen, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	seen->size += (size_t)vsnprintf(seen->text + seen->size, sizeof seen->text - seen->size,
		format, arguments);
	va_end(arguments);
	assert_true(seen->size < sizeof seen->text);
}

/* A story to which lines are added; free it with finish. */
static struct seen *begin(void)
{
	struct seen *seen = calloc(1, sizeof *seen);

	assert_non_null(seen);
	put(seen, "%s", MAIN);
	return seen;
}

/* Makes the bands, in a window over all of the time. */
static void look(struct seen *seen)
{
	seen->model = story_model(seen->text, false);
	assert_int_equal(thrum__bands_make(seen->model, NULL, NULL, &seen->bands), 0);
	for (int i = 0; i <= COLUMNS; i++)
		seen->times[i] = seen->bands->to * i / COLUMNS;
	assert_int_equal(thrum__bands_window_set(&seen->window, seen->times, COLUMNS), 0);
}

static uint32_t group_named(const struct seen *seen, const char *name)
{
	uint32_t group = thrum__family_find(&seen->bands->family, name, strlen(name));

	assert_int_not_equal(group, THRUM__NONE);
	return group;
}

static void count(struct seen *seen, const char *name, unsigned class, unsigned classes)
{
	thrum__bands_cells(seen->bands, group_named(seen, name), class, classes, &seen->window,
		seen->cells);
}

static void finish(struct seen *seen)
{
	thrum__bands_window_finish(&seen->window);
	thrum__bands_destroy(seen->bands);
	thrum__model_destroy(seen->model);
	free(seen);
}

/* A loop that is held up ends all requests at once: in one column, whatever their durations. */
static void test_stall(void **state)
{
	struct seen *seen = begin();
	unsigned columns = 0, ended = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		put(seen, "%d000 create 1 %d request\n%d000 label %d \"GET /%d\n", i * 10, i + 10,
			i * 10, i + 10, i);
	for (int i = 0; i < 20; i++)
		put(seen, "50000%d resolve 1 %d\n", i / 10, i + 10);
	put(seen, "1000000 log 1 \"end\n");
	look(seen);
	count(seen, "GET /#", 0, THRUM__BANDS_CLASSES);
	for (int i = 0; i < COLUMNS; i++) {
		columns += seen->cells[i].ended > 0;
		ended += seen->cells[i].ended;
	}
	assert_int_equal(columns, 1);
	assert_int_equal(ended, 20);
	finish(seen);
}

/* Requests that fail by a timeout all take as long: they are in one class, and failed. */
static void test_timeout(void **state)
{
	struct seen *seen = begin();
	unsigned classes = 0, failed = 0;

	(void)state;
	for (int i = 0; i < 40; i++)
		put(seen, "%d create 1 %d request\n%d label %d \"GET /%d\n%d %s 1 %d%s\n",
			i * 10000, i + 10, i * 10000, i + 10, i,
			i * 10000 + (i % 4 ? 100 + 150 * (i % 7) : 9000),
			i % 4 ? "resolve" : "fail", i + 10, i % 4 ? "" : " \"timed out");
	look(seen);
	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
		unsigned here = 0;

		count(seen, "GET /#", class, 1);
		for (int i = 0; i < COLUMNS; i++)
			here += seen->cells[i].failed;
		failed += here;
		classes += here > 0;
		assert_true(here == 0 || class == thrum__bands_class(9000));
	}
	assert_int_equal(classes, 1);
	assert_int_equal(failed, 10);
	assert_int_equal(seen->bands->family.groups[group_named(seen, "GET /#")].failed, 10);
	finish(seen);
}

/* A task that never ends is a line that reaches the end of the trace, and an exception. */
static void test_leak(void **state)
{
	struct seen *seen = begin();
	unsigned class;
	uint32_t task, group;
	struct thrum__bands_line line;

	(void)state;
	for (int i = 0; i < 30; i++) {
		put(seen, "%d create 1 %d request\n%d label %d \"GET /%d\n%d should-resolve %d\n",
			i * 10000, i + 10, i * 10000, i + 10, i, i * 10000, i + 10);
		if (i != 7)
			put(seen, "%d resolve 1 %d\n", i * 10000 + 500, i + 10);
	}
	put(seen, "500000 log 1 \"end\n");
	look(seen);
	class = thrum__bands_class(500000 - 70000);
	count(seen, "GET /#", class, 1);
	for (int i = 0; i < COLUMNS; i++) {
		assert_int_equal(seen->cells[i].lines, i >= 14);
		assert_int_equal(seen->cells[i].ended, 0);
	}
	group = group_named(seen, "GET /#");
	task = thrum__bands_exception(seen->bands, group, THRUM__NONE, INT64_MAX, -1);
	assert_int_equal(task, story_task(seen->model, 17));
	assert_true(thrum__bands_line_of(seen->bands, task, &line, &group));
	assert_true(line.is_pending);
	assert_int_equal(line.end, 500000);
	assert_int_equal(seen->bands->family.groups[group].size, THRUM__GROUP_LARGE);
	finish(seen);
}

/* A lock for which many wait is held all the time, and the waits are long. */
static void test_contended(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_queue_numbers numbers;
	float waiting[COLUMNS], held[COLUMNS];
	struct thrum__bands_turns turns;
	struct thrum__bands_turn turn;
	uint32_t object, holds = 0;
	int64_t until = 0;

	(void)state;
	put(seen, "1 create 1 5 lock\n1 label 5 \"database\n");
	for (int i = 0; i < 10; i++)
		put(seen,
			"2 create 1 %d request\n2 label %d \"GET /%d\n2 switch %d\n"
			"2 wait %d 5\n",
			i + 10, i + 10, i, i + 10, i + 10);
	for (int i = 0; i < 10; i++)
		put(seen, "%d switch %d\n%d lock %d 5\n%d unlock %d 5\n%d resolve 1 %d\n",
			10 + 100 * i, i + 10, 10 + 100 * i, i + 10, 108 + 100 * i, i + 10,
			109 + 100 * i, i + 10);
	put(seen, "1010 log 1 \"end\n");
	look(seen);
	assert_int_equal(seen->bands->queue_count, 1);
	assert_int_equal(seen->bands->queues[0].instances, 1);
	assert_int_equal(seen->bands->queues[0].waits, 10);
	assert_int_equal(seen->bands->queues[0].holds, 10);
	assert_int_equal(seen->bands->queues[0].most, 10);
	assert_int_equal(thrum__bands_queue_of(seen->bands, group_named(seen, "database")), 0);
	thrum__bands_queue_numbers(seen->bands, 0, 0, seen->bands->to, &numbers);
	assert_true(numbers.held >= 0.9 && numbers.held < 1);
	assert_true(numbers.waiting > 4 && numbers.waiting < 5);
	assert_int_equal(numbers.half_hold, 98);
	assert_int_equal(numbers.half_wait, 408);
	assert_int_equal(numbers.waits, 10);
	thrum__bands_queue_columns(seen->bands, 0, &seen->window, waiting, held);
	assert_true(waiting[1] > 8.9F && waiting[1] <= 10);
	assert_true(waiting[COLUMNS - 1] < 0.1F);
	for (int i = 2; i < COLUMNS - 2; i++)
		assert_true(held[i] > 0.7F && held[i] <= 1);
	assert_int_equal(thrum__bands_queue_objects(seen->bands, 0, &object, 1), 1);
	assert_int_equal(object, story_task(seen->model, 5));
	thrum__bands_turns_begin(&turns, seen->bands, 0, true, 300, 600);
	while (thrum__bands_turns_next(&turns, &turn)) {
		assert_true(turn.from >= until && turn.to >= 300 && turn.from < 600);
		assert_int_equal(turn.object, object);
		until = turn.to;
		holds++;
	}
	assert_int_equal(holds, 4);
	finish(seen);
}

/* A semaphore is held by as many as ever held it at once. */
static void test_semaphore(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_queue_numbers numbers;

	(void)state;
	put(seen, "1 create 1 5 semaphore\n1 label 5 \"connections\n");
	for (int i = 0; i < 2; i++)
		put(seen,
			"2 create 1 %d request\n2 label %d \"GET /%d\n2 switch %d\n"
			"2 lock %d 5\n",
			i + 10, i + 10, i, i + 10, i + 10);
	put(seen, "502 unlock 10 5\n1002 unlock 11 5\n1002 log 1 \"end\n");
	look(seen);
	assert_int_equal(seen->bands->queues[0].instances, 1);
	assert_int_equal(seen->bands->queues[0].capacity, 2);
	thrum__bands_queue_numbers(seen->bands, 0, 2, 1002, &numbers);
	assert_true(numbers.held > 0.74 && numbers.held < 0.76);
	assert_int_equal(numbers.half_hold, 500);
	finish(seen);
}

/* Conditions for each of which one task waits are no queue; one for which several wait is. */
static void test_conditions(void **state)
{
	struct seen *seen = begin();

	(void)state;
	for (int i = 0; i < 3; i++)
		put(seen, "1 create 1 %d condition\n1 label %d \"done %d\n", 5 + i, 5 + i, i);
	put(seen, "1 create 1 8 condition\n1 label 8 \"not empty\n");
	for (int i = 0; i < 3; i++)
		put(seen,
			"2 create 1 %d request\n2 label %d \"GET /%d\n2 switch %d\n"
			"2 wait %d %d\n3 read %d %d\n3 wait %d 8\n",
			i + 10, i + 10, i, i + 10, i + 10, 5 + i, i + 10, 5 + i, i + 10);
	put(seen, "900 log 1 \"end\n");
	look(seen);
	assert_int_equal(seen->bands->queue_count, 1);
	assert_int_equal(seen->bands->queues[0].group, group_named(seen, "not empty"));
	assert_int_equal(seen->bands->queues[0].most, 3);
	finish(seen);
}

/* The longest run of a thread says for whom it was. */
static void test_long_run(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_run run;
	struct thrum__bands_boxes boxes;

	(void)state;
	put(seen, "1 create 1 4 handle\n1 label 4 \"connection\n1 switch 4\n");
	for (int i = 0; i < 10; i++)
		put(seen, "%d create 4 %d request\n%d label %d \"GET /%d\n", i + 2, i + 10, i + 2,
			i + 10, i);
	for (int i = 0; i < 10; i++)
		put(seen, "%d create %d %d promise\n%d switch %d\n%d switch 1\n", 100 + 100 * i,
			i + 10, i + 30, 100 + 100 * i, i + 30, i == 6 ? 790 : 105 + 100 * i);
	put(seen, "1200 log 1 \"end\n");
	look(seen);
	assert_int_equal(seen->bands->thread_count, 1);
	assert_int_equal(thrum__bands_longest_runs(seen->bands, 0, 150, 1200, 1, &run, 1), 1);
	assert_int_equal(run.task, story_task(seen->model, 36));
	assert_int_equal(run.ran, 90);
	thrum__bands_boxes_begin(&boxes, seen->bands, run.lane, THRUM__BANDS_OWNER, 700, 800, 1, 1);
	assert_true(thrum__bands_boxes_next(&boxes, &run));
	assert_int_equal(run.task, story_task(seen->model, 16));
	assert_false(thrum__bands_boxes_next(&boxes, &run));
	thrum__bands_boxes_begin(&boxes, seen->bands, run.lane, THRUM__BANDS_OLDEST, 700, 800, 1,
		1);
	assert_true(thrum__bands_boxes_next(&boxes, &run));
	assert_int_equal(run.task, story_task(seen->model, 16)); /* one connection is too few */
	finish(seen);
}

/* An opened band shows the failed, the slowest that are whole, and the median. */
static void test_pick(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_line lines[4];
	uint32_t in_sight, count;

	(void)state;
	for (int i = 0; i < 20; i++)
		put(seen, "%d create 1 %d request\n%d label %d \"GET /%d\n%d %s 1 %d%s\n", i * 1000,
			i + 10, i * 1000, i + 10, i, i * 1000 + 10 * (i + 1),
			i == 3 ? "fail" : "resolve", i + 10, i == 3 ? " \"broken" : "");
	look(seen);
	assert_int_equal(thrum__bands_pick(seen->bands,
				 &(struct thrum__bands_box){group_named(seen, "GET /#"), 500, 19100,
					 0, 0},
				 lines, 4, &in_sight),
		4);
	assert_int_equal(in_sight, 19);
	assert_int_equal(lines[0].task, story_task(seen->model, 13)); /* it failed */
	assert_int_equal(lines[2].task, story_task(seen->model, 27));
	assert_int_equal(lines[3].task, story_task(seen->model, 28)); /* 29 isn't whole */
	/* Where there is room for all, all are shown. */
	count = thrum__bands_pick(seen->bands,
		&(struct thrum__bands_box){group_named(seen, "GET /#"), 16100, 19100, 0, 0}, lines,
		4, &in_sight);
	assert_int_equal(in_sight, 4);
	assert_int_equal(count, in_sight);
	finish(seen);
}

/* A box holds the lines of a time and some durations, and tells whom more of them work for. */
static void test_box(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_box box = {0, 5000, 15000, 100, 1000};
	struct thrum__bands_boxed boxed;
	uint32_t tasks[3], of;

	(void)state;
	put(seen,
		"0 create 1 4 task\n0 label 4 \"client 4\n0 create 1 5 task\n0 label 5 \"client 5\n"
		"0 @1 create - 2 thread\n0 @1 label 2 \"loop 2\n0 @1 switch 2\n");
	for (int i = 0; i < 20; i++) {
		bool is_slow = i % 5 == 0;
		int lane = is_slow ? 1 : 0;

		put(seen,
			"%d @%d create %d %d request\n%d @%d label %d \"GET /%d\n%d @%d wait %d %d\n",
			i * 1000, lane, lane + 1, i + 10, i * 1000, lane, i + 10, i, i * 1000, lane,
			is_slow ? 4 : 5, i + 10);
		put(seen, "%d @%d resolve %d %d\n", i * 1000 + (is_slow ? 500 : 50), lane, lane + 1,
			i + 10);
	}
	look(seen);
	box.group = group_named(seen, "GET /#");
	assert_int_equal(thrum__bands_box_sample(seen->bands, &box, true, tasks, 3, &of), 2);
	assert_int_equal(of, 2);
	assert_int_equal(tasks[0], story_task(seen->model, 15));
	assert_int_equal(tasks[1], story_task(seen->model, 20));
	assert_int_equal(thrum__bands_box_sample(seen->bands, &box, false, tasks, 3, &of), 3);
	assert_int_equal(of, 18);
	assert_int_equal(thrum__bands_boxed(seen->bands, &box, &boxed), 0);
	assert_int_equal(boxed.lines, 2);
	assert_int_equal(boxed.name_count, 1);
	assert_string_equal(thrum__model_string(seen->model, boxed.names[0].key, NULL), "client 4");
	assert_true(boxed.names[0].here > 0.99 && boxed.names[0].other < 0.12);
	assert_int_equal(boxed.lane_count, 1);
	assert_int_equal(boxed.lanes[0].key, 1);
	/* Any duration. */
	box.shortest = box.longest = 0;
	assert_int_equal(thrum__bands_boxed(seen->bands, &box, &boxed), 0);
	assert_int_equal(boxed.lines, 10);
	box.to = box.from;
	assert_int_equal(thrum__bands_boxed(seen->bands, &box, &boxed), 0);
	assert_int_equal(boxed.lines + boxed.name_count + boxed.lane_count, 0);
	finish(seen);
}

/* A time in which requests are slower and fewer differs from the rest in both. */
static void test_differences(void **state)
{
	struct seen *seen = begin();
	struct thrum__bands_difference found[THRUM__BANDS_DIFFERENCES];
	uint32_t number;
	bool half = false, rate = false;

	(void)state;
	for (int i = 0, time = 0; i < 300; i++) {
		bool is_slow = time >= 100000 && time < 200000;

		put(seen, "%d create 1 %d request\n%d label %d \"GET /%d\n%d resolve 1 %d\n", time,
			i + 10, time, i + 10, i, time + (is_slow ? 900 : 100), i + 10);
		time += is_slow ? 3000 : 1000;
	}
	look(seen);
	number = thrum__bands_differences(seen->bands,
		&(struct thrum__bands_time){{100000, 0}, {200000, 0}},
		&(struct thrum__bands_time){{0, 200000}, {100000, seen->bands->to}}, found);
	for (uint32_t i = 0; i < number; i++) {
		half = half ||
			(found[i].measure == THRUM__BANDS_HALF && found[i].here == 900 &&
				found[i].other == 100);
		rate = rate || found[i].measure == THRUM__BANDS_RATE;
	}
	assert_int_equal(found[0].measure, THRUM__BANDS_HALF);
	assert_true(half && rate);
	number = thrum__bands_differences(seen->bands,
		&(struct thrum__bands_time){{200000, 0}, {300000, 0}},
		&(struct thrum__bands_time){{0, 0}, {100000, 0}}, found);
	assert_int_equal(number, 0);
	finish(seen);
}

/* Threads of one name are one row; single ones come first, by their numbers; of many the busiest stay. */
static void test_thread_names(void **state)
{
	struct seen *seen = begin();
	static const char *const NAMES[] = {"pool", "loop 10", "pool", "loop 9"};

	(void)state;
	for (int i = 0; i < 4; i++)
		put(seen, "1 @%d create - %d thread\n1 @%d label %d \"%s\n1 @%d switch %d\n", i + 1,
			i + 2, i + 1, i + 2, NAMES[i], i + 1, i + 2);
	look(seen);
	assert_int_equal(seen->bands->thread_count, 4);
	assert_int_equal(seen->bands->threads[0].lane, 0); /* loop 1 */
	assert_int_equal(seen->bands->threads[1].lane, 4); /* loop 9 */
	assert_int_equal(seen->bands->threads[2].lane, 2);
	assert_int_equal(seen->bands->threads[3].count, 2);
	finish(seen);
	seen = begin();
	for (int i = 0; i < 12; i++)
		put(seen,
			"1 @%d create - %d thread\n1 @%d label %d \"worker %c\n1 @%d switch %d\n"
			"2 @%d create %d %d task\n3 @%d switch %d\n%d @%d switch %d\n",
			i + 1, i + 2, i + 1, i + 2, 'a' + i, i + 1, i + 2, i + 1, i + 2, i + 50,
			i + 1, i + 50, 10 + 10 * i, i + 1, i + 2);
	look(seen);
	assert_int_equal(seen->bands->thread_count, 7);
	assert_int_equal(seen->bands->threads[0].lane, 7); /* worker g */
	assert_int_equal(seen->bands->threads[5].lane, 12);
	assert_true(seen->bands->threads[6].is_others);
	assert_int_equal(seen->bands->threads[6].count, 7);
	finish(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_leak),
		cmocka_unit_test(test_contended),
		cmocka_unit_test(test_semaphore),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_pick),
		cmocka_unit_test(test_box),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_thread_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
