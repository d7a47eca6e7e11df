/* SPDX-License-Identifier: ISC */
/* Streams that are full one behind the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* A sender puts orders into stream 10; mills 3 and 4 take them from there, and put receipts into stream 11,
 * from which a collector, 5, takes. The job 2 is the sender's. */
static void tell_streams(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 10 stream\n0 label 10 \"orders\n"
		   "0 create 1 11 stream\n0 label 11 \"receipts\n0 create 1 30 timer\n"
		   "0 label 30 \"sleep\n");
	story_tell("0 create 1 3 bind\n0 label 3 \"mill 1\n0 create 1 4 bind\n0 label 4 \"mill 2\n"
		   "0 create 1 5 bind\n0 label 5 \"collector\n");
	story_tell("0 create 1 2 bind\n0 label 2 \"send\n0 should-resolve 2\n");
	for (int i = 0; i < 2; i++)
		story_tell("%d" MS "signal 2 10 =0\n%d" MS "read %d 10\n%d" MS
			   "signal %d 11 =0\n%d" MS "read 5 11\n",
			i + 1, i + 1, 3 + i, i + 2, 3 + i, i + 3);
	/* Later each waits by a task of its own. */
	story_tell("9" MS "create 3 21 wait\n9" MS "wait 21 %d\n9" MS "wait 3 21\n", 11);
}

static void tell_end(int mill_waits_on, const char *collector)
{
	story_tell("9" MS "create 4 22 wait\n9" MS "wait 22 %d\n9" MS "wait 4 22\n", mill_waits_on);
	story_tell("10" MS "create 2 20 wait\n10" MS "wait 20 10\n10" MS "wait 2 20\n");
	story_tell("%s900" MS "log 1 \"end\n", collector);
}

/* The task that the story's only finding begins with, or 0 if there is no finding. */
static void expect_first(int kind, uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);

	assert_int_equal(findings.count, task > 0);
	if (task > 0) {
		assert_int_equal(findings.findings[0].steps[0].kind, kind);
		assert_int_equal(findings.findings[0].steps[0].task, story_task(model, task));
	}
	story_free(model, &findings);
}

static void a_full_stream_leads_on_to_the_next(void **state)
{
	(void)state;
	tell_streams();
	tell_end(11, "20" MS "resolve 5 5\n");
	expect_first(THRUM__STEP_SERVER_ENDED, 5);
	/* The collector is slow, but comes. */
	tell_streams();
	tell_end(11, "800" MS "due 30 =500000000\n800" MS "wait 5 30\n");
	expect_first(0, 0);
}

static void an_empty_stream_does_not(void **state)
{
	(void)state;
	/* One of those who take waits for an order: so there is room. */
	tell_streams();
	tell_end(10, "");
	expect_first(THRUM__STEP_WAITS_FOR, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_stream_leads_on_to_the_next),
		cmocka_unit_test(an_empty_stream_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
