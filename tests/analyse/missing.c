/* SPDX-License-Identifier: ISC */
/* Steps that a task left out and all others take: in a round, at a new place, or as several wake-ups became
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Main, 1, is the thread of the task 2, which should end and waits for the object 3. */
static void begin(const char *kind)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 create 1 2 task\n0 label 2 \"report\n0 should-resolve 2\n");
	story_tell("0 create 1 3 %s\n0 label 3 \"counts\n", kind);
}

/* Expects a finding that begins with a step; kind -1: that doesn't begin with this one. */
static void expect(int kind, uint64_t task, uint32_t more)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	for (int time = 300; time < 1000; time += 10)
		story_tell("%d" MS "log 1 \"beat\n", time);
	model = story_findings(&findings);
	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	if (kind >= 0) {
		assert_int_equal(step->kind, kind);
		assert_int_equal(step->task, story_task(model, task));
		assert_int_equal(step->more, more);
	} else {
		assert_true(step->kind != THRUM__STEP_MISSES_ROUND &&
			step->kind != THRUM__STEP_MERGED && step->kind != THRUM__STEP_TAKES_LOCK);
	}
	story_free(model, &findings);
}

/* ---- Rounds ------------------------------------------------------------------------------------ */

/* In each round the shards 10, 11 and 12 send a count each, in another order; the last one misses 11. */
static void tell_rounds(int rounds, const char *last)
{
	static const int order[][3] = {{10, 11, 12}, {12, 10, 11}, {11, 12, 10}};

	begin("mailbox");
	for (int i = 10; i < 13; i++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"shard %d\n", i, i, i, i, i);
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 3; i++) {
			int at = 10 * round + 2 * i + 10, shard = order[round % 3][i];

			story_tell("%d" MS "wait 2 3\n", at);
			story_tell("%d" MS "@%d signal %d 3 =1\n", at + 1, shard, shard);
			story_tell("%d" MS "read 2 3\n", at + 1);
		}
	story_tell("100" MS "wait 2 3\n%s200" MS "wait 2 3\n", last);
}

#define SIGNAL(time, shard) #time MS "@" #shard " signal " #shard " 3 =1\n" #time MS "read 2 3\n"

static void who_misses_a_round_is_named(void **state)
{
	(void)state;
	tell_rounds(3, SIGNAL(110, 10) SIGNAL(120, 12));
	expect(THRUM__STEP_MISSES_ROUND, 11, 0);
}

static void without_rounds_nobody_is(void **state)
{
	(void)state;
	/* One round shows no habit. */
	tell_rounds(1, SIGNAL(110, 10) SIGNAL(120, 12));
	expect(-1, 0, 0);
	/* Two are missing. */
	tell_rounds(3, SIGNAL(110, 10));
	expect(-1, 0, 0);
	/* One came twice. */
	tell_rounds(3, SIGNAL(110, 10) SIGNAL(120, 12) SIGNAL(130, 10));
	expect(-1, 0, 0);
	/* All have come. */
	tell_rounds(3, SIGNAL(110, 10) SIGNAL(120, 12) SIGNAL(130, 11));
	expect(-1, 0, 0);
}

/* ---- Waits that go on until each has signalled ------------------------------------------------- */

/* The task 2 waits so often for the condition 3, until the readers 10 and 11 have signalled it, and sleeps
 * then. In the last wait only 10 signals, so often. */
static void tell_long_waits(int rounds, int last, bool by_one)
{
	begin("condition");
	for (int i = 10; i < 12; i++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"reader %d\n", i, i, i, i, i);
	for (int round = 0; round < rounds; round++) {
		int at = 20 * round + 10, timer = 20 + round;

		story_tell("%d" MS "wait 2 3\n%d" MS "@10 signal 10 3 =1\n", at, at + 1);
		story_tell("%d" MS "read 2 3\n%d" MS "wait 2 3\n", at + 1, at + 1);
		story_tell("%d" MS "@%d signal %d 3 =1\n%d" MS "read 2 3\n", at + 2,
			by_one && round == 1 ? 10 : 11, by_one && round == 1 ? 10 : 11, at + 2);
		story_tell("%d" MS "create 2 %d timer\n%d" MS "wait 2 %d\n", at + 3, timer, at + 3,
			timer);
		/* Both are at work meanwhile. */
		story_tell("%d" MS "@11 signal 11 3 =0\n%d" MS "resolve 2 %d\n%d" MS "read 2 %d\n",
			at + 4, at + 5, timer, at + 5, timer);
	}
	story_tell("100" MS "wait 2 3\n");
	for (int i = 0; i < last; i++)
		story_tell("%d" MS "@10 signal 10 3 =1\n%d" MS "read 2 3\n%d" MS "wait 2 3\n",
			110 + i, 110 + i, 110 + i);
}

