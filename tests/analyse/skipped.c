/* SPDX-License-Identifier: ISC */
/* Threads that once leave out a signal which they give in all other rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define ROUNDS 12

/* Thread 1 waits for the condition 4 (done), which the worker 2 signalled before: that hears the condition
 * 5 (jobs), which the feeder 3 signals each time that it has waited for the condition 6; but not in the
 * rounds from `skipped` to `last`. */
static void tell(int skipped, int last, bool has_waiter)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 4 condition\n"
		   "0 label 4 \"done\n0 create 1 5 condition\n0 label 5 \"jobs\n"
		   "0 create 1 6 condition\n0 label 6 \"orders\n0 @1 create - 2 thread\n"
		   "0 @1 label 2 \"worker\n0 @1 switch 2\n0 @2 create - 3 thread\n"
		   "0 @2 label 3 \"feeder\n0 @2 switch 3\n");
	for (int i = 0; i < ROUNDS; i++) {
		int time = 1 + 10 * i;

		if (has_waiter)
			story_tell("%d" MS "@1 wait 2 5\n", time);
		story_tell("%d" MS "@2 wait 3 6\n%d" MS "signal 1 6 =1\n%d" MS "@2 read 3 6\n",
			time, time + 1, time + 2);
		if (i < skipped || i > last)
			story_tell("%d" MS "@2 signal 3 5 =1\n", time + 3);
		if (has_waiter)
			story_tell("%d" MS "@1 read 2 5\n", time + 4);
		story_tell("%d" MS "@1 signal 2 4 =0\n", time + 5);
	}
	story_tell("130" MS "@2 wait 3 6\n130" MS "@2 suspend \"blocked\n");
	story_tell("130" MS "@1 wait 2 5\n130" MS "@1 suspend \"blocked\n");
	story_tell("131" MS "wait 1 4\n131" MS "suspend \"blocked\n");
}

static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);
	unsigned found = 0;

	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	model->end = 3000000000;
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_true(findings.count > 0);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned at = 0; at < findings.findings[i].step_count; at++) {
			const struct thrum__step *step = &findings.findings[i].steps[at];

			if (step->kind != THRUM__STEP_SKIPS)
				continue;
			found++;
			assert_int_equal(step->task, story_task(model, 3));
			assert_int_equal(step->other, story_task(model, 5));
			assert_int_equal(step->more, ROUNDS - 1);
		}
	assert_int_equal(found, is_told);
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void a_signal_is_left_out_once(void **state)
{
	(void)state;
	tell(5, 5, true);
	expect(true);
}

static void what_is_no_rule_is_not_told(void **state)
{
	(void)state;
	/* None is left out, or several are, or the last; or nobody waits for it. */
	tell(ROUNDS, ROUNDS, true);
	expect(false);
	tell(5, 6, true);
	expect(false);
	tell(ROUNDS - 1, ROUNDS - 1, true);
	expect(false);
	tell(5, 5, false);
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_is_left_out_once),
		cmocka_unit_test(what_is_no_rule_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
