/* SPDX-License-Identifier: ISC */
/* A permit that a task handed on before it ended: another one gives it back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define REQUESTS 6

/* Requests take a permit of the semaphore 10 and give it back, each in a thread. The last one, 30, puts a job
 * into the queue 11 instead, from which the thread 2 takes jobs. The request 31 waits for the permit, and
 * main for that. `then` tells of the rest. */
static void tell(const char *then)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n"
		   "0 create 1 10 semaphore\n0 label 10 \"slots\n0 create 1 11 semaphore\n"
		   "0 label 11 \"jobs\n0 @1 create 1 2 thread\n0 @1 label 2 \"completer\n"
		   "0 @1 switch 2\n0 @1 create 2 12 timer\n0 @1 due 12 =5000000000\n"
		   "1" MS "@1 wait 2 11\n1" MS "@1 suspend \"blocked\n");
	for (int i = 0; i <= REQUESTS; i++) {
		int request = i < REQUESTS ? 20 + i : 30, time = 10 * i + 2;

		story_tell("%d" MS "@%d create 1 %d thread\n%d" MS "@%d label %d \"request\n%d" MS
			   "@%d switch %d\n%d" MS "@%d lock %d 10\n",
			time, request, request, time, request, request, time, request, request,
			time + 1, request, request);
		if (request == 30)
			story_tell("%d" MS "@30 signal 30 11 =1\n", time + 2);
		else
			story_tell("%d" MS "@%d unlock %d 10\n", time + 2, request, request);
		story_tell("%d" MS "@%d resolve %d %d\n", time + 3, request, request, request);
	}
	story_tell("80" MS "@1 resume \"blocked\n80" MS "@1 read 2 11\n%s", then);
	story_tell("90" MS "@31 create 1 31 thread\n90" MS "@31 label 31 \"request\n90" MS
		   "@31 switch 31\n90" MS "@31 wait 31 10\n90" MS "@31 suspend \"blocked\n");
	story_tell("91" MS "should-resolve 31\n91" MS "wait 1 31\n91" MS "suspend \"blocked\n");
}

static void expect(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	assert_int_equal(findings.count > 0, is_told);
	story_free(model, &findings);
}

#define SLEEPS "81" MS "@1 wait 2 12\n81" MS "@1 suspend \"blocked for a time\n"
#define RESTS "81" MS "@1 wait 2 11\n81" MS "@1 suspend \"blocked\n"

static void who_got_the_job_gives_the_permit_back(void **state)
{
	(void)state;
	tell(SLEEPS);
	expect(false);
	/* It waits for an answer from outside. */
	tell("81" MS "@1 create 2 13 request\n81" MS "@1 wait 2 13\n81" MS
	     "@1 suspend \"blocked\n");
	expect(false);
	/* It has done the job, and waits for the next one. */
	tell(RESTS);
	expect(true);
}

/* A semaphore that was posted by one without a permit counts events, and isn't free. */
static void what_others_post_is_no_lock(void **state)
{
	(void)state;
	tell("81" MS "@1 unlock 2 10\n81" MS "@1 signal 2 10 =0\n82" MS "@1 read 2 11\n" SLEEPS);
	expect(false);
	/* Each was given back by its own holder. */
	tell("82" MS "@30 unlock 30 10\n" RESTS);
	expect(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_got_the_job_gives_the_permit_back),
		cmocka_unit_test(what_others_post_is_no_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
