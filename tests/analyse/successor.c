/* SPDX-License-Identifier: ISC */
/* Objects that nobody has served so far: those are to do so that are named like others, or came last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Job n at 100 n ms: a producer is to put an item into stream 10 n + 1, and a consumer waits for that. A wait
 * of its own stands for the consumer's look. */
static void tell_job(int n)
{
	int time = 100 * n, stream = 10 * n + 1, producer = stream + 1, consumer = stream + 2;

	story_tell("%d" MS "create 1 %d stream\n%d" MS "label %d \"items %d\n", time, stream, time,
		stream, n);
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"producer %d\n", time, producer,
		time, producer, n);
	story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"consumer %d\n", time, consumer,
		time, consumer, n);
	story_tell("%d" MS "should-resolve %d\n", time, consumer);
	story_tell("%d" MS "create %d %d wait\n%d" MS "wait %d %d\n%d" MS "wait %d %d\n", time + 1,
		consumer, stream + 3, time + 1, consumer, stream + 3, time + 1, stream + 3, stream);
}

static void end_job(int n)
{
	int time = 100 * n + 10, stream = 10 * n + 1;

	story_tell("%d" MS "signal %d %d =1\n%d" MS "read %d %d\n", time, stream + 1, stream, time,
		stream + 3, stream);
	story_tell("%d" MS "resolve %d %d\n%d" MS "read %d %d\n", time, stream + 3, stream + 3,
		time + 1, stream + 2, stream + 3);
	for (int task = stream; task <= stream + 2; task++)
		story_tell("%d" MS "resolve 1 %d\n", time + 2, task);
}

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int n = 1; n < 3; n++) {
		tell_job(n);
		end_job(n);
	}
	tell_job(3);
}

/* Expects a finding of this class and certainty, or none if the class is -1. */
static void expect(int class, int certainty)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, class >= 0);
	if (class >= 0) {
		assert_int_equal(findings.findings[0].class, class);
		assert_int_equal(findings.findings[0].certainty, certainty);
	}
	story_free(model, &findings);
}

static void a_producer_waits_for_its_consumer(void **state)
{
	(void)state;
	begin();
	story_tell("302" MS "wait 32 33\n");
	expect(THRUM__FINDING_DEADLOCK, THRUM__POSSIBLE);
}

/* The producer may yet put something there. */
static void a_producer_waits_for_a_timer(void **state)
{
	(void)state;
	begin();
	story_tell("302" MS "create 32 40 timer\n302" MS "label 40 \"delay\n302" MS
		   "due 40 =1800000000\n302" MS "wait 32 40\n");
	expect(-1, 0);
}

/* Any of two may be the one, and it isn't told which. One of another number isn't. */
static void two_are_named_so(void **state)
{
	(void)state;
	for (int number = 3; number < 5; number++) {
		begin();
		story_tell("302" MS "create 1 41 task\n302" MS "label 41 \"producer %d\n302" MS
			   "wait %d 33\n",
			number, number == 3 ? 41 : 32);
		if (number == 3)
			expect(THRUM__FINDING_NEVER_RESOLVED, THRUM__LIKELY);
		else
			expect(THRUM__FINDING_DEADLOCK, THRUM__POSSIBLE);
	}
}

/* A full stream: the consumer is to take from it, and waits for the producer. */
static void a_consumer_never_takes(void **state)
{
	(void)state;
	begin();
	story_take_back();
	story_take_back();
	story_tell("302" MS "signal 32 31 =0\n303" MS "create 32 45 wait\n303" MS
		   "wait 45 31\n303" MS "wait 32 45\n304" MS "wait 33 32\n");
	expect(THRUM__FINDING_DEADLOCK, THRUM__POSSIBLE);
}

/* The main thread takes the lock 2, begins a thread, and waits for a condition that this one signals. */
static void begin_thread(int n)
{
	int time = 100 * n, thread = 10 * n, condition = thread + 1;

	story_tell("%d" MS "lock 1 2\n%d" MS "create 1 %d thread\n%d" MS "label %d \"plugin %d\n",
		time, time, thread, time, thread, n);
	story_tell("%d" MS "create 1 %d condition\n%d" MS "label %d \"ready %d\n%d" MS
		   "wait 1 %d\n%d" MS "suspend \"blocked\n",
		time + 1, condition, time + 1, condition, n, time + 2, condition, time + 2);
	story_tell("%d" MS "@%d switch %d\n", time + 2, n, thread);
}

static void signal_ready(int n)
{
	int time = 100 * n + 10, thread = 10 * n, condition = thread + 1;

	story_tell("%d" MS "@%d signal %d %d =1\n%d" MS "resume \"blocked\n%d" MS "read 1 %d\n%d" MS
		   "unlock 1 2\n",
		time, n, thread, condition, time + 1, time + 1, condition, time + 1);
}

/* The others sleep again and again. */
static void sleep_on(int n)
{
	int timer = 10 * n + 5;

	story_tell("1990" MS "@%d create %d %d timer\n1990" MS "@%d due %d =2100000000\n1990" MS
		   "@%d wait %d %d\n1990" MS "@%d suspend \"blocked for a time\n",
		n, 10 * n, timer, n, timer, n, 10 * n, timer, n);
}

static void begin_threads(void)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 lock\n0 label 2 "
		"\"registry\n");
	for (int n = 1; n < 3; n++) {
		begin_thread(n);
		signal_ready(n);
	}
	begin_thread(3);
}

static void the_latest_thread_waits_for_its_maker(void **state)
{
	(void)state;
	begin_threads();
	story_tell("310" MS "@3 wait 30 2\n310" MS "@3 suspend \"blocked\n");
	sleep_on(1);
	sleep_on(2);
	expect(THRUM__FINDING_DEADLOCK, THRUM__POSSIBLE);
}

static void the_latest_thread_sleeps(void **state)
{
	(void)state;
	begin_threads();
	for (int n = 1; n < 4; n++)
		sleep_on(n);
	expect(-1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_producer_waits_for_its_consumer),
		cmocka_unit_test(a_producer_waits_for_a_timer),
		cmocka_unit_test(two_are_named_so),
		cmocka_unit_test(a_consumer_never_takes),
		cmocka_unit_test(the_latest_thread_waits_for_its_maker),
		cmocka_unit_test(the_latest_thread_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
