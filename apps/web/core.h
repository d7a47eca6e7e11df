/* SPDX-License-Identifier: ISC */
/*
 * The core of the page: the rooms of src/ from bytes to display lists, as one wasm32 module. This
 * folder has only the calls between it and the worker (src/worker.ts).
 *
 * Exported functions take and return numbers. A text goes in through core_in before the call and
 * comes out through core_out after it; an answer is JSON (src/messages.ts has the types) unless its
 * function's comment says otherwise. Negative results are of enum thrum_error. A part is a trace on
 * the stage, counted from 0. There is one core for each page, so its state is global.
 *
 * core.c        opening, input, frames
 * answers.c     the words of the page, changes, documents
 * compare.c     why a task was slow, and the differences of two traces
 * tables.c      tables, histogram
 * numbers.c     the numbers that TypeScript needs from C, asked for by build.mjs
 * json.c        the JSON writer
 * libc.c        replacements of functions of libc
 */
#ifndef CORE_H
#define CORE_H

#include "json.h"
#include "report/chart.h"
#include "report/document/document.h"
#include "report/flame.h"
#include "scene/coarse.h"
#include "stage/stage.h"

#define EXPORT(name) __attribute__((export_name(#name), used))
#define IMPORT(name) __attribute__((import_module("page"), import_name(#name)))

/* Bits beside enum thrum__stage_changed. */
enum {
	CORE_CHANGED_PARTS = 1 << 16, /* the parts, their counters, which switches are on */
	CORE_MORE = 1 << 17,          /* see core_find */
	CORE_CHANGED_ALL = THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION |
		THRUM__CHANGED_SEARCH | THRUM__CHANGED_STATUS | THRUM__CHANGED_ADDRESS |
		CORE_CHANGED_PARTS,
};

/* The documents of core_document. */
enum core_document {
	CORE_DOCUMENT_TASK,
	CORE_DOCUMENT_FINDING,
	CORE_DOCUMENT_TRACE,
	CORE_DOCUMENT_SLOW,
	CORE_DOCUMENT_DIFF,
};

/* The ways in which core_narrow narrows tasks, beside the text. */
enum core_narrow_by {
	CORE_NARROW_BY_TEXT, /* nothing else */
	CORE_NARROW_BY_CHART,
	CORE_NARROW_BY_COUNT,
};

/* The data of a part beside its scene. */
struct part {
	struct thrum__model *model;
	struct thrum_trace_info info; /* its texts are in `texts` */
	char *texts;
	bool has_stats; /* made when first needed, in steps */
	struct thrum__stats stats;
	bool has_table[THRUM__TABLE_COUNT]; /* made when first needed */
	struct thrum__table table[THRUM__TABLE_COUNT];
	bool has_chart, has_counted; /* tasks can be narrowed by them */
	struct thrum__report_chart chart;
	struct thrum__table_counted_value counted;
};

struct core {
	struct thrum__stage *stage;
	struct part parts[THRUM__STAGE_MAX]; /* as stage->parts */
	struct thrum__draw_metrics metrics;
	float x, y; /* the last place of the pointer */
	int theme;
	struct thrum__base_text out;
	struct thrum__draw_list chart;
	struct thrum__scene_coarse coarse; /* of the trace that is being read */
	double part_read;                  /* of it, 0 … 1 */
	bool has_found;                    /* findings that core_find hasn't told yet */
	/* The task that was slow, and the flame graph of its label: of the last question. Both are made in
	 * steps; the answer is begun when it has a model, and the flame graph is empty until it is made. */
	bool has_answer;
	unsigned slow_part;
	uint32_t slow_task;
	struct thrum__slow_answer answer;
	struct thrum__flame_work *flaming;
	struct thrum__flame flame;
	/* The differences of the first two traces. */
	bool has_comparison;
	struct thrum__comparison comparison;
};

extern struct core core;

/* The text that the worker has put into core_in; ends in NUL. */
extern char *core_text;
extern size_t core_text_size;

/* Returns a part, or NULL if there is no such part. */
struct part *core_part(unsigned part);

/* Returns the statistics of a part, or NULL: there is no such part, or no memory. */
const struct thrum__stats *core_stats(unsigned part);

/* Makes a step of the findings of a part, if it lacks them. Returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int core_step_findings(unsigned part);

/* Frees the statistics and tables of a part. */
void part_forget(struct part *);

/* Makes a step of the answer why a task was slow. Returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int compare_step(unsigned part, uint32_t task);

/* Write why a task was slow, and how the first two traces differ; an empty document if there is
 * nothing to tell. */
THRUM__MUST_USE int compare_slow(unsigned part, uint32_t task, struct thrum__document *);
THRUM__MUST_USE int compare_traces(struct thrum__document *);

/* Frees both answers, before the models go. */
void compare_forget(void);

#endif
