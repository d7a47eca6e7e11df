/* SPDX-License-Identifier: ISC */
/* Locks that a thread takes for the task that it makes next, which gives them back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define LEASES 4
#define LEASE(i) (2 + (i))
#define COPY(i) (20 + 2 * (i))
#define KEEPER(i) (21 + 2 * (i))
#define KEPT 2 /* the lease that nobody gives back */

/* Main takes each lease, and makes a task that waits for a copy. */
static void take_leases(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 10 timer\n0 label 10 \"clock\n");
	for (int i = 0; i < LEASES; i++)
		story_tell("1" MS "create 1 %d lock =6\n1" MS "label %d \"lease %d\n", LEASE(i),
			LEASE(i), i);
	for (int i = 0; i < LEASES; i++)
		story_tell("%d" MS "lock 1 %d\n%d" MS "create 1 %d timer =7\n%d" MS
			   "label %d \"copy %d\n%d" MS "create 1 %d bind =8\n%d" MS "wait %d %d\n",
			2 + i, LEASE(i), 2 + i, COPY(i), 2 + i, COPY(i), i, 2 + i, KEEPER(i), 2 + i,
			KEEPER(i), COPY(i));
	story_tell("8" MS "suspend \"wait for work\n");
}

/* A copy ends, and a task gives its lease back: its own, or `by`. */
static void give_back(int i, int by)
{
	story_tell("10" MS "switch %d\n10" MS "resolve %d %d\n10" MS "switch %d\n10" MS
		   "read %d %d\n",
		COPY(i), COPY(i), COPY(i), KEEPER(i), KEEPER(i), COPY(i));
	if (by != KEEPER(i))
		story_tell("10" MS "switch %d\n", by);
	story_tell("10" MS "unlock %d %d\n", by, LEASE(i));
	story_tell("10" MS "resolve %d %d\n10" MS "switch 1\n", KEEPER(i), KEEPER(i));
}

/* The copy of the lease that is kept is given up. */
static void give_up(void)
{
	story_tell("50" MS "create 1 40 pick\n50" MS "label 40 \"move 2\n50" MS "switch 40\n"
		   "50" MS "cancel 40 %d\n50" MS "switch %d\n50" MS "read %d %d\n50" MS
		   "cancel %d %d\n50" MS "switch 40\n50" MS "resolve 40 40\n50" MS "switch 1\n",
		COPY(KEPT), KEEPER(KEPT), KEEPER(KEPT), COPY(KEPT), KEEPER(KEPT), KEEPER(KEPT));
}

/* Another task wants that lease, while a timer goes round. */
static struct thrum__model *find(struct thrum__findings *findings)
{
	struct thrum__model *model;

	story_tell("60" MS "create 1 60 task =9\n60" MS "label 60 \"compact 2\n60" MS
		   "should-resolve 60\n60" MS "wait 60 %d\n60" MS "suspend \"wait for work\n",
		LEASE(KEPT));
	for (int at = 200; at < 1500; at += 200)
		story_tell("%d" MS "resume \"wait for work\n%d" MS "switch 10\n%d" MS
			   "switch 1\n%d" MS "suspend \"wait for work\n",
			at, at, at, at);
	model = story_model(story_told(), false);
	model->ending = THRUM_ENDING_KILLED;
	model->ending_code = 9;
	model->end = INT64_C(1500000000);
	story_find(model, findings);
	return model;
}

static void expect_none(void)
{
	struct thrum__findings findings;
	struct thrum__model *model = find(&findings);

	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

static void a_lease_is_kept_as_its_task_was_cancelled(void **state)
{
	struct thrum__findings findings;
	const struct thrum__finding *finding;
	struct thrum__model *model;

	(void)state;
	take_leases();
	for (int i = 0; i < LEASES; i++)
		if (i != KEPT)
			give_back(i, KEEPER(i));
	give_up();
	model = find(&findings);
	assert_int_equal(findings.count, 1);
	finding = findings.findings;
	assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
	assert_int_equal(finding->task, story_task(model, 60));
	assert_int_equal(finding->steps[0].kind, THRUM__STEP_CANCELLED);
	assert_int_equal(finding->steps[0].task, story_task(model, COPY(KEPT)));
	assert_int_equal(finding->steps[0].other, story_task(model, 40));
	assert_int_equal(finding->steps[1].kind, THRUM__STEP_STILL_HOLDS);
	assert_int_equal(finding->steps[1].task, story_task(model, KEEPER(KEPT)));
	assert_int_equal(finding->steps[1].other, story_task(model, LEASE(KEPT)));
	story_free(model, &findings);
}

static void a_copy_may_still_go_on(void **state)
{
	(void)state;
	take_leases();
	story_tell("8" MS "due %d =5000000000\n", COPY(KEPT));
	for (int i = 0; i < LEASES; i++)
		if (i != KEPT)
			give_back(i, KEEPER(i));
	expect_none();
}

static void main_may_give_a_lease_back(void **state)
{
	(void)state;
	/* It did so with the others, or with one of them. */
	take_leases();
	for (int i = 0; i < LEASES; i++)
		if (i != KEPT)
			give_back(i, 1);
	give_up();
	expect_none();
	take_leases();
	for (int i = 0; i < LEASES; i++)
		if (i != KEPT)
			give_back(i, i == 0 ? 1 : KEEPER(i));
	give_up();
	expect_none();
	/* It gave this one back, too, and took it once more. */
	take_leases();
	for (int i = 0; i < LEASES; i++)
		if (i != KEPT)
			give_back(i, KEEPER(i));
	give_up();
	story_tell("55" MS "unlock 1 %d\n", LEASE(KEPT));
	story_tell("55" MS "lock 1 %d\n", LEASE(KEPT));
	expect_none();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_is_kept_as_its_task_was_cancelled),
		cmocka_unit_test(a_copy_may_still_go_on),
		cmocka_unit_test(main_may_give_a_lease_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
