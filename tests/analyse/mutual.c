/* SPDX-License-Identifier: ISC */
/* Conditions that nobody signals, as all threads wait for each other. */
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

	story_find(model, &findings);
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
	story_free(model, &findings);
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

/* Tasks of one loop: 4 should resolve and waits for the condition 2, which nobody signalled. The unnamed
 * task 5 waits for `on`, and “rebalance” for that task. */
static void tell_loop(const char *on, const char *more)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 condition\n0 create 1 3 condition\n"
		"0 label 2 \"moved\n0 label 3 \"drained\n1" MS "create 1 4 task\n"
		"1" MS "label 4 \"client\n1" MS "should-resolve 4\n1" MS "create 1 5 task\n"
		"1" MS "create 1 6 task\n1" MS "label 6 \"rebalance\n2" MS "wait 6 5\n");
	story_tell("2" MS "wait 5 %s\n3" MS "wait 4 2\n%s900" MS "log 1 \"end\n", on, more);
}

/* Expects the task that hangs elsewhere in the first finding; 0: none is told. */
static void expect_elsewhere(uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	const struct thrum__step *steps;

	assert_int_equal(findings.count, 1);
	steps = findings.findings[0].steps;
	assert_int_equal(findings.findings[0].task, story_task(model, 4));
	assert_int_equal(steps[0].kind, THRUM__STEP_WAITS_FOR);
	assert_int_equal(steps[0].task, story_task(model, task > 0 ? task : 4));
	story_free(model, &findings);
}

static void a_task_that_hangs_elsewhere_is_told(void **state)
{
	(void)state;
	tell_loop("3", "");
	expect_elsewhere(6);
	/* It waits for the same, its condition was signalled, or there are two such. */
	tell_loop("2", "");
	expect_elsewhere(0);
	tell_loop("3", "4" MS "signal 1 3 =0\n");
	expect_elsewhere(0);
	tell_loop("3", "3" MS "create 1 7 task\n3" MS "create 1 8 condition\n4" MS "wait 7 8\n");
	expect_elsewhere(0);
}

/* ---- Queues that are full ---------------------------------------------------------------------- */

/* Main (1) puts into a queue, two workers (20, 30) from that into a second one, and a last one (40) takes
 * from there. 2 and 3: there is room in the first and the second. Main has waited so often for room. At last
 * the last one may put something back, as it did before or not. */
static void tell_queues(int main_waits, bool puts_back, bool is_usual)
{
	static const char *const waits = "%d" MS "@%d wait %d %d\n%d" MS
					 "@%d signal %d %d =1\n%d" MS "@%d read %d %d\n";
	int ms = 2;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n"
		   "0 create 1 2 condition =7\n0 label 2 \"room in the first\n"
		   "0 create 1 3 condition =7\n0 label 3 \"room in the second\n");
	for (int t = 2; t <= 4; t++)
		story_tell(
			"0 @%d create - %d0 thread\n0 @%d label %d0 \"stage %d\n0 @%d switch %d0\n",
			t - 1, t, t - 1, t, t, t - 1, t);
	for (int i = 0; i < main_waits; i++, ms += 2)
		story_tell(waits, ms, 0, 1, 2, ms + 1, 1 + i % 2, 20 + 10 * (i % 2), 2, ms + 1, 0,
			1, 2);
	story_tell(waits, ms, 1, 20, 3, ms + 1, 3, 40, 3, ms + 1, 1, 20, 3);
	if (is_usual)
		story_tell(waits, ms, 3, 40, 2, ms + 1, 1, 20, 2, ms + 1, 3, 40, 2);
	story_tell("20" MS "should-resolve 1\n21" MS "wait 1 2\n21" MS "suspend \"blocked\n"
		   "21" MS "@1 wait 20 3\n21" MS "@1 suspend \"blocked\n"
		   "22" MS "@2 wait 30 3\n22" MS "@2 suspend \"blocked\n");
	if (puts_back)
		story_tell("23" MS "@3 wait 40 2\n23" MS "@3 suspend \"blocked\n");
	story_tell("1900" MS "log - \"end\n");
}

static unsigned count_cycle_steps(void)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	unsigned count = 0;

	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++)
			count += findings.findings[i].steps[k].kind == THRUM__STEP_WAITS_IN_CYCLE;
	story_free(model, &findings);
	return count;
}

