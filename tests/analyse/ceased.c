/* SPDX-License-Identifier: ISC */
/* Those that served an object come no more, or all wait for what only its waiter does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define JOBS 8

/* Expects so many findings. If there is one, it has a step of this kind about a task, or none if that is 0.
 * Returns the finding. */
static struct thrum__finding expect(uint32_t count, int kind, uint64_t task)
{
	struct thrum__findings findings;
	struct thrum__finding finding = {0};
	struct thrum__model *model = story_model(story_told(), false);
	unsigned steps = 0;

	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	if (count > 0)
		finding = findings.findings[0];
	for (unsigned i = 0; i < finding.step_count; i++)
		steps += finding.steps[i].kind == kind &&
			(task == 0 || finding.steps[i].task == story_task(model, task));
	assert_int_equal(steps, task != 0);
	story_free(model, &findings);
	return finding;
}

/* ---- A condition of which no signal comes any more ------------------------------------------- */

/* The main thread, 1, waits for the condition 3 again and again, until all jobs, from 10 on, have signalled
 * it; they run on lane 1. One of them fails, and one may be pending; -1: none does. */
static void tell_jobs(int maker, int failed, int pending)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 condition\n0 label 3 \"report done\n"
		"0 @1 create - 2 thread\n0 @1 switch 2\n0 @2 create - 4 thread\n0 @2 switch 4\n");
	for (int i = 0; i < JOBS; i++)
		story_tell("1" MS "@%d create %d %d task\n1" MS "@%d label %d \"convert %d\n",
			maker == 1 ? 0 : 2, maker, 10 + i, maker == 1 ? 0 : 2, 10 + i, i);
	story_tell("2" MS "wait 1 3\n2" MS "suspend \"blocked\n");
	for (int i = 0; i < JOBS; i++) {
		int time = 10 + i;

		story_tell("%d" MS "@1 switch %d\n", time, 10 + i);
		if (i == failed)
			story_tell("%d" MS "@1 fail %d %d \"can't be read\n%d" MS "@1 read 2 %d\n",
				time, 10 + i, 10 + i, time, 10 + i);
		else
			story_tell("%d" MS "@1 signal %d 3 =1\n", time, 10 + i);
		if (i != failed && i != pending)
			story_tell("%d" MS "@1 resolve %d %d\n", time, 10 + i, 10 + i);
		story_tell("%d" MS "@1 switch 2\n", time);
		if (i != failed)
			story_tell("%d" MS "resume \"blocked\n%d" MS "wait 1 3\n%d" MS
				   "suspend \"blocked\n",
				time, time, time);
	}
	story_tell("20" MS "@1 suspend \"wait for work\n1900" MS "@2 log 4 \"beat\n");
}

static void the_maker_waits_for_a_job_that_failed(void **state)
{
	(void)state;
	tell_jobs(1, 4, -1);
	assert_int_equal(expect(1, THRUM__STEP_FAILED, 14).certainty, THRUM__POSSIBLE);
}

static void more_jobs_may_come(void **state)
{
	(void)state;
	/* All have signalled: it waits for another thing. */
	tell_jobs(1, -1, -1);
	expect(0, 0, 0);
	/* Another thread makes them, and may make one more. */
	tell_jobs(4, 4, -1);
	expect(0, 0, 0);
	/* One hasn't ended. */
	tell_jobs(1, 4, 6);
	expect(0, 0, 0);
}

/* A keeper, 2, renews a lease, 3, every 20 ms. A write, 5, needs it from 90 ms on. One try fails; -1: none
 * does. */
static void tell_lease(int failed, int end)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 condition\n0 label 3 \"lease\n"
		"0 @1 create - 2 thread\n0 @1 switch 2\n0 @2 create - 4 thread\n0 @2 switch 4\n");
	for (int i = 0; i < 4; i++) {
		int time = 1 + 20 * i;

		story_tell("%d" MS "@1 create 2 %d task\n%d" MS "@1 label %d \"renew\n%d" MS
			   "@1 switch %d\n",
			time, 10 + i, time, 10 + i, time, 10 + i);
		if (i == failed)
			story_tell("%d" MS "@1 fail %d %d \"busy\n%d" MS "@1 read 2 %d\n", time,
				10 + i, 10 + i, time, 10 + i);
		else
			story_tell("%d" MS "@1 signal %d 3 =0\n%d" MS "@1 resolve %d %d\n", time,
				10 + i, time, 10 + i, 10 + i);
		story_tell("%d" MS "@1 switch 2\n%d" MS "@1 suspend \"wait for work\n", time, time);
		if (i < 3)
			story_tell("%d" MS "@1 resume \"wait for work\n", time + 20);
	}
	story_tell("90" MS "create 1 5 task\n90" MS "label 5 \"write\n90" MS "switch 5\n90" MS
		   "wait 5 3\n90" MS "suspend \"blocked\n%d" MS "@2 log 4 \"beat\n",
		end);
}

static void a_try_fails_and_none_comes_after_it(void **state)
{
	(void)state;
	tell_lease(3, 1500);
	assert_int_equal(expect(1, THRUM__STEP_FAILED, 13).class, THRUM__FINDING_NEVER_RESOLVED);
	/* The next may still come. */
	tell_lease(3, 400);
	expect(0, 0, 0);
	/* None failed, or not the last one. */
	tell_lease(-1, 1500);
	expect(0, 0, 0);
	tell_lease(1, 1500);
	expect(0, 0, 0);
}

