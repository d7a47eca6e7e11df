/* SPDX-License-Identifier: ISC */
/* Formats texts: the conversions that thrum/core.h names. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The text so far; `length` also counts the bytes for which there is no room. */
struct text {
	char *to;
	size_t size, length;
};

/* One conversion: %[-0][width][.precision][length]letter */
struct conversion {
	bool left, zeros, has_precision;
	size_t width, precision;
	unsigned longs;  /* the number of l, or 2 for other long types */
	unsigned shorts; /* the number of h */
	char letter;
};

static void put(struct text *text, char byte)
{
	if (text->length + 1 < text->size)
		text->to[text->length] = byte;
	text->length++;
}

static void put_padded(struct text *text, const struct conversion *c, const char *from, size_t size)
{
	size_t pad = c->width > size ? c->width - size : 0;

	for (; pad && !c->left; pad--)
		put(text, c->zeros ? '0' : ' ');
	for (; size; size--)
		put(text, *from++);
	for (; pad; pad--)
		put(text, ' ');
}

static void put_number(struct text *text, struct conversion *c, uint64_t number, bool is_negative)
{
	char digits[24];
	size_t at = sizeof digits;
	unsigned base = c->letter == 'x' || c->letter == 'p' ? 16 : 10;

	do
		digits[--at] = "0123456789abcdef"[number % base];
	while (number /= base);
	if (c->letter == 'p') {
		digits[--at] = 'x';
		digits[--at] = '0';
	}
	if (is_negative && c->zeros) {
		put(text, '-');
		c->width -= c->width > 0;
	} else if (is_negative) {
		digits[--at] = '-';
	}
	put_padded(text, c, digits + at, sizeof digits - at);
}

static size_t parse_number(const char **at)
{
	size_t number = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++)
		number = number < 100000 ? number * 10 + (size_t)(**at - '0') : number;
	return number;
}

/* Reads a conversion behind its percent sign, and moves *at behind it. */
static struct conversion parse_conversion(const char **at)
{
	struct conversion c = {0};

	for (; **at == '-' || **at == '0'; (*at)++) {
		c.left |= **at == '-';
		c.zeros |= **at == '0';
	}
	c.width = parse_number(at);
	if (**at == '.') {
		c.has_precision = true;
		(*at)++;
		c.precision = parse_number(at);
	}
	for (; **at == 'h'; (*at)++)
		c.shorts++;
	for (; **at && strchr("lzjt", **at); (*at)++)
		c.longs += **at == 'l' ? 1 : 2;
	c.letter = **at;
	if (c.letter)
		(*at)++;
	return c;
}

/* Returns an int as the type that was asked for: h stands for a short, hh for a char. */
static int64_t shorten(const struct conversion *c, int number)
{
	return c->shorts > 1 ? (signed char)number : c->shorts ? (short)number : number;
}

static uint64_t shorten_unsigned(const struct conversion *c, unsigned number)
{
	return c->shorts > 1 ? (unsigned char)number : c->shorts ? (unsigned short)number : number;
}

int vsnprintf(char *to, size_t size, const char *format, va_list arguments)
{
	struct text text = {to, size, 0};

	while (*format) {
		if (*format != '%') {
			put(&text, *format++);
			continue;
		}
		format++;
		struct conversion c = parse_conversion(&format);
		bool is_long = c.longs > 1 || (c.longs && sizeof(long) == 8);
		int64_t number;
		const char *string;
		char byte;

		switch (c.letter) {
		case 'd':
		case 'i':
			number = is_long ? va_arg(arguments, int64_t)
					 : shorten(&c, va_arg(arguments, int));
			put_number(&text, &c, number < 0 ? -(uint64_t)number : (uint64_t)number,
				number < 0);
			break;
		case 'u':
		case 'x':
			put_number(&text, &c,
				is_long ? va_arg(arguments, uint64_t)
					: shorten_unsigned(&c, va_arg(arguments, unsigned)),
				false);
			break;
		case 'p': put_number(&text, &c, (uintptr_t)va_arg(arguments, void *), false); break;
		case 'c':
			byte = (char)va_arg(arguments, int);
			put_padded(&text, &c, &byte, 1);
			break;
		case 's':
			string = va_arg(arguments, const char *);
			string = string ? string : "(null)";
			put_padded(&text, &c, string,
				strnlen(string, c.has_precision ? c.precision : SIZE_MAX));
			break;
		case '%': put(&text, '%'); break;
		default: /* unknown: the types of the other arguments are unknown, too */
			format += strlen(format);
			break;
		}
	}
	if (size)
		to[text.length < size ? text.length : size - 1] = '\0';
	return (int)text.length;
}
