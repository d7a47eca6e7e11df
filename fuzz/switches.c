/* SPDX-License-Identifier: ISC */
/* Fuzzes the records of the kernel's rings: bytes of records one after the other, each with its header; and
 * the description of a tracepoint. */
#include <stdlib.h>
#include <string.h>

#include "source/switches/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tracepoints of each use, as this input describes them; else with fields in usual places. */
static void set_points(struct thrum__source_switches *switches, const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	for (uint32_t use = 0; use <= THRUM__POINT_COMPLETE; use++) {
		struct thrum__source_point point = {.id = 370 + use,
			.use = (enum thrum__source_point_use)use,
			.name = "local_timer"};

		if (!thrum__source_switches_describe(&point, text)) {
			point.fields[0] = (struct thrum__source_field){use == 0 ? 24 : 8, 4};
			point.fields[1] = (struct thrum__source_field){16, use < 7 ? 4 : 8};
			point.fields[2] = (struct thrum__source_field){28, 4};
			point.fields[3] = (struct thrum__source_field){34, 10};
		}
		switches->points[switches->point_count++] = point;
	}
	free(text);
}

static void check(const struct thrum__source_switches *switches)
{
	for (uint32_t i = 0; i < switches->count; i++)
		if (switches->all[i].kind > THRUM__SWITCH_MAJOR)
			abort();
	for (uint32_t i = 0; i < switches->event_count; i++) {
		const struct thrum__source_kernel_event *event = &switches->events[i];

		if (event->type > THRUM__KERNEL_LOST ||
			(event->name >= switches->names.count &&
				(event->type == THRUM__KERNEL_BEGIN ||
					event->type == THRUM__KERNEL_ISSUE)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__source_switches switches = {.has_events = true};
	uint64_t last = 0;

	set_points(&switches, data, size);
	while (size >= 8) {
		uint16_t length;

		memcpy(&length, data + 6, sizeof length);
		if (length < 8 || length > size)
			break;
		/* In memory of its own, so that a byte too much is noticed. */
		uint8_t *record = malloc(length);

		if (!record)
			break;
		memcpy(record, data, length);
		thrum__source_switches_record(&switches, &last, record, length);
		thrum__source_switches_machine_record(&switches, record, length);
		free(record);
		data += length;
		size -= length;
	}
	check(&switches);
	thrum__source_switches_close(&switches);
	return 0;
}
