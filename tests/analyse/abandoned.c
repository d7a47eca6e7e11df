/* SPDX-License-Identifier: ISC */
/* A thread of a pool ends, and leaves a task in its queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define JOBS 6       /* that run, three on each of two threads */

/* The main thread makes jobs 10 to 16 ready at once, and its task 2 waits for the last. The one before takes
 * long. Thread 4 ends after that, at 40 ms, and then `more` is told. Thread 3 has rested since 8 ms. */
static void tell(const char *more)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"backup\n0 should-resolve 2\n"
		"0 @1 create - 3 thread\n0 @1 switch 3\n0 @2 create - 4 thread\n0 @2 label 4 \"packer\n"
		"0 @2 switch 4\n0 @1 suspend \"wait for work\n0 @2 suspend \"wait for work\n0 switch 2\n");
	for (int i = 0; i <= JOBS; i++)
		story_tell("1" MS "create 2 %d task\n1" MS "label %d \"pack %d\n1" MS
			   "should-resolve %d\n1" MS "ready 2 %d\n",
			10 + i, 10 + i, i, 10 + i, 10 + i);
	story_tell("2" MS "@1 resume \"wait for work\n2" MS "@2 resume \"wait for work\n");
	for (int i = 0; i < JOBS; i++) {
		int lane = 1 + i % 2, end = i + 1 == JOBS ? 38 : 4 + i;

		story_tell("%d" MS "@%d switch %d\n", 3 + i, lane, 10 + i);
		story_tell("%d" MS "@%d resolve %d %d\n", end, lane, 10 + i, 10 + i);
		story_tell("%d" MS "@%d switch %d\n", end, lane, 2 + lane);
		if (i + 2 == JOBS)
			story_tell("8" MS "@1 suspend \"wait for work\n");
	}
	story_tell("40" MS "@2 resolve 4 4\n%s", more);
	story_tell("41" MS "wait 2 16\n42" MS "suspend \"wait for work\n");
}

/* Expects that the thread 4 is told, or nothing. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = THRUM_ENDING_GONE;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step->kind, THRUM__STEP_ABANDONS);
		assert_int_equal(step->task, story_task(model, 4));
		assert_int_equal(step->other, story_task(model, 16));
		assert_int_equal(step->more, JOBS / 2);
	}
	story_free(model, &findings);
}

static void a_thread_leaves_a_task(void **state)
{
	(void)state;
	tell("");
	expect(true);
}

static void another_thread_takes_the_task(void **state)
{
	(void)state;
	tell("40" MS "@1 resume \"wait for work\n40" MS "@1 switch 16\n");
	expect(false);
	/* Or it is about to. */
	tell("40" MS "@1 resume \"wait for work\n");
	expect(false);
	/* It has just gone to rest. */
	tell("40" MS "@1 resume \"wait for work\n41" MS "@1 suspend \"wait for work\n");
	expect(false);
}

/* The only thread that ran such jobs, 3, ends; the last job is made ready after that, and `more` is told. The
 * main thread resolves every other job. */
static void tell_alone(const char *more)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"backup\n0 should-resolve 2\n"
		"0 @1 create - 3 thread\n0 @1 switch 3\n0 @2 create - 4 thread\n0 @2 switch 4\n");
	for (int i = 0; i <= JOBS; i++) {
		int time = 10 * (i + 1);

		if (i == JOBS)
			story_tell("65" MS "@1 resolve 3 3\n");
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"pack %d\n%d" MS
			   "ready 1 %d\n%d" MS "wait 2 %d\n",
			time, 10 + i, time, 10 + i, i, time, 10 + i, time, 10 + i);
		if (i < JOBS)
			story_tell("%d" MS "@1 switch %d\n%d" MS "@%d resolve %d %d\n%d" MS
				   "@1 switch 3\n",
				time + 1, 10 + i, time + 2, i % 2, i % 2 ? 10 + i : 1, 10 + i,
				time + 2);
	}
	story_tell("71" MS "suspend \"blocked\n%s", more);
}

static void the_only_thread_ended_before(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	for (int is_run = 0; is_run < 2; is_run++) {
		tell_alone(is_run ? "72" MS "@2 switch 16\n73" MS "@2 switch 4\n900" MS
				    "@2 log 4 \"beat\n"
				  : "900" MS "@2 log 4 \"beat\n");
		model = story_findings(&findings);
		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.findings[0].steps[0].kind == THRUM__STEP_ABANDONS,
			!is_run);
		story_free(model, &findings);
	}
}

#define US "000 " /* makes ns of µs */

/* Short jobs run at once. Thread 4 ends as it isn't needed, and the program is killed before the woken
 * thread 3 runs: at that time, in µs. */
static void tell_short(int end)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"backup\n0 should-resolve 2\n"
		"0 @1 create - 3 thread\n0 @1 switch 3\n0 @2 create - 4 thread\n0 @2 label 4 \"packer\n"
		"0 @2 switch 4\n0 @2 suspend \"wait for work\n0 switch 2\n0 @2 resume \"wait for work\n");
	for (int i = 0; i < JOBS; i++) {
		int lane = 1 + i % 2, task = 10 + i, time = 10 + i;

		story_tell("%d" US "create 2 %d task\n%d" US "label %d \"pack %d\n%d" US
			   "ready 2 %d\n",
			time, task, time, task, i, time, task);
		story_tell("%d" US "@%d switch %d\n%d" US "@%d resolve %d %d\n%d" US
			   "@%d switch %d\n",
			time, lane, task, time, lane, task, task, time, lane, 2 + lane);
	}
	story_tell("30" US "@1 suspend \"wait for work\n");
	story_tell("40" US "create 2 16 task\n40" US "label 16 \"pack 7\n40" US
		   "should-resolve 16\n40" US "ready 2 16\n41" US "@2 resolve 4 4\n42" US
		   "wait 2 16\n%d" US "suspend \"wait for work\n",
		end);
}

static void a_thread_is_about_to_wake(void **state)
{
	(void)state;
	tell_short(90);
	expect(false);
	/* So much later it won't. */
	tell_short(50000);
	expect(true);
}

/* Nothing tells how long such a task takes. But none like it ran anywhere. */
static void the_task_is_of_another_sort(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	tell("40" MS "label 16 \"clean up\n");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_GONE;
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_not_equal(findings.findings[0].steps[0].kind, THRUM__STEP_ABANDONS);
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_leaves_a_task),
		cmocka_unit_test(another_thread_takes_the_task),
		cmocka_unit_test(the_only_thread_ended_before),
		cmocka_unit_test(a_thread_is_about_to_wake),
		cmocka_unit_test(the_task_is_of_another_sort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
