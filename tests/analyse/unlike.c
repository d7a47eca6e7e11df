/* SPDX-License-Identifier: ISC */
/* A task hangs, and its own turns are unlike those of others like it. Twins of the stories lack that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell("0 create 1 2 semaphore\n0 label 2 \"slots\n");
}

/* Expects that the first step of the only finding is of this kind, with so much more to tell, and about this
 * task; or that it isn't. */
static void expect(int kind, uint32_t more, uint64_t task, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == kind && step->more == more, is_told);
	if (is_told)
		assert_int_equal(step->task, story_task(model, task));
	story_free(model, &findings);
}

static void tell_task(int ms, int task, const char *name)
{
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"%s %d\n", ms, task, ms, task, name,
		task);
}

/* ---- Woken in vain ---------------------------------------------------------------------------- */

/* Downloads wait for a slot, are woken, take it, and give it back; then the last one waits. */
static void tell_downloads(int count, const char *then)
{
	begin();
	for (int i = 0; i < count; i++) {
		int ms = 10 * i, task = 10 + i;

		tell_task(ms, task, "download");
		story_tell("%d" MS "wait %d 2\n%d" MS "ready 1 %d\n%d" MS "switch %d\n%d" MS
			   "lock %d 2\n%d" MS "unlock %d 2\n%d" MS "resolve %d %d\n%d" MS
			   "switch 1\n",
			ms + 1, task, ms + 2, task, ms + 3, task, ms + 3, task, ms + 4, task,
			ms + 4, task, task, ms + 5);
	}
	tell_task(90, 30, "download");
	story_tell("90" MS "should-resolve 30\n91" MS "wait 30 2\n%s", then);
}

static void it_takes_none(void **state)
{
	(void)state;
	tell_downloads(4, "92" MS "ready 1 30\n93" MS "switch 30\n94" MS "switch 1\n");
	expect(THRUM__STEP_WOKEN_INSTEAD, 4, 30, true);
}

static void others_have_it(void **state)
{
	(void)state;
	tell_downloads(4,
		"92" MS "ready 1 30\n93" MS "switch 30\n94" MS "switch 1\n"
		"95" MS "create 1 31 task\n95" MS "switch 31\n95" MS "lock 31 2\n"
		"96" MS "switch 1\n");
	expect(THRUM__STEP_WOKEN_INSTEAD, 4, 30, false);
}

static void it_took_one(void **state)
{
	(void)state;
	tell_downloads(4,
		"92" MS "ready 1 30\n93" MS "switch 30\n93" MS "lock 30 2\n94" MS
		"unlock 30 2\n94" MS "switch 1\n");
	expect(THRUM__STEP_WOKEN_INSTEAD, 4, 30, false);
}

static void few_took_one(void **state)
{
	(void)state;
	tell_downloads(3, "92" MS "ready 1 30\n93" MS "switch 30\n94" MS "switch 1\n");
	expect(THRUM__STEP_WOKEN_INSTEAD, 4, 30, false);
}

/* Downloads take a slot, give it back and end, but perhaps the third one takes none. The last one may take
 * one, or another task has it. */
static void tell_takers(bool all_take, bool takes, bool is_held)
{
	begin();
	for (int i = 0; i < 5; i++) {
		int ms = 10 * i, task = 10 + i;

		tell_task(ms, task, "download");
		if (all_take || i != 2)
			story_tell("%d" MS "lock %d 2\n%d" MS "unlock %d 2\n", ms + 1, task, ms + 2,
				task);
		story_tell("%d" MS "resolve %d %d\n", ms + 3, task, task);
	}
	tell_task(90, 30, "download");
	story_tell("90" MS "should-resolve 30\n");
	if (takes)
		story_tell("91" MS "lock 30 2\n92" MS "unlock 30 2\n");
	if (is_held)
		story_tell("93" MS "create 1 31 task\n93" MS "lock 31 2\n");
}

static void it_never_took_one(void **state)
{
	(void)state;
	tell_takers(true, false, false);
	expect(THRUM__STEP_NEVER_READY, 5, 30, true);
	tell_takers(false, false, false);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
	tell_takers(true, true, false);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
	tell_takers(true, false, true);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
}

