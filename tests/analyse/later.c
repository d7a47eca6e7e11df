/* SPDX-License-Identifier: ISC */
/* A thread that another one joins waits for what may yet come: in time, or by several others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

#define END 3000 /* ms; then the program is killed */

/* The main thread, 1, joins a thread, 2. That waits for a condition, 3. The task `by` has signalled it: the
 * main thread, or another one, 4, which ends then; 0: nobody has. */
static void tell_joined(const char *rest, int by)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 thread\n0 label 2 \"flusher\n"
		   "0 should-resolve 2\n0 @1 create - 32 thread\n0 @1 switch 2\n"
		   "0 create 1 3 condition\n0 label 3 \"change\n"
		   "0 create 1 4 thread\n0 label 4 \"giver\n");
	for (int i = 1; i <= 4 && by > 0; i++)
		story_tell("%d" MS "@1 wait 2 3\n%d" MS "@1 suspend \"%s\n%d" MS
			   "signal %d 3 =1\n%d" MS "@1 resume \"%s\n%d" MS "@1 read 2 3\n",
			10 * i, 10 * i, rest, 10 * i + 1, by, 10 * i + 2, rest, 10 * i + 2);
	story_tell("50" MS "resolve 4 4\n");
	story_tell("60" MS "wait 1 2\n60" MS "suspend \"blocked\n70" MS "@1 wait 2 3\n70" MS
		   "@1 suspend \"%s\n",
		rest);
}

static void a_wait_that_is_limited_ends(void **state)
{
	(void)state;
	for (int by = 0; by <= 1; by++) {
		tell_joined("blocked", by);
		assert_int_equal(story_findings_if_killed(END), 1);
		tell_joined("blocked for a time", by);
		assert_int_equal(story_findings_if_killed(END), 0);
	}
	/* Nobody is left to signal it. */
	tell_joined("blocked for a time", 4);
	assert_int_equal(story_findings_if_killed(END), 1);
}

/* Jobs go from an acceptor, 6, to two runners, 4 and 5, by a condition, 21, and from these to two collectors,
 * 2 and 3, by another one, 20. The main thread joins a collector. The acceptor then waits for a connection,
 * in a call; or for something else. */
static void tell_stages(const char *kind, const char *rest)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 20 condition\n0 label 20 \"done\n"
		   "0 create 1 21 condition\n0 label 21 \"job\n");
	for (int i = 2; i <= 6; i++)
		story_tell(
			"0 create 1 %d thread\n0 label %d \"%s\n0 @%d create - %d thread\n0 @%d switch %d\n",
			i, i,
			i <= 3           ? "collector"
				: i <= 5 ? "runner"
					 : "acceptor",
			i - 1, 32 * i, i - 1, i);
	story_tell("0 should-resolve 2\n1" MS "wait 1 2\n1" MS "suspend \"blocked\n");
	for (int i = 2; i <= 5; i++)
		story_tell("2" MS "@%d wait %d %d\n2" MS "@%d suspend \"blocked\n", i - 1, i,
			i <= 3 ? 20 : 21, i - 1);
	for (int i = 0; i < 6; i++) {
		int time = 10 * (i + 1), from = 4 + i % 2, to = 2 + i % 2;

		story_tell("%d" MS "@5 signal 6 21 =2\n", time);
		for (int j = 0; j < 2; j++) {
			int task = j == 0 ? from : to, on = j == 0 ? 21 : 20, at = time + 1 + j;

			story_tell("%d" MS "@%d resume \"blocked\n%d" MS "@%d read %d %d\n", at,
				task - 1, at, task - 1, task, on);
			if (j == 0)
				story_tell("%d" MS "@%d signal %d 20 =2\n", at, task - 1, task);
			story_tell("%d" MS "@%d wait %d %d\n%d" MS "@%d suspend \"blocked\n", at,
				task - 1, task, on, at, task - 1);
		}
	}
	story_tell("80" MS "@5 create 6 30 %s\n80" MS "@5 label 30 \"accept from socket 3\n80" MS
		   "@5 wait 6 30\n80" MS "@5 suspend \"%s\n",
		kind, rest);
}

static void several_stages_of_several_workers_are_idle(void **state)
{
	(void)state;
	tell_stages("handle", "blocked by the outside");
	assert_int_equal(story_findings_if_killed(END), 0);
	tell_stages("promise", "blocked");
	assert_int_not_equal(story_findings_if_killed(END), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_is_limited_ends),
		cmocka_unit_test(several_stages_of_several_workers_are_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
