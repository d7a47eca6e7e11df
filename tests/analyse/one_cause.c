/* SPDX-License-Identifier: ISC */
/* Several that hang for one cause are one finding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */

static void begin(void)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n");
}

/* Expects so many findings, of which the first tells of so many more tasks, and causes like it among them. */
static void expect(uint32_t count, uint32_t behind, uint32_t alike, bool is_joined)
{
	struct thrum__findings findings;
	struct thrum__model *model;

	story_tell("900" MS "log 1 \"end\n");
	model = story_model(story_told(), false);
	model->is_joined = is_joined;
	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	assert_int_equal(findings.findings[0].behind, behind);
	assert_int_equal(findings.findings[0].alike, alike);
	story_free(model, &findings);
}

/* A reply that never comes, and a task of another name that waits for it. */
static void tell_reply(const char *reply, int task, const char *waiter)
{
	story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"%s %d\n", task, task, task,
		task, reply, task);
	story_tell("%d" MS "should-resolve %d\n", task, task);
	story_tell("%d" MS "create 1 %d promise\n%d" MS "label %d \"%s\n", task, task + 1, task,
		task + 1, waiter);
	story_tell("%d" MS "should-resolve %d\n%d" MS "wait %d %d\n", task, task + 1, task,
		task + 1, task);
}

static void replies_that_are_alike(void **state)
{
	(void)state;
	begin();
	tell_reply("reply", 10, "order");
	tell_reply("reply", 20, "invoice");
	expect(1, 2, 1, false);
	begin();
	tell_reply("reply", 10, "order");
	tell_reply("parcel", 20, "invoice");
	expect(2, 0, 0, false);
}

/* A process, a lane of its own, waits for a token that a child has kept; both have other numbers in each. */
static void tell_process(int lane, const char *child)
{
	int task = 10 * lane;

	story_tell("%d" MS "@%d create - %d thread\n", lane, lane, task);
	story_tell("%d" MS "@%d create %d %d lock\n%d" MS "@%d label %d \"tokens\n", lane, lane,
		task, task + 1, lane, lane, task + 1);
	story_tell("%d" MS "@%d create %d %d task\n%d" MS "@%d label %d \"%s\n", lane, lane, task,
		task + 2, lane, lane, task + 2, child);
	story_tell("%d" MS "@%d create %d %d task\n%d" MS "@%d should-resolve %d\n", lane, lane,
		task, task + 3, lane, lane, task + 3);
	story_tell("%d" MS "@%d label %d \"serve %c\n", lane, lane, task + 3, 'a' + lane);
	story_tell("5" MS "@%d lock %d %d\n6" MS "@%d resolve %d %d\n", lane, task + 2, task + 1,
		lane, task + 2, task + 2);
	story_tell("%d" MS "@%d wait %d %d\n", lane + 6, lane, task + 3, task + 1);
}

static void processes_that_tell_of_one_child(void **state)
{
	(void)state;
	for (int is_joined = 0; is_joined < 2; is_joined++) {
		begin();
		tell_process(1, "child 17");
		tell_process(2, "child 17");
		expect(is_joined ? 1 : 2, is_joined, 0, is_joined);
	}
	/* Another child. */
	begin();
	tell_process(1, "child 17");
	tell_process(2, "other child");
	expect(2, 0, 0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_that_are_alike),
		cmocka_unit_test(processes_that_tell_of_one_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