/* Others take so many permits after it that its own is far back. */
static void it_took_one_long_ago(void **state)
{
	(void)state;
	begin();
	tell_task(1, 30, "download");
	story_tell("1" MS "should-resolve 30\n2" MS "lock 30 2\n2" MS "unlock 30 2\n"
		   "3" MS "create 1 31 task\n3" MS "label 31 \"upload\n");
	for (int i = 0; i < 600; i++)
		story_tell("4" MS "lock 31 2\n4" MS "unlock 31 2\n");
	for (int i = 0; i < 5; i++) {
		tell_task(5 + i, 10 + i, "download");
		story_tell("%d" MS "lock %d 2\n%d" MS "unlock %d 2\n%d" MS "resolve %d %d\n", 5 + i,
			10 + i, 5 + i, 10 + i, 5 + i, 10 + i, 10 + i);
	}
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
}

/* ---- Never ready ------------------------------------------------------------------------------- */

/* Links are made ready and run, or the third one just runs. The last one may be made ready. */
static void tell_links(int count, bool all_ready, bool is_ready)
{
	begin();
	for (int i = 0; i < count; i++) {
		tell_task(10 * i, 10 + i, "link");
		if (all_ready || i != 2)
			story_tell("%d" MS "ready 1 %d\n", 10 * i + 1, 10 + i);
		story_tell("%d" MS "switch %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
			10 * i + 2, 10 + i, 10 * i + 5, 10 + i, 10 + i, 10 * i + 5);
	}
	tell_task(90, 30, "link");
	if (is_ready)
		story_tell("91" MS "ready 1 30\n92" MS "switch 30\n93" MS "switch 1\n");
}

static void tell_build(bool has_run)
{
	story_tell(
		"95" MS "create 1 40 task\n95" MS "label 40 \"build\n95" MS "should-resolve 40\n");
	if (has_run)
		story_tell("96" MS "switch 40\n97" MS "switch 1\n");
}

static void it_was_never_ready(void **state)
{
	(void)state;
	tell_links(5, true, false);
	story_tell("95" MS "should-resolve 30\n");
	expect(THRUM__STEP_NEVER_READY, 5, 30, true);
	/* Only the build should end. */
	tell_links(5, true, false);
	tell_build(false);
	expect(THRUM__STEP_NEVER_READY, 5, 30, true);
}

/* Links wait for the build tool, and are made ready; the last one does neither. */
static void only_it_never_waited(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		begin();
		for (int i = 0; i < 5; i++) {
			tell_task(10 * i, 10 + i, "link");
			story_tell("%d" MS "create 1 %d task\n", 10 * i, 60 + i);
			if (waits > 0 || i == 0)
				story_tell("%d" MS "wait %d %d\n", 10 * i, 10 + i, 60 + i);
			story_tell("%d" MS "resolve 1 %d\n%d" MS "ready 1 %d\n%d" MS
				   "switch %d\n%d" MS "resolve %d %d\n%d" MS "switch 1\n",
				10 * i + 1, 60 + i, 10 * i + 1, 10 + i, 10 * i + 2, 10 + i,
				10 * i + 5, 10 + i, 10 + i, 10 * i + 5);
		}
		tell_task(90, 30, "link");
		story_tell("95" MS "should-resolve 30\n2900" MS "log 1 \"end\n");
		model = story_findings(&findings);
		assert_int_equal(findings.count, 1);
		step = findings.findings[0].steps;
		assert_int_equal(step->kind, THRUM__STEP_NEVER_READY);
		assert_int_equal(step->other, waits > 0 ? step->task : THRUM__NONE);
		story_free(model, &findings);
	}
}

/* Links wait for the build tool; the last one begins to wait when that has ended. So may others do. */
static void it_waited_too_late(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	(void)state;
	for (int others = 0; others < 2; others++) {
		begin();
		for (int i = 0; i < 5; i++) {
			bool is_late = others > 0 && i == 2;

			tell_task(10 * i, 10 + i, "link");
			story_tell("%d" MS "create 1 %d task\n%d" MS "%s 1 %d\n%d" MS
				   "wait %d %d\n",
				10 * i, 60 + i, 10 * i, is_late ? "resolve" : "ready", 60 + i,
				10 * i + 1, 10 + i, 60 + i);
			if (!is_late)
				story_tell("%d" MS "resolve 1 %d\n", 10 * i + 1, 60 + i);
			story_tell("%d" MS "ready 1 %d\n%d" MS "switch %d\n%d" MS
				   "resolve %d %d\n%d" MS "switch 1\n",
				10 * i + 1, 10 + i, 10 * i + 2, 10 + i, 10 * i + 5, 10 + i, 10 + i,
				10 * i + 5);
		}
		tell_task(90, 30, "link");
		story_tell(
			"91" MS "wait 30 64\n95" MS "should-resolve 30\n2900" MS "log 1 \"end\n");
		model = story_findings(&findings);
		assert_int_equal(findings.count, 1);
		step = findings.findings[0].steps;
		assert_int_equal(step->kind, THRUM__STEP_NEVER_READY);
		assert_int_equal(step->other != THRUM__NONE, others == 0);
		if (others == 0)
			assert_int_equal(step->time, 91000000);
		story_free(model, &findings);
	}
}

