/* SPDX-License-Identifier: ISC */
/* Formatting: print.c. */
#ifndef CORE_LIBC_STDIO_H
#define CORE_LIBC_STDIO_H

#include <stdarg.h>
#include <stddef.h>

int vsnprintf(char *to, size_t size, const char *format, va_list);

#endif
