/* SPDX-License-Identifier: ISC */
/* Callbacks that wait for what only their own loop may run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* In the loop of the main thread 1 the callback 4 waits for the condition 5. The worker 2 of a pool makes
 * task 6 ready, of a kind, and has nothing more to do. */
static void tell(const char *kind)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 4 handle\n0 label 4 \"on price\n"
		   "0 create 1 5 condition\n0 label 5 \"loaded\n"
		   "0 create 1 2 thread\n0 label 2 \"worker\n0 @1 switch 2\n"
		   "1" MS "switch 4\n2" MS "wait 4 5\n2" MS "suspend \"blocked\n"
		   "5" MS "@1 create 2 6 %s\n5" MS "@1 label 6 \"on loaded\n"
		   "6" MS "@1 ready 2 6\n7" MS "@1 suspend \"blocked\n",
		kind);
}

/* Expects that the task 6 is told as one that needs the main thread, or that no task is told so. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	assert_int_equal(thrum__why_make(model, &findings), 0);
	for (uint32_t i = 0; !is_told && i < findings.count; i++)
		assert_int_not_equal(findings.findings[i].steps[0].kind, THRUM__STEP_NEEDS_LANE);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step[0].kind, THRUM__STEP_NEEDS_LANE);
		assert_int_equal(step[0].task, story_task(model, 6));
		assert_int_equal(step[0].other, story_task(model, 1));
		assert_int_equal(step[1].task, story_task(model, 4));
		assert_int_equal(step[1].other, story_task(model, 5));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void a_callback_waits_for_its_own_loop(void **state)
{
	(void)state;
	tell("handle");
	expect(true);
	tell("request");
	expect(true);
	/* GLib's own thread runs nothing of the program. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"gmain\n8" MS
		   "@2 switch 7\n9" MS "@2 suspend \"wait for work\n");
	expect(true);
}

static void it_may_be_left_to_others(void **state)
{
	(void)state;
	/* A job is for a pool. */
	tell("task");
	expect(false);
	/* It has run. */
	tell("handle");
	story_tell("8" MS "@1 resume \"blocked\n8" MS "@1 switch 6\n9" MS "@1 switch 2\n9" MS
		   "@1 suspend \"blocked\n");
	expect(false);
	/* Somebody has signalled the condition. */
	tell("handle");
	story_tell("8" MS "@1 resume \"blocked\n8" MS "@1 signal 2 5 =1\n9" MS
		   "@1 suspend \"blocked\n");
	expect(false);
	/* Another loop waits for work. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"loop\n8" MS "@2 switch 7\n9" MS
		   "@2 suspend \"wait for work\n");
	expect(false);
	/* Another loop is blocked, too. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"loop\n8" MS "@2 switch 7\n8" MS
		   "@2 create 7 8 handle\n8" MS "@2 create 7 9 condition\n9" MS "@2 switch 8\n10" MS
		   "@2 wait 8 9\n10" MS "@2 suspend \"blocked\n");
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_callback_waits_for_its_own_loop),
		cmocka_unit_test(it_may_be_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
