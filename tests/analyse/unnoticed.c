/* SPDX-License-Identifier: ISC */
/* A task does nothing after the end for which it waited, though it has turns. Others like it went on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Passengers wait for calls, and go on. Then passenger 30 waits for the call 40. */
static void tell(int count)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < count; i++) {
		int ms = 10 * i, task = 10 + i, call = 20 + i;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"passenger %d\n", ms, task,
			ms, task, i);
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"call %d\n%d" MS
			   "wait %d %d\n",
			ms, call, ms, call, i, ms, task, call);
		story_tell("%d" MS "resolve 1 %d\n%d" MS "switch %d\n%d" MS "resolve %d %d\n%d" MS
			   "switch 1\n",
			ms + 2, call, ms + 3, task, ms + 3, task, task, ms + 3);
	}
	story_tell("90" MS "create 1 30 task\n90" MS "label 30 \"passenger 9\n90" MS
		   "should-resolve 30\n90" MS "create 1 40 task\n90" MS "label 40 \"call 9\n91" MS
		   "wait 30 40\n95" MS "resolve 1 40\n");
	story_tell("97" MS "switch 30\n97" MS "switch 1\n");
}

static void expect(const char *then, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("%s2900" MS "log 1 \"end\n", then);
	model = story_findings(&findings);
	step = findings.count > 0 ? findings.findings[0].steps : NULL;
	assert_int_equal(step && step->kind == THRUM__STEP_ENDED_UNNOTICED, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 40));
		assert_int_equal(step->other, story_task(model, 30));
	}
	story_free(model, &findings);
}

static void it_does_nothing(void **state)
{
	(void)state;
	tell(4);
	expect("", true);
}

static void it_went_on(void **state)
{
	(void)state;
	/* It waits for something else, made something, or logged a line. */
	tell(4);
	expect("98" MS "create 1 50 handle\n98" MS "wait 30 50\n", false);
	tell(4);
	expect("98" MS "create 30 50 timer\n", false);
	tell(4);
	expect("98" MS "log 30 \"boards\n", false);
}

static void others_do_so(void **state)
{
	(void)state;
	/* Too few went on; or one more did nothing. */
	tell(3);
	expect("", false);
	tell(4);
	expect("98" MS "create 1 31 task\n98" MS "label 31 \"passenger 8\n98" MS
	       "create 1 41 task\n98" MS "label 41 \"call 8\n98" MS "wait 31 41\n98" MS
	       "resolve 1 41\n99" MS "switch 31\n99" MS "switch 1\n",
		false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_does_nothing),
		cmocka_unit_test(it_went_on),
		cmocka_unit_test(others_do_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
