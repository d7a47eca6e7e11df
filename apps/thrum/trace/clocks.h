/* SPDX-License-Identifier: ISC */
/* Tells how well the clocks of the machines in a trace are known. */
#ifndef TRACE_CLOCKS_H
#define TRACE_CLOCKS_H

#include <thrum/trace.h>

#include "line/output.h"

/* By how many ns times of a lane may be wrong to those of the first machine, at some time from `from` to
 * `until`; INT64_MAX: by any. Times beyond the trace don't count. */
int64_t clocks_error(const struct thrum_trace *, unsigned lane, int64_t from, int64_t until);

/* Writes a line for each process that has another clock than the first one: "clock of stock@beta ± 12 µs". */
void clocks_write(struct output *, const struct thrum_trace *, int64_t from, int64_t until);

#endif
