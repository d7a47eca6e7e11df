/* SPDX-License-Identifier: ISC */
/* A handle takes one thing in each run, or answers in each, and runs once for several wake-ups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 1500     /* ms */

/* A worker, 12, wakes the handle 5 of main's loop so often, which begins so many tasks with that amount. */
static void turn(int at, int wakes, int tasks, int amount)
{
	for (int i = 0; i < wakes; i++)
		story_tell("%d" MS "@1 ready 12 5\n", at);
	story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 5\n", at + 1, at + 1);
	for (int i = 0; i < tasks; i++)
		story_tell("%d" MS "create 5 %d request =7\n%d" MS
			   "label %d \"write %d bytes\n%d" MS "resolve 5 %d\n",
			at + 2, at * 10 + i, at + 2, at * 10 + i, amount, at + 2, at * 10 + i);
	story_tell("%d" MS "switch 1\n%d" MS "suspend \"wait for work\n", at + 3, at + 3);
}

/* Three turns for one wake-up; then one for several, and `more`. At last the worker waits. */
static void tell(int wakes, int tasks, int amount, const char *more)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 5 handle\n"
		"0 label 5 \"async on_result\n0 create 1 6 timer\n0 label 6 \"clock\n"
		"0 @1 create - 12 thread\n0 @1 label 12 \"scaler\n0 @1 switch 12\n"
		"0 @1 create 12 3 condition\n0 @1 label 3 \"has_job\n0 suspend \"wait for work\n");
	for (int at = 10; at < 40; at += 10)
		turn(at, 1, 1, 4);
	turn(40, wakes, tasks, amount);
	story_tell("%s", more);
	story_tell(
		"500" MS "resume \"wait for work\n500" MS "switch 6\n500" MS "switch 1\n500" MS
		"suspend \"wait for work\n501" MS "@1 wait 12 3\n501" MS "@1 suspend \"blocked\n");
}

/* A client, 13, asks the loop by its handle 7 and waits for the socket 4, which each run for a wake-up
 * signals, but for the run `silent`. The last run is for so many wake-ups; `deed` is what it does. */
static void tell_questions(int silent, int wakes, const char *deed, bool asks_last)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 5 handle\n"
		   "0 label 5 \"async on_result\n0 create 1 6 timer\n0 label 6 \"clock\n"
		   "0 create 1 7 handle\n0 label 7 \"async on_question\n"
		   "0 @1 create - 12 thread\n0 @1 label 12 \"scaler\n0 @1 switch 12\n"
		   "0 @1 create 12 3 condition\n0 @1 label 3 \"has_job\n0 suspend \"wait for work\n"
		   "0 @2 create - 13 thread\n0 @2 label 13 \"client\n0 @2 switch 13\n"
		   "0 @2 create 13 4 stream\n0 @2 label 4 \"socket 9 to 10\n");
	for (int at = 10; at <= 60; at += 10) {
		bool is_last = at == 60;

		if (!is_last || asks_last)
			story_tell("%d" MS "@2 ready 13 7\n%d" MS "resume \"wait for work\n%d" MS
				   "switch 7\n%d" MS "switch 1\n%d" MS "suspend \"wait for work\n",
				at, at, at, at, at);
		story_tell("%d" MS "@2 wait 13 4\n%d" MS "@2 suspend \"blocked\n", at + 1, at + 1);
		for (int i = 0; i < (is_last ? wakes : 1); i++)
			story_tell("%d" MS "@1 ready 12 5\n", at + 2);
		story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 5\n", at + 3, at + 3);
		if (!is_last && at != silent)
			story_tell("%d" MS "signal 5 4 =1\n", at + 4);
		story_tell("%s%d" MS "switch 1\n%d" MS "suspend \"wait for work\n",
			is_last ? deed : "", at + 5, at + 5);
		if (!is_last)
			story_tell("%d" MS "@2 resume \"blocked\n%d" MS "@2 read 13 4\n", at + 6,
				at + 6);
	}
	story_tell(
		"500" MS "resume \"wait for work\n500" MS "switch 6\n500" MS "switch 1\n500" MS
		"suspend \"wait for work\n501" MS "@1 wait 12 3\n501" MS "@1 suspend \"blocked\n");
}

