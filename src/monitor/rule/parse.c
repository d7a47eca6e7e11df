/* SPDX-License-Identifier: ISC */
/* Reads rules, by recursive descent over the grammar of rule.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/why/finding.h"
#include "monitor/rule/rule.h"
#include "words/words.h"

/* A rule that is being read. */
struct parse {
	struct thrum__rule *rule;
	struct thrum__rule_error *error;
	const char *at;
	unsigned depth;
	bool failed;
};

static const struct function {
	const char *word, *thing;
	enum thrum__rule_unit unit;
} functions[] = {
#define THRUM__X(NAME, word, unit, thing, text) {word, thing, THRUM__RULE_##unit},
	THRUM__RULE_FUNCTIONS(THRUM__X)
#undef THRUM__X
};

static uint8_t parse_rule(struct parse *p);

/* ---- Errors ---------------------------------------------------------------------------------- */

/* Notes the first error, and its place. Returns 0, for the index of a node. */
__attribute__((format(printf, 3, 4))) static uint8_t fail(struct parse *p, const char *at,
	const char *format, ...)
{
	va_list list;

	if (p->failed)
		return 0;
	p->failed = true;
	p->error->offset = (size_t)(at - p->rule->text);
	va_start(list, format);
	vsnprintf(p->error->message, sizeof p->error->message, format, list);
	va_end(list);
	return 0;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_spaces(struct parse *p)
{
	while (is_space(*p->at))
		p->at++;
}

/* Returns the length of the word at this place: letters, digits and points. */
static size_t word_size(const char *at)
{
	size_t size = 0;

	while (is_letter(at[size]) || (size > 0 && (is_digit(at[size]) || at[size] == '.')))
		size++;
	return size;
}

/* Takes a word of the grammar if it stands here. */
static bool take_word(struct parse *p, const char *word)
{
	size_t size = strlen(word);

	skip_spaces(p);
	if (p->failed || word_size(p->at) != size || memcmp(p->at, word, size) != 0)
		return false;
	p->at += size;
	return true;
}

static bool take_byte(struct parse *p, char byte)
{
	skip_spaces(p);
	if (p->failed || *p->at != byte)
		return false;
	p->at++;
	return true;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Reads digits with a decimal point, whatever the locale. */
static double parse_digits(struct parse *p)
{
	double number = 0, scale = 1;
	const char *from = p->at;

	while (is_digit(*p->at))
		number = number * 10 + (*p->at++ - '0');
	if (*p->at == '.' && is_digit(p->at[1])) {
		for (p->at++; is_digit(*p->at); p->at++) {
			scale /= 10;
			number += scale * (*p->at - '0');
		}
	}
	if (p->at == from)
		fail(p, from, "a number is missing here, such as 100, 50ms or 10/s");
	else if (!isfinite(number))
		fail(p, from, "the number is too large");
	return number;
}

static double parse_size_unit(struct parse *p)
{
	static const struct {
		const char *word;
		double bytes;
	} all[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"kB", 1e3},
		{"MB", 1e6}, {"GB", 1e9}};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (strlen(all[i].word) == word_size(p->at) &&
			memcmp(p->at, all[i].word, word_size(p->at)) == 0) {
			p->at += word_size(p->at);
			return all[i].bytes;
		}
	}
	return 0;
}

/* Takes a unit of time if one stands here. Returns its ns, or 0. */
static double parse_time_unit(struct parse *p)
{
	size_t size;
	int64_t ns = thrum__words_time_unit(p->at, &size);

	if (ns == 0 || is_letter(p->at[size]))
		return 0;
	p->at += size;
	return (double)ns;
}

/* Reads a number, its unit, and the "/s" of a rate. */
static double parse_number(struct parse *p, enum thrum__rule_unit *unit, bool *is_rate)
{
	double number, scale;
	const char *from;

	skip_spaces(p);
	number = parse_digits(p);
	*unit = THRUM__RULE_PLAIN;
	*is_rate = false;
	if (p->failed)
		return 0;
	from = p->at;
	skip_spaces(p);
	if (*p->at == '%') {
		p->at++;
		*unit = THRUM__RULE_SHARE;
		return number / 100;
	}
	if ((scale = parse_time_unit(p)) > 0)
		*unit = THRUM__RULE_TIME;
	else if ((scale = parse_size_unit(p)) > 0)
		*unit = THRUM__RULE_BYTES;
	else
		p->at = from;
	if (scale > 0)
		number *= scale;
	if (take_byte(p, '/')) {
		*is_rate = true;
		skip_spaces(p);
		scale = parse_time_unit(p);
		if (scale <= 0)
			fail(p, p->at, "a unit of time is missing here, as in 10/s or 5/min");
		else
			number *= 1e9 / scale;
	}
	if (is_letter(*p->at) && scale <= 0 && !*is_rate && p->at == from)
		fail(p, p->at,
			"there is no such unit; use ns, us, ms, s, min, h, B, KiB, MiB or GiB");
	return number;
}

/* ---- Terms ----------------------------------------------------------------------------------- */