static void it_was_ready(void **state)
{
	(void)state;
	tell_links(5, true, true);
	story_tell("95" MS "should-resolve 30\n");
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
	/* Others ran without it. */
	tell_links(5, false, false);
	story_tell("95" MS "should-resolve 30\n");
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
	/* There are few. */
	tell_links(3, true, false);
	story_tell("95" MS "should-resolve 30\n");
	expect(THRUM__STEP_NEVER_READY, 3, 30, false);
	tell_links(5, true, true);
	tell_build(false);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
}

/* So many wait for it that the place where it was made ready is far back. */
static void it_was_ready_long_ago(void **state)
{
	(void)state;
	tell_links(5, true, false);
	story_tell("91" MS "ready 1 30\n92" MS "should-resolve 30\n");
	for (int i = 0; i < 100; i++)
		story_tell("93" MS "create 1 %d task\n93" MS "wait %d 30\n", 100 + i, 100 + i);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
}

static void others_were_left(void **state)
{
	(void)state;
	tell_links(5, true, false);
	tell_build(false);
	tell_task(95, 31, "link");
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
	/* The build ran. */
	tell_links(5, true, false);
	tell_build(true);
	expect(THRUM__STEP_NEVER_READY, 5, 30, false);
}

/* ---- A timer that was stopped ------------------------------------------------------------------ */

/* Messages are sent when the timer 3 comes, but the third one perhaps without it. Then it is stopped, while
 * the message 30 is there. */
static void tell_messages(bool all_timed, const char *then)
{
	begin();
	story_tell("0 create 1 3 timer\n0 label 3 \"pace\n");
	for (int i = 0; i < 5; i++) {
		int ms = 10 * i, task = 10 + i;

		tell_task(ms, task, "message");
		story_tell("%d" MS "due 3 =5000000\n%d" MS "switch %d\n%d" MS "switch %d\n%d" MS
			   "resolve %d %d\n%d" MS "switch 1\n",
			ms, ms + 5, all_timed || i != 2 ? 3 : 1, ms + 6, task, ms + 7, task, task,
			ms + 7);
	}
	tell_task(60, 30, "message");
	story_tell("60" MS "should-resolve 30\n65" MS "switch 3\n66" MS "cancel 3 3\n66" MS
		   "switch 1\n%s",
		then);
}

static void it_is_stopped(void **state)
{
	(void)state;
	tell_messages(true, "");
	expect(THRUM__STEP_CANCELLED_MEANWHILE, 2, 3, true);
}

static void it_is_set_again(void **state)
{
	(void)state;
	tell_messages(true,
		"70" MS "create 1 4 timer\n70" MS "label 4 \"pace\n70" MS "due 4 =9000000000\n");
	expect(THRUM__STEP_CANCELLED_MEANWHILE, 2, 3, false);
}

static void others_need_no_timer(void **state)
{
	(void)state;
	tell_messages(false, "");
	expect(THRUM__STEP_CANCELLED_MEANWHILE, 2, 3, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_none),
		cmocka_unit_test(others_have_it),
		cmocka_unit_test(it_took_one),
		cmocka_unit_test(few_took_one),
		cmocka_unit_test(it_never_took_one),
		cmocka_unit_test(it_took_one_long_ago),
		cmocka_unit_test(it_was_never_ready),
		cmocka_unit_test(it_waited_too_late),
		cmocka_unit_test(only_it_never_waited),
		cmocka_unit_test(it_was_ready),
		cmocka_unit_test(it_was_ready_long_ago),
		cmocka_unit_test(others_were_left),
		cmocka_unit_test(it_is_stopped),
		cmocka_unit_test(it_is_set_again),
		cmocka_unit_test(others_need_no_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