static void who_is_missing_in_a_wait_is_named(void **state)
{
	(void)state;
	tell_long_waits(3, 5, false);
	expect(THRUM__STEP_MISSES_ROUND, 11, 0);
}

static void nobody_is_if_waits_need_not_all(void **state)
{
	(void)state;
	/* Two waits show no habit; in one wait, one of them was enough; none has signalled. */
	tell_long_waits(2, 5, false);
	expect(-1, 0, 0);
	tell_long_waits(4, 5, true);
	expect(-1, 0, 0);
	tell_long_waits(3, 0, false);
	expect(-1, 0, 0);
	/* The other one has come, too. */
	tell_long_waits(3, 5, false);
	story_tell("120" MS "@11 signal 11 3 =1\n120" MS "read 2 3\n120" MS "wait 2 3\n");
	expect(-1, 0, 0);
}

/* ---- Places ------------------------------------------------------------------------------------ */

/* The workers 10 and 11 take the lock 4 at the places 1 and 2, and signal the condition 3 at the second.
 * In the wait that hangs, one of them takes it at this place. */
static void tell_places(const char *worker, int place, const char *more)
{
	begin("condition");
	story_tell("0 create 1 4 lock\n");
	for (int i = 10; i < 12; i++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"%s\n", i, i, i, i,
			i == 10 ? "worker" : worker);
	for (int round = 0; round < 3; round++) {
		int at = 20 * round + 10;

		story_tell("%d" MS "lock 2 4 =9\n%d" MS "unlock 2 4\n", at, at);
		story_tell("%d" MS "wait 2 3 =9\n", at);
		story_tell("%d" MS "@10 lock 10 4 =1\n%d" MS "@10 unlock 10 4\n", at + 1, at + 1);
		story_tell("%d" MS "@11 lock 11 4 =1\n%d" MS "@11 unlock 11 4\n", at + 2, at + 2);
		story_tell("%d" MS "@10 lock 10 4 =2\n%d" MS "@10 signal 10 3 =1\n", at + 3,
			at + 3);
		story_tell("%d" MS "@10 unlock 10 4\n%d" MS "read 2 3\n", at + 3, at + 4);
	}
	story_tell("100" MS "lock 2 4 =9\n100" MS "unlock 2 4\n100" MS "wait 2 3 =9\n");
	story_tell("110" MS "@10 lock 10 4 =1\n110" MS "@10 unlock 10 4\n");
	story_tell("120" MS "@11 lock 11 4 =%d\n%s120" MS "@11 unlock 11 4\n", place, more);
}

static void who_takes_the_lock_at_a_new_place_is_named(void **state)
{
	(void)state;
	tell_places("worker", 5, "");
	expect(THRUM__STEP_TAKES_LOCK, 11, 0);
}

static void who_takes_it_where_all_do_is_not(void **state)
{
	(void)state;
	tell_places("worker", 2, "");
	expect(-1, 0, 0);
	/* Nobody like it ever signalled the condition. */
	tell_places("reader", 5, "");
	expect(-1, 0, 0);
	/* It goes to wait. */
	tell_places("worker", 5, "");
	story_tell("120" MS "@11 wait 11 3\n");
	expect(-1, 0, 0);
	/* It signals the condition, but that isn't what the task waits for. */
	tell_places("worker", 5, "120" MS "@11 signal 11 3 =1\n");
	expect(-1, 0, 0);
	/* The program is at many new places. */
	tell_places("worker", 5, "");
	for (int place = 6; place < 9; place++)
		story_tell("%d0" MS "@11 lock 11 4 =%d\n%d0" MS "@11 unlock 11 4\n", 10 + place,
			place, 10 + place);
	expect(-1, 0, 0);
}

/* ---- Wake-ups ---------------------------------------------------------------------------------- */

/* Main hands over so many messages, and each time wakes the handle 5 of another loop, which runs once and
 * signals so often. */
static void tell_wake_ups(int messages, int signals)
{
	begin("condition");
	story_tell("0 @1 create - 4 thread\n0 @1 switch 4\n");
	story_tell("0 @1 create 4 5 handle\n0 @1 label 5 \"async on_parsed\n");
	for (int i = 0; i < messages; i++)
		story_tell("%d" MS "ready 2 5\n", 10 + i);
	story_tell("30" MS "wait 2 3\n40" MS "@1 switch 5\n");
	for (int i = 0; i < signals; i++)
		story_tell("%d" MS "@1 signal 5 3 =1\n%d" MS "read 2 3\n%d" MS "wait 2 3\n", 41 + i,
			41 + i, 41 + i);
	story_tell("60" MS "@1 switch 4\n");
}

