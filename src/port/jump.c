/* SPDX-License-Identifier: ISC */
/* Jumps at the end of functions, by which compilers replace a last call. */
#include <stddef.h>
#include <string.h>

#include "port/port.h"

#if defined(__x86_64__)

#define CALL 0xe8 /* with 32 bits of distance; so is JUMP */
#define JUMP 0xe9
#define SHORT 0xeb /* with 8 bits */
#define FAR_SIZE 5
#define SHORT_SIZE 2

/* The target of an instruction whose distance of 32 bits ends at `end`. */
static const unsigned char *far_target(const unsigned char *end)
{
	int32_t distance;

	memcpy(&distance, end - sizeof distance, sizeof distance);
	return end + distance;
}

const void *thrum__port_called(const void *returns)
{
	const unsigned char *end = returns;

	return end[-FAR_SIZE] == CALL ? far_target(end) : NULL;
}

const void *thrum__port_jumped(const void *behind)
{
	const unsigned char *end = behind;

	return end[-FAR_SIZE] == JUMP       ? far_target(end)
		: end[-SHORT_SIZE] == SHORT ? end + (signed char)end[-1]
					    : NULL;
}

const void *thrum__port_find_jump(const void *from, const void *end, const void *to)
{
	const unsigned char *last = end;

	for (const unsigned char *at = from; last - at >= SHORT_SIZE; at++) {
		if (*at == JUMP && last - at >= FAR_SIZE && far_target(at + FAR_SIZE) == to)
			return at + FAR_SIZE;
		if (*at == SHORT && at + SHORT_SIZE + (signed char)at[1] == to)
			return at + SHORT_SIZE;
	}
	return NULL;
}

#else

const void *thrum__port_called(const void *returns)
{
	(void)returns;
	return NULL;
}

const void *thrum__port_jumped(const void *behind)
{
	(void)behind;
	return NULL;
}

const void *thrum__port_find_jump(const void *from, const void *end, const void *to)
{
	(void)from;
	(void)end;
	(void)to;
	return NULL;
}

#endif
