/* SPDX-License-Identifier: ISC */
/* Clocks that drift and wander, and how long messages take, by a random number that each test begins anew. */
#ifndef TESTS_CLOCKS_HELPER_H
#define TESTS_CLOCKS_HELPER_H

#include <stdint.h>

#define S 1e9 /* ns */
#define HOUR (3600 * S)
#define STEP (10 * S) /* a clock changes its speed so often */
#define STEPS 400

extern uint64_t seed;

double random_unit(void);
double between(double low, double high);

/* By how much a clock is ahead of the true time. */
struct clock {
	double ahead[STEPS + 2];
};

/* The speed differs by `ppm`, and walks at random by `wander` ppm a root of a minute. */
void clock_make(struct clock *, double ppm, double wander);
/* The machine stands still, for so many ns, and its clock with it. Returns when that is over; it takes
 * one step of the clock's. */
double clock_stop(struct clock *, double at, double duration);
double clock_at(const struct clock *, double t);

enum delays {
	UNIFORM,
	LOGNORMAL, /* of a median of 250 us */
	EXPONENTIAL,
	DELAYS,
};

double delay(enum delays);

#endif
