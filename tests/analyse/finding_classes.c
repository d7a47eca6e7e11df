/* SPDX-License-Identifier: ISC */
/* For each class of findings except the lost wake-up (finding.c): a story with a finding of that
 * class, and a twin without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n"

/* Expects `count` findings in the story, and that the first is of this class. */
static struct thrum__finding expect(const char *lines, uint32_t count, int class)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__finding first = {0};
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		first = findings.findings[0];
		assert_string_equal(thrum__why_class_name(first.class),
			thrum__why_class_name(class));
	}
	story_free(model, &findings);
	return first;
}

static void expect_none(const char *lines)
{
	expect(lines, 0, 0);
}

#define TWO_LOCKS \
	MAIN "1" MS "create 1 2 lock\n" \
	     "1" MS "create 1 3 lock\n" \
	     "1" MS "create 1 4 fiber\n" \
	     "1" MS "create 1 5 fiber\n" \
	     "2" MS "lock 4 2\n" \
	     "3" MS "lock 5 3\n" \
	     "4" MS "wait 4 3\n"

static void deadlock(void **state)
{
	struct thrum__finding finding = expect(TWO_LOCKS "5" MS "wait 5 2\n"
							 "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_DEADLOCK);

	assert_int_equal(finding.certainty, THRUM__CERTAIN);
	assert_int_equal(finding.step_count, 4);
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_WAITS_IN_CYCLE);
	assert_int_equal(finding.steps[0].time, 4000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_HOLDS);
	assert_int_equal(finding.steps[1].time, 3000000);
}

