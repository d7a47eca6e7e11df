/* SPDX-License-Identifier: ISC */
/* dump --format=tsv: the stable table for other programs. It avoids printf, for speed. */
#include <string.h>

#include "line/text.h"
#include "list/dump.h"
#include "trace/clocks.h"

/* Bytes of a row without its text: eight columns. */
#define ROW_ROOM (8 * NUMBER_ROOM)
/* A text up to this size is written together with its row. */
#define SHORT_TEXT 1024

static int begin_tsv(struct dump *dump)
{
	output_text(&dump->out, "time\tlane\tevent\ttask\tother\tvalue\ttext\terror\n");
	return 0;
}

/* The events' names and their sizes: strlen would be a good part of an event's cost. */
static const struct {
	const char word[15];
	unsigned char size;
} words[] = {
#define THRUM__X(NAME, word) {word, sizeof(word) - 1},
	THRUM_EVENTS(THRUM__X)
#undef THRUM__X
};

static char *put_tsv_row(char *to, const struct dump *dump, const struct thrum_event *event)
{
	bool is_signed = dump->info->signed_ids;

	to = dump->clock ? put_unsigned(to, event->clock) : put_signed(to, event->time);
	*to++ = '\t';
	to = put_unsigned(to, event->lane);
	*to++ = '\t';
	memcpy(to, words[event->type].word, sizeof(words[0].word));
	to += words[event->type].size;
	*to++ = '\t';
	if (event->flags & THRUM_EVENT_HAS_TASK)
		to = put_id(to, event->task, is_signed);
	*to++ = '\t';
	if (event->flags & THRUM_EVENT_HAS_OTHER)
		to = put_id(to, event->other, is_signed);
	*to++ = '\t';
	if (event->flags & THRUM_EVENT_HAS_VALUE)
		to = put_signed(to, event->value);
	*to++ = '\t';
	return to;
}

static void write_tsv_event(struct dump *dump, const struct thrum_event *event)
{
	char *to = put_tsv_row(output_room(&dump->out, ROW_ROOM + 4 * SHORT_TEXT), dump, event);
	bool is_link = event->type == THRUM_EVENT_LINK_SEND ||
		event->type == THRUM_EVENT_LINK_RECEIVE;
	int64_t error;

	if (event->type == THRUM_EVENT_CREATE) {
		to = put_string(to, thrum_kind_name(event->kind));
	} else if (event->text_size > SHORT_TEXT || is_link) {
		dump->out.at = to;
		dump_put(dump, event, is_link ? put_hex : put_escaped, 4);
		to = output_room(&dump->out, 2 * NUMBER_ROOM);
	} else if (event->flags & THRUM_EVENT_HAS_TEXT) {
		to = put_escaped(to, event->text, event->text_size);
	}
	*to++ = '\t';
	error = clocks_error(dump->trace, event->lane, event->time, event->time);
	if (error > 0 && error < INT64_MAX)
		to = put_signed(to, error);
	*to++ = '\n';
	dump->out.at = to;
}

const struct dump_writer dump_tsv = {.begin = begin_tsv, .event = write_tsv_event};
