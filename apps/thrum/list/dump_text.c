/* SPDX-License-Identifier: ISC */
/* dump --format=text: aligned lines for people. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>

#include "line/link.h"
#include "line/text.h"
#include "list/dump.h"
#include "trace/clocks.h"
#include "trace/input.h"
#include "words/words.h"

#define TIME_COLUMNS 17 /* 99999.123 456 789 */
#define CLOCK_COLUMNS 20
#define LANE_COLUMNS 4
#define TASK_COLUMNS 30
#define EVENT_COLUMNS 14
/* Bytes of a line without its text. */
#define LINE_ROOM 1024

enum style {
	PLAIN,
	DIM,
	BOLD,
	BEGINS,
	ENDS,
	WAITS,
	WRONG,
	NUMBER,
	SAYS,
	STYLES
};

static const char *const codes[STYLES] = {
	[PLAIN] = "",
	[DIM] = "\033[2m",
	[BOLD] = "\033[1m",
	[BEGINS] = "\033[32m",
	[ENDS] = "\033[34m",
	[WAITS] = "\033[33m",
	[WRONG] = "\033[1;31m",
	[NUMBER] = "\033[35m",
	[SAYS] = "\033[36m",
};

static const unsigned char styles[THRUM_EVENT_TYPES] = {
	[THRUM_EVENT_CREATE] = BEGINS,
	[THRUM_EVENT_LABEL] = SAYS,
	[THRUM_EVENT_READY] = BEGINS,
	[THRUM_EVENT_READ] = ENDS,
	[THRUM_EVENT_WAIT] = WAITS,
	[THRUM_EVENT_READ_LATER] = WAITS,
	[THRUM_EVENT_RESOLVE] = ENDS,
	[THRUM_EVENT_FAIL] = WRONG,
	[THRUM_EVENT_CANCEL] = WRONG,
	[THRUM_EVENT_BECOME] = ENDS,
	[THRUM_EVENT_SIGNAL] = ENDS,
	[THRUM_EVENT_DUE] = WAITS,
	[THRUM_EVENT_SUSPEND] = DIM,
	[THRUM_EVENT_RESUME] = DIM,
	[THRUM_EVENT_LOG] = SAYS,
	[THRUM_EVENT_TAG] = SAYS,
	[THRUM_EVENT_SPAN_BEGIN] = SAYS,
	[THRUM_EVENT_SPAN_END] = SAYS,
	[THRUM_EVENT_GC] = SAYS,
	[THRUM_EVENT_COUNTER] = NUMBER,
	[THRUM_EVENT_INCREASE] = NUMBER,
	[THRUM_EVENT_LOST] = WRONG,
	[THRUM_EVENT_DAMAGED] = WRONG,
	[THRUM_EVENT_OFF_CPU] = SAYS,
};

static char *put_style(char *to, const struct dump *dump, unsigned style)
{
	return dump->color && style != PLAIN ? put_string(to, codes[style]) : to;
}

static char *put_plain(char *to, const struct dump *dump, unsigned style)
{
	return dump->color && style != PLAIN ? put_string(to, "\033[0m") : to;
}

/* ---- The head -------------------------------------------------------------------------------- */

static char *put_known(char *to, const char *before, const char *text)
{
	size_t columns;

	if (!*text)
		return to;
	to = put_string(to, before);
	return put_display(to, 256, text, strlen(text), 80, &columns);
}

/* Writes "server.thrum: thrum recording of server, pid 4711 on kent, killed; began
 * 2026-11-21 06:44:11.123 +0000". */
static char *put_origin(char *to, const struct dump *dump)
{
	const struct thrum_trace_info *info = dump->info;
	const char *path = input_path(dump->path);
	size_t columns;

	to = put_style(to, dump, BOLD);
	to = put_display(to, 512, path, strlen(path), 120, &columns);
	to = put_plain(to, dump, BOLD);
	to = put_known(to, ": ", info->format);
	to = put_string(to, strcmp(info->format, "thrum") == 0 ? " recording" : " trace");
	to = put_known(to, " of ", info->program);
	if (info->pid > 0) {
		to = put_string(to, *info->program ? ", pid " : " of pid ");
		to = put_signed(to, info->pid);
	}
	to = put_known(to, " on ", info->host);
	to = put_known(to, ", ", info->state);
	if (info->start != 0) {
		to = put_string(to, "; began ");
		to = put_date(to, info->start, 3);
	}
	*to++ = '\n';
	return to;
}

static char *put_clock(char *to, const struct dump *dump)
{
	const struct thrum_trace_info *info = dump->info;

	to = put_style(to, dump, DIM);
	to = put_count(to, info->lanes);
	to = put_string(to, info->lanes == 1 ? " lane, time in " : " lanes, time in ");
	to = put_string(to, dump->clock ? "ticks" : "seconds since the first event");
	to = put_known(to, ", clock ", info->clock);
	if (info->clock_frequency > 0 && dump->clock) {
		to = put_string(to, " at ");
		to = put_count(to, info->clock_frequency);
		to = put_string(to, " Hz");
	}
	to = put_plain(to, dump, DIM);
	*to++ = '\n';
	return to;
}

