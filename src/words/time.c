/* SPDX-License-Identifier: ISC */
/* Durations, times and counts as people write them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "words/words.h"

static const struct unit {
	int64_t ns;
	const char *word;
	size_t size;
} units[] = {{1000000000, "s", 1}, {1000000, "ms", 2}, {1000, "µs", 3}, {1, "ns", 2}};

/* Long tables have millions of divisions, and a constant divides several times as fast. */
static uint64_t count_of(uint64_t ns, const struct unit *unit)
{
	switch (unit->ns) {
	case 1000000000: return ns / 1000000000;
	case 1000000: return ns / 1000000;
	case 1000: return ns / 1000;
	default: return ns;
	}
}

/* The largest unit that is no more than ns. */
static const struct unit *unit_of(uint64_t ns)
{
	const struct unit *unit = units;

	while (unit->ns > 1 && ns < (uint64_t)unit->ns)
		unit++;
	return unit;
}

/* Writes at least so many digits before `end`. Returns their begin. */
static char *put_digits(char *end, uint64_t number, int least)
{
	for (; number > 0 || least > 0; number /= 10, least--)
		*--end = (char)('0' + number % 10);
	return end;
}

#define MINUS "−"

/* Prints ns as a decimal number of `unit`; `trims` drops zeros at the end. Doesn't use printf: long tables
 * have millions of them, and the decimal point of its %f depends on the program's locale. */
static size_t print_decimal(uint64_t ns, bool is_negative, const struct unit *unit, int decimals,
	bool trims, char *to, size_t size)
{
	uint64_t scale = 1, whole = count_of(ns, unit), rest = ns - whole * (uint64_t)unit->ns;
	char text[64], *end = text + sizeof text, *at = end - unit->size;

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	rest = count_of(rest * scale + (uint64_t)unit->ns / 2, unit);
	if (rest >= scale) {
		whole++;
		rest = 0;
	}
	while (trims && decimals > 0 && rest % 10 == 0) {
		rest /= 10;
		decimals--;
	}
	memcpy(at, unit->word, unit->size);
	*--at = ' ';
	if (decimals > 0) {
		at = put_digits(at, rest, decimals);
		*--at = '.';
	}
	at = put_digits(at, whole, 1);
	if (is_negative) {
		at -= strlen(MINUS);
		memcpy(at, MINUS, strlen(MINUS));
	}
	size_t length = (size_t)(end - at), kept = length < size ? length : size - 1;

	if (size > 0) {
		memcpy(to, at, kept);
		to[kept] = '\0';
	}
	return length;
}

static uint64_t magnitude(int64_t ns)
{
	return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

size_t thrum__words_duration(int64_t ns, int digits, char *to, size_t size)
{
	uint64_t absolute = magnitude(ns);
	const struct unit *unit = unit_of(absolute);
	int decimals = digits - 1;

	for (uint64_t whole = count_of(absolute, unit); whole >= 10; whole /= 10)
		decimals--;
	if (unit->ns == 1 || decimals < 0)
		decimals = 0;
	/* With three digits, 999.7 ms rounds to 1 s. */
	if (unit > units && decimals == 0 &&
		count_of(absolute + (uint64_t)unit->ns / 2, unit) == 1000)
		unit--;
	return print_decimal(absolute, ns<0, unit, decimals> 9 ? 9 : decimals, true, to, size);
}

size_t thrum__words_time(int64_t ns, int64_t step, char *to, size_t size)
{
	uint64_t absolute = magnitude(ns);
	const struct unit *unit = unit_of(absolute + (uint64_t)(step > 0 ? step / 2 : 0));
	int decimals = 0;

	if (ns == 0)
		return (size_t)snprintf(to, size, "0");
	for (int64_t resolved = unit->ns; resolved > step && resolved > 1; resolved /= 10)
		decimals++;
	return print_decimal(absolute, ns < 0, unit, decimals, false, to, size);
}

int64_t thrum__words_time_unit(const char *text, size_t *size)
{
	static const struct unit all[] = {{1, "ns", 2}, {1000, "us", 2},
		{1000, "µs", 3}, /* U+00B5, the micro sign */
		{1000, "μs", 3}, /* U+03BC, the Greek letter */
		{1000000, "ms", 2}, {INT64_C(60000000000), "min", 3}, {1000000000, "s", 1},
		{INT64_C(3600000000000), "h", 1}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		*size = all[i].size;
		if (strncmp(text, all[i].word, *size) == 0)
			return all[i].ns;
	}
	*size = 0;
	return 0;
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* Doesn't use strtod, whose decimal point depends on the locale. */
const char *thrum__words_read_amount(const char *text, double *number, int64_t *unit)
{
	const char *at = skip_blanks(text), *start = at;
	double scale = 1;
	size_t size;

	*number = 0;
	*unit = 0;
	for (; *at >= '0' && *at <= '9'; at++)
		*number = *number * 10 + (*at - '0');
	if (at == start)
		return NULL;
	if (*at == '.' && at[1] >= '0' && at[1] <= '9')
		while (*++at >= '0' && *at <= '9')
			*number += (*at - '0') * (scale /= 10);
	at = skip_blanks(at);
	*unit = thrum__words_time_unit(at, &size);
	return skip_blanks(at + size);
}

size_t thrum__words_number(uint64_t number, char to[THRUM__NUMBER_ROOM])
{
	char digits[THRUM__NUMBER_ROOM], *at = digits + sizeof digits;
	size_t count = 0;

	do {
		if (count > 0 && count % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		count++;
	} while (number > 0);
	count = (size_t)(digits + sizeof digits - at);
	memcpy(to, at, count);
	to[count] = '\0';
	return count;
}

size_t thrum__words_event_time(int64_t time, char *to, size_t size)
{
	bool is_short = time > -1000000 && time < 1000000;

	return thrum__words_time(time, is_short ? 100 : 1000, to, size);
}

size_t thrum__words_decimal(double number, int decimals, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	uint64_t scale = 1, scaled;

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	scaled = number > 0 && number < 1e9 ? (uint64_t)(number * (double)scale + 0.5)
		: number > 0                ? (uint64_t)1000000000 * scale
					    : 0;
	thrum__base_text_number(&text, (int64_t)(scaled / scale));
	if (decimals > 0)
		thrum__base_text_byte(&text, '.');
	while (scale > 1) {
		scale /= 10;
		thrum__base_text_byte(&text, (char)('0' + scaled / scale % 10));
	}
	return text.size;
}

size_t thrum__words_percent(double share, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	char number[32];

	thrum__words_decimal(100 * share, share > 0 && share < 0.01, number, sizeof number);
	thrum__base_text_put(&text, number);
	thrum__base_text_put(&text, " %");
	return text.size;
}
