/* SPDX-License-Identifier: ISC */
/* Tasks that first wait for timers by which they come at a pace. The twins wait for another reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/slow/answer.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define PAGES 10
#define SLOW 3 /* takes 30 ms, the others 1 ms */

enum way {
	PACED,
	IN_DISORDER, /* as with pauses of a random length */
	ALIKE,       /* all timers take as long */
	ONE_BY_ONE,  /* each is made once the one before has ended */
	ONE_WAITS_NOT
};

static int pause_of(enum way way, int page)
{
	if (way == ALIKE || way == ONE_BY_ONE)
		return 40;
	return 100 * (way == IN_DISORDER && page % 2 ? page + 3 : page + 1);
}

static struct thrum__model *tell(enum way way)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int at = 0; at < 3000; at++)
		for (int i = 0; i < PAGES; i++) {
			int begin = way == ONE_BY_ONE ? 200 * i : 1, ms = pause_of(way, i);
			int due = begin + ms, end = due + (i == SLOW ? 30 : 1);
			int timer = 100 + i, head = 200 + i, page = 300 + i;

			if (at == begin) {
				story_tell("%d" MS "create 1 %d timer\n%d" MS "due %d =%d000000\n",
					at, timer, at, timer, ms);
				story_tell("%d" MS "create 1 %d bind\n", at, head);
				if (way != ONE_WAITS_NOT || i != 5)
					story_tell("%d" MS "wait %d %d\n", at, head, timer);
			}
			if (at == due)
				story_tell("%d" MS "resolve 1 %d\n%d" MS "switch %d\n%d" MS
					   "create %d %d map\n%d" MS "label %d \"page-%d\n%d" MS
					   "become %d %d\n%d" MS "switch 1\n",
					at, timer, at, head, at, head, page, at, page, i, at, head,
					page, at);
			if (at == end)
				story_tell("%d" MS "resolve 1 %d\n", at, page);
		}
	return story_model(story_told(), false);
}

static bool is_any(const void *context, const char *label, size_t size)
{
	const struct thrum__slow_pattern pattern = {"page-#", 6};

	(void)context;
	return thrum__slow_has_pattern(&pattern, label, size);
}

/* Returns how long the slowest task took, and sets its id. */
static int64_t slowest(enum way way, uint64_t *id)
{
	struct thrum__model *model = tell(way);
	struct thrum__slow_answer answer;
	int64_t took;

	assert_int_equal(thrum__slow_answer_make(model, is_any, NULL, 100, &answer), 1);
	took = answer.path.to - answer.path.from;
	*id = THRUM__TASK(model, answer.task, id);
	thrum__slow_answer_free(&answer);
	thrum__model_destroy(model);
	return took / 1000000;
}

static void the_pace_is_not_slowness(void **state)
{
	uint64_t id;

	(void)state;
	assert_int_equal(slowest(PACED, &id), 30);
	assert_int_equal(id, 300 + SLOW);
}

static void other_pauses_are(void **state)
{
	uint64_t id;

	(void)state;
	assert_true(slowest(IN_DISORDER, &id) > 1000);
	assert_int_equal(slowest(ALIKE, &id), 70);
	assert_int_equal(slowest(ONE_BY_ONE, &id), 70);
	assert_true(slowest(ONE_WAITS_NOT, &id) > 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pace_is_not_slowness),
		cmocka_unit_test(other_pauses_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
