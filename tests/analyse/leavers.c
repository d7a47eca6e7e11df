/* SPDX-License-Identifier: ISC */
/* Workers that leave their queue while something else hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
/* A job that should end waits for a condition that nobody signals. Two workers take turns at a queue, 11. */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 create 1 2 task\n" \
	"0 label 2 \"job\n" \
	"0 should-resolve 2\n" \
	"0 create 1 10 condition\n" \
	"0 label 10 \"done\n" \
	"0 create 1 11 condition\n" \
	"0 label 11 \"queue\n" \
	"0 create 1 3 thread\n" \
	"0 label 3 \"worker 1\n" \
	"0 create 1 4 thread\n" \
	"0 label 4 \"worker 2\n" \
	"1" MS "wait 2 10\n"
#define TURN(worker, at, again) \
	at MS "wait " worker " 11\n" again MS "signal 1 11 =1\n" again MS "read " worker " 11\n"
#define TURNS TURN("3", "2", "3") TURN("4", "4", "5") TURN("3", "6", "7") TURN("4", "8", "9")
/* Worker 2 works for its last job. */
#define WORK \
	"10" MS "create 4 12 timer\n10" MS "wait 4 12\n11" MS "resolve 4 12\n11" MS "read 4 12\n"
#define END "900" MS "log 1 \"end\n"

/* Expects that the story's only finding begins with the worker's leave, or doesn't tell of one. */
static void expect_leaver(const char *lines, bool is_told, uint64_t worker, bool is_last)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	const struct thrum__step *step;

	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	step = &findings.findings[0].steps[0];
	assert_int_equal(step->kind == THRUM__STEP_LEFT_QUEUE, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, worker));
		assert_int_equal(step->other, story_task(model, 11));
		assert_int_equal(step->more, is_last);
	}
	story_free(model, &findings);
}

static void the_last_worker_leaves(void **state)
{
	expect_leaver(MAIN TURNS "12" MS "resolve 3 3\n"
				 "13" MS "resolve 4 4\n"
				 "14" MS "signal 1 11 =0\n" END,
		true, 4, true);
	expect_leaver(MAIN TURNS "12" MS "resolve 4 4\n"
				 "13" MS "resolve 3 3\n"
				 "14" MS "signal 1 11 =0\n" END,
		true, 3, true);
	/* Nothing came after that. */
	expect_leaver(MAIN TURNS "12" MS "signal 1 11 =0\n"
				 "13" MS "resolve 3 3\n"
				 "13" MS "resolve 4 4\n" END,
		false, 0, false);
	/* It took one job only. */
	expect_leaver(MAIN TURN("3", "2", "3") "12" MS "resolve 3 3\n"
					       "14" MS "signal 1 11 =0\n" END,
		false, 0, false);
}

static void one_worker_leaves_after_a_job(void **state)
{
	expect_leaver(MAIN TURNS WORK "12" MS "resolve 4 4\n"
				      "13" MS "wait 3 11\n" END,
		true, 4, false);
	/* It was told to end. */
	expect_leaver(MAIN TURNS "12" MS "resolve 4 4\n"
				 "13" MS "wait 3 11\n" END,
		false, 0, false);
	/* The other one works, too, and may do what the job waits for. */
	expect_leaver(MAIN TURNS WORK "12" MS "resolve 4 4\n" END, false, 0, false);
}

/* So much has happened at the queue since another worker took its job that this one isn't found. */
static void a_worker_with_a_long_job_may_come_back(void **state)
{
	static char lines[40000];
	size_t used = (size_t)snprintf(lines, sizeof lines, "%s",
		MAIN TURN("3", "2", "3") TURN("3", "4", "5") "6" MS "create 3 12 timer\n"
							     "6" MS "wait 3 12\n");

	for (unsigned i = 0; i < 1100; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"7" MS "signal 1 11 =0\n");
	snprintf(lines + used, sizeof lines - used, "%s",
		TURN("4", "8", "9") TURN("4", "10", "11") "12" MS "resolve 4 4\n"
							  "14" MS "signal 1 11 =0\n" END);
	expect_leaver(lines, false, 0, false);
}

static void several_queues_tell_nothing(void **state)
{
	expect_leaver(MAIN TURNS "10" MS "create 1 20 condition\n"
				 "10" MS "label 20 \"other queue\n"
				 "10" MS "wait 3 20\n"
				 "10" MS "signal 1 20 =1\n"
				 "10" MS "read 3 20\n"
				 "11" MS "wait 3 20\n"
				 "11" MS "signal 1 20 =1\n"
				 "11" MS "read 3 20\n"
				 "12" MS "resolve 3 3\n"
				 "13" MS "resolve 4 4\n"
				 "14" MS "signal 1 11 =0\n"
				 "14" MS "signal 1 20 =0\n" END,
		false, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_worker_leaves),
		cmocka_unit_test(one_worker_leaves_after_a_job),
		cmocka_unit_test(a_worker_with_a_long_job_may_come_back),
		cmocka_unit_test(several_queues_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
