/* SPDX-License-Identifier: ISC */
/* Conversion of ticks to wall time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "format/clock.h"

static void multiplies_and_divides(void **state)
{
	(void)state;
	static const struct {
		uint64_t a, b, c, result;
	} cases[] = {
		{6, 7, 5, 8},
		{0, 5, 1, 0},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
		{UINT64_MAX, 3, 4, 13835058055282163711u},
		{UINT64_MAX, 1000000000, UINT64_MAX, 1000000000},
		{UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1},
		{12345678901234567, 98765432109876543, 11111111111111111, 109739368023319608u},
		{UINT64_C(1) << 63, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1,
			9223372036854775807u},
		{UINT64_MAX, 2, 1, UINT64_MAX},
		{1, 1, 0, UINT64_MAX},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(thrum__format_multiply_divide(cases[i].a, cases[i].b, cases[i].c),
			cases[i].result);
}

static void set_reading(struct thrum__reading *reading, uint64_t ticks, uint64_t monotonic,
	uint64_t realtime)
{
	reading->ticks = ticks;
	reading->monotonic = monotonic;
	reading->realtime = realtime;
	atomic_store(&reading->ticket, 1);
}

/* Returns by how many ns the wall time that a CTF reader computes for `ticks` is too early. */
static int64_t error_at(const struct thrum__metadata *metadata, uint64_t ticks, uint64_t expected)
{
	uint64_t sum = metadata->offset + ticks, second = metadata->frequency;
	int64_t seconds = metadata->offset_s + (int64_t)(sum / second);
	uint64_t ns = thrum__format_multiply_divide(sum % second, 1000000000, second);
	return (int64_t)expected - (seconds * 1000000000 + (int64_t)ns);
}

static void gives_the_wall_time_of_the_first_reading(void **state)
{
	(void)state;
	static const uint64_t ticks[] = {0, 1, 162499999, 162500000, 98765432198765,
		UINT64_MAX / 4};
	for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
		struct thrum__header header = {.clock_frequency = 162500000};
		struct thrum__metadata metadata = {.frequency = 0};
		set_reading(&header.start, ticks[i], 77, UINT64_C(1700000000123456789));
		thrum__format_set_clock(&metadata, &header);
		assert_int_equal(metadata.frequency, 162500000);
		assert_true(metadata.offset < metadata.frequency);
		assert_in_range(error_at(&metadata, ticks[i], UINT64_C(1700000000123456789)), 0,
			10);
	}
}

static void refines_the_frequency(void **state)
{
	(void)state;
	struct thrum__header header = {.clock_frequency = 100000000};
	struct thrum__metadata metadata = {.frequency = 0};
	set_reading(&header.start, 1000, 5000, UINT64_C(1700000000) * 1000000000);
	set_reading(&header.latest[1], 1000 + 10000100, 5000 + 99999999, 0);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 100000000); /* too near */
	set_reading(&header.latest[0], 1000 + 10 * UINT64_C(100000700),
		5000 + UINT64_C(10000000000), 0);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 100000700); /* the later one counts */
	atomic_store(&header.latest[0].ticket, 0);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 100000000); /* half written */
	set_reading(&header.latest[0], 1000 + UINT64_C(100000000000), 5000 + UINT64_C(1000000000),
		0);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 100000000); /* absurd */
	set_reading(&header.latest[0], 0, 0, 0);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 100000000); /* runs back */
	/* No wall time is right, but each number is one. */
	header.clock_frequency = 1;
	set_reading(&header.start, UINT64_C(1) << 63, 5000, UINT64_C(1700000000) * 1000000000);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.offset_s, INT64_MIN + 1700000000);
}

static void does_without_readings(void **state)
{
	(void)state;
	struct thrum__header header = {.clock_frequency = 250000000};
	struct thrum__metadata metadata = {.offset = 5, .offset_s = 6};
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 250000000);
	assert_int_equal(metadata.offset_s, 0);
	assert_int_equal(metadata.offset, 0);
	/* As a header that nobody checked. */
	header.clock_frequency = 0;
	set_reading(&header.start, 1000, 5000, UINT64_C(1700000000) * 1000000000);
	thrum__format_set_clock(&metadata, &header);
	assert_int_equal(metadata.frequency, 0);
	assert_int_equal(metadata.offset, 0);
}

/* A clock that the program gave may run at any speed, but not if a host has compared it with its own. */
static void tells_the_time_between_readings(void **state)
{
	(void)state;
	struct thrum__header header = {.clock_frequency = 250000000};
	assert_int_equal(thrum__format_ticks_at(&header, 7000), 0); /* no reading */
	set_reading(&header.start, 1000, 5000, 0);
	assert_int_equal(thrum__format_ticks_at(&header, 7000), 1500);
	assert_int_equal(thrum__format_ticks_at(&header, 4999), 0);
	header.clock_kind = THRUM__CLOCK_GIVEN;
	assert_int_equal(thrum__format_ticks_at(&header, 7000), 0);
	header.host_clock.boot = 17;
	assert_int_equal(thrum__format_ticks_at(&header, 7000), 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multiplies_and_divides),
		cmocka_unit_test(gives_the_wall_time_of_the_first_reading),
		cmocka_unit_test(refines_the_frequency),
		cmocka_unit_test(does_without_readings),
		cmocka_unit_test(tells_the_time_between_readings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
