/* SPDX-License-Identifier: ISC */
/* Queues without room: all that make room wait for it, or have left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 2000     /* ms */

/* The threads 2 and 3 put items into a queue and take them out. The conditions 10 and 11 tell of items and of
 * room. At the end both threads wait for `last`, and the main thread 1 for the condition 12. */
static void tell_pool(int last)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 thread\n0 label 2 \"worker 1\n0 create 1 3 thread\n"
		   "0 label 3 \"worker 2\n0 @1 switch 2\n0 @2 switch 3\n"
		   "0 create 1 10 condition\n0 label 10 \"items\n"
		   "0 create 1 11 condition\n0 label 11 \"room\n"
		   "0 create 1 12 condition\n0 label 12 \"done\n0 signal 1 10 =0\n"
		   "1" MS "wait 1 12\n1" MS "suspend \"blocked\n");
	for (int i = 0; i < 2; i++) {
		int at = 2 + 4 * i, thread = 2 + i, lane = 1 + i;

		story_tell("%d" MS "@%d signal %d 11 =0\n%d" MS "@%d signal %d 10 =0\n", at, lane,
			thread, at + 1, lane, thread);
	}
	for (int i = 0; i < 2; i++)
		story_tell("%d" MS "@%d wait %d %d\n%d" MS "@%d suspend \"blocked\n", 12 + i, 1 + i,
			2 + i, last, 12 + i, 1 + i);
}

/* The thread 4 sleeps each `period` ms, and does something then. */
static void tell_sleeps(int period, const char *act)
{
	int timer = 100, time = 20;

	for (;; time += period, timer++) {
		story_tell("%d" MS "@3 create 4 %d timer\n%d" MS "@3 due %d =%d000000\n", time,
			timer, time, timer, period);
		story_tell("%d" MS "@3 wait 4 %d\n%d" MS "@3 suspend \"blocked for a time\n", time,
			timer, time);
		if (time + period > END)
			return;
		story_tell("%d" MS "@3 resume \"blocked for a time\n%d" MS "@3 resolve 4 %d\n",
			time + period, time + period, timer);
		story_tell("%d" MS "@3 read 4 %d\n", time + period, timer);
		if (*act)
			story_tell("%d" MS "@3 %s\n", time + period, act);
	}
}

static void tell_looker(int period, const char *act)
{
	story_tell("15" MS "@3 create - 4 thread\n15" MS "@3 label 4 \"progress\n15" MS
		   "@3 switch 4\n");
	tell_sleeps(period, act);
}

/* Expects a wait for room to be told, or nothing. */
static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__finding *finding = &findings.findings[0];

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->steps[finding->step_count - 1].other,
			story_task(model, 11));
	}
	story_free(model, &findings);
}

static void all_that_make_room_wait_for_it(void **state)
{
	(void)state;
	tell_pool(11);
	tell_looker(80, "");
	expect(true);
}

static void a_pool_without_items_is_idle(void **state)
{
	(void)state;
	tell_pool(10);
	tell_looker(80, "");
	expect(false);
}

static void another_thread_may_act(void **state)
{
	(void)state;
	/* It signals something. */
	tell_pool(11);
	tell_looker(80, "signal 4 12 =1");
	expect(false);
	/* It did so once, long ago. */
	tell_pool(11);
	story_tell(
		"16" MS "@3 create - 4 thread\n16" MS "@3 switch 4\n16" MS "@3 signal 4 12 =1\n");
	for (int i = 0; i < 1200; i++)
		story_tell("17" MS "@3 read 4 12\n");
	tell_sleeps(80, "");
	expect(false);
	/* It looked but a few times. */
	tell_pool(11);
	tell_looker(400, "");
	expect(false);
	/* It waits for the outside. */
	tell_pool(11);
	story_tell("20" MS "@3 create - 4 thread\n20" MS "@3 switch 4\n20" MS
		   "@3 suspend \"blocked by the outside\n%d" MS "switch 1\n",
		END);
	expect(false);
}

/* ---- Those who took have left ---- */

/* The lookup `n`, a fiber, takes the answers of its queries out of a mailbox of its own, and ends at
 * `end`. */
static void tell_lookup(int n, int end)
{
	int lookup = 10 * n, time = 100 * n;

	story_tell("%d" MS "create 1 %d mailbox\n%d" MS "label %d \"answers %d\n", time, lookup + 1,
		time, lookup + 1, n);
	story_tell("%d" MS "create 1 %d fiber\n%d" MS "label %d \"lookup %d\n", time, lookup, time,
		lookup, n);
	story_tell("%d" MS "should-resolve %d\n", time, lookup);
	for (int i = 0; i < 1 + (n == 3); i++) {
		int query = lookup + 2 + i;

		story_tell("%d" MS "create %d %d fiber\n%d" MS "label %d \"query %d %s\n", time,
			lookup, query, time, query, n, i > 0 ? "south" : "north");
		story_tell("%d" MS "should-resolve %d\n", time, query);
	}
	story_tell("%d" MS "wait %d %d\n%d" MS "signal %d %d =1\n", time + 1, lookup, lookup + 1,
		time + 2, lookup + 2, lookup + 1);
	story_tell("%d" MS "resolve %d %d\n%d" MS "read %d %d\n", time + 2, lookup + 2, lookup + 2,
		time + 2, lookup, lookup + 1);
	if (end > 0)
		story_tell("%d" MS "resolve %d %d\n", end, lookup, lookup);
}

/* The last lookup asks twice, takes one answer, and ends at `end`. The other query does `act`. */
static void tell_lookups(int end, const char *act)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int n = 1; n < 3; n++)
		tell_lookup(n, 100 * n + 3);
	tell_lookup(3, end);
	story_tell("310" MS "%s\n", act);
}

/* Expects that the task 30 is told to have left the mailbox 31, or not; and so many
 * findings. */
static void expect_left(bool is_told, uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("2000" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, count);
	step = findings.findings ? &findings.findings[0].steps[0] : NULL;
	assert_int_equal(is_told,
		step && step->kind == THRUM__STEP_SERVER_ENDED &&
			step->more == THRUM__NOBODY_TAKES && step->task == story_task(model, 30) &&
			step->other == story_task(model, 31));
	story_free(model, &findings);
}

static void those_who_took_have_left(void **state)
{
	(void)state;
	tell_lookups(303, "wait 33 31");
	expect_left(true, 1);
	/* It ended later. */
	tell_lookups(320, "wait 33 31");
	expect_left(true, 1);
	/* There was room. */
	tell_lookups(303, "resolve 33 33");
	expect_left(false, 0);
}

static void another_one_may_take(void **state)
{
	(void)state;
	/* The lookup goes on. */
	tell_lookups(0, "wait 33 31");
	expect_left(false, 2);
	/* The like of the waiter took something, so this one may wait for an item. */
	tell_lookups(303, "wait 33 31");
	story_tell("311" MS "create 1 40 fiber\n311" MS "label 40 \"query 4 north\n311" MS
		   "read 40 21\n311" MS "resolve 40 40\n");
	expect_left(false, 1);
	/* Another lookup waits there. */
	tell_lookups(303, "wait 33 31");
	story_tell(
		"311" MS "create 1 40 fiber\n311" MS "label 40 \"lookup 4\n311" MS "wait 40 31\n");
	expect_left(false, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_make_room_wait_for_it),
		cmocka_unit_test(a_pool_without_items_is_idle),
		cmocka_unit_test(another_thread_may_act),
		cmocka_unit_test(those_who_took_have_left),
		cmocka_unit_test(another_one_may_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
