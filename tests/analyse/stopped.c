/* SPDX-License-Identifier: ISC */
/* Timers that a task stopped which has nothing to do with those who wait for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define ROUND 12     /* ms */
#define NEVER "=9223372036854775807\n"

static int end = 2000; /* ms */

/* Expects the timer 5 to be told first, stopped by the task 4, or not. */
static void expect(bool is_told, uint32_t more, int count)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	for (int time = 100; time < end; time += 10)
		story_tell("%d" MS "log 1 \"beat\n", time);
	model = story_findings(&findings);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(step->kind == THRUM__STEP_CANCELLED_MEANWHILE, is_told);
		if (is_told) {
			assert_int_equal(step->task, story_task(model, 5));
			assert_int_equal(step->other, story_task(model, 4));
			assert_int_equal(step->more, more);
		}
	}
	story_free(model, &findings);
}

/* ---- Timers that rest ---------------------------------------------------------------------------- */

/* The task 3 waits for each turn of the timer 5, which comes so often. Another task, 4, has its own timer. */
static void tell_turns(int times)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 join\n"
		"0 label 2 \"collect\n0 should-resolve 2\n0 create 1 3 task\n"
		"0 label 3 \"session south\n0 create 1 4 task\n0 label 4 \"session north\n"
		"0 wait 2 3\n0 create 1 5 timer\n0 label 5 \"timer of south\n"
		"0 create 1 6 timer\n0 label 6 \"timer of north\n0 due 6 =75000000\n0 wait 4 6\n");
	for (int i = 0; i < times; i++)
		story_tell("%d" MS "due 5 =10000000\n%d" MS "wait 3 5\n%d" MS "switch 3\n%d" MS
			   "read 3 5\n%d" MS "switch 1\n",
			ROUND * i, ROUND * i, ROUND * i + 10, ROUND * i + 10, ROUND * i + 11);
	story_tell("%d" MS "due 5 =10000000\n%d" MS "wait 3 5\n", ROUND * times, ROUND * times);
}

static void a_timer_that_a_stranger_stopped_is_told(void **state)
{
	(void)state;
	tell_turns(6);
	story_tell("74" MS "switch 4\n75" MS "due 5 " NEVER "75" MS "cancel 4 6\n75" MS
		   "resolve 4 4\n76" MS "switch 1\n");
	expect(true, 1, 1);
}

static void one_that_may_be_set_again_is_not(void **state)
{
	(void)state;
	/* The one that stopped it goes on. */
	tell_turns(6);
	story_tell("74" MS "switch 4\n75" MS "due 5 " NEVER "76" MS "switch 1\n");
	expect(false, 0, 0);
	/* It was stopped before the wait. */
	tell_turns(6);
	story_tell("74" MS "switch 4\n75" MS "due 5 " NEVER "75" MS "resolve 4 4\n76" MS
		   "switch 1\n77" MS "wait 3 5\n");
	expect(false, 0, 0);
	/* The waiter stopped it, or the thread itself. */
	tell_turns(6);
	story_tell("75" MS "switch 3\n75" MS "due 5 " NEVER "76" MS "switch 1\n");
	expect(false, 0, 0);
	tell_turns(6);
	story_tell("75" MS "due 5 " NEVER);
	expect(false, 0, 0);
	/* It was set seldom; it rested before; it runs again. */
	tell_turns(2);
	story_tell(
		"74" MS "switch 4\n75" MS "due 5 " NEVER "75" MS "resolve 4 4\n76" MS "switch 1\n");
	expect(false, 0, 0);
	tell_turns(6);
	story_tell("73" MS "due 5 " NEVER "73" MS "due 5 =10000000\n74" MS "switch 4\n75" MS
		   "due 5 " NEVER "75" MS "resolve 4 4\n76" MS "switch 1\n");
	expect(false, 0, 0);
	tell_turns(6);
	story_tell("74" MS "switch 4\n75" MS "due 5 " NEVER "75" MS "resolve 4 4\n76" MS
		   "switch 1\n77" MS "due 5 =5000000000\n");
	expect(false, 0, 0);
	/* It has not rested for long. */
	tell_turns(6);
	end = 900;
	story_tell(
		"74" MS "switch 4\n75" MS "due 5 " NEVER "75" MS "resolve 4 4\n76" MS "switch 1\n");
	expect(false, 0, 0);
	end = 2000;
}

/* ---- Time limits ----------------------------------------------------------------------------------- */

