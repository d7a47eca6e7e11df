/* SPDX-License-Identifier: ISC */
/* All work is dealt to one of several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/slow/answer.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define REQUESTS 10

enum {
	ALL_TO_ONE,
	ONE_TO_ANOTHER,
	NO_PEERS,
	BUSY_PEER
};

/* The threads 2, 3 and 4 wait for requests, or 4 does something of its own. A new one comes each 2 ms and
 * takes 5. */
static struct thrum__model *tell(int way)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < 3; i++) {
		story_tell("0 @%d create - %d thread\n", 1 + i, 2 + i);
		story_tell("0 @%d label %d \"%s %d\n0 @%d switch %d\n", 1 + i, 2 + i,
			way == NO_PEERS && i > 0 ? "logger" : "shard", i, 1 + i, 2 + i);
		if (i != 2 || way != BUSY_PEER)
			story_tell("0 @%d suspend \"wait for work\n", 1 + i);
	}
	for (int i = 0; i < REQUESTS; i++)
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"request %d\n%d" MS
			   "ready 1 %d\n",
			2 * i, 100 + i, 2 * i, 100 + i, i, 2 * i, 100 + i);
	for (int i = 0; i < REQUESTS; i++) {
		int lane = way == ONE_TO_ANOTHER && i == 4 ? 2 : 1;

		if (i == 0 || lane == 2)
			story_tell("%d" MS "@%d resume \"wait for work\n", 20 + 5 * i, lane);
		story_tell("%d" MS "@%d switch %d\n%d" MS "@%d resolve %d %d\n%d" MS
			   "@%d switch %d\n",
			20 + 5 * i, lane, 100 + i, 25 + 5 * i, lane, 100 + i, 100 + i, 25 + 5 * i,
			lane, 1 + lane);
		if (lane == 2)
			story_tell("%d" MS "@2 suspend \"wait for work\n", 25 + 5 * i);
	}
	if (way == BUSY_PEER)
		story_tell("99" MS "@3 log 4 \"busy\n");
	story_tell("100" MS "log 1 \"end\n");
	return story_model(story_told(), false);
}

static void expect(int way, uint32_t peers)
{
	struct thrum__model *model = tell(way);
	struct thrum__slow_answer answer;
	uint32_t thread;

	assert_int_equal(thrum__slow_answer_of(model, story_task(model, 100 + REQUESTS - 1),
				 &answer),
		0);
	assert_int_equal(thrum__slow_dealt_find(&answer, &thread), peers);
	if (peers > 0)
		assert_int_equal(thread, story_task(model, 2));
	thrum__slow_answer_free(&answer);
	thrum__model_destroy(model);
}

static void one_of_several_has_all(void **state)
{
	(void)state;
	expect(ALL_TO_ONE, 2);
}

static void others_share_or_have_no_time(void **state)
{
	(void)state;
	expect(ONE_TO_ANOTHER, 0);
	expect(NO_PEERS, 0);
	expect(BUSY_PEER, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_several_has_all),
		cmocka_unit_test(others_share_or_have_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
