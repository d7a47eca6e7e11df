/* SPDX-License-Identifier: ISC */
/*
 * The functions on memory and strings that the recorder calls, and those that compilers call by
 * themselves. They are compiled so that no loop becomes a call of the function it is in.
 */
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	while (size--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if ((uintptr_t)t <= (uintptr_t)f)
		return memcpy(to, from, size);
	while (size--)
		t[size] = f[size];
	return to;
}

void *memset(void *to, int byte, size_t size)
{
	uint8_t *t = to;

	while (size--)
		*t++ = (uint8_t)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const uint8_t *x = a, *y = b;

	for (; size; size--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

void *memchr(const void *from, int byte, size_t size)
{
	const uint8_t *f = from;

	for (; size; size--, f++)
		if (*f == (uint8_t)byte)
			return (void *)(uintptr_t)f;
	return NULL;
}

size_t strnlen(const char *text, size_t max)
{
	size_t length = 0;

	while (length < max && text[length])
		length++;
	return length;
}

size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t max)
{
	for (; max; max--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
	return memchr(text, byte, strlen(text) + 1);
}

char *strrchr(const char *text, int byte)
{
	for (size_t i = strlen(text) + 1; i > 0; i--)
		if (text[i - 1] == (char)byte)
			return (char *)(uintptr_t)(text + i - 1);
	return NULL;
}

char *strstr(const char *text, const char *part)
{
	size_t size = strlen(part);

	for (; *text; text++)
		if (strncmp(text, part, size) == 0)
			return (char *)(uintptr_t)text;
	return size ? NULL : (char *)(uintptr_t)text;
}
