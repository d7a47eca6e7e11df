/* SPDX-License-Identifier: ISC */
/* An item that a thread of a pipeline doesn't hand on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* An item is made by main, and runs in the threads 2 and 3 (lanes 1 and 2), as far as it is said. */
static void tell_item(int item, int at, bool has_second, bool is_ready, bool has_third)
{
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"item %d\n%d" MS
		   "should-resolve %d\n",
		at, item, at, item, item, at, item);
	if (has_second)
		story_tell("%d" MS "@1 switch %d\n%d" MS "@1 switch 2\n", at + 1, item, at + 2);
	if (is_ready)
		story_tell("%d" MS "@1 ready 2 %d\n", at + 3, item);
	if (has_third)
		story_tell("%d" MS "@2 switch %d\n%d" MS "@2 resolve %d %d\n%d" MS "@2 switch 3\n",
			at + 4, item, at + 4, item, item, at + 5);
}

static void tell_items(int count)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"check\n0 @1 switch 2\n"
		   "0 @2 create - 3 thread\n0 @2 label 3 \"write\n0 @2 switch 3\n");
	for (int i = 0; i < count; i++)
		tell_item(10 + i, 10 * i, true, true, true);
}

/* Expects that the only finding says that the thread 2 ran the item 50 last, or that it doesn't say so. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	for (int lane = 0; lane < 3; lane++)
		story_tell("80" MS "@%d suspend \"wait for work\n", lane);
	story_tell("2900" MS "@3 log - \"end\n");
	model = story_model(story_told(), false);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == THRUM__STEP_SHOULD_GO_ON && step->more == 1, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 2));
		assert_int_equal(step->other, story_task(model, 50));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void a_thread_keeps_an_item(void **state)
{
	(void)state;
	tell_items(4);
	tell_item(50, 60, true, false, false);
	expect(true);
}

static void it_was_handed_on(void **state)
{
	(void)state;
	/* It lies in the next queue, */
	tell_items(4);
	tell_item(50, 60, true, true, false);
	expect(false);
	/* or still in the first; */
	tell_items(4);
	tell_item(50, 60, false, false, false);
	expect(false);
	/* or others weren't handed on, either, or are too few. */
	tell_items(4);
	tell_item(20, 40, true, false, false);
	story_tell("45" MS "resolve 1 20\n");
	tell_item(50, 60, true, false, false);
	expect(false);
	tell_items(2);
	tell_item(50, 60, true, false, false);
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_keeps_an_item),
		cmocka_unit_test(it_was_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