static void several_wake_ups_become_one(void **state)
{
	(void)state;
	tell_wake_ups(3, 1);
	expect(THRUM__STEP_MERGED, 5, 3);
	/* It ran for each. */
	tell_wake_ups(1, 1);
	expect(-1, 0, 0);
	/* It did all that there was to do. */
	tell_wake_ups(3, 3);
	expect(-1, 0, 0);
	/* It has yet to run for the last one. */
	tell_wake_ups(3, 1);
	story_tell("70" MS "ready 2 5\n70" MS "wait 2 3\n");
	expect(-1, 0, 0);
}

/* The worker 12 hands so many messages to the handle 5 of main's loop, which runs once and posts a
 * semaphore once. The worker waits so often for that. */
static uint32_t count_when_worker_waits(int messages, int waits, struct thrum__step *step)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	uint32_t count;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 create 1 5 handle\n0 label 5 \"async on_result\n");
	story_tell("0 @12 create 1 12 thread\n0 @12 label 12 \"indexer\n0 @12 switch 12\n");
	story_tell("0 @12 create 12 3 semaphore\n0 label 3 \"taken\n");
	for (int i = 0; i < messages; i++)
		story_tell("1%d" MS "@12 ready 12 5\n", i);
	story_tell("20" MS "@12 wait 12 3\n21" MS "switch 5\n22" MS "signal 5 3 =1\n23" MS
		   "switch 1\n");
	story_tell("23" MS "suspend \"wait for work\n24" MS "@12 read 12 3\n");
	for (int i = 1; i < waits; i++)
		story_tell("25" MS "@12 wait 12 3\n25" MS "@12 suspend \"blocked\n");
	for (int time = 300; time < 1500; time += 100)
		story_tell("%d" MS "resume \"wait for work\n%d" MS "log 1 \"beat\n%d" MS
			   "suspend \"wait for work\n",
			time, time, time);
	model = story_findings(&findings);
	count = findings.count;
	if (count > 0)
		*step = findings.findings[0].steps[0];
	story_free(model, &findings);
	return count;
}

static void a_worker_expects_an_answer_to_each_wake_up(void **state)
{
	struct thrum__step step;

	(void)state;
	assert_int_equal(count_when_worker_waits(3, 2, &step), 1);
	assert_int_equal(step.kind, THRUM__STEP_MERGED);
	assert_int_equal(step.more, 3);
	/* It was answered as often as it asked, and waits for its next job. */
	assert_int_equal(count_when_worker_waits(1, 2, &step), 0);
}

/* ---- Nobody is idle ---------------------------------------------------------------------------- */

/* Main, 1, hands work to the printers 10 and 11 by the condition 5, again and again, and waits for the
 * condition 3. At last all wait; main for that reason. */
static uint32_t count_when_all_wait(const char *reason)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	uint32_t count;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 create 1 3 condition\n0 label 3 \"printed\n");
	story_tell("0 create 1 5 condition\n0 label 5 \"queued\n");
	for (int i = 10; i < 12; i++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"printer\n", i, i, i, i);
	for (int round = 0; round < 8; round++) {
		int at = 20 * round + 10, printer = 10 + round % 2;

		story_tell("%d" MS "@10 wait 10 5\n%d" MS "@11 wait 11 5\n", at, at);
		story_tell("%d" MS "signal 1 5 =2\n%d" MS "wait 1 3\n", at + 1, at + 1);
		story_tell("%d" MS "@10 read 10 5\n%d" MS "@11 read 11 5\n", at + 2, at + 2);
		story_tell("%d" MS "@%d signal %d 3 =1\n%d" MS "read 1 3\n", at + 3, printer,
			printer, at + 4);
	}
	story_tell("200" MS "signal 1 5 =0\n200" MS "wait 1 3\n200" MS "suspend \"%s\n", reason);
	for (int i = 10; i < 12; i++)
		story_tell("201" MS "@%d wait %d 5\n201" MS "@%d suspend \"blocked\n", i, i, i);
	model = story_model(story_told(), false);
	model->end = 2000000000;
	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	count = findings.count;
	story_free(model, &findings);
	return count;
}

static void the_first_thread_waits_for_no_job(void **state)
{
	(void)state;
	assert_int_equal(count_when_all_wait("blocked"), 1);
	/* Something else may wake it. */
	assert_int_equal(count_when_all_wait("blocked by the outside"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_misses_a_round_is_named),
		cmocka_unit_test(without_rounds_nobody_is),
		cmocka_unit_test(who_is_missing_in_a_wait_is_named),
		cmocka_unit_test(nobody_is_if_waits_need_not_all),
		cmocka_unit_test(who_takes_the_lock_at_a_new_place_is_named),
		cmocka_unit_test(who_takes_it_where_all_do_is_not),
		cmocka_unit_test(several_wake_ups_become_one),
		cmocka_unit_test(a_worker_expects_an_answer_to_each_wake_up),
		cmocka_unit_test(the_first_thread_waits_for_no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
