/* SPDX-License-Identifier: ISC */
/* Threads that ask a loop to run something and wait for it, while the loop waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define HANDLE 3     /* the handle of the loop that is sent again and again */
#define JOINER 4     /* the loop's timer that waits for the thread 2 */

/* How the thread 2 asks the loop of thread 1. */
struct asking {
	unsigned rounds; /* that the loop answered */
	bool is_handle;  /* it sends one handle again; else it makes a task each time */
	bool is_shared;  /* all waits are for one condition */
	bool by_other;   /* the thread 5 gave the first signal */
	bool is_unasked; /* the last time it asks for nothing */
	bool is_queued;  /* the last time, it makes ready a task that is like no other */
	bool is_free;    /* the loop waits for nothing */
	bool is_new;     /* each of the earlier rounds has an asker of its own */
	bool is_soon;    /* the same; all of their answers came before they waited */
	bool is_mute;    /* the same; one of the tasks signalled nothing */
	const char *rest;
};

static unsigned task_of(const struct asking *asking, unsigned round)
{
	return asking->is_handle ? HANDLE : 100 + round;
}

static unsigned condition_of(const struct asking *asking, unsigned round)
{
	return asking->is_shared ? 6 : 200 + round;
}

/* The thread that asks in a round. */
static unsigned asker_of(const struct asking *asking, unsigned round)
{
	return asking->is_new && round < asking->rounds ? 20 + round : 2;
}

static void ask(const struct asking *asking, unsigned round, unsigned ms, const char *label)
{
	unsigned task = task_of(asking, round), condition = condition_of(asking, round);
	unsigned asker = asker_of(asking, round);

	if (asking->is_new)
		story_tell("%u" MS "@1 create 1 %u thread\n%u" MS "@1 switch %u\n", ms, 20 + round,
			ms, asker);
	if (!asking->is_handle)
		story_tell("%u" MS "@1 create %u %u handle =1\n%u" MS "@1 label %u \"%s\n", ms,
			asker, task, ms, task, label);
	story_tell("%u" MS "@1 ready %u %u\n", ms, asker, task);
	if (!asking->is_shared)
		story_tell("%u" MS "@1 create %u %u condition =2\n", ms, asker, condition);
}

static void answer(const struct asking *asking, unsigned round, unsigned ms)
{
	unsigned task = task_of(asking, round), condition = condition_of(asking, round);
	unsigned asker = asker_of(asking, round);

	story_tell("%u" MS "resume\n%u" MS "switch %u\n", ms, ms, task);
	if (asking->by_other && round == 0)
		story_tell("%u" MS "@2 signal 5 %u =1\n", ms, condition);
	else if (!asking->is_mute || round > 0)
		story_tell("%u" MS "signal %u %u =1\n", ms, task, condition);
	story_tell("%u" MS "switch 1\n", ms);
	if (!asking->is_handle)
		story_tell("%u" MS "resolve 1 %u\n", ms, task);
	story_tell("%u" MS "suspend - \"wait for work\n%u" MS "@1 resume\n%u" MS "@1 read %u %u\n",
		ms, ms + 1, ms + 1, asker, condition);
	if (!asking->is_shared)
		story_tell("%u" MS "@1 resolve %u %u\n", ms + 1, asker, condition);
	if (asking->is_new)
		story_tell("%u" MS "@1 resolve %u %u\n", ms + 1, asker, asker);
}

