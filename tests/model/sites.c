/* SPDX-License-Identifier: ISC */
/* Places in the program: those of waits, locks and signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model_helper.h"
#include "read/read.h"

#define SITES 8 /* those below have a place, except 0 */

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	static const struct thrum_trace_site sites[SITES] = {{"", "", 0}, {"a.c", "signal_here", 1},
		{"a.c", "signal_there", 2}, {"a.c", "take", 3}, {"a.c", "take", 3},
		{"a.c", "take", 4}, {"lib.so", "lib_take", 0}, {"lib.so", "lib_take", 0}};

	return number > 0 && number < SITES ? &sites[number] : NULL;
}

static const struct thrum_trace_lane *get_lane(const struct thrum_trace *trace, unsigned lane)
{
	return NULL;
}

static const struct thrum__read_format format = {.site = get_site, .lane = get_lane};
static const struct thrum_trace trace = {.format = &format};

/* Task 1 acts on the condition 2. */
#define ACT(kind, when, place, ...) \
	EVENT(kind, when, .task = 1, .other = 2, .site = (place), \
		.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER | THRUM_EVENT_HAS_VALUE, \
		__VA_ARGS__)

/* Makes a model of these events, after those that make both tasks. */
static struct thrum__model *model_at(const struct thrum_event *events, size_t count)
{
	struct thrum__model *m = MODEL(false, EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_THREAD),
		EVENT(CREATE, 0, PAIR(1, 2), .kind = THRUM_KIND_CONDITION),
		EVENT(SWITCH, 0, TASK(1)));

	for (size_t i = 0; i < count; i++) {
		struct thrum_event event = events[i];

		event.text = "";
		assert_int_equal(thrum__model_append_from(m, &trace, &event, 1), 0);
	}
	assert_int_equal(m->edges.count, count);
	return m;
}
#define MODEL_AT(...) \
	model_at((const struct thrum_event[]){__VA_ARGS__}, \
		sizeof((const struct thrum_event[]){__VA_ARGS__}) / sizeof(struct thrum_event))

static void assert_at(const struct thrum__model *m, uint32_t edge, const char *function)
{
	const struct thrum_trace_site *site = thrum__model_edge_site(m, edge);

	if (!function)
		assert_null(site);
	else
		assert_string_equal(site ? site->function : "nowhere", function);
}

static void signals_keep_places_and_waiters(void **state)
{
	struct thrum__model *m = MODEL_AT(ACT(SIGNAL, 1, 1, .value = 0),
		ACT(SIGNAL, 2, 2, .value = 0), ACT(SIGNAL, 3, 1, .value = 3),
		ACT(SIGNAL, 4, 1, .value = 0), ACT(SIGNAL, 5, 0, .value = 7),
		ACT(SIGNAL, 6, 1, .value = INT64_MAX), ACT(SIGNAL, 7, SITES, .value = 2),
		ACT(SIGNAL, 8, 0, .value = INT64_MIN), ACT(SIGNAL, 9, 2, .value = -5));
	static const struct {
		int waiters;
		const char *function;
	} expected[] = {{0, "signal_here"}, {0, "signal_there"}, {3, "signal_here"},
		{0, "signal_here"}, {7, NULL}, {INT16_MAX, NULL}, {2, NULL}, {-1, NULL},
		{-1, "signal_there"}};

	for (uint32_t i = 0; i < m->edges.count; i++) {
		assert_int_equal(thrum__model_waiters(m, i), expected[i].waiters);
		assert_at(m, i, expected[i].function);
	}
	assert_int_equal(THRUM__EDGE(m, 0, value), THRUM__EDGE(m, 3, value));
	thrum__model_destroy(m);
}

/* A signal without a place has that of its lock. */
static void locks_stand_in_for_signals(void **state)
{
	struct thrum__model *m = MODEL_AT(ACT(WAIT, 1, 2, .value = 0),
		ACT(SIGNAL, 2, 0, .value = 1), ACT(LOCK, 3, 3, .value = 0),
		ACT(SIGNAL, 4, 0, .value = 1), ACT(SIGNAL, 5, 1, .value = 1),
		ACT(SIGNAL, 6, 0, .value = 1));

	assert_at(m, 0, "signal_there");
	assert_at(m, 1, NULL);
	assert_at(m, 2, "take");
	assert_at(m, 3, "take");
	assert_at(m, 4, "signal_here");
	assert_at(m, 5, "take");
	thrum__model_destroy(m);
}

/* Calls in one line of the source are one place; where no lines are known, each is its own. */
static void a_line_is_one_place(void **state)
{
	static const int expected[] = {3, 3, 5, 6, 7};
	struct thrum__model *m = MODEL_AT(ACT(LOCK, 1, 3, .value = 0), ACT(LOCK, 2, 4, .value = 0),
		ACT(LOCK, 3, 5, .value = 0), ACT(LOCK, 4, 6, .value = 0),
		ACT(LOCK, 5, 7, .value = 0));

	for (uint32_t i = 0; i < m->edges.count; i++)
		assert_int_equal(thrum__model_edge_place(m, i), expected[i]);
	assert_at(m, 1, "take");
	thrum__model_destroy(m);
}

/* More pairs of a place and a number than an edge can tell of: then the places are unknown. */
static void many_waiters_leave_the_place_unknown(void **state)
{
	struct thrum__model *m = MODEL_AT(ACT(WAIT, 1, 2, .value = 0));

	for (int i = 0; i <= INT16_MAX + 1; i++) {
		struct thrum_event event = ACT(SIGNAL, 2, i <= INT16_MAX ? 1 : 2,
			.value = i <= INT16_MAX ? INT16_MAX - i : 5);

		event.text = "";
		assert_int_equal(thrum__model_append_from(m, &trace, &event, 1), 0);
	}
	assert_at(m, 1, "signal_here");
	assert_int_equal(thrum__model_waiters(m, 1), INT16_MAX);
	assert_at(m, INT16_MAX, "signal_here");
	assert_int_equal(thrum__model_waiters(m, INT16_MAX), 1);
	assert_at(m, INT16_MAX + 2, NULL);
	assert_int_equal(thrum__model_waiters(m, INT16_MAX + 2), 5);
	thrum__model_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_keep_places_and_waiters),
		cmocka_unit_test(a_line_is_one_place),
		cmocka_unit_test(locks_stand_in_for_signals),
		cmocka_unit_test(many_waiters_leave_the_place_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
