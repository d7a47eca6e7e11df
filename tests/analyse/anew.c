/* SPDX-License-Identifier: ISC */
/* Objects that are made anew for each wait: earlier ones tell who should have served the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* The finding's first step is of this kind and about this task; task 0: there is no such step. */
static void expect(int kind, uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	const struct thrum__step *found = NULL;

	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++)
			if (findings.findings[i].steps[k].kind == kind)
				found = &findings.findings[i].steps[k];
	assert_int_equal(found != NULL, task > 0);
	if (found)
		assert_int_equal(found->task, story_task(model, task));
	story_free(model, &findings);
}

/* A thread, 1 + its lane, that the main thread, 1, waits for. */
static void begin(unsigned threads)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n");
	for (unsigned i = 1; i <= threads; i++)
		story_tell("0 @%u create - %u thread\n0 @%u label %u \"member %u\n0 @%u switch %u\n"
			   "0 should-resolve %u\n",
			i, i + 1, i, i + 1, i, i, i + 1, i + 1);
	story_tell("0 wait 1 2\n0 suspend - \"blocked\n");
}

static bool is_one; /* all objects are one */

/* A member of a lane waits for an object made for that, in line 7; from is a time in ms. */
static void wait_for(unsigned lane, unsigned object, unsigned from)
{
	if (is_one) {
		story_tell("%u" MS "@%u wait %u 20\n%u" MS "@%u suspend - \"blocked\n", from, lane,
			lane + 1, from, lane);
		return;
	}
	story_tell("%u" MS "@%u create %u %u semaphore =7\n%u" MS "@%u label %u \"turn %u\n", from,
		lane, lane + 1, object, from, lane, object, object);
	story_tell("%u" MS "@%u wait %u %u\n%u" MS "@%u suspend - \"blocked\n", from, lane,
		lane + 1, object, from, lane);
}

/* Another one serves it. */
static void serve(unsigned lane, unsigned by, unsigned object, unsigned at)
{
	object = is_one ? 20 : object;
	story_tell("%u" MS "@%u signal %u %u =1\n%u" MS "@%u resume -\n%u" MS "@%u read %u %u\n",
		at, by, by + 1, object, at, lane, at, lane, lane + 1, object);
	if (!is_one)
		story_tell("%u" MS "@%u resolve %u %u\n", at, lane, lane + 1, object);
}

/* ---- A circle ---------------------------------------------------------------------------------- */

/* Members 1 to 3 hand a turn round. Then 1 and 2 wait, and 3 ends at a time, or before 1 waits. */
static void tell_circle(unsigned end, const char *more)
{
	begin(3);
	wait_for(1, 10, 10);
	serve(1, 2, 10, 20);
	wait_for(2, 11, 30);
	serve(2, 3, 11, 40);
	wait_for(1, 12, 50);
	serve(1, 3, 12, 60);
	wait_for(1, 13, 100);
	wait_for(2, 14, 110);
	if (end)
		story_tell("%u" MS "@3 resolve 4 4\n", end);
	story_tell("%s3000" MS "log 1 \"end\n", more);
}

static void the_last_of_a_circle_ends(void **state)
{
	(void)state;
	tell_circle(200, "");
	expect(THRUM__STEP_SERVER_ENDED, 4);
	/* It goes on, or ended when another one had yet to wait: so that one had the turn. */
	tell_circle(0, "");
	expect(THRUM__STEP_SERVER_ENDED, 0);
	tell_circle(105, "");
	expect(THRUM__STEP_SERVER_ENDED, 0);
	/* Its last act was to serve one of them, which has not gone on yet. */
	tell_circle(0, "200" MS "@3 signal 4 13 =1\n201" MS "@3 resolve 4 4\n");
	expect(THRUM__STEP_SERVER_ENDED, 4);
}

/* ---- A time limit ------------------------------------------------------------------------------ */

/* Member 2 serves 1 when a time limit is over. In between it waits without one: at a pipe, 9, that 1 and 3
 * signal. opens: in these rounds it does so, too, while 1 waits. */
static void tell_round(unsigned round, bool is_open)
{
	unsigned at = 100 * (round + 1), object = 20 + round;

	story_tell("%u" MS "@2 wait 3 9\n%u" MS "@2 suspend - \"wait for work\n", at, at);
	story_tell("%u" MS "@1 signal 2 9 =1\n", at + 10);
	wait_for(1, object, at + 10);
	story_tell("%u" MS "@2 resume -\n%u" MS "@2 read 3 9\n", at + 11, at + 11);
	if (is_open)
		story_tell("%u" MS "@2 suspend - \"wait for work\n%u" MS "@2 resume -\n", at + 12,
			at + 13);
	story_tell("%u" MS "@2 suspend - \"wait for work for a time\n", at + 20);
}

static void tell_limits(unsigned rounds, bool is_open, bool is_woken)
{
	begin(3);
	story_tell("0 create 1 9 stream\n0 label 9 \"pipe 3 to 4\n");
	if (is_one)
		story_tell("0 create 1 20 semaphore =7\n0 label 20 \"turn\n");
	for (unsigned i = 0; i < rounds; i++) {
		tell_round(i, is_open);
		story_tell("%u" MS "@2 resume -\n", 100 * (i + 1) + 50);
		serve(1, 2, 20 + i, 100 * (i + 1) + 51);
	}
	tell_round(rounds, is_open);
	if (is_woken)
		story_tell("%u" MS "@3 signal 4 9 =0\n", 100 * (rounds + 1) + 30);
	story_tell("%u" MS "@2 resume -\n%u" MS "@2 wait 3 9\n%u" MS
		   "@2 suspend - \"wait for work\n",
		100 * (rounds + 1) + 31, 100 * (rounds + 1) + 32, 100 * (rounds + 1) + 32);
	story_tell("%u" MS "@3 resolve 4 4\n9000" MS "log 1 \"end\n", 100 * (rounds + 1) + 40);
}

static void a_sleeper_forgets_its_limit(void **state)
{
	(void)state;
	tell_limits(4, false, true);
	expect(THRUM__STEP_SLEEPS_ON, 3);
	/* It waits so while others wait, too; nothing shows that it never does; nobody woke it. */
	tell_limits(4, true, true);
	expect(THRUM__STEP_SLEEPS_ON, 0);
	tell_limits(2, false, true);
	expect(THRUM__STEP_SLEEPS_ON, 0);
	tell_limits(4, false, false);
	expect(THRUM__STEP_SLEEPS_ON, 0);
	/* All wait for one object. */
	is_one = true;
	tell_limits(4, false, true);
	expect(THRUM__STEP_SLEEPS_ON, 3);
	tell_limits(4, true, true);
	expect(THRUM__STEP_SLEEPS_ON, 0);
	is_one = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_of_a_circle_ends),
		cmocka_unit_test(a_sleeper_forgets_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
