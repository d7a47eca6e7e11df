/* SPDX-License-Identifier: ISC */
/* Threads that run a loop of handles, and are joined; and loops of which one handle is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Expects a handle that is left open, and keeps a thread, to be told of, or (is_left is false) no finding. */
static void expect_left_open(const char *lines, bool is_left, uint64_t handle, uint64_t thread)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, is_left);
	if (is_left) {
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_LEFT_OPEN);
		assert_int_equal(findings.findings[0].steps[0].task, story_task(model, handle));
		assert_int_equal(findings.findings[0].steps[0].other, story_task(model, thread));
	}
	story_free(model, &findings);
}

/* The thread 2 runs a loop with a timer, 10, that ticks each 10 ms, and so many other handles, which
 * have turns, too, and names that begin with a letter from `name` to `last`. At 100 ms so many of these
 * are closed, and main joins the thread. Expects the timer to be told of, or (is_left is false) no
 * finding. */
static void expect_named(char name, char last, int handles, int closed, bool is_left)
{
	char lines[16000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 thread\n0 label 2 \"service\n"
		"0 create 1 10 timer\n0 label 10 \"flush\n0 @1 create - 3 thread\n0 @1 switch 2\n");

	for (int id = 11; id < 11 + handles; id++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"1" MS "create 1 %d handle\n1" MS "label %d \"%chandle\n2" MS
			"@1 switch %d\n2" MS "@1 switch 2\n",
			id, id, name < last ? name++ : last, id);
	used += (size_t)snprintf(lines + used, sizeof lines - used,
		"90" MS "should-resolve 2\n90" MS "wait 1 2\n90" MS "suspend \"blocked\n");
	for (int i = 0; i < closed; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"100" MS "@1 switch %d\n100" MS "@1 resolve %d %d\n100" MS "@1 switch 2\n",
			11 + i, 11 + i, 11 + i);
	for (int ms = 110; ms < 1500; ms += 10)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%d" MS "@1 switch 10\n%d" MS "@1 switch 2\n%d" MS
			"@1 suspend \"wait for work\n%d" MS "@1 resume\n",
			ms, ms, ms, ms + 9);
	snprintf(lines + used, sizeof lines - used, "1500" MS "@1 suspend \"wait for work\n");
	expect_left_open(lines, is_left, 10, 2);
}

static void expect(int handles, int closed, bool is_left)
{
	expect_named('a', 'z', handles, closed, is_left);
}

static void a_handle_is_left_open(void **state)
{
	(void)state;
	expect(3, 3, true);
	/* The loop serves another one, too. */
	expect(4, 3, false);
	/* One may be closed at any time. */
	expect(1, 1, false);
}

static void a_loop_may_go_on(void **state)
{
	(void)state;
	/* Connections that are alike come and go. */
	expect_named('a', 'a', 3, 3, false);
	expect(3, 0, false);
	expect(0, 0, false);
}

/* main asks a server by four connections, 10 to 13, gets answers at once, and closes so many. The rest are
 * idle for 1.5 s. Expects the one that is left to be told of, or (is_left is false) no finding. */
static void expect_last(int closed, const char *answer, const char *more, bool is_left)
{
	char lines[8000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 label 1 \"client\n0 @1 create - 2 thread\n"
		"0 @1 switch 2\n0 link-send 1 \"question\n0 @1 link-receive 2 \"question\n"
		"0 @1 link-send 2 \"%s\n1 @1 suspend \"wait for work: poll in serve\n"
		"2 link-receive 1 \"answer\n",
		answer);

	for (int id = 10; id < 14; id++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"3 create 1 %d handle\n3 label %d \"tcp\n4000 switch %d\n4000 switch 1\n",
			id, id, id);
	for (int id = 10; id < 10 + closed; id++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"5000 switch %d\n5000 resolve %d %d\n5000 switch 1\n", id, id, id);
	snprintf(lines + used, sizeof lines - used,
		"%s6000 suspend \"wait for work\n1499" MS "@1 resume\n1500" MS
		"@1 suspend \"wait for work: poll in serve\n",
		more);
	expect_left_open(lines, is_left, 13, 1);
}

