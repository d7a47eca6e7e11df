/* SPDX-License-Identifier: ISC */
/* Conditions that nobody signals, as all threads wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
/* A thread that runs a task which should resolve and waits for `on`. */
#define THREAD(lane, own, task, label, on) \
	"0 @" #lane " create - " #own " thread\n" \
	"0 @" #lane " switch " #own "\n" \
	"1" MS "@" #lane " create " #own " " #task " task\n" \
	"1" MS "@" #lane " label " #task " \"" label "\n" \
	"1" MS "@" #lane " should-resolve " #task "\n" \
	"1" MS "@" #lane " switch " #task "\n" \
	"2" MS "@" #lane " wait " #task " " #on "\n"
/* The main thread and the task 11 wait for the condition 2, which nobody signals. Nobody signals the
 * condition 3 either. */
#define FOLLOWER(more) \
	"0 create - 1 thread\n0 switch 1\n" \
	"0 create 1 2 condition\n0 label 2 \"snapshot taken\n" \
	"0 create 1 3 condition\n0 label 3 \"peers healthy\n" more THREAD(1, 10, 11, "catch up", \
		2) "2" MS "wait 1 2\n"
#define TIMER THREAD(2, 20, 21, "timed snapshot", 3)
#define CLIENT THREAD(3, 30, 31, "write batch", 3)
#define END "900" MS "log 1 \"end\n"

/* Expects so many findings, and a step of this task that may be to signal this condition; 0: none. */
static void expect(const char *lines, uint32_t count, uint64_t task, uint64_t condition)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(lines, false);
	uint32_t found = 0;

	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, count);
	for (unsigned i = 0; i < count * THRUM__STEPS_MAX; i++) {
		const struct thrum__finding *finding = &findings.findings[i / THRUM__STEPS_MAX];
		const struct thrum__step *step = &finding->steps[i % THRUM__STEPS_MAX];

		if (i % THRUM__STEPS_MAX >= finding->step_count ||
			step->kind != THRUM__STEP_MAY_SIGNAL)
			continue;
		found++;
		assert_true(task > 0);
		assert_int_equal(step->task, story_task(model, task));
		assert_int_equal(step->other, story_task(model, condition));
	}
	assert_int_equal(found, task > 0);
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void the_only_other_waiter_may_be_to_signal(void **state)
{
	(void)state;
	/* All that wait belong to one finding. */
	expect(FOLLOWER("") TIMER END, 1, 21, 2);
	expect(FOLLOWER("") CLIENT END, 1, 31, 2);
	/* The name tells which of two. If it does not, only the other condition has one. */
	expect(FOLLOWER("") TIMER CLIENT END, 1, 21, 2);
	expect(FOLLOWER("") THREAD(2, 20, 21, "compact", 3) CLIENT END, 2, 11, 3);
}

/* All wait for one condition: two, or more. */
static void another_waiter_for_it_may_be_to_signal(void **state)
{
	(void)state;
	expect(FOLLOWER("0 label 1 \"clipboard\n") END, 1, 1, 2);
	expect(FOLLOWER("0 label 1 \"clipboard\n") THREAD(2, 20, 21, "render", 2) END, 1, 0, 0);
}

static void a_thread_that_may_go_on_leaves_it_open(void **state)
{
	(void)state;
	expect(FOLLOWER("") TIMER "0 @3 create - 30 thread\n0 @3 switch 30\n" END, 2, 0, 0);
	expect(FOLLOWER("1" MS "create 1 5 handle\n") TIMER THREAD(3, 30, 31, "serve", 5) END, 2, 0,
		0);
}

static void a_condition_that_was_signalled_is_known(void **state)
{
	(void)state;
	expect(FOLLOWER("1" MS "signal 1 2 =0\n") TIMER END, 2, 11, 3);
	/* The other one: its waiters have a finding of their own. */
	expect(FOLLOWER("1" MS "signal 1 3 =0\n") TIMER END, 2, 21, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_only_other_waiter_may_be_to_signal),
		cmocka_unit_test(another_waiter_for_it_may_be_to_signal),
		cmocka_unit_test(a_thread_that_may_go_on_leaves_it_open),
		cmocka_unit_test(a_condition_that_was_signalled_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
