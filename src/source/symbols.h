/* SPDX-License-Identifier: ISC */
/* Names for addresses in files of code. Private to source/. */
#ifndef SOURCE_SYMBOLS_H
#define SOURCE_SYMBOLS_H

#include "read/read.h"

/* Returns a namer that reads symbols and DWARF of the files on this machine, or NULL if thrum was
 * built without libdw, or memory is short. */
struct thrum__read_namer *thrum__source_symbols_create(void);
void thrum__source_symbols_destroy(struct thrum__read_namer *);

#endif