static char *put_title(char *to, const char *title, size_t width, bool right)
{
	size_t size = strlen(title);

	if (right)
		to = put_spaces(to, width - size);
	to = put_string(to, title);
	if (!right)
		to = put_spaces(to, width - size);
	return put_spaces(to, 2);
}

static int begin_text(struct dump *dump)
{
	char *to = output_room(&dump->out, 4 * LINE_ROOM);

	to = put_origin(to, dump);
	dump->out.at = put_clock(to, dump);
	clocks_write(&dump->out, dump->trace, dump->from, dump->until);
	to = output_room(&dump->out, 4 * LINE_ROOM);
	*to++ = '\n';
	to = put_style(to, dump, BOLD);
	*to++ = ' ';
	to = put_title(to, dump->clock ? "clock" : "time",
		dump->clock ? CLOCK_COLUMNS : TIME_COLUMNS, true);
	to = put_title(to, "lane", LANE_COLUMNS, true);
	to = put_title(to, "task", TASK_COLUMNS, false);
	to = put_title(to, "event", EVENT_COLUMNS, false);
	to = put_string(to, "details");
	to = put_plain(to, dump, BOLD);
	*to++ = '\n';
	dump->out.at = to;
	return 0;
}

/* ---- A line ---------------------------------------------------------------------------------- */

static char *put_task(char *to, const struct dump *dump, uint64_t task, size_t *columns)
{
	const struct label *label = labels_find(&dump->labels, task);
	char *start = to;

	*to++ = '#';
	to = put_id(to, task, dump->info->signed_ids);
	*columns = (size_t)(to - start);
	if (label) {
		*to++ = ' ';
		memcpy(to, label->text, label->size);
		to += label->size;
		*columns += label->columns + 1u;
	}
	return to;
}

static char *put_right(char *to, const char *digits, const char *end, size_t width)
{
	size_t size = (size_t)(end - digits);

	if (size < width)
		to = put_spaces(to, width - size);
	memcpy(to, digits, size);
	return to + size;
}

static char *put_time(char *to, const struct dump *dump, const struct thrum_event *event)
{
	char digits[NUMBER_ROOM];

	to = put_style(to, dump, DIM);
	*to++ = event->flags & THRUM_EVENT_REMEMBERED ? '~' : ' ';
	if (dump->clock)
		to = put_right(to, digits, put_unsigned(digits, event->clock), CLOCK_COLUMNS);
	else
		to = put_seconds(to, event->time, TIME_COLUMNS);
	to = put_plain(to, dump, DIM);
	to = put_spaces(to, 2);
	to = put_right(to, digits, put_unsigned(digits, event->lane), LANE_COLUMNS);
	return put_spaces(to, 2);
}

static void write_site(struct dump *dump, unsigned number)
{
	const struct thrum_trace_site *site = number ? thrum_trace_site(dump->trace, number) : NULL;
	size_t columns;
	bool is_link;
	char *to;

	if (!site)
		return;
	to = put_style(output_room(&dump->out, LINE_ROOM), dump, DIM);
	to = put_string(to, "  in ");
	to = put_display(to, 160, site->function, strlen(site->function), 80, &columns);
	dump->out.at = put_string(to, ", ");
	is_link = dump->color && link_begin(&dump->out, site->file);
	to = output_room(&dump->out, LINE_ROOM);
	to = put_display(to, 160, site->file, strlen(site->file), 80, &columns);
	if (site->line) {
		*to++ = ':';
		to = put_unsigned(to, site->line);
	}
	dump->out.at = to;
	if (is_link)
		link_end(&dump->out);
	dump->out.at = put_plain(output_room(&dump->out, LINE_ROOM), dump, DIM);
}

static char *put_shown(char *to, const char *text, size_t size)
{
	size_t columns;

	return put_display(to, 4 * size + 8, text, size, SIZE_MAX, &columns);
}

/* Writes a link's key in quotation marks if it is printable ASCII, else in hex. */
static char *put_key(char *to, const char *key, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return put_hex(to, key, size);
	*to++ = '"';
	memcpy(to, key, size);
	to += size;
	*to++ = '"';
	return to;
}

static void write_event_text(struct dump *dump, const struct thrum_event *event)
{
	bool is_link = event->type == THRUM_EVENT_LINK_SEND ||
		event->type == THRUM_EVENT_LINK_RECEIVE;

	dump_put(dump, event, is_link ? put_key : put_shown, 4);
}

/* The words before a value, as in "net/bytes = 42". */
static const char *const before_value[THRUM_EVENT_TYPES] = {
	[THRUM_EVENT_COUNTER] = " = ",
	[THRUM_EVENT_TAG] = " = ",
	[THRUM_EVENT_INCREASE] = " + ",
	[THRUM_EVENT_CATEGORY] = ": level ",
	[THRUM_EVENT_SIGNAL] = ", waiting: ",
	[THRUM_EVENT_DUE] = "in ",
	[THRUM_EVENT_OFF_CPU] = " for ",
};

