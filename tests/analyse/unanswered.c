/* SPDX-License-Identifier: ISC */
/* Turns of a thread that leave out the signal which it gives in one place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "read/read.h"
#include "story.h"

#define MS "000000 "

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	static const struct thrum_trace_site place = {"a.c", "reply", 1};

	(void)trace;
	return number == 1 ? &place : NULL;
}

/* All signals of what was told are given in one place. */
static struct thrum__model *make_model(void)
{
	static const struct thrum__read_format format = {.site = get_site};
	static const struct thrum_trace trace = {.format = &format};
	struct thrum__model *m;
	struct story story;

	story_init(&story, story_told());
	assert_int_equal(thrum__model_create(NULL, &m), 0);
	for (size_t i = 0; i < story.count; i++) {
		story.events[i].site = story.events[i].type == THRUM_EVENT_SIGNAL;
		assert_int_equal(thrum__model_append_from(m, &trace, &story.events[i], 1), 0);
	}
	story_finish(&story);
	return m;
}

/* Main sends a question over the stream 3 to the thread 2, which signals the condition of who waits for the
 * answer: 14 of the thread 4, or 15 of the thread 5. */
static void ask(int ms, bool is_read, int answers)
{
	story_tell("%d" MS "@1 wait 2 3\n%d" MS "signal 1 3 =1\n", ms, ms);
	if (is_read)
		story_tell("%d" MS "@1 read 2 3\n", ms);
	if (answers > 0)
		story_tell("%d" MS "@%d wait %d %d\n%d" MS "@1 signal 2 %d =1\n%d" MS
			   "@%d read %d %d\n",
			ms, answers - 12, answers - 10, answers, ms, answers, ms, answers - 12,
			answers - 10, answers);
}

/* So many questions are answered; the last one of thread 4 isn't. */
static void tell(int answered, bool is_read, int answers)
{
	story_begin();
	story_tell("0 create - 1 thread\n0 switch 1\n0 create 1 3 stream\n0 label 3 \"socket\n"
		   "0 create 1 14 condition\n0 label 14 \"slot 1\n"
		   "0 create 1 15 condition\n0 label 15 \"slot 2\n"
		   "0 @1 create 1 2 thread\n0 @1 label 2 \"io\n0 @1 switch 2\n"
		   "0 @2 create 1 4 thread\n0 @2 label 4 \"asker one\n0 @2 switch 4\n"
		   "0 @3 create 1 5 thread\n0 @3 label 5 \"asker two\n0 @3 switch 5\n");
	for (int i = 0; i < answered; i++)
		ask(1 + i, true, 14 + i % 2);
	story_tell("40" MS "@2 wait 4 14\n40" MS "@2 suspend \"blocked\n");
	ask(41, is_read, answers);
	story_tell("42" MS "@1 wait 2 3\n42" MS "@1 suspend \"blocked\n42" MS "should-resolve 4\n"
		   "43" MS "wait 1 4\n43" MS "suspend \"blocked\n900" MS "log - \"end\n");
}

/* Expects that the first step of a finding tells of a turn of the thread 2, or that none does. */
static void expect(bool is_told)
{
	struct thrum__model *model = make_model();
	struct thrum__findings findings;
	unsigned found = 0;

	story_find(model, &findings);
	assert_true(findings.count > 0);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__step *step = &findings.findings[i].steps[0];

		if (step->kind != THRUM__STEP_LEAVES_OUT)
			continue;
		found++;
		assert_int_equal(step->task, story_task(model, 2));
		assert_int_equal(step->time, 41000000);
	}
	assert_int_equal(found, is_told);
	story_free(model, &findings);
}

static void a_turn_without_its_answer_is_told(void **state)
{
	(void)state;
	tell(8, true, 0);
	expect(true);
	/* It answered the other one, didn't get the question, or nobody knows whether each has an answer. */
	tell(8, true, 15);
	expect(false);
	tell(8, false, 0);
	expect(false);
	tell(3, true, 0);
	expect(false);
}

/* ---- Threads that end early --------------------------------------------------------------------- */

/* Three of four threads, or all of them, take the lock 5 in one place when they end. The thread 1 waits for
 * the condition 4 with that lock, which nobody signals. */
static void tell_ends(bool has_early, bool is_elsewhere)
{
	story_begin();
	story_tell(
		"0 create - 1 thread\n0 label 1 \"closer\n0 switch 1\n0 should-resolve 1\n"
		"0 create 1 4 condition\n0 label 4 \"idle\n0 create 1 5 lock\n0 label 5 \"mutex\n");
	for (int t = 0; t < 4; t++)
		story_tell("0 create 1 1%d thread =3\n0 label 1%d \"parser %d\n0 @%d switch 1%d\n"
			   "1" MS "@%d lock 1%d 5 =7\n1" MS "@%d unlock 1%d 5\n",
			t, t, t, t + 1, t, t + 1, t, t + 1, t);
	story_tell("2" MS "lock 1 5 =6\n2" MS "unlock 1 5\n2" MS "wait 1 4\n2" MS
		   "suspend \"blocked\n");
	for (int t = 0; t < 4; t++) {
		if (t > 0 || !has_early)
			story_tell("%d0" MS "@%d lock 1%d 5 =%d\n%d0" MS "@%d unlock 1%d 5\n",
				t + 1, t + 1, t, is_elsewhere ? 20 + t : 8, t + 1, t + 1, t);
		story_tell("%d1" MS "@%d resolve 1%d 1%d\n", t + 1, t + 1, t, t);
	}
	story_tell("900" MS "log - \"end\n");
}

static void expect_early(bool is_told)
{
	struct thrum__findings findings;
	struct thrum__model *model = story_findings(&findings);
	const struct thrum__step *step;

	assert_int_equal(findings.count, 1);
	step = &findings.findings[0].steps[0];
	assert_int_equal(step->kind == THRUM__STEP_SHORT_TURN, is_told);
	if (is_told) {
		assert_int_equal(step->task, story_task(model, 10));
		assert_int_equal(step->more, 3);
	}
	story_free(model, &findings);
}

static void who_ends_without_coming_there_is_told(void **state)
{
	(void)state;
	tell_ends(true, false);
	expect_early(true);
	/* All came there, or each came to another place. */
	tell_ends(false, false);
	expect_early(false);
	tell_ends(true, true);
	expect_early(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_without_its_answer_is_told),
		cmocka_unit_test(who_ends_without_coming_there_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
