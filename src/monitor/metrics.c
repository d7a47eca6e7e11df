/* SPDX-License-Identifier: ISC */
/* Writes metrics. First come thrum's own, then the program's counters, ordered by name, since all
 * samples of a name must stand together. */
#include "monitor/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "monitor/unit.h"

#define NAME_ROOM 200

struct writer {
	const struct thrum__monitor_source *sources;
	size_t source_count;
	bool is_open; /* OpenMetrics */
	struct thrum__base_text *to;
};

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Writes a text as valid UTF-8, with its quotes and ends of lines escaped. */
static void put_escaped(struct thrum__base_text *to, const char *text)
{
	size_t left = strlen(text), size;
	uint32_t character;

	for (; left > 0; text += size, left -= size) {
		size = thrum__base_utf8_decode(text, left, &character);
		if (size == 0) {
			thrum__base_text_put(to, THRUM__REPLACEMENT);
			size = 1;
		} else if (*text == '"' || *text == '\\') {
			thrum__base_text_byte(to, '\\');
			thrum__base_text_byte(to, *text);
		} else if (*text == '\n') {
			thrum__base_text_put(to, "\\n");
		} else {
			thrum__base_text_bytes(to, text, size);
		}
	}
}

static void put_value(struct thrum__base_text *to, const char *text)
{
	thrum__base_text_byte(to, '"');
	put_escaped(to, text);
	thrum__base_text_byte(to, '"');
}

static void put_number(struct thrum__base_text *to, double number)
{
	if (number == floor(number) && fabs(number) < 9e15)
		thrum__base_text_number(to, (int64_t)number);
	else
		thrum__base_text_format(to, "%.9g", number);
}

/* Begins a sample: "name_suffix{program="…",pid="…"". The labels are still open. */
static void begin_sample(const struct writer *w, const char *name, const char *suffix,
	const struct thrum__monitor_source *source)
{
	thrum__base_text_format(w->to, "%s%s{program=", name, suffix);
	put_value(w->to, source->program);
	thrum__base_text_format(w->to, ",pid=\"%u\"", (unsigned)source->pid);
}

static void put_label(const struct writer *w, const char *label, const char *value)
{
	thrum__base_text_format(w->to, ",%s=", label);
	put_value(w->to, value);
}

static void end_sample(const struct writer *w, double number)
{
	thrum__base_text_put(w->to, "} ");
	put_number(w->to, number);
	thrum__base_text_byte(w->to, '\n');
}

/* Begins a family of samples. `unit` may be "". */
static void begin_family(const struct writer *w, const char *name, const char *type,
	const char *unit, const char *help)
{
	/* The old format calls a counter by the name of its samples. */
	const char *total = !w->is_open && strcmp(type, "counter") == 0 ? "_total" : "";

	thrum__base_text_format(w->to, "# TYPE %s%s %s\n", name, total, type);
	if (w->is_open && *unit)
		thrum__base_text_format(w->to, "# UNIT %s %s\n", name, unit);
	thrum__base_text_format(w->to, "# HELP %s%s ", name, total);
	put_escaped(w->to, help);
	thrum__base_text_byte(w->to, '\n');
}

/* ---- Tasks, lanes, losses -------------------------------------------------------------------- */

static int compare_groups(const void *left, const void *right)
{
	const struct thrum__monitor_group *a = *(const struct thrum__monitor_group *const *)left;
	const struct thrum__monitor_group *b = *(const struct thrum__monitor_group *const *)right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->label, b->label);
}

/* Writes a number of each group of a source: its count, or its age. */
static int put_groups(const struct writer *w, const char *name,
	const struct thrum__monitor_source *source, bool want_age)
{
	uint32_t count = source->sample->group_count;
	const struct thrum__monitor_group **groups = malloc((count + 1) * sizeof(*groups));
	double others = 0;

	if (!groups)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		groups[i] = &source->sample->groups[i];
	qsort(groups, count, sizeof(*groups), compare_groups);
	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__monitor_group *group = groups[i];
		double number = want_age ? (double)group->oldest / 1e9 : group->count;

		if (want_age && group->oldest < 0)
			continue;
		if (i >= THRUM__METRICS_LABELS) {
			others = want_age ? fmax(others, number) : others + number;
			continue;
		}
		begin_sample(w, name, "", source);
		put_label(w, "label", group->is_labelled ? group->label : "");
		put_label(w, "kind", thrum_kind_name(group->kind));
		end_sample(w, number);
	}
	if (count > THRUM__METRICS_LABELS) {
		begin_sample(w, name, "", source);
		put_label(w, "label", "(others)");
		put_label(w, "kind", "");
		end_sample(w, others);
	}
	free(groups);
	return 0;
}

