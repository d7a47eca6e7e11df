/* SPDX-License-Identifier: ISC */
/* Writes a scene's state as a line of text, and reads it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "scene/bands_state.h"
#include "scene/state.h"

#define PAIR_MAX 8192 /* bytes of a key with its value */

static const char *const as_names[] = {
	[THRUM__AS_AUTO] = "auto",
	[THRUM__AS_ROWS] = "rows",
	[THRUM__AS_BANDS] = "bands",
};

const char *thrum__scene_as_name(int as)
{
	return as_names[as];
}

int thrum__scene_as_find(const char *name)
{
	for (size_t i = 0; i < sizeof as_names / sizeof *as_names; i++)
		if (strcmp(name, as_names[i]) == 0)
			return (int)i;
	return -1;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c && strchr("-._~/:", c));
}

void thrum__scene_address_escape(struct thrum__base_text *line, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text; text++) {
		if (is_plain(*text)) {
			thrum__base_text_byte(line, *text);
			continue;
		}
		thrum__base_text_byte(line, '%');
		thrum__base_text_byte(line, digits[(unsigned char)*text >> 4]);
		thrum__base_text_byte(line, digits[(unsigned char)*text & 15]);
	}
}

void thrum__scene_address_key(struct thrum__base_text *line, const char *prefix, const char *key)
{
	if (line->size > 0)
		thrum__base_text_byte(line, '&');
	thrum__base_text_put(line, prefix);
	thrum__base_text_put(line, key);
	thrum__base_text_byte(line, '=');
}

void thrum__scene_address_number(struct thrum__base_text *line, const char *prefix, const char *key,
	int64_t number)
{
	thrum__scene_address_key(line, prefix, key);
	thrum__base_text_number(line, number);
}

void thrum__scene_address_text(struct thrum__base_text *line, const char *prefix, const char *key,
	const char *text)
{
	thrum__scene_address_key(line, prefix, key);
	thrum__scene_address_escape(line, text);
}

/* Fractions are written in thousandths: finer steps can't be seen. */
static int64_t thousandths_of(double value)
{
	return (int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5));
}

static void put_fraction(struct thrum__base_text *line, const char *prefix, const char *key,
	double value, double plain)
{
	int64_t thousandths = thousandths_of(value);

	if (thousandths == thousandths_of(plain))
		return;
	thrum__scene_address_key(line, prefix, key);
	thrum__base_text_thousandths(line, thousandths);
}

_Static_assert(THRUM__THEME_COUNT == 3, "themes are numbered 0 to 2");

/* X(key, member, most): the members that are one small number each, from 0 to `most`. */
#define SMALL_MEMBERS(X) \
	X("fold", fold, 2) \
	X("squeeze", squeeze, 2) \
	X("fisheye", fisheye, 1) \
	X("legend", legend, 1) \
	X("strip", strip, 1) \
	X("related", related_only, 1) \
	X("findings", findings, 1) \
	X("counters", counters, 1) \
	X("theme", theme, 2) \
	X("finding", finding, 1000000)

void thrum__scene_address_put(struct thrum__base_text *line, const char *prefix,
	const struct thrum__scene_state *state, const struct thrum__scene_state *plain)
{
	char text[48];

	if (state->from != plain->from || state->to != plain->to) {
		snprintf(text, sizeof text, "%" PRId64 "..%" PRId64, state->from, state->to);
		thrum__scene_address_text(line, prefix, "t", text);
	}
	if (state->as != plain->as)
		thrum__scene_address_text(line, prefix, "as", thrum__scene_as_name(state->as));
	put_fraction(line, prefix, "track", state->track, plain->track);
	put_fraction(line, prefix, "height", state->track_height, plain->track_height);
	put_fraction(line, prefix, "focus", state->focus_y, plain->focus_y);
#define PUT(key, member, max) \
	if (state->member != plain->member) \
		thrum__scene_address_number(line, prefix, key, state->member);
	SMALL_MEMBERS(PUT)
#undef PUT
	if (state->has_selected)
		thrum__scene_address_number(line, prefix, "sel", (int64_t)state->selected);
	if (state->has_selected && state->has_run)
		thrum__scene_address_number(line, prefix, "run", state->run);
	if (strcmp(state->search, plain->search) != 0)
		thrum__scene_address_text(line, prefix, "find", state->search);
	for (unsigned i = 0; i < state->counter_count; i++)
		thrum__scene_address_text(line, prefix, "counter", state->counter_shown[i]);
	thrum__scene_bands_address_put(line, prefix, &state->bands, &plain->bands);
}

size_t thrum__scene_state_print(const struct thrum__scene *scene, char *to, size_t size)
{
	struct thrum__base_text line = thrum__base_text_in(to, size);
	struct thrum__scene_state plain;

	if (size > 0)
		to[0] = 0;
	thrum__scene_state_default(scene, &plain);
	thrum__scene_address_put(&line, "", &scene->state, &plain);
	return line.size;
}

/* ---- Reading ------------------------------------------------------------------------------- */

bool thrum__scene_address_integer(const char *text, int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == 0;
}

bool thrum__scene_address_small(const char *text, int64_t max, int64_t *number)
{
	return thrum__scene_address_integer(text, number) && *number >= 0 && *number <= max;
}

static bool read_fraction(const char *text, double *value)
{
	bool is_negative = *text == '-';
	double scale = 1, read = 0;
	const char *start = text += is_negative;

	while (*text >= '0' && *text <= '9')
		read = read * 10 + (*text++ - '0');
	if (text == start || text - start > 15)
		return false;
	if (*text == '.')
		while (*++text >= '0' && *text <= '9')
			read += (*text - '0') * (scale /= 10);
	*value = is_negative ? -read : read;
	return *text == 0;
}

