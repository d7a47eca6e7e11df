/* SPDX-License-Identifier: ISC */
/* Clocks that drift and wander, and messages between them: the stated bounds hold and are narrow. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "clocks_helper.h"
#include "world/clock.h"

#define MOST 8000 /* messages each way */

/* ---- Worlds -------------------------------------------------------------------------------- */

struct world {
	struct clock a, b;
	struct thrum__world_point there[MOST], back[MOST];
	struct thrum__world_pair pair;
};

static int compare(const void *a, const void *b)
{
	const struct thrum__world_point *x = a, *y = b;

	return x->a < y->a ? -1 : x->a > y->a;
}

/* Sends `count` messages each way in so many ns; those back take longer by `more`. */
static void talk(struct world *w, size_t count, double duration, enum delays kind, double more)
{
	for (size_t i = 0; i < count; i++) {
		double sent = between(0, duration);

		w->there[i].a = (int64_t)clock_at(&w->a, sent);
		w->there[i].b = (int64_t)clock_at(&w->b, sent + delay(kind)) + 1;
		sent = between(0, duration);
		w->back[i].b = (int64_t)clock_at(&w->b, sent);
		w->back[i].a = (int64_t)clock_at(&w->a, sent + delay(kind) + more) + 1;
	}
	qsort(w->there, count, sizeof *w->there, compare);
	qsort(w->back, count, sizeof *w->back, compare);
	w->pair = (struct thrum__world_pair){w->there, w->back, count, count};
}

/* The offset of the two clocks at a true time, and the time on A's. */
static double truth(const struct world *w, double t, int64_t *at)
{
	*at = (int64_t)clock_at(&w->a, t);
	return clock_at(&w->b, t) - clock_at(&w->a, t);
}

