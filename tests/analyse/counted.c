/* SPDX-License-Identifier: ISC */
/* Signals of which the program says that nobody waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static struct {
	struct thrum__model *model;
	struct thrum__findings findings;
} story;

/* Main signals the condition 3, for which the tasks 4 and 5 wait. */
static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 3 condition\n0 label 3 \"drain\n");
	for (int i = 4; i <= 5; i++)
		story_tell("0 create 1 %d task\n0 label %d \"upload %d\n", i, i, i);
	story_tell("0 should-resolve 4\n");
}

static const struct thrum__finding *judge(void)
{
	story_tell("900" MS "log 1 \"end\n");
	story.model = story_model(story_told(), false);
	assert_int_equal(thrum__why_make(story.model, &story.findings), 0);
	assert_int_equal(story.findings.count, 1);
	return story.findings.findings;
}

static void finish(void)
{
	thrum__why_free(&story.findings);
	thrum__model_destroy(story.model);
}

/* Expects that main signals for nobody so often; 0: that this isn't told. */
static void expect_uncounted(unsigned times)
{
	const struct thrum__step *step = judge()->steps;

	assert_int_equal(step->kind == THRUM__STEP_SIGNALLED_LAST && step->more > 0, times > 0);
	if (times > 0) {
		assert_int_equal(step->task, story_task(story.model, 1));
		assert_int_equal(step->other, story_task(story.model, 3));
		assert_int_equal(step->more, times);
		assert_int_equal(step->time, 30000000);
	}
	finish();
}

static void a_waiter_is_not_counted(void **state)
{
	(void)state;
	begin();
	story_tell("10" MS "wait 4 3\n11" MS "signal 1 3 =1\n11" MS "read 4 3\n12" MS "wait 4 3\n"
		   "30" MS "signal 1 3 =0\n31" MS "signal 1 3 =0\n");
	expect_uncounted(2);
}

static void waiters_are_never_counted(void **state)
{
	(void)state;
	/* No signal tells of one. */
	begin();
	story_tell("10" MS "wait 4 3\n11" MS "signal 1 3 =0\n11" MS "read 4 3\n12" MS "wait 4 3\n"
		   "30" MS "signal 1 3 =0\n");
	expect_uncounted(0);
	/* Some do, but not all. */
	begin();
	story_tell("10" MS "wait 4 3\n11" MS "signal 1 3 =1\n11" MS "read 4 3\n"
		   "12" MS "wait 5 3\n13" MS "signal 1 3 =0\n13" MS "read 5 3\n14" MS "wait 4 3\n"
		   "30" MS "signal 1 3 =0\n");
	expect_uncounted(0);
	/* The latest tells of one again. */
	begin();
	story_tell("10" MS "wait 4 3\n11" MS "signal 1 3 =1\n11" MS "read 4 3\n12" MS "wait 4 3\n"
		   "30" MS "signal 1 3 =0\n31" MS "signal 1 3 =1\n");
	expect_uncounted(0);
}

/* Main signals the condition so many times before anybody waits. */
static void expect_lost(unsigned signals, bool is_lost)
{
	begin();
	for (unsigned i = 0; i < signals; i++)
		story_tell("%u" MS "signal 1 3 =0\n", 1 + i);
	story_tell("20" MS "wait 4 3\n");
	assert_int_equal(judge()->class == THRUM__FINDING_LOST_WAKE_UP, is_lost);
	finish();
}

static void one_of_many_signals_is_not_lost(void **state)
{
	(void)state;
	expect_lost(1, true);
	expect_lost(4, true);
	expect_lost(5, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiter_is_not_counted),
		cmocka_unit_test(waiters_are_never_counted),
		cmocka_unit_test(one_of_many_signals_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
