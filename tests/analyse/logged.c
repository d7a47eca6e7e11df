/* SPDX-License-Identifier: ISC */
/* A request has no answer, and a log line tells why: one that is unlike the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define CALLS 6

/* Calls 10, 11, … that thread 1 makes and thread 2, a reader on a lane of its own, ends after 10 ms; but call
 * `hanging` has no answer. The reader logs a line at the end of each. */
static void begin(int hanging)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 @1 create - 2 thread\n0 @1 label 2 \"reader\n0 @1 switch 2\n");
	for (int call = 10; call < 10 + CALLS; call++) {
		int time = 20 * (call - 9);

		story_tell("%d" MS "create 1 %d request\n%d" MS "label %d \"call %d\n", time, call,
			time, call, call);
		story_tell("%d" MS "should-resolve %d\n", time, call);
		if (call != hanging)
			story_tell("%d" MS "@1 switch %d\n%d" MS "@1 log %d \"answer %d\n%d" MS
				   "@1 resolve %d %d\n%d" MS "@1 switch 2\n",
				time + 10, call, time + 10, call, call, time + 10, call, call,
				time + 10);
	}
}

/* Expects one finding, whose first step tells of this line, or of none if that is NULL. */
static void expect(const char *line)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_OUTSIDE);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == THRUM__STEP_LOGGED, line != NULL);
	if (line)
		assert_string_equal(thrum__model_string(model, THRUM__NOTE(model, step->more, text),
					    NULL),
			line);
	story_free(model, &findings);
}

static void the_reader_drops_an_answer(void **state)
{
	(void)state;
	begin(11);
	story_tell("150" MS "@1 log 2 \"no call for id 11\n");
	expect("no call for id 11");
}

static void usual_lines_tell_nothing(void **state)
{
	(void)state;
	begin(11);
	expect(NULL);
	begin(11);
	for (int i = 0; i < 5; i++)
		story_tell("%d" MS "@1 log 2 \"buffer %d is free\n", 150 + i, i);
	expect(NULL);
}

/* Points are lines, too, but for those that the adapters write. */
static void a_point_tells(void **state)
{
	(void)state;
	begin(11);
	story_tell("150" MS "@1 tag 2 \"net/checksum is wrong\n");
	expect("net/checksum is wrong");
	begin(11);
	story_tell("150" MS "@1 tag 2 \"time-out\n");
	expect(NULL);
}

static void lines_of_other_threads_tell_nothing(void **state)
{
	(void)state;
	begin(11);
	story_tell("150" MS "log 1 \"status\n");
	expect(NULL);
}

static void lines_before_the_request_tell_nothing(void **state)
{
	(void)state;
	begin(15);
	story_take_back();
	story_tell("10" MS "@1 log 2 \"connected\n");
	story_tell("120" MS "should-resolve 15\n");
	expect(NULL);
}

/* A rare line long after the wait began was written because of something else. */
static void late_lines_tell_nothing(void **state)
{
	(void)state;
	begin(11);
	story_tell("1900" MS "@1 log 2 \"no call for id 11\n");
	expect(NULL);
}

/* The call waits for a handle, whose answers the reader reads. None like it has ended. */
static void the_handle_tells_who_reads(void **state)
{
	(void)state;
	begin(0);
	story_tell("200" MS "create 1 30 handle\n200" MS "label 30 \"server\n");
	story_tell("201" MS "create 1 31 request\n201" MS "label 31 \"watch\n");
	story_tell("201" MS "should-resolve 31\n201" MS "wait 31 30\n");
	story_tell("202" MS "create 1 32 request\n202" MS "label 32 \"get\n202" MS "wait 32 30\n");
	story_tell("203" MS "@1 switch 32\n203" MS "@1 read 32 30\n203" MS "@1 resolve 32 32\n");
	story_tell("204" MS "@1 switch 2\n205" MS "@1 log 2 \"no call for id 31\n");
	expect("no call for id 31");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reader_drops_an_answer),
		cmocka_unit_test(usual_lines_tell_nothing),
		cmocka_unit_test(a_point_tells),
		cmocka_unit_test(lines_of_other_threads_tell_nothing),
		cmocka_unit_test(lines_before_the_request_tell_nothing),
		cmocka_unit_test(late_lines_tell_nothing),
		cmocka_unit_test(the_handle_tells_who_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
