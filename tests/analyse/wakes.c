/* SPDX-License-Identifier: ISC */
/* Signals that wake the wrong one of several, and barriers at which somebody is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
/* A main task that should end, and two workers of a condition or barrier, 10. */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 create 1 2 task\n" \
	"0 label 2 \"job\n" \
	"0 should-resolve 2\n" \
	"0 create 1 10 condition\n" \
	"0 create 1 3 thread\n" \
	"0 label 3 \"worker 1\n" \
	"0 create 1 4 thread\n" \
	"0 label 4 \"worker 2\n" \
	"1" MS "wait 2 3\n"
#define END "900" MS "log 1 \"end\n"

/* Returns how often the story's first finding has such a step, and sets *step to the last of them. */
static unsigned steps_of(const char *lines, int kind, struct thrum__step *step)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	unsigned count = 0;

	story_find(model, &findings);
	for (unsigned i = 0; findings.count > 0 && i < findings.findings[0].step_count; i++)
		if (findings.findings[0].steps[i].kind == kind) {
			*step = findings.findings[0].steps[i];
			count++;
		}
	story_free(model, &findings);
	return count;
}

#define SIGNALLED \
	MAIN "2" MS "wait 3 10\n" \
	     "2" MS "wait 4 10\n" \
	     "5" MS "signal 1 10 =2\n" \
	     "5" MS "read 4 10\n"

static void the_wrong_one_is_woken(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(SIGNALLED "5" MS "wait 4 10\n" END, THRUM__STEP_WAKES_ONE, &step),
		1);
	assert_int_equal(step.more, 2);
	assert_int_equal(step.time, 5000000);
	assert_int_equal(steps_of(SIGNALLED "5" MS "wait 4 10\n" END, THRUM__STEP_WOKEN_INSTEAD,
				 &step),
		1);
}

