/* SPDX-License-Identifier: ISC */
/* Replacements of functions of wasi-libc that are too large or too slow here. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "core.h"

/* libm takes 8 kB of code and tables for these, and JavaScript's Math has them. */
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
 * malloc gets its memory here. wasi-libc's own sbrk grows the module's memory by a page or two at a
 * time. Each growth makes new views in JavaScript necessary and may move the whole memory.
 */

#define PAGE 65536u
#define STEP (16u << 20) /* bytes, the least growth; else an eighth of the memory */

void *sbrk(intptr_t increment)
{
	static uint64_t end; /* of malloc's memory */
	uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE, wanted;

	if (end == 0) /* malloc uses the memory between the data and here by itself */
		end = have;
	wanted = end + (uint64_t)(increment > 0 ? increment : 0);
	if (increment < 0 || wanted > UINT32_MAX) {
		errno = ENOMEM;
		return (void *)-1;
	}
	if (wanted > have) {
		uint64_t missing = (wanted - have + PAGE - 1) / PAGE;
		uint64_t step = (have / 8 > STEP ? have / 8 : STEP) / PAGE;

		/* Near the limit, just as much as is needed. */
		if (__builtin_wasm_memory_grow(0, missing > step ? missing : step) == SIZE_MAX &&
			__builtin_wasm_memory_grow(0, missing) == SIZE_MAX) {
			errno = ENOMEM;
			return (void *)-1;
		}
	}
	end = wanted;
	return (void *)(uintptr_t)(end - (uint64_t)increment);
}
