/* SPDX-License-Identifier: ISC */
/* Callbacks that wait for what only their own loop may run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* In the loop of the main thread 1 the callback 4 waits for the condition 5. The worker 2 of a pool makes
 * task 6 ready, of a kind, and has nothing more to do. */
static void tell(const char *kind)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 4 handle\n0 label 4 \"on price\n"
		   "0 create 1 5 condition\n0 label 5 \"loaded\n"
		   "0 create 1 2 thread\n0 label 2 \"worker\n0 @1 switch 2\n"
		   "1" MS "switch 4\n2" MS "wait 4 5\n2" MS "suspend \"blocked\n"
		   "5" MS "@1 create 2 6 %s\n5" MS "@1 label 6 \"on loaded\n"
		   "6" MS "@1 ready 2 6\n7" MS "@1 suspend \"blocked\n",
		kind);
}

/* Expects that the task 6 is told as one that needs the main thread, or that no task is told so. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	for (uint32_t i = 0; !is_told && i < findings.count; i++)
		assert_int_not_equal(findings.findings[i].steps[0].kind, THRUM__STEP_NEEDS_LANE);
	if (is_told) {
		const struct thrum__step *step = findings.findings[0].steps;

		assert_int_equal(findings.count, 1);
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(step[0].kind, THRUM__STEP_NEEDS_LANE);
		assert_int_equal(step[0].task, story_task(model, 6));
		assert_int_equal(step[0].other, story_task(model, 1));
		step = &step[findings.findings[0].step_count - 1];
		assert_true(
			step->task == story_task(model, 4) || step->task == story_task(model, 1));
		assert_int_equal(step->other, story_task(model, 5));
	}
	story_free(model, &findings);
}

static void a_callback_waits_for_its_own_loop(void **state)
{
	(void)state;
	tell("handle");
	expect(true);
	tell("request");
	expect(true);
	/* GLib's own thread runs nothing of the program. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"gmain\n8" MS
		   "@2 switch 7\n9" MS "@2 suspend \"wait for work\n");
	expect(true);
}

/* The main thread has run the callback 4. Now it waits for the queue 5, which got something before. */
static void tell_outside(const char *ready)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 4 handle\n0 label 4 \"on price\n"
		   "0 create 1 5 stream\n0 label 5 \"prices\n"
		   "0 create 1 2 thread\n0 label 2 \"worker\n0 @1 switch 2\n"
		   "1" MS "switch 4\n2" MS "switch 1\n3" MS "wait 1 5\n3" MS
		   "suspend \"blocked\n4" MS "@1 signal 2 5 =1\n4" MS "resume \"blocked\n4" MS
		   "read 1 5\n5" MS "wait 1 5\n5" MS "suspend \"blocked\n"
		   "5" MS "@1 create 2 6 handle\n5" MS "@1 label 6 \"on loaded\n"
		   "%s",
		ready);
}

static void a_thread_waits_outside_of_its_loop(void **state)
{
	static const char ready[] = "6" MS "@1 ready 2 6\n7" MS "@1 suspend \"blocked\n";

	(void)state;
	tell_outside(ready);
	expect(true);
	/* Another loop rests until a thread wakes it. */
	tell_outside(ready);
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"loop\n8" MS "@2 switch 7\n8" MS
		   "@2 create 7 8 stream\n8" MS "@2 label 8 \"eventfd 3\n9" MS "@2 wait 7 8\n9" MS
		   "@2 suspend \"wait for work\n");
	expect(true);
	/* Nothing is ready. */
	tell_outside("7" MS "@1 suspend \"blocked\n");
	expect(false);
	/* Something was put into the queue. */
	tell_outside(ready);
	story_tell("8" MS "@1 resume \"blocked\n8" MS "@1 signal 2 5 =1\n9" MS
		   "@1 suspend \"blocked\n");
	expect(false);
}

