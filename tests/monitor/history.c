/* SPDX-License-Identifier: ISC */
/* The history of counters tells what a list of all looks tells, as long as it reaches back; its
 * bytes make the same history again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/counters.h"
#include "monitor/history.h"

#define SECOND UINT64_C(1000000000)
#define NOON UINT64_C(1700006400) /* a multiple of an hour */
#define LOOKS 200000u

static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static struct thrum__read_counter counter_of(const char *path, uint8_t kind, int64_t value)
{
	return (struct thrum__read_counter){.path = path,
		.name = path,
		.kind = kind,
		.is_counter = true,
		.value = value};
}

static void add(struct thrum__monitor_history *history, struct thrum__read_counter *items,
	uint32_t count, uint64_t time, uint64_t elapsed)
{
	struct thrum__read_counters counters = {.items = items, .count = count};

	assert_int_equal(thrum__monitor_history_add(history, &counters, time, elapsed), 0);
}

static struct thrum__monitor_history_answer ask(const struct thrum__monitor_history *history,
	uint32_t series, uint64_t from, uint64_t to)
{
	struct thrum__monitor_history_answer answer;

	thrum__monitor_history_ask(history->series[series], from, to, &answer);
	return answer;
}

/* ---- Brute force ----------------------------------------------------------------------------- */

struct look {
	uint64_t time, elapsed;
	int64_t gauge, total;
};

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

static void compare(const struct thrum__monitor_history *history, const struct look *looks,
	uint32_t count, uint64_t from, uint64_t to, unsigned length)
{
	struct thrum__monitor_history_answer gauge = ask(history, 0, from, to),
					     total = ask(history, 1, from, to);
	double sum = 0, growth = 0, seconds = 0;
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint64_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (looks[i].time < from - from % length || looks[i].time > to)
			continue;
		n++;
		sum += (double)looks[i].gauge;
		growth += i > 0 ? (double)(looks[i].total - looks[i - 1].total) : 0;
		seconds += i > 0 ? (double)looks[i].elapsed / 1e9 : 0;
		least = looks[i].gauge < least ? looks[i].gauge : least;
		most = looks[i].gauge > most ? looks[i].gauge : most;
	}
	assert_int_equal(gauge.length, length);
	assert_int_equal(gauge.count, n);
	assert_int_equal(gauge.least, least);
	assert_int_equal(gauge.most, most);
	assert_true(is_near(gauge.mean, sum / (double)n));
	assert_int_equal(gauge.last, looks[count - 1].gauge);
	assert_true(is_near(total.sum, growth));
	assert_true(is_near(total.seconds, seconds));
	assert_true(is_near(total.rate, growth / seconds));
	assert_int_equal(total.last, looks[count - 1].total);
}

static void it_tells_what_a_list_tells(void **state)
{
	struct look *looks = calloc(LOOKS, sizeof *looks);
	struct thrum__monitor_history history = {0};
	uint64_t time = NOON;
	int64_t total = 50;

	(void)state;
	assert_non_null(looks);
	for (uint32_t i = 0; i < LOOKS; i++) {
		uint64_t passed = any(50) == 0 ? any(600) : any(3);

		time += passed;
		total += any(1000);
		looks[i] = (struct look){time, passed * SECOND, (int64_t)any(5000) - 2000, total};
		struct thrum__read_counter items[] = {
			counter_of("gauge", THRUM_COUNTER_GAUGE, looks[i].gauge),
			counter_of("total", THRUM_COUNTER_CUMULATIVE, total),
		};
		add(&history, items, 2, time, looks[i].elapsed);
		if (i % 10000 != 9999)
			continue;
		compare(&history, looks, i + 1, time - any(280), time, 1);
		compare(&history, looks, i + 1, time - 301 - any(80000), time, 60);
		compare(&history, looks, i + 1, time - 86401 - any(2000000), time, 3600);
	}
	assert_int_equal(history.count, 2);
	assert_int_equal(history.size, 64 + 2 * THRUM__HISTORY_PLAIN_BYTES);
	thrum__monitor_history_finish(&history);
	free(looks);
}

/* ---- Distributions --------------------------------------------------------------------------- */

/* Makes buckets of values as a recording has them. */
static uint32_t fill(struct thrum__read_bucket *buckets, const int64_t *values, uint32_t count)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		int64_t low, high;
		uint32_t at = 0;

		thrum__format_counters_bounds(thrum__format_counters_bucket(values[i]), &low,
			&high);
		while (at < used && buckets[at].low < low)
			at++;
		if (at == used || buckets[at].low != low) {
			memmove(buckets + at + 1, buckets + at, (used - at) * sizeof *buckets);
			buckets[at] = (struct thrum__read_bucket){low, high, 0};
			used++;
		}
		buckets[at].count++;
	}
	return used;
}

static int compare_values(const void *a, const void *b)
{
	const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

	return one < two ? -1 : one > two;
}

