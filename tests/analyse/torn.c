/* SPDX-License-Identifier: ISC */
/* Tasks that hung until the program was torn down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

static uint32_t find(const char *lines, struct thrum__finding *first)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	uint32_t count;

	assert_int_equal(thrum__why_make(model, &findings), 0);
	count = findings.count;
	if (count > 0)
		*first = findings.findings[0];
	thrum__why_free(&findings);
	thrum__model_destroy(model);
	return count;
}

/* A report waits for a query that waits for a promise, `row`. Two seconds later all are cancelled. */
#define HANGS \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "label 2 \"report\n" \
	     "1" MS "should-resolve 2\n" \
	     "2" MS "create 2 3 task\n" \
	     "2" MS "label 3 \"query\n" \
	     "3" MS "create 3 4 promise\n" \
	     "3" MS "label 4 \"row\n" \
	     "3" MS "wait 3 4\n" \
	     "4" MS "wait 2 3\n"
#define TEAR_DOWN \
	"2000" MS "cancel 1 4\n" \
	"2000" MS "cancel 1 3\n" \
	"2000" MS "cancel 1 2\n" \
	"2001" MS "log 1 \"end\n"

static void all_hangs(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS TEAR_DOWN, &finding), 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding.step_count, 3);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_WAITED);
	assert_int_equal(finding.steps[0].time, 3000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_BEHIND);
	assert_int_equal(finding.steps[2].kind, THRUM__STEP_CANCELLED);
	assert_int_equal(finding.until, 2000000000);
}

/* While others work, a task may wait for something until it is told to stop. */
static void others_work(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS "1500" MS "create 1 5 task\n"
				    "1501" MS "resolve 1 5\n" TEAR_DOWN,
				 &finding),
		0);
}

#define ROW(id, from, to) \
#from MS "create 1 " #id " promise\n" #from MS "label " #id " \"row\n" #to MS \
		 "resolve 1 " #id "\n"

/* Its peers tell that it hung, whatever others do. */
static void peers_end(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS ROW(5, 10, 12) ROW(6, 1500, 1510) TEAR_DOWN, &finding), 1);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	/* It may just be under way, or not be torn down. */
	assert_int_equal(find(HANGS ROW(5, 10, 1510) TEAR_DOWN, &finding), 0);
	assert_int_equal(find(HANGS ROW(5, 10, 12) TEAR_DOWN ROW(6, 2500, 2510), &finding), 0);
}

static void not_due_yet(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS "4" MS "due 4 =5000000000\n" TEAR_DOWN, &finding), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_hangs),
		cmocka_unit_test(others_work),
		cmocka_unit_test(peers_end),
		cmocka_unit_test(not_due_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
