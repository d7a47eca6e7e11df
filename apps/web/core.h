/* SPDX-License-Identifier: ISC */
/*
 * The core of the page: everything from bytes to display lists, as one wasm32 module. The worker
 * (src/worker.ts) calls what is exported, a flat API of numbers; texts go in through core_in and
 * come out through core_out, as JSON unless said otherwise. One page is one core: hence globals.
 *
 * core.c        opening, input, frames
 * answers.c     what there is, what has changed, documents
 * tables.c      tables, charts
 * numbers.c     the numbers that TypeScript needs from C, asked for by build.mjs
 * libc.c        what of libc is better done otherwise here
 */
#ifndef CORE_H
#define CORE_H

#include "json.h"
#include "report/chart.h"
#include "stage/stage.h"

#define EXPORT(name) __attribute__((export_name(#name), used))
#define IMPORT(name) __attribute__((import_module("page"), import_name(#name)))

/* Bits beside enum thrum__stage_changed. */
enum {
	CORE_CHANGED_PARTS = 1 << 16, /* the parts, their counters, which switches are on */
	CORE_CHANGED_ALL = THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION |
		THRUM__CHANGED_SEARCH | THRUM__CHANGED_STATUS | THRUM__CHANGED_ADDRESS |
		CORE_CHANGED_PARTS,
};

/* The documents of core_document. */
enum core_document {
	CORE_DOCUMENT_TASK,
	CORE_DOCUMENT_FINDING,
	CORE_DOCUMENT_TRACE,
};

/* What core_narrow narrows tasks by, beside a text. */
enum core_narrow_by {
	CORE_NARROW_BY_TEXT, /* nothing else */
	CORE_NARROW_BY_CHART,
	CORE_NARROW_BY_COUNT,
};

/* What belongs to a part of the stage beside its view. */
struct part {
	struct thrum__model *model;
	struct thrum_trace_info info; /* its texts are in `texts` */
	char *texts;
	bool lacks_findings; /* until core_find */
	bool has_stats;      /* made when first asked for */
	struct thrum__stats stats;
	bool has_table[THRUM__TABLE_COUNT]; /* likewise */
	struct thrum__table table[THRUM__TABLE_COUNT];
	bool has_chart, has_counted; /* by which tasks can be narrowed */
	struct thrum__report_chart chart;
	struct thrum__table_counted_value counted;
};

struct core {
	struct thrum__stage *stage;
	struct part parts[THRUM__STAGE_MAX]; /* as stage->parts */
	struct thrum__draw_metrics metrics;
	float x, y; /* where the pointer was last */
	int theme;
	struct json out;
	struct thrum__draw_list chart;
};

extern struct core core;

/* The text that the worker has put into core_in. */
extern char *core_text;
extern size_t core_text_size;

/* NULL: there is no such part. */
struct part *core_part(unsigned part);

/* The numbers of a part, or NULL: there is no such part, or no memory. */
const struct thrum__stats *core_stats(unsigned part);

/* Frees what was made of a part to answer. */
void part_forget(struct part *);

#endif
