/* SPDX-License-Identifier: ISC */
/* Threads that open two FIFOs in opposite order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
/* A thread that waits in open() since that time. */
#define OPENS(lane, own, on, at, label) \
	"0 @" #lane " create - " #own " thread\n0 @" #lane " switch " #own "\n" #at MS "@" #lane \
	" create " #own " " #on " handle\n" #at MS "@" #lane " label " #on " \"" label "\n" #at MS \
	"@" #lane " wait " #own " " #on "\n" #at MS "@" #lane \
	" suspend \"blocked by the outside\n"
#define TILL OPENS(1, 10, 11, 1, "open own FIFO request to write")
#define SCALE OPENS(2, 20, 21, 2, "open own FIFO reply to write")
#define MAIN "0 create - 1 thread\n0 switch 1\n"
/* The main thread joins one of them. */
#define JOINS "3" MS "wait 1 10\n3" MS "suspend \"blocked\n"
#define END "2000" MS "@9 log - \"end\n"

static void expect(const char *lines, uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(lines, false);

	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		const struct thrum__finding *finding = findings.findings;

		assert_int_equal(finding->class, THRUM__FINDING_DEADLOCK);
		assert_int_equal(finding->certainty, THRUM__POSSIBLE);
		assert_int_equal(finding->step_count, 2);
		assert_int_equal(finding->steps[0].task, story_task(model, 10));
		assert_int_equal(finding->steps[1].task, story_task(model, 20));
	}
	story_free(model, &findings);
}

static void each_opens_what_the_other_would_open_next(void **state)
{
	(void)state;
	expect(MAIN TILL SCALE JOINS END, 1);
	expect(MAIN OPENS(1, 10, 11, 1, "open own FIFO reply to read")
			OPENS(2, 20, 21, 2, "open own FIFO request to read") JOINS END,
		1);
}

static void another_may_open_the_other_end(void **state)
{
	(void)state;
	/* Another program, as it may know the name. */
	expect(MAIN OPENS(1, 10, 11, 1, "open FIFO request to write")
			OPENS(2, 20, 21, 2, "open FIFO reply to write") JOINS END,
		0);
	/* A thread that runs, or waits for the outside. */
	expect(MAIN TILL SCALE END, 0);
	expect(MAIN TILL SCALE "3" MS "suspend \"wait for work outside\n" END, 0);
	/* A third one that opens a FIFO. */
	expect(MAIN TILL SCALE OPENS(3, 30, 31, 3, "open own FIFO log to read") JOINS END, 0);
}

static void other_ends_are_no_circle(void **state)
{
	(void)state;
	expect(MAIN TILL JOINS END, 0);
	/* Two writers of one FIFO, and a reader and a writer of two. */
	expect(MAIN TILL OPENS(2, 20, 21, 2, "open own FIFO request to write") JOINS END, 0);
	expect(MAIN TILL OPENS(2, 20, 21, 2, "open own FIFO reply to read") JOINS END, 0);
	/* It is open by now. */
	expect(MAIN TILL SCALE JOINS "4" MS "@2 resume\n4" MS "@2 resolve 20 21\n4" MS
				     "@2 read 20 21\n" END,
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_opens_what_the_other_would_open_next),
		cmocka_unit_test(another_may_open_the_other_end),
		cmocka_unit_test(other_ends_are_no_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
