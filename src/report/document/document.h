/* SPDX-License-Identifier: ISC */
/*
 * Documents: what a side panel says, as paragraphs whose words may be links. Front ends choose how
 * a role looks; every word stands here. Texts are clean: valid UTF-8 without control or bidi
 * characters, at most THRUM__DOCUMENT_TEXT bytes each.
 */
#ifndef REPORT_DOCUMENT_DOCUMENT_H
#define REPORT_DOCUMENT_DOCUMENT_H

#include "analyse/stats/stats.h"
#include "analyse/why/finding.h"

#define THRUM__DOCUMENT_TEXT 4000
/* Of what there is much of (runs, waits, log lines), so many are shown, the latest. */
#define THRUM__DETAILS_MOST 100

/* X(NAME, word): what a paragraph is. */
#define THRUM__ROLES(X) \
	X(TITLE, "title")     /* the document's name: one */ \
	X(REMARK, "remark")   /* below it, small */ \
	X(SECTION, "section") /* begins another part: a heading */ \
	X(PAIR, "pair")       /* `key`, and its value */ \
	X(LINE, "line")       /* a line of a list; `aside` (a time, mostly) at the right */ \
	X(ROW, "row")         /* of a table: each piece is a cell */ \
	X(HEADER, "header")   /* of a table */ \
	X(STEP, "step")       /* of a finding: `number`, 1 the cause; `aside` below, small */ \
	X(MORE, "more")       /* how many lines aren't shown */

enum thrum__document_role {
#define THRUM__X(NAME, word) THRUM__ROLE_##NAME,
	THRUM__ROLES(THRUM__X)
#undef THRUM__X
};
const char *thrum__document_role_name(int role);

/* X(NAME, word): where a piece leads to. */
#define THRUM__LINKS(X) \
	X(NONE, "none") \
	X(TASK, "task") /* `target`: a task's index in the model */ \
	X(TIME, "time") /* `target`: ns */

enum thrum__document_link_kind {
#define THRUM__X(NAME, word) THRUM__LINK_TO_##NAME,
	THRUM__LINKS(THRUM__X)
#undef THRUM__X
};
const char *thrum__document_link_name(int link);

struct thrum__document_piece {
	uint32_t offset, size; /* in the document's `text` */
	int64_t target;
	uint8_t link; /* enum thrum__document_link_kind */
	bool is_bad;  /* says what is wrong: in the theme's `bad` */
};

struct thrum__document_paragraph {
	uint8_t role; /* enum thrum__document_role */
	uint8_t number;
	const char *key;                    /* "Waits for"; static, or "" */
	uint32_t first, count;              /* pieces */
	struct thrum__document_piece aside; /* size 0: none */
};

/* Zero, or by init: empty. */
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

/* All make the document anew and return 0 or -THRUM_E_MEMORY. */

/*
 * A task: its name; what it is (kind, chain, "should resolve", call site); state; begin and end;
 * running and waiting; who created it, what it waits for (to the end of that chain of waits), who
 * waits for it, who woke it, who resolved it; labels; log lines; what it created; when it ran, as a
 * table; the findings that it is part of come apart (thrum__document_finding).
 */
THRUM__MUST_USE int thrum__document_task(const struct thrum__stats *, uint32_t task,
	struct thrum__document *);

/* A finding: what and how certain, and its steps as sentences, cause first. */
THRUM__MUST_USE int thrum__document_finding(const struct thrum__model *,
	const struct thrum__finding *, struct thrum__document *);

/* A trace: program, duration, lanes, events, tasks by state, what is lost and why. */
THRUM__MUST_USE int thrum__document_trace(const struct thrum__stats *,
	const struct thrum_trace_info *, const char *name, struct thrum__document *);

#endif
