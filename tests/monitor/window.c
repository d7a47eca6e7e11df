/* SPDX-License-Identifier: ISC */
/* Windows know nothing before they are full, then the last stretch of time; paths tell units. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/unit.h"
#include "monitor/window.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

static void a_window_has_to_be_full(void **state)
{
	struct thrum__monitor_window window;

	(void)state;
	thrum__monitor_window_init(&window, SECOND);
	assert_true(isnan(thrum__monitor_window_mean(&window)));
	for (uint64_t t = 0; t < SECOND; t += 50 * MS) {
		thrum__monitor_window_add(&window, t, (double)t);
		assert_true(isnan(thrum__monitor_window_mean(&window)));
		assert_true(isnan(thrum__monitor_window_growth(&window)));
	}
	thrum__monitor_window_add(&window, SECOND, (double)SECOND);
	assert_true(thrum__monitor_window_mean(&window) == 5e8);
	assert_true(thrum__monitor_window_growth(&window) == 1e9);
	thrum__monitor_window_finish(&window);
}

static void old_numbers_are_dropped(void **state)
{
	struct thrum__monitor_window window;
	double growth;

	(void)state;
	thrum__monitor_window_init(&window, 10 * SECOND);
	/* 1 a ms for a minute, then 3 a ms. */
	for (uint64_t t = 0; t <= 80000; t += 7) {
		double number = t < 60000 ? (double)t : 60000 + 3 * ((double)t - 60000);

		thrum__monitor_window_add(&window, t * MS, number);
		if (t >= 10200 && t < 60000)
			assert_true(fabs(thrum__monitor_window_growth(&window) - 1000) < 1);
	}
	growth = thrum__monitor_window_growth(&window);
	assert_true(fabs(growth - 3000) < 1);
	assert_true(window.used <= THRUM__WINDOW_SLOTS);
	thrum__monitor_window_finish(&window);
}

static void rare_looks_are_fine(void **state)
{
	struct thrum__monitor_window window;

	(void)state;
	thrum__monitor_window_init(&window, SECOND);
	thrum__monitor_window_add(&window, 0, 1);
	thrum__monitor_window_add(&window, 100 * SECOND, 101);
	assert_true(thrum__monitor_window_growth(&window) == 1);
	thrum__monitor_window_add(&window, 200 * SECOND, 401);
	assert_true(thrum__monitor_window_growth(&window) == 3);
	thrum__monitor_window_finish(&window);
}

static void observations_are_of_the_window(void **state)
{
	struct thrum__read_bucket buckets[] = {{5, 5, 100}, {1000, 1023, 10}};
	struct thrum__read_counter counter = {.kind = THRUM_COUNTER_DISTRIBUTION,
		.buckets = buckets,
		.bucket_count = 1,
		.count = 100,
		.sum = 500};
	struct thrum__monitor_window_distribution d;
	struct thrum__monitor_window window;

	(void)state;
	thrum__monitor_window_init(&window, SECOND);
	assert_int_equal(thrum__monitor_window_add_distribution(&window, 0, &counter), 0);
	assert_int_equal(thrum__monitor_window_observed(&window, &counter, &d), 0);
	counter.bucket_count = 2;
	counter.count = 110;
	counter.sum = 500 + 10000;
	assert_int_equal(thrum__monitor_window_add_distribution(&window, SECOND, &counter), 0);
	assert_int_equal(thrum__monitor_window_observed(&window, &counter, &d), 1);
	assert_int_equal(d.count, 10);
	assert_true(d.mean == 1000);
	assert_int_equal(d.bucket_count, 1);
	assert_int_equal(d.buckets[0].low, 1000);
	free(d.buckets);
	thrum__monitor_window_finish(&window);
}

static void paths_tell_units(void **state)
{
	static const struct {
		const char *path;
		enum thrum__monitor_unit unit;
		double scale;
		size_t size;
	} all[] = {
		{"latency-us", THRUM__MONITOR_TIME, 1e3, 7},
		{"a/request seconds", THRUM__MONITOR_TIME, 1e9, 9},
		{"a/ms", THRUM__MONITOR_TIME, 1e6, 4},
		{"net/bytes", THRUM__MONITOR_BYTES, 1, 9},
		{"net/bytes_sent", THRUM__MONITOR_PLAIN, 1, 14},
		{"requests", THRUM__MONITOR_PLAIN, 1, 8},
		{"", THRUM__MONITOR_PLAIN, 1, 0},
		{"x/", THRUM__MONITOR_PLAIN, 1, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		double scale;
		size_t size;

		assert_int_equal(thrum__monitor_unit_of(all[i].path, &scale, &size), all[i].unit);
		assert_true(scale == all[i].scale);
		assert_int_equal(size, all[i].size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_has_to_be_full),
		cmocka_unit_test(old_numbers_are_dropped),
		cmocka_unit_test(rare_looks_are_fine),
		cmocka_unit_test(observations_are_of_the_window),
		cmocka_unit_test(paths_tell_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
