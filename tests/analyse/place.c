/* SPDX-License-Identifier: ISC */
/* The place of a step: its own, or the one where a signal is usually given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/why/finding.h"
#include "read/read.h"
#include "story.h"

#define SITES 4

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	static const struct thrum_trace_site sites[SITES] = {{"", "", 0}, {"a.c", "signal", 1},
		{"a.c", "also", 2}, {"a.c", "wait", 3}};

	return number > 0 && number < SITES ? &sites[number] : NULL;
}

/* The tasks 1, 2 and 3, and the condition 4. The first two signal it, and the third one waits for it. */
static struct thrum__model *make_model(void)
{
	static const struct thrum__read_format format = {.site = get_site};
	static const struct thrum_trace trace = {.format = &format};
	static const uint16_t sites[] = {[6] = 1, 1, 2, 0, 3};
	struct thrum__model *m;
	struct story story;

	story_init(&story,
		"0 create - 1 thread\n"
		"0 create - 2 task\n"
		"0 create - 3 task\n"
		"0 create - 4 condition\n"
		"0 create - 5 condition\n"
		"0 switch 1\n"
		"1 signal 1 4 =1\n"
		"2 signal 1 4 =2\n"
		"3 signal 1 5 =1\n"
		"4 signal 1 4 =0\n"
		"5 wait 3 4\n");
	assert_int_equal(story.count, sizeof sites / sizeof *sites);
	assert_int_equal(thrum__model_create(NULL, &m), 0);
	for (size_t i = 0; i < story.count; i++) {
		story.events[i].site = sites[i];
		assert_int_equal(thrum__model_append_from(m, &trace, &story.events[i], 1), 0);
	}
	story_finish(&story);
	return m;
}

static uint32_t place_of(const struct thrum__model *m, int kind, uint64_t task, uint64_t other,
	uint32_t edge)
{
	const struct thrum__step step = {.kind = (uint8_t)kind,
		.task = story_task(m, task),
		.other = story_task(m, other),
		.edge = edge};

	return thrum__why_place(m, &step);
}

static void missing_signals_have_their_usual_place(void **state)
{
	struct thrum__model *m = make_model();
	uint32_t wait = m->edges.count - 1;

	/* The latest signal whose place is known: of the task itself, or of another one. */
	assert_int_equal(place_of(m, THRUM__STEP_SILENT, 1, 4, THRUM__NONE), 1);
	assert_int_equal(place_of(m, THRUM__STEP_SILENT, 1, 5, THRUM__NONE), 2);
	assert_int_equal(place_of(m, THRUM__STEP_LEAVES_OUT, 2, 4, THRUM__NONE), 1);
	assert_int_equal(place_of(m, THRUM__STEP_SKIPS, 2, 5, 3), 2);
	/* A place of its own comes first; other steps have no other one. */
	assert_int_equal(place_of(m, THRUM__STEP_SERVER_ENDED, 1, 4, 0), 0);
	assert_int_equal(place_of(m, THRUM__STEP_WAITS_FOR, 3, 4, wait), wait);
	assert_int_equal(place_of(m, THRUM__STEP_WAITS_FOR, 1, 4, THRUM__NONE), THRUM__NONE);
	/* Nobody signals this one. */
	assert_int_equal(place_of(m, THRUM__STEP_SILENT, 1, 3, THRUM__NONE), THRUM__NONE);
	thrum__model_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(missing_signals_have_their_usual_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