/* Finds the function of a word, and the percentile in it. */
static bool find_function(const char *word, size_t size, struct thrum__rule_term *term)
{
	char digits[16], *end;

	for (int i = 0; i < THRUM__RULE_FUNCTION_COUNT; i++) {
		if (i == THRUM__RULE_PERCENTILE || strlen(functions[i].word) != size ||
			memcmp(word, functions[i].word, size) != 0)
			continue;
		term->function = (enum thrum__rule_function)i;
		return true;
	}
	if (size < 2 || word[0] != 'p' || !is_digit(word[1]) || size > sizeof digits)
		return false;
	struct parse number = {.at = digits};

	snprintf(digits, sizeof digits, "%.*s", (int)size - 1, word + 1);
	term->percentile = parse_digits(&number);
	term->function = THRUM__RULE_PERCENTILE;
	end = digits + strlen(digits);
	return number.at == end && term->percentile <= 100;
}

static void unknown_function(struct parse *p, size_t size)
{
	if (size > 1 && p->at[0] == 'p' && is_digit(p->at[1]))
		fail(p, p->at, "a percentile lies between p0 and p100, such as p99.9");
	else if (size > 0)
		fail(p, p->at,
			"there is no function %.*s; there are value, rate, count, mean, min, max, p99, "
			"pending, age, load, lost and finding",
			(int)(size < 24 ? size : 24), p->at);
	else
		fail(p, p->at, "a condition is missing here, such as pending('GET *') > 100");
}

/* Reads the name in parentheses, into the rule's names. */
static void parse_name(struct parse *p, struct thrum__rule_term *term)
{
	struct thrum__rule *rule = p->rule;
	const char *from, *end;
	bool has_end;
	char quote;

	skip_spaces(p);
	from = p->at;
	quote = *from == '\'' || *from == '"' ? *from : '\0';
	if (quote) {
		end = strchr(++from, quote);
		has_end = end != NULL;
		if (!has_end) {
			fail(p, from - 1, "the quote that begins here has no end");
			return;
		}
		p->at = end + 1;
	} else {
		end = from + strcspn(from, "()'\"");
		p->at = end;
		while (end > from && is_space(end[-1]))
			end--;
	}
	term->name = rule->names_size;
	memcpy(rule->names + rule->names_size, from, (size_t)(end - from));
	rule->names_size = (uint16_t)(rule->names_size + (end - from));
	rule->names[rule->names_size++] = '\0';
	if (!take_byte(p, ')'))
		fail(p, p->at, "a closing parenthesis is missing here");
}

static bool is_class(const char *name)
{
	for (int i = 0; i < THRUM__FINDING_CLASSES; i++)
		if (strcmp(name, thrum__why_class_name(i)) == 0)
			return true;
	return false;
}

/* Checks that a term has the name that its function needs. `at`: the name's place. */
static void check_name(struct parse *p, const struct thrum__rule_term *term, const char *at)
{
	const char *name = p->rule->names + term->name;
	const char *thing = functions[term->function].thing;

	if (p->failed)
		return;
	if (term->function == THRUM__RULE_FINDING) {
		if (*name && !is_class(name))
			fail(p, at,
				"there are no findings of this class; there are, for instance, "
				"deadlock, lost wake-up, never resolved, starved and leak");
	} else if (!*name && *thing) {
		fail(p, at, "the name of a %s is missing here", thing);
	} else if (*name && !*thing) {
		fail(p, at, "%s takes no name", functions[term->function].word);
	}
}

/* Reads "function(name)". Returns NULL after an error. */
static struct thrum__rule_term *parse_term(struct parse *p)
{
	struct thrum__rule *rule = p->rule;
	struct thrum__rule_term *term = &rule->terms[rule->term_count];
	const char *from, *name;
	size_t size;

	skip_spaces(p);
	from = p->at;
	size = word_size(from);
	if (rule->term_count == THRUM__RULE_TERMS) {
		fail(p, from, "a rule has at most %d conditions", THRUM__RULE_TERMS);
		return NULL;
	}
	*term = (struct thrum__rule_term){0};
	if (!find_function(from, size, term)) {
		unknown_function(p, size);
		return NULL;
	}
	p->at += size;
	if (!take_byte(p, '(')) {
		fail(p, p->at, "a name in parentheses is missing here, as in %.*s(%s)", (int)size,
			from, functions[term->function].thing);
		return NULL;
	}
	skip_spaces(p);
	name = p->at;
	parse_name(p, term);
	check_name(p, term, name);
	term->from = (uint16_t)(from - rule->text);
	term->size = (uint16_t)(p->at - from);
	rule->term_count++;
	return p->failed ? NULL : term;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static uint8_t add_node(struct parse *p, struct thrum__rule_node node)
{
	struct thrum__rule *rule = p->rule;

	if (p->failed)
		return 0;
	if (rule->node_count == THRUM__RULE_NODES)
		return fail(p, p->at, "the rule is too long");
	rule->nodes[rule->node_count] = node;
	return rule->node_count++;
}

static bool take_operator(struct parse *p, enum thrum__rule_operator *sign)
{
	static const char words[][3] = {"<=", ">=", "==", "!=", "<", ">", "="};
	static const enum thrum__rule_operator operators[] = {THRUM__RULE_AT_MOST,
		THRUM__RULE_AT_LEAST, THRUM__RULE_EQUAL, THRUM__RULE_UNEQUAL, THRUM__RULE_LESS,
		THRUM__RULE_GREATER, THRUM__RULE_EQUAL};

	skip_spaces(p);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strncmp(p->at, words[i], strlen(words[i])) == 0) {
			*sign = operators[i];
			p->at += strlen(words[i]);
			return true;
		}
	}
	return false;
}

