/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define CONDITION \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"10 create 1 2 condition\n" \
	"10 label 2 \"arp-reply\n" \
	"20 create 1 3 promise\n" \
	"20 should-resolve 3\n"

static struct thrum__findings find(const struct thrum__model *model)
{
	struct thrum__findings findings;

	story_find(model, &findings);
	return findings;
}

/* Returns how many findings the story has, and sets *first to the first. */
static uint32_t found(const char *lines, bool is_mirage, struct thrum__finding *first)
{
	struct thrum__model *model = story_model(lines, is_mirage);
	struct thrum__findings findings = find(model);
	uint32_t count = findings.count;

	if (count > 0)
		*first = findings.findings[0];
	story_free(model, &findings);
	return count;
}

static void signal_before_wait(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 signal 1 2 =0\n"
					 "50 wait 3 2\n"
					 "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_LOST_WAKE_UP);
	assert_int_equal(finding.certainty, THRUM__CERTAIN);
	assert_int_equal(finding.step_count, 2); /* the task that waits is the victim */
	assert_int_equal(finding.steps[0].kind, THRUM__STEP_SIGNAL_LOST);
	assert_int_equal(finding.steps[0].time, 30);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_WAITS_LATE);
	assert_int_equal(finding.steps[1].time, 50);
}

/* A task that became the one that waits has another name, so it is told, too. */
static void a_victim_with_a_name_of_its_own(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "25 label 3 \"query\n"
					 "26 create 1 4 wait\n"
					 "26 label 4 \"wait for reply\n"
					 "26 become 3 4\n"
					 "30 signal 1 2 =0\n"
					 "50 wait 4 2\n"
					 "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.step_count, 3);
	assert_int_equal(finding.steps[2].kind, THRUM__STEP_NEVER_RESOLVED);
}

static void signal_after_wait_is_no_lost_one(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 wait 3 2\n"
					 "50 signal 1 2 =1\n"
					 "900000000 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_not_equal(finding.certainty, THRUM__CERTAIN);
}

static void a_later_heard_signal_clears_the_lost_one(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 signal 1 2 =0\n"
					 "50 wait 3 2\n"
					 "60 signal 1 2 =1\n"
					 "900000000 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
}

/* A thread keeps its queue beside the condition: signals that nobody hears are usual. */
static void unheard_signals_may_be_usual(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 signal 1 2 =0\n"
					 "40 wait 3 2\n"
					 "50 signal 1 2 =1\n"
					 "51 read 3 2\n"
					 "60 signal 1 2 =0\n"
					 "70 wait 3 2\n"
					 "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_not_equal(finding.certainty, THRUM__CERTAIN);
}

static void nobody_waits_for_its_own_signal(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 signal 3 2 =0\n"
					 "50 wait 3 2\n"
					 "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
}

/* Before the last signal, another one was heard: so the condition stands for no single event. */
static void a_heard_signal_makes_the_lost_one_likely(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found(CONDITION "30 wait 3 2\n"
					 "40 signal 1 2 =1\n"
					 "41 read 3 2\n"
					 "50 signal 1 2 =0\n"
					 "70 wait 3 2\n"
					 "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_LOST_WAKE_UP);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
}

/* A thread may have looked at the program's state before it waits. */
static void a_thread_that_missed_a_signal_is_likely(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found("0 create - 1 thread\n"
			       "0 create 1 3 thread\n"
			       "0 switch 1\n"
			       "10 create 1 2 condition\n"
			       "20 should-resolve 3\n"
			       "30 signal 1 2 =0\n"
			       "50 wait 3 2\n"
			       "90 log 1 \"end\n",
		false, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_LOST_WAKE_UP);
	assert_int_equal(finding.certainty, THRUM__LIKELY);
}

static void mirage_signal_before_wait(void **state)
{
	struct thrum__finding finding;
	uint32_t count = found("0 switch 0\n"
			       "10 create 0 1 condition\n"
			       "10 label 1 \"arp-reply\n"
			       "20 create 0 2 bind\n"
			       "20 should-resolve 2\n"
			       "30 signal 0 1\n"
			       "31 switch 0\n"
			       "50 signal 2 1\n"
			       "51 create 1 3 task\n"
			       "52 switch 2\n"
			       "53 wait 2 3\n"
			       "60 switch 0\n"
			       "90 switch -1\n",
		true, &finding);

	assert_int_equal(count, 1);
	assert_int_equal(finding.class, THRUM__FINDING_LOST_WAKE_UP);
	assert_int_equal(finding.steps[0].time, 30);
	assert_int_equal(finding.steps[1].time, 51);
}

/* As many signals as a hostile trace may have: each must be visited only once. */
static void many_mirage_signals_take_no_square(void **state)
{
	enum {
		COUNT = 200000,
		LINE = 64,
	};
	static const char beginning[] = "0 switch 0\n"
					"1 create 0 1 condition\n"
					"1 create 0 2 bind\n"
					"1 should-resolve 2\n"
					"2 wait 2 1\n";
	char *lines = test_malloc(sizeof beginning + (size_t)COUNT * LINE), *to = lines;
	struct thrum__finding finding;
	clock_t before;

	to += sprintf(to, "%s", beginning);
	for (int i = 0; i < COUNT; i++)
		to += sprintf(to, "%d signal 0 1\n%d resolve 1 3\n", 10 + i, 10 + i);
	before = clock();
	assert_int_equal(found(lines, true, &finding), 1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_true(clock() - before < 20 * (clock_t)CLOCKS_PER_SEC);
	test_free(lines);
}

/* The waiter is told, though it began to wait for a task that became the victim later. */
static void waits_for_what_became_the_victim(void **state)
{
	struct thrum__finding finding;

	(void)state;
	assert_int_equal(found("0 create - 1 thread\n"
			       "0 switch 1\n"
			       "1 create 1 2 promise\n"
			       "2 create 1 3 promise\n"
			       "3 wait 1 2\n"
			       "4 become 2 3\n"
			       "5 should-resolve 3\n",
				 true, &finding),
		1);
	assert_int_equal(finding.class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding.step_count, 2);
	assert_int_equal(finding.steps[1].kind, THRUM__STEP_BEHIND);
}

static void chain_behind_what_is_never_resolved(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "0 switch 1\n"
						 "10 create 1 2 promise\n"
						 "10 should-resolve 2\n"
						 "11 create 1 3 promise\n"
						 "12 create 1 4 request\n"
						 "13 create 1 5 promise\n"
						 "20 wait 2 3\n"
						 "21 wait 3 4\n"
						 "30 wait 5 4\n",
		false);
	struct thrum__findings findings = find(model);
	const struct thrum__finding *finding = findings.findings;

	assert_int_equal(findings.count, 1);
	assert_int_equal(finding->class, THRUM__FINDING_OUTSIDE);
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_PENDING);
	assert_int_equal(finding->steps[0].task, story_task(model, 4));
	assert_int_equal(finding->steps[0].time, 12);
	assert_int_equal(thrum__why_marks(&findings, story_task(model, 2)), THRUM__MARK_STUCK);
	assert_int_equal(thrum__why_marks(&findings, story_task(model, 3)), THRUM__MARK_BEHIND);
	assert_int_equal(thrum__why_marks(&findings, story_task(model, 4)), THRUM__MARK_BEHIND);
	assert_int_equal(finding->behind, 1);
	assert_int_equal(thrum__why_marks(&findings, story_task(model, 5)), THRUM__MARK_BEHIND);
	story_free(model, &findings);
}

