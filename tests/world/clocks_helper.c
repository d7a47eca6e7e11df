/* SPDX-License-Identifier: ISC */
#include "clocks_helper.h"

#include <math.h>

uint64_t seed;

double random_unit(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return ((double)(seed >> 11) + 0.5) * 0x1p-53;
}

double between(double low, double high)
{
	return low + (high - low) * random_unit();
}

static double normal(void)
{
	return sqrt(-2 * log(random_unit())) * cos(2 * acos(-1) * random_unit());
}

void clock_make(struct clock *clock, double ppm, double wander)
{
	double speed = ppm * 1e-6;

	clock->ahead[0] = between(-S, S);
	for (int i = 0; i <= STEPS; i++) {
		speed += normal() * wander * 1e-6 * sqrt(STEP / (60 * S));
		clock->ahead[i + 1] = clock->ahead[i] + speed * STEP;
	}
}

double clock_stop(struct clock *clock, double at, double duration)
{
	int first = (int)(at / STEP) + 1;

	for (int i = first; i < STEPS + 2; i++)
		clock->ahead[i] -= duration;
	return first * STEP;
}

double clock_at(const struct clock *clock, double t)
{
	int i = (int)(t / STEP);
	double part = t / STEP - i;

	return t + clock->ahead[i] + (clock->ahead[i + 1] - clock->ahead[i]) * part;
}

double delay(enum delays kind)
{
	double d = kind == UNIFORM  ? between(50e3, 5e6)
		: kind == LOGNORMAL ? 50e3 + 200e3 * exp(normal())
				    : 50e3 - 1e6 * log(random_unit());

	return d < 5e6 ? d : 5e6;
}
