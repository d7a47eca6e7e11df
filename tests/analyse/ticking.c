/* SPDX-License-Identifier: ISC */
/* Programs in which nothing but timers goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define JOBS 6
#define END 2000 /* ms */

/* The main thread 1 waits for the condition 2, which jobs of a loop signal. Then only the timer 5 runs, each
 * `period` ms. */
static void tell(const char *more, int period)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 condition\n"
		"0 label 2 \"changed\n0 @1 create - 3 thread\n0 @1 switch 3\n0 @1 create 3 5 timer\n%s",
		more);
	for (int i = 0; i < JOBS; i++) {
		int job = 100 + i, start = 10 * i + 1;

		story_tell("%d" MS "wait 1 2\n%d" MS "suspend \"blocked\n", start, start);
		story_tell("%d" MS "@1 create 3 %d task\n%d" MS "@1 label %d \"job %d\n", start,
			job, start, job, i);
		story_tell("%d" MS "@1 switch %d\n%d" MS "@1 signal %d 2 =1\n", start + 1, job,
			start + 2, job);
		story_tell("%d" MS "@1 resolve %d %d\n%d" MS "@1 switch 3\n", start + 3, job, job,
			start + 3);
		story_tell("%d" MS "resume \"blocked\n%d" MS "read 1 2\n", start + 4, start + 4);
	}
	story_tell("70" MS "wait 1 2\n70" MS "suspend \"blocked\n");
	for (int time = 100; time < END; time += period)
		story_tell("%d" MS "@1 switch 5\n%d" MS "@1 switch 3\n", time, time + 1);
	story_tell("%d" MS "@1 suspend \"wait for work\n", END);
}

/* Expects the last job to be told, or nothing. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step[0].kind, THRUM__STEP_SIGNALLED_LAST);
		assert_int_equal(step[0].task, story_task(model, 100 + JOBS - 1));
		assert_int_equal(step[1].task, story_task(model, 1));
	}
	story_free(model, &findings);
}

static void the_last_voice_is_told(void **state)
{
	(void)state;
	tell("", 50);
	expect(true);
	tell("0 @1 create 3 6 handle\n0 @1 label 6 \"async wake\n", 50);
	expect(true);
}

static void what_may_still_come_is_an_excuse(void **state)
{
	(void)state;
	tell("0 @1 create 3 6 handle\n0 @1 label 6 \"listen\n", 50);
	expect(false);
	tell("0 @1 create 3 6 request\n", 50);
	expect(false);
	/* A timer that hasn't come yet; and the one that goes on began a task before. */
	tell("0 @1 create 3 6 timer\n", 50);
	expect(false);
	tell("0 @1 create 5 6 task\n0 @1 resolve 5 6\n", 50);
	expect(false);
	/* Few turns, another task that ran just now, and another thread. */
	tell("", 400);
	expect(false);
	tell("", 50);
	story_tell("2001" MS "@1 resume \"wait for work\n2001" MS "@1 create 3 7 task\n2001" MS
		   "@1 switch 7\n2002" MS "@1 switch 3\n2003" MS "@1 suspend \"wait for work\n");
	expect(false);
	tell("0 @2 create - 8 thread\n0 @2 switch 8\n", 50);
	expect(false);
}

/* Within the loop 5 that the timer 3 runs, the timer 4 runs the loop 6. The timer 7 comes round, and ends the
 * outer loop. The inner one goes on, which `more` tells of. */
static bool outer_hangs(const char *more)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool hangs;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 3 timer\n"
		   "0 create 1 4 timer\n0 create 1 7 timer\n");
	story_tell("10" MS "switch 3\n10" MS "create 3 5 handle\n10" MS
		   "label 5 \"main loop, run by open_file\n10" MS "wait 3 5\n");
	story_tell("11" MS "switch 4\n11" MS "create 4 6 handle\n11" MS
		   "label 6 \"main loop, run by save_file\n11" MS "wait 4 6\n");
	story_tell("12" MS "switch 7\n12" MS "wait 5 6\n12" MS "switch 4\n");
	story_tell("%s", more);
	for (int time = 50; time < END; time += 50)
		story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 7\n%d" MS
			   "switch 4\n%d" MS "suspend \"wait for work\n",
			time - 1, time, time + 1, time + 2);
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	assert_int_equal(thrum__why_make(model, &findings), 0);
	hangs = findings.count == 1;
	if (hangs) {
		const struct thrum__finding *finding = findings.findings;

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__LIKELY);
		assert_int_equal(finding->steps[0].task, story_task(model, 4));
		assert_int_equal(finding->steps[1].task, story_task(model, 5));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
	return hangs;
}

static void a_loop_that_was_told_to_end_is_covered(void **state)
{
	(void)state;
	assert_true(outer_hangs("13" MS "suspend \"wait for work\n"));
	/* A timer that hasn't come yet, or an answer from outside, may end the inner loop. */
	assert_false(outer_hangs("13" MS "create 4 8 timer\n13" MS "suspend \"wait for work\n"));
	assert_false(outer_hangs("13" MS "create 4 8 request\n13" MS "suspend \"wait for work\n"));
	/* The outer loop isn't told to end. */
	assert_false(outer_hangs(
		"13" MS "resolve 4 6\n13" MS "read 4 6\n13" MS "suspend \"wait for work\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_voice_is_told),
		cmocka_unit_test(what_may_still_come_is_an_excuse),
		cmocka_unit_test(a_loop_that_was_told_to_end_is_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
