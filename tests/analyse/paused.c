/* SPDX-License-Identifier: ISC */
/* Programs that were killed after the machine had paused, so that answers on their way seem not to come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define PEERS 60     /* requests, one each 2 ms */
#define AT_ONCE 6    /* of these: so each takes 12 ms */
#define ASKED 110    /* ms: when the one is made that doesn't end */

static int later; /* ms: after so long a silence, all begins */

/* Requests of the main thread, or promises, that a thread resolves until 132 ms. One doesn't end. */
static void tell(const char *kind)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"server\n"
		   "0 @1 create - 3 thread\n0 @1 label 3 \"worker\n0 @1 switch 3\n"
		   "0 @1 create 3 4 task\n0 @1 label 4 \"count\n");
	for (int i = 0; i < PEERS + AT_ONCE; i++) {
		int time = later + 2 + 2 * i;

		if (time == later + ASKED)
			story_tell("%d" MS "create 2 9 %s\n%d" MS "label 9 \"look up\n", time, kind,
				time);
		if (i < PEERS)
			story_tell("%d" MS "create 2 %d %s\n%d" MS "label %d \"look up\n", time,
				10 + i, kind, time, 10 + i);
		if (i >= AT_ONCE)
			story_tell("%d" MS "@1 resolve 3 %d\n", time, 10 + i - AT_ONCE);
	}
}

/* Returns the certainty of the only finding, which is of that class; -1: there is none. */
static int certainty(enum thrum_ending ending, int class)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);
	int certainty = -1;

	model->ending = ending;
	story_find(model, &findings);
	assert_true(findings.count <= 1);
	if (findings.count == 1) {
		assert_int_equal(findings.findings[0].class, class);
		certainty = findings.findings[0].certainty;
	}
	story_free(model, &findings);
	return certainty;
}

/* Nothing happens from 132 ms on, until the end. */
static void an_answer_from_outside(void **state)
{
	(void)state;
	tell("request");
	story_tell("133" MS "log 1 \"a\n400" MS "log 1 \"b\n");
	assert_int_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_OUTSIDE), -1);
	assert_int_equal(certainty(THRUM_ENDING_RUNNING, THRUM__FINDING_OUTSIDE), -1);
	/* It is marked as one that should end: that it doesn't is possible. */
	story_tell("400" MS "should-resolve 9\n");
	assert_int_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_OUTSIDE), THRUM__POSSIBLE);
	assert_int_equal(certainty(THRUM_ENDING_EXITED, THRUM__FINDING_OUTSIDE), THRUM__LIKELY);
	/* The program ended by itself. */
	tell("request");
	story_tell("133" MS "log 1 \"a\n400" MS "log 1 \"b\n");
	assert_int_not_equal(certainty(THRUM_ENDING_EXITED, THRUM__FINDING_OUTSIDE), -1);
	/* It goes on without the answer. */
	tell("request");
	for (int i = 0; i < 28; i++)
		story_tell("%d" MS "create 2 %d task\n%d" MS "resolve 2 %d\n", 133 + 10 * i,
			200 + i, 134 + 10 * i, 200 + i);
	assert_int_not_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_OUTSIDE), -1);
	/* No machine pauses for so long. */
	tell("request");
	story_tell("133" MS "log 1 \"a\n3000" MS "log 1 \"b\n");
	assert_int_not_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_OUTSIDE), -1);
}

/* A task runs meanwhile, so the threads were stopped in the middle of their work. */
static void an_answer_from_inside(void **state)
{
	(void)state;
	tell("promise");
	story_tell("133" MS "@1 switch 4\n220" MS "@1 switch 3\n");
	assert_int_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_NEVER_RESOLVED), -1);
	/* All just wait, perhaps for that one. */
	tell("promise");
	story_tell("133" MS "@1 log 3 \"a\n220" MS "log 1 \"b\n");
	assert_int_not_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_NEVER_RESOLVED), -1);
}

/* Returns the certainty where all wait from 133 ms until 220 ms, and a timer is due at that time, in ms; the
 * rest of the story follows. */
static int with_timer(int due, const char *rest)
{
	tell("promise");
	story_tell("132" MS "create 2 300 timer\n132" MS "due 300 =%d" MS "\n133" MS
		   "@1 log 3 \"a\n133" MS "@1 suspend \"wait for work\n%s",
		due - 132, rest);
	return certainty(THRUM_ENDING_GONE, THRUM__FINDING_NEVER_RESOLVED);
}

/* All just wait, but a timer would have come. */
static void a_timer_that_was_due(void **state)
{
	(void)state;
	assert_int_equal(with_timer(150, "220" MS "resolve 2 300\n"), -1);
	assert_int_equal(with_timer(150,
				 "133" MS "suspend \"wait for work\n220" MS "@1 log 3 \"b\n"),
		-1);
	/* It came on time. */
	assert_int_not_equal(with_timer(219, "220" MS "resolve 2 300\n"), -1);
	/* Its thread does not wait for it. */
	assert_int_not_equal(with_timer(150, "133" MS "suspend \"blocked\n220" MS "@1 log 3 \"b\n"),
		-1);
}

/* A longer one came before. */
static void the_latter_of_two(void **state)
{
	(void)state;
	later = 400;
	tell("promise");
	story_tell("533" MS "@1 switch 4\n620" MS "@1 switch 3\n");
	assert_int_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_NEVER_RESOLVED), -1);
	/* All goes on after that pause, but the one doesn't end. */
	for (int i = 0; i < 20; i++)
		story_tell("%d" MS "create 2 %d task\n%d" MS "resolve 2 %d\n", 621 + 5 * i, 200 + i,
			622 + 5 * i, 200 + i);
	assert_int_not_equal(certainty(THRUM_ENDING_GONE, THRUM__FINDING_NEVER_RESOLVED), -1);
	later = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_from_outside),
		cmocka_unit_test(an_answer_from_inside),
		cmocka_unit_test(a_timer_that_was_due),
		cmocka_unit_test(the_latter_of_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
