/* SPDX-License-Identifier: ISC */
/* Converts numbers, times and sizes to text and back. escape.c has the texts. */
#define _GNU_SOURCE
#include "line/text.h"

#include <string.h>
#include <time.h>

#include "scene/scene.h"

#define NS_PER_S INT64_C(1000000000)

static const char pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
	"4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
	"888990919293949596979899";

static unsigned digits_of(uint64_t n)
{
	static const uint64_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000,
		100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, 10000000000000000000u};
	/* 1233 / 4096 is a little more than log10(2), so the guess is right or one too low. */
	unsigned guess = (64 - (unsigned)__builtin_clzll(n | 1)) * 1233 >> 12;

	return guess + (n >= powers[guess]);
}

char *put_unsigned(char *to, uint64_t n)
{
	char *end, *p;

	if (n < 10) {
		*to = (char)('0' + n);
		return to + 1;
	}
	p = end = to + digits_of(n);
	while (n >= 100) {
		p -= 2;
		memcpy(p, pairs + n % 100 * 2, 2);
		n /= 100;
	}
	if (n >= 10)
		memcpy(p - 2, pairs + n * 2, 2);
	else
		p[-1] = (char)('0' + n);
	return end;
}

char *put_signed(char *to, int64_t n)
{
	if (n >= 0)
		return put_unsigned(to, (uint64_t)n);
	*to = '-';
	return put_unsigned(to + 1, -(uint64_t)n);
}

char *put_id(char *to, uint64_t id, bool is_signed)
{
	return is_signed ? put_signed(to, (int64_t)id) : put_unsigned(to, id);
}

char *put_string(char *to, const char *text)
{
	size_t size = strlen(text);

	memcpy(to, text, size);
	return to + size;
}

char *put_spaces(char *to, size_t count)
{
	memset(to, ' ', count);
	return to + count;
}

char *put_count(char *to, uint64_t n)
{
	char words[THRUM__NUMBER_ROOM];
	size_t size = thrum__words_number(n, words);

	memcpy(to, words, size);
	return to + size;
}

char *put_size(char *to, uint64_t bytes)
{
	static const char *const units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
	uint64_t whole = bytes;
	unsigned unit = 0, tenth = 0;

	if (bytes < 1024) {
		to = put_unsigned(to, bytes);
		return put_string(to, bytes == 1 ? " byte" : " bytes");
	}
	while (whole >= 1024 && unit < 6) {
		tenth = (unsigned)(whole % 1024 * 10 / 1024);
		whole /= 1024;
		unit++;
	}
	to = put_unsigned(to, whole);
	*to++ = '.';
	*to++ = (char)('0' + tenth);
	return put_string(to, units[unit - 1]);
}

/* Writes three digits. */
static char *put_thousand(char *to, unsigned n)
{
	*to = (char)('0' + n / 100);
	memcpy(to + 1, pairs + n % 100 * 2, 2);
	return to + 3;
}

char *put_seconds(char *to, int64_t ns, size_t width)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	unsigned rest = (unsigned)(size % NS_PER_S);
	uint64_t seconds = size / NS_PER_S;
	size_t length = digits_of(seconds | 1) + (ns < 0) + 12;

	if (length < width)
		to = put_spaces(to, width - length);
	if (ns < 0)
		*to++ = '-';
	to = put_unsigned(to, seconds);
	*to++ = '.';
	to = put_thousand(to, rest / 1000000);
	*to++ = ' ';
	to = put_thousand(to, rest / 1000 % 1000);
	*to++ = ' ';
	return put_thousand(to, rest % 1000);
}

char *put_date(char *to, int64_t ns, int decimals)
{
	int64_t fraction = ns % NS_PER_S;
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;
	size_t n;

	if (fraction < 0) {
		fraction += NS_PER_S;
		seconds--;
	}
	if (!localtime_r(&seconds, &tm))
		return put_signed(to, ns);
	n = strftime(to, 24, "%Y-%m-%d %H:%M:%S", &tm);
	to += n;
	if (n > 0 && decimals > 0) {
		char digits[NUMBER_ROOM];

		put_unsigned(digits,
			(uint64_t)(fraction + NS_PER_S)); /* a leading 1 keeps the zeros */
		*to++ = '.';
		memcpy(to, digits + 1, (size_t)decimals);
		to += decimals;
	}
	return to + strftime(to, 8, " %z", &tm);
}

/* Reads the digits at *text. Returns false if there are none, or too many for 64 bits. */
static bool parse_digits(const char **text, uint64_t *n)
{
	const char *p = *text;

	*n = 0;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(*n, UINT64_C(10), n) ||
			__builtin_add_overflow(*n, (uint64_t)(*p - '0'), n))
			return false;
	if (p == *text)
		return false;
	*text = p;
	return true;
}

/* Adds the decimals after a point; ignores those below 1 ns. Returns false on overflow. */
static bool add_decimals(const char *digits, int64_t unit, int64_t *sum)
{
	for (; *digits >= '0' && *digits <= '9'; digits++) {
		unit /= 10;
		if (__builtin_add_overflow(*sum, unit * (*digits - '0'), sum))
			return false;
	}
	return true;
}

bool parse_time(const char *text, int64_t *ns)
{
	bool negative = *text == '-';
	const char *decimals = "";
	uint64_t whole;
	int64_t sum, unit = 1;
	size_t size = 0;

	text += negative;
	if (!parse_digits(&text, &whole) || whole > INT64_MAX)
		return false;
	if (*text == '.') {
		decimals = ++text;
		text += strspn(text, "0123456789");
	}
	text += *text == ' ';
	if (*text)
		unit = thrum__words_time_unit(text, &size);
	if (unit == 0 || text[size] || __builtin_mul_overflow((int64_t)whole, unit, &sum) ||
		!add_decimals(decimals, unit, &sum))
		return false;
	*ns = negative ? -sum : sum;
	return true;
}

bool parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGT";
	const char *letter;
	uint64_t n;

	if (!parse_digits(&text, &n))
		return false;
	if (*text) {
		letter = strchr(letters, *text >= 'a' ? *text - 'a' + 'A' : *text);
		if (!letter)
			return false;
		for (const char *p = letters; p <= letter; p++)
			if (__builtin_mul_overflow(n, UINT64_C(1024), &n))
				return false;
		text++;
		if (strcmp(text, "iB") == 0 || strcmp(text, "B") == 0)
			text = "";
	}
	if (*text)
		return false;
	*bytes = n;
	return true;
}

const char *skip_user(const char *rest)
{
	const char *at = memrchr(rest, '@', strcspn(rest, "/? \n"));

	return at ? at + 1 : rest;
}

bool parse_id(const char *text, size_t size, uint64_t *id)
{
	const char *end = text + size;
	bool negative = size > 0 && *text == '-';

	text += negative;
	if (!parse_digits(&text, id) || text != end || (negative && *id > UINT64_C(1) << 63))
		return false;
	if (negative)
		*id = -*id;
	return true;
}
