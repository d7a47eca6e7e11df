/* SPDX-License-Identifier: ISC */
/* There is no environment. */
#ifndef CORE_LIBC_STDLIB_H
#define CORE_LIBC_STDLIB_H

#include <stddef.h>

static inline char *getenv(const char *name)
{
	(void)name;
	return NULL;
}

static inline char *secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

/* Numbers come from the environment only. */
static inline unsigned long long strtoull(const char *text, char **end, int base)
{
	(void)base;
	*end = (char *)text;
	return 0;
}

#endif