static void it_may_be_left_to_others(void **state)
{
	(void)state;
	/* A job is for a pool. */
	tell("task");
	expect(false);
	/* It has run. */
	tell("handle");
	story_tell("8" MS "@1 resume \"blocked\n8" MS "@1 switch 6\n9" MS "@1 switch 2\n9" MS
		   "@1 suspend \"blocked\n");
	expect(false);
	/* Somebody has signalled the condition. */
	tell("handle");
	story_tell("8" MS "@1 resume \"blocked\n8" MS "@1 signal 2 5 =1\n9" MS
		   "@1 suspend \"blocked\n");
	expect(false);
	/* Another loop waits for work. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"loop\n8" MS "@2 switch 7\n9" MS
		   "@2 suspend \"wait for work\n");
	expect(false);
	/* Another loop is blocked, too. */
	tell("handle");
	story_tell("8" MS "@2 create - 7 thread\n8" MS "@2 label 7 \"loop\n8" MS "@2 switch 7\n8" MS
		   "@2 create 7 8 handle\n8" MS "@2 create 7 9 condition\n9" MS "@2 switch 8\n10" MS
		   "@2 wait 8 9\n10" MS "@2 suspend \"blocked\n");
	expect(false);
}

/* In the loop of the main thread 1 the callback 4 asks the thread 2, by the stream 5, and runs the loop 6;
 * within that the callback 7 asks, too, and runs the loop 8. The thread 2 waits for more. */
static void tell_within(void)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"0 create 1 4 timer\n0 label 4 \"checkout\n0 create 1 7 timer\n0 label 7 \"refresh\n"
		"0 create 1 5 stream\n0 label 5 \"questions\n"
		"0 create 1 2 thread\n0 label 2 \"server\n0 @1 switch 2\n0 @1 wait 2 5\n");
	story_tell("1" MS "switch 4\n1" MS "signal 4 5 =1\n1" MS "create 4 6 handle\n1" MS
		   "label 6 \"loop\n1" MS "wait 4 6\n2" MS "switch 7\n2" MS "signal 7 5 =0\n2" MS
		   "create 7 8 handle\n2" MS "label 8 \"loop\n2" MS "wait 7 8\n");
	story_tell("3" MS "@1 read 2 5\n3" MS "@1 wait 2 5\n3" MS "@1 suspend \"blocked\n");
	story_tell("4" MS "create 7 9 task\n4" MS "label 9 \"other end of socket 4\n4" MS
		   "should-resolve 9\n4" MS "wait 9 2\n4" MS "create 7 10 task\n4" MS
		   "label 10 \"data of socket 3\n4" MS "wait 10 9\n4" MS "wait 7 10\n");
}

/* Expects that the callback 7 is told to keep 4 from going on, or not. */
static void expect_within(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("5" MS "suspend \"wait for work\n2000" MS "log 1 \"end\n");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	assert_int_equal(is_told,
		step[0].kind == THRUM__STEP_WAITS_FOR && step[0].task == story_task(model, 7) &&
			step[0].other == story_task(model, 8) &&
			step[1].kind == THRUM__STEP_BEHIND && step[1].task == story_task(model, 4));
	story_free(model, &findings);
}

static void a_loop_cannot_end_before_the_one_within_it(void **state)
{
	(void)state;
	tell_within();
	story_tell("4" MS "wait 6 8\n");
	expect_within(true);
	/* The outer loop wasn't asked to end. */
	tell_within();
	expect_within(false);
	/* The inner one has ended. */
	tell_within();
	story_tell("4" MS "wait 6 8\n4" MS "resolve 7 8\n4" MS "read 7 8\n");
	expect_within(false);
}

/* The thread 2 waits for the condition 5. The callback 4 of the main thread's loop signals it; `signal`
 * may do so, too. It waits again, and the callback 6 waits for the end of the thread. */
static void tell_served(const char *signal)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 3 thread\n"
		   "0 label 3 \"helper\n0 create 1 2 thread\n0 label 2 \"import\n"
		   "0 create 1 5 condition\n0 label 5 \"answered\n0 @1 switch 2\n0 @2 switch 3\n"
		   "1" MS "@1 wait 2 5\n1" MS "@1 suspend \"blocked\n"
		   "2" MS "create 1 4 handle\n2" MS "label 4 \"on button\n2" MS "switch 4\n2" MS
		   "signal 4 5 =1\n2" MS "switch 1\n2" MS "resolve 1 4\n2" MS "@1 resume\n%s"
		   "3" MS "@1 wait 2 5\n3" MS "@1 suspend \"blocked\n4" MS "create 1 6 handle\n"
		   "4" MS "label 6 \"on cancel\n4" MS "switch 6\n4" MS "should-resolve 2\n4" MS
		   "wait 6 2\n4" MS "suspend \"blocked\n5" MS "@2 suspend \"blocked\n",
		signal);
}

