/* SPDX-License-Identifier: ISC */
/* Semaphores for which tasks queue: one batch may be meant, others that keep coming are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "story.h"
#include "words/words.h"

#define ROUNDS 40
#define WAITERS 6

/* How a story's tasks share two places. */
struct sharing {
	const char *holder, *waiter; /* labels */
	bool is_batch;               /* all come at once */
	unsigned places;             /* that the holders take at a time */
};

static size_t add(char *lines, size_t at, size_t size, const char *format, unsigned ms,
	unsigned task, const char *label)
{
	int length = snprintf(lines + at, size - at, format, ms, task, label);

	assert_true(length > 0 && at + (size_t)length < size);
	return at + (size_t)length;
}

/* Every 30 ms two tasks hold the places for 28 ms, then one that waits does for 1 ms. */
static const char *story_of(const struct sharing *sharing)
{
	static char lines[1 << 17];
	size_t at = 0, size = sizeof lines;

	at = add(lines, at, size,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 semaphore\n0 label 2 \"places\n", 0,
		0, "");
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned ms = 1 + 30 * i, holders = 10 + 100 * i;

		for (unsigned k = 0; k < sharing->places; k++)
			at = add(lines, at, size,
				"%1$u000000 create 1 %2$u fiber\n%1$u000000 label %2$u \"%3$s\n"
				"%1$u000000 lock %2$u 2\n",
				ms, holders + k, sharing->holder);
		for (unsigned k = 0; k < (i == 0 ? sharing->is_batch ? ROUNDS : WAITERS
							 : sharing->is_batch ? 0
									     : 1);
			k++)
			at = add(lines, at, size,
				"%1$u000000 create 1 %2$u fiber\n%1$u000000 label %2$u \"%3$s\n"
				"%1$u000000 wait %2$u 2\n",
				ms, 10000 + (i == 0 ? k : WAITERS + i), sharing->waiter);
		for (unsigned k = 0; k < sharing->places; k++)
			at = add(lines, at, size,
				"%1$u000000 unlock %2$u 2\n%1$u000000 resolve %2$u %2$u\n", ms + 28,
				holders + k, "");
		at = add(lines, at, size,
			"%1$u000000 lock %2$u 2\n%1$u500000 unlock %2$u 2\n%1$u500000 resolve %2$u %2$u\n",
			ms + 28, 10000 + (i < WAITERS || sharing->is_batch ? i : i + 1), "");
	}
	return lines;
}

static uint32_t contended(const struct sharing *sharing, char task[32])
{
	struct thrum__model *model = story_model(story_of(sharing), false);
	struct thrum__findings findings;
	uint32_t count = 0;

	story_find(model, &findings);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];

		if (finding->class != THRUM__FINDING_CONTENDED)
			continue;
		count++;
		assert_int_equal(finding->steps[0].kind, THRUM__STEP_HELD_MOST);
		snprintf(task, 32, "%s",
			thrum__model_task_name(model, finding->steps[0].task, NULL));
	}
	story_free(model, &findings);
	return count;
}

static void others_keep_coming(void **state)
{
	char task[32] = "";

	assert_int_equal(contended(&(struct sharing){"report", "page", false, 2}, task), 1);
	assert_string_equal(task, "report");
}

static void one_batch_is_meant(void **state)
{
	char task[32];

	assert_int_equal(contended(&(struct sharing){"report", "page", true, 2}, task), 0);
}

static void they_wait_for_each_other(void **state)
{
	char task[32];

	assert_int_equal(contended(&(struct sharing){"page", "page", false, 2}, task), 0);
}

/* Adds a task's turn: it takes the lock at a time and keeps it for so long. */
static size_t add_turn(char *lines, size_t at, size_t size, unsigned ms, unsigned task,
	unsigned held)
{
	at = add(lines, at, size, "%1$u000000 lock %2$u 2\n", ms, task, "");
	return add(lines, at, size, "%1$u000000 unlock %2$u 2\n%1$u000000 resolve %2$u %2$u\n",
		ms + held, task, "");
}

/* Fifteen tasks come at once and hold the lock for 50 ms each. While the last one waits no hold is
 * longer, but the next six come, and the first of these holds it for 400 ms. */