static void the_last_of_its_sort_keeps_a_loop(void **state)
{
	(void)state;
	expect_last(3, "answer", "", true);
	/* Several are kept open. */
	expect_last(2, "answer", "", false);
	/* Nobody knows what its peer does. */
	expect_last(3, "other", "", false);
	/* The loop listens, too, or a timer is due. */
	expect_last(3, "answer", "5500 create 1 20 handle\n5500 label 20 \"listen\n", false);
	expect_last(3, "answer", "5500 create 1 20 timer\n5500 label 20 \"retry\n", false);
}

/* The thread 2 makes a task at 100 ms, which waits for a run of the default context. Main joins the thread,
 * whose loop has a timer. Expects a step for the task, or none. */
static void expect_unrun(const char *task, const char *more, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	uint32_t told = 0;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 thread\n0 label 2 \"service\n"
		   "0 @1 create - 3 thread\n0 @1 switch 2\n1" MS "@1 create 2 10 timer\n"
		   "90" MS "should-resolve 2\n90" MS "wait 1 2\n90" MS "suspend \"blocked\n"
		   "100" MS "@1 create 2 12 task\n100" MS
		   "@1 label 12 \"run of the default main context\n");
	story_tell("100" MS "@1 create 2 11 %s\n100" MS "@1 wait 11 12\n%s", task, more);
	for (int ms = 110; ms < 1500; ms += 10)
		story_tell("%d" MS "@1 switch 10\n%d" MS "@1 switch 2\n%d" MS
			   "@1 suspend \"wait for work\n%d" MS "@1 resume\n",
			ms, ms, ms, ms + 9);
	story_tell("1500" MS "@1 suspend \"wait for work\n");
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++)
		told += findings.findings[i].steps[0].kind == THRUM__STEP_WAITS_FOR &&
			findings.findings[i].steps[0].task == story_task(model, 11);
	assert_int_equal(findings.count, is_told);
	assert_int_equal(told, is_told);
	story_free(model, &findings);
}

static void nobody_runs_the_default_context(void **state)
{
	const char *timer = "timer\n100" MS "@1 due 11 =10000000";

	(void)state;
	expect_unrun(timer, "", true);
	expect_unrun("handle\n100" MS "@1 label 11 \"idle finish\n100" MS "@1 ready 2 11", "",
		true);
	/* It isn't due yet, nothing tells that it should have come, or somebody ran it. */
	expect_unrun("timer\n100" MS "@1 due 11 =1000000000", "", false);
	expect_unrun("handle\n100" MS "@1 label 11 \"idle finish", "", false);
	expect_unrun(timer, "105" MS "@1 switch 11\n105" MS "@1 switch 2\n", false);
	/* Something may come from outside. */
	expect_unrun(timer, "105" MS "@1 create 2 13 handle\n105" MS "@1 label 13 \"listen\n",
		false);
	/* Somebody runs the context now. */
	expect_unrun(timer, "105" MS "@1 resolve 2 12\n", false);
}

/* Whether a thread that another one joins hangs, as it waits for this. */
static bool hangs_joined(const char *reason)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_told;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 thread\n0 @1 switch 2\n"
		   "0 should-resolve 2\n0 wait 1 2\n0 suspend \"blocked\n"
		   "2000" MS "@1 suspend \"%s\n2100" MS "@2 create - 3 thread\n",
		reason);
	model = story_findings(&findings);
	is_told = findings.count > 0;
	story_free(model, &findings);
	return is_told;
}

static void events_or_a_timer_wake_a_joined_loop(void **state)
{
	(void)state;
	assert_true(hangs_joined("wait for work"));
	assert_false(hangs_joined("wait for work outside"));
	assert_false(hangs_joined("wait for work for a time"));
}

/* The thread 2 asks the handle 10 of a loop ten times, and waits for a condition that the handle signals.
 * Then the loop's timer 11 waits for that condition itself. */
struct waiter {
	const char *rest;     /* how the timer waits */
	bool is_helped;       /* the thread 3 gave the first signal */
	bool is_elsewhere;    /* the handle runs in the loop of thread 3 */
	bool is_still_asking; /* the thread 2 waits, too */
};