/* Expects that a task is told to keep a thread from another one, by a step of a kind, or that none is. */
static void expect_kept(bool is_told, int kind, uint64_t task, uint64_t other)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_there = false;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++) {
			const struct thrum__step *step = &findings.findings[i].steps[k];

			is_there |= step->kind == kind && step->task == story_task(model, task) &&
				step->other == story_task(model, other);
		}
	assert_int_equal(is_there, is_told);
	story_free(model, &findings);
}

static void a_callback_blocks_the_loop_that_serves(void **state)
{
	(void)state;
	tell_served("");
	expect_kept(true, THRUM__STEP_BLOCKS_SERVERS, 6, 5);
	/* A thread signals it, too. */
	tell_served("2" MS "@2 signal 3 5 =0\n");
	expect_kept(false, THRUM__STEP_BLOCKS_SERVERS, 6, 5);
	/* A task that ran elsewhere has done so. */
	tell_served("2" MS "@2 create 3 7 task\n2" MS "@2 switch 7\n2" MS "@2 signal 7 5 =0\n2" MS
		    "@2 resolve 7 7\n2" MS "@2 switch 3\n");
	expect_kept(false, THRUM__STEP_BLOCKS_SERVERS, 6, 5);
	/* Another thread goes on, and may signal it for the first time. */
	tell_served("");
	story_tell("6" MS "@3 create - 9 thread\n6" MS "@3 switch 9\n");
	expect_kept(false, THRUM__STEP_BLOCKS_SERVERS, 6, 5);
}

/* Threads 2 and 3 run jobs from a queue: three end, one of them on a lane. Another one, 14, waits for the
 * permit 5 and blocks its thread. The job 15 is ready. */
static void tell_queue(const char *lane)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 3 thread\n"
		   "0 label 3 \"helper\n0 create 1 2 thread\n0 label 2 \"queue\n"
		   "0 create 1 5 semaphore\n0 label 5 \"permits\n0 @1 switch 2\n0 @2 switch 3\n");
	for (int i = 1; i <= 5; i++)
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"job %d\n%d" MS
			   "ready 1 %d\n",
			i, 10 + i, i, 10 + i, i, i, 10 + i);
	for (int i = 1; i <= 3; i++) {
		bool is_other = i == 2 && *lane == '2';

		story_tell("%d" MS "@%d switch %d\n%d" MS "@%d resolve %d %d\n%d" MS
			   "@%d switch %d\n",
			5 + i, is_other ? 2 : 1, 10 + i, 5 + i, is_other ? 2 : 1, 10 + i, 10 + i,
			5 + i, is_other ? 2 : 1, is_other ? 3 : 2);
	}
	story_tell("9" MS "@1 switch 14\n9" MS "@1 wait 14 5\n9" MS "@1 suspend \"blocked\n"
		   "9" MS "should-resolve 15\n9" MS "@2 suspend \"blocked\n"
		   "9" MS "suspend \"blocked\n");
}

static void a_job_blocks_its_queue(void **state)
{
	(void)state;
	tell_queue("1");
	expect_kept(true, THRUM__STEP_NEEDS_LANE, 15, 14);
	/* Another thread runs such jobs, too. */
	tell_queue("2");
	expect_kept(false, THRUM__STEP_NEEDS_LANE, 15, 14);
	/* Another thread of the pool runs jobs of another sort so far, and may run it. */
	tell_queue("1");
	story_tell("10" MS "create 1 20 task\n10" MS "label 20 \"index\n10" MS
		   "@3 create - 9 thread\n10" MS "@3 switch 20\n");
	expect_kept(false, THRUM__STEP_NEEDS_LANE, 15, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_callback_waits_for_its_own_loop),
		cmocka_unit_test(a_thread_waits_outside_of_its_loop),
		cmocka_unit_test(it_may_be_left_to_others),
		cmocka_unit_test(a_loop_cannot_end_before_the_one_within_it),
		cmocka_unit_test(a_callback_blocks_the_loop_that_serves),
		cmocka_unit_test(a_job_blocks_its_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
