/* SPDX-License-Identifier: ISC */
/* The traces of Xen's guests. Internal to source/, apart from tests. */
#ifndef SOURCE_XEN_H
#define SOURCE_XEN_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

/*
 * Reads a list of grant references as guests publish it: numbers with commas between them; "8-11"
 * stands for 8,9,10,11. Returns their number, at most `max`; 0 for anything else.
 */
uint32_t thrum__source_xen_references(const char *text, uint32_t *references, uint32_t max);

/* Reads the answer to a question: the question, a blank, and the guest's CLOCK_MONOTONIC in ns. Returns
 * false, and leaves *ns, if it is anything else. */
bool thrum__source_xen_answer(const char *text, uint64_t question, uint64_t *ns);

/* Reads how the clocks compared when dom0 last asked: the members as numbers with blanks between them,
 * the first one in hexadecimal. Returns false, and leaves *clock, if it is anything else. */
bool thrum__source_xen_compared(const char *text, struct thrum__host_clock *clock);

#endif
