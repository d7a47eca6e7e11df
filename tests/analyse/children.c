/* SPDX-License-Identifier: ISC */
/* Tasks that wait for their children, and don't say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Four requests with a query each. Each query ends before its request, or with `late`, after it. */
static void begin(bool is_late)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 3 lock\n0 label 3 \"table\n0 create 1 4 task\n0 label 4 \"backup\n");
	for (int i = 10; i < 14; i++)
		story_tell("%d0" MS "create 1 %d task\n%d0" MS "label %d \"GET %d\n%d0" MS
			   "create %d %d0 task\n%d0" MS "label %d0 \"query\n%d%d" MS
			   "resolve %d0 %d0\n%d2" MS "resolve %d %d\n",
			i, i, i, i, i, i, i, i, i, i, i, is_late ? 3 : 1, i, i, i, i, i);
}

/* The last request, whose query is pending, and what comes then. */
static void tell_last(const char *then)
{
	story_tell("150" MS "create 1 15 task\n150" MS "label 15 \"GET 15\n150" MS
		   "should-resolve 15\n150" MS "create 15 150 task\n150" MS "label 150 \"query\n"
		   "%s151" MS "switch 1\n151" MS "suspend \"wait for work\n900" MS "log - \"end\n",
		then);
}

/* Expects that the step at an index tells of the query, or that none does. */
static void expect(int at)
{
	struct thrum__model *model = story_model(story_told(), false);
	const struct thrum__finding *finding;
	struct thrum__findings findings;
	int found = -1;

	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_true(findings.count > 0);
	finding = findings.findings;
	for (int i = 0; i < finding->step_count; i++)
		if (finding->steps[i].kind == THRUM__STEP_SHOULD_GO_ON) {
			assert_int_equal(finding->steps[i].task, story_task(model, 150));
			assert_int_equal(finding->steps[i].other, story_task(model, 15));
			assert_int_equal(finding->steps[i].more, 2);
			found = i;
		}
	assert_int_equal(found, at);
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void a_child_is_pending(void **state)
{
	(void)state;
	begin(false);
	tell_last("");
	expect(0);
	/* The cause lies behind it. */
	begin(false);
	tell_last("150" MS "lock 4 3\n150" MS "wait 150 3\n");
	expect(2);
}

static void a_child_may_be_pending(void **state)
{
	(void)state;
	/* Children of others outlive them, */
	begin(true);
	tell_last("");
	expect(-1);
	/* or this one has ended. */
	begin(false);
	tell_last("150" MS "resolve 150 150\n");
	expect(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_pending),
		cmocka_unit_test(a_child_may_be_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
