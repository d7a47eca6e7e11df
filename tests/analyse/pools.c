/* SPDX-License-Identifier: ISC */
/* Thread pools that wait for themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
/* A pool of two threads, 2 and 3. The jobs 10 and 11 run, and 12 is queued. They use the condition 20. */
#define POOL \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 @1 create - 2 thread\n" \
	"0 @1 label 2 \"pool 1\n" \
	"0 @2 create - 3 thread\n" \
	"0 @2 label 3 \"pool 2\n" \
	"0 create 1 20 condition\n" \
	"1" MS "create 1 10 request\n" \
	"1" MS "label 10 \"store 1\n" \
	"1" MS "ready 1 10\n" \
	"1" MS "create 1 11 request\n" \
	"1" MS "label 11 \"store 2\n" \
	"1" MS "ready 1 11\n" \
	"1" MS "create 1 12 request\n" \
	"1" MS "label 12 \"load\n" \
	"1" MS "ready 1 12\n" \
	"2" MS "@1 switch 10\n" \
	"3" MS "@1 wait 10 20\n" \
	"3" MS "@1 suspend - \"blocked\n"
#define SECOND \
	"2" MS "@2 switch 11\n" \
	"3" MS "@2 wait 11 20\n" \
	"3" MS "@2 suspend - \"%s\n"
#define END "900" MS "log 1 \"end\n"

/* How many steps of the story's findings say that this task needs a lane. */
static unsigned count_of(const char *lines, uint64_t task)
{
	struct thrum__model *model = story_model(lines, false);
	struct thrum__findings findings;
	unsigned count = 0;

	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		for (unsigned k = 0; k < findings.findings[i].step_count; k++) {
			const struct thrum__step *step = &findings.findings[i].steps[k];

			count += step->kind == THRUM__STEP_NEEDS_LANE &&
				step->task == story_task(model, task);
		}
	story_free(model, &findings);
	return count;
}

static unsigned count_left(const char *lines)
{
	return count_of(lines, 12);
}

static unsigned count_with(const char *reason, const char *more)
{
	char lines[2048];
	int size = snprintf(lines, sizeof lines, POOL SECOND, reason);

	snprintf(lines + size, sizeof lines - (size_t)size, "%s" END, more);
	return count_left(lines);
}

static void a_pool_waits_for_its_queue(void **state)
{
	(void)state;
	assert_int_equal(count_with("blocked", ""), 1);
}

static void a_pool_that_goes_on(void **state)
{
	(void)state;
	assert_int_equal(count_with("blocked for a time", ""), 0);
	/* Somebody outside has signalled the condition before, and may do so again. */
	assert_int_equal(count_with("blocked", "4" MS "signal 1 20 =2\n"), 0);
	/* One thread has nothing to do. */
	assert_int_equal(count_left(POOL END), 0);
	/* Nothing is known of the threads of two lanes. */
	assert_int_equal(count_with("blocked", "5" MS "@5 ready 1 12\n"), 1);
	/* A thread with a name like theirs is free; one of another sort may be. */
	assert_int_equal(count_with("blocked",
				 "5" MS "@5 create - 30 thread\n5" MS "@5 label 30 \"pool 31\n"),
		0);
	assert_int_equal(count_with("blocked",
				 "5" MS "@5 create - 30 thread\n5" MS "@5 label 30 \"clock\n"),
		1);
	/* They are blocked since a moment only. */
	assert_int_equal(count_left(POOL "890" MS "@2 switch 11\n"
					 "890" MS "@2 wait 11 20\n"
					 "890" MS "@2 suspend - \"blocked\n" END),
		0);
}

/* Items of GLib's are all alike. queued: what the second one queues before it waits. */
static unsigned count_items(const char *queued, const char *more)
{
	char lines[2048];

	snprintf(lines, sizeof lines,
		POOL "2" MS "@2 switch 11\n%s"
		     "3" MS "@2 wait 11 20\n3" MS "@2 suspend - \"blocked\n"
		     "4" MS "label 10 \"job 1\n4" MS "label 11 \"job 1\n%s" END,
		queued, more);
	return count_left(lines);
}

#define ITEM "2" MS "@2 ready 11 12\n"
#define THIRD "5" MS "@5 create - 30 thread\n5" MS "@5 label 30 \"pool 31\n5" MS "@5 switch 30\n"

static void a_pool_of_glib(void **state)
{
	(void)state;
	assert_int_equal(count_items("", ""), 0);
	assert_int_equal(count_items(ITEM, ""), 1);
	/* A thread of another pool waits for items; or it goes on. */
	assert_int_equal(count_items(ITEM, THIRD "5" MS "@5 suspend - \"blocked\n"), 1);
	assert_int_equal(count_items(ITEM, THIRD), 0);
}

