/* SPDX-License-Identifier: ISC */
/* Machines that talk along chains, rings and trees, or not at all: what is stated of any two of their clocks
 * holds at all times, and is narrow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clocks_helper.h"
#include "read/read.h"
#include "world/parts.h"

enum {
	HOSTS = 8,
	TALKS = 16,
	MESSAGES = 600, /* of a talk, each way */
	PINGS = 200,    /* of a host */
	SAMPLES = 12,   /* times at which a world is looked at */
};

#define DURATION (600 * S)
#define WALL 1.7e18 /* the true time of day at the beginning */
#define UPTIME (9000 * S)
#define ASKED UINT64_C(77) /* the boot of a machine that only answers pings */

enum shape {
	CHAIN,
	RING,
	STAR,
	TREE,
	SHAPES,
};

struct world {
	uint32_t hosts;
	bool is_lonely; /* the last host has no messages */
	struct clock clocks[HOSTS];
	double begins[HOSTS];
	struct thrum_trace traces[HOSTS];
	struct thrum__world_part parts[HOSTS];
	struct thrum__world_link all[2 * 2 * TALKS * MESSAGES];
	struct thrum__world_message messages[2 * TALKS * MESSAGES];
	struct thrum__world_links links;
	struct thrum__ping pings[HOSTS * PINGS];
	uint32_t ping_count;
	struct thrum__world_times times;
};

/* A host's CLOCK_MONOTONIC at a true time, which is also what its recording's clock shows. */
static double shows(const struct world *w, uint32_t host, double t)
{
	return UPTIME + clock_at(&w->clocks[host], t);
}

/* Begins a recording. Its time of day is wrong by less than the kernel says, if it says anything. */
static void host_make(struct world *w, uint32_t i, double wander, bool is_told)
{
	struct thrum_trace_info *info = &w->traces[i].info;
	double most = is_told ? between(1e6, 50e6) : 0.9 * S;
	double begin = between(0, 5 * S), wrong = between(-most, most);

	clock_make(&w->clocks[i], between(-50, 50), wander);
	w->begins[i] = begin;
	w->traces[i] = (struct thrum_trace){0};
	info->clock = "tsc";
	info->host = "";
	info->boot = i + 1;
	info->clock_frequency = 1000000000;
	info->clock_first = (uint64_t)shows(w, i, begin);
	info->monotonic = (int64_t)info->clock_first;
	info->end = (int64_t)(shows(w, i, DURATION) - shows(w, i, begin));
	info->start = (int64_t)(WALL + begin + wrong);
	info->start_error = is_told ? (int64_t)most + 1 : 0;
	info->start_estimate = is_told ? (int64_t)(most / 5) : 0;
	w->parts[i] = (struct thrum__world_part){.trace = &w->traces[i]};
}

static void send(struct world *w, uint32_t from, uint32_t to, enum delays kind, double more)
{
	struct thrum__world_links *links = &w->links;
	double sent = between(5 * S, DURATION - S), received = sent + delay(kind) + more;

	links->messages[links->message_count++] = (struct thrum__world_message){links->count,
		links->count + 1};
	links->all[links->count++] = (struct thrum__world_link){.clock = (uint64_t)shows(w, from,
									sent),
		.part = from,
		.is_send = true};
	links->all[links->count++] =
		(struct thrum__world_link){.clock = (uint64_t)shows(w, to, received) + 1,
			.part = to};
}

static void talk(struct world *w, uint32_t a, uint32_t b, size_t count, bool is_one_way)
{
	enum delays kind = (enum delays)(random_unit() * DELAYS);
	double more = random_unit() < 0.2 ? 1e6 : 0;

	for (size_t i = 0; i < count; i++) {
		send(w, a, b, kind, 0);
		if (!is_one_way)
			send(w, b, a, kind, more);
	}
}