/* How far the middle of the bounds is off. Fails if the truth lies outside. */
static double check(const struct world *w, double t, struct thrum__world_bounds bounds)
{
	int64_t at;
	double is = truth(w, t, &at);

	if (is < (double)bounds.low - 2 || is > (double)bounds.high + 2)
		fail_msg("at %.0f s: %.0f lies outside %.0f to %.0f", t / S, is, (double)bounds.low,
			(double)bounds.high);
	return fabs(((double)bounds.low + (double)bounds.high) / 2 - is);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ---- Two clocks ---------------------------------------------------------------------------- */

/* Whether A and B sent each other messages in a time. */
static bool have_talked(const struct world *w, double from, double to)
{
	int64_t first = (int64_t)clock_at(&w->a, from), last = (int64_t)clock_at(&w->a, to);
	bool there = false, back = false;

	for (size_t i = 0; i < w->pair.there_count; i++) {
		there |= w->there[i].a > first && w->there[i].a < last;
		back |= w->back[i].a > first && w->back[i].a < last;
	}
	return there && back;
}

/* Whether a step is seen from a time that isn't too near: a window of messages there reaches over it. If
 * there are none, nobody can tell that there was a step. */
static bool is_seen(const struct world *w, double stopped, double t)
{
	const double half = (double)THRUM__WORLD_WINDOW / 2;

	if (t + half < stopped - STEP || t - half > stopped)
		return true;
	return (t < stopped - 1.1 * STEP || t > stopped + 0.1 * STEP) &&
		have_talked(w, t - half > 0 ? t - half : 0, stopped - STEP) &&
		have_talked(w, stopped, t + half < HOUR ? t + half : HOUR);
}

/* How wide the bounds of many worlds were, and how wrong their middles. */
struct tally {
	double half_widths[5000], errors[5000];
	size_t count;
};

static void assert_narrow(struct tally *t, const char *name, double half_width, double error)
{
	double *h = t->half_widths, *e = t->errors;
	size_t n = t->count;

	qsort(h, n, sizeof *h, compare_doubles);
	qsort(e, n, sizeof *e, compare_doubles);
	print_message("%s, %zu bounds: half-width %.0f us (p50) %.0f (p90), error %.0f (p50) "
		      "%.0f (p90)\n",
		name, n, h[n / 2] / 1e3, h[n * 9 / 10] / 1e3, e[n / 2] / 1e3, e[n * 9 / 10] / 1e3);
	assert_true(h[n / 2] < half_width);
	assert_true(e[n / 2] < error);
}

static void states_true_bounds_in_a_thousand_worlds(void **state)
{
	static const double wanders[] = {0, 0.01, 0.1, 0.3};
	static struct world w;
	static struct tally tallies[2];
	size_t known = 0, asked = 0;

	(void)state;
	seed = 1;
	for (int i = 0; i < 1000; i++) {
		size_t count = (size_t)pow(10, between(1, 3.5));
		double more = i % 5 == 0 ? 1e6 : 0, stopped = -HOUR;
		struct tally *tally = &tallies[more > 0];

		clock_make(&w.a, between(-50, 50), 0);
		clock_make(&w.b, between(-50, 50), wanders[i % 4]);
		/* Within a window clocks may drift apart by 48 ms, so a smaller step can't be told. */
		if (i % 7 == 0) {
			stopped = between(0, HOUR);
			stopped = clock_stop(&w.b, stopped, between(100e6, S));
		}
		talk(&w, count, HOUR, (enum delays)(i % DELAYS), more);
		for (int k = 0; k < 5; k++) {
			double t = between(0, HOUR);
			struct thrum__world_bounds bounds;
			int64_t at;

			if (stopped > 0 && k < 2)
				t = stopped + between(-90 * S, 90 * S);
			if (t < 0 || t > HOUR || !is_seen(&w, stopped, t))
				continue;
			truth(&w, t, &at);
			asked++;
			if (!thrum__world_clock_bounds(&w.pair, at, THRUM__WORLD_WINDOW,
				    THRUM__WORLD_WANDER, &bounds))
				continue;
			known++;
			tally->errors[tally->count] = check(&w, t, bounds);
			/* Where there were no messages both ways, one side may be open. */
			if (bounds.low != INT64_MIN && bounds.high != INT64_MAX)
				tally->half_widths[tally->count++] = (double)(bounds.high -
									     bounds.low) /
					2;
		}
	}
	assert_narrow(&tallies[0], "equal delays", 300e3, 75e3);
	assert_narrow(&tallies[1], "1 ms more for one way", 750e3, 505e3);
	/* Only the worlds with the fewest messages have none within a minute. */
	assert_true(known * 100 > asked * 85);
}

/* The median error at 25 times of an hour of 40 worlds. */
static double median_error(size_t count, double window, double wander, double duration,
	double *half_width)
{
	static struct world w;
	double errors[1000], widths[1000];
	size_t n = 0;

	seed = 7;
	for (int i = 0; i < 40; i++) {
		clock_make(&w.a, 0, 0);
		clock_make(&w.b, 50, 0);
		talk(&w, count, duration, LOGNORMAL, 0);
		for (int k = 0; k < 25; k++) {
			double t = duration * (k + 0.5) / 25;
			struct thrum__world_bounds bounds;
			int64_t at;

			truth(&w, t, &at);
			assert_true(thrum__world_clock_bounds(&w.pair, at, (int64_t)window, wander,
				&bounds));
			widths[n] = (double)(bounds.high - bounds.low) / 2;
			errors[n++] = check(&w, t, bounds);
		}
	}
	qsort(errors, n, sizeof *errors, compare_doubles);
	qsort(widths, n, sizeof *widths, compare_doubles);
	*half_width = widths[n / 2];
	return errors[n / 2];
}

/* No message takes less than 50 us, so no bound can be narrower than this. */
static void is_precise(void **state)
{
	static const struct {
		size_t count;
		double error, half_width; /* ns */
	} wanted[] = {{10, 25e3, 140e3}, {100, 6e3, 78e3}, {1000, 1.7e3, 61.5e3}};

	(void)state;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		double half_width,
			error = median_error(wanted[i].count, 3 * HOUR, 0, HOUR, &half_width);

		print_message("%zu messages each way: error %.1f us, half-width %.1f us\n",
			wanted[i].count, error / 1e3, half_width / 1e3);
		assert_true(error < wanted[i].error);
		assert_true(half_width < wanted[i].half_width);
	}
	/* In windows distant messages count for less. */
	double half_width,
		error = median_error(3000, (double)THRUM__WORLD_WINDOW, THRUM__WORLD_WANDER, HOUR,
			&half_width);

	print_message("in windows: error %.1f us, half-width %.1f us\n", error / 1e3,
		half_width / 1e3);
	assert_true(error < 4e3);
	assert_true(half_width < 80e3);
}

/* One may be farther behind than the messages back are fast: nobody can tell, but the bounds say
 * so. */
static void states_what_asymmetry_hides(void **state)
{
	static struct world w;
	struct thrum__world_bounds bounds;
	int64_t at;

	(void)state;
	seed = 3;
	clock_make(&w.a, 0, 0);
	clock_make(&w.b, 20, 0);
	talk(&w, 1000, 120 * S, LOGNORMAL, 1e6);
	truth(&w, 60 * S, &at);
	assert_true(thrum__world_clock_bounds(&w.pair, at, THRUM__WORLD_WINDOW, THRUM__WORLD_WANDER,
		&bounds));
	assert_true(check(&w, 60 * S, bounds) > 400e3);
}