static void the_hold_is_in_the_wait(void **state)
{
	static const char COMES[] = "%1$u000000 create 1 %2$u fiber\n"
				    "%1$u000000 label %2$u \"query\n%1$u000000 wait %2$u 2\n";
	static char lines[1 << 14];
	size_t size = sizeof lines,
	       at = add(lines, 0, size, "0 create - 1 thread\n0 switch 1\n0 create 1 2 lock\n", 0,
		       0, "");
	struct thrum__model *model;
	struct thrum__findings findings;
	const struct thrum__step *steps;

	for (unsigned i = 0; i < 15; i++)
		at = add(lines, at, size, COMES, 1, 10 + i, "");
	for (unsigned i = 0; i < 14; i++)
		at = add_turn(lines, at, size, 1 + 50 * i, 10 + i, 50);
	at = add(lines, at, size, "%1$u000000 lock %2$u 2\n", 701, 24, "");
	for (unsigned i = 0; i < 6; i++)
		at = add(lines, at, size, COMES, 702, 30 + i, "");
	at = add(lines, at, size, "%1$u000000 unlock %2$u 2\n%1$u000000 resolve %2$u %2$u\n", 751,
		24, "");
	at = add_turn(lines, at, size, 751, 30, 400);
	for (unsigned i = 1; i < 6; i++)
		at = add_turn(lines, at, size, 1101 + 50 * i, 30 + i, 50);

	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_CONTENDED);
	steps = findings.findings[0].steps;
	assert_int_equal(steps[1].until - steps[1].time, 700000000);
	assert_int_equal(steps[0].until - steps[0].time, 50000000);
	assert_true(steps[0].time >= steps[1].time && steps[0].until <= steps[1].until);
	story_free(model, &findings);
}

/* Six tasks come while one keeps the lock for 1,500 ms, once. Then each has it for 1 ms. */
static void one_keeps_it_once(void **state)
{
	static char lines[1 << 14];
	size_t size = sizeof lines,
	       at = add(lines, 0, size,
		       "0 create - 1 thread\n0 switch 1\n0 create 1 2 lock\n"
		       "0 create 1 10 fiber\n1000000 lock 10 2\n",
		       0, 0, "");
	struct thrum__model *model;
	struct thrum__findings findings;

	(void)state;
	for (unsigned i = 1; i < 7; i++)
		at = add(lines, at, size,
			"%1$u000000 create 1 %2$u fiber\n%1$u000000 wait %2$u 2\n", 1 + i, 10 + i,
			"");
	at = add(lines, at, size, "%1$u000000 unlock %2$u 2\n%1$u000000 resolve %2$u %2$u\n", 1501,
		10, "");
	for (unsigned i = 1; i < 7; i++)
		at = add_turn(lines, at, size, 1500 + i, 10 + i, 1);
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 0);
	story_free(model, &findings);
}

/* Adds a task that comes for a lock, 2 or 3. */
static size_t add_comer(char *lines, size_t at, size_t size, unsigned ms, unsigned task,
	const char *lock)
{
	return add(lines, at, size, "%1$u000000 create 1 %2$u fiber\n%1$u000000 wait %2$u %3$s\n",
		ms, task, lock);
}

/* Adds the end of a task's turn, and the beginning of the next one's. */
static size_t add_change(char *lines, size_t at, size_t size, unsigned ms, unsigned task,
	const char *lock)
{
	at = add(lines, at, size, "%1$u000000 unlock %2$u %3$s\n%1$u000000 resolve %2$u %2$u\n", ms,
		task, lock);
	return add(lines, at, size, "%1$u000000 lock %2$u %3$s\n", ms, task + 1, lock);
}

/* Two locks of the same label: one finding tells of the one with the longer waits. */
static void locks_alike(void **state)
{
	static char lines[1 << 15];
	const size_t size = sizeof lines;
	size_t at = add(lines, 0, size,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 lock\n0 label 2 \"database\n"
		"0 create 1 3 lock\n0 label 3 \"database\n",
		0, 0, "");
	struct thrum__model *model;
	struct thrum__findings findings;
	char words[200];

	for (unsigned i = 0; i < 8; i++) {
		at = i < 6 ? add_comer(lines, at, size, 1, 100 + i, "2") : at;
		at = add_comer(lines, at, size, 1, 200 + i, "3");
	}
	at = add(lines, at, size, "1000000 lock 100 2\n1000000 lock 200 3\n", 0, 0, "");
	for (unsigned i = 0; i < 60; i++) {
		at = add_change(lines, at, size, 30 + 30 * i, 100 + i, "2");
		at = add_comer(lines, at, size, 30 + 30 * i, 106 + i, "2");
		at = add_change(lines, at, size, 30 + 30 * i, 200 + i, "3");
		at = add_comer(lines, at, size, 30 + 30 * i, 208 + i, "3");
	}
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.findings[0].class, THRUM__FINDING_CONTENDED);
	/* No wait is long. */
	assert_int_equal(findings.findings[0].certainty, THRUM__POSSIBLE);
	assert_int_equal(findings.findings[0].alike, 1);
	assert_int_equal(findings.findings[0].task, thrum__model_find(model, 3));
	thrum__words_finding(model, &findings.findings[0], words, sizeof words);
	assert_string_equal(words,
		"“database” is contended, and 1 like it: tasks queue for them all the time");
	story_free(model, &findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_keep_coming),
		cmocka_unit_test(one_batch_is_meant),
		cmocka_unit_test(they_wait_for_each_other),
		cmocka_unit_test(the_hold_is_in_the_wait),
		cmocka_unit_test(one_keeps_it_once),
		cmocka_unit_test(locks_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