/* Another thread may have released a lock in its gap. */
static void deadlock_across_a_gap_is_possible(void **state)
{
	struct thrum__finding finding = expect(MAIN "1" MS "create 1 2 lock\n"
						    "1" MS "create 1 3 lock\n"
						    "1" MS "create 1 4 fiber\n"
						    "1" MS "create 1 5 fiber\n"
						    "2" MS "lock 4 2\n"
						    "3" MS "lock 5 3\n"
						    "3" MS "@1 create - 9 thread\n"
						    "4" MS "@1 lost =3 \"full\n"
						    "5" MS "wait 4 3\n"
						    "6" MS "wait 5 2\n"
						    "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_DEADLOCK);

	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
}

/* A task is under way for twice its peers' longest life, here 10 ms. */
static void twice_the_longest_life_is_young(void **state)
{
#define JOBS \
	MAIN "1" MS "create 1 2 promise\n" \
	     "1" MS "label 2 \"job 1\n" \
	     "1" MS "should-resolve 2\n" \
	     "11" MS "resolve 1 2\n" \
	     "20" MS "create 1 3 promise\n" \
	     "20" MS "label 3 \"job 2\n" \
	     "20" MS "should-resolve 3\n"
	expect_none(JOBS "40" MS "log 1 \"end\n");
	expect(JOBS "41" MS "log 1 \"end\n", 1, THRUM__FINDING_NEVER_RESOLVED);
}

static void the_certain_come_first(void **state)
{
	expect(TWO_LOCKS "4" MS "create 1 6 promise\n"
			 "4" MS "should-resolve 6\n"
			 "5" MS "wait 5 2\n"
			 "900" MS "log 1 \"end\n",
		2, THRUM__FINDING_DEADLOCK);
}

static void deadlock_after_a_gap_is_possible(void **state)
{
	struct thrum__finding finding = expect(TWO_LOCKS "5" MS "wait 5 2\n"
							 "6" MS "lost =3 \"full\n"
							 "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_DEADLOCK);

	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
}

/* Threads wait for each other's lock; the second gives up after a time. */
static void a_deadlock_with_a_time_limit_is_possible(void **state)
{
	static const char *const reasons[] = {"blocked", "blocked for a time"};

	for (int i = 0; i < 2; i++) {
		char lines[512];

		snprintf(lines, sizeof lines,
			MAIN "0 create - 2 thread\n"
			     "0 @1 create - 3 thread\n"
			     "0 @0 switch 2\n"
			     "0 @1 switch 3\n"
			     "1" MS "create 2 4 lock\n"
			     "1" MS "create 2 5 lock\n"
			     "2" MS "lock 2 4\n"
			     "2" MS "@1 lock 3 5\n"
			     "4" MS "wait 2 5\n"
			     "4" MS "suspend - \"blocked\n"
			     "5" MS "@1 wait 3 4\n"
			     "5" MS "@1 suspend - \"%s\n",
			reasons[i]);
		assert_int_equal(expect(lines, 1, THRUM__FINDING_DEADLOCK).certainty,
			i == 0 ? THRUM__CERTAIN : THRUM__POSSIBLE);
	}
}

static void no_deadlock(void **state)
{
	expect_none(TWO_LOCKS "5" MS "unlock 5 3\n"
			      "5" MS "lock 4 3\n"
			      "6" MS "wait 5 2\n"
			      "900" MS "log 1 \"end\n");
}

#define REQUESTS \
	MAIN "1" MS "create 1 2 request\n" \
	     "1" MS "label 2 \"query 1\n" \
	     "3" MS "resolve 1 2\n" \
	     "10" MS "create 1 3 request\n" \
	     "10" MS "label 3 \"query 2\n" \
	     "10" MS "create 1 4 promise\n" \
	     "10" MS "should-resolve 4\n" \
	     "10" MS "wait 4 3\n"

static void outside(void **state)
{
	struct thrum__finding finding = expect(REQUESTS "900" MS "log 1 \"end\n", 1,
		THRUM__FINDING_OUTSIDE);

	assert_int_equal(finding.peers, 1);
	assert_int_equal(finding.usual, 2000000);
	assert_int_equal(finding.steps[0].time, 10000000);
}

static void under_way(void **state)
{
	expect_none(REQUESTS "12" MS "log 1 \"end\n");
}

static void timer_that_did_not_come(void **state)
{
	struct thrum__finding finding = expect(MAIN "1" MS "create 1 2 timer\n"
						    "1" MS "due 2 =20000000\n"
						    "1" MS "create 1 3 request\n"
						    "1" MS "should-resolve 3\n"
						    "1" MS "wait 3 2\n"
						    "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_OUTSIDE);

	assert_int_equal(finding.steps[0].kind, THRUM__STEP_PENDING);
	assert_int_equal(finding.steps[0].more, 1);
	assert_int_equal(finding.steps[0].until, 21000000);
}

/* As in a damaged trace: the timer was due in the year 1678. */
static void timer_of_an_impossible_time(void **state)
{
	expect_none(MAIN "1" MS "create 1 2 timer\n"
			 "1" MS "due 2 =-9223372036854775807\n"
			 "900" MS "log 1 \"end\n");
	expect_none(MAIN "1" MS "create 1 2 timer\n"
			 "1" MS "due 2 =9223372036854775807\n"
			 "900" MS "resolve 1 2\n");
}

static void idle_timer_and_handle(void **state)
{
	expect_none(MAIN "1" MS "create 1 2 timer\n"
			 "1" MS "due 2 =5000000000\n"
			 "1" MS "create 1 3 promise\n"
			 "1" MS "should-resolve 3\n"
			 "1" MS "wait 3 2\n"
			 "1" MS "create 1 4 handle\n"
			 "1" MS "create 1 5 promise\n"
			 "1" MS "should-resolve 5\n"
			 "1" MS "wait 5 4\n"
			 "900" MS "log 1 \"end\n");
}

#define READY \
	MAIN "1" MS "create 1 2 promise\n" \
	     "1" MS "create 1 3 fiber\n" \
	     "1" MS "create 1 4 task\n" \
	     "2" MS "wait 3 2\n"

static void starved(void **state)
{
	struct thrum__finding finding = expect(READY "10" MS "switch 4\n"
						     "11" MS "resolve 4 2\n"
						     "290" MS "switch 3\n"
						     "290" MS "read 3 2\n"
						     "291" MS "switch 1\n"
						     "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_STARVED);

	assert_int_equal(finding.steps[0].kind, THRUM__STEP_HOGS);
	assert_int_equal(finding.steps[0].time, 10000000);
	assert_int_equal(finding.steps[1].time, 11000000);
	assert_int_equal(finding.steps[2].time, 290000000);
}

static void not_starved(void **state)
{
	expect_none(READY "10" MS "switch 4\n"
			  "100" MS "resolve 4 2\n"
			  "190" MS "switch 3\n"
			  "190" MS "read 3 2\n"
			  "191" MS "switch 1\n"
			  "900" MS "log 1 \"end\n");
}

#define FAILS \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "label 2 \"upload\n" \
	     "2" MS "switch 2\n" \
	     "3" MS "fail 2 2 \"no space\n" \
	     "3" MS "switch 1\n"

static void failed_unseen(void **state)
{
	struct thrum__finding finding = expect(FAILS "900" MS "log 1 \"end\n", 1,
		THRUM__FINDING_FAILED_UNSEEN);

	assert_int_equal(finding.steps[0].time, 3000000);
	expect_none(FAILS "4" MS "read 1 2\n"
			  "900" MS "log 1 \"end\n");
	/* It fails because its source was cancelled, which somebody wanted. */
#define PASSES_ON(how) \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "create 1 3 task\n" \
	     "1" MS "wait 3 2\n" \
	     "2" MS how "2" MS "switch 3\n" \
	     "2" MS "read 3 2\n" \
	     "2" MS "fail 3 3 \"operation canceled\n" \
	     "3" MS "switch 1\n" \
	     "900" MS "log 1 \"end\n"
	expect_none(PASSES_ON("cancel 1 2\n"));
	expect(PASSES_ON("resolve 1 2\n"), 1, THRUM__FINDING_FAILED_UNSEEN);
#undef PASSES_ON
}

/* Its waiter goes on, and waits for something else. */
static void failed_and_the_waiter_goes_on(void **state)
{
	expect_none(MAIN "1" MS "create 1 2 task\n"
			 "1" MS "create 1 3 task\n"
			 "1" MS "wait 3 2\n"
			 "2" MS "fail 2 2 \"no space\n"
			 "3" MS "create 1 4 handle\n"
			 "3" MS "wait 3 4\n"
			 "900" MS "log 1 \"end\n");
}

/* Clients disconnect, and nobody need know. A task that was awaited should have been read. */
static void failed_by_the_other_side(void **state)
{
#define RESET(label, wait) \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "label 2 \"" label "\n" \
	     "1" MS "create 1 3 task\n" wait "3" MS "fail 2 2 \"connection reset by peer\n" \
	     "900" MS "log 1 \"end\n"
	expect_none(RESET("connection 7", ""));
	expect(RESET("connection 7", "2" MS "wait 3 2\n"), 1, THRUM__FINDING_FAILED_UNSEEN);
	expect(RESET("upload 7", ""), 1, THRUM__FINDING_FAILED_UNSEEN);
#undef RESET
}

/* Another try of the same number succeeds. */
static void failed_and_tried_again(void **state)
{
	expect(FAILS "2" MS "label 2 \"upload 7\n"
		     "5" MS "create 1 3 task\n"
		     "5" MS "label 3 \"upload 8\n"
		     "6" MS "resolve 1 3\n"
		     "7" MS "read 1 3\n"
		     "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_FAILED_UNSEEN);
	expect_none(FAILS "2" MS "label 2 \"upload 7\n"
			  "5" MS "create 1 3 task\n"
			  "5" MS "label 3 \"upload 7\n"
			  "6" MS "resolve 1 3\n"
			  "7" MS "read 1 3\n"
			  "900" MS "log 1 \"end\n");
}

#define CANCELS \
	MAIN "1" MS "create 1 2 task\n" \
	     "1" MS "create 1 3 promise\n" \
	     "1" MS "create 1 4 task\n" \
	     "2" MS "wait 3 2\n"

static void cancelled(void **state)
{
	struct thrum__finding finding = expect(CANCELS "5" MS "cancel 4 2\n"
						       "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_CANCELLED);

	assert_int_equal(finding.steps[0].time, 5000000);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_WAITS_FOR);
	expect_none(CANCELS "5" MS "cancel 4 2\n"
			    "5" MS "read 3 2\n"
			    "5" MS "cancel 3 3\n"
			    "900" MS "log 1 \"end\n");
}

/* A client disconnects, which cancels the read (2) of its own request (3); its server (5) goes on. */
#define DISCONNECTS \
	CANCELS "2" MS "should-resolve 3\n" \
		"2" MS "create 1 5 promise\n" \
		"2" MS "wait 5 3\n"
#define DISCONNECTED \
	"5" MS "cancel 4 2\n" \
	"5" MS "read 3 2\n" \
	"5" MS "cancel 3 3\n" \
	"5" MS "read 5 3\n"

static void disconnected(void **state)
{
	expect_none(DISCONNECTS DISCONNECTED "6" MS "resolve 5 5\n"
					     "900" MS "log 1 \"end\n");
	/* The result is ignored. */
	expect_none(CANCELS "2" MS "should-resolve 3\n"
			    "2" MS "create 1 5 ignore_result\n"
			    "2" MS "wait 5 3\n" DISCONNECTED "6" MS "fail 5 5 \"cancelled\n"
			    "900" MS "log 1 \"end\n");
	/* The server expected no such end. */
	expect(DISCONNECTS DISCONNECTED "6" MS "cancel 5 5\n"
					"900" MS "log 1 \"end\n",
		1, THRUM__FINDING_CANCELLED);
	/* Another one waits for the read, too. */
	expect(DISCONNECTS "2" MS "create 1 6 promise\n"
			   "2" MS "wait 6 2\n" DISCONNECTED "6" MS "resolve 5 5\n"
			   "6" MS "resolve 6 6\n"
			   "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_CANCELLED);
}

/* 40 sessions, one each 10 ms; one out of `every` ends after 5 ms. */
static void tell_sessions(char *story, size_t size, int every)
{
	size_t used = (size_t)snprintf(story, size, MAIN);

	for (int i = 0; i < 40; i++) {
		used += (size_t)snprintf(story + used, size - used,
			"%d" MS "create 1 %d promise\n%d" MS "label %d \"session\n", 10 * i + 10,
			100 + i, 10 * i + 10, 100 + i);
		if (i % every == 0)
			used += (size_t)snprintf(story + used, size - used,
				"%d" MS "resolve 1 %d\n", 10 * i + 15, 100 + i);
	}
	snprintf(story + used, size - used, "450" MS "log 1 \"end\n");
}

static void leak(void **state)
{
	char story[8192];
	struct thrum__finding finding;

	tell_sessions(story, sizeof story, 2);
	finding = expect(story, 1, THRUM__FINDING_LEAK);
	assert_int_equal(finding.count, 20);
	assert_int_equal(finding.steps[0].time, 20000000);
	assert_int_equal(finding.steps[1].time, 400000000);
	tell_sessions(story, sizeof story, 1);
	expect_none(story);
}

static void an_answer_over_a_link(void **state)
{
	struct thrum__finding finding = expect(MAIN "1" MS "create 1 2 promise\n"
						    "1" MS "label 2 \"reply\n"
						    "1" MS "should-resolve 2\n"
						    "1" MS "link-send 1 \"7\n"
						    "2" MS "@1 create - 9 thread\n"
						    "2" MS "@1 link-receive 9 \"7\n"
						    "2" MS "@1 create 9 10 task\n"
						    "2" MS "@1 label 10 \"GET /\n"
						    "2" MS "@1 should-resolve 10\n"
						    "900" MS "log 1 \"end\n",
		1, THRUM__FINDING_NEVER_RESOLVED);

	assert_int_equal(finding.steps[0].kind, THRUM__STEP_WAITS_FOR);
	assert_int_equal(finding.step_count, 1); /* the task that waits is the victim */
}

static void names(void **state)
{
	assert_string_equal(thrum__why_class_name(THRUM__FINDING_LEAK), "leak");
	assert_string_equal(thrum__why_class_name(-1), "unknown");
	assert_string_equal(thrum__why_step_name(THRUM__STEP_BEHIND), "behind");
	assert_string_equal(thrum__why_step_name(THRUM__STEP_KINDS), "unknown");
	assert_string_equal(thrum__why_certainty_name(THRUM__CERTAIN), "certain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlock),
		cmocka_unit_test(deadlock_after_a_gap_is_possible),
		cmocka_unit_test(deadlock_across_a_gap_is_possible),
		cmocka_unit_test(twice_the_longest_life_is_young),
		cmocka_unit_test(the_certain_come_first),
		cmocka_unit_test(a_deadlock_with_a_time_limit_is_possible),
		cmocka_unit_test(no_deadlock),
		cmocka_unit_test(outside),
		cmocka_unit_test(under_way),
		cmocka_unit_test(timer_that_did_not_come),
		cmocka_unit_test(timer_of_an_impossible_time),
		cmocka_unit_test(idle_timer_and_handle),
		cmocka_unit_test(starved),
		cmocka_unit_test(not_starved),
		cmocka_unit_test(failed_unseen),
		cmocka_unit_test(failed_and_the_waiter_goes_on),
		cmocka_unit_test(failed_by_the_other_side),
		cmocka_unit_test(failed_and_tried_again),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(disconnected),
		cmocka_unit_test(leak),
		cmocka_unit_test(an_answer_over_a_link),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