/* A machine stood still: no line fits, so only near messages count. */
static void survives_a_step(void **state)
{
	static struct world w;

	(void)state;
	seed = 4;
	clock_make(&w.a, 0, 0);
	clock_make(&w.b, 10, 0);
	for (int i = 31; i < STEPS + 2; i++)
		w.b.ahead[i] += 50e6;
	talk(&w, MOST, 600 * S, EXPONENTIAL, 0);
	for (int i = 0; i < 60; i++) {
		double t = (i * 10 + 5) * S;
		struct thrum__world_bounds bounds;
		int64_t at;

		/* The step takes the whole of this time. */
		if (t > 295 * S && t < 315 * S)
			continue;
		truth(&w, t, &at);
		assert_true(thrum__world_clock_bounds(&w.pair, at, THRUM__WORLD_WINDOW,
			THRUM__WORLD_WANDER, &bounds));
		check(&w, t, bounds);
	}
}

static void one_direction_bounds_one_side(void **state)
{
	struct thrum__world_point points[] = {{0, 1000}, {1000000, 1000900}, {2000000, 2001200}};
	struct thrum__world_pair there = {points, NULL, 3, 0}, back = {NULL, points, 0, 3};
	struct thrum__world_pair none = {NULL, NULL, 0, 0};
	struct thrum__world_bounds bounds;

	(void)state;
	assert_true(thrum__world_clock_bounds(&there, 1000000, THRUM__WORLD_WINDOW, 0, &bounds));
	assert_true(bounds.low == INT64_MIN);
	assert_in_range(bounds.high, 900, 905);
	assert_true(thrum__world_clock_bounds(&back, 1000000, THRUM__WORLD_WINDOW, 0, &bounds));
	assert_true(bounds.high == INT64_MAX);
	assert_in_range(bounds.low, 1090, 1100);
	assert_false(thrum__world_clock_bounds(&none, 0, THRUM__WORLD_WINDOW, 0, &bounds));
	assert_false(thrum__world_clock_bounds(&there, INT64_C(1) << 50, THRUM__WORLD_WINDOW, 0,
		&bounds));
}

/* ---- Many clocks --------------------------------------------------------------------------- */

enum {
	HOSTS = 30
};

/* The bounds of all clocks less clock 0. */
static void find_paths(const struct thrum__world_edge *edges, size_t edge_count,
	struct thrum__world_bounds *offsets, uint32_t count)
{
	int64_t most[HOSTS * HOSTS];

	assert_int_equal(thrum__world_clock_paths(edges, edge_count, most, count), 0);
	for (uint32_t i = 0; i < count; i++)
		offsets[i] = thrum__world_clock_ahead(most, count, 0, i);
}

static void goes_along_the_best_path(void **state)
{
	const struct thrum__world_edge edges[] = {
		{0, 1, {90, 110}},
		{2, 1, {-60, -40}}, /* clock 2 is ahead of clock 1 */
		{0, 2, {0, 1000}},
		{3, 2, {INT64_MIN, 7}},
	};
	struct thrum__world_bounds offsets[5];

	(void)state;
	find_paths(edges, 4, offsets, 5);
	assert_true(offsets[0].low == 0 && offsets[0].high == 0);
	assert_true(offsets[1].low == 90 && offsets[1].high == 110);
	assert_true(offsets[2].low == 130 && offsets[2].high == 170);
	assert_true(offsets[3].low == 123 && offsets[3].high == INT64_MAX);
	assert_true(offsets[4].low == INT64_MIN && offsets[4].high == INT64_MAX);
}

/* Messages that go one way bound one side, beside a path with both bounds: no message arrives before it is
 * sent. Bounds that contradict each other change nothing. */
