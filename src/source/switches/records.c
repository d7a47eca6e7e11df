/* SPDX-License-Identifier: ISC */
/* The records that the kernel writes about context switches. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "source/switches/switches.h"

#define SWITCHES_MAX (8u << 20) /* that are kept: 192 MiB */
#define TIDS_MAX (1u << 22)     /* of Linux */
#define FLAGS_AT 2              /* in the data of a tracepoint: bits of its context */
#define IN_INTERRUPT 0x18       /* a hard one, a soft one */

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

/* Takes a sample: pid, tid, time, cpu and reserved as in a sample_id, then the raw data with its size. */
static void keep_wake(struct thrum__source_switches *switches, const uint8_t *body, size_t size)
{
	struct sample_id id;
	uint32_t raw;
	struct thrum__source_switch one = {.kind = THRUM__SWITCH_WOKEN};
	size_t at = sizeof id + sizeof raw;

	if (size < at)
		return;
	memcpy(&id, body, sizeof id);
	memcpy(&raw, body + sizeof id, sizeof raw);
	if (raw > size - at || raw < sizeof one.tid || switches->pid_at > raw - sizeof one.tid ||
		switches->pid_at <= FLAGS_AT)
		return;
	memcpy(&one.tid, body + at + switches->pid_at, sizeof one.tid);
	one.time = id.time;
	one.by = body[at + FLAGS_AT] & IN_INTERRUPT ? 0 : id.tid;
	if (one.tid < switches->known_room && switches->is_known[one.tid])
		keep(switches, &one);
}

uint32_t thrum__source_switches_pid_at(const char *format)
{
	const char *field = strstr(format, "field:pid_t pid;");
	unsigned at = 0;

	if (!field || sscanf(field, "field:pid_t pid; offset:%u; size:4;", &at) != 1 || at > 4096)
		return 0;
	return at;
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
	if (header.type == PERF_RECORD_SAMPLE) {
		keep_wake(switches, body, size - sizeof header);
		return;
	}
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
	know(switches, one.tid);
	keep(switches, &one);
}
