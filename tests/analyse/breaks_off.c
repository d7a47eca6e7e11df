/* SPDX-License-Identifier: ISC */
/* The only one that serves a condition, turn after turn, ends in a turn in which it doesn't. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

struct sensors {
	int turns;        /* of the handle 10 before its last one */
	bool gives_last;  /* it signals in its last turn, too */
	bool ends_other;  /* the handle 11 ends with it */
	bool is_replaced; /* the handle 11 signals the condition of 10 as well */
	bool has_timer;   /* the loop has a timer that hasn't come */
};

static void turn(int ms, int handle, int condition)
{
	story_tell("%d" MS "resume\n%d" MS "switch %d\n", ms, ms, handle);
	if (condition > 0)
		story_tell("%d" MS "signal %d %d =1\n", ms, handle, condition);
	story_tell("%d" MS "switch 1\n%d" MS "suspend \"wait for work for a time\n", ms, ms);
}

/* A thread goes on, and waits for its condition again. */
static void serve(int ms, int thread, int condition)
{
	int lane = thread - 1;

	story_tell("%d" MS "@%d resume\n%d" MS "@%d read %d %d\n%d" MS "@%d wait %d %d\n%d" MS
		   "@%d suspend \"blocked\n",
		ms, lane, ms, lane, thread, condition, ms, lane, thread, condition, ms, lane);
}

/* The handles 10 and 11 of the loop of thread 1 signal 20 and 21, for which the threads 2 and 3 wait. */
static void tell(const struct sensors *sensors)
{
	int ms = 10;

	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 @1 create - 2 thread\n0 @1 switch 2\n"
		"0 @2 create - 3 thread\n0 @2 switch 3\n0 create 1 10 handle\n0 label 10 \"sensor 1\n"
		"0 create 1 11 handle\n0 label 11 \"sensor 2\n0 @1 create 2 20 condition\n"
		"0 @1 label 20 \"zone a\n0 @2 create 3 21 condition\n0 @2 label 21 \"zone b\n"
		"1" MS "@1 wait 2 20\n1" MS "@1 suspend \"blocked\n1" MS "@2 wait 3 21\n1" MS
		"@2 suspend \"blocked\n1" MS "suspend \"wait for work for a time\n");
	if (sensors->has_timer)
		story_tell("2" MS "create 1 30 timer\n2" MS "label 30 \"next season\n");
	for (int i = 0; i < 150; i++, ms += 20) {
		bool gives = i < sensors->turns || sensors->gives_last;

		if (i <= sensors->turns) {
			turn(ms, 10, gives ? 20 : 0);
			if (gives)
				serve(ms + 1, 2, 20);
			if (i == sensors->turns)
				story_tell("%d" MS "resolve 1 10\n", ms + 2);
		}
		if (i <= sensors->turns || !sensors->ends_other) {
			turn(ms + 3, 11, 21);
			serve(ms + 4, 3, 21);
			if (sensors->is_replaced && i == 2) {
				turn(ms + 5, 11, 20);
				serve(ms + 6, 2, 20);
			}
			if (sensors->ends_other && i == sensors->turns)
				story_tell("%d" MS "resolve 1 11\n", ms + 7);
		}
	}
	story_tell("4000" MS "log 1 \"end\n");
}

/* Whether the handle 10 is told to be the cause. */
static bool is_told(struct sensors sensors)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_found = false;

	tell(&sensors);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++)
		is_found |= findings.findings[i].steps[0].task == story_task(model, 10);
	story_free(model, &findings);
	return is_found;
}

static void a_source_is_removed(void **state)
{
	(void)state;
	assert_true(is_told((struct sensors){.turns = 20}));
	/* It had few turns; it gave a signal in its last one; all end; another one may serve; or a timer
	 * may. */
	assert_false(is_told((struct sensors){.turns = 4}));
	assert_false(is_told((struct sensors){.turns = 20, .gives_last = true}));
	assert_false(is_told((struct sensors){.turns = 20, .ends_other = true}));
	assert_false(is_told((struct sensors){.turns = 20, .is_replaced = true}));
	assert_false(is_told((struct sensors){.turns = 20, .has_timer = true}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
