/* SPDX-License-Identifier: ISC */
/* Parses arguments by a command's table. help.c prints the help from the same table. */
#define _GNU_SOURCE
#include "line/command.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line/text.h"

/* The last message that couldn't be shown yet, and how many of its line ends are its own. */
static char held[1000];
static unsigned held_lines;
static bool is_held;

static unsigned count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/*
 * Writes a message, of whose line ends so many are its own. A file's name may hold others, and what a
 * terminal obeys; a server's address may hold a password.
 */
static void write_message(const char *text, unsigned lines)
{
	bool has_others = count_lines(text) > lines;

	fputs("thrum: ", stderr);
	for (const char *at = text; *at; at++) {
		bool is_control = (unsigned char)*at < ' ' || *at == 0x7f;

		fputc(is_control && (*at != '\n' || has_others) ? '?' : *at, stderr);
		if (at - text >= 2 && memcmp(at - 2, "://", 3) == 0)
			at = skip_user(at + 1) - 1;
	}
	fputc('\n', stderr);
}

void complain_hold(bool hold)
{
	is_held = hold;
	if (!hold && held[0]) {
		write_message(held, held_lines);
		held[0] = '\0';
	}
}

static void complain_list(const char *format, va_list list)
{
	char text[4 * PATH_MAX];

	if (is_held) {
		vsnprintf(held, sizeof(held), format, list);
		held_lines = count_lines(format);
		return;
	}
	vsnprintf(text, sizeof(text), format, list);
	write_message(text, count_lines(format));
}

void complain(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain_list(format, list);
	va_end(list);
}

int complain_usage(const struct command *command, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	complain_list(format, list);
	va_end(list);
	fprintf(stderr, "See thrum %s%s--help.\n", command ? command->name : "",
		command ? " " : "");
	return STATUS_USAGE;
}

#define WORD_MAX 31

/* Returns the number of letters to insert, drop, change or swap with the next one
 * (Damerau-Levenshtein, restricted). */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
	size_t a_size = strlen(a), b_size = strlen(b);

	if (a_size > WORD_MAX || b_size > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_size; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t *unused = before;

		now[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = unused;
	}
	return last[b_size];
}

const char *nearest(const char *word, const char *const *words, size_t count)
{
	size_t best = (strlen(word) + 2) / 3;
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t d = edit_distance(word, words[i]);

		if (d < best || (d == best && !found)) {
			best = d;
			found = words[i];
		}
	}
	return found;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Returns the position of a word in "text|tsv|json", from 0; -1 if it isn't there. */
static int find_choice(const char *choices, const char *word, size_t size)
{
	for (int i = 0;; i++) {
		size_t length = strcspn(choices, "|");

		if (length == size && memcmp(choices, word, size) == 0)
			return i;
		if (!choices[length])
			return -1;
		choices += length + 1;
	}
}

static bool add_id(struct id_list *list, uint64_t id)
{
	uint64_t *ids = realloc(list->ids, (list->count + 1) * sizeof(*ids));

	if (!ids)
		return false;
	ids[list->count] = id;
	list->ids = ids;
	list->count++;
	return true;
}

/* Returns the position of a choice, also by its former name; -1 if there is no such choice. */
static int find_in_set(const struct option *option, const char *item, size_t size)
{
	const char *old = option->old_name, *now = option->new_name;

	if (old && strlen(old) == size && memcmp(old, item, size) == 0)
		return find_choice(option->choices, now, strlen(now));
	return find_choice(option->choices, item, size);
}

/* Adds one of the values between commas. */
static bool set_item(const struct option *option, const char *item, size_t size, void *to)
{
	uint64_t id, *set = to;
	int choice;

	if (option->kind == OPTION_IDS)
		return parse_id(item, size, &id) && add_id(to, id);
	choice = find_in_set(option, item, size);
	if (choice < 0)
		return false;
	*set |= UINT64_C(1) << choice;
	return true;
}

static bool set_items(const struct option *option, const char *value, void *to)
{
	for (;;) {
		size_t size = strcspn(value, ",");

		if (!set_item(option, value, size, to))
			return false;
		if (!value[size])
			return true;
		value += size + 1;
	}
}

static bool set_choice(const struct option *option, const char *value, int *to)
{
	int choice = find_choice(option->choices, value, strlen(value));

	if (choice < 0)
		return false;
	*to = choice;
	return true;
}

static bool add_text(struct text_list *list, const char *text)
{
	if (!*text || list->count == TEXTS_MAX)
		return false;
	list->texts[list->count++] = text;
	return true;
}

static bool set_value(const struct option *option, const char *value, void *into)
{
	void *to = (char *)into + option->offset;

	switch (option->kind) {
	case OPTION_FLAG: return *(bool *)to = true;
	case OPTION_STRING: return *(*(const char **)to = value) != '\0';
	case OPTION_SIZE: return parse_size(value, to);
	case OPTION_COUNT: return *value != '-' && parse_id(value, strlen(value), to);
	case OPTION_TIME: return parse_time(value, to);
	case OPTION_CHOICE: return set_choice(option, value, to);
	case OPTION_SET:
	case OPTION_IDS: return set_items(option, value, to);
	case OPTION_TEXTS: return add_text(to, value);
	}
	return false;
}