static void ping(struct world *w, uint32_t host, const struct clock *asked)
{
	for (double t = 5 * S; t < DURATION - S; t += 5 * S) {
		double heard = t + delay(LOGNORMAL), answered = heard + 20e3;

		w->pings[w->ping_count++] = (struct thrum__ping){w->traces[host].info.boot, ASKED,
			(int64_t)shows(w, host, t),
			(int64_t)(3 * UPTIME + clock_at(asked, heard)) + 1,
			(int64_t)(3 * UPTIME + clock_at(asked, answered)),
			(int64_t)shows(w, host, answered + delay(LOGNORMAL)) + 1};
	}
}

static uint32_t neighbour(enum shape shape, uint32_t i)
{
	return shape == STAR ? 0 : shape == TREE ? (uint32_t)(random_unit() * i) : i - 1;
}

/* Makes a world, in which the hosts send each other so many messages, or any number up to MESSAGES. */
static void world_make(struct world *w, enum shape shape, uint32_t hosts, size_t count)
{
	static const double wanders[] = {0, 0.01, 0.1};
	double wander = wanders[(size_t)(random_unit() * 3)];
	bool is_told = random_unit() < 0.7, has_pings = !count && random_unit() < 0.25;
	struct clock asked;

	w->hosts = hosts;
	w->is_lonely = !count && random_unit() < 0.3;
	w->links = (struct thrum__world_links){.all = w->all, .messages = w->messages};
	w->ping_count = 0;
	clock_make(&asked, between(-50, 50), wander);
	for (uint32_t i = 0; i < hosts; i++) {
		host_make(w, i, wander, is_told || i % 2);
		if (has_pings && random_unit() < 0.7)
			ping(w, i, &asked);
	}
	for (uint32_t i = 1; i < hosts - w->is_lonely; i++)
		talk(w, neighbour(shape, i), i, count ? count : (size_t)between(1, MESSAGES),
			!count && random_unit() < 0.2);
	if (shape == RING)
		talk(w, hosts - 1 - w->is_lonely, 0, count ? count : (size_t)between(1, MESSAGES),
			false);
	assert_int_equal(thrum__world_times_make(&w->times, w->parts, hosts, &w->links, w->pings,
				 w->ping_count),
		0);
	assert_int_equal(w->times.host_count, hosts);
}

/* The trace's time at which a host was at a true time. */
static int64_t told(const struct world *w, uint32_t host, double t)
{
	return thrum__world_time(&w->times.clocks[host], (uint64_t)shows(w, host, t));
}

/* By how much the trace says that it may be wrong about two hosts at a true time. Fails if it is wrong by
 * more. */
