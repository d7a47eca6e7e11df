/* SPDX-License-Identifier: ISC */
/* The rows of the tables, from a model. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/stats/stats.h"
#include "analyse/why/finding.h"
#include "base/array.h"
#include "base/keys.h"
#include "base/time.h"
#include "format/counters.h"
#include "store/schema.h"
#include "store/tsv.h"
#include "words/words.h"

#define SECOND INT64_C(1000000000)
#define SLOT INT64_C(600) /* seconds */
#define MINUTE INT64_C(60)

struct slot {
	enum thrum__store_table table;
	int64_t time; /* seconds since 1970 */
	struct thrum__store_parquet file;
	struct thrum__store_tsv tsv; /* in its place, if there is a key */
};

/* The tasks of one program, pattern and kind that ended in one minute and took as long. */
struct bucket {
	uint32_t first; /* one of them */
	int64_t tasks;
};

struct tables {
	const struct thrum__model *model;
	const struct thrum_trace_info *info;
	const char *host, *program; /* these are thrum__store_options */
	const char *key;
	const struct thrum__store_joined *joined;
	uint32_t part;
	struct slot **slots;
	uint32_t count, room;
	struct thrum__base_keys numbers; /* of slots, by time and table */
	struct slot *latest[THRUM__STORE_TABLE_COUNT];
	struct slot *to; /* of the present row */
	struct bucket *buckets;
	uint32_t bucket_room;
	struct thrum__base_keys bucket_keys;
	int failed; /* 0 or a negative enum thrum_error */
};

/* ---- Cells ---------------------------------------------------------------------------------- */

static int64_t wall(const struct tables *t, int64_t time)
{
	return thrum__base_time_clamp(time) + thrum__base_time_clamp(t->info->start);
}

static void put_text(struct tables *t, const char *text, size_t size)
{
	if (t->key)
		thrum__store_tsv_text(&t->to->tsv, text, size);
	else
		thrum__store_parquet_text(&t->to->file, text, size);
}

static void put_string(struct tables *t, const char *text)
{
	put_text(t, text, strlen(text));
}

static void put_number(struct tables *t, int64_t number)
{
	if (t->key)
		thrum__store_tsv_number(&t->to->tsv, number);
	else
		thrum__store_parquet_number(&t->to->file, number);
}

static void put_none(struct tables *t)
{
	if (t->key)
		thrum__store_tsv_none(&t->to->tsv);
	else
		thrum__store_parquet_none(&t->to->file);
}

/* A time, or none while it lasts. */
static void put_time(struct tables *t, int64_t time)
{
	if (time == THRUM__OPEN)
		put_none(t);
	else
		put_number(t, wall(t, time));
}

/* The columns of an interval: its beginning, its end and its length. */
static void put_interval(struct tables *t, int64_t began, int64_t ended)
{
	put_time(t, began);
	put_time(t, ended);
	if (ended == THRUM__OPEN)
		put_none(t);
	else
		put_number(t, ended - began);
}

static bool has_task(const struct tables *t, uint32_t task)
{
	return task != THRUM__NONE && thrum__model_has_row(&t->model->tasks, task);
}

static void put_id(struct tables *t, uint32_t task)
{
	if (has_task(t, task))
		put_number(t, (int64_t)THRUM__TASK(t->model, task, id));
	else
		put_none(t);
}

static void put_program(struct tables *t, uint32_t task)
{
	const char *process = has_task(t, task) ? thrum__model_process(t->model, task) : "";

	put_string(t, *process ? process : t->program);
}

/* Writes the pattern of the task's label; of one without a label its kind. Returns its size. */
static size_t make_pattern(const struct thrum__model *model, uint32_t task,
	char pattern[THRUM__LABEL_PATTERN_MAX])
{
	size_t size;
	const char *label = thrum__model_task_name(model, task, &size);

	if (size > 0)
		return thrum__analyse_label_pattern(label, size, pattern);
	return (size_t)snprintf(pattern, THRUM__LABEL_PATTERN_MAX, "%s",
		thrum_kind_name(THRUM__TASK(model, task, kind)));
}

static void put_pattern_of(struct tables *t, const struct thrum__model *model, uint32_t task)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];

	if (task != THRUM__NONE && thrum__model_has_row(&model->tasks, task))
		put_text(t, pattern, make_pattern(model, task, pattern));
	else
		put_none(t);
}

