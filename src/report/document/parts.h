/* SPDX-License-Identifier: ISC */
/* Writes documents, piece by piece. A failed allocation is noted and reported at the end, so that
 * the calls in between need no checks. Private to this room. */
#ifndef REPORT_DOCUMENT_PARTS_H
#define REPORT_DOCUMENT_PARTS_H

#include "analyse/story/story.h"
#include "base/time.h"
#include "report/document/document.h"
#include "words/words.h"

struct thrum__document_writer {
	const struct thrum__model *model;
	struct thrum__document *document;
	bool failed; /* no memory: from then on, nothing is written */
};

/* Begins to write: empties the document and keeps its memory. */
void thrum__document_write_begin(struct thrum__document_writer *, const struct thrum__model *,
	struct thrum__document *);

/* Ends writing. Returns 0, or -THRUM_E_MEMORY with an empty document. */
THRUM__MUST_USE int thrum__document_write_end(struct thrum__document_writer *);

/* Begins a paragraph, to which the pieces that are written next belong. The key must be static.
 * Never returns NULL; the pointer is valid until the next paragraph. */
struct thrum__document_paragraph *thrum__document_write_paragraph(struct thrum__document_writer *,
	int role, const char *key);
/* Begins a paragraph that is a heading, and writes it. */
void thrum__document_write_section(struct thrum__document_writer *, const char *text);

/* Each of these writes a piece. Texts may be any bytes; they are cleaned. */

void thrum__document_write_bytes(struct thrum__document_writer *, const char *text, size_t size);
void thrum__document_write_text(struct thrum__document_writer *, const char *text);
/* A text that tells a fault. */
void thrum__document_write_bad(struct thrum__document_writer *, const char *text);
void thrum__document_mark_bad(struct thrum__document_writer *); /* the last piece does */
/* Puts a bar below the last row: `share` is 0 … 1. */
void thrum__document_write_bar(struct thrum__document_writer *, double share, int colour);
void thrum__document_write_link(struct thrum__document_writer *, const char *text, size_t size,
	int link, int64_t target);
/* A sentence of words/, as snprintf returned its size, in a buffer of `room` bytes. Its mentions
 * become links to tasks of the side. */
void thrum__document_write_sentence(struct thrum__document_writer *, const char *text, size_t size,
	size_t room, const struct thrum__words_mention *, unsigned count, int side);
/* A link to the tasks that a search finds. */
void thrum__document_write_filter(struct thrum__document_writer *, const char *text,
	const char *search);
/* A string of the model. */
void thrum__document_write_string(struct thrum__document_writer *, uint32_t string);
/* A time, as a link to it. */
void thrum__document_write_time(struct thrum__document_writer *, int64_t time);
/* The last piece, a link to a time, leads to all from there until then. */
void thrum__document_write_until(struct thrum__document_writer *, int64_t until);
void thrum__document_write_duration(struct thrum__document_writer *, int64_t ns);
/* A share, 0 … 1. */
void thrum__document_write_percent(struct thrum__document_writer *, double share);
/* A count, as "1,234". */
void thrum__document_write_number(struct thrum__document_writer *, uint64_t number);

/* Writes about a trace, all but the title: trace.c. The info may be NULL. */
void thrum__document_write_trace(struct thrum__document_writer *, const struct thrum__stats *,
	const struct thrum_trace_info *, bool is_clear);

/* Writes which tasks were looked at to find where their time goes, if not all were: about.c. */
void thrum__document_write_since(struct thrum__document_writer *,
	const struct thrum__story_where *);

/* Sets the aside of the paragraph that was begun last. */
void thrum__document_write_aside(struct thrum__document_writer *, const char *text, int link,
	int64_t target);

#endif
