/* SPDX-License-Identifier: ISC */
/* Each change has a timer that was made right after it and ends it. The last one has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Changes 10, 11, … with timers 20, 21, … that live for 5 ms. */
static void tell(int count)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < count; i++) {
		int ms = 10 * i, change = 10 + i, timer = 20 + i;

		story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"set room\n", ms, change,
			ms, change);
		story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"apply\n%d" MS
			   "switch %d\n",
			ms, timer, ms, timer, ms + 5, timer);
		story_tell("%d" MS "resolve %d %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
			ms + 5, timer, change, ms + 5, timer, timer, ms + 5);
	}
	story_tell("90" MS "create 1 19 promise\n90" MS "label 19 \"set room\n");
}

static void expect(const char *then, const char *end, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("%s%s" MS "log 1 \"end\n", then, end);
	model = story_findings(&findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_NOT_STARTED);
		assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 19));
	}
	story_free(model, &findings);
}

static void nobody_made_its_timer(void **state)
{
	(void)state;
	tell(3);
	expect("", "900", true);
}

static void all_may_be_well(void **state)
{
	(void)state;
	/* Too few tell; it is too young; or a timer is on its way. */
	tell(2);
	expect("", "900", false);
	tell(3);
	expect("", "130", false);
	tell(3);
	expect("91" MS "create 1 29 timer\n91" MS "label 29 \"apply\n", "900", false);
}

static void others_end_otherwise(void **state)
{
	(void)state;
	tell(3);
	expect("80" MS "create 1 18 promise\n80" MS "label 18 \"set room\n81" MS "resolve 1 18\n",
		"900", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_made_its_timer),
		cmocka_unit_test(all_may_be_well),
		cmocka_unit_test(others_end_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
