/* SPDX-License-Identifier: ISC */
/* Tasks that end without serving an object, as others like them did. */
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
#define PARTS 5

/* An upload, 2, waits for a latch, 3, until the parts, from 10 on, have counted it down. */
struct latch {
	bool is_stream;  /* it is one, and they took something out of it that they put back */
	bool is_marked;  /* the upload should resolve */
	bool waits_last; /* it waits only when all parts have ended */
	int odd;         /* the part that doesn't count; -1: none */
	int pending;     /* the part that doesn't end; -1: none */
	int untaken;     /* the part that took nothing out of the stream; -1: none */
};

static size_t tell_part(char *to, size_t size, const struct latch *latch, int i)
{
	int id = 10 + i;
	size_t used = 0;

	if (latch->is_stream && i != latch->untaken)
		used += (size_t)snprintf(to + used, size - used, "%d" MS "read %d 3\n", id, id);
	if (i != latch->odd)
		used += (size_t)snprintf(to + used, size - used, "%d" MS "signal %d 3 =1\n", id,
			id);
	if (i != latch->pending)
		used += (size_t)snprintf(to + used, size - used, "%d" MS "resolve %d %d\n", id, id,
			id);
	return used;
}

/* Writes the story. The program goes on for a second. */
static void tell(char *to, size_t size, const struct latch *latch)
{
	size_t used = (size_t)snprintf(to, size,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"upload\n%s"
		"0 create 1 3 %s\n0 label 3 \"parts left\n",
		latch->is_marked ? "0 should-resolve 2\n" : "",
		latch->is_stream ? "stream" : "condition");

	for (int i = 0; i < PARTS; i++)
		used += (size_t)snprintf(to + used, size - used,
			"0 create 1 %d fiber\n0 label %d \"part %d\n", 10 + i, 10 + i, i);
	if (!latch->waits_last)
		used += (size_t)snprintf(to + used, size - used, "1" MS "wait 2 3\n");
	for (int i = 0; i < PARTS; i++)
		used += tell_part(to + used, size - used, latch, i);
	if (latch->waits_last)
		used += (size_t)snprintf(to + used, size - used, "30" MS "wait 2 3\n");
	for (int i = 4; i < 100; i++)
		used += (size_t)snprintf(to + used, size - used, "%d" MS "log 1 \"beat\n", 10 * i);
}

/* Expects a finding whose first step blames a part, or (part -1) doesn't blame any. count: of findings. */
static void expect(const struct latch *latch, uint32_t count, int part)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	char lines[8000];

	tell(lines, sizeof lines, latch);
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__step *step = &findings.findings[i].steps[0];

		assert_int_equal(step->kind == THRUM__STEP_ENDS_UNSERVED, part >= 0);
		if (part >= 0) {
			assert_int_equal(step->task, story_task(model, 10 + (uint64_t)part));
			assert_int_equal(step->other, story_task(model, 3));
			assert_int_equal(findings.findings[i].certainty,
				latch->is_marked ? THRUM__LIKELY : THRUM__POSSIBLE);
		}
	}
	story_free(model, &findings);
}

static void who_returns_early_is_to_blame(void **state)
{
	struct latch latch = {.is_marked = true, .odd = 2, .pending = -1, .untaken = -1};

	(void)state;
	expect(&latch, 1, 2);
	/* All served it. */
	latch.odd = -1;
	expect(&latch, 1, -1);
	/* One that may still count is left. */
	latch.odd = latch.pending = 4;
	expect(&latch, 1, -1);
}

static void it_is_evidence(void **state)
{
	struct latch latch = {.odd = 2, .pending = -1, .untaken = -1};

	(void)state;
	expect(&latch, 1, 2);
	latch.odd = -1;
	expect(&latch, 0, -1);
	/* It waits for others that come later. */
	latch.odd = 2;
	latch.waits_last = true;
	expect(&latch, 0, -1);
}

static void who_took_nothing_owes_nothing(void **state)
{
	struct latch latch = {.is_marked = true,
		.is_stream = true,
		.odd = 1,
		.pending = -1,
		.untaken = -1};

	(void)state;
	expect(&latch, 1, 1);
	latch.untaken = 1;
	expect(&latch, 1, -1);
}

/* A request, 2, waits for the condition 3 from 50 ms on. So many tasks signalled it and ended before. Then
 * so many end without that, and another one may be pending. Expects so many to be blamed. */
