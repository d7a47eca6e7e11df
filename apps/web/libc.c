/* SPDX-License-Identifier: ISC */
/* What of libc is better done otherwise here. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "core.h"

/* 8 kB of code and tables in libm; and Math has them. */
IMPORT(pow) double page_pow(double, double);
IMPORT(exp) double page_exp(double);

double pow(double x, double y)
{
	return page_pow(x, y);
}

double exp(double x)
{
	return page_exp(x);
}

/*
 * Where malloc's memory comes from. wasi-libc's own sbrk grows the module's memory by a page or two
 * at a time; each growth makes new views in JavaScript and may move everything.
 */

#define PAGE 65536u
#define STEP (16u << 20) /* at least; or an eighth of what there is */

void *sbrk(intptr_t increment)
{
	static uint64_t end; /* of what malloc has */
	uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE, wanted;

	if (end == 0) /* malloc takes what lies between the data and here by itself */
		end = have;
	wanted = end + (uint64_t)(increment > 0 ? increment : 0);
	if (increment < 0 || wanted > UINT32_MAX) {
		errno = ENOMEM;
		return (void *)-1;
	}
	if (wanted > have) {
		uint64_t missing = (wanted - have + PAGE - 1) / PAGE;
		uint64_t step = (have / 8 > STEP ? have / 8 : STEP) / PAGE;

		/* Near the limit, just what is needed. */
		if (__builtin_wasm_memory_grow(0, missing > step ? missing : step) == SIZE_MAX &&
			__builtin_wasm_memory_grow(0, missing) == SIZE_MAX) {
			errno = ENOMEM;
			return (void *)-1;
		}
	}
	end = wanted;
	return (void *)(uintptr_t)(end - (uint64_t)increment);
}