/* Adds 50 observations a second for a minute, of which the history knows all but the first 50. */
static void observe_minute(int64_t (*draw)(void), double tolerance)
{
	enum {
		EACH = 50,
		ALL = 61 * EACH
	};
	static int64_t values[ALL];
	static struct thrum__read_bucket buckets[2000];
	struct thrum__monitor_history history = {0};
	struct thrum__monitor_history_answer answer;
	double sum = 0;

	for (uint32_t i = 0; i < ALL; i++)
		values[i] = draw();
	for (uint32_t k = 1; k <= 61; k++) {
		struct thrum__read_counter item = counter_of("d", THRUM_COUNTER_DISTRIBUTION, 0);

		item.count = k * EACH;
		item.least = INT64_MIN;
		item.most = INT64_MAX;
		for (uint32_t i = 0; i < item.count; i++)
			item.sum = (int64_t)((uint64_t)item.sum + (uint64_t)values[i]);
		item.buckets = buckets;
		item.bucket_count = fill(buckets, values, (uint32_t)item.count);
		add(&history, &item, 1, NOON + k, SECOND);
	}
	answer = ask(&history, 0, NOON, NOON + 61);
	for (uint32_t i = EACH; i < ALL; i++)
		sum += (double)values[i];
	qsort(values + EACH, ALL - EACH, sizeof *values, compare_values);
	assert_int_equal(answer.count, ALL - EACH);
	assert_true(is_near(answer.mean, sum / (ALL - EACH)));
	assert_true(is_near(answer.rate, EACH));
	assert_true(answer.least <= values[EACH] && answer.most >= values[ALL - 1]);
	const struct {
		double share;
		int64_t is;
	} percentiles[] = {{0.5, answer.p50}, {0.9, answer.p90}, {0.99, answer.p99}};

	for (unsigned i = 0; i < 3; i++) {
		double right = (double)
			values[EACH + (uint32_t)ceil(percentiles[i].share * (ALL - EACH)) - 1];

		assert_true(fabs((double)percentiles[i].is - right) <= tolerance * fabs(right) + 1);
	}
	thrum__monitor_history_finish(&history);
}

static int64_t draw_narrow(void)
{
	return 1000 + any(1000);
}

static int64_t draw_negative(void)
{
	return -1000 - (int64_t)any(1000);
}

static int64_t draw_wide(void)
{
	return (int64_t)1 << any(60);
}

static int64_t draw_extreme(void)
{
	return any(2) ? INT64_MAX : INT64_MIN;
}

static void percentiles_are_near(void **state)
{
	(void)state;
	observe_minute(draw_narrow, 0.033);
	observe_minute(draw_negative, 0.033);
	observe_minute(draw_wide, 15); /* four powers of two in a cell */
}

static void extreme_observations_do_no_harm(void **state)
{
	struct thrum__monitor_history history = {0};
	struct thrum__read_bucket buckets[3];

	(void)state;
	for (uint64_t k = 0; k < 5; k++) {
		int64_t values[] = {draw_extreme(), draw_extreme(), 0};
		struct thrum__read_counter item = counter_of("d", THRUM_COUNTER_DISTRIBUTION, 0);

		item.bucket_count = fill(buckets, values, 3);
		item.buckets = buckets;
		item.count = 3 * (k + 1);
		item.least = INT64_MIN;
		item.most = INT64_MAX;
		add(&history, &item, 1, NOON + k, SECOND);
		(void)ask(&history, 0, 0, NOON + k);
	}
	thrum__monitor_history_finish(&history);
}

/* ---- The clock and the program --------------------------------------------------------------- */

static void a_clock_that_is_set_back_spoils_no_rate(void **state)
{
	struct thrum__monitor_history history = {0};
	struct thrum__monitor_history_answer answer;
	uint64_t time = NOON;

	(void)state;
	/* 10 a second; after 100 s the clock goes back by 50 s, after 100 more on by a day. */
	for (int64_t i = 0; i <= 200; i++) {
		struct thrum__read_counter item = counter_of("c", THRUM_COUNTER_CUMULATIVE, i * 10);

		add(&history, &item, 1, time, SECOND);
		time += 1;
		if (i == 100)
			time -= 50;
	}
	time--;
	answer = ask(&history, 0, time - 299, time);
	assert_true(answer.rate == 10 && answer.sum == 2000 && answer.seconds == 200);
	assert_int_equal(answer.last, 2000);
	/* The future isn't told. */
	answer = ask(&history, 0, NOON, NOON + 20);
	assert_true(answer.seconds == 20);
	answer = ask(&history, 0, NOON + 86400, NOON + 86500);
	assert_true(answer.count == 0 && answer.seconds == 0 && isnan(answer.rate));
	thrum__monitor_history_finish(&history);
}

static void growth_is_of_the_time_that_was_seen(void **state)
{
	struct thrum__read_counter items[] = {
		counter_of("old", THRUM_COUNTER_CUMULATIVE, 1000),
		counter_of("new", THRUM_COUNTER_CUMULATIVE, 7),
	};
	struct thrum__monitor_history history = {0};

	(void)state;
	add(&history, items, 1, NOON, SECOND);
	assert_true(ask(&history, 0, NOON, NOON).sum == 0);
	items[0].value = 1003;
	add(&history, items, 2, NOON + 1, SECOND);
	assert_true(ask(&history, 0, NOON, NOON + 1).sum == 3);
	assert_true(ask(&history, 1, NOON, NOON + 1).sum == 7);
	thrum__monitor_history_finish(&history);
}

