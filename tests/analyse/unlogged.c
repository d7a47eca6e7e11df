/* SPDX-License-Identifier: ISC */
/* A task waits for a handle, and lacks the log line that its like wrote in that state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define RELAYS 3

/* Relays 10, 11 and 12 wait for their origins, 20, 21 and 22, after each of two rounds of 20 ms, in which
 * they are paused and resumed. Relay 11 is paused in the first round and not resumed. The others end at
 * 50 ms. Relay 10 is paused once more at 45 ms, and then `odd` is told, if that isn't NULL. There is a line
 * at `end` ms. */
static void tell(const char *odd, int end)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n");
	for (int i = 0; i < RELAYS; i++)
		story_tell("1" MS "create 1 %d task\n1" MS "label %d \"relay %d\n1" MS
			   "should-resolve %d\n1" MS "create 1 %d handle\n1" MS
			   "label %d \"origin %d\n",
			10 + i, 10 + i, i, 10 + i, 20 + i, 20 + i, i);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < RELAYS; i++) {
			int time = 5 + 20 * round, relay = 10 + i;

			if (relay == 11 && round > 0)
				continue;
			story_tell("%d" MS "switch %d\n%d" MS "log %d \"paused\n%d" MS "switch 1\n",
				time, relay, time, relay, time + 1);
			if (relay != 11)
				story_tell("%d" MS "switch %d\n%d" MS "log %d \"resumed\n%d" MS
					   "switch 1\n",
					time + 10, relay, time + 10, relay, time + 11);
			story_tell("%d" MS "wait %d %d\n", time + 11, relay, relay + 10);
		}
	if (odd)
		story_tell("45" MS "log 10 \"paused\n45" MS "%s", odd);
	for (int i = 0; i < RELAYS; i += 2)
		story_tell("50" MS "resolve 1 %d\n50" MS "resolve 1 %d\n", 20 + i, 10 + i);
	story_tell("%d" MS "log 1 \"status\n", end);
}

/* Expects that relay 11 is told to lack a line, or that all is well. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);

	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step->kind, THRUM__STEP_DOESNT_LOG);
		assert_int_equal(step->task, story_task(model, 11));
		assert_string_equal(thrum__model_string(model, THRUM__NOTE(model, step->more, text),
					    NULL),
			"resumed");
	}
	story_free(model, &findings);
}

static void a_line_is_missing(void **state)
{
	(void)state;
	tell(NULL, 2000);
	expect(true);
}

static void it_may_be_written_soon(void **state)
{
	(void)state;
	tell(NULL, 300);
	expect(false);
}

static void another_one_lacks_it_too(void **state)
{
	(void)state;
	tell("log 1 \"nothing\n", 2000);
	expect(false);
}

static void other_lines_follow_as_well(void **state)
{
	(void)state;
	tell("log 10 \"closing\n", 2000);
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_missing),
		cmocka_unit_test(it_may_be_written_soon),
		cmocka_unit_test(another_one_lacks_it_too),
		cmocka_unit_test(other_lines_follow_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
