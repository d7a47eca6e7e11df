/* SPDX-License-Identifier: ISC */
/* Writing documents. A failed allocation is remembered, so that not each piece has to be looked
 * after. Private to this room. */
#ifndef REPORT_DOCUMENT_PARTS_H
#define REPORT_DOCUMENT_PARTS_H

#include "base/time.h"
#include "report/document/document.h"
#include "words/words.h"

struct thrum__document_writer {
	const struct thrum__model *model;
	struct thrum__document *document;
	bool failed;
};

/* Empties the document and keeps its memory. */
void thrum__document_write_begin(struct thrum__document_writer *, const struct thrum__model *,
	struct thrum__document *);
/* Returns 0 or -THRUM_E_MEMORY: then the document is empty. */
THRUM__MUST_USE int thrum__document_write_end(struct thrum__document_writer *);

/* Begins a paragraph, to which what follows belongs. The key is static. */
struct thrum__document_paragraph *thrum__document_write_paragraph(struct thrum__document_writer *,
	int role, const char *key);
/* A heading. */
void thrum__document_write_section(struct thrum__document_writer *, const char *text);

void thrum__document_write_bytes(struct thrum__document_writer *, const char *text, size_t size);
void thrum__document_write_text(struct thrum__document_writer *, const char *text);
void thrum__document_write_bad(struct thrum__document_writer *, const char *text);
void thrum__document_write_link(struct thrum__document_writer *, const char *text, size_t size,
	int link, int64_t target);
void thrum__document_write_string(struct thrum__document_writer *, uint32_t string);
void thrum__document_write_time(struct thrum__document_writer *, int64_t time); /* a link */
void thrum__document_write_duration(struct thrum__document_writer *, int64_t ns);
void thrum__document_write_number(struct thrum__document_writer *, uint64_t number); /* 1,234 */

/* The aside of the paragraph. */
void thrum__document_write_aside(struct thrum__document_writer *, const char *text, int link,
	int64_t target);

#endif
