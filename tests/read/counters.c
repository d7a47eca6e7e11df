/* SPDX-License-Identifier: ISC */
/* Counters: the tree, the sums over blocks and children, percentiles, and damaged pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "format/counters.h"
#include "read/counters.h"

#define PAGES 4

/* A recording that is nothing but counters. */
static struct thrum__counters_page pages[PAGES];
static unsigned used;

static int64_t read_pages(void *owner, uint64_t offset, void *to, size_t size)
{
	(void)owner;
	if (offset > sizeof pages)
		return 0;
	size = size < sizeof pages - offset ? size : sizeof pages - offset;
	memcpy(to, (const uint8_t *)pages + offset, size);
	return (int64_t)size;
}

static uint64_t size_of_pages(void *owner)
{
	(void)owner;
	return sizeof pages;
}

static struct thrum__read_counters read_all(void)
{
	struct thrum__input input = {NULL, read_pages, size_of_pages};
	struct thrum__header header = {.counters = {0, sizeof pages}};
	struct thrum__read_counters counters;

	assert_int_equal(thrum__read_counters(&input, &header, &counters), 0);
	return counters;
}

static void clear(void)
{
	memset(pages, 0, sizeof pages);
	used = 0;
}

static int64_t *add_block(unsigned part, unsigned number)
{
	struct thrum__counters_page *page = &pages[used / THRUM__COUNTERS_BLOCKS];
	unsigned at = used++ % THRUM__COUNTERS_BLOCKS;

	page->version = THRUM__COUNTERS_VERSION;
	page->tags[at] = thrum__format_counters_tag(part, number);
	return page->words[at];
}

static void add_name(unsigned number, enum thrum_counter_kind kind, const char *path)
{
	struct thrum__counters_name name = {.kind = kind};

	strncpy(name.path, path, sizeof name.path - 1);
	memcpy(add_block(THRUM__COUNTERS_NAME, number), &name, sizeof name);
}

static void add_observations(unsigned number, const int64_t *values, size_t count)
{
	int64_t *sums = add_block(THRUM__COUNTERS_SUMS, number);

	sums[THRUM__SUMS_LEAST] = INT64_MAX;
	sums[THRUM__SUMS_MOST] = INT64_MIN;
	for (size_t i = 0; i < count; i++) {
		struct thrum__bucket bucket = thrum__format_counters_bucket(values[i]);

		add_block(THRUM__COUNTERS_BUCKETS + bucket.row, number)[bucket.place] = 1;
		sums[THRUM__SUMS_SUM] += values[i];
		if (values[i] < sums[THRUM__SUMS_LEAST])
			sums[THRUM__SUMS_LEAST] = values[i];
		if (values[i] > sums[THRUM__SUMS_MOST])
			sums[THRUM__SUMS_MOST] = values[i];
	}
}

static void buckets_hold_their_values(void **state)
{
	int64_t values[400];
	size_t count = 0;

	(void)state;
	for (unsigned bit = 0; bit < 63; bit++) {
		int64_t value = INT64_C(1) << bit;

		values[count++] = value;
		values[count++] = value - 1;
		values[count++] = value + value / 3;
		values[count++] = -value;
		values[count++] = 1 - value;
	}
	values[count++] = INT64_MAX;
	values[count++] = INT64_MIN;
	for (size_t i = 0; i < count; i++) {
		struct thrum__bucket bucket = thrum__format_counters_bucket(values[i]);
		int64_t low, high;

		assert_true(thrum__format_counters_is_row(bucket.row));
		thrum__format_counters_bounds(bucket, &low, &high);
		assert_in_range(values[i] - low, 0, high - low);
		double least = low < 0 ? -(double)high : (double)low;

		assert_true((double)high - (double)low <= least / 16);
	}
}

static void counters_make_a_tree(void **state)
{
	(void)state;
	clear();
	add_name(0, THRUM_COUNTER_CUMULATIVE, "http/requests/put");
	add_name(1, THRUM_COUNTER_CUMULATIVE, "http/requests/get");
	add_name(2, THRUM_COUNTER_GAUGE, "http/open");
	add_name(3, THRUM_COUNTER_CUMULATIVE, "http/requests");
	add_name(17, THRUM_COUNTER_CUMULATIVE, "http-errors");
	int64_t *words = add_block(THRUM__COUNTERS_VALUES, 0);

	words[0] = 5;
	words[1] = 7;
	words[2] = -2;
	words[3] = 100;
	add_block(THRUM__COUNTERS_VALUES, 0)[1] = 30;
	add_block(THRUM__COUNTERS_VALUES, 1)[1] = 9;
	struct thrum__read_counters c = read_all();
	static const struct {
		const char *path, *name;
		int depth, parent, kind, value;
	} expected[] = {
		{"http", "http", 0, -1, THRUM__COUNTER_MIXED, 0},
		{"http/open", "open", 1, 0, THRUM_COUNTER_GAUGE, -2},
		{"http/requests", "requests", 1, 0, THRUM_COUNTER_CUMULATIVE, 142},
		{"http/requests/get", "get", 2, 2, THRUM_COUNTER_CUMULATIVE, 37},
		{"http/requests/put", "put", 2, 2, THRUM_COUNTER_CUMULATIVE, 5},
		{"http-errors", "http-errors", 0, -1, THRUM_COUNTER_CUMULATIVE, 9},
	};

	assert_int_equal(c.count, 6);
	for (int i = 0; i < 6; i++) {
		assert_string_equal(c.items[i].path, expected[i].path);
		assert_string_equal(c.items[i].name, expected[i].name);
		assert_int_equal(c.items[i].depth, expected[i].depth);
		assert_int_equal((int)c.items[i].parent, expected[i].parent);
		assert_int_equal(c.items[i].kind, expected[i].kind);
		assert_int_equal(c.items[i].value, expected[i].value);
	}
	assert_false(c.items[0].is_counter);
	assert_int_equal(c.items[2].own, 100);
	assert_ptr_equal(thrum__read_counters_find(&c, "http-errors"), &c.items[5]);
	assert_null(thrum__read_counters_find(&c, "http/"));
	thrum__read_counters_free(&c);
}