/* Two requests wait for one lookup: the steps are those of the one that is told, not the other's. */
static void chain_of_the_first_victim(void **state)
{
	static const char story[] = "0 create - 1 async\n0 label 1 \"lookup\n0 should-resolve 1\n"
				    "10 create - 2 task\n10 wait 2 1\n"
				    "10 create - 3 try\n10 label 3 \"GET /a\n"
				    "10 should-resolve 3\n10 wait 3 2\n"
				    "20 create - 4 task\n20 wait 4 1\n"
				    "20 create - 5 try\n20 label 5 \"GET /b\n"
				    "20 should-resolve 5\n20 wait 5 4\n"
				    "900000000 log - \"end\n";
	struct thrum__model *model = story_model(story, false);
	const struct thrum__step *steps;
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].behind, 1);
	assert_int_equal(findings.findings[0].step_count, 3);
	steps = findings.findings[0].steps;
	assert_int_equal(steps[0].task, story_task(model, 1));
	assert_int_equal(steps[1].task, story_task(model, 2));
	assert_int_equal(steps[1].time, 10);
	assert_int_equal(steps[2].task, story_task(model, 3));
	story_free(model, &findings);
}

static void a_cycle_ends(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(found("0 create - 1 thread\n"
			       "1 create 1 2 promise\n"
			       "1 create 1 3 promise\n"
			       "1 should-resolve 2\n"
			       "2 wait 2 3\n"
			       "3 wait 3 2\n"
			       "4 wait 2 2\n",
				 false, &finding),
		1);
}

static void healthy_is_silent(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(found(CONDITION "30 wait 3 2\n"
					 "50 signal 1 2 =1\n"
					 "60 read 3 2\n"
					 "70 resolve 1 3\n",
				 false, &finding),
		0);
	assert_int_equal(found("", false, &finding), 0);
}

static void a_chain_that_resolves_is_no_finding(void **state)
{
	struct thrum__finding finding;

	assert_int_equal(found("0 create - 1 thread\n"
			       "1 create 1 2 bind\n"
			       "1 should-resolve 2\n"
			       "2 create 2 3 promise\n"
			       "3 become 2 3\n"
			       "4 resolve 1 3\n",
				 false, &finding),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signal_before_wait),
		cmocka_unit_test(a_victim_with_a_name_of_its_own),
		cmocka_unit_test(signal_after_wait_is_no_lost_one),
		cmocka_unit_test(unheard_signals_may_be_usual),
		cmocka_unit_test(nobody_waits_for_its_own_signal),
		cmocka_unit_test(a_heard_signal_makes_the_lost_one_likely),
		cmocka_unit_test(a_thread_that_missed_a_signal_is_likely),
		cmocka_unit_test(a_later_heard_signal_clears_the_lost_one),
		cmocka_unit_test(mirage_signal_before_wait),
		cmocka_unit_test(many_mirage_signals_take_no_square),
		cmocka_unit_test(waits_for_what_became_the_victim),
		cmocka_unit_test(chain_behind_what_is_never_resolved),
		cmocka_unit_test(chain_of_the_first_victim),
		cmocka_unit_test(a_cycle_ends),
		cmocka_unit_test(healthy_is_silent),
		cmocka_unit_test(a_chain_that_resolves_is_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