/* The task 3 should end and waits for an answer, 7, or the timer 5, whichever comes first. */
static void tell_limit(const char *more)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 4 task\n"
		"0 label 4 \"session dave\n0 create 1 3 task\n0 label 3 \"session bob\n"
		"0 should-resolve 3\n0 create 3 5 timer\n0 label 5 \"limit of bob\n0 due 5 =50000000\n"
		"0 create 3 7 request\n0 label 7 \"lease of bob\n0 create 3 8 choose\n"
		"0 label 8 \"exchange of bob\n0 wait 8 7\n0 wait 8 5\n0 wait 3 8\n%s",
		more);
}

static void a_limit_that_a_stranger_cancelled_is_told(void **state)
{
	(void)state;
	tell_limit("20" MS "switch 4\n20" MS "cancel 4 5\n20" MS "resolve 4 4\n20" MS "switch 1\n");
	expect(true, 0, 1);
}

static void one_that_its_own_task_cancelled_is_not(void **state)
{
	(void)state;
	tell_limit("20" MS "switch 3\n20" MS "cancel 3 5\n20" MS "switch 1\n");
	expect(false, 0, 1);
	tell_limit("20" MS "cancel 1 5\n");
	expect(false, 0, 1);
	tell_limit("");
	expect(false, 0, 1);
}

/* ---- Timers to try again ---------------------------------------------------------------------------- */

/* Messages, from 20 on, each of which has a timer to be sent again, from 40 on. The first ones are
 * acknowledged. The task 3 waits for the message 24, whose timer becomes 5. Another message, 4, begins
 * later. */
static void tell_messages(int cancelled, const char *more)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 3 join\n"
		   "0 label 3 \"upload\n0 should-resolve 3\n");
	for (int i = 0; i < 4; i++) {
		story_tell("%d" MS "create 3 %d =1 request\n", i, 20 + i);
		story_tell("%d" MS "label %d \"message %d\n", i, 20 + i, i);
		story_tell("%d" MS "create %d %d =2 timer\n", i, 20 + i, 40 + i);
		if (i < cancelled)
			story_tell("%d" MS "cancel %d %d\n", i, 20 + i, 40 + i);
		story_tell("%d" MS "resolve %d %d\n", i, 20 + i, 20 + i);
	}
	story_tell("10" MS "create 3 24 =1 request\n10" MS "label 24 \"message 24\n10" MS
		   "create 24 5 =2 timer\n10" MS "label 5 \"again 24\n10" MS "wait 3 24\n");
	story_tell("20" MS "create 3 4 =1 request\n20" MS "label 4 \"message 25\n20" MS
		   "create 4 6 =2 timer\n%s",
		more);
}

static void a_timer_to_try_again_that_another_cancelled_is_told(void **state)
{
	(void)state;
	tell_messages(4,
		"30" MS "switch 4\n30" MS "cancel 4 5\n30" MS "resolve 4 4\n30" MS "switch 1\n");
	expect(true, 1, 1);
}

static void one_that_may_be_tried_again_is_not(void **state)
{
	(void)state;
	/* The message tries again after that. */
	tell_messages(4,
		"30" MS "switch 4\n30" MS "cancel 4 5\n30" MS "resolve 4 4\n30" MS "switch 1\n40" MS
		"switch 24\n41" MS "switch 1\n");
	expect(false, 0, 1);
	/* Its own task cancelled it, or the thread. */
	tell_messages(4, "30" MS "switch 24\n30" MS "cancel 24 5\n30" MS "switch 1\n");
	expect(false, 0, 1);
	tell_messages(4, "30" MS "cancel 1 5\n");
	expect(false, 0, 1);
	/* Others cancel each other's, too. */
	tell_messages(3,
		"25" MS "cancel 20 43\n30" MS "switch 4\n30" MS "cancel 4 5\n30" MS
		"resolve 4 4\n30" MS "switch 1\n");
	expect(false, 0, 1);
	/* Too few were cancelled. */
	tell_messages(2,
		"30" MS "switch 4\n30" MS "cancel 4 5\n30" MS "resolve 4 4\n30" MS "switch 1\n");
	expect(false, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_that_a_stranger_stopped_is_told),
		cmocka_unit_test(one_that_may_be_set_again_is_not),
		cmocka_unit_test(a_limit_that_a_stranger_cancelled_is_told),
		cmocka_unit_test(one_that_its_own_task_cancelled_is_not),
		cmocka_unit_test(a_timer_to_try_again_that_another_cancelled_is_told),
		cmocka_unit_test(one_that_may_be_tried_again_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
