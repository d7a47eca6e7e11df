/* SPDX-License-Identifier: ISC */
/* Somebody is woken for what others wait for, and had given up its wait before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* The job 2 needs fiber 3, which waits for the token 10. Fiber 4 waited for that, too, and does something
 * else then; fiber 5 puts the token back, and wakes fiber 4. */
static void tell_token(const char *gives_up, const char *then)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 10 mailbox\n0 label 10 \"token\n");
	for (int i = 3; i <= 5; i++)
		story_tell("0 create 1 %d fiber\n0 label %d \"fiber %d\n", i, i, i);
	story_tell("0 create 1 2 task\n0 label 2 \"job\n0 should-resolve 2\n1" MS "wait 2 3\n");
	story_tell("2" MS "create 1 20 timer\n2" MS "create 1 21 timer\n");
	story_tell("5" MS "read 5 10\n6" MS "wait 4 10\n7" MS "wait 3 10\n");
	story_tell("%s", gives_up);
	story_tell("20" MS "signal 5 10 =2\n20" MS "ready 5 4\n%s", then);
	story_tell("30" MS "resolve 5 5\n900" MS "log 1 \"end\n");
}

static void expect(bool is_told)
{
	struct thrum__model *model = story_model(story_told(), false);
	const struct thrum__finding *finding;
	struct thrum__findings findings;

	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	finding = findings.findings;
	assert_int_equal(finding->steps[0].kind == THRUM__STEP_WOKEN_INSTEAD, is_told);
	if (is_told) {
		assert_int_equal(finding->steps[0].task, story_task(model, 4));
		assert_int_equal(finding->steps[0].other, story_task(model, 10));
		assert_int_equal(finding->steps[0].more, 2);
	}
	story_free(model, &findings);
}

static void it_had_given_up(void **state)
{
	(void)state;
	tell_token("10" MS "wait 4 20\n", "25" MS "resolve 4 20\n25" MS "read 4 20\n");
	expect(true);
	/* Also if it waits there anew. */
	tell_token("10" MS "wait 4 20\n", "25" MS "resolve 4 20\n25" MS "wait 4 10\n");
	expect(true);
}

static void it_may_take_it(void **state)
{
	(void)state;
	/* It waited there until it was woken. */
	tell_token("", "25" MS "wait 4 20\n");
	expect(false);
	/* It did nothing since. */
	tell_token("10" MS "wait 4 20\n", "");
	expect(false);
	/* It took the token; or another one did. */
	tell_token("10" MS "wait 4 20\n", "25" MS "read 4 10\n26" MS "wait 4 21\n");
	expect(false);
	tell_token("10" MS "wait 4 20\n", "25" MS "wait 4 21\n26" MS "read 5 10\n");
	expect(false);
}

/* Queries run one after the other; who ends makes the next one ready. The query 30 waits for its turn. */
static void tell_turns(int count)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n");
	for (int i = 0; i < count; i++)
		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"query %d\n%d" MS
			   "ready 1 %d\n%d" MS "switch %d\n%d" MS "resolve %d %d\n%d" MS
			   "switch 1\n",
			i, 10 + i, i, 10 + i, i, i, 10 + i, i, 10 + i, i, 10 + i, 10 + i, i);
	story_tell("20" MS "create 1 29 task\n20" MS "label 29 \"query 19\n"
		   "21" MS "create 1 30 task\n21" MS "label 30 \"query 20\n21" MS
		   "should-resolve 30\n");
}

/* Expects that query 29 is told to be woken after its end, or not. */
static void expect_dead(const char *then, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_tell("%s900" MS "log 1 \"end\n", then);
	model = story_model(story_told(), false);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_true(findings.count > 0);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == THRUM__STEP_WOKEN_INSTEAD, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 29));
		assert_int_equal(step->other, story_task(model, 30));
		assert_int_equal(step->more, 3);
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void it_had_ended(void **state)
{
	(void)state;
	tell_turns(4);
	expect_dead("30" MS "fail 29 29 \"too late\n31" MS "ready 1 29\n", true);
	/* It had not, or others were woken since, or before, too few. */
	tell_turns(4);
	expect_dead("30" MS "ready 1 29\n31" MS "fail 29 29 \"too late\n", false);
	tell_turns(4);
	expect_dead("30" MS "fail 29 29 \"too late\n31" MS "ready 1 29\n32" MS
		    "create 1 31 task\n32" MS "label 31 \"query 21\n33" MS "ready 1 31\n33" MS
		    "switch 31\n33" MS "resolve 31 31\n33" MS "switch 1\n",
		false);
	tell_turns(2);
	expect_dead("30" MS "fail 29 29 \"too late\n31" MS "ready 1 29\n", false);
	/* The token went to one that had ended. */
	tell_token("8" MS "resolve 4 4\n", "");
	expect(true);
}

/* Cars wait for a point by promises. Car 1 has the point. Car 2 gives up at 20 ms, and car 3 waits on. */
static void tell_cars(const char *then, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 1; i <= 3; i++)
		story_tell("%d" MS "create 1 1%d bind\n%d" MS "label 1%d \"car %d\n%d" MS
			   "should-resolve 1%d\n",
			i, i, i, i, i, i, i);
	for (int i = 2; i <= 3; i++)
		story_tell("%d" MS "create 1%d 2%d task\n%d" MS
			   "label 2%d \"wait for a point\n%d" MS "create 1%d 3%d try\n%d" MS
			   "wait 3%d 2%d\n%d" MS "become 1%d 3%d\n",
			i + 5, i, i, i + 5, i, i + 5, i, i, i + 5, i, i, i + 5, i, i);
	story_tell("%s900" MS "log 1 \"end\n", then);
	model = story_model(story_told(), false);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_true(findings.count > 0);
	step = findings.findings[0].steps;
	assert_int_equal(step->kind == THRUM__STEP_WOKEN_INSTEAD, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 32));
		assert_int_equal(step->other, story_task(model, 22));
		assert_int_equal(step->more, 2);
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

#define GIVES_UP "20" MS "cancel 1 22\n20" MS "resolve 32 32\n"
#define HANDS_ON "30" MS "switch 11\n30" MS "ready 11 22\n30" MS "resolve 11 11\n30" MS "switch 1\n"

static void its_promise_was_cancelled(void **state)
{
	(void)state;
	tell_cars(GIVES_UP HANDS_ON, true);
}

static void another_may_give_it(void **state)
{
	(void)state;
	/* The giver goes on. */
	tell_cars(GIVES_UP "30" MS "switch 11\n30" MS "ready 11 22\n30" MS "switch 1\n", false);
	/* One that isn't like those that wait answers them. */
	tell_cars(GIVES_UP "30" MS "create 1 40 task\n30" MS "label 40 \"answer\n30" MS
			   "switch 40\n30" MS "ready 40 22\n30" MS "resolve 40 40\n30" MS
			   "switch 1\n",
		false);
	/* One like them that has a point goes on. */
	tell_cars(GIVES_UP HANDS_ON "40" MS "create 1 14 bind\n40" MS "label 14 \"car 4\n", false);
	/* It had the point when it left. */
	tell_cars("19" MS "switch 11\n19" MS "resolve 11 22\n19" MS "resolve 11 11\n19" MS
		  "switch 1\n20" MS "resolve 32 32\n",
		false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_had_given_up),
		cmocka_unit_test(it_may_take_it),
		cmocka_unit_test(it_had_ended),
		cmocka_unit_test(its_promise_was_cancelled),
		cmocka_unit_test(another_may_give_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
