/* SPDX-License-Identifier: ISC */
/* Tasks from one place of which one was made at an unusual time: while others were ended, or before all that
 * ran. And permits that are given back where a task ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define ROUNDS 8
#define LOST 300 /* the task that hangs */

static void ask(int ms, int ns, int task, const char *name)
{
	story_tell("%d%06d create 1 %d task =6\n%d%06d label %d \"%s\n%d%06d should-resolve %d\n",
		ms, ns, task, ms, ns, task, name, ms, ns, task);
}

/* Each round ends two polls; then others ask. In one of them somebody asks before the round is over. */
static void walk(bool is_amid, bool is_usual)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < ROUNDS; i++) {
		int ms = 10 * i;

		if (!is_usual || i == 0)
			ask(ms + 1, 0, 100 + i, "poll of ann");
		ask(ms + 2, 0, 200 + i, "poll of bob");
		story_tell("%d000100 resolve 1 %d\n", ms + 5, 100 + i);
		if (is_usual)
			ask(ms + 5, 200, 101 + i, "poll of ann");
		if (i == 3 && is_amid)
			ask(ms + 5, 200, LOST, "poll of eve");
		story_tell("%d000300 resolve 1 %d\n", ms + 5, 200 + i);
		if (i == 3 && !is_amid)
			ask(ms + 5, 400, LOST, "poll of eve");
	}
	if (is_usual)
		story_tell("90" MS "resolve 1 %d\n", 100 + ROUNDS);
	story_tell("2900" MS "log 1 \"end\n");
}

static void expect_step(int kind, bool is_told, uint32_t task, uint32_t other, uint32_t more)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	unsigned count = 0;

	for (unsigned i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++) {
			const struct thrum__step *step = &findings.findings[i].steps[k];

			if (step->kind != kind || count++ > 0)
				continue;
			assert_int_equal(step->task, story_task(model, task));
			if (other > 0)
				assert_int_equal(step->other, story_task(model, other));
			assert_int_equal(step->more, more);
		}
	assert_int_equal(count > 0, is_told);
	story_free(model, &findings);
}

static void one_asks_during_a_round(void **state)
{
	(void)state;
	walk(true, false);
	expect_step(THRUM__STEP_MADE_AMID, true, LOST, 0, 2 * ROUNDS);
}

static void one_asks_between_rounds(void **state)
{
	(void)state;
	walk(false, false);
	expect_step(THRUM__STEP_MADE_AMID, false, 0, 0, 0);
}

static void others_ask_during_rounds_too(void **state)
{
	(void)state;
	walk(true, true);
	expect_step(THRUM__STEP_MADE_AMID, false, 0, 0, 0);
}

/* Jobs run one after the other; one never does. With `late`, it was made last. With `unrun`, others end
 * without running, too. */
static void schedule(bool late, bool unrun)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < ROUNDS; i++) {
		if (i == 2 && !late)
			ask(10 * i + 1, 0, LOST, "report");
		ask(10 * i + 2, 0, 100 + i, "refresh");
		if (!unrun || i % 2)
			story_tell("%d" MS "switch %d\n", 10 * i + 4, 100 + i);
		story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", 10 * i + 5, 100 + i,
			100 + i, 10 * i + 5);
	}
	if (late)
		ask(90, 0, LOST, "report");
	story_tell("2900" MS "log 1 \"end\n");
}

static void later_ones_run(void **state)
{
	(void)state;
	schedule(false, false);
	expect_step(THRUM__STEP_OVERTAKES, true, 102, LOST, ROUNDS - 3);
}

static void none_comes_later(void **state)
{
	(void)state;
	schedule(true, false);
	expect_step(THRUM__STEP_OVERTAKES, false, 0, 0, 0);
}

static void others_end_without_running(void **state)
{
	(void)state;
	schedule(false, true);
	expect_step(THRUM__STEP_OVERTAKES, false, 0, 0, 0);
}

/* A source takes a permit for each frame. A sink gives it back when it ends the frame; a filter, which
 * cancels one of them, may not. At last the source waits for one more. */
static void pass_frames(bool is_given)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 semaphore\n0 label 2 \"credits\n"
		   "0 create 1 3 task\n0 label 3 \"sink\n0 create 1 4 task\n0 label 4 \"filter\n"
		   "0 create 1 5 task\n0 label 5 \"source\n0 should-resolve 5\n");
	for (int i = 0; i < ROUNDS; i++) {
		int ms = 10 * i, by = i == 3 ? 4 : 3;

		story_tell("%d" MS "switch 5\n%d" MS "lock 5 2\n%d" MS "create 5 %d task =6\n%d" MS
			   "label %d \"frame %d\n%d" MS "switch %d\n",
			ms + 1, ms + 1, ms + 1, 100 + i, ms + 1, 100 + i, i, ms + 3, by);
		story_tell(i == 3 ? "%d" MS "cancel %d %d\n" : "%d" MS "resolve %d %d\n", ms + 4,
			by, 100 + i);
		if (i != 3 || is_given)
			story_tell("%d" MS "unlock %d 2\n", ms + 5, by);
		story_tell("%d" MS "switch 1\n", ms + 6);
	}
	story_tell("90" MS "switch 5\n90" MS "wait 5 2\n91" MS "switch 1\n2900" MS "log 1 \"end\n");
}

static void a_permit_is_lost(void **state)
{
	(void)state;
	pass_frames(false);
	expect_step(THRUM__STEP_STILL_HOLDS, true, 103, 2, 0);
	pass_frames(false);
	expect_step(THRUM__STEP_CANCELLED, true, 103, 4, 0);
}

static void all_permits_come_back(void **state)
{
	(void)state;
	pass_frames(true);
	expect_step(THRUM__STEP_STILL_HOLDS, false, 0, 0, 0);
}

/* A producer takes room in a queue, and a consumer makes it again: that the producer waits for more is no
 * deadlock, whoever took the room. */
static void room_is_made_by_another(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	(void)state;
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		"0 create 1 2 semaphore\n0 label 2 \"room\n0 create 1 3 task\n0 label 3 \"reader\n"
		"0 create 1 5 task\n0 label 5 \"writer\n0 should-resolve 5\n");
	for (int i = 0; i < ROUNDS; i++)
		story_tell("%d" MS "switch 5\n%d" MS "lock 5 2\n%d" MS "switch 3\n", 10 * i + 1,
			10 * i + 1, 10 * i + 4);
	for (int i = 0; i < ROUNDS - 2; i++)
		story_tell("%d" MS "unlock 3 2\n", 90 + i);
	story_tell(
		"100" MS "switch 5\n100" MS "wait 5 2\n101" MS "switch 1\n2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	for (unsigned i = 0; i < findings.count; i++)
		assert_int_not_equal(findings.findings[i].class, THRUM__FINDING_DEADLOCK);
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_asks_during_a_round),
		cmocka_unit_test(one_asks_between_rounds),
		cmocka_unit_test(others_ask_during_rounds_too),
		cmocka_unit_test(later_ones_run),
		cmocka_unit_test(none_comes_later),
		cmocka_unit_test(others_end_without_running),
		cmocka_unit_test(a_permit_is_lost),
		cmocka_unit_test(all_permits_come_back),
		cmocka_unit_test(room_is_made_by_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