static void two_full_queues_are_a_cycle(void **state)
{
	(void)state;
	tell_queues(4, true, false);
	assert_int_equal(count_cycle_steps(), 2);
	/* The last one may go on; it often waits there, as those do that have no job; or main never did. */
	tell_queues(4, false, false);
	assert_int_equal(count_cycle_steps(), 0);
	tell_queues(4, true, true);
	assert_int_equal(count_cycle_steps(), 0);
	tell_queues(0, true, false);
	assert_int_equal(count_cycle_steps(), 0);
}

/* Main (1) puts jobs into a queue (2: there is room, 3: a job) and takes results from another one (4: there
 * is room, 5: a result). Two workers (20, 30) do the jobs. They may have come through a gate (6). At last
 * main waits at one condition, and the workers at another. */
enum {
	JOB_ROOM = 2,
	JOBS,
	RESULT_ROOM,
	RESULTS,
	GATE
};

static int tell_pool(bool is_gated)
{
	int ms = 2;

	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n"
		"0 @1 create - 20 thread\n0 @1 switch 20\n0 @2 create - 30 thread\n0 @2 switch 30\n"
		"0 create 1 2 condition =7\n0 create 1 3 condition =7\n"
		"0 create 1 4 condition =7\n0 create 1 5 condition =7\n");
	if (is_gated)
		story_tell("0 create 1 6 condition =7\n1" MS "@1 wait 20 6\n1" MS "@2 wait 30 6\n"
			   "1" MS "signal 1 6 =2\n1" MS "@1 read 20 6\n1" MS "@2 read 30 6\n");
	for (int i = 0; i < 4; i++, ms += 4) {
		int lane = 1 + i % 2, worker = 20 + 10 * (i % 2);

		story_tell("%d" MS "@%d wait %d 3\n", ms, lane, worker);
		story_tell("%d" MS "signal 1 3 =1\n%d" MS "wait 1 2\n", ms + 1, ms + 1);
		story_tell("%d" MS "@%d read %d 3\n%d" MS "@%d signal %d 2 =1\n", ms + 1, lane,
			worker, ms + 2, lane, worker);
		story_tell("%d" MS "read 1 2\n%d" MS "wait 1 5\n", ms + 2, ms + 2);
		story_tell("%d" MS "@%d signal %d 5 =1\n%d" MS "read 1 5\n%d" MS "signal 1 4 =0\n",
			ms + 3, lane, worker, ms + 3, ms + 3);
	}
	return ms;
}

static unsigned count_cycles_of(int main_waits, int workers_wait, bool is_gated)
{
	int ms = tell_pool(is_gated);

	if (main_waits == JOB_ROOM)
		story_tell("%d" MS "signal 1 3 =0\n", ms);
	story_tell("%d" MS "wait 1 %d\n%d" MS "suspend \"blocked\n", ms, main_waits, ms);
	for (int t = 1; t <= 2; t++)
		story_tell("%d" MS "@%d wait %d0 %d\n%d" MS "@%d suspend \"blocked\n", ms + 1, t,
			t + 1, workers_wait, ms + 1, t);
	/* Something still goes on. */
	story_tell("0 @3 create - 40 thread\n0 @3 switch 40\n1900" MS "log - \"end\n");
	return count_cycle_steps();
}

static void two_full_queues_of_the_waiter_are_a_cycle(void **state)
{
	(void)state;
	assert_int_equal(count_cycles_of(JOB_ROOM, RESULT_ROOM, false), 2);
	/* There is no job, and no result. A gate through which the workers came tells nothing. */
	assert_int_equal(count_cycles_of(RESULTS, JOBS, false), 0);
	assert_int_equal(count_cycles_of(RESULTS, JOBS, true), 0);
	/* Somebody else may open the gate that main opened at the beginning. */
	assert_int_equal(count_cycles_of(JOB_ROOM, GATE, true), 0);
	/* The workers wait for the job that main has just put there. */
	assert_int_equal(count_cycles_of(JOB_ROOM, JOBS, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_only_other_waiter_may_be_to_signal),
		cmocka_unit_test(another_waiter_for_it_may_be_to_signal),
		cmocka_unit_test(a_thread_that_may_go_on_leaves_it_open),
		cmocka_unit_test(a_condition_that_was_signalled_is_known),
		cmocka_unit_test(a_task_that_hangs_elsewhere_is_told),
		cmocka_unit_test(two_full_queues_are_a_cycle),
		cmocka_unit_test(two_full_queues_of_the_waiter_are_a_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