#define ALL_DIGITS 19

static char *put_value(char *to, const struct thrum_event *event)
{
	if (event->type == THRUM_EVENT_CATEGORY && event->value < 0)
		return put_string(to, ": off");
	if (event->type == THRUM_EVENT_DUE && event->value == INT64_MAX)
		return put_string(to, "never");
	if (before_value[event->type])
		to = put_string(to, before_value[event->type]);
	if (event->type == THRUM_EVENT_DUE || event->type == THRUM_EVENT_GC ||
		event->type == THRUM_EVENT_OFF_CPU)
		return to + thrum__words_duration(event->value, ALL_DIGITS, to, NUMBER_ROOM);
	return put_signed(to, event->value);
}

/* Writes "1,234 events: ", as in "1,234 events: recording full". Other values follow their
 * texts. */
static char *put_lost(char *to, const struct thrum_event *event)
{
	if (!(event->flags & THRUM_EVENT_HAS_VALUE))
		return to;
	to = put_count(to, (uint64_t)event->value);
	return put_string(to, event->value == 1 ? " event: " : " events: ");
}

#define HAS_SOMETHING (THRUM_EVENT_HAS_OTHER | THRUM_EVENT_HAS_VALUE | THRUM_EVENT_HAS_TEXT)

static void write_details(struct dump *dump, const struct thrum_event *event, size_t spaces)
{
	bool is_lost = event->type == THRUM_EVENT_LOST;
	char *to = output_room(&dump->out, LINE_ROOM);
	size_t columns;

	if (event->flags & HAS_SOMETHING)
		to = put_spaces(to, spaces);
	if (is_lost)
		to = put_lost(to, event);
	if (event->type == THRUM_EVENT_OFF_CPU && event->flags & THRUM_EVENT_HAS_OTHER)
		to = put_string(to, "by ");
	if (event->flags & THRUM_EVENT_HAS_OTHER)
		to = put_task(to, dump, event->other, &columns);
	if (event->type == THRUM_EVENT_CREATE) {
		*to++ = ' ';
		to = put_string(to, thrum_kind_name(event->kind));
	}
	if (event->flags & THRUM_EVENT_HAS_TEXT && event->type != THRUM_EVENT_CREATE) {
		if (event->flags & THRUM_EVENT_HAS_OTHER)
			to = put_string(to, ": ");
		dump->out.at = to;
		write_event_text(dump, event);
		to = output_room(&dump->out, LINE_ROOM);
	}
	if (event->flags & THRUM_EVENT_HAS_VALUE && !is_lost)
		to = put_value(to, event);
	dump->out.at = to;
	write_site(dump, event->site);
	dump->out.at = put_string(output_room(&dump->out, LINE_ROOM), "\n");
}

static void explain_remembered(struct dump *dump)
{
	char *to = output_room(&dump->out, LINE_ROOM);

	to = put_style(to, dump, DIM);
	to = put_string(to,
		"~ remembered: facts about unresolved tasks whose own events were overwritten");
	to = put_plain(to, dump, DIM);
	*to++ = '\n';
	dump->out.at = to;
	dump->explained = true;
}

static void write_text_event(struct dump *dump, const struct thrum_event *event)
{
	unsigned style = styles[event->type];
	const char *name = thrum_event_name(event->type);
	size_t columns = 0;
	char *to;

	if (event->flags & THRUM_EVENT_REMEMBERED && !dump->explained)
		explain_remembered(dump);
	to = put_time(output_room(&dump->out, LINE_ROOM), dump, event);
	if (event->flags & THRUM_EVENT_HAS_TASK)
		to = put_task(to, dump, event->task, &columns);
	to = put_spaces(to, columns < TASK_COLUMNS ? TASK_COLUMNS - columns + 2 : 2);
	to = put_style(to, dump, style);
	to = put_string(to, name);
	to = put_plain(to, dump, style);
	dump->out.at = to;
	write_details(dump, event, EVENT_COLUMNS + 2 - strlen(name));
}

/* ---- Names of tasks ------------------------------------------------------------------- */

static void note_labels(struct dump *dump, const struct thrum_event *event)
{
	const char *kind;

	switch (event->type) {
	case THRUM_EVENT_CREATE:
		kind = thrum_kind_name(event->kind);
		labels_set(&dump->labels, event->other, kind, strlen(kind), true);
		break;
	case THRUM_EVENT_LABEL:
		labels_set(&dump->labels, event->task, event->text, event->text_size, false);
		break;
	case THRUM_EVENT_RESOLVE:
	case THRUM_EVENT_FAIL:
	case THRUM_EVENT_CANCEL: labels_resolved(&dump->labels, event->other); break;
	case THRUM_EVENT_BECOME: labels_resolved(&dump->labels, event->task); break;
	default: break;
	}
}

static void end_text(struct dump *dump)
{
	labels_finish(&dump->labels);
}

const struct dump_writer dump_text = {.begin = begin_text,
	.event = write_text_event,
	.note = note_labels,
	.end = end_text};