/* Two threads wake the handle 5, each time one, and wait for their own conditions, which its callback
 * signals; and it begins so many tasks. At last both do, and the callback answers some of them: 12, 13 or
 * both. */
static void tell_wakers(int tasks, bool answers_12, bool answers_13)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 5 handle\n"
		   "0 label 5 \"async on_clips\n0 create 1 6 timer\n0 label 6 \"clock\n"
		   "0 suspend \"wait for work\n");
	for (int task = 12; task <= 13; task++)
		story_tell("0 @%d create - %d thread\n0 @%d label %d \"studio\n0 @%d switch %d\n"
			   "0 @%d create %d %d condition\n0 @%d label %d \"done\n",
			task - 11, task, task - 11, task, task - 11, task, task - 11, task,
			task - 10, task - 11, task - 10);
	for (int at = 10; at <= 60; at += 10) {
		bool is_last = at == 60;

		for (int task = 12; task <= 13; task++)
			if (is_last || task == 12 + at / 10 % 2)
				story_tell("%d" MS "@%d ready %d 5\n%d" MS "@%d wait %d %d\n%d" MS
					   "@%d suspend \"blocked\n",
					at, task - 11, task, at, task - 11, task, task - 10, at,
					task - 11);
		story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 5\n", at + 1, at + 1);
		for (int i = 0; i < (is_last ? tasks : 1); i++)
			story_tell("%d" MS "create 5 %d request =7\n%d" MS "label %d \"job\n%d" MS
				   "resolve 5 %d\n",
				at + 1, at * 10 + i, at + 1, at * 10 + i, at + 1, at * 10 + i);
		for (int task = 12; task <= 13; task++)
			if (is_last ? (task == 12 ? answers_12 : answers_13)
				    : task == 12 + at / 10 % 2)
				story_tell("%d" MS "signal 5 %d =1\n%d" MS
					   "@%d resume \"blocked\n%d" MS "@%d read %d %d\n",
					at + 2, task - 10, at + 2, task - 11, at + 2, task - 11,
					task, task - 10);
		story_tell("%d" MS "switch 1\n%d" MS "suspend \"wait for work\n", at + 3, at + 3);
	}
	story_tell("500" MS "resume \"wait for work\n500" MS "switch 6\n500" MS "switch 1\n500" MS
		   "suspend \"wait for work\n500" MS "@1 suspend \"wait for work\n500" MS
		   "@2 suspend \"wait for work\n");
}

static void expect_for(int ending, uint32_t count, uint64_t victim)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);
	const struct thrum__finding *finding;

	model->ending = (uint8_t)ending;
	model->ending_code = 9;
	model->end = INT64_C(1000000) * END;
	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		finding = findings.findings;
		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->task, story_task(model, victim));
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_MERGED);
		assert_int_equal(finding->steps[0].task, story_task(model, 5));
		assert_in_range(finding->steps[0].more, 2, 3);
		assert_int_equal(finding->steps[1].kind, THRUM__STEP_WAITS_FOR);
	}
	story_free(model, &findings);
}

static void expect(int ending, uint32_t count)
{
	expect_for(ending, count, 12);
}

