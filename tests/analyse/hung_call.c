/* SPDX-License-Identifier: ISC */
/* A thread hangs in a system call of which `thrum record` told. Each story has twins in which that is no
 * fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define TELLER 2
#define PIPE 3
#define OTHER 4
#define CALL 11
#define CALLED 100 /* ms: the loop's last event */
#define END 3000   /* ms */

struct hang {
	const char *call;
	int taken;      /* what the loop took out of the pipe before */
	int left;       /* what comes later */
	bool is_helped; /* another thread takes from the pipe, too */
	bool is_over;   /* the program ends by itself */
	int end;        /* ms; 0: END */
};

static void tell_news(int ms, int taker, int lane)
{
	story_tell("%d" MS "@1 signal %d %d =1\n", ms, TELLER, PIPE);
	if (lane == 0)
		story_tell("%d" MS "read %d %d\n", ms, taker, PIPE);
	else if (lane > 0)
		story_tell("%d" MS "@2 read %d %d\n", ms, taker, PIPE);
}

static void tell(const struct hang *story)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"counts\n0 switch 1\n");
	story_tell("0 @1 create 1 %d thread\n0 @1 label %d \"teller\n0 @1 switch %d\n", TELLER,
		TELLER, TELLER);
	story_tell("0 @1 create %d %d stream\n0 @1 label %d \"pipe 4 to 3\n", TELLER, PIPE, PIPE);
	story_tell("0 @2 create 1 %d thread\n0 @2 label %d \"helper\n0 @2 switch %d\n", OTHER,
		OTHER, OTHER);
	for (int i = 0; i < story->taken; i++)
		tell_news(10 + 5 * i, 1, 0);
	if (story->is_helped)
		tell_news(90, OTHER, 2);
	story_tell("%d" MS "@3 create - 10 thread\n%d" MS "@3 label 10 \"system calls\n", CALLED,
		CALLED);
	story_tell("%d" MS "@3 create 1 %d handle\n%d" MS "@3 label %d \"%s\n", CALLED, CALL,
		CALLED, CALL, story->call);
	story_tell("%d" MS "@3 resolve 10 10\n", CALLED);
	for (int i = 0; i < story->left; i++)
		tell_news(CALLED + 10 + 5 * i, 0, -1);
	story_tell("%d" MS "@1 suspend \"wait for work outside\n", CALLED + 200);
	story_tell("%d" MS "@2 suspend \"wait for work outside\n", CALLED + 200);
}

/* Expects one finding of this certainty; -1: none. */
static void expect(const struct hang *story, int certainty)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	tell(story);
	model = story_model(story_told(), false);
	model->end = (story->end > 0 ? story->end : END) * 1000000LL;
	model->ending = story->is_over ? THRUM_ENDING_EXITED : THRUM_ENDING_KILLED;
	model->ending_code = story->is_over ? 0 : 9;
	story_find(model, &findings);
	assert_int_equal(findings.count, certainty >= 0);
	if (certainty >= 0) {
		const struct thrum__finding *finding = &findings.findings[0];

		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->certainty, certainty);
		assert_int_equal(finding->task, story_task(model, 1));
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_WAITS_FOR);
		assert_int_equal(finding->steps[0].other, story_task(model, CALL));
		assert_int_equal(finding->steps[1].kind, THRUM__STEP_READS_NO_MORE);
		assert_int_equal(finding->steps[1].other, story_task(model, PIPE));
	}
	story_free(model, &findings);
}

static void a_loop_hangs_in_a_call(void **state)
{
	(void)state;
	expect(&(struct hang){.call = "flock(7) on /x.lock", .taken = 8, .left = 4},
		THRUM__POSSIBLE);
	expect(&(struct hang){.call = "openat on /x.fifo", .taken = 8, .left = 4}, THRUM__POSSIBLE);
	/* The other end may only be slow. */
	expect(&(struct hang){.call = "write(1) on pipe:[7]", .taken = 8, .left = 4},
		THRUM__POSSIBLE);
}

static void a_thread_may_rest_in_a_call(void **state)
{
	(void)state;
	/* Nothing is left for it, or others take that. */
	expect(&(struct hang){.call = "flock(7) on /x.lock", .taken = 8}, -1);
	expect(&(struct hang){.call = "flock(7) on /x.lock", .taken = 1, .left = 4}, -1);
	expect(&(struct hang){.call = "flock(7) on /x.lock",
		       .taken = 8,
		       .left = 4,
		       .is_helped = true},
		-1);
	/* It waits for the outside, or for who knows what. */
	expect(&(struct hang){.call = "read(5) on socket:[7]", .taken = 8, .left = 4}, -1);
	expect(&(struct hang){.call = "futex", .taken = 8, .left = 4}, -1);
	/* The call has just begun; the program ended by itself. */
	expect(&(struct hang){.call = "flock(7) on /x.lock", .taken = 8, .left = 4, .end = 500},
		-1);
	expect(&(struct hang){.call = "flock(7) on /x.lock",
		       .taken = 8,
		       .left = 4,
		       .is_over = true},
		-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_hangs_in_a_call),
		cmocka_unit_test(a_thread_may_rest_in_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