static int put_tasks(const struct writer *w)
{
	int error = 0;

	begin_family(w, "thrum_live_tasks", "gauge", "", "Tasks that have not ended, by label.");
	for (size_t i = 0; i < w->source_count && error == 0; i++)
		error = put_groups(w, "thrum_live_tasks", &w->sources[i], false);
	begin_family(w, "thrum_oldest_task_age_seconds", "gauge", "seconds",
		"Age of the oldest task that has not ended, by label.");
	for (size_t i = 0; i < w->source_count && error == 0; i++)
		error = put_groups(w, "thrum_oldest_task_age_seconds", &w->sources[i], true);
	return error;
}

static void put_lanes(const struct writer *w, const char *name, const char *help, bool want_tasks)
{
	begin_family(w, name, "gauge", "ratio", help);
	for (size_t i = 0; i < w->source_count; i++) {
		const struct thrum__monitor_sample *sample = w->sources[i].sample;

		for (uint32_t l = 0; l < sample->lane_count; l++) {
			const struct thrum__monitor_lane *lane = &sample->lanes[l];
			char number[24];

			if (!lane->is_alive || lane->span <= 0)
				continue;
			struct thrum__base_text text = thrum__base_text_in(number, sizeof(number));

			thrum__base_text_number(&text, (int64_t)lane->number);
			begin_sample(w, name, "", &w->sources[i]);
			put_label(w, "lane", number);
			put_label(w, "thread", lane->name);
			end_sample(w,
				want_tasks ? (double)lane->in_tasks / (double)lane->span
					   : thrum__monitor_load(lane));
		}
	}
}

static void put_losses(const struct writer *w)
{
	static const char *const causes[] = {
#define THRUM__X(NAME, name, value, text) [value] = #name,
		THRUM__LOST(THRUM__X)
#undef THRUM__X
	};

	begin_family(w, "thrum_lost", "counter", "",
		"Events, definitions and live tasks that could not be recorded, by cause.");
	for (size_t i = 0; i < w->source_count; i++) {
		for (int cause = 0; cause < THRUM__LOST_CAUSES; cause++) {
			begin_sample(w, "thrum_lost", "_total", &w->sources[i]);
			put_label(w, "cause", causes[cause]);
			end_sample(w, (double)w->sources[i].sample->lost[cause]);
		}
	}
}

