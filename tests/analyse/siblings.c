/* SPDX-License-Identifier: ISC */
/* Each turn is ended by the answer that was made next to it, or by what that became. The last one hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* How the answers of the turns before end these. */
enum way {
	ENDS_OWN,      /* each its own, by the task that it became */
	ENDS_ANY,      /* one of them those of others, too */
	ENDED_BY_MAIN, /* the thread itself does */
};

/* Main, 1, answers so many requests: it makes a turn 10, 11, … and then its answer 30, 31, …, which becomes
 * the task 50, 51, … and ends the turn. Then it makes turn 20, for which the task 9 waits. */
static void tell(int count, enum way way)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < count; i++) {
		int ms = 10 * i, turn = 10 + i, answer = 30 + i, next = 50 + i;

		story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"turn of page\n", ms,
			turn, ms, turn);
		story_tell("%d" MS "create 1 %d bind\n%d" MS "label %d \"make page\n", ms, answer,
			ms, answer);
		story_tell("%d" MS "switch %d\n%d" MS "create %d %d bind\n%d" MS "become %d %d\n",
			ms + 1, answer, ms + 1, answer, next, ms + 1, answer, next);
		story_tell("%d" MS "switch %d\n", ms + 2,
			way == ENDED_BY_MAIN                ? 1
				: way == ENDS_ANY && i == 2 ? 51
							    : next);
		story_tell("%d" MS "resolve %d %d\n", ms + 2,
			way == ENDED_BY_MAIN                ? 1
				: way == ENDS_ANY && i == 2 ? 51
							    : next,
			turn);
		story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", ms + 3, next, next, ms + 3);
	}
	story_tell("90" MS "create 1 20 promise\n90" MS "label 20 \"turn of page\n");
}

/* The task 9 waits for turn 20 and should resolve. Expects that the finding begins with a step about task; or
 * with none of these if the kind is -1. */
static void expect(const char *then, int kind, uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("%s91" MS "create 1 9 bind\n91" MS "label 9 \"page 2\n", then);
	story_tell("91" MS "should-resolve 9\n91" MS "wait 9 20\n900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count, 1);
	step = findings.findings[0].steps;
	if (kind >= 0) {
		assert_int_equal(step->kind, kind);
		assert_int_equal(step->task, story_task(model, task));
	} else {
		for (unsigned i = 0; i < findings.findings[0].step_count; i++)
			assert_true(step[i].kind != THRUM__STEP_NOT_STARTED &&
				step[i].kind != THRUM__STEP_SHOULD_END &&
				step[i].kind != THRUM__STEP_ENDS_WITHOUT);
	}
	story_free(model, &findings);
}

#define ANSWER \
	"90" MS "create 1 40 bind\n90" MS "label 40 \"make page\n90" MS \
	"create 1 41 promise\n90" MS "label 41 \"file\n"

static void nobody_made_its_answer(void **state)
{
	(void)state;
	tell(4, ENDS_OWN);
	expect("", THRUM__STEP_NOT_STARTED, 20);
	/* An answer that was made after the next turn belongs to that. */
	tell(4, ENDS_OWN);
	expect("90" MS "create 1 21 promise\n90" MS "label 21 \"turn of list\n" ANSWER,
		THRUM__STEP_NOT_STARTED, 20);
}

static void its_answer_hangs_or_has_ended(void **state)
{
	(void)state;
	/* The answer waits for a file: so that is the leaf. */
	tell(4, ENDS_OWN);
	expect(ANSWER "90" MS "wait 40 41\n", THRUM__STEP_WAITS_FOR, 40);
	tell(4, ENDS_OWN);
	expect(ANSWER "91" MS "switch 40\n91" MS "resolve 40 40\n91" MS "switch 1\n",
		THRUM__STEP_ENDS_WITHOUT, 40);
}

static void others_show_no_habit(void **state)
{
	(void)state;
	/* Too few tell; one ended another's turn; the thread ends them. */
	tell(2, ENDS_OWN);
	expect(ANSWER, -1, 0);
	tell(4, ENDS_ANY);
	expect(ANSWER, -1, 0);
	tell(4, ENDED_BY_MAIN);
	expect(ANSWER, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_made_its_answer),
		cmocka_unit_test(its_answer_hangs_or_has_ended),
		cmocka_unit_test(others_show_no_habit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