static void one_run_for_several_wake_ups_leaves_an_answer_out(void **state)
{
	(void)state;
	tell_questions(0, 3, "", true);
	expect_for(THRUM_ENDING_KILLED, 1, 13);
	expect_for(THRUM_ENDING_RUNNING, 0, 13);
	/* It came for one wake-up; or an earlier one signalled nothing, either. */
	tell_questions(0, 1, "", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	tell_questions(30, 3, "", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	/* The client asked nothing: it waits for news. */
	tell_questions(0, 3, "", false);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	/* It answered, gave the worker a job, or began a task. */
	tell_questions(0, 3, "64" MS "signal 5 4 =1\n", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	tell_questions(0, 3, "64" MS "signal 5 3 =0\n", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	tell_questions(0, 3, "64" MS "create 5 900 task\n64" MS "resolve 5 900\n", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	/* The handle has yet to run. */
	tell_questions(0, 3, "64" MS "@1 ready 12 5\n", true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
}

static void one_run_for_several_wake_ups_leaves_a_waker_out(void **state)
{
	(void)state;
	tell_wakers(1, true, false);
	expect_for(THRUM_ENDING_KILLED, 1, 13);
	tell_wakers(1, false, true);
	expect_for(THRUM_ENDING_KILLED, 1, 12);
	/* It took both things. */
	tell_wakers(2, true, false);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	/* Nobody, or everybody, went on. */
	tell_wakers(1, false, false);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
	tell_wakers(1, true, true);
	expect_for(THRUM_ENDING_KILLED, 0, 13);
}

static void one_run_for_several_wake_ups_leaves_things(void **state)
{
	(void)state;
	tell(3, 1, 4, "");
	expect(THRUM_ENDING_KILLED, 1);
	/* A wait within a turn parts its run. */
	tell(3, 1, 4,
		"50" MS "@1 ready 12 5\n51" MS "resume \"wait for work\n51" MS "switch 5\n"
		"51" MS "suspend \"blocked\n52" MS "resume \"blocked\n"
		"52" MS "create 5 900 request =7\n52" MS "label 900 \"write 4 bytes\n"
		"52" MS "resolve 5 900\n53" MS "switch 1\n53" MS "suspend \"wait for work\n");
	expect(THRUM_ENDING_KILLED, 1);
}

static void a_run_that_takes_all_leaves_nothing(void **state)
{
	(void)state;
	/* One for each wake-up, or one for all. */
	tell(3, 3, 4, "");
	expect(THRUM_ENDING_KILLED, 0);
	tell(3, 1, 12, "");
	expect(THRUM_ENDING_KILLED, 0);
	/* It ran as often as it was woken. */
	tell(1, 1, 4, "");
	expect(THRUM_ENDING_KILLED, 0);
}

static void a_program_that_goes_on_has_no_loss(void **state)
{
	(void)state;
	/* The handle has yet to run; a request is under way; a timer is to come. */
	tell(3, 1, 4, "60" MS "@1 ready 12 5\n");
	expect(THRUM_ENDING_KILLED, 0);
	tell(3, 1, 4, "60" MS "@1 create 12 900 request\n60" MS "@1 label 900 \"write 4 bytes\n");
	expect(THRUM_ENDING_KILLED, 0);
	tell(3, 1, 4, "60" MS "@1 create 12 900 timer\n60" MS "@1 label 900 \"later\n");
	expect(THRUM_ENDING_KILLED, 0);
	/* The timer gave the worker something to do, or began a task. */
	tell(3, 1, 4, "60" MS "switch 6\n60" MS "signal 6 3 =0\n60" MS "switch 1\n");
	expect(THRUM_ENDING_KILLED, 0);
	tell(3, 1, 4,
		"60" MS "switch 6\n60" MS "create 6 900 task\n60" MS "resolve 6 900\n60" MS
		"switch 1\n");
	expect(THRUM_ENDING_KILLED, 0);
	/* Nobody knows whether it hangs. */
	tell(3, 1, 4, "");
	expect(THRUM_ENDING_RUNNING, 0);
}

/* A recording whose beginning is forgotten tells nothing. */
static void a_forgotten_run_is_no_loss(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	tell(3, 1, 4, "");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	model->end = INT64_C(1000000) * END;
	thrum__model_forget(model, INT64_C(100000000));
	story_find(model, &findings);
	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_run_for_several_wake_ups_leaves_a_waker_out),
		cmocka_unit_test(one_run_for_several_wake_ups_leaves_things),
		cmocka_unit_test(one_run_for_several_wake_ups_leaves_an_answer_out),
		cmocka_unit_test(a_run_that_takes_all_leaves_nothing),
		cmocka_unit_test(a_program_that_goes_on_has_no_loss),
		cmocka_unit_test(a_forgotten_run_is_no_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
