/* SPDX-License-Identifier: ISC */
/* Queues without room, in which all that make room wait for it. */
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
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__finding *finding = &findings.findings[0];

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->steps[finding->step_count - 1].other,
			story_task(model, 11));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_make_room_wait_for_it),
		cmocka_unit_test(a_pool_without_items_is_idle),
		cmocka_unit_test(another_thread_may_act),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
