/* SPDX-License-Identifier: ISC */
/* Makes documents of paragraphs, pieces and clean text. */
#include "report/document/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "report/document/parts.h"

const char *thrum__document_role_name(int role)
{
#define THRUM__X(NAME, word) word,
	static const char *const words[] = {THRUM__ROLES(THRUM__X)};

	return role >= 0 && role <= THRUM__ROLE_MORE ? words[role] : "unknown";
}

const char *thrum__document_link_name(int link)
{
	static const char *const words[] = {THRUM__LINKS(THRUM__X)};
#undef THRUM__X

	return link >= 0 && link <= THRUM__LINK_TO_SITE ? words[link] : "unknown";
}

void thrum__document_init(struct thrum__document *document)
{
	*document = (struct thrum__document){0};
}

void thrum__document_finish(struct thrum__document *document)
{
	free(document->paragraphs);
	free(document->pieces);
	free(document->text);
	*document = (struct thrum__document){0};
}

void thrum__document_write_begin(struct thrum__document_writer *w, const struct thrum__model *model,
	struct thrum__document *document)
{
	*w = (struct thrum__document_writer){model, document, false};
	document->count = document->piece_count = document->text_size = 0;
}

int thrum__document_write_end(struct thrum__document_writer *w)
{
	if (!w->failed)
		return 0;
	thrum__document_finish(w->document);
	return -THRUM_E_MEMORY;
}

/* ---- Paragraphs ---------------------------------------------------------------------------- */

struct thrum__document_paragraph *thrum__document_write_paragraph(struct thrum__document_writer *w,
	int role, const char *key)
{
	static struct thrum__document_paragraph nowhere;
	struct thrum__document *document = w->document;

	if (!w->failed && document->count == document->room) {
		struct thrum__document_paragraph *paragraphs =
			thrum__base_grow(document->paragraphs, &document->room,
				document->room + UINT64_C(1), sizeof *paragraphs);

		if (paragraphs)
			document->paragraphs = paragraphs;
		w->failed = !paragraphs;
	}
	if (w->failed)
		return &nowhere;
	document->paragraphs[document->count] =
		(struct thrum__document_paragraph){.role = (uint8_t)role,
			.key = key,
			.first = document->piece_count};
	return &document->paragraphs[document->count++];
}

void thrum__document_write_section(struct thrum__document_writer *w, const char *text)
{
	thrum__document_write_paragraph(w, THRUM__ROLE_SECTION, "");
	thrum__document_write_text(w, text);
}

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Appends a clean copy of the text to the document's text. */
static struct thrum__document_piece make_piece(struct thrum__document_writer *w, const char *text,
	size_t size)
{
	struct thrum__document *document = w->document;
	struct thrum__document_piece piece = {.offset = document->text_size};
	/* A byte that isn't clean becomes a character of three bytes. */
	size_t room = size < THRUM__DOCUMENT_TEXT / 3 ? 3 * size : THRUM__DOCUMENT_TEXT;

	while (!w->failed && document->text_room - document->text_size < room) {
		char *grown = thrum__base_grow(document->text, &document->text_room,
			document->text_room + UINT64_C(1), 1);

		if (grown)
			document->text = grown;
		w->failed = !grown;
	}
	if (w->failed || size == 0)
		return piece;
	piece.size = (uint32_t)thrum__base_utf8_clean(text, size, document->text + piece.offset,
		room);
	document->text_size += piece.size;
	return piece;
}

static void add_piece(struct thrum__document_writer *w, const char *text, size_t size, int link,
	int64_t target, bool is_bad)
{
	struct thrum__document *document = w->document;
	struct thrum__document_piece piece = make_piece(w, text, size);

	if (!w->failed && document->piece_count == document->piece_room) {
		struct thrum__document_piece *pieces = thrum__base_grow(document->pieces,
			&document->piece_room, document->piece_room + UINT64_C(1), sizeof *pieces);

		if (pieces)
			document->pieces = pieces;
		w->failed = !pieces;
	}
	if (w->failed)
		return;
	piece.link = (uint8_t)link;
	piece.target = target;
	piece.is_bad = is_bad;
	document->pieces[document->piece_count++] = piece;
	document->paragraphs[document->count - 1].count++;
}

