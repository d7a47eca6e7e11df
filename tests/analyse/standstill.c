/* SPDX-License-Identifier: ISC */
/* A thread waits to be told of work that it gave to others. These wait for more, while a third one comes
 * round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 2000     /* ms */
#define KILL 9
#define TERM 15

/* The main thread waits for the condition 12, with the lock 11. */
static void tell_wait(int ms)
{
	story_tell("%d" MS "lock 1 11\n%d" MS "unlock 1 11\n%d" MS "wait 1 12\n%d" MS
		   "suspend \"blocked\n",
		ms, ms, ms, ms);
}

static void tell_nothing(void)
{
}

/* The main thread 1 gives work to the threads 2 and 3 by the condition 10, and waits for the condition 12,
 * which has the lock 11. Then each worker takes that lock, if `ends_late`, and waits for more. */
static void tell_pool(bool ends_late, void (*tell_before)(void))
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 thread\n0 label 2 \"worker 1\n0 create 1 3 thread\n"
		   "0 label 3 \"worker 2\n0 @1 switch 2\n0 @2 switch 3\n"
		   "0 create 1 10 condition\n0 label 10 \"has job\n"
		   "0 create 1 11 lock\n0 label 11 \"pool\n"
		   "0 create 1 12 condition\n0 label 12 \"all done\n"
		   "0 create 1 13 condition\n0 label 13 \"line\n");
	for (int ms = 1; ms < 5; ms++)
		story_tell("%d" MS "signal 1 10 =0\n", ms);
	tell_before();
	if (ends_late)
		tell_wait(6);
	for (int i = 0; i < 2; i++) {
		int lane = 1 + i, thread = 2 + i;

		story_tell("7" MS "@%d lock %d 11\n7" MS "@%d unlock %d 11\n", lane, thread, lane,
			thread);
		story_tell("8" MS "@%d wait %d 10\n8" MS "@%d suspend \"blocked\n", lane, thread,
			lane);
	}
	if (!ends_late)
		tell_wait(9);
}

/* The thread 4 sleeps each `period` ms, and does something then. */
static void tell_ticker(int period, const char *first, const char *act)
{
	story_tell(
		"15" MS "@3 create - 4 thread\n15" MS "@3 label 4 \"ticker\n15" MS "@3 switch 4\n");
	if (*first)
		story_tell("16" MS "@3 %s\n", first);
	for (int timer = 100, time = 20;; time += period, timer++) {
		story_tell("%d" MS "@3 create 4 %d timer\n%d" MS "@3 due %d =%d000000\n", time,
			timer, time, timer, period);
		story_tell("%d" MS "@3 wait 4 %d\n%d" MS "@3 suspend \"blocked for a time\n", time,
			timer, time);
		if (time + period > END)
			return;
		story_tell("%d" MS "@3 resume \"blocked for a time\n%d" MS "@3 resolve 4 %d\n",
			time + period, time + period, timer);
		story_tell("%d" MS "@3 read 4 %d\n%d" MS "@3 %s\n", time + period, timer,
			time + period, act);
	}
}

/* Expects that main's wait is told, or nothing. */
static void expect(int killed_by, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = killed_by;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		assert_int_equal(findings.findings[0].class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(findings.findings[0].task, story_task(model, 1));
	}
	story_free(model, &findings);
}

static void work_that_was_given_is_not_told_of(void **state)
{
	(void)state;
	tell_pool(true, tell_nothing);
	tell_ticker(80, "", "signal 4 13 =1");
	expect(KILL, true);
	/* It looks how much there is in the queue. */
	tell_pool(true, tell_nothing);
	tell_ticker(80, "lock 4 11\n16" MS "@3 unlock 4 11", "read 4 13");
	expect(KILL, true);
}

/* The workers told of work that was done before, for which the main thread waited, and gave each other
 * work. */
static void tell_earlier(void)
{
	story_tell("4" MS "wait 1 12\n4" MS "suspend \"blocked\n4" MS "@2 signal 3 10 =0\n5" MS
		   "@1 signal 2 10 =0\n5" MS "@1 signal 2 12 =0\n5" MS "@2 signal 3 12 =1\n5" MS
		   "resume \"blocked\n5" MS "read 1 12\n");
}

static void the_last_work_is_not_told_of(void **state)
{
	(void)state;
	tell_pool(true, tell_earlier);
	tell_ticker(80, "", "signal 4 13 =1");
	expect(KILL, true);
	/* The ticker told of such work, too. */
	tell_pool(true, tell_earlier);
	tell_ticker(80, "signal 4 12 =0", "signal 4 13 =1");
	expect(KILL, false);
}

static void another_thread_may_act(void **state)
{
	(void)state;
	/* It gave work, too. */
	tell_pool(true, tell_nothing);
	tell_ticker(80, "signal 4 10 =0", "signal 4 13 =1");
	expect(KILL, false);
	/* It came round but a few times. */
	tell_pool(true, tell_nothing);
	tell_ticker(400, "", "signal 4 13 =1");
	expect(KILL, false);
	/* It began a thread meanwhile. */
	tell_pool(true, tell_nothing);
	tell_ticker(80, "create 4 5 thread", "signal 4 13 =1");
	expect(KILL, false);
}

static void the_program_may_be_idle(void **state)
{
	(void)state;
	/* Main waits for its end, perhaps: the workers did nothing since. */
	tell_pool(false, tell_nothing);
	tell_ticker(80, "", "signal 4 13 =1");
	expect(KILL, false);
	/* Somebody ends it, as one that is well. */
	tell_pool(true, tell_nothing);
	tell_ticker(80, "", "signal 4 13 =1");
	expect(TERM, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_that_was_given_is_not_told_of),
		cmocka_unit_test(the_last_work_is_not_told_of),
		cmocka_unit_test(another_thread_may_act),
		cmocka_unit_test(the_program_may_be_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
