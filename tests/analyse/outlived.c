/* SPDX-License-Identifier: ISC */
/* A process ends before others of the trace: its tasks are judged by the time at which it ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define DIED 100     /* ms */
#define END 4000     /* ms */

/* A thread (1) sleeps or asks again and again, and a thread of another process (2) works until the end. */
static void tell(const char *kind, const char *name, bool is_due)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"client\n0 switch 1\n0 @1 create - 2 thread\n"
		   "0 @1 label 2 \"other\n0 @1 switch 2\n0 should-resolve 1\n");
	for (int i = 0; i < 5; i++) {
		int ms = 10 + 20 * i, task = 10 + i;

		story_tell("%d" MS "create 1 %d %s\n%d" MS "label %d \"%s\n", ms, task, kind, ms,
			task, name);
		if (is_due)
			story_tell("%d" MS "due %d =%d000000\n", ms, task, ms + 15);
		story_tell("%d" MS "wait 1 %d\n%d" MS "suspend \"blocked%s\n", ms, task, ms,
			is_due ? " for a time" : " by the outside");
		if (i < 4)
			story_tell("%d" MS "resume \"blocked%s\n%d" MS "resolve %d %d\n%d" MS
				   "read 1 %d\n",
				ms + 15, is_due ? " for a time" : " by the outside", ms + 15, task,
				task, ms + 15, task);
	}
}

static void expect(bool has_died, uint32_t count)
{
	if (has_died)
		story_tell("%d" MS "suspend \"the process has ended\n", DIED);
	story_tell("%d" MS "@1 log 2 \"works\n", END - 1);
	assert_int_equal(story_findings_if_killed(END), count);
}

static void a_sleep_of_an_ended_process(void **state)
{
	(void)state;
	tell("timer", "sleep 15.000 ms", true);
	expect(true, 0);
	tell("timer", "sleep 15.000 ms", true);
	expect(false, 1);
}

static void a_question_of_an_ended_process(void **state)
{
	(void)state;
	tell("request", "ask the server", false);
	expect(true, 0);
	tell("request", "ask the server", false);
	expect(false, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleep_of_an_ended_process),
		cmocka_unit_test(a_question_of_an_ended_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