/* A loop has files opened and read, whose last callback ends a work's wait. Then works that wait so have the
 * pool, and it has another file opened. ender: who ends the first wait; made: when it is opened. */
static unsigned count_files(unsigned ender, unsigned made, const char *more)
{
	char lines[4096];
	int size = snprintf(lines, sizeof lines,
		POOL SECOND "3" MS "label 10 \"work index\n3" MS "label 11 \"work index\n3" MS
			    "label 12 \"work index\n"
			    "4" MS "create 1 30 request\n4" MS "label 30 \"file open a\n"
			    "4" MS "create 1 32 request\n4" MS "label 32 \"connect\n"
			    "5" MS "switch 30\n5" MS "create 30 31 request\n5" MS
			    "label 31 \"file read a\n"
			    "5" MS "resolve 30 30\n6" MS "switch %u\n6" MS "signal %u 20 =1\n"
			    "6" MS "resolve %u %u\n6" MS "switch 1\n"
			    "7" MS "@1 resume -\n7" MS "@1 read 10 20\n7" MS "@1 wait 10 20\n"
			    "7" MS "@1 suspend - \"blocked\n",
		"blocked", ender, ender, ender, ender);

	size += snprintf(lines + size, sizeof lines - (size_t)size,
		"%u" MS "create 1 40 request\n%u" MS "label 40 \"file open a\n%s", made, made,
		more);
	snprintf(lines + size, sizeof lines - (size_t)size, "%s", "3000" MS "log 1 \"end\n");
	return count_of(lines, 40);
}

static void a_file_behind_works(void **state)
{
	(void)state;
	assert_int_equal(count_files(31, 8, ""), 1);
	/* The wait was ended by an answer from outside, which may come again. */
	assert_int_equal(count_files(32, 8, ""), 0);
	/* It was opened a moment ago. */
	assert_int_equal(count_files(31, 2500, ""), 0);
	/* Another thread of the pool is free. */
	assert_int_equal(count_files(31, 8,
				 "9" MS "@5 create - 50 thread\n9" MS "@5 label 50 \"pool 31\n"),
		0);
	/* It is done. */
	assert_int_equal(count_files(31, 8, "9" MS "resolve 40 40\n"), 0);
}

/* The same with works that make an object each: 10 had an earlier one served, by the one that is told. */
static unsigned count_own_files(unsigned ender, const char *condition)
{
	char lines[4096];

	snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 @1 create - 2 thread\n0 @1 label 2 \"pool 1\n"
		"0 create 1 32 request\n0 label 32 \"connect\n"
		"1" MS "create 1 10 request\n1" MS "label 10 \"work index\n1" MS "ready 1 10\n"
		"2" MS "@1 switch 10\n2" MS "@1 create 10 20 condition\n2" MS
		"@1 label 20 \"%s\n3" MS "@1 wait 10 20\n3" MS "@1 suspend - \"blocked\n"
		"4" MS "create 1 31 request\n4" MS "label 31 \"file read a\n"
		"6" MS "switch %u\n6" MS "signal %u 20 =1\n6" MS "resolve %u %u\n6" MS "switch 1\n"
		"7" MS "@1 resume -\n7" MS "@1 read 10 20\n7" MS "@1 resolve 10 10\n"
		"8" MS "create 1 11 request\n8" MS "label 11 \"work index\n8" MS "ready 1 11\n"
		"9" MS "@1 switch 11\n9" MS "@1 create 11 21 condition\n9" MS
		"@1 label 21 \"answer 2\n9" MS "@1 wait 11 21\n9" MS "@1 suspend - \"blocked\n"
		"9" MS "create 1 40 request\n9" MS "label 40 \"file read a\n3000" MS
		"log 1 \"end\n",
		condition, ender, ender, ender, ender);
	return count_of(lines, 40);
}

static void a_file_behind_works_with_objects_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(count_own_files(31, "answer 1"), 1);
	/* The earlier wait was ended by an answer from outside. */
	assert_int_equal(count_own_files(32, "answer 1"), 0);
	/* It was for something else. */
	assert_int_equal(count_own_files(31, "gate"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_waits_for_its_queue),
		cmocka_unit_test(a_pool_that_goes_on),
		cmocka_unit_test(a_pool_of_glib),
		cmocka_unit_test(a_file_behind_works),
		cmocka_unit_test(a_file_behind_works_with_objects_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
