/* SPDX-License-Identifier: ISC */
/* A request without an answer, and the task of the same program that may be to answer it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* Main, 1, sends requests through the handle 2. A task at the handle 3 takes each, and is resolved soon. */
static void tell_requests(int count)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 2 handle\n"
		   "0 label 2 \"client\n0 create 1 3 handle\n0 label 3 \"store\n");
	for (int i = 0; i < count; i++) {
		int at = 10 * i, put = 10 + i, receive = 50 + i;

		story_tell("%d" MS "create 1 %d request =1\n%d" MS "label %d \"PUT %c\n%d" MS
			   "should-resolve %d\n%d" MS "wait %d 2\n",
			at, put, at, put, 'a' + i, at, put, at, put);
		story_tell("%d" MS "create 1 %d task =2\n%d" MS "label %d \"receive %c\n%d" MS
			   "should-resolve %d\n%d" MS "wait %d 3\n",
			at + 1, receive, at + 1, receive, 'a' + i, at + 1, receive, at + 1,
			receive);
		story_tell("%d" MS "read %d 3\n%d" MS "resolve %d %d\n%d" MS "read %d 2\n%d" MS
			   "resolve %d %d\n",
			at + 2, receive, at + 2, receive, receive, at + 3, put, at + 3, put, put);
	}
}

static void tell_last_request(void)
{
	story_tell("100" MS "create 1 40 request =1\n100" MS "label 40 \"PUT disk\n100" MS
		   "should-resolve 40\n100" MS "wait 40 2\n");
}

static void tell_last_task(int at)
{
	story_tell("%d" MS "create 1 80 task =2\n%d" MS "label 80 \"receive disk\n%d" MS
		   "should-resolve 80\n%d" MS "wait 80 3\n",
		at, at, at, at);
}

/* Expects so many findings; one that tells of a task is the last. */
static void expect(int count, bool has_task)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);

	model->end = INT64_C(5000000000);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		const struct thrum__finding *last = &findings.findings[count - 1];
		uint32_t task = last->steps[last->step_count - 1].task;

		assert_int_equal(has_task, task == story_task(model, 80));
		assert_true(!has_task || last->certainty == THRUM__POSSIBLE);
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void what_may_be_to_answer_is_told(void **state)
{
	(void)state;
	tell_requests(3);
	tell_last_request();
	tell_last_task(101);
	expect(2, true);
}

static void what_may_idle_is_not(void **state)
{
	(void)state;
	/* No request waits; the task began before it; few such tasks are known. */
	tell_requests(3);
	tell_last_task(101);
	expect(0, false);
	tell_requests(3);
	tell_last_task(99);
	tell_last_request();
	expect(1, false);
	tell_requests(1);
	tell_last_request();
	tell_last_task(101);
	expect(1, false);
	/* The program goes on. */
	tell_requests(3);
	tell_last_request();
	tell_last_task(101);
	story_tell("4900" MS "log 1 \"beat\n");
	expect(1, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_to_answer_is_told),
		cmocka_unit_test(what_may_idle_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
