/* SPDX-License-Identifier: ISC */
/* Packs bytes, for a page or a profile: gzip, and base64. */
#ifndef CONVERT_PACK_H
#define CONVERT_PACK_H

#include <stdbool.h>

#include "line/output.h"

#define PACK_BLOCK ((size_t)4 << 20) /* bytes: the most in one call */

/* Returns whether this build has zlib. */
bool pack_is_possible(void);

/* Writes the bytes as one gzip member in base64. Returns 0, or -1 if memory is exhausted or there
 * is no zlib. */
int pack_block(struct output *, const void *bytes, size_t size);

/* The same, as it is. */
int pack_gzip(struct output *, const void *bytes, size_t size);

#endif
