/* SPDX-License-Identifier: ISC */
/* A thread waits in the middle of a job for what only another job of its own queue does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define END 2500     /* ms */

/* The worker 2 takes jobs by the condition 10. The thread `signaller` once signals the condition 11, for
 * which nobody waits then. The client 3 gives jobs and waits for each by the condition 12. At last the
 * worker waits for the condition 11, and `job` is told. */
static void tell(int signaller, const char *job)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 2 thread\n0 label 2 \"worker\n0 @1 switch 2\n"
		   "0 create 1 3 thread\n0 label 3 \"client\n0 @2 switch 3\n"
		   "0 create 1 4 thread\n0 label 4 \"disk\n0 @3 switch 4\n"
		   "0 create 1 10 condition\n0 label 10 \"queued\n"
		   "0 create 1 11 condition\n0 label 11 \"moved\n"
		   "0 create 1 12 condition\n0 label 12 \"done\n"
		   "0 create 1 13 condition\n0 label 13 \"asked\n");
	for (int i = 0; i < 4; i++) {
		int ms = 10 * i;

		story_tell("%d" MS "@1 wait 2 10\n%d" MS "@3 wait 4 13\n", ms + 1, ms + 1);
		story_tell("%d" MS "@2 signal 3 10 =1\n%d" MS "@2 wait 3 12\n", ms + 2, ms + 2);
		story_tell("%d" MS "@1 read 2 10\n%d" MS "@1 signal 2 12 =1\n%d" MS
			   "@2 read 3 12\n",
			ms + 3, ms + 4, ms + 5);
		story_tell("%d" MS "@1 signal 2 13 =1\n%d" MS "@3 read 4 13\n", ms + 6, ms + 7);
		if (i == 2 && signaller > 0)
			story_tell("%d" MS "@%d signal %d 11 =0\n", ms + 8, signaller - 1,
				signaller);
	}
	story_tell("50" MS "@1 wait 2 10\n51" MS "@2 signal 3 10 =1\n51" MS "@2 wait 3 12\n"
		   "51" MS "@2 suspend \"blocked\n52" MS "@1 read 2 10\n52" MS "@1 wait 2 11\n"
		   "52" MS "@1 suspend \"blocked\n%s60" MS "@3 wait 4 13\n60" MS
		   "@3 suspend \"blocked\n",
		job);
}

/* Main sleeps again and again, and does something then. */
static void tell_main(const char *act)
{
	for (int timer = 100, time = 100;; time += 100, timer++) {
		story_tell("%d" MS "create 1 %d timer\n%d" MS "label %d \"sleep 100 ms\n", time,
			timer, time, timer);
		story_tell("%d" MS "due %d =100000000\n%d" MS "wait 1 %d\n", time, timer, time,
			timer);
		story_tell("%d" MS "suspend \"blocked for a time\n", time);
		if (time + 100 > END)
			return;
		story_tell("%d" MS "resume \"blocked for a time\n%d" MS "resolve 1 %d\n",
			time + 100, time + 100, timer);
		story_tell("%d" MS "read 1 %d\n", time + 100, timer);
		if (*act)
			story_tell("%d" MS "%s\n", time + 100, act);
	}
}

static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->ending = THRUM_ENDING_KILLED;
	story_find(model, &findings);
	assert_int_equal(findings.count, is_told);
	if (is_told) {
		const struct thrum__step *steps = findings.findings[0].steps;

		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(steps[0].kind, THRUM__STEP_NEEDS_LANE);
		assert_int_equal(steps[0].task, story_task(model, 10));
		assert_int_equal(steps[0].other, story_task(model, 2));
		assert_int_equal(steps[1].task, story_task(model, 2));
		assert_int_equal(steps[1].other, story_task(model, 11));
	}
	story_free(model, &findings);
}

#define JOB "55" MS "@3 signal 4 10 =0\n"

static void it_waits_for_its_own_next_job(void **state)
{
	(void)state;
	tell(2, JOB);
	tell_main("");
	expect(true);
}

static void others_may_signal(void **state)
{
	(void)state;
	/* Nobody ever did: as of a worker that is told to pause. */
	tell(0, JOB);
	tell_main("");
	expect(false);
	/* Main did, as it lets the worker go on. */
	tell(1, JOB);
	tell_main("");
	expect(false);
	/* Main does something for others each time. */
	tell(2, JOB);
	tell_main("signal 1 13 =1");
	expect(false);
}

static void no_job_is_left(void **state)
{
	(void)state;
	tell(2, "");
	tell_main("");
	expect(false);
	/* It was given to the other worker that waits there. */
	tell(2,
		"53" MS "@4 create - 5 thread\n53" MS "@4 switch 5\n53" MS
		"@4 label 5 \"worker 2\n53" MS "@4 wait 5 10\n" JOB);
	tell_main("");
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_its_own_next_job),
		cmocka_unit_test(others_may_signal),
		cmocka_unit_test(no_job_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