void thrum__document_write_bytes(struct thrum__document_writer *w, const char *text, size_t size)
{
	add_piece(w, text, size, THRUM__LINK_TO_NONE, 0, false);
}

void thrum__document_write_text(struct thrum__document_writer *w, const char *text)
{
	thrum__document_write_bytes(w, text, strlen(text));
}

void thrum__document_write_bad(struct thrum__document_writer *w, const char *text)
{
	add_piece(w, text, strlen(text), THRUM__LINK_TO_NONE, 0, true);
}

void thrum__document_mark_bad(struct thrum__document_writer *w)
{
	if (!w->failed)
		w->document->pieces[w->document->piece_count - 1].is_bad = true;
}

void thrum__document_write_bar(struct thrum__document_writer *w, double share, int colour)
{
	struct thrum__document_paragraph *row;

	if (w->failed)
		return;
	row = w->document->paragraphs + w->document->count - 1;
	row->bar = (uint16_t)(share * 1000 + 0.5);
	row->bar_colour = (uint8_t)colour;
}

void thrum__document_write_link(struct thrum__document_writer *w, const char *text, size_t size,
	int link, int64_t target)
{
	add_piece(w, text, size, link, target, false);
}

void thrum__document_write_filter(struct thrum__document_writer *w, const char *text,
	const char *search)
{
	struct thrum__document_piece found = make_piece(w, search, strlen(search));

	thrum__document_write_link(w, text, strlen(text), THRUM__LINK_TO_FILTER, found.offset);
	thrum__document_write_until(w, found.size);
}

void thrum__document_write_sentence(struct thrum__document_writer *w, const char *text, size_t size,
	size_t room, const struct thrum__words_mention *mentions, unsigned count, int side)
{
	size_t at = 0;

	size = size < room ? size : room - 1;
	for (unsigned i = 0; i < count && mentions[i].offset + mentions[i].size <= size; i++) {
		/* Mentions may lie within others: the first one counts. */
		if (mentions[i].offset < at)
			continue;
		if (mentions[i].offset > at)
			thrum__document_write_bytes(w, text + at, mentions[i].offset - at);
		thrum__document_write_link(w, text + mentions[i].offset, mentions[i].size,
			THRUM__LINK_TO_TASK, mentions[i].task);
		if (!w->failed)
			w->document->pieces[w->document->piece_count - 1].side = (uint8_t)side;
		at = mentions[i].offset + mentions[i].size;
	}
	if (size > at)
		thrum__document_write_bytes(w, text + at, size - at);
}

void thrum__document_write_string(struct thrum__document_writer *w, uint32_t string)
{
	size_t size;
	const char *text = thrum__model_string(w->model, string, &size);

	thrum__document_write_bytes(w, text, size);
}

void thrum__document_write_time(struct thrum__document_writer *w, int64_t time)
{
	char words[64];
	size_t size = thrum__words_event_time(time, words, sizeof words);

	thrum__document_write_link(w, words, size, THRUM__LINK_TO_TIME, time);
}

void thrum__document_write_until(struct thrum__document_writer *w, int64_t until)
{
	if (!w->failed)
		w->document->pieces[w->document->piece_count - 1].until = until;
}

void thrum__document_write_duration(struct thrum__document_writer *w, int64_t ns)
{
	char words[64];

	thrum__document_write_bytes(w, words, thrum__words_duration(ns, 4, words, sizeof words));
}

void thrum__document_write_percent(struct thrum__document_writer *w, double share)
{
	char words[32];

	thrum__words_percent(share, words, sizeof words);
	thrum__document_write_text(w, words);
}

void thrum__document_write_number(struct thrum__document_writer *w, uint64_t number)
{
	char words[THRUM__NUMBER_ROOM];

	thrum__document_write_bytes(w, words, thrum__words_number(number, words));
}

void thrum__document_write_aside(struct thrum__document_writer *w, const char *text, int link,
	int64_t target)
{
	struct thrum__document_piece aside = make_piece(w, text, strlen(text));

	if (w->failed)
		return;
	aside.link = (uint8_t)link;
	aside.target = target;
	w->document->paragraphs[w->document->count - 1].aside = aside;
}
