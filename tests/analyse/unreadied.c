/* SPDX-License-Identifier: ISC */
/* Signals that made nobody ready, as each before had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* A spooler, 2, puts jobs into a mailbox, 4, and waits at another one, 5, for the printer, 3, which waits for
 * jobs or, at 6, for what others tell. */
static void tell_round(unsigned at, unsigned either, bool is_ready)
{
	story_tell("%u" MS "switch 3\n%u" MS "create 3 %u choose\n%u" MS
		   "label %u \"job or word\n%u" MS "wait %u 4\n%u" MS "wait %u 6\n%u" MS
		   "wait 3 %u\n",
		at, at, either, at, either, at, either, at, either, at, either);
	story_tell("%u" MS "switch 2\n%u" MS "signal 2 4 =1\n", at + 1, at + 1);
	if (is_ready)
		story_tell("%u" MS "ready 2 3\n", at + 1);
	story_tell("%u" MS "wait 2 5\n", at + 1);
}

static void tell_print(unsigned at, unsigned either)
{
	story_tell("%u" MS "switch 3\n%u" MS "read %u 4\n%u" MS "resolve 3 %u\n%u" MS "read 3 %u\n",
		at, at, either, at, either, at, either);
	story_tell("%u" MS "signal 3 5 =1\n%u" MS "ready 3 2\n%u" MS "switch 2\n%u" MS "read 2 5\n",
		at, at, at + 1, at + 1);
}

/* Expects that the step is told, or not. is_usual: rounds before make nobody ready, either. */
static void expect(unsigned rounds, bool is_usual, const char *more, bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	bool is_found = false;

	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 2 fiber\n0 label 2 \"spooler\n"
		   "0 create 1 3 fiber\n0 label 3 \"printer\n0 should-resolve 2\n"
		   "0 create 1 4 mailbox\n0 label 4 \"jobs\n0 create 1 5 mailbox\n"
		   "0 label 5 \"printed\n0 create 1 6 mailbox\n0 label 6 \"words\n");
	for (unsigned i = 0; i < rounds; i++) {
		tell_round(10 * (i + 1), 20 + i, !is_usual);
		tell_print(10 * (i + 1) + 5, 20 + i);
	}
	tell_round(10 * (rounds + 1), 20 + rounds, false);
	story_tell("%s%u" MS "switch 1\n3000" MS "log 1 \"end\n", more, 10 * (rounds + 1) + 5);
	model = story_findings(&findings);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++)
			is_found |= findings.findings[i].steps[k].kind == THRUM__STEP_UNTAKEN &&
				findings.findings[i].steps[k].other == story_task(model, 4);
	assert_int_equal(is_found, is_told);
	story_free(model, &findings);
}

static void a_signal_is_lost_on_its_way(void **state)
{
	(void)state;
	expect(5, false, "", true);
	/* Few rounds tell nothing; nor do those in which the scheduler finds out who goes on. */
	expect(2, false, "", false);
	expect(5, true, "", false);
	/* The printer was made ready by another one, or somebody else took the job. */
	expect(5, false, "62" MS "ready 1 3\n", false);
	expect(5, false, "62" MS "create 1 9 fiber\n62" MS "label 9 \"helper\n62" MS "read 9 4\n",
		false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_is_lost_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
