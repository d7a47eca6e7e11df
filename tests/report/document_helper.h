/* SPDX-License-Identifier: ISC */
/* Shows documents as lines of text, and checks properties that every document has. */
#ifndef REPORT_DOCUMENT_HELPER_H
#define REPORT_DOCUMENT_HELPER_H

#include "report/document/document.h"

/*
 * Returns a line for each paragraph: "role key: text". [words] is a link, !words! is bad, a cell
 * begins with |, and the aside comes after " -- ". Valid until the next call.
 */
const char *document_show(const struct thrum__document *);

/* Fails the test unless texts are clean, pieces and links are in range, and the shape is right. */
void document_check(const struct thrum__document *, const struct thrum__model *);

/* Returns the piece or the aside with this text; fails the test if there is none. */
const struct thrum__document_piece *document_find(const struct thrum__document *,
	const char *words);

#endif
