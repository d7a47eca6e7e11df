/* SPDX-License-Identifier: ISC */
/* Tasks with a mailbox each ask one another, and one gives no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* In each election main asks the fiber 10 or 11, in turn, which asks the other one and the fiber 12. When it
 * has both answers, it ends the election. In the last one the fiber 12 doesn't answer; or it does so, but
 * nobody ends the election. */
static void tell_election(int number, bool answers, bool ends)
{
	int ms = 20 * number, task = 40 + number, first = 10 + number % 2, second = 21 - first;

	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"election %d\n%d" MS
		   "should-resolve %d\n%d" MS "signal 1 %d =1\n%d" MS "read %d %d\n",
		ms, task, ms, task, number, ms, task, ms, first + 10, ms + 1, first, first + 10);
	story_tell("%d" MS "signal %d %d =1\n%d" MS "signal %d 22 =1\n%d" MS "wait %d %d\n", ms + 1,
		first, second + 10, ms + 1, first, ms + 2, first, first + 10);
	for (int i = 0; i < 2; i++) {
		int one = i == 0 ? second : 12;

		story_tell("%d" MS "read %d %d\n", ms + 3 + i, one, one + 10);
		if (i == 0 || answers)
			story_tell("%d" MS "signal %d %d =1\n", ms + 3 + i, one, first + 10);
		story_tell("%d" MS "wait %d %d\n", ms + 4 + i, one, one + 10);
		if (i == 0 || answers)
			story_tell("%d" MS "read %d %d\n%d" MS "wait %d %d\n", ms + 6 + i, first,
				first + 10, ms + 6 + i, first, first + 10);
	}
	if (ends)
		story_tell("%d" MS "resolve %d %d\n", ms + 8, first, task);
}

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < 3; i++)
		story_tell("0 create 1 %d fiber\n0 label %d \"replica %d\n"
			   "0 create 1 %d mailbox\n0 label %d \"inbox %d\n0 wait %d %d\n",
			10 + i, 10 + i, i, 20 + i, 20 + i, i, 10 + i, 20 + i);
}

/* Expects that some finding begins with the fiber 12, which leaves out a signal of the mailbox 21, as it gave
 * so many others; 0: none does so. */
static void expect(uint32_t others)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_told = false;

	story_tell("2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__step *step = findings.findings[i].steps;

		if (step->kind != THRUM__STEP_LEAVES_OUT)
			continue;
		is_told = true;
		assert_int_equal(step->task, story_task(model, 12));
		assert_int_equal(step->other, story_task(model, 21));
		assert_int_equal(step->more, others);
	}
	assert_int_equal(is_told, others > 0);
	story_free(model, &findings);
}

static void one_gives_no_answer(void **state)
{
	(void)state;
	begin();
	for (int i = 1; i <= 4; i++)
		tell_election(i, true, true);
	tell_election(5, false, false);
	expect(4);
}

static void all_answer(void **state)
{
	(void)state;
	begin();
	for (int i = 1; i <= 4; i++)
		tell_election(i, true, true);
	tell_election(5, true, false);
	expect(0);
}

static void it_did_so_before(void **state)
{
	(void)state;
	begin();
	for (int i = 1; i <= 5; i++)
		tell_election(i, i != 2, true);
	tell_election(7, false, false);
	expect(0);
}

static void others_end_them(void **state)
{
	(void)state;
	begin();
	for (int i = 1; i <= 4; i++) {
		tell_election(i, true, false);
		story_tell("%d" MS "resolve 1 %d\n", 20 * i + 9, 40 + i);
	}
	tell_election(5, false, false);
	expect(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_gives_no_answer),
		cmocka_unit_test(all_answer),
		cmocka_unit_test(it_did_so_before),
		cmocka_unit_test(others_end_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
