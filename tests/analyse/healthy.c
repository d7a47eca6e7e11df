/* SPDX-License-Identifier: ISC */
/* Waits that look like a hang, and may be none: each beside one that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define NOTHING (-1)

/* Expects one finding of this certainty, or none. */
static void expect(int certainty)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("9000" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, certainty == NOTHING ? 0 : 1);
	if (certainty != NOTHING)
		assert_int_equal(findings.findings[0].certainty, certainty);
	story_free(model, &findings);
}

/* The main thread joins a thread 2 from 40 ms on. */
static void begin(const char *join)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"0 @1 create - 12 thread\n0 create 1 2 thread\n0 label 2 \"worker\n0 @1 switch 2\n"
		"%s",
		join);
}

#define JOIN "40" MS "should-resolve 2\n40" MS "wait 1 2\n40" MS "suspend \"blocked\n"

/* The thread 2 reads a pipe. If handlers may write, the recording says that it waits for the outside; what
 * the main thread writes while it rests, a handler writes. Until then it may as well be forgotten. */
static void a_handler_may_write_to_a_pipe(void **state)
{
	(void)state;
	for (int writes = 0; writes < 2; writes++) {
		begin("0 create 1 3 stream\n0 label 3 \"pipe 4 to 3\n");
		story_tell("1" MS "@1 wait 2 3\n1" MS "@1 suspend \"blocked by the outside\n" JOIN);
		if (writes)
			story_tell("50" MS "signal 1 3 =1\n50" MS "@1 resume\n50" MS
				   "@1 read 2 3\n51" MS "@1 wait 2 3\n51" MS
				   "@1 suspend \"blocked by the outside\n");
		expect(writes ? NOTHING : THRUM__POSSIBLE);
	}
	/* There is no handler. */
	begin("0 create 1 3 stream\n0 label 3 \"pipe 4 to 3\n");
	story_tell("1" MS "@1 wait 2 3\n1" MS "@1 suspend \"blocked\n" JOIN);
	expect(THRUM__LIKELY);
}

/* Nobody knows for how long a thread computes, unless its like took far less. */
static void a_thread_may_compute(void **state)
{
	(void)state;
	begin(JOIN);
	expect(NOTHING);
	/* It waits for a task that nobody ends. */
	begin("1" MS "@1 create 2 3 promise\n1" MS "@1 label 3 \"answer\n1" MS "@1 wait 2 3\n1" MS
	      "@1 suspend \"blocked\n" JOIN);
	expect(THRUM__LIKELY);
}

/* The thread 2 sleeps six times in one place, and then for a minute. */
static void a_thread_may_sleep_for_long(void **state)
{
	(void)state;
	for (int is_call = 0; is_call < 2; is_call++) {
		begin("");
		for (int i = 0; i < 7; i++) {
			int task = 20 + i, ms = 1 + 3 * i;

			story_tell("%d" MS "@1 create 2 %d timer =5\n%d" MS
				   "@1 label %d \"nap\n%d" MS "@1 due %d =%lld\n%d" MS
				   "@1 wait 2 %d\n",
				ms, task, ms, task, ms, task,
				i < 6 ? (ms + 2) * 1000000LL : 60000000000LL, ms, task);
			if (is_call)
				story_tell("%d" MS "@1 suspend \"blocked for a time\n", ms);
			if (i < 6 && is_call)
				story_tell("%d" MS "@1 resume\n", ms + 2);
			if (i < 6)
				story_tell("%d" MS "@1 resolve 2 %d\n%d" MS "@1 read 2 %d\n",
					ms + 2, task, ms + 2, task);
		}
		story_tell(JOIN);
		/* A timer of a loop that is set by a mistake looks the same, but for the call. */
		expect(is_call ? NOTHING : THRUM__LIKELY);
	}
}

