/* SPDX-License-Identifier: ISC */
/* Tasks that hung until the program was torn down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

static uint32_t find(const char *lines, struct thrum__finding *first)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	uint32_t count;

	story_find(model, &findings);
	count = findings.count;
	if (count > 0)
		*first = findings.findings[0];
	story_free(model, &findings);
	return count;
}

/* A report waits for a query that waits for a promise, `row`. Two seconds later all are cancelled. */
#define HANGS \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "label 2 \"report\n" \
	     "1" MS "should-resolve 2\n" \
	     "2" MS "create 2 3 task\n" \
	     "2" MS "label 3 \"query\n" \
	     "3" MS "create 3 4 promise\n" \
	     "3" MS "label 4 \"row\n" \
	     "3" MS "wait 3 4\n" \
	     "4" MS "wait 2 3\n"
#define TEAR_DOWN \
	"2000" MS "cancel 1 4\n" \
	"2000" MS "cancel 1 3\n" \
	"2000" MS "cancel 1 2\n" \
	"2001" MS "log 1 \"end\n"

static void expect_hang(const char *lines)
{
	struct thrum__finding finding;

	assert_int_equal(find(lines, &finding), 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding.step_count, 3);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_WAITED);
	assert_int_equal(finding.steps[0].time, 3000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_BEHIND);
	assert_int_equal(finding.steps[2].kind, THRUM__STEP_TORN_DOWN);
	assert_int_equal(finding.until, 2000000000);
}

static void all_hangs(void **state)
{
	expect_hang(HANGS TEAR_DOWN);
	/* A wait that the tear-down begins tells nothing. */
	expect_hang(HANGS "2000" MS "create 1 9 promise\n2000" MS "wait 2 9\n2000" MS
			  "cancel 1 9\n" TEAR_DOWN);
}

/* While others work, a task may wait for something until it is told to stop. */
static void others_work(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS "1500" MS "create 1 5 task\n"
				    "1501" MS "resolve 1 5\n" TEAR_DOWN,
				 &finding),
		0);
}

#define ROW(id, from, to) \
#from MS "create 1 " #id " promise\n" #from MS "label " #id " \"row\n" #to MS \
		 "resolve 1 " #id "\n"

/* Its peers tell that it hung, whatever others do. */
static void peers_end(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS ROW(5, 10, 12) ROW(6, 1500, 1510) TEAR_DOWN, &finding), 1);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	/* It may just be under way, or not be torn down. */
	assert_int_equal(find(HANGS ROW(5, 10, 1510) TEAR_DOWN, &finding), 0);
	assert_int_equal(find(HANGS ROW(5, 10, 12) TEAR_DOWN ROW(6, 2500, 2510), &finding), 0);
}

static void not_due_yet(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(HANGS "4" MS "due 4 =5000000000\n" TEAR_DOWN, &finding), 0);
}

#define MARKED(id, name) \
	"1" MS "create 1 " #id " task\n1" MS "label " #id " \"" name "\n1" MS \
	"should-resolve " #id "\n"

/* Each of two tasks waits for the other. */
static void a_circle(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(MAIN MARKED(2, "left") MARKED(3,
				      "right") "2" MS "wait 2 3\n3" MS "wait 3 2\n2000" MS
					       "cancel 1 3\n2000" MS "cancel 1 2\n",
				 &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_DEADLOCK);
	assert_int_equal(finding.count, 2);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_WAITS_IN_CYCLE);
	assert_int_equal(finding.steps[2].kind, THRUM__STEP_TORN_DOWN);
}

/* A signal comes before the wait. */
static void a_lost_signal(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(MAIN MARKED(2, "reader") "1" MS "create 1 3 condition\n2" MS
						       "signal 1 3 =0\n3" MS "wait 2 3\n2000" MS
						       "cancel 1 2\n",
				 &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_LOST_WAKE_UP);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_SIGNAL_LOST);
}

/* The holder of a lock ends without giving it back. */
static void a_lock_is_kept(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(MAIN MARKED(2, "writer") "1" MS "create 1 3 lock\n1" MS
						       "create 1 4 task\n2" MS "lock 4 3\n3" MS
						       "wait 2 3\n4" MS "wait 4 2\n2000" MS
						       "cancel 1 4\n2000" MS "cancel 1 2\n",
				 &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_DEADLOCK);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_HOLDS);
}

/* The only one who served a mailbox has ended. Other processes may serve a shared one. */
static void who_served_has_ended(void **state)
{
	struct thrum__finding finding;

#define UNSERVED(mailbox) \
	MAIN MARKED(2, "reader") "1" MS "create 1 3 mailbox\n1" MS "label 3 \"" mailbox "\n1" MS \
				 "create 1 4 task\n2" MS "signal 4 3 =1\n3" MS "resolve 4 4\n4" MS \
				 "wait 2 3\n2000" MS "cancel 1 2\n"
	assert_int_equal(find(UNSERVED("jobs"), &finding), 1);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	assert_int_equal(find(UNSERVED("shared jobs"), &finding), 0);
}

/* Others were answered by their handlers. The handler of this one failed long before. */
static void handler_is_to_blame(void **state)
{
	struct thrum__finding finding;

#define SERVED(id, handler, time) \
	time MS "create 1 " #id " promise\n" time MS "label " #id " \"answer\n" time MS \
		"create " #id " " #handler " task\n" time MS "label " #handler " \"handler\n"
	assert_int_equal(find(MAIN SERVED(11, 21, "1") "2" MS "resolve 21 11\n" SERVED(12, 22,
				      "3") "4" MS "resolve 22 12\n" SERVED(13, 23,
				      "5") "6" MS "resolve 23 13\n" SERVED(14, 24, "7") MARKED(2,
				      "report") "8" MS "wait 2 14\n9" MS "fail 24 24 \"broken\n"
						"2000" MS "cancel 1 14\n2000" MS "cancel 1 2\n",
				 &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_FAILED);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_WAITED);
}

/* The loop says that nothing can wake it. Then all is cancelled. */
static void a_dead_loop(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(find(MAIN "1" MS "create 1 2 promise\n1" MS "create 1 3 promise\n1" MS
				   "wait 3 2\n900" MS "suspend \"deadlocked\n900" MS
				   "switch 1\n900" MS "cancel 1 2\n900" MS "cancel 1 3\n",
				 &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
	assert_int_equal(find(MAIN "1" MS "create 1 2 promise\n1" MS "create 1 3 promise\n1" MS
				   "wait 3 2\n900" MS "suspend \"wait for work\n900" MS
				   "switch 1\n900" MS "cancel 1 2\n900" MS "cancel 1 3\n",
				 &finding),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_hangs),
		cmocka_unit_test(others_work),
		cmocka_unit_test(peers_end),
		cmocka_unit_test(not_due_yet),
		cmocka_unit_test(a_circle),
		cmocka_unit_test(a_lost_signal),
		cmocka_unit_test(a_lock_is_kept),
		cmocka_unit_test(who_served_has_ended),
		cmocka_unit_test(handler_is_to_blame),
		cmocka_unit_test(a_dead_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