static void tell_waiter(const struct waiter *waiter)
{
	const char *lane = waiter->is_elsewhere ? "@2" : "",
		   *own = waiter->is_elsewhere ? "3" : "1";
	unsigned ms = 10;

	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 20 condition\n"
		"0 create 1 11 timer\n0 label 11 \"reload\n0 @1 create - 2 thread\n0 @1 switch 2\n"
		"0 @2 create - 3 thread\n0 @2 switch 3\n0 %s create %s 10 handle\n"
		"0 %s label 10 \"answer\n1" MS "suspend \"wait for work\n"
		"1" MS "@2 suspend \"wait for work outside\n",
		lane, own, lane);
	for (int i = 0; i < 10; i++, ms += 10) {
		story_tell("%u" MS "@1 wait 2 20\n%u" MS "@1 suspend \"blocked\n", ms, ms);
		if (waiter->is_helped && i == 0)
			story_tell("%u" MS "@2 resume\n%u" MS "@2 signal 3 20 =1\n%u" MS
				   "@2 suspend \"wait for work outside\n",
				ms + 2, ms + 2, ms + 2);
		else
			story_tell("%u" MS "%s resume\n%u" MS "%s switch 10\n%u" MS
				   "%s signal 10 20 =1\n%u" MS "%s switch %s\n%u" MS
				   "%s suspend \"wait for work%s\n",
				ms + 2, lane, ms + 2, lane, ms + 2, lane, ms + 2, lane, own, ms + 2,
				lane, waiter->is_elsewhere ? " outside" : "");
		story_tell("%u" MS "@1 resume\n%u" MS "@1 read 2 20\n", ms + 3, ms + 3);
	}
	story_tell("%u" MS "resume\n%u" MS "switch 11\n%u" MS "wait 11 20\n%u" MS "suspend \"%s\n",
		ms, ms, ms, ms, waiter->rest);
	if (waiter->is_still_asking)
		story_tell("%u" MS "@1 wait 2 20\n%u" MS "@1 suspend \"blocked\n", ms + 1, ms + 1);
	else
		story_tell("%u" MS "@1 create 2 30 timer\n%u" MS "@1 due 30 =9000000000\n%u" MS
			   "@1 wait 2 30\n%u" MS "@1 suspend \"blocked for a time\n",
			ms + 1, ms + 1, ms + 1, ms + 1);
	story_tell("2000" MS "@2 resume\n2000" MS "@2 suspend \"wait for work outside\n");
}

/* Whether the timer and the handle are found to wait for each other. */
static bool is_held_up(struct waiter waiter)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_found = false;

	tell_waiter(&waiter);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];
		const struct thrum__step *last = &finding->steps[finding->step_count - 1];

		assert_int_equal(finding->class, THRUM__FINDING_DEADLOCK);
		assert_int_equal(finding->certainty, THRUM__LIKELY);
		assert_int_equal(finding->steps[0].task, story_task(model, 11));
		assert_int_equal(last->kind, THRUM__STEP_NEEDS_LANE);
		assert_int_equal(last->task, story_task(model, 10));
		assert_int_equal(last->other, story_task(model, 11));
		is_found = true;
	}
	story_free(model, &findings);
	return is_found;
}

static void a_callback_waits_for_its_own_loop(void **state)
{
	(void)state;
	assert_true(is_held_up((struct waiter){.rest = "blocked", .is_still_asking = true}));
	assert_true(is_held_up((struct waiter){.rest = "blocked"}));
	/* It waits for a time, another thread may signal, or the handle's loop goes on. */
	assert_false(
		is_held_up((struct waiter){.rest = "blocked for a time", .is_still_asking = true}));
	assert_false(is_held_up((struct waiter){.rest = "blocked", .is_helped = true}));
	assert_false(is_held_up((struct waiter){.rest = "blocked", .is_elsewhere = true}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_is_left_open),
		cmocka_unit_test(a_loop_may_go_on),
		cmocka_unit_test(the_last_of_its_sort_keeps_a_loop),
		cmocka_unit_test(nobody_runs_the_default_context),
		cmocka_unit_test(events_or_a_timer_wake_a_joined_loop),
		cmocka_unit_test(a_callback_waits_for_its_own_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
