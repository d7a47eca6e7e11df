/* SPDX-License-Identifier: ISC */
/* Tasks that take the lock of a condition which nobody signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

/* A camera, 2, waits for space in a queue, the condition 3 with the lock 4. An encoder is 5. The program
 * goes on for a second. The step of the encoder is expected at that time in ms; 0: there is none. */
static void expect(const char *story, int64_t time)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;
	char lines[8000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n"
		"0 create 1 2 task\n0 label 2 \"camera\n0 should-resolve 2\n"
		"0 create 1 3 condition\n0 label 3 \"space\n"
		"0 create 1 4 lock\n0 label 4 \"queue\n"
		"0 create 1 5 task\n0 label 5 \"encoder\n%s",
		story);

	for (int i = 5; i < 100; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%d000000 log 1 \"beat\n", 10 * i);
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	step = &findings.findings[0].steps[0];
	assert_int_equal(step->kind == THRUM__STEP_TAKES_LOCK, time > 0);
	if (time > 0) {
		assert_int_equal(step->task, story_task(model, 5));
		assert_int_equal(step->other, story_task(model, 3));
		assert_int_equal(step->time, time * 1000000);
		assert_int_equal(findings.findings[0].step_count, 2);
	}
	story_free(model, &findings);
}

#define CAMERA "9000000 lock 2 4\n10000000 unlock 2 4\n10000000 wait 2 3\n"
#define ENCODER(ms) #ms "000000 lock 5 4\n" #ms "000000 unlock 5 4\n"

static void who_makes_room_and_tells_nobody_is_named(void **state)
{
	(void)state;
	expect(CAMERA ENCODER(20) ENCODER(30), 30);
	/* Others that wait there, too, change nothing. */
	expect(CAMERA "15000000 create 1 6 task\n15000000 label 6 \"other\n" ENCODER(
		       20) "30000000 lock 6 4\n"
			   "30000000 unlock 6 4\n"
			   "30000000 wait 6 3\n",
		20);
	expect(CAMERA ENCODER(20) "30000000 wait 5 3\n", 0);
}

static void who_took_another_lock_or_earlier_is_not(void **state)
{
	(void)state;
	expect(ENCODER(5) CAMERA, 0);
	/* The camera released the lock for another reason. */
	expect("5000000 lock 2 4\n6000000 unlock 2 4\n10000000 wait 2 3\n" ENCODER(20), 0);
	expect("9000000 lock 2 4\n10000000 wait 2 3\n" ENCODER(20), 0);
}

/* Tells how an encoder, one of several, takes the lock at a place, and what it signals meanwhile: a condition
 * of its own like the camera's, or nothing. */
static size_t tell_turn(char *to, size_t size, int ms, int place, bool signals)
{
	size_t used = 0;

	if (signals)
		used += (size_t)snprintf(to, size,
			"%d000000 create 1 %d condition\n"
			"%d000000 label %d \"space\n",
			ms, 20 + ms, ms, 20 + ms);
	used += (size_t)snprintf(to + used, size - used, "%d000000 lock 5 4 =%d\n", ms, place);
	if (signals)
		used += (size_t)snprintf(to + used, size - used, "%d000000 signal 5 %d =1\n", ms,
			20 + ms);
	return used + (size_t)snprintf(to + used, size - used, "%d000000 unlock 5 4\n", ms);
}

/* The encoder signals so often at a place, then `silent` times not. It took the lock at another place, too,
 * to count, and does so until the end. The camera waits from 40 ms on. */
static const char *tell_turns(char *to, size_t size, int signals, int silent, bool is_last)
{
	size_t used = 0;
	int ms = 1;

	for (int i = 0; i < 5; i++)
		used += tell_turn(to + used, size - used, ms++, 7, false);
	for (int i = 0; i < silent && !is_last; i++)
		used += tell_turn(to + used, size - used, ms++, 5, false);
	for (int i = 0; i < signals; i++)
		used += tell_turn(to + used, size - used, ms++, 5, true);
	for (int i = 0; i < silent && is_last; i++)
		used += tell_turn(to + used, size - used, ms++, 5, false);
	used += (size_t)snprintf(to + used, size - used,
		"39000000 lock 2 4\n40000000 unlock 2 4\n40000000 wait 2 3\n");
	tell_turn(to + used, size - used, 45, 7, false);
	return to;
}