static int64_t check(const struct world *w, uint32_t a, uint32_t b, double t)
{
	int64_t at = told(w, a, t), wrong = told(w, b, t) - at;
	int64_t error = thrum__read_clock_error(&w->times.apart, a, b, at, at);

	if (error < INT64_MAX && llabs(wrong) > error + 5)
		fail_msg("hosts %u and %u of %u at %.0f s: wrong by %.0f us, said to be by %.0f",
			(unsigned)a, (unsigned)b, (unsigned)w->hosts, t / S, (double)wrong / 1e3,
			(double)error / 1e3);
	return error;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(double *values, size_t count, size_t percent)
{
	qsort(values, count, sizeof *values, compare);
	return values[(count - 1) * percent / 100];
}

/* ---- All worlds ---------------------------------------------------------------------------- */

static void states_true_errors_in_a_thousand_worlds(void **state)
{
	static double errors[1000 * SAMPLES * HOSTS * HOSTS / 2], lonely[1000 * SAMPLES * HOSTS];
	size_t count = 0, lonelies = 0, unknown = 0;
	static struct world w;

	(void)state;
	seed = 11;
	for (uint32_t i = 0; i < 1000; i++) {
		world_make(&w, (enum shape)(i % SHAPES), 3 + i / SHAPES % 6, 0);
		for (int k = 0; k < SAMPLES; k++) {
			double t = between(5 * S, DURATION);

			for (uint32_t b = 1; b < w.hosts; b++)
				for (uint32_t a = 0; a < b; a++) {
					int64_t error = check(&w, a, b, t);

					unknown += error == INT64_MAX;
					if (w.is_lonely && b == w.hosts - 1)
						lonely[lonelies++] = (double)error;
					else
						errors[count++] = (double)error;
				}
		}
		thrum__world_times_finish(&w.times);
	}
	print_message("%zu errors: %.0f us (p50), %.0f (p90); without messages %.0f ms (p50)\n",
		count, percentile(errors, count, 50) / 1e3, percentile(errors, count, 90) / 1e3,
		percentile(lonely, lonelies, 50) / 1e6);
	assert_int_equal(unknown, 0);
	assert_true(percentile(errors, count, 50) < 2e6);
	assert_true(percentile(lonely, lonelies, 50) < 200e6);
}

/* ---- Tight --------------------------------------------------------------------------------- */

/* Two neighbours are known as well to each other as two machines alone, wherever they stand in a chain. No
 * message takes less than 50 us. */
static void neighbours_are_known_best(void **state)
{
	static double near[200 * HOSTS * SAMPLES], far[200 * SAMPLES];
	size_t count = 0, ends = 0;
	static struct world w;

	(void)state;
	seed = 12;
	for (int i = 0; i < 60; i++) {
		world_make(&w, CHAIN, 6, 300);
		for (int k = 0; k < SAMPLES; k++) {
			double t = between(60 * S, DURATION - 60 * S);

			double sum = 0;

			for (uint32_t b = 1; b < w.hosts; b++)
				sum += near[count++] = (double)check(&w, b - 1, b, t);
			far[ends] = (double)check(&w, 0, w.hosts - 1, t);
			assert_true(far[ends++] < sum + 100);
		}
		thrum__world_times_finish(&w.times);
	}
	print_message("neighbours %.0f us (p50), the ends of a chain %.0f\n",
		percentile(near, count, 50) / 1e3, percentile(far, ends, 50) / 1e3);
	assert_true(percentile(near, count, 50) < 120e3);
	/* Against the first host they are known far worse. */
	assert_true(percentile(far, ends, 50) > 5 * percentile(near, count, 50));
}

/* Messages at the beginning alone: later, the error grows with the distance, up to what the wall clocks
 * say. */
static void errors_grow_away_from_messages(void **state)
{
	static struct world w;
	int64_t before, after;

	(void)state;
	seed = 13;
	w.hosts = 2;
	w.links = (struct thrum__world_links){.all = w.all, .messages = w.messages};
	for (uint32_t i = 0; i < 2; i++)
		host_make(&w, i, 0, true);
	for (int i = 0; i < 200; i++) {
		send(&w, 0, 1, UNIFORM, 0);
		send(&w, 1, 0, UNIFORM, 0);
	}
	/* Those after two minutes are taken away. */
	w.links.message_count = 0;
	for (uint32_t i = 0; i < w.links.count; i += 2)
		if ((double)w.all[i].clock < shows(&w, w.all[i].part, 120 * S))
			w.messages[w.links.message_count++] = (struct thrum__world_message){i,
				i + 1};
	assert_true(w.links.message_count > 40);
	assert_int_equal(thrum__world_times_make(&w.times, w.parts, 2, &w.links, NULL, 0), 0);
	before = check(&w, 0, 1, 60 * S);
	after = check(&w, 0, 1, DURATION - S);
	print_message("error %.0f us beside messages, %.0f ms far from them\n",
		(double)before / 1e3, (double)after / 1e6);
	assert_in_range(before, 50000, 1000000);
	assert_in_range(after, 10000000, 300000000);
	/* A window has its own error, and the whole trace the greatest. */
	assert_true(thrum__read_clock_error(&w.times.apart, 0, 1, 50 * (int64_t)S,
			    70 * (int64_t)S) < 2000000);
	assert_true(thrum__read_clock_worst(&w.times.apart, 1, 0) >= after);
	assert_true(thrum__read_clock_error(&w.times.apart, 0, 1, (int64_t)DURATION,
			    2 * (int64_t)DURATION) > after + (int64_t)(500 * S * 200e-6));
	thrum__world_times_finish(&w.times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_true_errors_in_a_thousand_worlds),
		cmocka_unit_test(neighbours_are_known_best),
		cmocka_unit_test(errors_grow_away_from_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
