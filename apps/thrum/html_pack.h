/* SPDX-License-Identifier: ISC */
/* Bytes as a page holds them: gzip in base64. */
#ifndef HTML_PACK_H
#define HTML_PACK_H

#include <stdbool.h>

#include "output.h"

#define PACK_BLOCK ((size_t)4 << 20) /* the most that is packed at once */

/* Whether this build can: it needs zlib. */
bool pack_is_possible(void);

/* Writes them as one member of gzip, in base64. Returns 0, or -1 without memory. */
int pack_block(struct output *, const void *bytes, size_t size);

#endif
