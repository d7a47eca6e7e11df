/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L

#include "model_helper.h"

#include <dirent.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Models -------------------------------------------------------------------------------- */

struct thrum__model *model_of(const struct thrum_event *events, size_t count, bool is_mirage)
{
	struct thrum__model *m;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	m->is_mirage = m->signed_ids = is_mirage;
	for (size_t i = 0; i < count; i++) {
		struct thrum_event event = events[i];

		if (!event.text)
			event.text = "";
		assert_int_equal(thrum__model_append(m, &event, 1), 0);
	}
	assert_true(thrum__model_is_valid(m));
	return m;
}

struct thrum__model *model_of_file(const char *file)
{
	struct thrum_trace *trace;
	struct thrum__model *m;

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum__model_create(trace, &m), 0);
	assert_int_equal(thrum__model_load(m, trace, NULL, NULL, NULL), 0);
	assert_true(thrum__model_is_valid(m));
	thrum_trace_close(trace);
	return m;
}

/* ---- As text ------------------------------------------------------------------------------- */

static void print_text(FILE *to, const struct thrum__model *m, uint32_t string)
{
	size_t size;
	const char *text = thrum__model_string(m, string, &size);

	fputs(string == THRUM__NONE ? " -" : " '", to);
	fwrite(text, 1, size, to);
	fputc('\'', to);
}

static void print_task(FILE *to, const struct thrum__model *m, uint32_t i)
{
	fprintf(to, "task %" PRIu32 " id %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		i, THRUM__TASK(m, i, id), THRUM__TASK(m, i, created), THRUM__TASK(m, i, start),
		THRUM__TASK(m, i, end), THRUM__TASK(m, i, last));
	fprintf(to, " creator %" PRIu32 " parent %" PRIu32 " became %" PRIu32 " heir %" PRIu32,
		THRUM__TASK(m, i, creator), THRUM__TASK(m, i, parent), THRUM__TASK(m, i, became),
		thrum__model_heir(m, i));
	fprintf(to, " lists %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " lane %" PRIu32,
		THRUM__TASK(m, i, run), THRUM__TASK(m, i, edge_out), THRUM__TASK(m, i, edge_in),
		THRUM__TASK(m, i, note), THRUM__TASK(m, i, lane));
	fprintf(to, " site %d kind %d state %d flags %d", THRUM__TASK(m, i, site),
		THRUM__TASK(m, i, kind), THRUM__TASK(m, i, state), THRUM__TASK(m, i, flags));
	print_text(to, m, THRUM__TASK(m, i, name));
	print_text(to, m, THRUM__TASK(m, i, inherited));
	print_text(to, m, THRUM__TASK(m, i, failure));
	fputc('\n', to);
}

static void print_activity(FILE *to, const struct thrum__model *m)
{
	for (uint32_t i = m->runs.first; i < m->runs.count; i++)
		if (thrum__model_has_row(&m->runs, i))
			fprintf(to, "run %" PRId64 " %" PRId64 " %" PRIu32 " %" PRIu32 "\n",
				THRUM__RUN(m, i, start), THRUM__RUN(m, i, end),
				THRUM__RUN(m, i, task), THRUM__RUN(m, i, lane));
	for (uint32_t i = m->edges.first; i < m->edges.count; i++)
		if (thrum__model_has_row(&m->edges, i))
			fprintf(to, "edge %" PRId64 " %s %" PRIu32 " %" PRIu32 " %d\n",
				THRUM__EDGE(m, i, time),
				thrum__model_edge_name(THRUM__EDGE(m, i, kind)),
				THRUM__EDGE(m, i, from), THRUM__EDGE(m, i, to),
				THRUM__EDGE(m, i, value));
	for (uint32_t i = m->notes.first; i < m->notes.count; i++) {
		if (!thrum__model_has_row(&m->notes, i))
			continue;
		fprintf(to, "note %" PRId64 " %d %" PRIu32 " %" PRId64, THRUM__NOTE(m, i, time),
			THRUM__NOTE(m, i, kind), THRUM__NOTE(m, i, task), THRUM__NOTE(m, i, value));
		print_text(to, m, THRUM__NOTE(m, i, text));
		fputc('\n', to);
	}
}

static void print_stretches(FILE *to, const struct thrum__model *m, const char *name,
	const struct thrum__model_rows *rows)
{
	for (uint32_t i = rows->first; i < rows->count; i++) {
		if (!thrum__model_has_row(rows, i))
			continue;
		const struct thrum__intervals *block = rows->block[i >> THRUM__BLOCK_SHIFT];
		uint32_t k = i & THRUM__BLOCK_MASK;

		fprintf(to, "%s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu32, name,
			block->start[k], block->end[k], block->count[k], block->lane[k]);
		print_text(to, m, block->text[k]);
		fputc('\n', to);
	}
}

static void print_counters(FILE *to, const struct thrum__model *m)
{
	for (uint32_t i = 0; i < m->counter_count; i++) {
		const struct thrum__counter *c = &m->counters[i];

		fprintf(to, "counter %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d", c->min,
			c->max, c->last, c->start, c->is_relative);
		print_text(to, m, c->name);
		fputc('\n', to);
		for (uint32_t k = c->values.first; k < c->values.count; k++)
			fprintf(to, "value %" PRId64 " %" PRId64 " %" PRIu32 "\n",
				THRUM__VALUE(c, k, time), THRUM__VALUE(c, k, value),
				THRUM__VALUE(c, k, task));
	}
}

char *model_text(const struct thrum__model *m)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fprintf(to, "end %" PRId64 " events %" PRIu64 " late %" PRIu64 " lost %" PRIu64 " %" PRIu64,
		m->end, m->events, m->late, m->lost, m->damaged);
	for (uint32_t i = m->tasks.first; i < m->tasks.count; i++)
		if (thrum__model_has_row(&m->tasks, i))
			print_task(to, m, i);
	print_activity(to, m);
	print_stretches(to, m, "span", &m->spans);
	print_stretches(to, m, "suspension", &m->suspensions);
	print_stretches(to, m, "gap", &m->gaps);
	print_counters(to, m);
	for (uint32_t i = 0; i < m->lane_count; i++)
		fprintf(to, "lane %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRId64 " %" PRId64 "\n",
			m->lanes[i].number, m->lanes[i].task, m->lanes[i].running, m->lanes[i].ran,
			m->lanes[i].suspended_ns);
	fclose(to);
	return text;
}

/* ---- Real traces --------------------------------------------------------------------------- */

const char *model_data(void)
{
	static char path[4096] = "data/mirage";
	const char *given = getenv("THRUM_MIRAGE_DATA"), *source = getenv("SOURCE");
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/../*/data/mirage", source ? source : ".");
	if (given) {
		snprintf(path, sizeof path, "%s", given);
	} else if (glob(pattern, 0, NULL, &found) == 0) {
		snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	DIR *directory = opendir(path);

	if (!directory) {
		printf("skipped: no real traces in %s (THRUM_MIRAGE_DATA)\n", path);
		return NULL;
	}
	closedir(directory);
	return path;
}

unsigned model_each_trace(void (*visit)(const char *file, const char *name))
{
	const char *folder = model_data();
	DIR *directory = folder ? opendir(folder) : NULL;
	unsigned count = 0;

	if (!directory)
		return 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char name[256], file[8192];
		size_t length = strlen(entry->d_name);

		if (length < 5 || strcmp(entry->d_name + length - 4, ".ctf") != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)length - 4, entry->d_name);
		snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
		visit(file, name);
		count++;
	}
	closedir(directory);
	return count;
}

uint64_t model_random(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545f4914f6cdd1d);
}