static void expect_series(unsigned served, unsigned ended, bool is_pending, unsigned blamed)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;
	char lines[8000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 create 1 2 task\n0 label 2 \"request\n"
		"0 should-resolve 2\n0 create 1 3 condition\n0 label 3 \"taken\n");

	for (unsigned i = 0; i < served + ended + is_pending; i++) {
		unsigned id = 10 + i, ms = 10 + i + (i < served ? 0 : 50);

		if (i == served)
			used += (size_t)snprintf(lines + used, sizeof lines - used,
				"50" MS "wait 2 3\n");
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%u" MS "create 1 %u task\n%u" MS "label %u \"snapshot %u\n", ms, id, ms,
			id, i);
		if (i < served)
			used += (size_t)snprintf(lines + used, sizeof lines - used,
				"%u" MS "signal %u 3 =1\n", ms, id);
		if (i < served + ended)
			used += (size_t)snprintf(lines + used, sizeof lines - used,
				"%u" MS "resolve %u %u\n", ms, id, id);
	}
	snprintf(lines + used, sizeof lines - used, "990" MS "log 1 \"end\n");
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	step = &findings.findings[0].steps[0];
	assert_int_equal(step->kind == THRUM__STEP_ENDS_UNSERVED, blamed > 0);
	if (blamed > 0)
		assert_int_equal(step->task, story_task(model, 10 + served));
	if (blamed > 2)
		assert_int_equal(step[1].more, blamed - 2);
	story_free(model, &findings);
}

static void all_that_end_since_the_wait_may_be_to_blame(void **state)
{
	(void)state;
	expect_series(3, 5, false, 5);
	expect_series(3, 2, true, 2);
	expect_series(3, 1, false, 1);
	/* The next one may do it. */
	expect_series(3, 1, true, 0);
	/* One is no habit. */
	expect_series(1, 3, false, 0);
}

/* Four fibers, from 10 on, signal an object, 3, and the second one ends. Then a request, 2, waits for it
 * again after each signal of so many of the others. Expects the one that ended to be blamed or not. */
static void expect_voice(const char *kind, int voices, bool is_blamed)
{
	struct thrum__findings findings;
	struct thrum__model *model;
	const struct thrum__step *step;
	char lines[4000];
	size_t used = (size_t)snprintf(lines, sizeof lines,
		"0 create - 1 thread\n0 switch 1\n0 create 1 3 %s\n0 label 3 \"all have seen\n",
		kind);

	for (int id = 10; id < 14; id++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"0 create 1 %d fiber\n0 label %d \"worker %d\n%d" MS "signal %d 3 =1\n", id,
			id, id, id, id);
	used += (size_t)snprintf(lines + used, sizeof lines - used,
		"20" MS "resolve 11 11\n50" MS "create 1 2 task\n50" MS "label 2 \"reload\n50" MS
		"should-resolve 2\n50" MS "wait 2 3\n");
	for (int i = 0; i < voices; i++)
		used += (size_t)snprintf(lines + used, sizeof lines - used,
			"%d" MS "signal %d 3 =1\n%d" MS "read 2 3\n%d" MS "wait 2 3\n", 60 + i,
			i ? 11 + i : 10, 60 + i, 60 + i);
	snprintf(lines + used, sizeof lines - used, "990" MS "log 1 \"end\n");
	model = story_model(lines, false);
	story_find(model, &findings);
	assert_int_equal(findings.count, 1);
	step = &findings.findings[0].steps[0];
	assert_int_equal(step->kind == THRUM__STEP_SERVER_ENDED, is_blamed);
	if (is_blamed) {
		assert_int_equal(step->task, story_task(model, 11));
		assert_int_equal(step->more, 2);
	}
	story_free(model, &findings);
}

static void who_ended_may_have_a_voice(void **state)
{
	(void)state;
	expect_voice("condition", 3, true);
	expect_voice("mailbox", 3, true);
	/* Another one may be the one that is missing. */
	expect_voice("condition", 2, false);
	expect_voice("mailbox", 2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_returns_early_is_to_blame),
		cmocka_unit_test(it_is_evidence),
		cmocka_unit_test(who_took_nothing_owes_nothing),
		cmocka_unit_test(all_that_end_since_the_wait_may_be_to_blame),
		cmocka_unit_test(who_ended_may_have_a_voice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
