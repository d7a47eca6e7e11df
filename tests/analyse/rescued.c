/* SPDX-License-Identifier: ISC */
/* A wait that lasts until its time-out, as the signal came before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/slow/answer.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* A condition, 3, that is signalled by the scanner, 4: so often while a task waits, and so often while none
 * does. */
static void begin(int heard, int unheard)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	story_tell(
		"0 create 1 3 condition\n0 label 3 \"seen\n0 create 1 4 fiber\n0 label 4 \"scanner\n");
	for (int i = 0; i < heard; i++)
		story_tell("%d" MS "create 1 %d wait\n%d" MS "wait %d 3\n%d" MS
			   "signal 4 3 =1\n%d" MS "read %d 3\n%d" MS "resolve %d %d\n",
			i, 10 + i, i, 10 + i, i, i, 10 + i, i, 10 + i, 10 + i);
	for (int i = 0; i < unheard; i++)
		story_tell("%d" MS "signal 4 3 =0\n", heard + i);
}

/* From 60 ms on the order, 100, waits for the condition, but for no more than 200 ms. */
static void tell_order(void)
{
	story_tell(
		"60" MS "create 1 101 wait\n60" MS "wait 101 3\n60" MS "create 1 102 timer\n60" MS
		"label 102 \"timeout\n60" MS "due 102 =260000000\n60" MS "create 1 103 pick\n60" MS
		"wait 103 101\n60" MS "wait 103 102\n60" MS "wait 100 103\n");
}

static void expect(bool is_told)
{
	struct thrum__slow_missed missed;
	struct thrum__slow_answer answer;
	struct thrum__model *model;

	story_tell("260" MS "switch 102\n260" MS "resolve 102 102\n261" MS "switch 103\n261" MS
		   "read 103 102\n261" MS "cancel 103 101\n261" MS "resolve 103 103\n262" MS
		   "switch 100\n262" MS "read 100 103\n263" MS "resolve 100 100\n");
	model = story_model(story_told(), false);
	assert_int_equal(thrum__slow_answer_of(model, story_task(model, 100), &answer), 0);
	assert_int_equal(answer.cause.links[0].task, story_task(model, 102));
	assert_int_equal(thrum__slow_missed_find(&answer, &missed), is_told);
	if (is_told) {
		assert_int_equal(missed.condition, story_task(model, 3));
		assert_int_equal(missed.by, story_task(model, 4));
		assert_int_equal(missed.before, 5000000);
	}
	thrum__slow_answer_free(&answer);
	thrum__model_destroy(model);
}

/* The order begins at 50 ms. */
static void begin_order(int heard, int unheard)
{
	begin(heard, unheard);
	story_tell("50" MS "create 1 100 task\n50" MS "label 100 \"order\n");
}

static void the_signal_came_before(void **state)
{
	(void)state;
	begin_order(5, 0);
	story_tell("55" MS "signal 4 3 =0\n");
	tell_order();
	expect(true);
}

static void the_program_lives_with_it(void **state)
{
	(void)state;
	/* Others were in vain as well. */
	begin_order(5, 5);
	story_tell("55" MS "signal 4 3 =0\n");
	tell_order();
	expect(false);
	/* Nobody ever waits for them. */
	begin_order(0, 0);
	story_tell("55" MS "signal 4 3 =0\n");
	tell_order();
	expect(false);
}

static void it_was_another_signal(void **state)
{
	(void)state;
	/* Before the order came. */
	begin(5, 0);
	story_tell("45" MS "signal 4 3 =0\n50" MS "create 1 100 task\n50" MS "label 100 \"order\n");
	tell_order();
	expect(false);
	/* Another task heard it. */
	begin_order(5, 0);
	story_tell("55" MS "signal 4 3 =1\n");
	tell_order();
	expect(false);
	/* One came meanwhile. */
	begin_order(5, 0);
	story_tell("55" MS "signal 4 3 =0\n");
	tell_order();
	story_tell("70" MS "signal 4 3 =1\n");
	expect(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_signal_came_before),
		cmocka_unit_test(the_program_lives_with_it),
		cmocka_unit_test(it_was_another_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
