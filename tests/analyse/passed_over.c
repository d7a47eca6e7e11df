/* SPDX-License-Identifier: ISC */
/* Each round answers two readers, and leaves one out from then on. Or a new task comes beside others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define SINCE 10     /* the first round that leaves one out */

static void ask(int ms, int by, int task, const char *name)
{
	story_tell("%d" MS "create %d %d task\n%d" MS "label %d \"%s\n%d" MS "should-resolve %d\n",
		ms, by, task, ms, task, name, ms, task);
}

/* Rounds from SINCE on answer only the first reader. */
static void tell(int from, int to)
{
	for (int i = from; i < to; i++) {
		int ms = 10 + 10 * i, round = 1000 + i;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"say\n%d" MS "switch %d\n",
			ms, round, ms, round, ms, round);
		story_tell("%d" MS "resolve %d %d\n", ms, round, 100 + i);
		ask(ms, round, 101 + i, "read of ann");
		if (i < SINCE) {
			story_tell("%d" MS "resolve %d %d\n", ms, round, 300 + i);
			ask(ms, round, 301 + i, "read of carl");
		}
		story_tell("%d" MS "resolve %d %d\n%d" MS "switch 1\n", ms, round, round, ms + 1);
	}
}

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	ask(1, 1, 100, "read of ann");
	ask(1, 1, 300, "read of carl");
}

static void expect(uint32_t new, bool is_told)
{
	struct thrum__findings findings;
	const struct thrum__step *step;
	struct thrum__model *model;
	unsigned count = 0;

	story_tell("2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	for (unsigned i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++) {
			step = &findings.findings[i].steps[k];
			if (step->kind == THRUM__STEP_COMES_BETWEEN)
				assert_int_equal(step->task, story_task(model, new));
			if (step->kind != THRUM__STEP_PASSES_OVER)
				continue;
			count++;
			assert_int_equal(step->task, story_task(model, 1000 + SINCE));
			assert_int_equal(step->other, story_task(model, 300 + SINCE));
			assert_int_equal(step->more, SINCE);
			assert_int_equal(k, new > 0);
		}
	assert_int_equal(count, is_told);
	story_free(model, &findings);
}

static void one_is_left_out(void **state)
{
	(void)state;
	begin();
	tell(0, 16);
	expect(0, true);
}

static void something_new_came(void **state)
{
	(void)state;
	begin();
	tell(0, SINCE);
	story_tell("%d" MS "create 1 50 task\n%d" MS "label 50 \"move carl\n%d" MS "resolve 1 50\n",
		5 + 10 * SINCE, 5 + 10 * SINCE, 6 + 10 * SINCE);
	tell(SINCE, 16);
	expect(50, true);
}

static void too_few_rounds_are_without_it(void **state)
{
	(void)state;
	begin();
	tell(0, SINCE + 3);
	expect(0, false);
}

static void they_never_belonged_together(void **state)
{
	(void)state;
	/* Here rounds without the second reader were usual. */
	begin();
	for (int i = 0; i < 5; i++) {
		int ms = 2 + i;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"say\n", ms, 900 + i, ms,
			900 + i);
		ask(ms, 1, 800 + i, "read of ann");
		story_tell("%d" MS "resolve %d %d\n%d" MS "resolve %d %d\n", ms, 900 + i, 800 + i,
			ms, 900 + i, 900 + i);
	}
	tell(0, 1);
	for (int i = 0; i < 5; i++) {
		int ms = 12 + i;

		story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"say\n", ms, 700 + i, ms,
			700 + i);
		ask(ms, 1, 600 + i, "read of ann");
		story_tell("%d" MS "resolve %d %d\n%d" MS "resolve %d %d\n", ms, 700 + i, 600 + i,
			ms, 700 + i, 700 + i);
	}
	tell(1, 16);
	expect(0, false);
}

/* A thread answers two readers itself, whose reads have numbers. */
static void a_thread_leaves_one_out(void **state)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	unsigned count = 0;
	char name[20];

	(void)state;
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < 16; i++) {
		int ms = 10 + 10 * i;

		for (int k = 0; k < 2; k++) {
			if (k == 1 && i > SINCE)
				continue;
			snprintf(name, sizeof name, "%s waits for %d", k ? "carl" : "ann", i);
			ask(ms, 1, 100 + 200 * k + i, name);
			if (k == 0 || i < SINCE)
				story_tell("%d" MS "resolve 1 %d\n", ms + 5 + k, 100 + 200 * k + i);
		}
	}
	story_tell("2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	for (unsigned i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++)
			if (findings.findings[i].steps[k].kind == THRUM__STEP_PASSES_OVER) {
				count++;
				assert_int_equal(findings.findings[i].steps[k].task,
					story_task(model, 1));
				assert_int_equal(findings.findings[i].steps[k].more, SINCE);
			}
	assert_int_equal(count, 1);
	story_free(model, &findings);
}

/* Proposals take 5 ms each. While one of them is under way, a node is started anew; it never ends. */
static void start_anew(int ms, bool is_usual)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	unsigned count = 0;

	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
	for (int i = 0; i < 16; i++) {
		ask(10 + 10 * i, 1, 100 + i, "proposal");
		if (i == SINCE || (is_usual && i == 2))
			story_tell("%d" MS "create 1 %d task\n%d" MS "label %d \"restart\n%d" MS
				   "resolve 1 %d\n",
				10 + 10 * i + ms, 50 + i, 10 + 10 * i + ms, 50 + i,
				10 + 10 * i + ms, 50 + i);
		if (i != SINCE)
			story_tell("%d" MS "resolve 1 %d\n", 15 + 10 * i, 100 + i);
	}
	story_tell("2900" MS "log 1 \"end\n");
	model = story_findings(&findings);
	for (unsigned i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++)
			if (findings.findings[i].steps[k].kind == THRUM__STEP_COMES_BETWEEN) {
				count++;
				assert_int_equal(findings.findings[i].steps[k].task,
					story_task(model, 50 + SINCE));
				assert_int_equal(findings.findings[i].steps[k].more, 1);
			}
	assert_int_equal(count, !is_usual && ms < 5);
	story_free(model, &findings);
}

static void a_new_task_came_meanwhile(void **state)
{
	(void)state;
	start_anew(2, false);
}

static void a_new_task_came_too_late(void **state)
{
	(void)state;
	start_anew(8, false);
}

static void such_a_task_came_before(void **state)
{
	(void)state;
	start_anew(2, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_left_out),
		cmocka_unit_test(something_new_came),
		cmocka_unit_test(too_few_rounds_are_without_it),
		cmocka_unit_test(they_never_belonged_together),
		cmocka_unit_test(a_thread_leaves_one_out),
		cmocka_unit_test(a_new_task_came_meanwhile),
		cmocka_unit_test(a_new_task_came_too_late),
		cmocka_unit_test(such_a_task_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
