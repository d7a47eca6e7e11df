/* SPDX-License-Identifier: ISC */
/* Small replacements of functions of wasi-libc, whose own take 12 kB: they are made for speed, for files and
 * for all that C asks of them. These do as much as the rooms use; a conversion that they don't know traps. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- snprintf: %s and %c, integers, of which some are filled with zeros, and %% --------------- */

struct out {
	char *to;
	size_t size, used;
};

static void put(struct out *out, const char *bytes, size_t size)
{
	for (; size > 0; size--, out->used++, bytes++)
		if (out->used + 1 < out->size)
			out->to[out->used] = *bytes;
}

static void put_number(struct out *out, char kind, uint64_t value, int width)
{
	unsigned base = kind == 'o' ? 8 : kind == 'd' || kind == 'u' ? 10 : 16;
	bool is_negative = kind == 'd' && (int64_t)value < 0;
	char text[32];
	int used = 0;

	value = is_negative ? -value : value;
	do {
		unsigned digit = (unsigned)(value % base);

		text[sizeof text - 1 - used++] = (char)(digit +
			(digit < 10 ? '0' : (kind == 'X' ? 'A' : 'a') - 10));
		value /= base;
	} while (value > 0);
	while (used + is_negative < width && used < (int)sizeof text - 1)
		text[sizeof text - 1 - used++] = '0';
	if (is_negative)
		text[sizeof text - 1 - used++] = '-';
	put(out, text + sizeof text - used, (size_t)used);
}

/* Reads a width or a precision. */
static int read_size(const char **at, va_list *arguments)
{
	int size = 0;

	if (**at == '*') {
		++*at;
		return va_arg(*arguments, int);
	}
	while (**at >= '0' && **at <= '9')
		size = 10 * size + *(*at)++ - '0';
	return size;
}

/* Writes the conversion at a place behind its %. Returns its end. */
static const char *convert(struct out *out, const char *at, va_list *arguments)
{
	int width = *at == '0' ? (at++, read_size(&at, arguments)) : 0, most = -1;
	const char *text;
	size_t size = 0;
	bool is_long;
	char byte = '%';

	if (*at == '.') {
		at++;
		most = read_size(&at, arguments);
	}
	is_long = at[0] == 'l' && at[1] == 'l';
	at += is_long ? 2 : 0;
	switch (*at) {
	case 's':
		text = va_arg(*arguments, const char *);
		while (size != (size_t)most && text[size])
			size++;
		put(out, text, size);
		break;
	case 'c': byte = (char)va_arg(*arguments, int); /* fall through */
	case '%': put(out, &byte, 1); break;
	case 'd':
		put_number(out, 'd',
			(uint64_t)(is_long ? va_arg(*arguments, long long)
					   : va_arg(*arguments, int)),
			width);
		break;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		put_number(out, *at,
			is_long ? va_arg(*arguments, unsigned long long)
				: va_arg(*arguments, unsigned),
			width);
		break;
	default: __builtin_trap();
	}
	return at + 1;
}

int vsnprintf(char *to, size_t size, const char *format, va_list arguments)
{
	struct out out = {to, size, 0};
	va_list rest;

	va_copy(rest, arguments);
	while (*format) {
		if (*format == '%')
			format = convert(&out, format + 1, &rest);
		else
			put(&out, format++, 1);
	}
	va_end(rest);
	if (size > 0)
		to[out.used < size ? out.used : size - 1] = '\0';
	return (int)out.used;
}

int snprintf(char *to, size_t size, const char *format, ...)
{
	va_list arguments;
	int used;

	va_start(arguments, format);
	used = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	return used;
}

/* ---- Numbers and words in texts -------------------------------------------------------------- */

static int value_of(char digit)
{
	return digit >= '0' && digit <= '9'    ? digit - '0'
		: digit >= 'a' && digit <= 'z' ? digit - 'a' + 10
		: digit >= 'A' && digit <= 'Z' ? digit - 'A' + 10
					       : 99;
}

/* Reads digits; too large a number becomes `most`, and errno ERANGE. Returns where they end. */
static const char *read_digits(const char *at, int base, uint64_t most, uint64_t *value)
{
	bool is_large = false;

	*value = 0;
	for (; value_of(*at) < base; at++) {
		uint64_t digit = (uint64_t)value_of(*at);

		is_large |= *value > (most - digit) / (uint64_t)base;
		*value = *value * (uint64_t)base + digit;
	}
	if (is_large) {
		*value = most;
		errno = ERANGE;
	}
	return at;
}

static const char *skip_spaces(const char *at)
{
	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	return at;
}

long long strtoll(const char *text, char **end, int base)
{
	const char *digits = skip_spaces(text), *at;
	bool is_negative = *digits == '-';
	uint64_t value;

	digits += is_negative || *digits == '+';
	at = read_digits(digits, base, INT64_MAX + (uint64_t)is_negative, &value);
	if (end)
		*end = (char *)(at > digits ? at : text);
	return (long long)(is_negative ? -value : value);
}

unsigned long long strtoull(const char *text, char **end, int base)
{
	const char *digits = skip_spaces(text), *at;
	uint64_t value;

	digits += base == 16 && digits[0] == '0' && digits[1] == 'x' && value_of(digits[2]) < 16
		? 2
		: 0;
	at = read_digits(digits, base, UINT64_MAX, &value);
	if (end)
		*end = (char *)(at > digits ? at : text);
	return value;
}

char *strstr(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (; strncmp(text, word, size) != 0; text++)
		if (!*text)
			return NULL;
	return (char *)text;
}

/* ---- Sorting ------------------------------------------------------------------------------- */

typedef int compare_items(const void *, const void *);

static void swap(char *a, char *b, size_t size)
{
	while (size-- > 0) {
		char byte = a[size];

		a[size] = b[size];
		b[size] = byte;
	}
}

/* Moves an item of a heap down to where no child is greater. */
static void sink(char *items, size_t at, size_t count, size_t size, compare_items *compare)
{
	for (size_t child = 2 * at + 1; child < count; at = child, child = 2 * at + 1) {
		if (child + 1 < count &&
			compare(items + child * size, items + (child + 1) * size) < 0)
			child++;
		if (compare(items + at * size, items + child * size) >= 0)
			return;
		swap(items + at * size, items + child * size, size);
	}
}

void qsort(void *items, size_t count, size_t size, compare_items *compare)
{
	for (size_t i = count / 2; i-- > 0;)
		sink(items, i, count, size, compare);
	for (size_t end = count; end-- > 1;) {
		swap(items, (char *)items + end * size, size);
		sink(items, 0, end, size, compare);
	}
}
