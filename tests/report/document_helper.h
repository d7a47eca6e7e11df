/* SPDX-License-Identifier: ISC */
/* Documents as lines of text, and what is true of every document. */
#ifndef REPORT_DOCUMENT_HELPER_H
#define REPORT_DOCUMENT_HELPER_H

#include "report/document/document.h"

/*
 * A line a paragraph: "role key: text", where [words] is a link, !words! is bad, cells have |
 * before them, and the aside comes after " -- ". Valid until the next call.
 */
const char *document_show(const struct thrum__document *);

/* Ends a test unless texts are clean, pieces and links in range, and the shape is as it should be.
 */
void document_check(const struct thrum__document *, const struct thrum__model *);

/* The piece that says this, or the aside; fails the test when there is none. */
const struct thrum__document_piece *document_find(const struct thrum__document *,
	const char *words);

#endif
