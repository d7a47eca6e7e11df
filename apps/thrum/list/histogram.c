/* SPDX-License-Identifier: ISC */
/* Writes histograms as bars, tab-separated values and JSON. */
#define _GNU_SOURCE
#include "list/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "line/match.h"
#include "line/table.h"
#include "line/text.h"
#include "scene/scene.h"
#include "trace/load.h"

#define BAR_COLUMNS 50
#define BEFORE_BAR 37
#define BOUND_COLUMNS 8 /* of a duration such as "200 µs" */

static const char *const measures[] = {
#define THRUM__X(NAME, word) word,
	THRUM__MEASURES(THRUM__X)
#undef THRUM__X
};
/* The order of the histograms: people ask for lives first. */
static const int order[] = {THRUM__MEASURE_LIFE, THRUM__MEASURE_WAITING, THRUM__MEASURE_RUNNING};

/* Looks at the variables that setlocale would read. setlocale itself would change printf, too. */
static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* ---- For people ------------------------------------------------------------------------------ */

/* Writes a column's lower bound, right-aligned in BOUND_COLUMNS. */
static char *put_bound(char *to, unsigned column, bool utf8)
{
	char words[32];
	const char *mu;
	size_t size, columns;

	if (column >= THRUM__HISTOGRAM_COLUMNS)
		return put_spaces(to, BOUND_COLUMNS);
	size = thrum__words_duration(thrum__stats_histogram_bound(column), 1, words, sizeof(words));
	mu = strstr(words, "µ");
	columns = size - (mu != NULL);
	if (columns < BOUND_COLUMNS)
		to = put_spaces(to, BOUND_COLUMNS - columns);
	if (mu && !utf8) {
		memcpy(to, words, (size_t)(mu - words));
		to += mu - words;
		*to++ = 'u';
		return put_string(to, mu + strlen("µ"));
	}
	return put_string(to, words);
}

/* How many columns the longest bar takes. */
static unsigned bar_columns(void)
{
	unsigned room = output_columns();

	return room == 0 || room > BEFORE_BAR + BAR_COLUMNS ? BAR_COLUMNS : room - BEFORE_BAR;
}

/* Writes a bar, in eighths of a character; at least one if the count isn't 0. */
static char *put_bar(char *to, uint64_t count, uint64_t most, bool utf8)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned eighths = (unsigned)((double)count * bar_columns() * 8 / (double)most);

	if (count > 0 && eighths == 0)
		eighths = 1;
	if (!utf8) {
		for (unsigned i = 0; i < (eighths + 7) / 8; i++)
			*to++ = '#';
		return to;
	}
	for (unsigned i = 0; i < eighths / 8; i++)
		to = put_string(to, "█");
	return put_string(to, parts[eighths % 8]);
}

static void write_bar(struct output *out, const struct thrum__histogram *histogram, unsigned column,
	uint64_t most, bool utf8)
{
	uint64_t count = histogram->count[column];
	char *to = output_room(out, 8 * NUMBER_ROOM + 4 * BAR_COLUMNS), digits[NUMBER_ROOM];
	size_t size = (size_t)(put_count(digits, count) - digits);

	to = put_spaces(to, 2);
	to = put_bound(to, column, utf8);
	to = put_string(to, " ... ");
	to = put_bound(to, column + 1, utf8);
	to = put_spaces(to, size < 12 ? 12 - size : 1);
	memcpy(to, digits, size);
	to += size;
	if (count > 0)
		to = put_bar(put_spaces(to, 2), count, most, utf8);
	*to++ = '\n';
	out->at = to;
}

/* Returns the number of empty columns from this one on. */
static unsigned count_empty(const struct thrum__histogram *histogram, unsigned column)
{
	unsigned count = 0;

	while (column + count <= histogram->last && histogram->count[column + count] == 0)
		count++;
	return count;
}

static void write_bars(struct output *out, const struct thrum__histogram *histogram, bool utf8)
{
	uint64_t most = 0;

	for (unsigned i = histogram->first; i <= histogram->last; i++)
		most = histogram->count[i] > most ? histogram->count[i] : most;
	for (unsigned i = histogram->first; i <= histogram->last;) {
		unsigned empty = count_empty(histogram, i);

		if (empty > 2) {
			output_text(out, "         ...\n");
			i += empty;
		} else {
			write_bar(out, histogram, i++, most, utf8);
		}
	}
}

static void write_histogram_text(struct output *out, int measure,
	const struct thrum__histogram *histogram, bool color)
{
	output_text(out, color ? "\033[1m" : "");
	output_text(out, measures[measure]);
	output_text(out, color ? "\033[0m\n" : "\n");
	if (histogram->first > histogram->last)
		output_text(out, "  none has ended\n");
	else
		write_bars(out, histogram, is_utf8());
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void write_columns(struct output *out, int measure, const struct thrum__histogram *histogram,
	bool json)
{
	for (unsigned i = histogram->first; i <= histogram->last; i++) {
		char *to = output_room(out, 8 * NUMBER_ROOM);

		to = put_string(to, json ? "{\"measure\":\"" : "");
		to = put_string(to, measures[measure]);
		to = put_string(to, json ? "\",\"from\":" : "\t");
		to = put_signed(to, thrum__stats_histogram_bound(i));
		to = put_string(to, json ? ",\"to\":" : "\t");
		to = put_signed(to, thrum__stats_histogram_bound(i + 1));
		to = put_string(to, json ? ",\"count\":" : "\t");
		to = put_unsigned(to, histogram->count[i]);
		to = put_string(to, json ? "}\n" : "\n");
		out->at = to;
	}
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Marks the labels that match, and returns their number. */
static uint32_t choose_labels(const struct thrum__tallies *tallies, const char *label, bool *wanted)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < tallies->count; i++) {
		size_t size;
		const char *pattern = thrum__base_keys_text(&tallies->keys, i, &size);

		wanted[i] = pattern_matches(label, pattern, size);
		count += wanted[i];
	}
	return count;
}

int histogram_write(struct output *out, const struct thrum__stats *stats, const char *label,
	int format, bool color)
{
	const struct thrum__tallies *tallies = &stats->by[THRUM__BY_LABEL];
	bool *wanted = calloc((size_t)tallies->count + 1, sizeof(*wanted));
	struct thrum__histogram histogram;

	if (!wanted)
		return load_no_memory();
	if (choose_labels(tallies, label, wanted) == 0) {
		complain("no task has a label that matches \"%s\"", label);
		free(wanted);
		return STATUS_FAILED;
	}
	if (format == TABLE_TSV)
		output_text(out, "measure\tfrom\tto\tcount\n");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		thrum__stats_histogram_make(stats, wanted, order[i], &histogram);
		if (format == TABLE_TEXT) {
			output_text(out, i > 0 ? "\n" : "");
			write_histogram_text(out, order[i], &histogram, color);
		} else {
			write_columns(out, order[i], &histogram, format == TABLE_JSON);
		}
	}
	free(wanted);
	return STATUS_OK;
}
