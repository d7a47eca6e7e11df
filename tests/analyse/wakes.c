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

	assert_int_equal(thrum__why_make(model, &findings), 0);
	for (unsigned i = 0; findings.count > 0 && i < findings.findings[0].step_count; i++)
		if (findings.findings[0].steps[i].kind == kind) {
			*step = findings.findings[0].steps[i];
			count++;
		}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wrong_one_is_woken),
		cmocka_unit_test(who_is_woken_and_works_is_no_cause),
		cmocka_unit_test(a_party_ends),
		cmocka_unit_test(a_party_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
