/* SPDX-License-Identifier: ISC */
/* What the parts of the benchmark share. */
#ifndef BENCH_READ_H
#define BENCH_READ_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes a file of `events` records: 20 % switch, 20 % wait, 20 % resolve, 15 % create with a label
 * of ten characters, 15 % read, 10 % counter, in random order, so that no branch predictor knows
 * what comes. False: errno says why.
 */
bool make_recording(const char *file, unsigned events);
/* The same in mirage-profile's layout, where a label is an event of its own; and the metadata that
 * babeltrace2 needs. */
bool make_mirage(const char *file, const char *metadata, unsigned events);

#endif
