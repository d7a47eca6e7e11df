/* SPDX-License-Identifier: ISC */
/* Samples the recordings of running processes. */
#define _GNU_SOURCE
#include "live/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/port.h"
#include "source/input.h"
#include "trace/load.h"

#define LIFE_NS UINT64_C(200000000) /* between two checks whether the process lives */

int live_open(const struct command *command, const char *argument, struct live *live)
{
	const struct thrum__source_owner *owner;
	struct thrum_error_info error = {0};
	int status = input_find(command, argument, live->path, sizeof(live->path));

	if (status != STATUS_OK)
		return status;
	if (thrum__source_open(live->path, &live->input, &error) < 0)
		return input_failed(live->path, &error);
	if (thrum__source_header(&live->input, &live->header, &error) < 0) {
		thrum__source_close(live->input.owner);
		return input_failed(live->path, &error);
	}
	owner = thrum__source_owner(&live->input);
	if (owner->is_written && !live->header.host_clock.boot &&
		thrum__source_ticks_now(&live->input) == 0) {
		complain("%s: its clock can't be compared with this machine's, so the ages of its "
			 "tasks are unknown",
			live->path);
		thrum__source_close(live->input.owner);
		return STATUS_FAILED;
	}
	if (owner->follow)
		owner->follow(live->input.owner);
	if (thrum__monitor_create(&live->input, &live->header, &live->monitor) < 0) {
		thrum__source_close(live->input.owner);
		return load_no_memory();
	}
	snprintf(live->name, sizeof(live->name), "%.*s %" PRIu32, (int)sizeof(live->header.program),
		live->header.program, live->header.pid);
	for (char *at = live->name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?'; /* it may come from a hostile file, and goes to terminals */
	return STATUS_OK;
}

void live_close(struct live *live)
{
	thrum_trace_close(live->trace);
	thrum__monitor_labels_destroy(live->labels);
	thrum__read_counters_free(&live->counters);
	thrum__monitor_destroy(live->monitor);
	thrum__source_close(live->input.owner);
}

int live_open_all(const struct command *command, char **arguments, size_t count, struct live **all)
{
	struct live *list = calloc(count, sizeof(*list));

	if (!list)
		return load_no_memory();
	for (size_t i = 0; i < count; i++) {
		int status = live_open(command, arguments[i], &list[i]);

		if (status != STATUS_OK) {
			live_close_all(list, i);
			return status;
		}
	}
	*all = list;
	return STATUS_OK;
}

void live_close_all(struct live *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		live_close(&list[i]);
	free(list);
}

int live_want_labels(struct live *list, size_t count)
{
	struct thrum_error_info error = {0};

	for (size_t i = 0; i < count; i++) {
		if (thrum_trace_open(list[i].path, &list[i].trace, &error) < 0)
			return input_failed(list[i].path, &error);
		if (thrum__monitor_labels_create(&list[i].labels) < 0)
			return load_no_memory();
	}
	return STATUS_OK;
}

/* Reads the events since the last sample, and adds the counters by label. Returns 0 or a negative enum
 * thrum_error. */
static int add_labels(struct live *live, struct thrum__read_counters *counters)
{
	const struct thrum_event *events;
	size_t count;
	int result = thrum_trace_refresh(live->trace, 0, NULL);

	while (result >= 0 && (result = thrum_trace_next(live->trace, &events, &count, NULL)) > 0)
		result = thrum__monitor_labels_add(live->labels, events, count);
	return result < 0 ? result : thrum__monitor_labels_put(live->labels, counters);
}

int live_sample(struct live *live, unsigned parts)
{
	struct thrum__read_counters counters;
	uint64_t now = thrum__port_monotonic();
	int error;

	if (!live->has_ended && now - live->life_known >= LIFE_NS) {
		live->life_known = now;
		live->has_ended = thrum__source_was_killed(&live->input, &live->header);
	}
	error = thrum__monitor_take_sample(live->monitor, parts, live->has_ended ? 0 : now,
		&live->sample);
	if (error == 0) {
		live->has_ended |= !live->sample->is_recording;
		error = thrum__read_counters(&live->input, &live->header, &counters);
	}
	if (error == 0 && live->labels && (error = add_labels(live, &counters)) < 0)
		thrum__read_counters_free(&counters);
	if (error < 0) {
		complain("%s: %s", live->path, thrum_error_message(error));
		return STATUS_FAILED;
	}
	thrum__read_counters_free(&live->counters);
	live->counters = counters;
	return STATUS_OK;
}
