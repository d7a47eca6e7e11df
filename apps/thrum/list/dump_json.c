/* SPDX-License-Identifier: ISC */
/* dump --format=json: one object a line. Its keys are the columns of tsv; an object has no key for
 * an empty column. */
#include "base/json.h"
#include "line/text.h"
#include "list/dump.h"
#include "trace/clocks.h"

#define ROW_ROOM (16 * NUMBER_ROOM)

static char *put_json_ids(char *to, const struct dump *dump, const struct thrum_event *event)
{
	bool is_signed = dump->info->signed_ids;

	if (event->flags & THRUM_EVENT_HAS_TASK) {
		to = put_string(to, ",\"task\":");
		to = put_id(to, event->task, is_signed);
	}
	if (event->flags & THRUM_EVENT_HAS_OTHER) {
		to = put_string(to, ",\"other\":");
		to = put_id(to, event->other, is_signed);
	}
	if (event->flags & THRUM_EVENT_HAS_VALUE) {
		to = put_string(to, ",\"value\":");
		to = put_signed(to, event->value);
	}
	return to;
}

static void write_json_event(struct dump *dump, const struct thrum_event *event)
{
	bool is_link = event->type == THRUM_EVENT_LINK_SEND ||
		event->type == THRUM_EVENT_LINK_RECEIVE;
	char *to = output_room(&dump->out, ROW_ROOM);
	int64_t error;

	to = put_string(to, "{\"time\":");
	to = dump->clock ? put_unsigned(to, event->clock) : put_signed(to, event->time);
	to = put_string(to, ",\"lane\":");
	to = put_unsigned(to, event->lane);
	to = put_string(to, ",\"event\":\"");
	to = put_string(to, thrum_event_name(event->type));
	*to++ = '"';
	to = put_json_ids(to, dump, event);
	if (event->type == THRUM_EVENT_CREATE) {
		to = put_string(to, ",\"text\":\"");
		to = put_string(to, thrum_kind_name(event->kind));
		*to++ = '"';
	} else if (event->flags & THRUM_EVENT_HAS_TEXT || is_link) {
		dump->out.at = put_string(to, ",\"text\":\"");
		dump_put(dump, event, is_link ? put_hex : thrum__base_json_escape,
			THRUM__JSON_BYTES);
		to = output_room(&dump->out, 3 * NUMBER_ROOM);
		*to++ = '"';
	}
	error = clocks_error(dump->trace, event->lane, event->time, event->time);
	if (error > 0) {
		to = put_string(to, ",\"error\":");
		to = error < INT64_MAX ? put_signed(to, error) : put_string(to, "null");
	}
	*to++ = '}';
	*to++ = '\n';
	dump->out.at = to;
}

const struct dump_writer dump_json = {.event = write_json_event};
