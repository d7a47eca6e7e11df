/* SPDX-License-Identifier: ISC */
/* Makes, loads and destroys models, and answers questions about them. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "read/read.h"

#define DYING 100000000 /* ns that a process at work may take to end when it is killed */
#define LOST_MOST 4     /* a lost beginning counts if it takes more than 1/LOST_MOST of a time */
#define PROGRESS 4096   /* at least so many events lie between two calls of `progress` */

const char *thrum__model_state_name(int state)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) word,
		THRUM__STATES(THRUM__X)
#undef THRUM__X
	};

	return state >= 0 && (size_t)state < sizeof names / sizeof *names ? names[state]
									  : "unknown";
}

const char *thrum__model_edge_name(int kind)
{
	static const char *const names[] = {
#define THRUM__X(NAME, words) words,
		THRUM__EDGES(THRUM__X)
#undef THRUM__X
	};

	return kind >= 0 && kind < THRUM__EDGE_KINDS ? names[kind] : "unknown";
}

/* ---- Making and loading -------------------------------------------------------------------- */

static int copy_clocks(struct thrum__model *m, const struct thrum__read_clocks *from)
{
	size_t size = from->times * THRUM__READ_CLOCK_PAIR(0, from->hosts) * sizeof *from->errors;
	int64_t *errors;

	if (!from->errors)
		return 0;
	errors = malloc(size);
	if (!errors)
		return -THRUM_E_MEMORY;
	memcpy(errors, from->errors, size);
	m->clocks = *from;
	m->clocks.errors = errors;
	return 0;
}

int thrum__model_create(const struct thrum_trace *trace, struct thrum__model **created)
{
	struct thrum__model *m = calloc(1, sizeof *m);

	if (!m)
		return -THRUM_E_MEMORY;
	m->strings = malloc(sizeof *m->strings);
	m->links = calloc(1, sizeof *m->links);
	m->sites = calloc(1, sizeof *m->sites);
	if (m->strings)
		thrum__model_strings_init(m->strings);
	if (m->links)
		thrum__model_strings_init(&m->links->keys);
	if (!m->strings || !m->links || !m->sites || thrum__model_ids_create(&m->ids)) {
		thrum__model_destroy(m);
		return -THRUM_E_MEMORY;
	}
	if (trace) {
		const struct thrum_trace_info *info = thrum_trace_info(trace);

		m->signed_ids = info->signed_ids;
		m->is_mirage = strcmp(info->format, "mirage-profile") == 0;
		if (copy_clocks(m, &trace->clocks)) {
			thrum__model_destroy(m);
			return -THRUM_E_MEMORY;
		}
	}
	m->ending_code = -1;
	*created = m;
	return 0;
}

static void finish_lanes(struct thrum__model *m)
{
	for (uint32_t i = 0; i < m->lane_count; i++) {
		if (m->lanes[i].spans)
			free(m->lanes[i].spans->all);
		free(m->lanes[i].spans);
	}
	free(m->lanes);
	free(m->unrecorded);
}

void thrum__model_destroy(struct thrum__model *m)
{
	if (!m)
		return;
	struct thrum__model_rows *rows[] = {&m->tasks, &m->runs, &m->edges, &m->notes, &m->spans,
		&m->suspensions, &m->gaps, &m->off_cpu};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		thrum__model_rows_finish(rows[i]);
	for (uint32_t i = 0; i < m->counter_count; i++)
		thrum__model_rows_finish(&m->counters[i].values);
	for (size_t i = 0; i < THRUM__SPARES; i++)
		free(m->columns[i]);
	free(m->counters);
	free((int64_t *)m->clocks.errors);
	finish_lanes(m);
	thrum__model_sites_destroy(m->sites);
	thrum__model_ids_destroy(m->ids);
	if (m->strings)
		thrum__model_strings_finish(m->strings);
	free(m->strings);
	if (m->links) {
		thrum__model_strings_finish(&m->links->keys);
		free(m->links->all);
		free(m->links->cells);
	}
	free(m->links);
	free(m);
}

