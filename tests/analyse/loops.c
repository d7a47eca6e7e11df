/* SPDX-License-Identifier: ISC */
/* Threads that run a loop of handles, and are joined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

/* The thread 2 runs a loop with a timer, 10, that ticks each 10 ms, and so many other handles, which
 * have turns, too, and names that begin with a letter from `name` to `last`. At 100 ms so many of these
 * are closed, and main joins the thread. Expects the timer to be told of, or (is_left is false) no
 * finding. */
static void expect_named(char name, char last, int handles, int closed, bool is_left)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	char lines[16000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 thread\n0 label 2 \"service\n"
		"0 create 1 10 timer\n0 label 10 \"flush\n0 @1 create - 3 thread\n0 @1 switch 2\n");

	for (int id = 11; id < 11 + handles; id++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"1" MS "create 1 %d handle\n1" MS "label %d \"%chandle\n2" MS
			"@1 switch %d\n2" MS "@1 switch 2\n",
			id, id, name < last ? name++ : last, id);
	used += (size_t)snprintf(lines + used, sizeof lines - used,
		"90" MS "should-resolve 2\n90" MS "wait 1 2\n90" MS "suspend \"blocked\n");
	for (int i = 0; i < closed; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"100" MS "@1 switch %d\n100" MS "@1 resolve %d %d\n100" MS "@1 switch 2\n",
			11 + i, 11 + i, 11 + i);
	for (int ms = 110; ms < 1500; ms += 10)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%d" MS "@1 switch 10\n%d" MS "@1 switch 2\n%d" MS
			"@1 suspend \"wait for work\n%d" MS "@1 resume\n",
			ms, ms, ms, ms + 9);
	snprintf(lines + used, sizeof lines - used, "1500" MS "@1 suspend \"wait for work\n");
	model = story_model(lines, false);
	assert_int_equal(thrum__why_make(model, &findings), 0);
	assert_int_equal(findings.count, is_left);
	if (is_left) {
		assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
		assert_int_equal(findings.findings[0].steps[0].kind, THRUM__STEP_LEFT_OPEN);
		assert_int_equal(findings.findings[0].steps[0].task, story_task(model, 10));
		assert_int_equal(findings.findings[0].steps[0].other, story_task(model, 2));
	}
	thrum__why_free(&findings);
	thrum__model_destroy(model);
}

static void expect(int handles, int closed, bool is_left)
{
	expect_named('a', 'z', handles, closed, is_left);
}

static void a_handle_is_left_open(void **state)
{
	(void)state;
	expect(3, 3, true);
	/* The loop serves another one, too. */
	expect(4, 3, false);
	/* One may be closed at any time. */
	expect(1, 1, false);
}

static void a_loop_may_go_on(void **state)
{
	(void)state;
	/* Connections that are alike come and go. */
	expect_named('a', 'a', 3, 3, false);
	expect(3, 0, false);
	expect(0, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_handle_is_left_open),
		cmocka_unit_test(a_loop_may_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