static void who_is_woken_and_works_is_no_cause(void **state)
{
	struct thrum__step step;

	assert_int_equal(steps_of(SIGNALLED "50" MS "wait 4 10\n" END, THRUM__STEP_WAKES_ONE,
				 &step),
		0);
	assert_int_equal(steps_of(SIGNALLED END, THRUM__STEP_WAKES_ONE, &step), 0);
	/* A later signal is the one that counts. */
	assert_int_equal(steps_of(SIGNALLED "5" MS "wait 4 10\n"
					    "9" MS "signal 1 10 =2\n"
					    "9" MS "read 4 10\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
}

/* A task, 5, loads something and signals that, once; `more` follows. */
#define LOADED \
	MAIN "0 create 1 5 task\n" \
	     "0 label 5 \"load\n" \
	     "2" MS "wait 3 10\n" \
	     "2" MS "wait 4 10\n" \
	     "5" MS "signal 5 10 =2\n" \
	     "5" MS "read 4 10\n" \
	     "6" MS "resolve 5 5\n"

static void the_only_signal_wakes_one(void **state)
{
	struct thrum__step step = {0};

	(void)state;
	assert_int_equal(steps_of(LOADED "7" MS "resolve 4 4\n" END, THRUM__STEP_WOKEN_INSTEAD,
				 &step),
		1);
	assert_int_equal(steps_of(LOADED "7" MS "resolve 4 4\n" END, THRUM__STEP_WAKES_ONE, &step),
		1);
	assert_int_equal(step.more, 2);
	/* Both are woken. */
	assert_int_equal(steps_of(LOADED "6" MS "read 3 10\n7" MS "resolve 4 4\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
	/* The one that was woken is still at work. */
	assert_int_equal(steps_of(LOADED END, THRUM__STEP_WAKES_ONE, &step), 0);
}

/* Worker 1 asks worker 2 or a third task by condition 11, and waits for the answer by 10. Worker 2 goes back
 * to wait at once, and the main thread is blocked. */
#define ASKED \
	MAIN "0 create 1 5 thread\n" \
	     "0 create 1 11 condition\n" \
	     "2" MS "wait 4 11\n" \
	     "3" MS "wait 5 11\n" \
	     "5" MS "signal 3 11 =2\n" \
	     "6" MS "wait 3 10\n" \
	     "7" MS "read 4 11\n" \
	     "7" MS "wait 4 11\n" \
	     "7" MS "suspend - \"blocked\n"

static void who_could_answer_is_not_woken(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(ASKED END, THRUM__STEP_WAKES_ONE, &step), 1);
	assert_int_equal(step.time, 5000000);
	assert_int_equal(steps_of(ASKED END, THRUM__STEP_WOKEN_INSTEAD, &step), 1);
	assert_int_equal(step.time, 7000000);
	/* All are woken. */
	assert_int_equal(steps_of(ASKED "7" MS "read 5 11\n"
					"7" MS "wait 5 11\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
	/* Another signal reaches both. */
	assert_int_equal(steps_of(ASKED "8" MS "signal 1 11 =2\n"
					"8" MS "read 5 11\n"
					"8" MS "wait 5 11\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
	/* The answer comes. */
	assert_int_equal(steps_of(ASKED "8" MS "signal 1 10 =1\n"
					"8" MS "read 3 10\n"
					"8" MS "resolve 3 3\n"
					"9" MS "resolve 2 2\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
}

/* Worker 2 takes the wake-up for both, and later waits for condition 12, which `voice` signalled before. */
#define PASSED_OVER(voice) \
	MAIN "0 create 1 12 condition\n" \
	     "1" MS "signal " voice " 12 =0\n" \
	     "2" MS "wait 3 10\n" \
	     "2" MS "wait 4 10\n" \
	     "5" MS "signal 1 10 =2\n" \
	     "5" MS "read 4 10\n"

static void who_is_needed_later_is_not_woken(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(PASSED_OVER("3") "50" MS "wait 4 12\n" END, THRUM__STEP_WAKES_ONE,
				 &step),
		1);
	assert_int_equal(step.time, 5000000);
	assert_int_equal(steps_of(PASSED_OVER("3") "50" MS "wait 4 12\n" END,
				 THRUM__STEP_WOKEN_INSTEAD, &step),
		1);
	assert_int_equal(step.time, 50000000);
	assert_int_equal(step.more, 1);
	/* Another one signals that. */
	assert_int_equal(steps_of(PASSED_OVER("1") "50" MS "wait 4 12\n" END, THRUM__STEP_WAKES_ONE,
				 &step),
		0);
	/* It is at work. */
	assert_int_equal(steps_of(PASSED_OVER("3") END, THRUM__STEP_WAKES_ONE, &step), 0);
	/* Both are woken. */
	assert_int_equal(steps_of(PASSED_OVER("3") "5" MS "read 3 10\n"
						   "6" MS "wait 3 10\n"
						   "50" MS "wait 4 12\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
}

/* Worker 1 resolves the jobs of main. When the last one comes, a worker is woken, and waits again. */
#define JOB(id, at) \
	at MS "create 1 " id " task\n" at MS "label " id " \"job " id "\n" at MS \
	      "should-resolve " id "\n" at MS
#define JOBS(woken) \
	"0 create - 1 thread\n0 switch 1\n0 create 1 10 condition\n0 @1 create - 3 thread\n" \
	"0 @1 label 3 \"worker 1\n0 create 1 4 thread\n0 label 4 \"worker 2\n" \
	"1" MS "wait 3 10\n1" MS "@1 suspend \"blocked\n" JOB("21", \
		"2") "signal 1 10 =1\n2" MS "read 3 10\n3" MS "resolve 3 21\n3" MS \
		     "wait 3 10\n" JOB("22", \
			     "4") "signal 1 10 =1\n4" MS "read 3 10\n5" MS "resolve 3 22\n5" MS \
				  "wait 3 10\n" JOB("23", \
					  "6") "signal 1 10 =1\n6" MS "read 3 10\n7" MS \
					       "resolve 3 23\n7" MS "wait 3 10\n8" MS \
					       "wait 4 10\n" JOB("24", "9") "signal 1 10 =2\n9" MS \
									    "read " woken \
									    " 10\n9" MS \
									    "wait " woken " 10\n"

static void the_worker_of_a_job_sleeps_on(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(JOBS("4") END, THRUM__STEP_WAKES_ONE, &step), 1);
	assert_int_equal(step.time, 9000000);
	assert_int_equal(steps_of(JOBS("4") END, THRUM__STEP_SHOULD_GO_ON, &step), 1);
	/* It was woken itself. */
	assert_int_equal(steps_of(JOBS("3") END, THRUM__STEP_WAKES_ONE, &step), 0);
}

/* Worker 1 makes job 21 ready, calls worker 2 or a third one by condition 11, and waits for the job.
 * Worker 2 goes back to wait at once, and the main thread is blocked. */
#define HANDED(ready) \
	MAIN "0 create 1 5 thread\n" \
	     "0 create 1 11 condition\n" \
	     "2" MS "wait 4 11\n" \
	     "3" MS "wait 5 11\n" \
	     "5" MS "create 3 21 task\n" \
	     "5" MS "should-resolve 21\n" ready "5" MS "signal 3 11 =2\n" \
	     "6" MS "wait 3 21\n" \
	     "7" MS "read 4 11\n" \
	     "7" MS "wait 4 11\n" \
	     "7" MS "suspend - \"blocked\n"
#define READY_BY(task) "5" MS "ready " task " 21\n"

static void who_could_run_a_job_is_not_woken(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(HANDED(READY_BY("3")) END, THRUM__STEP_WAKES_ONE, &step), 1);
	assert_int_equal(step.time, 5000000);
	assert_int_equal(steps_of(HANDED(READY_BY("3")) END, THRUM__STEP_WOKEN_INSTEAD, &step), 1);
	assert_int_equal(step.time, 7000000);
	/* The call may be for something else. */
	assert_int_equal(steps_of(HANDED("") END, THRUM__STEP_WAKES_ONE, &step), 0);
	assert_int_equal(steps_of(HANDED(READY_BY("1")) END, THRUM__STEP_WAKES_ONE, &step), 0);
	/* All are woken. */
	assert_int_equal(steps_of(HANDED(READY_BY("3")) "7" MS "read 5 11\n"
							"7" MS "wait 5 11\n" END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
}

/* A rider, 3, calls the cars, 4 and 5, by condition 11, and waits for one by 10. Each came before. At last
 * the wrong car is woken. A panel, 6, sleeps again and again. */
#define CALL(at) \
	at MS "@1 resume\n" at MS "@1 signal 3 11 =2\n" at MS "@1 wait 3 10\n" at MS \
	      "@1 suspend \"blocked\n"
#define COMES(car, lane, at) \
	at MS "@" lane " resume\n" at MS "@" lane " read " car " 11\n" at MS "@" lane \
	      " signal " car " 10 =1\n" at MS "@" lane " wait " car " 11\n" at MS "@" lane \
	      " suspend \"blocked\n" at MS "@1 read 3 10\n"
#define GOES_BACK(at) \
	"50" MS "@2 resume\n50" MS "@2 read 4 11\n" at MS "@2 wait 4 11\n" at MS \
	"@2 suspend \"blocked\n"
#define SLEEP(id, at) \
	at MS "@4 resume\n" at MS "@4 create 6 " id " timer\n" at MS "@4 label " id \
	      " \"sleep 100 ms\n" at MS "@4 due " id " =100" MS "\n" at MS "@4 wait 6 " id \
	      "\n" at MS "@4 suspend \"blocked for a time\n"
#define LOOKS(n) SLEEP("3" n, n "00")
#define LOOKS_4(n) LOOKS(n "1") LOOKS(n "2") LOOKS(n "3") LOOKS(n "4")
#define SLEEPS LOOKS_4("") LOOKS_4("1") LOOKS_4("2")
#define RIDE(first) \
	"0 create - 3 thread\n0 label 3 \"rider\n0 @1 switch 3\n" \
	"0 @2 create - 4 thread\n0 @2 label 4 \"car 1\n0 @2 switch 4\n" \
	"0 @3 create - 5 thread\n0 @3 label 5 \"car 2\n0 @3 switch 5\n" \
	"0 @4 create - 6 thread\n0 @4 label 6 \"panel\n0 @4 switch 6\n" \
	"0 @1 create 3 10 condition\n0 @1 create 3 11 condition\n" \
	"0 suspend \"blocked\n" first "1" MS "@2 wait 4 11\n1" MS "@2 suspend \"blocked\n1" MS \
	"@3 wait 5 11\n" \
	"1" MS "@3 suspend \"blocked\n" CALL("10") COMES("4", "2", "12") CALL("20") \
		COMES("5", "3", "22") CALL("30") COMES("4", "2", "32") CALL("40") \
			COMES("4", "2", "42") CALL("50")

#define NUDGE "0 @2 wait 4 11\n0 @1 signal 3 11 =1\n0 @2 read 4 11\n"
#define NUDGES NUDGE NUDGE NUDGE NUDGE NUDGE NUDGE NUDGE NUDGE NUDGE NUDGE
#define OTHER_RIDER \
	"0 @5 create - 2 thread\n0 @5 label 2 \"rider\n0 @5 switch 2\n0 @5 wait 2 10\n" \
	"0 @5 suspend \"blocked\n"

static void the_wrong_one_is_called(void **state)
{
	struct thrum__step step = {0};

	(void)state;
	assert_int_equal(steps_of(RIDE("") GOES_BACK("50") SLEEPS, THRUM__STEP_WAKES_ONE, &step),
		1);
	assert_int_equal(step.time, 50000000);
	/* Another one that waits there called nobody in vain. */
	assert_int_equal(steps_of(RIDE(OTHER_RIDER) GOES_BACK("50") SLEEPS, THRUM__STEP_WAKES_ONE,
				 &step),
		1);
	assert_int_equal(step.time, 50000000);
	/* Many were woken in vain before, without harm. */
	assert_int_equal(steps_of(RIDE(NUDGES) GOES_BACK("50") SLEEPS, THRUM__STEP_WAKES_ONE,
				 &step),
		0);
	/* It works first. */
	assert_int_equal(steps_of(RIDE("") GOES_BACK("80") SLEEPS, THRUM__STEP_WAKES_ONE, &step),
		0);
	/* Others may signal that, too, or do something at last. */
	assert_int_equal(steps_of(RIDE("0 @4 signal 6 10 =0\n") GOES_BACK("50") SLEEPS,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
	assert_int_equal(steps_of(RIDE("") GOES_BACK("50") SLEEP("30", "100") END,
				 THRUM__STEP_WAKES_ONE, &step),
		0);
}

#define BARRIER \
	MAIN "0 label 10 \"barrier step\n" \
	     "2" MS "wait 3 10\n" \
	     "3" MS "signal 4 10 =1\n" \
	     "3" MS "read 3 10\n" \
	     "4" MS "wait 3 10\n"

static void a_party_ends(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(BARRIER "5" MS "resolve 4 4\n" END, THRUM__STEP_ENDS_ABSENT,
				 &step),
		1);
	assert_int_equal(step.time, 5000000);
	/* The threads of an earlier phase. */
	assert_int_equal(steps_of(BARRIER "5" MS "signal 4 10 =1\n"
					  "5" MS "read 3 10\n"
					  "6" MS "resolve 4 4\n" END,
				 THRUM__STEP_ENDS_ABSENT, &step),
		0);
}

static void a_party_is_late(void **state)
{
	struct thrum__step step = {0};

	assert_int_equal(steps_of(BARRIER END, THRUM__STEP_ABSENT, &step), 1);
	assert_int_equal(steps_of(BARRIER "5" MS "wait 4 10\n" END, THRUM__STEP_ABSENT, &step), 0);
}

/* A round of worker 1, which asks by condition 11 and waits for the answer by 10. Worker 2 waits for
 * 11 and answers by 10 `heard` times. */
#define ROUND(at, answered, waits, heard) \
	at MS "signal 3 11 =1\n" at MS "read 4 11\n" waits MS "wait 3 10\n" answered MS \
	      "signal 4 10 =" heard "\n" answered MS "wait 4 11\n"
#define ROUNDS \
	MAIN "0 create 1 11 condition\n" \
	     "1" MS "wait 4 11\n" ROUND("2", "5", "3", "1") "5" MS "read 3 10\n" ROUND("6", "9", \
		     "7", "1") "9" MS "read 3 10\n"

static void an_answer_comes_too_early(void **state)
{
	struct thrum__step step = {0};
	const char *early = ROUNDS "10" MS "signal 3 11 =1\n"
				   "10" MS "read 4 11\n"
				   "11" MS "signal 4 10 =0\n"
				   "11" MS "wait 4 11\n"
				   "13" MS "wait 3 10\n" END;

	assert_int_equal(steps_of(early, THRUM__STEP_SIGNAL_LOST, &step), 1);
	assert_int_equal(step.time, 11000000);
	assert_int_equal(steps_of(early, THRUM__STEP_WAITS_LATE, &step), 1);
	assert_int_equal(step.time, 13000000);
	assert_int_equal(steps_of(early, THRUM__STEP_WAITS_IN_CYCLE, &step), 1);
	assert_int_equal(step.time, 11000000);
	/* The answer was heard. */
	assert_int_equal(steps_of(ROUNDS "10" MS "wait 3 10\n" END, THRUM__STEP_SIGNAL_LOST, &step),
		0);
}

static void the_server_signalled_before_the_wait(void **state)
{
	struct thrum__step step = {0};

	/* Worker 2 tells worker 1 once, then others don't see it. */
	assert_int_equal(steps_of(MAIN "2" MS "wait 1 10\n"
				       "5" MS "signal 4 10 =1\n"
				       "5" MS "read 1 10\n"
				       "6" MS "resolve 4 4\n"
				       "9" MS "wait 3 10\n" END,
				 THRUM__STEP_SERVER_ENDED, &step),
		1);
	assert_int_equal(step.more, 1);
	assert_int_equal(steps_of(MAIN "2" MS "wait 1 10\n"
				       "4" MS "wait 3 10\n"
				       "5" MS "signal 4 10 =1\n"
				       "5" MS "read 1 10\n"
				       "6" MS "resolve 4 4\n" END,
				 THRUM__STEP_SERVER_ENDED, &step),
		1);
	assert_int_equal(step.more, 0);
}

#define POSTED(label) \
	MAIN "0 create 1 12 semaphore\n" \
	     "0 label 12 \"" label "\n" \
	     "2" MS "signal 4 12 =0\n"

/* A semaphore that nobody held counts what others post. */
static void who_posted_has_ended(void **state)
{
	struct thrum__step step = {.task = THRUM__NONE};

	assert_int_equal(steps_of(POSTED("filled") "6" MS "resolve 4 4\n"
						   "9" MS "wait 3 12\n" END,
				 THRUM__STEP_SERVER_ENDED, &step),
		1);
	assert_int_equal(step.time, 6000000);
	/* It hangs itself. */
	assert_int_equal(steps_of(POSTED("filled") "6" MS "create 4 13 promise\n"
						   "6" MS "wait 4 13\n"
						   "9" MS "wait 3 12\n" END,
				 THRUM__STEP_SERVES, &step),
		1);
	/* Another process may post it. */
	assert_int_equal(steps_of(POSTED("shared semaphore") "6" MS "resolve 4 4\n"
							     "9" MS "wait 3 12\n" END,
				 THRUM__STEP_SERVER_ENDED, &step),
		0);
	/* It was held, so those who hold it matter. */
	assert_int_equal(steps_of(POSTED("places") "3" MS "lock 1 12\n"
						   "4" MS "unlock 1 12\n"
						   "6" MS "resolve 4 4\n"
						   "9" MS "wait 3 12\n" END,
				 THRUM__STEP_SERVER_ENDED, &step),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wrong_one_is_woken),
		cmocka_unit_test(who_is_woken_and_works_is_no_cause),
		cmocka_unit_test(the_only_signal_wakes_one),
		cmocka_unit_test(who_could_answer_is_not_woken),
		cmocka_unit_test(who_could_run_a_job_is_not_woken),
		cmocka_unit_test(who_is_needed_later_is_not_woken),
		cmocka_unit_test(the_worker_of_a_job_sleeps_on),
		cmocka_unit_test(the_wrong_one_is_called),
		cmocka_unit_test(a_party_ends),
		cmocka_unit_test(a_party_is_late),
		cmocka_unit_test(an_answer_comes_too_early),
		cmocka_unit_test(the_server_signalled_before_the_wait),
		cmocka_unit_test(who_posted_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
