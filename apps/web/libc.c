/* SPDX-License-Identifier: ISC */
/* Replacements of functions of wasi-libc that are too large or too slow here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The browser's own copying takes no code here. */
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

/* wasi-libc's takes 2 kB, as it is quick in long texts. */
char *strstr(const char *text, const char *wanted)
{
	size_t size = strlen(wanted);

	for (; strncmp(text, wanted, size) != 0; text++)
		if (!*text)
			return NULL;
	return (char *)text;
}

static void swap(char *a, char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

/* Heapsort: a few lines in place of 2 kB. Long arrays are sorted by base/sort.h. */
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	char *all = items;
	size_t start = count / 2, end = count;

	while (end > 1) {
		if (start > 0)
			start--;
		else
			swap(all, all + --end * size, size);
		for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end &&
				compare(all + child * size, all + (child + 1) * size) < 0)
				child++;
			if (compare(all + root * size, all + child * size) >= 0)
				break;
			swap(all + root * size, all + child * size, size);
		}
	}
}