int thrum__model_load(struct thrum__model *m, struct thrum_trace *trace,
	bool (*progress)(void *context, const struct thrum__model *), void *context,
	struct thrum_error_info *info)
{
	const struct thrum_event *events;
	size_t count, since = 0;
	int result;

	while ((result = thrum_trace_next(trace, &events, &count, info)) == 1) {
		if (thrum__model_append_from(m, trace, events, count)) {
			if (info)
				*info = (struct thrum_error_info){-THRUM_E_MEMORY, 0,
					"out of memory"};
			return -THRUM_E_MEMORY;
		}
		since += count;
		if (!progress || since < PROGRESS)
			continue;
		since = 0;
		if (!progress(context, m))
			return 1;
	}
	if (result == 0)
		thrum__model_note_end(m, thrum_trace_info(trace));
	return result;
}

void thrum__model_note_end(struct thrum__model *m, const struct thrum_trace_info *info)
{
	if (m->has_off_next)
		thrum__model_apply_categories(m);
	/* The system takes its time to end a process that is killed in the midst of its work. */
	if (info->end > m->end && info->end < THRUM__OPEN &&
		((info->ending != THRUM_ENDING_KILLED && info->ending != THRUM_ENDING_GONE) ||
			info->end - m->end > DYING))
		m->end = info->end;
	m->ending = info->ending;
	m->ending_code = info->ending_code;
}

static size_t rows_memory(const struct thrum__model_rows *rows, size_t block_size, size_t size)
{
	size_t bytes = rows->room * sizeof *rows->block;

	for (uint32_t i = 0; i < rows->blocks; i++) {
		const struct thrum__block *block = rows->block[i];

		if (!block)
			continue;
		bytes += block_size;
		for (size_t k = 0; k < THRUM__NARROW_COLUMNS; k++)
			bytes += block->narrow[k].far ? size * sizeof *block->narrow[k].far : 0;
		for (size_t k = 0; k < THRUM__RARE_COLUMNS; k++)
			bytes += block->own[k] ? THRUM__COLUMN * sizeof *block->own[k] : 0;
	}
	return bytes;
}

size_t thrum__model_memory(const struct thrum__model *m)
{
	size_t bytes = sizeof *m + m->lane_room * sizeof *m->lanes +
		m->counter_room * sizeof *m->counters;

	bytes += rows_memory(&m->tasks, sizeof(struct thrum__tasks), THRUM__BLOCK);
	bytes += rows_memory(&m->runs, sizeof(struct thrum__runs), THRUM__BLOCK);
	bytes += rows_memory(&m->edges, sizeof(struct thrum__edges), THRUM__BLOCK);
	bytes += rows_memory(&m->notes, sizeof(struct thrum__notes), THRUM__BLOCK);
	bytes += rows_memory(&m->spans, sizeof(struct thrum__intervals), THRUM__BLOCK);
	bytes += rows_memory(&m->suspensions, sizeof(struct thrum__intervals), THRUM__BLOCK);
	bytes += rows_memory(&m->gaps, sizeof(struct thrum__intervals), THRUM__BLOCK);
	bytes += rows_memory(&m->off_cpu, sizeof(struct thrum__intervals), THRUM__BLOCK);
	for (uint32_t i = 0; i < m->counter_count; i++)
		bytes += rows_memory(&m->counters[i].values, sizeof(struct thrum__values),
			THRUM__VALUES);
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (m->lanes[i].spans)
			bytes += sizeof(struct thrum__model_span_stack) +
				m->lanes[i].spans->room * sizeof(uint32_t);
	bytes += sizeof *m->strings + thrum__model_strings_memory(m->strings);
	bytes += sizeof *m->links + thrum__model_strings_memory(&m->links->keys) +
		m->links->room * sizeof *m->links->all +
		m->links->cell_count * sizeof *m->links->cells;
	bytes += thrum__model_sites_memory(m->sites);
	return bytes + thrum__model_ids_memory(m->ids);
}

/* ---- Questions ----------------------------------------------------------------------------- */

