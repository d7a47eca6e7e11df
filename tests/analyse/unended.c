/* SPDX-License-Identifier: ISC */
/* A run leaves a task pending, though each run like it ended one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 2000     /* ms */

/* One command of a driver: the loop 1 begins it, and the run of a handle that gets the reply ends it. */
static void command(int at, int number, bool is_ended)
{
	int command = 100 + number, reply = 200 + number;

	story_tell("%d" MS "resume \"wait for work\n%d" MS "create 1 %d promise\n%d" MS
		   "label %d \"command\n",
		at, at, command, at, command);
	story_tell("%d" MS "create 1 %d handle\n%d" MS "label %d \"reply\n%d" MS
		   "suspend \"wait for work\n",
		at, reply, at, reply, at);
	story_tell("%d" MS "resume \"wait for work\n%d" MS "switch %d\n", at + 4, at + 4, reply);
	if (is_ended)
		story_tell("%d" MS "resolve %d %d\n", at + 5, reply, command);
	story_tell("%d" MS "switch 1\n%d" MS "resolve 1 %d\n%d" MS "suspend \"wait for work\n",
		at + 5, at + 5, reply, at + 5);
}

/* The lines before all commands. */
static const char *before = "";

/* So many commands, of which the last one isn't ended; then `more`. A thread waits, and a timer ticks each
 * `period` ms. */
static void tell(int commands, const char *more, int period)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 timer\n"
		   "0 label 2 \"clock\n0 @1 create - 3 thread\n0 @1 label 3 \"modem\n"
		   "0 @1 switch 3\n0 @1 create 3 4 stream\n0 @1 wait 3 4\n"
		   "0 @1 suspend \"blocked by the outside\n0 suspend \"wait for work\n");
	story_tell("%s", before);
	for (int i = 1; i <= commands; i++)
		command(10 * i, i, i < commands);
	story_tell("%s", more);
	for (int time = 200; time < END; time += period)
		story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 2\n%d" MS
			   "switch 1\n%d" MS "suspend \"wait for work\n",
			time, time, time + 1, time + 1);
	story_tell("%d" MS "log 1 \"end\n", END);
}

static void expect(int last)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	story_find(model, &findings);
	assert_int_equal(findings.count, last > 0);
	if (last > 0) {
		const struct thrum__finding *finding = findings.findings;

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->task, story_task(model, (uint64_t)last + 100));
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_ENDS_WITHOUT);
		assert_int_equal(finding->steps[0].task, story_task(model, (uint64_t)last + 200));
		assert_int_equal(finding->steps[0].other, finding->task);
		assert_int_equal(finding->steps[1].kind, THRUM__STEP_NEVER_RESOLVED);
	}
	story_free(model, &findings);
}

static void the_run_that_left_it_is_told(void **state)
{
	(void)state;
	tell(12, "", 100);
	expect(12);
	/* The thread, which waited before, tells so anew. */
	tell(12,
		"180" MS "@1 resume \"blocked by the outside\n180" MS "@1 wait 3 4\n"
		"180" MS "@1 suspend \"blocked\n",
		100);
	expect(12);
}

static void what_may_still_end_it_is_an_excuse(void **state)
{
	(void)state;
	/* Too few commands; and a timer that hasn't come since, though it goes on. */
	tell(8, "", 100);
	expect(0);
	tell(12, "", 5000);
	expect(0);
	/* The loop waits for more, or tries again later. */
	tell(12, "180" MS "create 1 5 handle\n180" MS "label 5 \"reply\n", 100);
	expect(0);
	tell(12, "180" MS "create 1 5 timer\n180" MS "label 5 \"try again\n", 100);
	expect(0);
	tell(12, "180" MS "create 1 5 request\n", 100);
	expect(0);
	tell(12, "180" MS "create 1 5 task\n180" MS "label 5 \"look\n", 100);
	expect(0);
	/* The timer began something before. */
	before = "5" MS "create 2 5 task\n5" MS "label 5 \"look\n5" MS "resolve 1 5\n";
	tell(12, "", 100);
	expect(0);
	before = "";
	/* A thread does something. */
	tell(12,
		"180" MS "@1 resume \"blocked by the outside\n180" MS "@1 read 3 4\n"
		"180" MS "@1 wait 3 4\n180" MS "@1 suspend \"blocked\n",
		100);
	expect(0);
	/* The one that was left is ended otherwise. */
	tell(12, "180" MS "resolve 1 112\n", 100);
	expect(0);
}

static void several_that_are_left_tell_nothing(void **state)
{
	(void)state;
	before = "5" MS "create 1 5 promise\n5" MS "label 5 \"command\n";
	tell(12, "", 100);
	expect(0);
	before = "5" MS "create 1 5 promise\n5" MS "label 5 \"answer\n";
	tell(12, "", 100);
	expect(12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_run_that_left_it_is_told),
		cmocka_unit_test(what_may_still_end_it_is_an_excuse),
		cmocka_unit_test(several_that_are_left_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