static void who_gives_no_signal_where_others_did_is_named(void **state)
{
	char story[6000];

	(void)state;
	expect(tell_turns(story, sizeof story, 9, 1, true), 15);
	/* All gave theirs before. A task that only counts needn't signal. */
	expect(tell_turns(story, sizeof story, 9, 0, true), 0);
	expect(tell_turns(story, sizeof story, 9, 1, false), 0);
	/* It often has nobody to signal. */
	expect(tell_turns(story, sizeof story, 9, 4, true), 0);
	/* Too few signals: then all are told that took it since. */
	expect(tell_turns(story, sizeof story, 4, 1, true), 45);
}

static void who_signals_is_not(void **state)
{
	(void)state;
	expect("5000000 signal 5 3 =0\n" CAMERA ENCODER(20), 0);
}

/* A writer, 2, waits for room, the condition 3 with the lock 4, for which an uploader, 5, signals it until it
 * ends after 65 ms. The main task takes the lock at a place, and signals the condition 7, at that time. */
static void close_queue(int place, int ms, const char *signal, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *steps;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 task\n0 label 2 \"writer\n0 should-resolve 2\n"
		   "0 create 1 3 condition\n0 label 3 \"room\n0 create 1 4 lock\n"
		   "0 create 1 5 task\n0 label 5 \"uploader\n"
		   "0 create 1 7 condition\n0 label 7 \"item\n0 lock 1 4 =8\n0 unlock 1 4\n");
	for (int at = 10; at <= 50; at += 10) {
		story_tell("%d000000 lock 2 4 =6\n%d000000 unlock 2 4\n%d000000 wait 2 3\n", at, at,
			at);
		if (at < 50)
			story_tell("%d000000 lock 5 4 =7\n%d000000 signal 5 3 =1\n"
				   "%d000000 unlock 5 4\n%d000000 read 2 3\n",
				at + 1, at + 1, at + 1, at + 2);
	}
	if (ms > 65)
		story_tell("65000000 resolve 5 5\n");
	story_tell("%d000000 lock 1 4 =%d\n%s%d000000 unlock 1 4\n", ms, place, signal, ms);
	if (ms <= 65)
		story_tell("65000000 resolve 5 5\n");
	story_tell("1000000000 log 1 \"beat\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, 1);
	steps = findings.findings[0].steps;
	assert_int_equal(steps[0].kind == THRUM__STEP_TAKES_LOCK, is_told);
	assert_int_equal(steps[is_told].kind, THRUM__STEP_SERVER_ENDED);
	if (is_told) {
		assert_int_equal(steps[0].task, story_task(model, 1));
		assert_int_equal(steps[0].other, story_task(model, 3));
		assert_int_equal(steps[0].time, ms * INT64_C(1000000));
	}
	story_free(model, &findings);
}

static void who_signals_another_condition_at_last_is_named(void **state)
{
	(void)state;
	close_queue(9, 60, "60000000 signal 1 7 =0\n", true);
	/* At a place where the lock was taken before, without a signal, and when the uploader had ended. */
	close_queue(8, 60, "60000000 signal 1 7 =0\n", false);
	close_queue(9, 60, "", false);
	close_queue(9, 70, "70000000 signal 1 7 =0\n", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_makes_room_and_tells_nobody_is_named),
		cmocka_unit_test(who_took_another_lock_or_earlier_is_not),
		cmocka_unit_test(who_gives_no_signal_where_others_did_is_named),
		cmocka_unit_test(who_signals_is_not),
		cmocka_unit_test(who_signals_another_condition_at_last_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