/* Writes "text, tsv or json". */
static void list_choices(const char *choices, char *to, size_t size)
{
	size_t used = 0;

	for (;;) {
		size_t length = strcspn(choices, "|");
		const char *rest = choices[length] ? choices + length + 1 : NULL;
		const char *between = !rest ? "" : strchr(rest, '|') ? ", " : " or ";
		int n = snprintf(to + used, size - used, "%.*s%s", (int)length, choices, between);

		if (!rest || n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
		choices = rest;
	}
}

static int bad_value(const struct command *command, const struct option *option, const char *value)
{
	static const char *const wants[] = {
		[OPTION_STRING] = "a name",
		[OPTION_SIZE] = "a size such as 65536, 16M or 1G",
		[OPTION_TIME] = "a time such as 12ms, 1.5s, 250us or 123456 (ns)",
		[OPTION_COUNT] = "a number",
		[OPTION_IDS] = "a number",
		[OPTION_TEXTS] = "a text, at most 16 times",
	};
	char choices[1024];

	if (option->choices)
		list_choices(option->choices, choices, sizeof(choices));
	return complain_usage(command, "--%s needs %s, not \"%s\"", option->name,
		option->choices ? choices : wants[option->kind], value);
}

/* ---- Options --------------------------------------------------------------------------------- */

#define OPTIONS_MAX 32

static const struct option places[] = {
	{"memory", 0, OPTION_STRING, 0, "FILE", NULL,
		"the recording in FILE, a copy of a machine's memory"},
	{"xen", 'd', OPTION_STRING, 0, "NAME|ID", NULL,
		"the trace that this domain of the Xen host publishes"},
	{0},
};

const struct option *places_of(const struct command *command)
{
	const struct option *xen = places + 1, *none = places + 2;

	return command->reads_traces ? places : command->reads_processes ? xen : none;
}

static int unknown_option(const struct command *command, const char *argument)
{
	const char *names[OPTIONS_MAX], *guess;
	char word[WORD_MAX + 1];
	size_t count = 0;

	for (const struct option *o = command->options; o->name && count < OPTIONS_MAX - 4; o++)
		names[count++] = o->name;
	for (const struct option *o = places_of(command); o->name; o++)
		names[count++] = o->name;
	names[count++] = "help";
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(argument, "="), argument);
	guess = strncmp(word, "--", 2) == 0 ? nearest(word + 2, names, count) : NULL;
	if (guess)
		return complain_usage(command, "%s has no option %s; did you mean --%s?",
			command->name, word, guess);
	return complain_usage(command, "%s has no option %s", command->name, word);
}

static const struct option *find_option(const struct option *options, const char *argument)
{
	size_t size = strcspn(argument + 2, "=");

	for (const struct option *o = options; o->name; o++) {
		if (argument[1] != '-' ? o->letter == argument[1]
				       : strlen(o->name) == size &&
					memcmp(o->name, argument + 2, size) == 0)
			return o;
	}
	return NULL;
}

/* The arguments that are being parsed. */
struct arguments {
	const struct command *command;
	int count, next;
	char **values;
	unsigned kept; /* those that aren't options: they are in front */
	void *into;
};

/* Makes the value of an option that names a trace an argument: "--memory FILE" is "memory:FILE".
 * The text is never freed. */
static int add_place(struct arguments *a, const struct option *option, const char *value)
{
	char *place;

	if (!*value || asprintf(&place, "%s:%s", option->name, value) < 0)
		return bad_value(a->command, option, value);
	a->values[a->kept++] = place;
	return STATUS_OK;
}

/* Parses one argument that begins with a dash, and its value. Returns STATUS_OK, or another status
 * after a message. */
static int parse_option(struct arguments *a)
{
	char *argument = a->values[a->next++], *value;
	const struct option *option = find_option(a->command->options, argument), *place = NULL;
	bool is_long = argument[1] == '-';

	if (!option)
		option = place = find_option(places_of(a->command), argument);
	if (!option)
		return unknown_option(a->command, argument);
	value = is_long ? strchr(argument, '=') : argument[2] ? argument + 1 : NULL;
	if (value)
		value++;
	if (option->kind == OPTION_FLAG) {
		if (value)
			return complain_usage(a->command, "--%s takes no value", option->name);
	} else if (!value) {
		if (a->next == a->count)
			return complain_usage(a->command, "--%s needs a value", option->name);
		value = a->values[a->next++];
	}
	if (place)
		return add_place(a, place, value);
	if (!set_value(option, value, a->into))
		return bad_value(a->command, option, value);
	return STATUS_OK;
}

static int check_count(const struct command *command, unsigned count)
{
	if (count < command->min)
		return complain_usage(command, "%s needs %s", command->name, command->arguments);
	if (command->max > 0 && count > command->max)
		return complain_usage(command, "%s takes only %s", command->name,
			command->arguments);
	return STATUS_OK;
}

int options_parse(const struct command *command, int argc, char **argv, void *into, int *status)
{
	struct arguments a = {command, argc, 0, argv, 0, into};
	bool only_arguments = false;

	while (a.next < argc) {
		char *argument = argv[a.next];

		/* A "-" alone is standard input. */
		if (only_arguments || argument[0] != '-' || !argument[1]) {
			if (command->max == 0)
				only_arguments = true;
			argv[a.kept++] = argument;
			a.next++;
			continue;
		}
		if (strcmp(argument, "--") == 0) {
			only_arguments = true;
			a.next++;
			continue;
		}
		if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
			*status = help_command(command);
			return -1;
		}
		*status = parse_option(&a);
		if (*status != STATUS_OK)
			return -1;
	}
	*status = check_count(command, a.kept);
	return *status == STATUS_OK ? (int)a.kept : -1;
}