/* A task has a permit, and waits for a second one; others may give back the first in its name. */
static void others_release_a_permit(void **state)
{
	(void)state;
	for (int is_freed = 0; is_freed < 2; is_freed++) {
		story_begin();
		story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
			   "0 create 1 3 semaphore\n0 label 3 \"window\n0 create 1 2 task\n"
			   "0 label 2 \"GET\n0 should-resolve 2\n");
		for (int i = 0; i < 3; i++) {
			story_tell("%d0" MS "switch 2\n%d0" MS "lock 2 3\n", i + 1, i + 1);
			if (i < 2 && !is_freed)
				story_tell("%d5" MS "unlock 2 3\n%d5" MS "switch 1\n", i + 1,
					i + 1);
			else
				story_tell("%d3" MS "wait 2 3\n%d3" MS "switch 1\n", i + 1, i + 1);
			if (i < 2 && is_freed)
				story_tell("%d5" MS "switch 2\n%d5" MS "unlock 2 3\n", i + 1,
					i + 1);
		}
		story_tell("50" MS "suspend \"wait for work\n");
		expect(is_freed ? NOTHING : THRUM__CERTAIN);
	}
}

/* Where one thread did nothing so far, it may be to run the task that never ran. */
static void a_thread_may_yet_begin(void **state)
{
	(void)state;
	for (int is_new = 0; is_new < 2; is_new++) {
		story_begin();
		story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 task\n"
			   "0 label 2 \"view\n0 create 1 3 join\n0 label 3 \"close\n"
			   "0 should-resolve 3\n1 wait 3 2\n2 wait 1 3\n2 suspend \"blocked\n");
		if (is_new)
			story_tell(
				"3 @1 create - 12 thread\n3 @1 label 12 \"session\n3 @1 switch 12\n");
		expect(is_new ? THRUM__POSSIBLE : THRUM__LIKELY);
	}
}

/* A child's program may be another one than before. */
static void a_child_may_take_long(void **state)
{
	(void)state;
	for (int is_child = 0; is_child < 2; is_child++) {
		const char *name = is_child ? "process" : "query";

		begin("");
		for (int i = 0; i < 6; i++) {
			story_tell("%d" MS "@1 create 2 %d request =5\n%d" MS
				   "@1 label %d \"%s %d\n%d" MS "@1 wait 2 %d\n",
				1 + 3 * i, 20 + i, 1 + 3 * i, 20 + i, name, 70 + i, 1 + 3 * i,
				20 + i);
			if (i < 5)
				story_tell("%d" MS "@1 resolve 2 %d\n%d" MS "@1 read 2 %d\n",
					3 + 3 * i, 20 + i, 3 + 3 * i, 20 + i);
		}
		story_tell(JOIN);
		expect(is_child ? NOTHING : THRUM__LIKELY);
	}
}

/* Eight signalled a condition and ended, but for one. A thread awaits its first signal, or has ended. */
static void a_signal_may_come(void **state)
{
	(void)state;
	for (int is_awaited = 0; is_awaited < 2; is_awaited++) {
		begin("0 create 1 3 condition =7\n0 label 3 \"changed\n");
		story_tell(
			"0 @2 create - 13 thread\n0 @2 create 1 4 thread\n0 @2 label 4 \"signals\n"
			"0 @2 switch 4\n0 @2 create 4 5 handle\n0 @2 label 5 \"a signal\n"
			"0 @2 wait 4 5\n0 @2 suspend \"blocked by the outside\n");
		if (!is_awaited)
			story_tell("1" MS "@2 resume\n1" MS "@2 read 4 5\n1" MS "@2 resolve 4 4\n");
		for (int i = 0; i < 8; i++) {
			int ms = 2 + 3 * i;

			story_tell("%d" MS "@1 wait 2 3\n%d" MS "@%d create - %d thread =8\n%d" MS
				   "@%d label %d \"job\n%d" MS "@%d switch %d\n",
				ms, ms, 3 + i, 20 + i, ms, 3 + i, 20 + i, ms, 3 + i, 20 + i);
			if (i != 5)
				story_tell("%d" MS "@%d signal %d 3 =1\n%d" MS "@1 read 2 3\n",
					ms + 1, 3 + i, 20 + i, ms + 1);
			story_tell("%d" MS "@%d resolve %d %d\n", ms + 2, 3 + i, 20 + i, 20 + i);
		}
		story_tell("30" MS "@1 wait 2 3\n30" MS "@1 suspend \"blocked\n" JOIN);
		expect(is_awaited ? NOTHING : THRUM__LIKELY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handler_may_write_to_a_pipe),
		cmocka_unit_test(a_thread_may_compute),
		cmocka_unit_test(a_thread_may_sleep_for_long),
		cmocka_unit_test(others_release_a_permit),
		cmocka_unit_test(a_thread_may_yet_begin),
		cmocka_unit_test(a_child_may_take_long),
		cmocka_unit_test(a_signal_may_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
