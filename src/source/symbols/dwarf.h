/* SPDX-License-Identifier: ISC */
/* dwarf.c: functions and lines of addresses, by debugging information. */
#ifndef SOURCE_SYMBOLS_DWARF_H
#define SOURCE_SYMBOLS_DWARF_H

#ifdef HAVE_LIBDW

#include <elfutils/libdwfl.h>

#include "read/read.h"

/* How a function is named that is inlined into another one, or jumps out of it. */
struct thrum__source_outer {
	const char *function; /* the other one; NULL: there is none */
	bool is_needed; /* only both names tell the place, which is that in the outer function */
};

/* Finds the function around an address, and the line in it. Code that is inlined from a library's
 * header counts as the line that calls it. Leaves the members of *site alone that aren't known, and
 * *outer. */
void thrum__source_name_address(Dwfl_Module *, uint64_t address, struct thrum_trace_site *,
	struct thrum__source_outer *);
/* The same for a call that a library was told of, and that returns to this address. */
void thrum__source_name_call(Dwfl_Module *, uint64_t returns, struct thrum_trace_site *,
	struct thrum__source_outer *);

#endif
#endif
