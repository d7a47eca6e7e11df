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
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step[0].kind, THRUM__STEP_SIGNALLED_LAST);
		assert_int_equal(step[0].task, story_task(model, 100 + JOBS - 1));
		assert_int_equal(step[1].task, story_task(model, 1));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_voice_is_told),
		cmocka_unit_test(what_may_still_come_is_an_excuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
