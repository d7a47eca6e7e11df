/* SPDX-License-Identifier: ISC */
#include "document_helper.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t show_piece(const struct thrum__document *d, const struct thrum__document_piece *piece,
	char *to, size_t size)
{
	bool is_link = piece->link != THRUM__LINK_TO_NONE;
	const char *bad = piece->is_bad ? "!" : "";

	return (size_t)snprintf(to, size, "%s%s%.*s%s%s", is_link ? "[" : "", bad, (int)piece->size,
		piece->size ? d->text + piece->offset : "", bad, is_link ? "]" : "");
}

const char *document_show(const struct thrum__document *d)
{
	static char text[1 << 20];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < d->count; i++) {
		const struct thrum__document_paragraph *p = &d->paragraphs[i];
		bool has_cells = p->role == THRUM__ROLE_ROW || p->role == THRUM__ROLE_HEADER;

		at += (size_t)snprintf(text + at, sizeof text - at, "%s",
			thrum__document_role_name(p->role));
		if (p->is_marked)
			at += (size_t)snprintf(text + at, sizeof text - at, " marked");
		if (p->number > 0)
			at += (size_t)snprintf(text + at, sizeof text - at, " %u", p->number);
		if (p->role == THRUM__ROLE_PAIR)
			at += (size_t)snprintf(text + at, sizeof text - at, " %s", p->key);
		at += (size_t)snprintf(text + at, sizeof text - at, ": ");
		for (uint32_t k = p->first; k < p->first + p->count; k++) {
			at += (size_t)snprintf(text + at, sizeof text - at, "%s",
				has_cells ? "|" : "");
			at += show_piece(d, &d->pieces[k], text + at, sizeof text - at);
		}
		if (p->aside.size > 0) {
			at += (size_t)snprintf(text + at, sizeof text - at, " -- ");
			at += show_piece(d, &p->aside, text + at, sizeof text - at);
		}
		at += (size_t)snprintf(text + at, sizeof text - at, "\n");
		assert_true(at < sizeof text);
	}
	return text;
}

static void check_piece(const struct thrum__document *d, const struct thrum__model *model,
	const struct thrum__document_piece *piece)
{
	char clean[THRUM__DOCUMENT_TEXT];

	assert_true(piece->size <= THRUM__DOCUMENT_TEXT);
	assert_true(piece->offset + piece->size <= d->text_size);
	if (piece->size > 0) {
		assert_int_equal(thrum__base_utf8_clean(d->text + piece->offset, piece->size, clean,
					 sizeof clean),
			piece->size);
		assert_memory_equal(clean, d->text + piece->offset, piece->size);
	}
	assert_true(piece->link <= THRUM__LINK_TO_SITE);
	if (piece->link == THRUM__LINK_TO_TASK && piece->side == 0)
		assert_true(piece->target >= 0 && piece->target < UINT32_MAX &&
			thrum__model_has_row(&model->tasks, (uint32_t)piece->target));
	if (piece->link != THRUM__LINK_TO_NONE)
		assert_true(piece->size > 0);
}

void document_check(const struct thrum__document *d, const struct thrum__model *model)
{
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct thrum__document_paragraph *p = &d->paragraphs[i];

		assert_true((p->role == THRUM__ROLE_TITLE) == (i == 0));
		assert_true(p->role <= THRUM__ROLE_MORE);
		assert_non_null(p->key);
		assert_int_equal(p->first, pieces);
		pieces += p->count;
		check_piece(d, model, &p->aside);
		/* A heading has something below it. */
		if (p->role == THRUM__ROLE_SECTION)
			assert_true(i + 1 < d->count &&
				d->paragraphs[i + 1].role != THRUM__ROLE_SECTION);
	}
	assert_int_equal(pieces, d->piece_count);
	for (uint32_t i = 0; i < d->piece_count; i++)
		check_piece(d, model, &d->pieces[i]);
}

static bool says(const struct thrum__document *d, const struct thrum__document_piece *piece,
	const char *words)
{
	return piece->size == strlen(words) &&
		memcmp(d->text + piece->offset, words, piece->size) == 0;
}

const struct thrum__document_piece *document_find(const struct thrum__document *d,
	const char *words)
{
	for (uint32_t i = 0; i < d->piece_count; i++)
		if (says(d, &d->pieces[i], words))
			return &d->pieces[i];
	for (uint32_t i = 0; i < d->count; i++)
		if (d->paragraphs[i].aside.size > 0 && says(d, &d->paragraphs[i].aside, words))
			return &d->paragraphs[i].aside;
	fail_msg("nothing says \"%s\"", words);
	return NULL;
}
