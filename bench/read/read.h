/* SPDX-License-Identifier: ISC */
/* Makes the files that the benchmark of reading reads. Private to bench/read/. */
#ifndef BENCH_READ_H
#define BENCH_READ_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes a file of `events` records: 20 % switch, 20 % wait, 20 % resolve, 15 % create with a label
 * of ten characters, 15 % read, 10 % counter. The order is random, so that no branch predictor
 * guesses the next one. False: errno tells the cause.
 */
bool make_recording(const char *file, unsigned events);
/* Writes the same events in mirage-profile's layout, where a label is an event of its own, and the
 * metadata that babeltrace2 needs. */
bool make_mirage(const char *file, const char *metadata, unsigned events);

#endif
