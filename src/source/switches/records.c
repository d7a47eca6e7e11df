/* SPDX-License-Identifier: ISC */
/* The records that the kernel writes about context switches. */
#include <linux/perf_event.h>
#include <string.h>

#include "base/array.h"
#include "source/switches/switches.h"

#define SWITCHES_MAX (8u << 20) /* that are kept: 128 MiB */

/* The kernel adds this to the end of each record. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static void keep(struct thrum__source_switches *switches, const struct thrum__source_switch *one)
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

static void keep_loss(struct thrum__source_switches *switches,
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

void thrum__source_switches_record(struct thrum__source_switches *switches, uint64_t *last,
	const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	struct sample_id id;
	struct thrum__source_switch one = {.kind = THRUM__SWITCH_IN};
	uint64_t before = *last, lost;
	const uint8_t *body = record + sizeof header;

	if (size < sizeof header + sizeof id)
		return;
	memcpy(&header, record, sizeof header);
	memcpy(&id, record + size - sizeof id, sizeof id);
	size -= sizeof header + sizeof id;
	one.time = *last = id.time;
	one.tid = id.tid;
	/* Both begin with 8 bytes before the field that is of interest. */
	if (header.type == PERF_RECORD_LOST && size >= 2 * sizeof lost) {
		memcpy(&lost, body + sizeof lost, sizeof lost);
		keep_loss(switches, &(struct thrum__source_switch_loss){before, id.time, lost});
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
	keep(switches, &one);
}
