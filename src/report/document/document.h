/* SPDX-License-Identifier: ISC */
/*
 * report/: facts about a model for people to read, alike in every front end. Its faces:
 *
 *	document/document.h  documents: the text of a side panel (this file)
 *	table/table.h        tables of tasks, labels, kinds, call sites, lanes, counters, runs
 *	chart.h              histograms, and the range of one that narrows a table
 *	flame.h              flame graphs, and the paths of a slow and a usual task
 *
 * Nothing here knows the timeline, widgets or the DOM.
 *
 * A document is a series of paragraphs, made of pieces of text that may be links. Front ends choose
 * how a paragraph looks by its role, and add no words of their own. All texts are clean: valid
 * UTF-8 without control or bidi characters, at most THRUM__DOCUMENT_TEXT bytes each.
 *
 *	trace.c  task.c  lists.c  lock.c  lane.c  finding.c  slow.c  diff.c
 *	program.c  group.c  range.c
 *	            the documents; lists.c, lock.c and lane.c hold the task's sections; the face of the
 *	            last three is program.h
 *	about.c     sentences that several of these have
 *	document.c  writes paragraphs and pieces
 */
#ifndef REPORT_DOCUMENT_DOCUMENT_H
#define REPORT_DOCUMENT_DOCUMENT_H

#include "analyse/diff/diff.h"
#include "analyse/slow/answer.h"
#include "analyse/stats/stats.h"
#include "analyse/why/finding.h"

#define THRUM__DOCUMENT_TEXT 4000
/* Lines that a list of runs, waits or log lines shows at most, the latest ones. */
#define THRUM__DETAILS_MOST 100
#define THRUM__DIFFERENCES_MOST 100

/* X(NAME, word): the roles of paragraphs. */
#define THRUM__ROLES(X) \
	X(TITLE, "title")     /* the document's name; each document has one */ \
	X(REMARK, "remark")   /* below the title, small */ \
	X(SECTION, "section") /* the heading of a section */ \
	X(PAIR, "pair")       /* `key` and its value; key "": another value of the key before */ \
	X(LINE, "line")       /* a line of a list; `aside`, mostly a time, stands at the right */ \
	X(ROW, "row")         /* a row of a table: each piece is a cell */ \
	X(HEADER, "header")   /* the header of a table: each piece is a cell */ \
	X(STEP, "step") /* step `number` of a finding, from 1, the cause; `aside` below, small */ \
	X(MORE, "more") /* how many lines aren't shown */

enum thrum__document_role {
#define THRUM__X(NAME, word) THRUM__ROLE_##NAME,
	THRUM__ROLES(THRUM__X)
#undef THRUM__X
};
/* The word, or "unknown". Static. */
const char *thrum__document_role_name(int role);

/* X(NAME, word): where the link of a piece leads. */
#define THRUM__LINKS(X) \
	X(NONE, "none") \
	X(TASK, "task")             /* `target`: a task's index in the model */ \
	X(TIME, "time")             /* `target`: ns; with `until` after it, the time between */ \
	X(RUN, "run")               /* `target`: a run's index in the model */ \
	X(SLOW, "slow")             /* why the task with index `target` was slow */ \
	X(DIFFERENCE, "difference") /* `target`: its index in the comparison */ \
	X(FILTER, \
		"filter") /* the tasks that a search finds: `until` bytes of the text, from `target` on */ \
	X(GROUP, "group") /* a group of the trace's bands: `target` is its number */ \
	X(SITE, "site")   /* the call site of the task with index `target` */

enum thrum__document_link_kind {
#define THRUM__X(NAME, word) THRUM__LINK_TO_##NAME,
	THRUM__LINKS(THRUM__X)
#undef THRUM__X
};
/* The word, or "unknown". Static. */
const char *thrum__document_link_name(int link);

struct thrum__document_piece {
	uint32_t offset, size; /* in the document's `text` */
	int64_t target, until;
	uint8_t link; /* enum thrum__document_link_kind */
	uint8_t side; /* of the link, in a document about two traces (enum thrum__side); else 0 */
	bool is_bad;  /* tells a fault: drawn in the theme's colour `bad` */
};

struct thrum__document_paragraph {
	uint8_t role; /* enum thrum__document_role */
	uint8_t number;
	bool is_marked;                     /* belongs to the run that the document is about */
	const char *key;                    /* such as "Waits for", static; or "" */
	uint32_t first, count;              /* its pieces */
	struct thrum__document_piece aside; /* size 0: none */
	uint16_t bar; /* of a row: a bar below it, of so many thousandths of the width; 0: none */
	uint8_t bar_colour; /* enum thrum__draw_colour */
};

/* A document. All zeros, or thrum__document_init: an empty one. */
struct thrum__document {
	struct thrum__document_paragraph *paragraphs;
	uint32_t count, room;
	struct thrum__document_piece *pieces;
	uint32_t piece_count, piece_room;
	char *text;
	uint32_t text_size, text_room;
};

void thrum__document_init(struct thrum__document *);
void thrum__document_finish(struct thrum__document *);

/* Each of the functions below replaces the document's text, keeps its memory for the next time, and
 * returns 0, or -THRUM_E_MEMORY with an empty document. */

/*
 * Writes about a task and those that became it or that it became: the name, kinds and ids, call
 * site; state, beginning and end; the time it ran and waited; the tasks that created, woke and
 * resolved it; its waits, each down to the task that waits for nothing; its labels, log lines, the
 * tasks that it created, its edges, and a table of its runs; of a lock, who held it. Its findings
 * have documents of their own. The document is empty if the model doesn't have the task.
 *
 * `run`: a run of that task, or THRUM__NONE. The document then begins with that run: when and where it
 * was, the request on which it worked, and what the task did in it. Its lines in the lists are marked.
 */
THRUM__MUST_USE int thrum__document_task(const struct thrum__stats *, uint32_t task, uint32_t run,
	struct thrum__document *);

/* Writes about a finding: its title, how certain it is, and its steps as sentences, the cause
 * first. */
THRUM__MUST_USE int thrum__document_finding(const struct thrum__model *,
	const struct thrum__finding *, struct thrum__document *);

/* Writes why a task was slow: what its time was spent on, the biggest share first, beside a usual
 * task of its label. The sentences are those of `thrum why --slow`. */
THRUM__MUST_USE int thrum__document_slow(const struct thrum__slow_answer *,
	struct thrum__document *);

/* Stands in the place of that document while no task is selected. */
#define THRUM__DOCUMENT_SLOW_NONE \
	"Select a task: then this page tells what its time was spent on, beside a usual task " \
	"with its label."

/* Writes the differences of two traces under their names, with the sentences of `thrum diff`: the
 * first one in time, then the worst, THRUM__DIFFERENCES_MOST of them. */
THRUM__MUST_USE int thrum__document_diff(const struct thrum__comparison *,
	const char *const names[THRUM__SIDES], struct thrum__document *);

/* Writes about a trace, under the title `name`: duration, lanes, events, tasks by state, the
 * program, and lost events by cause. The info may be NULL. `is_clear`: there are no findings; it then
 * says why tasks that never resolved are none. */
THRUM__MUST_USE int thrum__document_trace(const struct thrum__stats *,
	const struct thrum_trace_info *, const char *name, bool is_clear, struct thrum__document *);

#endif
