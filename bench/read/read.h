/* SPDX-License-Identifier: ISC */
/* Recordings for the benchmark of readers. */
#ifndef BENCH_READ_H
#define BENCH_READ_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Writes a file of `events` records: 20 % switch, 20 % wait, 20 % resolve, 15 % create with a label
 * of ten characters, 15 % read, 10 % counter. The order is random, so that no branch predictor can
 * learn it. Returns false and sets errno on an error.
 */
bool make_recording(const char *file, unsigned events);
/* Writes the same in mirage-profile's layout, where a label is an event of its own, and the
 * metadata that babeltrace2 needs. */
bool make_mirage(const char *file, const char *metadata, unsigned events);

#endif