static void keeps_to_messages_one_way(void **state)
{
	struct thrum__world_edge edges[] = {
		{0, 1, {-100, 100}},
		{0, 2, {-400, 300}},
		{1, 2, {50, INT64_MAX}},
		{3, 2, {INT64_MIN, -120}}, /* clock 3 is ahead of clock 2 */
		{0, 3, {-1000, 400}},
	};
	struct thrum__world_bounds offsets[4];
	int64_t middles[4];

	(void)state;
	find_paths(edges, 5, offsets, 4);
	assert_true(offsets[1].low == -100 && offsets[1].high == 100);
	assert_true(offsets[2].low == -50 && offsets[2].high == 280);
	assert_true(offsets[3].low == 70 && offsets[3].high == 400);
	for (int i = 0; i < 4; i++)
		middles[i] = (offsets[i].low + offsets[i].high) / 2;
	assert_true(middles[2] - middles[1] >= 50 && middles[3] - middles[2] >= 120);
	/* 1 is ahead of 2, and 2 of 1. */
	edges[3] = (struct thrum__world_edge){2, 1, {50, INT64_MAX}};
	find_paths(edges, 4, offsets, 3);
	assert_true(offsets[1].low == -100 && offsets[1].high == 100);
	assert_true(offsets[2].low == -400 && offsets[2].high == 300);
}

/* Two clocks may be known better to each other than to the first one. */
static void bounds_each_two(void **state)
{
	struct thrum__world_edge edges[] = {{0, 1, {-1000, 1000}}, {0, 2, {-1000, 1000}},
		{1, 2, {5, 8}}, {2, 3, {INT64_MIN, 10}}};
	struct thrum__world_bounds ahead;
	int64_t most[16];

	(void)state;
	assert_int_equal(thrum__world_clock_paths(edges, 4, most, 4), 0);
	ahead = thrum__world_clock_ahead(most, 4, 2, 1);
	assert_true(ahead.low == -8 && ahead.high == -5);
	ahead = thrum__world_clock_ahead(most, 4, 0, 1);
	assert_true(ahead.low == -1000 && ahead.high == 995);
	ahead = thrum__world_clock_ahead(most, 4, 1, 3);
	assert_true(ahead.low == INT64_MIN && ahead.high == 18);
	/* If edges contradict each other, what is known against clock 0 tells the rest. */
	edges[3] = (struct thrum__world_edge){0, 2, {2000, 3000}};
	assert_int_equal(thrum__world_clock_paths(edges, 4, most, 4), 0);
	ahead = thrum__world_clock_ahead(most, 4, 1, 2);
	assert_true(ahead.low < 5 && ahead.high > 8);
	ahead = thrum__world_clock_ahead(most, 4, 0, 3);
	assert_true(ahead.low == INT64_MIN && ahead.high == INT64_MAX);
}

/* Thirty hosts, of which each talks to some others, a little or a lot. */
static void thirty_hosts(void **state)
{
	static struct clock clocks[HOSTS];
	static struct world w;
	struct thrum__world_edge edges[3 * HOSTS];
	struct thrum__world_bounds offsets[HOSTS];
	double widths[HOSTS];
	size_t count = 0;

	(void)state;
	seed = 9;
	for (int i = 0; i < HOSTS; i++)
		clock_make(&clocks[i], between(-50, 50), 0);
	for (uint32_t i = 1; i < HOSTS; i++) {
		for (int k = 0; k < 3; k++) {
			uint32_t from = (uint32_t)(random_unit() * i);
			int64_t at;

			w.a = clocks[from];
			w.b = clocks[i];
			talk(&w, (size_t)pow(10, between(0.7, 3.3)), HOUR, LOGNORMAL, 0);
			truth(&w, HOUR / 2, &at);
			edges[count] = (struct thrum__world_edge){.from = from, .to = i};
			assert_true(thrum__world_clock_bounds(&w.pair, at, (int64_t)(3 * HOUR), 0,
				&edges[count++].bounds));
		}
	}
	find_paths(edges, count, offsets, HOSTS);
	for (int i = 0; i < HOSTS; i++) {
		w.a = clocks[0];
		w.b = clocks[i];
		check(&w, HOUR / 2, offsets[i]);
		widths[i] = (double)(offsets[i].high - offsets[i].low) / 2;
	}
	qsort(widths, HOSTS, sizeof *widths, compare_doubles);
	print_message("half-widths: median %.0f us, most %.0f us\n", widths[HOSTS / 2] / 1e3,
		widths[HOSTS - 1] / 1e3);
	assert_true(widths[HOSTS / 2] < 149e3);
	assert_true(widths[HOSTS - 1] < 240e3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_true_bounds_in_a_thousand_worlds),
		cmocka_unit_test(is_precise),
		cmocka_unit_test(states_what_asymmetry_hides),
		cmocka_unit_test(survives_a_step),
		cmocka_unit_test(one_direction_bounds_one_side),
		cmocka_unit_test(goes_along_the_best_path),
		cmocka_unit_test(keeps_to_messages_one_way),
		cmocka_unit_test(bounds_each_two),
		cmocka_unit_test(thirty_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