uint32_t thrum__model_find(const struct thrum__model *m, uint64_t id)
{
	const struct thrum__model_id_page *page = thrum__model_ids_page(m->ids,
		id >> THRUM__PAGE_SHIFT);

	return page ? page->task[id % THRUM__PAGE] - 1 : THRUM__NONE;
}

bool thrum__model_is_stuck(const struct thrum__model *m, uint32_t task)
{
	return THRUM__TASK(m, task, flags) & THRUM__TASK_SHOULD_RESOLVE &&
		THRUM__TASK(m, thrum__model_heir(m, task), state) == THRUM__STATE_PENDING &&
		!thrum__model_is_gone(m, thrum__model_heir(m, task));
}

bool thrum__model_is_unsure(const struct thrum__model *m, uint32_t task)
{
	/* It may have ended while that was not recorded. */
	if (THRUM__TASK(m, task, state) == THRUM__STATE_PENDING &&
		thrum__model_unrecorded_until(m, THRUM__PART_LIFE) > THRUM__TASK(m, task, created))
		return true;
	return THRUM__TASK(m, task, flags) & THRUM__TASK_UNSURE ||
		(THRUM__TASK(m, task, state) == THRUM__STATE_PENDING &&
			m->lanes[THRUM__TASK(m, task, lane)].lost_until >
				THRUM__TASK(m, task, created));
}

int64_t thrum__model_task_end_time(const struct thrum__model *m, uint32_t task)
{
	uint32_t run = THRUM__TASK(m, task, run);

	if (THRUM__TASK(m, task, end) != THRUM__OPEN)
		return THRUM__TASK(m, task, end);
	if (thrum__model_has_row(&m->runs, run) && THRUM__RUN(m, run, end) == THRUM__OPEN)
		return m->end;
	return THRUM__TASK(m, task, last);
}

int64_t thrum__model_kept_from(const struct thrum__model *m, int64_t from, int64_t to)
{
	const struct thrum__lane *busiest = NULL;

	if (!m->is_cut)
		return from;
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (!busiest || m->lanes[i].events > busiest->events)
			busiest = &m->lanes[i];
	if (!busiest || busiest->first >= to || busiest->first - from <= (to - from) / LOST_MOST)
		return from;
	return busiest->first;
}

const char *thrum__model_string(const struct thrum__model *m, uint32_t string, size_t *size)
{
	bool is_there = string < m->strings->count && m->strings->all[string].text;

	if (size)
		*size = is_there ? m->strings->all[string].size : 0;
	return is_there ? m->strings->all[string].text : "";
}

const char *thrum__model_process(const struct thrum__model *m, uint32_t task)
{
	uint32_t lane = THRUM__TASK(m, task, lane);

	return lane < m->lane_count ? thrum__model_string(m, m->lanes[lane].process, NULL) : "";
}

bool thrum__model_is_reason(const struct thrum__model *m, uint32_t string, const char *reason)
{
	const char *text = thrum__model_string(m, string, NULL);
	size_t size = strlen(reason);

	if (strncmp(text, reason, size) != 0)
		return false;
	if (strncmp(text + size, THRUM__REASON_OUTSIDE, strlen(THRUM__REASON_OUTSIDE)) == 0)
		size += strlen(THRUM__REASON_OUTSIDE);
	if (strncmp(reason, THRUM__REASON_WORK, strlen(THRUM__REASON_WORK)) == 0 &&
		strncmp(text + size, THRUM__REASON_FOR_A_TIME, strlen(THRUM__REASON_FOR_A_TIME)) ==
			0)
		size += strlen(THRUM__REASON_FOR_A_TIME);
	return !text[size] || strncmp(text + size, ": ", 2) == 0;
}

const char *thrum__model_task_name(const struct thrum__model *m, uint32_t task, size_t *size)
{
	static const char main_context[] = "main context";
	uint32_t name = thrum__model_label(m, task);

	if (name != THRUM__NONE || !m->is_mirage || THRUM__TASK(m, task, id) != 0)
		return thrum__model_string(m, name, size);
	if (size)
		*size = sizeof main_context - 1;
	return main_context;
}
