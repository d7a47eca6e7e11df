/* SPDX-License-Identifier: ISC */
/* Packs standard input by zlib, as builds without libdeflate do: as a block of a page, or with an argument as
 * gzip alone. */
#include <stdio.h>
#include <stdlib.h>

#include "convert/pack.h"

int main(int argc, char **argv)
{
	/* Beyond a block, so that a full one follows as a large trace has it. */
	char *bytes = malloc(2 * PACK_BLOCK);
	size_t size = bytes ? fread(bytes, 1, 2 * PACK_BLOCK, stdin) : 0;
	struct output out;
	int result = -1;

	if (bytes && output_open(&out, 1) == 0) {
		result = argc > 1 ? pack_gzip(&out, bytes, size) : pack_block(&out, bytes, size);
		result |= output_close(&out);
	}
	free(bytes);
	return result != 0;
}
