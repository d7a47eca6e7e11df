/* SPDX-License-Identifier: ISC */
/* A callback sets a timer in each of its runs but the last, and a thread waits for it. In each twin the chain
 * isn't broken, or it is no chain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define RUNS 8
#define END 4000 /* ms */

enum way {
	BROKEN,
	SET_BY_OTHER, /* another callback sets the timer after that */
	GAVE,         /* the last run signals */
	EMPTY_BEFORE, /* an earlier run did nothing, either */
	OTHER_TIMERS, /* each run sets another timer */
	YOUNG,        /* the last run was a moment ago */
	UNASKED,      /* each run is for a message of nobody knows whom */
	ASKED,        /* but the waiter asks each time */
	SENDER_NAPS   /* the sender rests for a time, and may send more */
};

static void tell(enum way way)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n0 @1 create - 2 thread\n"
		"0 @1 label 2 \"reader\n0 @1 switch 2\n0 create 1 3 handle\n0 label 3 \"on_reply\n"
		"0 create 1 4 timer\n0 label 4 \"ask\n0 create 1 5 handle\n0 label 5 \"on_other\n"
		"0 create 1 6 timer\n0 label 6 \"ask too\n0 @1 create 2 10 condition\n"
		"0 @1 label 10 \"fresh\n0 @2 create - 7 thread\n0 @2 label 7 \"device\n0 @2 switch 7\n");
	for (int i = 0; i <= RUNS; i++) {
		int at = 10 + 20 * i;
		int timer = way == OTHER_TIMERS && i % 2 ? 6 : 4;
		bool is_empty = i == RUNS || (way == EMPTY_BEFORE && i == 4);

		if (way == YOUNG && i == RUNS)
			at = END - 100;
		story_tell("%d" MS "resume \"wait for work for a time\n%d" MS "switch %d\n%d" MS
			   "switch 1\n%d" MS "switch 3\n",
			at - 2, at - 2, timer, at - 1, at);
		if (way != UNASKED && way != ASKED)
			story_tell("%d" MS "@2 link-send 7 \"%d\n%d" MS "link-receive 3 \"%d\n", at,
				i, at, i);
		if (!is_empty)
			story_tell("%d" MS "due %d =17000000\n", at, timer);
		if (!is_empty || way == GAVE)
			story_tell("%d" MS "signal 3 10 =1\n", at);
		story_tell("%d" MS "switch 1\n", at + 1);
		if (way == SET_BY_OTHER && i == RUNS)
			story_tell("%d" MS "switch 5\n%d" MS "due 4 =17000000\n%d" MS "switch 1\n",
				at + 2, at + 2, at + 2);
		story_tell("%d" MS "suspend \"wait for work for a time\n", at + 2);
		if (i > 0 && !is_empty)
			story_tell("%d" MS "@1 resume \"blocked\n%d" MS "@1 read 2 10\n", at + 1,
				at + 1);
		if (!is_empty)
			story_tell("%d" MS "@1 %s\n%d" MS "@1 wait 2 10\n%d" MS
				   "@1 suspend \"blocked\n",
				at + 2, way == ASKED ? "ready 2 5" : "switch 2", at + 2, at + 2);
	}
	story_tell("%d" MS "@2 suspend \"%s\n", END - 10,
		way == SENDER_NAPS ? "blocked for a time" : "wait for work");
}

/* How many other runs set the timer, as the first finding tells; 0: none tells so. */
static uint32_t told(enum way way)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	uint32_t count = 0;

	tell(way);
	model = story_model(story_told(), false);
	thrum__model_note_end(model,
		&(struct thrum_trace_info){.end = END * INT64_C(1000000),
			.ending = THRUM_ENDING_KILLED,
			.ending_code = 9});
	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		if (findings.findings[i].steps[0].kind == THRUM__STEP_BEGINS_NONE) {
			assert_int_equal(findings.findings[i].certainty, THRUM__POSSIBLE);
			count = findings.findings[i].steps[0].more;
		}
	story_free(model, &findings);
	return count;
}

static void broken_chain_is_told(void **state)
{
	(void)state;
	assert_int_equal(told(BROKEN), RUNS);
	assert_int_equal(told(ASKED), RUNS);
}

static void others_are_not(void **state)
{
	(void)state;
	for (enum way way = SET_BY_OTHER; way <= UNASKED; way++)
		assert_int_equal(told(way), 0);
	assert_int_equal(told(SENDER_NAPS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_chain_is_told),
		cmocka_unit_test(others_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
