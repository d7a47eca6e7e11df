/* SPDX-License-Identifier: ISC */
/* Jobs that are handed to workers, one of which drops its job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define MAIN \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 create 1 3 fiber\n" \
	"0 label 3 \"worker 1\n" \
	"0 create 1 4 fiber\n" \
	"0 label 4 \"worker 2\n" \
	"0 create 1 5 fiber\n" \
	"0 label 5 \"other\n" \
	"0 create 1 2 fiber\n" \
	"0 label 2 \"order\n" \
	"0 should-resolve 2\n"
#define MADE(job, at) at MS "create 2 " job " task\n" at MS "label " job " \"job " job "\n"
#define HANDED(job, worker, at) MADE(job, at) at MS "ready 2 " worker "\n"
#define ENDED(job, worker, at) at MS "switch " worker "\n" at MS "resolve " worker " " job "\n"
#define DONE(job, worker, at, end) HANDED(job, worker, at) ENDED(job, worker, end)
#define LAST(job, worker) \
	HANDED(job, worker, "20") \
	"21" MS "wait 2 " job "\n22" MS "switch " worker "\n23" MS "switch 1\n"
#define END "9000" MS "log 1 \"end\n"

/* Expects that the only finding says that this worker should end the order's last job, 29; 0: that no
 * worker is blamed. */
static void expect_taker(const char *lines, uint64_t worker)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	bool is_told = false;

	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	for (unsigned i = 0; i < findings.findings[0].step_count; i++) {
		const struct thrum__step *step = &findings.findings[0].steps[i];

		if (step->kind != THRUM__STEP_SHOULD_END)
			continue;
		is_told = true;
		assert_int_not_equal(worker, 0);
		assert_int_equal(step->task, story_task(model, worker));
		assert_int_equal(step->other, story_task(model, 29));
	}
	assert_int_equal(is_told, worker != 0);
	story_free(model, &findings);
}

static void a_worker_drops_its_job(void **state)
{
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4")
			     DONE("13", "3", "5", "6") LAST("29", "4") END,
		4);
	/* Jobs for which nobody was made ready tell nothing. */
	expect_taker(MAIN DONE("11", "3", "1", "2") MADE("12", "3") DONE("13", "4", "4", "5")
			     ENDED("12", "4", "6") DONE("14", "3", "7", "8") LAST("29", "4") END,
		4);
}

static void a_worker_ends_with_a_job(void **state)
{
	struct thrum__model *model = story_model(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3",
							 "4") DONE("13", "3", "5", "6") HANDED("29",
							 "4", "20") "21" MS "wait 2 29\n30" MS
								    "resolve 1 4\n" END,
		false);
	struct thrum__findings findings;

	(void)state;
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_ENDS_WITHOUT);
	assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 4));
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void it_is_not_known_who_has_the_job(void **state)
{
	/* Two cases are too few. */
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4") LAST("29", "4") END,
		0);
	/* A worker that was made ready may leave its job to others. */
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4") DONE("13", "3", "5",
			     "6") HANDED("14", "3", "7") ENDED("14", "4", "8") LAST("29", "4") END,
		0);
	/* Nobody was made ready for the last one, */
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4")
			     DONE("13", "3", "5", "6") MADE("29", "20") "21" MS "wait 2 29\n" END,
		0);
	/* or only later, for something else, */
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4") DONE("13", "3", "5",
			     "6") MADE("29", "20") "21" MS "wait 2 29\n"
						   "22" MS "ready 2 4\n23" MS "switch 4\n24" MS
						   "switch 1\n" END,
		0);
	/* or one that is not like those who end jobs. */
	expect_taker(MAIN DONE("11", "3", "1", "2") DONE("12", "4", "3", "4")
			     DONE("13", "3", "5", "6") LAST("29", "5") END,
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_drops_its_job),
		cmocka_unit_test(a_worker_ends_with_a_job),
		cmocka_unit_test(it_is_not_known_who_has_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