static void the_size_is_bounded(void **state)
{
	struct thrum__read_counter items[THRUM__HISTORY_SERIES + 3];
	char names[THRUM__HISTORY_SERIES + 3][16], path[THRUM__HISTORY_PATH + 1];
	struct thrum__monitor_history history = {0};

	(void)state;
	for (uint32_t i = 0; i < THRUM__HISTORY_SERIES + 3; i++) {
		snprintf(names[i], sizeof names[i], "c%u", i);
		items[i] = counter_of(names[i], THRUM_COUNTER_GAUGE, i);
	}
	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	items[0].path = path;
	items[1].kind = THRUM__COUNTER_MIXED;
	add(&history, items, THRUM__HISTORY_SERIES + 3, NOON, SECOND);
	assert_int_equal(history.count, THRUM__HISTORY_SERIES);
	assert_int_equal(history.left_out, 2);
	thrum__monitor_history_finish(&history);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Writes the last look into a file's bytes. */
static unsigned char *keep(const struct thrum__monitor_history *history, unsigned char *file)
{
	struct thrum__monitor_history_header header = thrum__monitor_history_header(history);
	struct thrum__monitor_history_piece pieces[THRUM__HISTORY_PIECES];

	if (!file)
		file = calloc(1, history->size);
	assert_non_null(file);
	memcpy(file, &header, sizeof header);
	for (uint32_t i = 0; i < history->count; i++)
		for (unsigned n = thrum__monitor_history_pieces(history, i, pieces); n-- > 0;) {
			assert_true(pieces[n].offset + pieces[n].size <= history->size);
			memcpy(file + pieces[n].offset, pieces[n].bytes, pieces[n].size);
		}
	return file;
}

static void its_bytes_make_it_again(void **state)
{
	struct thrum__monitor_history history = {0}, again = {0};
	struct thrum__read_bucket bucket = {7, 7, 0};
	unsigned char *file = NULL;
	size_t size;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct thrum__read_counter items[] = {
			counter_of("d", THRUM_COUNTER_DISTRIBUTION, 0),
			counter_of("g", THRUM_COUNTER_GAUGE, any(100)),
		};

		bucket.count = items[0].count = i + 1;
		items[0].sum = 7 * (int64_t)items[0].count;
		items[0].least = items[0].most = 7;
		items[0].buckets = &bucket;
		items[0].bucket_count = 1;
		add(&history, items, 2, NOON + i, SECOND);
		file = keep(&history, file);
	}
	size = history.size;
	assert_int_equal(thrum__monitor_history_load(&again, file, size), 0);
	assert_int_equal(again.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_memory_equal(again.series[i]->slots, history.series[i]->slots,
			THRUM__HISTORY_SLOTS * sizeof *history.series[i]->slots);
		assert_true(ask(&again, i, NOON, NOON + 999).mean ==
			ask(&history, i, NOON, NOON + 999).mean);
	}
	/* It goes on: first it only looks from where things grow. */
	struct thrum__read_counter item = counter_of("d", THRUM_COUNTER_DISTRIBUTION, 0);

	bucket.count = item.count = 5000;
	item.sum = 35000;
	item.least = item.most = 7;
	item.buckets = &bucket;
	item.bucket_count = 1;
	add(&again, &item, 1, NOON + 1000, SECOND);
	assert_int_equal(ask(&again, 0, NOON, NOON + 1000).count, 999);
	bucket.count = item.count = 5010;
	item.sum = 35070;
	add(&again, &item, 1, NOON + 1001, SECOND);
	assert_int_equal(ask(&again, 0, NOON, NOON + 1001).count, 1009);
	assert_int_equal(ask(&again, 0, NOON, NOON + 1001).p99, 7);
	thrum__monitor_history_finish(&again);
	/* Each end that is missing is told. */
	for (size_t left = 0; left < size; left += left < 300 ? 1 : 1009) {
		unsigned char *part = malloc(left + (left == 0));

		assert_non_null(part);
		memcpy(part, file, left);
		assert_int_equal(thrum__monitor_history_load(&again, part, left),
			left < 64 ? -THRUM_E_FORMAT : -THRUM_E_DAMAGED);
		assert_int_equal(again.count, 0);
		free(part);
	}
	file[8]++;
	assert_int_equal(thrum__monitor_history_load(&again, file, size), -THRUM_E_VERSION);
	thrum__monitor_history_finish(&history);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_tells_what_a_list_tells),
		cmocka_unit_test(percentiles_are_near),
		cmocka_unit_test(extreme_observations_do_no_harm),
		cmocka_unit_test(a_clock_that_is_set_back_spoils_no_rate),
		cmocka_unit_test(growth_is_of_the_time_that_was_seen),
		cmocka_unit_test(the_size_is_bounded),
		cmocka_unit_test(its_bytes_make_it_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