/* ---- All that could serve wait for the waiter ------------------------------------------------- */

/* A writer, 2, waits until clients, 4 and 5, have filled a batch (condition 3), and then ends that: a
 * promise, from 10 on, for which they wait. In the last round nobody fills it. A third client may be at
 * work. */
static void tell_batches(bool has_third)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 condition\n0 label 3 \"batch full\n"
		"0 @1 create - 2 thread\n0 @1 switch 2\n0 @1 label 2 \"writer\n0 @2 create - 4 thread\n"
		"0 @2 switch 4\n0 @2 label 4 \"client\n0 @3 create - 5 thread\n0 @3 switch 5\n"
		"0 @3 label 5 \"client\n0 @4 create - 6 thread\n0 @4 switch 6\n0 @4 label 6 \"client\n");
	for (int i = 0; i < 4; i++) {
		int time = 10 * (i + 1), last = 5 - i % 2;

		story_tell("%d" MS "@1 create 2 %d promise\n%d" MS "@1 label %d \"batch %d\n%d" MS
			   "@1 wait 2 3\n%d" MS "@1 suspend \"blocked\n",
			time, 10 + i, time, 10 + i, i, time, time);
		if (i < 3)
			story_tell("%d" MS "@%d signal %d 3 =1\n", time + 1, last - 2, last);
		if (i == 0 && has_third)
			story_tell("%d" MS "@4 signal 6 3 =1\n", time + 1);
		for (int client = 4; client <= 5; client++)
			story_tell("%d" MS "@%d wait %d %d\n%d" MS "@%d suspend \"blocked\n",
				time + 1, client - 2, client, 10 + i, time + 1, client - 2);
		if (i == 3)
			break;
		story_tell("%d" MS "@1 resume \"blocked\n%d" MS "@1 read 2 3\n%d" MS
			   "@1 resolve 2 %d\n",
			time + 2, time + 2, time + 2, 10 + i);
		for (int client = 4; client <= 5; client++)
			story_tell("%d" MS "@%d resume \"blocked\n%d" MS "@%d read %d %d\n",
				time + 3, client - 2, time + 3, client - 2, client, 10 + i);
	}
	story_tell("1900" MS "log 1 \"beat\n");
}

static void all_that_fill_a_batch_wait_for_it(void **state)
{
	struct thrum__finding finding;

	(void)state;
	tell_batches(false);
	finding = expect(1, THRUM__STEP_SHOULD_GO_ON, 2);
	assert_int_equal(finding.class, THRUM__FINDING_DEADLOCK);
	assert_int_equal(finding.certainty, THRUM__POSSIBLE);
	tell_batches(true);
	expect(0, 0, 0);
}

/* ---- Items for one that is gone ---------------------------------------------------------------- */

/* An auditor, 2, takes letters out of a mailbox, 3, and ends the receipt of each, from 10 on. It ends, and
 * the sale, 5, puts one more in. Or another one takes that, but doesn't end the receipt. */
static void tell_letters(bool is_taken)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 mailbox\n0 label 3 \"letters\n"
		"0 @1 create - 2 thread\n0 @1 label 2 \"auditor\n0 @1 switch 2\n0 @2 create - 4 thread\n"
		"0 @2 switch 4\n0 create 1 5 task\n0 label 5 \"sale\n0 should-resolve 5\n0 switch 5\n");
	for (int i = 0; i < 4; i++) {
		int time = 10 + 10 * i;

		story_tell("%d" MS "create 5 %d promise\n%d" MS "label %d \"receipt %d\n%d" MS
			   "signal 5 3 =1\n%d" MS "wait 5 %d\n",
			time, 10 + i, time, 10 + i, i, time, time, 10 + i);
		if (i < 3)
			story_tell("%d" MS "@1 read 2 3\n%d" MS "@1 resolve 2 %d\n%d" MS
				   "read 5 %d\n",
				time + 1, time + 1, 10 + i, time + 1, 10 + i);
		else if (is_taken)
			story_tell("%d" MS "@2 read 4 3\n", time + 1);
		if (i == 2)
			story_tell("%d" MS "@1 resolve 2 2\n", time + 2);
	}
	story_tell("40" MS "suspend \"blocked\n1900" MS "@2 log 4 \"beat\n");
}

static void an_item_is_put_where_nobody_takes_it(void **state)
{
	(void)state;
	tell_letters(false);
	assert_int_equal(expect(1, THRUM__STEP_UNTAKEN, 5).steps[0].kind,
		THRUM__STEP_RESOLVED_OTHERS);
	tell_letters(true);
	expect(1, THRUM__STEP_UNTAKEN, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_maker_waits_for_a_job_that_failed),
		cmocka_unit_test(more_jobs_may_come),
		cmocka_unit_test(a_try_fails_and_none_comes_after_it),
		cmocka_unit_test(all_that_fill_a_batch_wait_for_it),
		cmocka_unit_test(an_item_is_put_where_nobody_takes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
