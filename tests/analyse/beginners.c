/* SPDX-License-Identifier: ISC */
/* Tasks begin only while another one is there, and now that is there no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Scans 10 and 11 run while the first drain, 20, is there; 12, 13 and 14 while the second one is, 21. The
 * main thread made all of them, and made 15 ready at 50 ms, too. A scan that runs is resolved when its index
 * is. `more` is told after that. */
static void tell(bool has_early, const char *more)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n");
	if (has_early)
		story_tell("2" MS "create 1 16 task\n2" MS "label 16 \"scan early\n2" MS
			   "switch 16\n3" MS "resolve 16 16\n3" MS "switch 1\n");
	for (int round = 0; round < 2; round++) {
		int time = 10 + 40 * round, first = round ? 12 : 10, end = round ? 15 : 12;

		for (int i = first; i < end + round; i++)
			story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"scan %c\n%d" MS
				   "should-resolve %d\n%d" MS "ready 1 %d\n",
				time, i, time, i, 'a' + i, time, i, time, i);
		story_tell("%d" MS "create 1 %d handle\n%d" MS "label %d \"drain\n", time + 1,
			20 + round, time + 1, 20 + round);
		for (int i = first; i < end; i++)
			story_tell("%d" MS "switch %d\n%d" MS "create %d %d timer\n%d" MS
				   "label %d \"index\n%d" MS "wait %d %d\n%d" MS "switch 1\n",
				time + 2, i, time + 2, i, i + 20, time + 2, i + 20, time + 2, i,
				i + 20, time + 3);
		story_tell("%d" MS "resolve 1 %d\n", time + 4, 20 + round);
		for (int i = first; i < end; i++)
			story_tell("%d" MS "resolve 1 %d\n%d" MS "switch %d\n%d" MS
				   "read %d %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
				time + 8, i + 20, time + 8, i, time + 8, i, i + 20, time + 8, i, i,
				time + 9);
	}
	story_tell("%s2000" MS "log 1 \"status\n", more);
}

/* Expects one finding, and that it tells of the second drain, or of none. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	const struct thrum__step *step;

	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == THRUM__STEP_BEGAN_OTHERS, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 21));
		assert_int_equal(step->other, story_task(model, 15));
	}
	story_free(model, &findings);
}

static void none_is_made_again(void **state)
{
	(void)state;
	tell(false, "");
	expect(true);
}

static void one_is_there(void **state)
{
	(void)state;
	tell(false, "70" MS "create 1 22 handle\n70" MS "label 22 \"drain\n");
	expect(false);
}

static void one_began_without_it(void **state)
{
	(void)state;
	tell(true, "");
	expect(false);
}

static void all_begin(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	tell(false,
		"70" MS "create 1 22 handle\n70" MS "label 22 \"drain\n71" MS "switch 15\n72" MS
		"resolve 15 15\n72" MS "switch 1\n73" MS "resolve 1 22\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_made_again),
		cmocka_unit_test(one_is_there),
		cmocka_unit_test(one_began_without_it),
		cmocka_unit_test(all_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