static void put_states(const struct writer *w)
{
	begin_family(w, "thrum_recording", "gauge", "",
		"1 while the process records, 0 when it has ended.");
	for (size_t i = 0; i < w->source_count; i++) {
		begin_sample(w, "thrum_recording", "", &w->sources[i]);
		end_sample(w, !w->sources[i].has_ended);
	}
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* A counter of one of the sources. */
struct entry {
	const struct thrum__monitor_source *source;
	const struct thrum__read_counter *counter;
	char name[NAME_ROOM]; /* of the metric, without its unit */
	unsigned number;      /* of paths that give this name: 1, 2, … */
	bool is_time;
	double scale; /* of a value, to seconds */
};

static bool ends_in(const char *name, const char *end)
{
	size_t size = strlen(name), end_size = strlen(end);

	return size >= end_size && strcmp(name + size - end_size, end) == 0;
}

/* Whether a name ends like a sample of another one. */
static bool is_reserved(const char *name)
{
	static const char *const ends[] = {"_total", "_created", "_count", "_sum", "_bucket",
		"_info", "_gcount", "_gsum"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_in(name, ends[i]))
			return true;
	return false;
}

/* Makes a metric's name of a counter's path. */
static void name_entry(struct entry *entry)
{
	const char *path = entry->counter->path;
	struct thrum__base_text text = thrum__base_text_in(entry->name, sizeof(entry->name));
	size_t size;

	if (entry->counter->label) {
		entry->is_time = entry->counter->kind == THRUM_COUNTER_DISTRIBUTION;
		entry->scale = entry->is_time ? 1e-9 : 1;
		thrum__base_text_put(&text,
			entry->is_time ? "thrum_task_duration" : "thrum_tasks_ended");
		return;
	}
	entry->is_time = thrum__monitor_unit_of(path, &entry->scale, &size) == THRUM__MONITOR_TIME;
	entry->scale = entry->is_time ? entry->scale / 1e9 : 1;
	if (strncmp(path, "thrum", 5) == 0)
		thrum__base_text_put(&text, "program_");
	else if ((path[0] >= '0' && path[0] <= '9') || size == 0)
		thrum__base_text_byte(&text, '_');
	for (size_t i = 0; i < size; i++) {
		char c = path[i];
		bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9');

		thrum__base_text_byte(&text, is_good ? c : '_');
	}
	if (!entry->is_time && is_reserved(entry->name))
		thrum__base_text_put(&text, "_value");
}

static int compare_names(const struct entry *a, const struct entry *b)
{
	int order = strcmp(a->name, b->name);

	return order != 0 ? order : a->is_time - b->is_time;
}

/* Orders counters that are samples of one metric. */
static int compare_metrics(const struct entry *a, const struct entry *b)
{
	int order = compare_names(a, b);

	if (order == 0)
		order = (a->counter->kind > b->counter->kind) -
			(a->counter->kind < b->counter->kind);
	/* All labels are one metric. */
	return order != 0 || a->counter->label ? order : strcmp(a->counter->path, b->counter->path);
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = compare_metrics(a, b);

	if (order == 0)
		order = (a->source > b->source) - (a->source < b->source);
	return order != 0 ? order : strcmp(a->counter->path, b->counter->path);
}

static void compose_name(const struct entry *entry, char *to)
{
	struct thrum__base_text text = thrum__base_text_in(to, NAME_ROOM + 32);

	thrum__base_text_put(&text, entry->name);
	if (entry->number > 1)
		thrum__base_text_format(&text, "__%u", entry->number);
	if (entry->is_time)
		thrum__base_text_put(&text, "_seconds");
}

/* The bounds of buckets: 0, 1, 2, 3, 5, 7, 11, 15, 23, 31, … Each is the greatest value of a bucket of
 * the recording, so that no value is counted in the wrong one. */
static int64_t next_bound(int64_t bound)
{
	uint64_t next = (uint64_t)bound + 1, power = 1;

	if (bound < 2)
		return bound + 1;
	while (power * 2 <= next)
		power *= 2;
	next = next == power ? power + power / 2 : power * 2;
	return next > INT64_MAX ? INT64_MAX : (int64_t)next - 1;
}

/* The exemplar of a histogram, until it is written. */
static const struct thrum__monitor_exemplar *find_exemplar(const struct writer *w,
	const struct entry *entry)
{
	const struct thrum__monitor_sample *sample = entry->source->sample;

	for (uint32_t i = 0; w->is_open && i < sample->exemplar_count; i++)
		if (strcmp(sample->exemplars[i].path, entry->counter->path) == 0)
			return &sample->exemplars[i];
	return NULL;
}

static void begin_entry(const struct writer *w, const char *name, const char *suffix,
	const struct entry *entry)
{
	begin_sample(w, name, suffix, entry->source);
	if (entry->counter->label)
		put_label(w, "label", entry->counter->label);
}

static void put_bucket(const struct writer *w, const struct entry *entry, const char *name,
	double bound, uint64_t count, const struct thrum__monitor_exemplar **exemplar)
{
	char text[32] = "+Inf";

	if (isfinite(bound)) {
		struct thrum__base_text number = thrum__base_text_in(text, sizeof(text));

		thrum__base_text_format(&number, "%.12g%s", bound,
			bound == floor(bound) && fabs(bound) < 1e11 ? ".0" : "");
	}
	begin_entry(w, name, "_bucket", entry);
	put_label(w, "le", text);
	if (*exemplar && (double)(*exemplar)->value * entry->scale <= bound) {
		thrum__base_text_put(w->to, "} ");
		put_number(w->to, (double)count);
		thrum__base_text_format(w->to, " # {task_id=\"%llu\"} %.9g\n",
			(unsigned long long)(*exemplar)->task,
			(double)(*exemplar)->value * entry->scale);
		*exemplar = NULL;
		return;
	}
	end_sample(w, (double)count);
}

static void put_histogram(const struct writer *w, const struct entry *entry, const char *name)
{
	const struct thrum__read_counter *counter = entry->counter;
	const struct thrum__read_bucket *bucket = counter->buckets;
	const struct thrum__read_bucket *end = bucket ? bucket + counter->bucket_count : NULL;
	const struct thrum__monitor_exemplar *exemplar = find_exemplar(w, entry);
	uint64_t count = 0;
	int64_t bound = 0;

	while (bucket < end && bucket->high < 0)
		count += bucket++->count;
	if (count > 0)
		put_bucket(w, entry, name, -entry->scale, count, &exemplar);
	while (bucket < end && bound < INT64_MAX && next_bound(bound) < bucket->low)
		bound = next_bound(bound);
	while (bucket < end && bound < INT64_MAX) {
		while (bucket < end && bucket->high <= bound)
			count += bucket++->count;
		put_bucket(w, entry, name, (double)bound * entry->scale, count, &exemplar);
		bound = next_bound(bound);
	}
	put_bucket(w, entry, name, INFINITY, counter->count, &exemplar);
	begin_entry(w, name, "_sum", entry);
	end_sample(w, (double)counter->sum * entry->scale);
	begin_entry(w, name, "_count", entry);
	end_sample(w, (double)counter->count);
}

static void put_entry(const struct writer *w, const struct entry *entry, const char *name)
{
	switch (entry->counter->kind) {
	case THRUM_COUNTER_DISTRIBUTION: put_histogram(w, entry, name); return;
	case THRUM_COUNTER_CUMULATIVE: begin_entry(w, name, "_total", entry); break;
	default: begin_entry(w, name, "", entry); break;
	}
	end_sample(w, (double)entry->counter->own * entry->scale);
}

static void put_entries(const struct writer *w, struct entry *entries, size_t count)
{
	static const char *const types[] = {[THRUM_COUNTER_GAUGE] = "gauge",
		[THRUM_COUNTER_CUMULATIVE] = "counter",
		[THRUM_COUNTER_DISTRIBUTION] = "histogram"};
	char name[NAME_ROOM + 32], help[NAME_ROOM];

	for (size_t i = 0; i < count; i++) {
		struct entry *entry = &entries[i];
		bool is_new = i == 0 || compare_metrics(entry - 1, entry) != 0;
		struct thrum__base_text text = thrum__base_text_in(help, sizeof(help));

		entry->number = i == 0 || compare_names(entry - 1, entry) != 0
			? 1
			: entry[-1].number + is_new;
		compose_name(entry, name);
		if (is_new && entry->counter->label) {
			begin_family(w, name, types[entry->counter->kind],
				entry->is_time ? "seconds" : "",
				entry->is_time ? "Time from creation to end of tasks, by label."
					       : "Tasks that ended while thrum ran, by label.");
		} else if (is_new) {
			thrum__base_text_put(&text, "Counter ");
			thrum__base_text_put(&text, entry->counter->path);
			thrum__base_text_put(&text, " of the program.");
			begin_family(w, name, types[entry->counter->kind],
				entry->is_time ? "seconds" : "", help);
		}
		put_entry(w, entry, name);
	}
}

static int put_counters(const struct writer *w)
{
	size_t room = 0, count = 0;
	struct entry *entries;

	for (size_t i = 0; i < w->source_count; i++)
		room += w->sources[i].counters->count;
	entries = calloc(room + 1, sizeof(*entries));
	if (!entries)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i < w->source_count; i++) {
		const struct thrum__read_counters *counters = w->sources[i].counters;

		for (uint32_t c = 0; c < counters->count; c++) {
			if (!counters->items[c].is_counter ||
				counters->items[c].kind > THRUM_COUNTER_DISTRIBUTION)
				continue;
			/* thrum_live_tasks tells that. */
			if (counters->items[c].label &&
				counters->items[c].kind == THRUM_COUNTER_GAUGE)
				continue;
			entries[count].source = &w->sources[i];
			entries[count].counter = &counters->items[c];
			name_entry(&entries[count++]);
		}
	}
	qsort(entries, count, sizeof(*entries), compare_entries);
	put_entries(w, entries, count);
	free(entries);
	return 0;
}

int thrum__monitor_metrics(const struct thrum__monitor_source *sources, size_t count,
	enum thrum__monitor_format format, struct thrum__base_text *to)
{
	const struct writer w = {sources, count, format == THRUM__METRICS_OPENMETRICS, to};
	int error;

	put_states(&w);
	error = put_tasks(&w);
	put_lanes(&w, "thrum_lane_busy_ratio",
		"Share of time in which the thread is known to have worked.", false);
	put_lanes(&w, "thrum_lane_task_ratio", "Share of time in which the thread ran tasks.",
		true);
	put_losses(&w);
	if (error == 0)
		error = put_counters(&w);
	if (w.is_open)
		thrum__base_text_put(to, "# EOF\n");
	return error != 0 || to->failed ? -THRUM_E_MEMORY : 0;
}