static void distributions_are_summed_up(void **state)
{
	const int64_t gets[] = {-40, 0, 3, 1000, 1000}, puts[] = {5, 2000000};

	(void)state;
	clear();
	add_name(4, THRUM_COUNTER_DISTRIBUTION, "latency/get");
	add_name(5, THRUM_COUNTER_DISTRIBUTION, "latency/put");
	add_name(6, THRUM_COUNTER_DISTRIBUTION, "never");
	add_observations(4, gets, 3);
	add_observations(4, gets + 3, 2);
	add_observations(5, puts, 2);
	struct thrum__read_counters c = read_all();
	const struct thrum__read_counter *all = thrum__read_counters_find(&c, "latency");

	assert_int_equal(all->kind, THRUM_COUNTER_DISTRIBUTION);
	assert_int_equal(all->count, 7);
	assert_int_equal(all->sum, 2001968);
	assert_int_equal(all->least, -40);
	assert_int_equal(all->most, 2000000);
	assert_int_equal(all->bucket_count, 6);
	for (uint32_t i = 1; i < all->bucket_count; i++)
		assert_true(all->buckets[i - 1].high < all->buckets[i].low);
	assert_int_equal(thrum__read_counters_quantile(all->buckets, 6, INT64_MIN, INT64_MAX, 0.5),
		5);
	assert_in_range(thrum__read_counters_quantile(all->buckets, 6, INT64_MIN, INT64_MAX, 1),
		1940000, 2060000);
	assert_int_equal(thrum__read_counters_quantile(all->buckets, 6, 0, 1990000, 1), 1990000);
	assert_int_equal(thrum__read_counters_quantile(all->buckets, 6, 6, 7, 0.5), 6);
	const struct thrum__read_counter *get = &all[1];
	struct thrum__read_bucket rest[6];

	assert_int_equal(get->count, 5);
	assert_int_equal(thrum__read_counters_since(rest, all->buckets, 6, get->buckets,
				 get->bucket_count),
		2);
	assert_int_equal(rest[0].low, 5);
	const struct thrum__read_counter *never = thrum__read_counters_find(&c, "never");

	assert_int_equal(never->count, 0);
	assert_int_equal(never->least, 0);
	assert_int_equal(thrum__read_counters_quantile(never->buckets, 0, 0, 0, 0.5), 0);
	thrum__read_counters_free(&c);
}

/* Half of all values lie in the first two buckets. */
static void quantiles_at_borders(void **state)
{
	static const struct thrum__read_bucket buckets[] = {
		{.low = 1, .high = 1, .count = 1},
		{.low = 3, .high = 3, .count = 1},
		{.low = 5, .high = 5, .count = 2},
	};

	(void)state;
	assert_int_equal(thrum__read_counters_quantile(buckets, 3, 1, 5, 0.25), 1);
	assert_int_equal(thrum__read_counters_quantile(buckets, 3, 1, 5, 0.5), 3);
	assert_int_equal(thrum__read_counters_quantile(buckets, 3, 1, 5, 0.51), 5);
}

/* Any bytes are read without harm. (The sanitizers look.) */
static void damage_is_harmless(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		clear();
		for (size_t i = 0; i < sizeof pages; i++) {
			random = random * 1664525 + 1013904223;
			((uint8_t *)pages)[i] = (uint8_t)(random >> 24 & (round % 2 ? 255 : 7));
		}
		for (int page = 0; page < PAGES; page++) {
			pages[page].version = THRUM__COUNTERS_VERSION;
			for (unsigned i = 0; i < THRUM__COUNTERS_BLOCKS; i++)
				pages[page].tags[i] &= 0xff001f;
		}
		for (unsigned i = 0; i < 16; i++)
			add_name(i, (enum thrum_counter_kind)(i % 4),
				i % 5 ? &"a/b//c/"[i % 3] : "///");
		struct thrum__read_counters c = read_all();

		for (uint32_t i = 0; i < c.count; i++) {
			assert_true(c.items[i].parent == UINT32_MAX || c.items[i].parent < i);
			assert_true(strlen(c.items[i].name) <= strlen(c.items[i].path));
			thrum__read_counters_quantile(c.items[i].buckets, c.items[i].bucket_count,
				c.items[i].least, c.items[i].most, 0.9);
		}
		thrum__read_counters_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_hold_their_values),
		cmocka_unit_test(counters_make_a_tree),
		cmocka_unit_test(quantiles_at_borders),
		cmocka_unit_test(distributions_are_summed_up),
		cmocka_unit_test(damage_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
