/* SPDX-License-Identifier: ISC */
/*
 * The floor: the least that any recorder must do. It reads the clock once and stores 24 bytes into
 * a ring that is never read: two ids, or a text of 12 characters.
 */
#include "bench.h"

#include <string.h>
#include <time.h>

static bool use_tsc;

static inline uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t tsc(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
	return monotonic();
#endif
}

static inline void put64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, 8);
}

static inline size_t next(size_t position)
{
	return position + 48 > RING_SIZE ? 0 : position + 24;
}

static inline __attribute__((always_inline)) void fixed(struct runner *runner, unsigned events,
	uint64_t (*clock)(void))
{
	uint8_t *ring = runner->ring;
	size_t position = runner->position;

	for (unsigned i = 0; i < events; i++) {
		put64(ring + position, clock());
		put64(ring + position + 8, i);
		put64(ring + position + 16, i ^ 1);
		position = next(position);
		BARRIER();
	}
	runner->position = position;
}

static inline __attribute__((always_inline)) void text(struct runner *runner, unsigned events,
	uint64_t (*clock)(void))
{
	uint8_t *ring = runner->ring;
	size_t position = runner->position;

	for (unsigned i = 0; i < events; i++) {
		const char *from = bench_text12[i & 3];

		put64(ring + position, clock());
		memcpy(ring + position + 8, from, 13);
		position = next(position);
		BARRIER();
	}
	runner->position = position;
}

void bench_floor_init(bool is_tsc)
{
	use_tsc = is_tsc;
}

uint64_t bench_clock(void)
{
	return use_tsc ? tsc() : monotonic();
}

double bench_clock_rate(void)
{
	return use_tsc ? (double)recording_clock_frequency() / 1e9 : 1;
}

void bench_floor_fixed(struct runner *runner, unsigned events)
{
	if (use_tsc)
		fixed(runner, events, tsc);
	else
		fixed(runner, events, monotonic);
}

void bench_floor_text(struct runner *runner, unsigned events)
{
	if (use_tsc)
		text(runner, events, tsc);
	else
		text(runner, events, monotonic);
}

void bench_empty_loop(struct runner *runner, unsigned events)
{
	(void)runner;
	for (unsigned i = 0; i < events; i++)
		BARRIER();
}