static void put_pattern(struct tables *t, uint32_t task)
{
	put_pattern_of(t, t->model, task);
}

/* Writes the machine and the process of another task, as far as they are known. */
static void put_place(struct tables *t, uint32_t task)
{
	if (!has_task(t, task) || t->model->is_joined) {
		put_none(t), put_none(t);
		return;
	}
	put_string(t, t->host);
	put_number(t, t->info->pid);
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* Makes the slot of the next number. Returns 0 or a negative enum thrum_error. */
static int add_slot(struct tables *t, enum thrum__store_table table, int64_t time)
{
	struct slot **slots, *slot;
	if (t->count == THRUM__STORE_FILES_MAX)
		return -THRUM_E_SIZE;
	slots = thrum__base_grow(t->slots, &t->room, t->count + UINT64_C(1), sizeof(struct slot *));
	if (!slots)
		return -THRUM_E_MEMORY;
	t->slots = slots;
	slot = malloc(sizeof *slot);
	if (!slot)
		return -THRUM_E_MEMORY;
	slots[t->count++] = slot;
	slot->table = table;
	slot->time = time;
	if (t->key)
		thrum__store_tsv_init(&slot->tsv, thrum__store_column_count(table));
	else
		thrum__store_parquet_init(&slot->file, thrum__store_columns[table],
			thrum__store_column_count(table));
	return 0;
}

/* Begins a row of these ten minutes. Returns false after a failure. */
static bool begin_row(struct tables *t, enum thrum__store_table table, int64_t time)
{
	struct slot *slot = t->latest[table];
	const char name = (char)table;
	uint32_t number;

	if (!slot || slot->time != time) {
		t->failed = thrum__base_keys_add(&t->numbers, (uint64_t)time, &name, 1, &number);
		if (t->failed == 0 && number == t->count)
			t->failed = add_slot(t, table, time);
		if (t->failed)
			return false;
		slot = t->slots[number];
	}
	t->latest[table] = slot;
	t->to = slot;
	if (t->key) {
		thrum__store_tsv_begin(&slot->tsv, t->key);
		thrum__base_text_number(&slot->tsv.out, time);
		thrum__base_text_byte(&slot->tsv.out, '\t');
	}
	return true;
}

/* Begins a row of a task, with its program and process. Its time is over then; THRUM__OPEN: it isn't. */
static bool begin_task_row(struct tables *t, enum thrum__store_table table, int64_t over,
	uint32_t task)
{
	int64_t time = wall(t, over == THRUM__OPEN ? t->model->end : over) / SECOND;

	if (!begin_row(t, table, time - time % SLOT))
		return false;
	put_program(t, task);
	put_number(t, t->info->pid);
	return true;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void add_task(struct tables *t, uint32_t task)
{
	const struct thrum__model *m = t->model;
	const struct thrum_trace_site *site = thrum__model_site(m, task);
	uint32_t failure = THRUM__TASK(m, task, failure);
	int64_t end = THRUM__TASK(m, task, end);
	size_t size;

	if (!begin_task_row(t, THRUM__STORE_TASKS, end, task))
		return;
	put_id(t, task);
	put_id(t, THRUM__TASK(m, task, parent));
	const char *label = thrum__model_task_name(m, task, &size);

	put_text(t, label, size);
	put_pattern(t, task);
	put_string(t, thrum_kind_name(THRUM__TASK(m, task, kind)));
	put_string(t, thrum__model_state_name(THRUM__TASK(m, task, state)));
	if (failure == THRUM__NONE) {
		put_none(t);
	} else {
		const char *reason = thrum__model_string(m, failure, &size);

		put_text(t, reason, size);
	}
	put_interval(t, THRUM__TASK(m, task, start), end);
	put_number(t, thrum__stats_time_run(m, task));
	if (site) {
		put_string(t, site->file);
		put_number(t, site->line);
		put_string(t, site->function);
	} else {
		put_none(t), put_none(t), put_none(t);
	}
}

static void add_run(struct tables *t, uint32_t run)
{
	const struct thrum__model *m = t->model;
	uint32_t task = THRUM__RUN(m, run, task), lane = THRUM__RUN(m, run, lane);
	int64_t end = THRUM__RUN(m, run, end);

	if (!has_task(t, task) || !begin_task_row(t, THRUM__STORE_RUNS, end, task))
		return;
	put_id(t, task);
	put_pattern(t, task);
	put_number(t, lane < m->lane_count ? (int64_t)m->lanes[lane].number : -1);
	put_interval(t, THRUM__RUN(m, run, start), end);
}

/* Returns when the minute began in which a task ended, s since 1970. */
static int64_t minute_of(const struct tables *t, uint32_t task)
{
	int64_t ended = wall(t, THRUM__TASK(t->model, task, end)) / SECOND;

	return ended - ended % MINUTE;
}

static struct thrum__bucket bucket_of(const struct thrum__model *m, uint32_t task)
{
	return thrum__format_counters_bucket(
		THRUM__TASK(m, task, end) - THRUM__TASK(m, task, start));
}

/* Counts a task that has ended in its bucket. */
static void count_task(struct tables *t, uint32_t task)
{
	const struct thrum__model *m = t->model;
	uint32_t lane = THRUM__TASK(m, task, lane), count = t->bucket_keys.count, number;
	char key[7 + THRUM__LABEL_PATTERN_MAX];
	struct bucket *buckets;

	if (THRUM__TASK(m, task, end) == THRUM__OPEN || t->failed)
		return;
	struct thrum__bucket bucket = bucket_of(m, task);
	uint32_t process = lane < m->lane_count ? m->lanes[lane].process : THRUM__NONE;

	memcpy(key, &process, 4);
	key[4] = (char)THRUM__TASK(m, task, kind);
	key[5] = (char)bucket.row;
	key[6] = (char)bucket.place;
	t->failed = thrum__base_keys_add(&t->bucket_keys, (uint64_t)minute_of(t, task), key,
		7 + make_pattern(t->model, task, key + 7), &number);
	buckets = thrum__base_grow(t->buckets, &t->bucket_room, t->bucket_keys.count,
		sizeof(struct bucket));
	if (!buckets)
		t->failed = -THRUM_E_MEMORY;
	else
		t->buckets = buckets;
	if (t->failed)
		return;
	if (number == count)
		t->buckets[number] = (struct bucket){task, 0};
	t->buckets[number].tasks++;
}

static void add_bucket(struct tables *t, const struct bucket *bucket)
{
	const struct thrum__model *m = t->model;
	uint32_t task = bucket->first;
	int64_t low, high;

	if (!begin_task_row(t, THRUM__STORE_HISTOGRAMS, THRUM__TASK(m, task, end), task))
		return;
	thrum__format_counters_bounds(bucket_of(m, task), &low, &high);
	put_number(t, minute_of(t, task) * SECOND);
	put_pattern(t, task);
	put_string(t, thrum_kind_name(THRUM__TASK(m, task, kind)));
	put_number(t, low);
	put_number(t, high);
	put_number(t, bucket->tasks);
}

/* A wait lasts until the task does something else, ends, or the other one has ended. */
static void add_wait(struct tables *t, uint32_t edge, int64_t next)
{
	const struct thrum__model *m = t->model;
	uint32_t task = THRUM__EDGE(m, edge, from), other = THRUM__EDGE(m, edge, to);
	int64_t began = THRUM__EDGE(m, edge, time), end = next;

	if (THRUM__TASK(m, task, end) < end)
		end = THRUM__TASK(m, task, end);
	if (has_task(t, other)) {
		uint32_t heir = thrum__model_heir(m, other);
		int64_t over = has_task(t, heir) ? THRUM__TASK(m, heir, end) : THRUM__OPEN;

		end = over >= began && over < end ? over : end;
	}
	if (!begin_task_row(t, THRUM__STORE_WAITS, end, task))
		return;
	put_id(t, task);
	put_pattern(t, task);
	put_id(t, other);
	put_pattern(t, other);
	if (has_task(t, other))
		put_program(t, other);
	else
		put_none(t);
	put_interval(t, began, end);
	put_place(t, other);
}

/* The latest edge of a task comes first. */
static void add_waits(struct tables *t, uint32_t task)
{
	const struct thrum__model *m = t->model;
	int64_t next = THRUM__OPEN;

	for (uint32_t edge = THRUM__TASK(m, task, edge_out);
		thrum__model_has_row(&m->edges, edge) && !t->failed;
		edge = THRUM__EDGE(m, edge, prev_out)) {
		if (THRUM__EDGE(m, edge, kind) == THRUM__EDGE_WAIT)
			add_wait(t, edge, next);
		else
			next = THRUM__EDGE(m, edge, time);
	}
}

static void add_counter(struct tables *t, const struct thrum__counter *counter)
{
	size_t size;
	const char *name = thrum__model_string(t->model, counter->name, &size);

	for (uint32_t i = counter->values.first; i < counter->values.count && !t->failed; i++) {
		if (!thrum__model_has_value(&counter->values, i))
			continue;
		int64_t time = THRUM__VALUE(counter, i, time);

		if (!begin_task_row(t, THRUM__STORE_COUNTERS, time, THRUM__VALUE(counter, i, task)))
			return;
		put_text(t, name, size);
		put_time(t, time);
		put_number(t, THRUM__VALUE(counter, i, value));
	}
}

/* ---- Other processes ------------------------------------------------------------------------ */

/* Returns the recording that has a task of the joined trace, and sets *id to its number there. NULL: none. */
static const struct thrum__store_part *find_part(const struct tables *t, uint32_t task, int64_t *id)
{
	uint64_t number, part;

	if (task == THRUM__NONE || !thrum__model_has_row(&t->joined->model->tasks, task))
		return NULL;
	number = THRUM__TASK(t->joined->model, task, id);
	part = number / t->joined->step;
	*id = (int64_t)(number % t->joined->step);
	return part < t->joined->count ? &t->joined->parts[part] : NULL;
}

/* Returns the task of another process whose answer a task of the joined trace waits for, or has waited for;
 * or NONE. */
static uint32_t find_server(const struct tables *t, uint32_t task)
{
	const struct thrum__model *m = t->joined->model;
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	uint32_t server = thrum__analyse_task_server(m, task);
	unsigned count = server == THRUM__NONE ? thrum__analyse_waits_of(m, task, waits) : 0;

	for (unsigned i = 0; i < count && server == THRUM__NONE; i++)
		if (waits[i].is_link)
			server = waits[i].on;
	return server;
}

/* Adds the task's wait for another process, which lasts as long as the task, or until the other task ends. A
 * row belongs to the ten minutes of the task's own end, as times of other machines are known better later. */
static void add_answer(struct tables *t, uint32_t task)
{
	const struct thrum__store_joined *joined = t->joined;
	const struct thrum__model *m = joined->model;
	uint64_t number = THRUM__TASK(t->model, task, id) + t->part * joined->step;
	uint32_t there = thrum__model_find(m, number), server;
	int64_t began = THRUM__TASK(t->model, task, start), end = THRUM__TASK(t->model, task, end);
	const struct thrum__store_part *part;
	int64_t over, id;

	if (there == THRUM__NONE || THRUM__TASK(m, there, became) != THRUM__NONE)
		return;
	server = find_server(t, there);
	part = find_part(t, server, &id);
	if (!part || part == &joined->parts[t->part] ||
		!begin_task_row(t, THRUM__STORE_WAITS, end, task))
		return;
	over = THRUM__TASK(m, thrum__model_heir(m, server), end);
	if (over != THRUM__OPEN)
		over = began + (over - THRUM__TASK(m, there, start));
	put_id(t, task);
	put_pattern(t, task);
	put_number(t, id);
	put_pattern_of(t, m, server);
	put_string(t, part->program);
	put_interval(t, began, over >= began && over < end ? over : end);
	put_string(t, part->host);
	put_number(t, part->pid);
}

/* ---- Findings ------------------------------------------------------------------------------- */

static void add_finding(struct tables *t, const struct thrum__model *m,
	const struct thrum__finding *finding)
{
	uint32_t cause = finding->steps[0].task;
	const struct thrum__store_part *part = NULL;
	char sentence[1000];
	int64_t id = 0;

	if (t->joined && find_part(t, finding->task, &id) != &t->joined->parts[t->part])
		return;
	if (!begin_task_row(t, THRUM__STORE_FINDINGS, THRUM__OPEN,
		    t->joined ? THRUM__NONE : finding->task))
		return;
	put_time(t, t->model->end);
	put_string(t, thrum__why_class_name(finding->class));
	put_string(t, thrum__why_certainty_name(finding->certainty));
	thrum__words_finding(m, finding, sentence, sizeof sentence);
	put_string(t, sentence);
	if (t->joined)
		put_number(t, id);
	else
		put_id(t, finding->task);
	put_pattern_of(t, m, finding->task);
	put_pattern_of(t, m, cause);
	if (t->joined && (part = find_part(t, cause, &id))) {
		put_string(t, part->program);
		put_string(t, part->host);
		put_number(t, part->pid);
		put_number(t, id);
	} else {
		put_program(t, cause);
		put_place(t, cause);
		put_id(t, cause);
	}
}

static void add_findings(struct tables *t)
{
	const struct thrum__model *m = t->joined ? t->joined->model : t->model;
	struct thrum__findings own;
	const struct thrum__findings *findings = t->joined ? t->joined->findings : &own;

	t->failed = !t->joined && thrum__why_make(m, &own) < 0 ? -THRUM_E_MEMORY : 0;
	if (t->failed)
		return;
	for (uint32_t i = 0; i < findings->count && !t->failed; i++)
		add_finding(t, m, &findings->findings[i]);
	if (!t->joined)
		thrum__why_free(&own);
}

/* Whether no slot before has the same ten minutes. */
static bool is_first(const struct tables *t, uint32_t number)
{
	for (uint32_t i = 0; i < number; i++)
		if (t->slots[i]->time == t->slots[number]->time)
			return false;
	return true;
}

/* Rows of ClickHouse can only be replaced. So a row without a class says of each ten minutes that these were
 * looked at: findings and histograms of an earlier look count no more. */
static void add_looks(struct tables *t)
{
	uint32_t count = t->count;

	for (uint32_t i = 0; i < count && !t->failed; i++) {
		if (!is_first(t, i) || !begin_row(t, THRUM__STORE_FINDINGS, t->slots[i]->time))
			continue;
		put_string(t, t->program);
		put_number(t, t->info->pid);
		put_none(t);
		put_string(t, "");
		for (unsigned k = 4; k < thrum__store_column_count(THRUM__STORE_FINDINGS); k++)
			put_none(t);
	}
}

static void add_all(struct tables *t)
{
	const struct thrum__model *m = t->model;

	for (uint32_t i = m->tasks.first; i < m->tasks.count && !t->failed; i++)
		if (thrum__model_has_row(&m->tasks, i) &&
			!(THRUM__TASK(m, i, flags) & THRUM__TASK_LANE)) {
			add_task(t, i);
			count_task(t, i);
			add_waits(t, i);
			if (t->joined)
				add_answer(t, i);
		}
	for (uint32_t i = m->runs.first; i < m->runs.count && !t->failed; i++)
		if (thrum__model_has_row(&m->runs, i))
			add_run(t, i);
	for (uint32_t i = 0; i < m->counter_count && !t->failed; i++)
		add_counter(t, &m->counters[i]);
	for (uint32_t i = 0; i < t->bucket_keys.count && !t->failed; i++)
		add_bucket(t, &t->buckets[i]);
	if (!t->failed && t->key)
		add_looks(t);
	if (!t->failed)
		add_findings(t);
}

/* Gives a slot's file or rows to `take`. */
static int give(const struct slot *slot, bool has_key,
	int (*take)(void *, const struct thrum__store_file *), void *context)
{
	const struct thrum__base_text *out = has_key ? &slot->tsv.out : &slot->file.out;

	if (out->failed)
		return -THRUM_E_MEMORY;
	return take(context,
		&(struct thrum__store_file){slot->table, slot->time, out->bytes, out->size,
			has_key ? slot->tsv.rows : slot->file.rows});
}

int thrum__store_write(const struct thrum__model *model, const struct thrum_trace_info *info,
	const struct thrum__store_options *options,
	int (*take)(void *, const struct thrum__store_file *), void *context)
{
	struct tables t = {.model = model,
		.info = info,
		.host = options->host,
		.program = options->program,
		.key = options->key,
		.joined = options->joined,
		.part = options->part};
	int result;

	add_all(&t);
	result = t.failed;
	for (uint32_t i = 0; i < t.count; i++) {
		struct slot *slot = t.slots[i];

		if (result == 0 && !t.key)
			result = thrum__store_parquet_end(&slot->file);
		if (result == 0)
			result = give(slot, t.key, take, context);
		if (t.key)
			thrum__store_tsv_finish(&slot->tsv);
		else
			thrum__store_parquet_finish(&slot->file);
		free(slot);
	}
	free(t.slots);
	thrum__base_keys_free(&t.numbers);
	free(t.buckets);
	thrum__base_keys_free(&t.bucket_keys);
	return result;
}