bool thrum__scene_address_unescape(const char *text, char *to, size_t size)
{
	size_t n = 0;

	for (; *text; text++) {
		char c = *text;

		if (c == '%') {
			int high = thrum__base_hex_digit(text[1]);
			int low = high < 0 ? -1 : thrum__base_hex_digit(text[2]);

			if (low < 0 || high + low == 0)
				return false;
			c = (char)(high << 4 | low);
			text += 2;
		}
		if (n + 1 >= size)
			return false;
		to[n++] = c;
	}
	to[n] = 0;
	return true;
}

bool thrum__scene_address_span(const char *text, int64_t *from, int64_t *to)
{
	const char *dots = strstr(text, "..");
	char first[32];
	int64_t a, b;

	if (!dots || (size_t)(dots - text) >= sizeof first)
		return false;
	memcpy(first, text, (size_t)(dots - text));
	first[dots - text] = 0;
	if (!thrum__scene_address_integer(first, &a) ||
		!thrum__scene_address_integer(dots + 2, &b) || a >= b || a < -THRUM__TIME_MAX ||
		b > THRUM__TIME_MAX)
		return false;
	*from = a;
	*to = b;
	return true;
}

const char *thrum__scene_address_take(void *context, const char *key, const char *value)
{
	struct thrum__scene_state *state = context;
	double fraction;
	int64_t number;

	if (strcmp(key, "t") == 0)
		return thrum__scene_address_span(value, &state->from, &state->to)
			? NULL
			: "t is FROM..TO in ns";
	if (strcmp(key, "focus") == 0 && !read_fraction(value, &fraction))
		key = "band"; /* a name: that of a place of the bands */
#define READ_FRACTION(name, member, min, max) \
	if (strcmp(key, name) == 0) { \
		if (!read_fraction(value, &fraction) || fraction < min || fraction > max) \
			return name " is a number from " #min " to " #max; \
		state->member = fraction; \
		return NULL; \
	}
	READ_FRACTION("track", track, 0, 4294967295.0)
	READ_FRACTION("row", track, 0, 4294967295.0) /* its former name */
	READ_FRACTION("height", track_height, 0, 400)
	READ_FRACTION("focus", focus_y, 0, 1)
#undef READ_FRACTION
#define READ(name, member, max) \
	if (strcmp(key, name) == 0) { \
		if (!thrum__scene_address_small(value, max, &number)) \
			return name " is a number from 0 to " #max; \
		state->member = number; \
		return NULL; \
	}
	SMALL_MEMBERS(READ)
#undef READ
	if (strcmp(key, "as") == 0) {
		int as = thrum__scene_as_find(value);

		if (as < 0)
			return "as is auto, rows or bands";
		state->as = (uint8_t)as;
		return NULL;
	}
	if (strcmp(key, "sel") == 0) {
		if (!thrum__scene_address_integer(value, &number))
			return "sel is a task's id";
		state->selected = (uint64_t)number;
		state->has_selected = true;
		return NULL;
	}
	if (strcmp(key, "run") == 0) {
		state->has_run = thrum__scene_address_integer(value, &state->run);
		return state->has_run ? NULL : "run is a time in ns";
	}
	if (strcmp(key, "find") == 0)
		return thrum__scene_address_unescape(value, state->search, sizeof state->search)
			? NULL
			: "find is a text of at most 127 bytes";
	if (strcmp(key, "counter") == 0) {
		if (state->counter_count == THRUM__COUNTERS_SHOWN_MAX)
			return "there are at most 8 counters";
		return thrum__scene_address_unescape(value,
			       state->counter_shown[state->counter_count++],
			       sizeof state->counter_shown[0])
			? NULL
			: "counter is a name of at most 63 bytes";
	}
	return thrum__scene_bands_address_take(&state->bands, key, value);
}

static int refuse_text(struct thrum_error_info *error, size_t offset, const char *message)
{
	if (error) {
		error->code = -THRUM_E_ARGUMENT;
		error->offset = offset;
		snprintf(error->message, sizeof error->message, "view state: %s", message);
	}
	return -THRUM_E_ARGUMENT;
}

int thrum__scene_address_pairs(const char *text,
	const char *(*take)(void *context, const char *key, const char *value), void *context,
	struct thrum_error_info *error)
{
	size_t at = 0;

	while (text[at]) {
		char pair[PAIR_MAX];
		size_t size = strcspn(text + at, "&");
		const char *problem;
		char *value;

		if (size >= sizeof pair)
			return refuse_text(error, at, "too long");
		memcpy(pair, text + at, size);
		pair[size] = 0;
		value = strchr(pair, '=');
		if (!value)
			return refuse_text(error, at, "expected KEY=VALUE");
		*value++ = 0;
		problem = take(context, pair, value);
		if (problem)
			return refuse_text(error, at, problem);
		at += size + (text[at + size] == '&');
	}
	return 0;
}

/* Skips the stage's own keys, so that a scene can read the address of a stage. */
static const char *take_of_scene(void *state, const char *key, const char *value)
{
	static const char *const keys[] = {"panel", "link", "pair", "order", "filter"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i]) == 0)
			return NULL;
	return thrum__scene_address_take(state, key, value);
}

int thrum__scene_state_parse(struct thrum__scene *scene, const char *text,
	struct thrum_error_info *error)
{
	struct thrum__scene_state state, before = scene->state;
	int status;

	thrum__scene_state_default(scene, &state);
	status = thrum__scene_address_pairs(text, take_of_scene, &state, error);
	if (status != 0)
		return status;
	scene->state = state;
	scene->seen.from = scene->seen.to = 0; /* what was seen before doesn't matter */
	status = thrum__scene_settle(scene);
	if (status != 0)
		scene->state = before;
	return status;
}
