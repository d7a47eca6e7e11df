/* SPDX-License-Identifier: ISC */
/* The records that the kernel writes about a process: context switches and page faults. */
#include <linux/perf_event.h>
#include <string.h>

#include "source/switches/parts.h"

#define SWITCHES_MAX (8u << 20) /* that are kept: 192 MiB */
#define TIDS_MAX (1u << 22)     /* of Linux */

void thrum__source_switches_keep(struct thrum__source_switches *switches,
	const struct thrum__source_switch *one)
{
	if (switches->count == SWITCHES_MAX) {
		uint64_t old = switches->all[switches->next_old].time;

		if (switches->forgotten < old)
			switches->forgotten = old;
		switches->all[switches->next_old] = *one;
		switches->next_old = (switches->next_old + 1) % SWITCHES_MAX;
		return;
	}
	struct thrum__source_switch *all = thrum__base_grow(switches->all, &switches->room,
		switches->count + UINT64_C(1), sizeof *all);

	if (!all) {
		switches->failed = true;
		return;
	}
	switches->all = all;
	all[switches->count++] = *one;
}

void thrum__source_switches_keep_loss(struct thrum__source_switches *switches,
	const struct thrum__source_switch_loss *loss)
{
	struct thrum__source_switch_loss *losses = thrum__base_grow(switches->losses,
		&switches->loss_room, switches->loss_count + UINT64_C(1), sizeof *losses);

	if (!losses) {
		switches->failed = true;
		return;
	}
	switches->losses = losses;
	losses[switches->loss_count++] = *loss;
}

/* Remembers a thread of the process. */
static void know(struct thrum__source_switches *switches, uint32_t tid)
{
	uint8_t *grown = tid < TIDS_MAX ? thrum__base_grow_zeroed(switches->is_known,
						  &switches->known_room, tid + UINT64_C(1), 1)
					: NULL;

	if (!grown)
		return;
	switches->is_known = grown;
	grown[tid] = 1;
}

/* Takes a sample of a page fault; `last` becomes its time. Its size tells its kind, as listen.c asks for
 * other numbers in each; TID and TIME always come first. */
static void take_fault(struct thrum__source_switches *switches, uint64_t *last, const uint8_t *body,
	size_t size)
{
	const size_t number = sizeof(uint64_t);
	struct thrum__source_sample_id id;
	struct thrum__source_switch one = {.kind = THRUM__SWITCH_FAULT};

	if (size == sizeof id + number)
		one.kind = THRUM__SWITCH_MINOR;
	else if (size == sizeof id + 2 * number)
		one.kind = THRUM__SWITCH_MAJOR;
	else if (size != sizeof id)
		return;
	memcpy(&id, body, sizeof id);
	one.time = *last = id.time;
	one.tid = id.tid;
	one.cpu = THRUM__NO_CPU; /* the switches tell it */
	know(switches, one.tid);
	thrum__source_switches_keep(switches, &one);
}

void thrum__source_switches_record(struct thrum__source_switches *switches, uint64_t *last,
	const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	struct thrum__source_sample_id id;
	struct thrum__source_switch one = {.kind = THRUM__SWITCH_IN};
	uint64_t before = *last, lost;
	const uint8_t *body = record + sizeof header;

	if (size < sizeof header + sizeof id)
		return;
	memcpy(&header, record, sizeof header);
	memcpy(&id, record + size - sizeof id, sizeof id);
	if (header.type == PERF_RECORD_SAMPLE) {
		take_fault(switches, last, body, size - sizeof header);
		return;
	}
	size -= sizeof header + sizeof id;
	one.time = *last = id.time;
	one.tid = id.tid;
	one.cpu = id.cpu;
	/* Both begin with 8 bytes before the field that is of interest. */
	if (header.type == PERF_RECORD_LOST && size >= 2 * sizeof lost) {
		memcpy(&lost, body + sizeof lost, sizeof lost);
		thrum__source_switches_keep_loss(switches,
			&(struct thrum__source_switch_loss){before, id.time, lost});
		return;
	}
	if (header.type == PERF_RECORD_EXIT && size >= sizeof lost + sizeof one.tid) {
		memcpy(&one.tid, body + sizeof lost, sizeof one.tid);
		one.kind = THRUM__SWITCH_ENDED;
	} else if (header.type != PERF_RECORD_SWITCH) {
		return;
	} else if (header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
		one.kind = header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
			? THRUM__SWITCH_PREEMPTED
			: THRUM__SWITCH_BLOCKED;
	}
	know(switches, one.tid);
	thrum__source_switches_keep(switches, &one);
}
