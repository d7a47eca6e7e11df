/* SPDX-License-Identifier: ISC */
/* Makes patterns of labels, word by word. */
#include "analyse/label.h"

#include <stdbool.h>

/* Bytes of a label that are read: a trace may name a huge label a million times. */
#define LABEL_MAX (4 * THRUM__LABEL_PATTERN_MAX)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_of_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(unsigned char)c >= 0x80;
}

/* Whether a word is a hexadecimal number. `behind`: the word follows such a number and "-". */
static bool is_id(const char *word, size_t size, bool behind)
{
	bool has_prefix = size > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
	bool has_digit = has_prefix;

	for (size_t i = has_prefix ? 2 : 0; i < size; i++) {
		if (!is_hex(word[i]))
			return false;
		has_digit |= is_digit(word[i]);
	}
	return has_prefix || (behind && size >= 4) || (has_digit && size >= 8);
}

/* The pattern so far. Bytes for which there is no room are dropped. */
struct pattern {
	char *to;
	size_t size;
};

static void put_byte(struct pattern *pattern, char c)
{
	if (pattern->size < THRUM__LABEL_PATTERN_MAX)
		pattern->to[pattern->size++] = c;
}

static void put_word(struct pattern *pattern, const char *word, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(word[i]))
			put_byte(pattern, word[i]);
		else if (i == 0 || !is_digit(word[i - 1]))
			put_byte(pattern, '#');
	}
}

/* The size of the text without a last UTF-8 character that is cut. */
static size_t whole_characters(const char *text, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		unsigned char c = (unsigned char)text[size - back];
		size_t needed = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

		if (c >= 0xc0)
			return needed > back ? size - back : size;
		if (c < 0x80)
			break;
	}
	return size;
}

size_t thrum__analyse_label_pattern(const char *label, size_t size,
	char to[THRUM__LABEL_PATTERN_MAX])
{
	struct pattern pattern = {to, 0};
	bool behind = false; /* a hexadecimal number, or such a number and "-" */

	if (size > LABEL_MAX)
		size = LABEL_MAX;
	for (size_t i = 0, end; i < size && pattern.size < THRUM__LABEL_PATTERN_MAX; i = end) {
		for (end = i; end < size && is_of_word(label[end]);)
			end++;
		if (end == i) {
			put_byte(&pattern, label[end++]);
			behind = behind && label[i] == '-';
			continue;
		}
		behind = is_id(label + i, end - i, behind);
		if (behind)
			put_byte(&pattern, '#');
		else
			put_word(&pattern, label + i, end - i);
	}
	return pattern.size < THRUM__LABEL_PATTERN_MAX ? pattern.size
						       : whole_characters(to, pattern.size);
}

size_t thrum__analyse_label_numbers(const char *label, size_t size,
	char to[THRUM__LABEL_PATTERN_MAX])
{
	struct pattern numbers = {to, 0};

	if (size > LABEL_MAX)
		size = LABEL_MAX;
	for (size_t i = 0; i < size; i++) {
		if (!is_digit(label[i]))
			continue;
		if (numbers.size > 0 && !is_digit(label[i - 1]))
			put_byte(&numbers, ' ');
		put_byte(&numbers, label[i]);
	}
	return numbers.size;
}