static void tell(const struct asking *asking)
{
	unsigned ms = 10, round = 0;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 label 1 \"main\n0 create 1 3 handle\n"
		   "0 label 3 \"async answer\n0 create 1 4 timer\n0 label 4 \"close\n"
		   "0 create 1 6 condition\n0 @1 create - 2 thread\n0 @1 switch 2\n"
		   "0 @1 label 2 \"worker\n0 @2 create - 5 thread\n0 @2 switch 5\n"
		   "1" MS "suspend - \"wait for work\n");
	for (; round < asking->rounds; round++, ms += 10) {
		ask(asking, round, ms, "idle answer");
		if (!asking->is_soon)
			story_tell("%u" MS "@1 wait %u %u =7\n", ms, asker_of(asking, round),
				condition_of(asking, round));
		story_tell("%u" MS "@1 suspend - \"blocked\n", ms);
		answer(asking, round, ms + 2);
	}
	story_tell("%u" MS "resume\n%u" MS "switch 4\n", ms, ms);
	if (!asking->is_free)
		story_tell("%u" MS "should-resolve 2\n%u" MS "wait 4 2 =8\n%u" MS
			   "suspend - \"%s\n",
			ms, ms, ms, asking->rest ? asking->rest : "blocked");
	else
		story_tell("%u" MS "switch 1\n%u" MS "suspend - \"wait for work\n", ms, ms);
	if (!asking->is_unasked)
		ask(asking, round, ms + 1, asking->is_queued ? "another" : "idle answer");
	else if (!asking->is_shared)
		story_tell("%u" MS "@1 create 2 %u condition =2\n", ms + 1, 200 + round);
	story_tell("%u" MS "@1 wait 2 %u =7\n%u" MS "@1 suspend - \"blocked\n", ms + 2,
		condition_of(asking, round), ms + 2);
	story_tell("2000" MS "@2 log 5 \"end\n");
}

/* How the deadlock was found: 0: there is none; else its certainty, plus one. */
static int find_deadlock(const struct asking *asking)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	int found = 0;

	tell(asking);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];

		if (finding->class != THRUM__FINDING_DEADLOCK)
			continue;
		assert_int_equal(finding->step_count, 3);
		assert_int_equal(finding->steps[0].task, story_task(model, JOINER));
		assert_int_equal(finding->steps[1].task, story_task(model, 2));
		assert_int_equal(finding->steps[2].kind, THRUM__STEP_NEEDS_LANE);
		assert_int_equal(finding->steps[2].task,
			story_task(model, task_of(asking, asking->rounds)));
		found = finding->certainty + 1;
	}
	story_free(model, &findings);
	return found;
}

#define FIND(...) find_deadlock(&(struct asking){__VA_ARGS__})

static void a_loop_that_is_asked_waits_for_who_asks(void **state)
{
	(void)state;
	assert_int_equal(FIND(.rounds = 4), THRUM__LIKELY + 1);
	assert_int_equal(FIND(.rounds = 4, .is_shared = true), THRUM__LIKELY + 1);
	assert_int_equal(FIND(.rounds = 4, .is_handle = true), THRUM__LIKELY + 1);
	assert_int_equal(FIND(.rounds = 1, .is_handle = true, .is_shared = true),
		THRUM__POSSIBLE + 1);
	assert_int_equal(FIND(.rounds = 4, .rest = "blocked for a time"), THRUM__POSSIBLE + 1);
}

static void others_asked_before(void **state)
{
	(void)state;
	assert_int_equal(FIND(.rounds = 4, .is_new = true), THRUM__LIKELY + 1);
	assert_int_equal(FIND(.rounds = 1, .is_new = true), THRUM__POSSIBLE + 1);
	/* Nobody ever waited there; or such a task may end without a signal. */
	assert_int_equal(FIND(.rounds = 4, .is_new = true, .is_soon = true), 0);
	assert_int_equal(FIND(.rounds = 4, .is_new = true, .is_mute = true), 0);
	assert_int_equal(FIND(.rounds = 4, .is_new = true, .by_other = true), 0);
	assert_int_equal(FIND(.rounds = 4, .is_new = true, .is_free = true), 0);
	assert_int_equal(FIND(.rounds = 4, .is_new = true, .is_unasked = true), 0);
}

static void others_may_signal(void **state)
{
	(void)state;
	/* Nothing shows who gives the signal, or somebody else does. */
	assert_int_equal(FIND(.rounds = 0), 0);
	assert_int_equal(FIND(.rounds = 4, .is_queued = true), 0);
	assert_int_equal(FIND(.rounds = 4, .by_other = true), 0);
	assert_int_equal(FIND(.rounds = 4, .by_other = true, .is_shared = true), 0);
	assert_int_equal(FIND(.rounds = 4, .by_other = true, .is_handle = true), 0);
	/* It asked for nothing. */
	assert_int_equal(FIND(.rounds = 4, .is_unasked = true), 0);
	/* The loop has its turn soon. */
	assert_int_equal(FIND(.rounds = 4, .is_free = true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_that_is_asked_waits_for_who_asks),
		cmocka_unit_test(others_asked_before),
		cmocka_unit_test(others_may_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
