/* SPDX-License-Identifier: ISC */
/* The browser's own copying takes no code here. */
#include <string.h>

#define BULK __attribute__((target("bulk-memory")))

BULK void *memcpy(void *to, const void *from, size_t size)
{
	return __builtin_memcpy(to, from, size);
}

BULK void *memmove(void *to, const void *from, size_t size)
{
	return __builtin_memmove(to, from, size);
}

BULK void *memset(void *to, int byte, size_t size)
{
	return __builtin_memset(to, byte, size);
}
