/* SPDX-License-Identifier: ISC */
/* A thread is woken again and again, and needs the one of those that should wake it which doesn't. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"

#define MS "000000 " /* behind a number: makes ns of ms */
#define STEP 40
#define FIRST 50
#define LAST (FIRST + 49 * STEP) /* from that time on the updater waits, for now */

static int sleeps[2]; /* the timer for which each of two readers waits */

/* The readers 10 to 12, made at one place, and the updater 13. The condition 3 is for those who moved, 4 for
 * reports. Reader 12 waits for a report. */
static void begin(int signals_before)
{
	sleeps[0] = sleeps[1] = 0;
	story_begin();
	story_tell("0 create - 1 thread\n0 label 1 \"main\n0 switch 1\n0 create 1 3 condition\n"
		   "0 label 3 \"moved\n0 create 1 4 condition\n0 label 4 \"report\n"
		   "0 create 1 5 lock\n0 label 5 \"epoch\n");
	for (int i = 0; i < 4; i++)
		story_tell("0 create 1 %d thread =%d\n0 label %d \"%s %d\n0 @%d switch %d\n",
			10 + i, i < 3 ? 6 : 7, 10 + i, i < 3 ? "reader" : "updater", i, 1 + i,
			10 + i);
	story_tell("1" MS "should-resolve 13\n1" MS "wait 1 13\n1" MS "suspend \"blocked\n");
	for (int i = 0; i < signals_before; i++)
		story_tell("%d" MS "@3 signal 12 3 =0\n", 2 + i);
	story_tell("40" MS "@3 wait 12 4\n40" MS "@3 suspend \"blocked\n");
}

/* A reader wakes up from its sleep, moves, and sleeps again. */
static void move(int reader, int at)
{
	int lane = reader - 9, *sleep = &sleeps[reader - 10];

	if (*sleep)
		story_tell("%d" MS "@%d resume \"blocked for a time\n%d" MS
			   "@%d resolve %d %d\n%d" MS "@%d read %d %d\n",
			at, lane, at, lane, reader, *sleep, at, lane, reader, *sleep);
	*sleep = 1000 + at;
	story_tell("%d" MS "@%d signal %d 3 =1\n%d" MS "@%d create %d %d timer\n%d" MS
		   "@%d due %d =500000000\n%d" MS "@%d wait %d %d\n%d" MS
		   "@%d suspend \"blocked for a time\n",
		at, lane, reader, at, lane, reader, *sleep, at, lane, *sleep, at, lane, reader,
		*sleep, at, lane);
}

/* The updater waits again and again, with its lock; `between` comes after each time. */
static void look(int from, int to, int step, const char *between)
{
	for (int at = from; at < to; at += step) {
		story_tell("%d" MS "@4 wait 13 3\n%d" MS "@4 suspend \"blocked\n", at, at);
		move(10 + at / step % 2, at + 1);
		story_tell("%d" MS "@4 resume \"blocked\n%d" MS "@4 read 13 3\n%d" MS
			   "@4 lock 13 5\n%d" MS "@4 unlock 13 5\n",
			at + 1, at + 1, at + 1, at + 1);
		if (*between)
			story_tell("%d" MS "@4 %s\n", at + 1, between);
	}
	story_tell("%d" MS "@4 wait 13 3\n%d" MS "@4 suspend \"blocked\n", to, to);
}

static void expect(int ending, uint32_t count)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_model(story_told(), false);
	const struct thrum__finding *finding;

	model->ending = (uint8_t)ending;
	model->ending_code = 9;
	model->end = INT64_C(1000000) * LAST + 50000;
	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	if (count > 0) {
		finding = findings.findings;
		assert_int_equal(finding->class, THRUM__FINDING_NEVER_RESOLVED);
		assert_int_equal(finding->task, story_task(model, 13));
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_WAITS_FOR);
		assert_int_equal(finding->steps[0].task, story_task(model, 12));
		assert_int_equal(finding->steps[0].other, story_task(model, 4));
		assert_int_equal(finding->steps[1].kind, THRUM__STEP_MISSES_ROUND);
		assert_int_equal(finding->steps[2].task, story_task(model, 13));
	}
	story_free(model, &findings);
}

static void one_reader_moves_no_more(void **state)
{
	(void)state;
	begin(0);
	look(FIRST, LAST, STEP, "");
	expect(THRUM_ENDING_KILLED, 1);
	/* It moved before. */
	begin(5);
	look(FIRST, LAST, STEP, "");
	expect(THRUM_ENDING_KILLED, 1);
}

static void who_gets_what_it_looks_for_goes_on(void **state)
{
	(void)state;
	/* It has just begun to look, or it looks seldom. */
	begin(0);
	look(LAST - 15 * STEP, LAST, STEP, "");
	expect(THRUM_ENDING_KILLED, 0);
	begin(0);
	look(FIRST, LAST, 7 * STEP, "");
	expect(THRUM_ENDING_KILLED, 0);
	/* It takes the lock once more, or does something else. */
	begin(0);
	look(FIRST, LAST, STEP, "lock 13 5");
	expect(THRUM_ENDING_KILLED, 0);
	begin(0);
	look(FIRST, LAST, STEP, "signal 13 4 =1");
	expect(THRUM_ENDING_KILLED, 0);
	/* Nobody says that it hangs. */
	begin(0);
	look(FIRST, LAST, STEP, "");
	expect(THRUM_ENDING_RUNNING, 0);
}

static void somebody_else_may_help(void **state)
{
	(void)state;
	/* A reader has signalled what the third one waits for. */
	begin(0);
	story_tell("45" MS "@1 signal 10 4 =0\n");
	look(FIRST, LAST, STEP, "");
	expect(THRUM_ENDING_KILLED, 0);
	/* The third one moves now and then; or it is none of the readers that does. */
	begin(0);
	look(FIRST, FIRST + 20 * STEP, STEP, "");
	story_tell("%d" MS "@3 signal 12 3 =1\n%d" MS "@3 wait 12 4\n", FIRST + 20 * STEP + 2,
		FIRST + 20 * STEP + 2);
	look(FIRST + 21 * STEP, LAST, STEP, "");
	expect(THRUM_ENDING_KILLED, 0);
	begin(0);
	story_tell("45" MS "create 1 20 task\n");
	look(FIRST, LAST, STEP, "");
	story_tell("%d" MS "signal 20 3 =1\n", LAST);
	expect(THRUM_ENDING_KILLED, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_reader_moves_no_more),
		cmocka_unit_test(who_gets_what_it_looks_for_goes_on),
		cmocka_unit_test(somebody_else_may_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
