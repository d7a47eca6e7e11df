/* SPDX-License-Identifier: ISC */
/*
 * The public reading functions. They find the format of a trace when it is opened, and then call
 * the functions of that format's reader.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/read.h"

/* How often thrum_trace_refresh looks. A packet that the recorder still fills wakes nobody. */
#define POLL_MS 10
/* How often thrum_trace_follow looks whether the recorder's process lives. */
#define LOOK_MS 100

int thrum__read_error_set(struct thrum_error_info *info, int code, uint64_t offset,
	const char *format, ...)
{
	va_list arguments;

	if (!info)
		return code;
	info->code = code;
	info->offset = offset;
	va_start(arguments, format);
	vsnprintf(info->message, sizeof info->message, format, arguments);
	va_end(arguments);
	return code;
}

/* ---- Words --------------------------------------------------------------------------------- */

const char *thrum_event_name(int type)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) [THRUM_EVENT_##NAME] = word,
		THRUM_EVENTS(THRUM__X)
#undef THRUM__X
	};

	return type >= 0 && type < THRUM_EVENT_TYPES ? names[type] : "unknown";
}

const char *const thrum__read_task_parts[THRUM__TASK_PARTS] = {"task", "life", "wait", "switch"};

const char *thrum_kind_name(int kind)
{
	static const char *const names[] = {
#define THRUM__X(NAME, name, value) [value] = #name,
		THRUM_KINDS(THRUM__X)
#undef THRUM__X
	};

	if (kind < 0 || (size_t)kind >= sizeof names / sizeof *names || !names[kind])
		return "unknown";
	return names[kind];
}

const char *thrum_lost_name(int cause)
{
	static const char *const names[] = {
#define THRUM__X(NAME, name, value, text) [value] = text,
		THRUM__LOST(THRUM__X)
#undef THRUM__X
	};

	return cause >= 0 && (size_t)cause < sizeof names / sizeof *names ? names[cause] : NULL;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

int thrum__read_open(const struct thrum__input *input, void (*close)(void *owner),
	struct thrum_trace **trace, struct thrum_error_info *info)
{
	static const struct thrum__read_format *const formats[] = {&thrum__read_thrum_format,
		&thrum__mirage_format};
	uint8_t head[4096];
	int64_t got = input->read(input->owner, 0, head, sizeof head);

	if (got < 0)
		return thrum__read_error_set(info, (int)got, 0, "its beginning can't be read");
	if (got == 0)
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"empty: there is nothing to read");
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		if (!formats[i]->probe(head, (size_t)got))
			continue;
		struct thrum_trace *opened;
		int error = formats[i]->open(input, &opened, info);

		if (error)
			return error;
		opened->format = formats[i];
		opened->input = *input;
		opened->input_close = close;
		opened->info.format = formats[i]->name;
		opened->info.file_size = input->size(input->owner);
		*trace = opened;
		return 0;
	}
	/* source/ unpacks such files, but not in a browser. */
	if (got >= 4 && memcmp(head, "\x28\xb5\x2f\xfd", 4) == 0)
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"compressed, and can't be unpacked here: unpack it with zstd -d");
	return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
		"neither a recording of thrum nor a trace of mirage-profile");
}

void thrum_trace_close(struct thrum_trace *trace)
{
	if (!trace)
		return;
	void (*close)(void *) = trace->input_close;
	void *owner = trace->input.owner;

	trace->format->close(trace);
	if (close)
		close(owner);
}

/* ---- Bytes in memory ----------------------------------------------------------------------- */

static int64_t memory_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct thrum__read_memory *memory = owner;

	if (offset >= memory->size)
		return 0;
	if (size > memory->size - offset)
		size = memory->size - (size_t)offset;
	memcpy(to, memory->bytes + offset, size);
	return (int64_t)size;
}

static uint64_t memory_size(void *owner)
{
	return ((const struct thrum__read_memory *)owner)->size;
}

struct thrum__input thrum__read_memory_input(struct thrum__read_memory *memory)
{
	return (struct thrum__input){memory, memory_read, memory_size};
}

/* ---- Calls to the format's reader ---------------------------------------------------------- */

int thrum_trace_next(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	int result = trace->format->next(trace, events, count, info);

	/* The last one is the latest, as they are in the order of time. */
	if (result == 1 && (*events)[*count - 1].time > trace->info.end)
		trace->info.end = (*events)[*count - 1].time;
	return result;
}

int thrum_trace_refresh(struct thrum_trace *trace, int wait_ms, struct thrum_error_info *info)
{
	if (!trace->format->refresh)
		return 0;
	/* Even without waiting, this notices that the recorder's process has ended. */
	if (trace->input_wait)
		trace->input_wait(trace->input.owner, 0);
	for (;;) {
		int result = trace->format->refresh(trace, info);

		if (result != THRUM__NOTHING_NEW || wait_ms <= 0 || !trace->input_wait)
			return result > 0 ? 1 : result;
		int slice = wait_ms < POLL_MS ? wait_ms : POLL_MS;

		trace->input_wait(trace->input.owner, slice);
		wait_ms -= slice;
	}
}

/*
 * Waits for packets, and gives the first one's events. Returns as thrum_trace_follow does.
 */
static int wait_for_packet(struct thrum_trace *trace, int wait_ms,
	const struct thrum_event **events, size_t *count, struct thrum_error_info *info)
{
	const struct thrum__read_format *format = trace->format;
	int result = format->follow(trace, false, events, count, info);

	while (result == 0) {
		/* Before the look for packets: one that is finished after that ends the wait. */
		if (trace->input_listen && wait_ms > 0)
			trace->input_listen(trace->input.owner, true);
		if (trace->input_wait)
			trace->input_wait(trace->input.owner, 0);
		result = format->refresh(trace, info);
		if (result <= 0)
			return result;
		result = format->follow(trace, false, events, count, info);
		if (result != 0)
			return result;
		if (wait_ms <= 0 || !trace->input_wait)
			break;
		int slice = wait_ms < LOOK_MS ? wait_ms : LOOK_MS;

		trace->input_wait(trace->input.owner, slice);
		wait_ms -= slice;
	}
	if (result != 0)
		return result;
	/* The wait is over: now the packets count that aren't finished. */
	*count = 0;
	result = format->follow(trace, true, events, count, info);
	return result < 0 ? result : 1;
}

int thrum_trace_follow(struct thrum_trace *trace, int wait_ms, const struct thrum_event **events,
	size_t *count, uint64_t *missed, struct thrum_error_info *info)
{
	int result = 0;

	if (!trace->is_followed)
		result = thrum_trace_next(trace, events, count, info);
	if (result == 0) {
		trace->is_followed = true;
		if (trace->format->follow)
			result = wait_for_packet(trace, wait_ms, events, count, info);
		if (trace->input_listen)
			trace->input_listen(trace->input.owner, false);
		if (result == 1 && *count > 0 && (*events)[*count - 1].time > trace->info.end)
			trace->info.end = (*events)[*count - 1].time;
	}
	if (result == 1 && missed) {
		*missed = trace->missed;
		trace->missed = 0;
	}
	return result;
}

const struct thrum_trace_info *thrum_trace_info(const struct thrum_trace *trace)
{
	return &trace->info;
}

const struct thrum_trace_site *thrum_trace_site(const struct thrum_trace *trace, unsigned site)
{
	return trace->format->site ? trace->format->site(trace, site) : NULL;
}

const struct thrum_trace_lane *thrum_trace_lane(const struct thrum_trace *trace, unsigned lane)
{
	return trace->format->lane ? trace->format->lane(trace, lane) : NULL;
}