/* Checks that a number is of the kind that its function gives. `at`: the number's place. */
static void check_unit(struct parse *p, const struct thrum__rule_term *term, bool is_rate,
	const char *at)
{
	const struct function *function = &functions[term->function];
	enum thrum__rule_unit unit = term->unit;

	if (p->failed)
		return;
	if (is_rate != (term->function == THRUM__RULE_RATE)) {
		if (is_rate)
			fail(p, at, "only rate is compared with a number like 10/s");
		else
			fail(p, at, "a rate is compared with a number like 10/s");
	} else if (function->unit == THRUM__RULE_ANY) {
		if (unit == THRUM__RULE_SHARE)
			fail(p, at, "a counter isn't compared with a percentage");
	} else if (function->unit != unit) {
		fail(p, at, "%s is compared with %s", function->word,
			function->unit == THRUM__RULE_TIME            ? "a time, such as 2s"
				: function->unit == THRUM__RULE_SHARE ? "a percentage, such as 90%"
								      : "a number without a unit");
	}
}

static void parse_over(struct parse *p, struct thrum__rule_term *term)
{
	enum thrum__rule_unit unit;
	bool is_rate;
	const char *from;
	double ns;

	skip_spaces(p);
	from = p->at;
	if (!is_digit(*from)) {
		fail(p, from, "a time is missing here, such as 10s");
		return;
	}
	ns = parse_number(p, &unit, &is_rate);
	if (unit != THRUM__RULE_TIME || is_rate)
		fail(p, from, "a time is needed here, such as 10s");
	else if (ns < 1e9 || ns > 3600e9)
		fail(p, from, "the time lies between 1s and 1h");
	else
		term->over = (int64_t)ns;
}

static uint8_t parse_comparison(struct parse *p)
{
	struct thrum__rule_term *term = parse_term(p);
	struct thrum__rule_node node = {.type = THRUM__RULE_COMPARE};
	const char *number;
	bool is_rate;

	if (!term)
		return 0;
	node.term = (uint8_t)(term - p->rule->terms);
	if (term->function == THRUM__RULE_FINDING) {
		node.type = THRUM__RULE_FOUND;
		return add_node(p, node);
	}
	if (!take_operator(p, &node.sign))
		return fail(p, p->at, "a comparison is missing here, such as > 100");
	skip_spaces(p);
	number = p->at;
	node.number = parse_number(p, &term->unit, &is_rate);
	check_unit(p, term, is_rate, number);
	if (take_word(p, "over"))
		parse_over(p, term);
	return add_node(p, node);
}

static uint8_t parse_simple(struct parse *p)
{
	uint8_t node;

	skip_spaces(p);
	if (++p->depth > THRUM__RULE_DEPTH)
		return fail(p, p->at, "there are too many parentheses within each other");
	if (take_word(p, "not")) {
		node = parse_simple(p);
		node = add_node(p, (struct thrum__rule_node){THRUM__RULE_NOT, node});
	} else if (take_byte(p, '(')) {
		node = parse_rule(p);
		if (!p->failed && !take_byte(p, ')'))
			fail(p, p->at, "a closing parenthesis is missing here");
	} else {
		node = parse_comparison(p);
	}
	p->depth--;
	return node;
}

static uint8_t parse_both(struct parse *p)
{
	uint8_t node = parse_simple(p);

	while (take_word(p, "and")) {
		uint8_t right = parse_simple(p);

		node = add_node(p, (struct thrum__rule_node){THRUM__RULE_AND, node, right});
	}
	return node;
}

static uint8_t parse_rule(struct parse *p)
{
	uint8_t node = parse_both(p);

	while (take_word(p, "or")) {
		uint8_t right = parse_both(p);

		node = add_node(p, (struct thrum__rule_node){THRUM__RULE_OR, node, right});
	}
	return node;
}

bool thrum__rule_parse(struct thrum__rule *rule, const char *text, struct thrum__rule_error *error)
{
	struct parse p = {.rule = rule, .error = error, .at = rule->text};

	memset(rule, 0, sizeof *rule);
	*error = (struct thrum__rule_error){0};
	if (strlen(text) > THRUM__RULE_SIZE) {
		fail(&p, rule->text, "the rule is longer than %d bytes", THRUM__RULE_SIZE);
		return false;
	}
	strcpy(rule->text, text);
	rule->root = parse_rule(&p);
	skip_spaces(&p);
	if (!p.failed && *p.at)
		fail(&p, p.at, "the rule could end here; join conditions with and, or");
	return !p.failed;
}
