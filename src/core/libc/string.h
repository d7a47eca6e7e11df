/* SPDX-License-Identifier: ISC */
/* Memory and strings: memory.c. */
#ifndef CORE_LIBC_STRING_H
#define CORE_LIBC_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memchr(const void *from, int byte, size_t size);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t max);
char *strchr(const char *text, int byte);
char *strrchr(const char *text, int byte);
char *strstr(const char *text, const char *part);

#endif
