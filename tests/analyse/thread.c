/* SPDX-License-Identifier: ISC */
/* The state of a task's thread at the end, and the parts of a run in which it was off its processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <cmocka.h>

#include "analyse/slow/path.h"
#include "analyse/thread.h"
#include "story.h"

#define BEGINNING \
	"0 create - 1 thread\n" \
	"1 create 1 2 task\n" \
	"10 switch 2\n"

static void assert_state(const char *lines, enum thrum__thread_state expected, int64_t since)
{
	struct thrum__model *model = story_model(lines, false);
	int64_t found = -1;

	assert_int_equal(thrum__analyse_thread_state(model, story_task(model, 2), &found),
		expected);
	assert_int_equal(found, since);
	thrum__model_destroy(model);
}

static void tells_blocked_from_busy(void **state)
{
	(void)state;
	assert_state(BEGINNING "999999999 log 2 \"end", THRUM__THREAD_UNKNOWN, -1);
	assert_state(BEGINNING "20 off-cpu =999999979 \"blocked\n999999999 @1 log - \"end",
		THRUM__THREAD_BLOCKED, 20);
	assert_state(BEGINNING "20 off-cpu =999999979 \"preempted\n999999999 @1 log - \"end",
		THRUM__THREAD_BUSY, -1);
	/* It went on long before the end. */
	assert_state(BEGINNING "20 off-cpu =80 \"blocked\n999999999 @1 log - \"end",
		THRUM__THREAD_BUSY, -1);
	assert_state(BEGINNING
		"20 off-cpu =999999979 \"blocked in a page fault\n999999999 @1 log - \"end",
		THRUM__THREAD_BLOCKED, 20);
	/* It was on its processor after it had been blocked. */
	assert_state(BEGINNING "20 off-cpu =999999900 \"blocked\n"
			       "999999990 off-cpu =2 \"interrupted\n999999999 @1 log - \"end",
		THRUM__THREAD_BUSY, -1);
	/* It isn't known whether it came back. */
	assert_state(BEGINNING "20 off-cpu =80 \"blocked\n100 off-cpu =50 \"unknown\n"
			       "999999999 @1 log - \"end",
		THRUM__THREAD_UNKNOWN, -1);
	/* The signal that ended the process woke it. */
	assert_state(BEGINNING "20 off-cpu =999999900 \"blocked\n"
			       "999999920 off-cpu =5 \"woken by another program\n"
			       "999999999 @1 log - \"end",
		THRUM__THREAD_BLOCKED, 20);
	/* Only its own lane counts. */
	assert_state(BEGINNING "20 off-cpu =999999979 \"blocked\n"
			       "30 @1 off-cpu =5 \"preempted\n999999999 @1 log - \"end",
		THRUM__THREAD_BLOCKED, 20);
	/* It doesn't run. */
	assert_state("0 create - 1 thread\n1 create 1 2 task\n5 off-cpu =10 \"blocked",
		THRUM__THREAD_UNKNOWN, -1);
}

static void divides_runs(void **state)
{
	static const struct {
		int from, to, doing;
	} expected[] = {
		{1, 10, THRUM__DOING_WAITS}, {10, 20, THRUM__DOING_RUNS},
		{20, 30, THRUM__DOING_PREEMPTED}, {30, 35, THRUM__DOING_RUNS},
		{35, 40, THRUM__DOING_BLOCKED}, {40, 45, THRUM__DOING_PREEMPTED},
		{45, 60, THRUM__DOING_RUNS}, /* some of it perhaps not */
	};
	struct thrum__model *model = story_model(BEGINNING "20 off-cpu =10 \"preempted\n"
							   "22 @1 off-cpu =10 \"preempted\n"
							   "35 off-cpu =5 \"blocked\n"
							   "40 off-cpu =5 \"woken\n"
							   "50 off-cpu =7 \"unknown\n"
							   "60 resolve 2 2\n"
							   "60 switch 1\n",
		false);
	struct thrum__paths paths;
	struct thrum__path path;

	(void)state;
	assert_int_equal(thrum__slow_paths_init(&paths, model), 0);
	assert_int_equal(thrum__slow_path_make(&paths, story_task(model, 2), &path), 0);
	assert_int_equal(path.count, sizeof expected / sizeof *expected);
	for (uint32_t i = 1; i < path.count; i++) {
		assert_int_equal(path.parts[i].from, expected[i].from);
		assert_int_equal(path.parts[i].to, expected[i].to);
		assert_int_equal(path.parts[i].doing, expected[i].doing);
	}
	thrum__slow_path_free(&path);
	thrum__slow_paths_finish(&paths);
	thrum__model_destroy(model);
}

/* A loop's callbacks: two of connections, then a request; then two timers, and a watch if it is kept. */
#define LOOP \
	"0 create - 1 thread\n1 create 1 2 handle\n1 create 1 3 handle\n1 create 1 4 handle\n" \
	"10 switch 2\n20 switch 3\n30 switch 2\n40 create 2 5 request\n50 switch 1\n" \
	"60 switch 5\n61 resolve 5 5\n62 switch 1\n"

static void tells_last_runs(void **state)
{
	struct thrum__model *model = story_model(LOOP
		"70 create 1 6 timer\n80 switch 6\n90 switch 1\n"
		"200 switch 6\n201 switch 4\n202 switch 1",
		false);
	struct thrum__thread_lasts lasts = {0};

	(void)state;
	thrum__analyse_thread_lasts(model, 100, &lasts);
	assert_false(lasts.is_busy);
	assert_int_equal(lasts.count, 3);
	assert_int_equal(THRUM__RUN(model, lasts.runs[0], task), story_task(model, 5));
	assert_int_equal(THRUM__RUN(model, lasts.runs[1], task), story_task(model, 2));
	assert_int_equal(THRUM__RUN(model, lasts.runs[1], start), 30);
	assert_int_equal(THRUM__RUN(model, lasts.runs[2], task), story_task(model, 3));
	assert_int_equal(lasts.still_count, 2);
	assert_int_equal(THRUM__RUN(model, lasts.still[0], task), story_task(model, 4));
	assert_int_equal(THRUM__RUN(model, lasts.still[1], task), story_task(model, 6));
	/* All of it runs still. */
	lasts = (struct thrum__thread_lasts){0};
	thrum__analyse_thread_lasts(model, 5, &lasts);
	assert_int_equal(lasts.count, 0);
	thrum__model_destroy(model);
	/* Timers of one place stand for each other. */
	model = story_model("0 create - 1 thread\n1 create 1 2 timer\n10 switch 2\n11 resolve 2 2\n"
			    "12 switch 1\n13 create 1 3 timer\n200 switch 3\n201 switch 1",
		false);
	lasts = (struct thrum__thread_lasts){0};
	thrum__analyse_thread_lasts(model, 100, &lasts);
	assert_int_equal(lasts.count, 0);
	assert_int_equal(lasts.still_count, 1);
	thrum__model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_blocked_from_busy),
		cmocka_unit_test(divides_runs),
		cmocka_unit_test(tells_last_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
