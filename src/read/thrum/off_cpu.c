/* SPDX-License-Identifier: ISC */
/*
 * Makes events of the times in which threads were off their processors, which `thrum record --sched`
 * adds behind the packets. Each gives one event at its beginning, with its length. Entries of lanes
 * that aren't there, and those in the wrong order, are left out.
 */
#include <string.h>

#include "format/packet.h"
#include "read/off_cpu.h"
#include "read/thrum/reader.h"

void thrum__read_off_cpu_init(struct reader *r)
{
	r->off_cpu.count = r->header.off_cpu.size / sizeof(struct thrum__off_cpu);
}

static bool is_good(const struct reader *r, const struct thrum__off_cpu *entry)
{
	return entry->begin >= r->off_cpu.last && entry->begin >= r->clock.base &&
		entry->end >= entry->begin && entry->end <= r->clock.end &&
		THRUM__OFF_KIND(entry) >= THRUM__OFF_PREEMPTED &&
		THRUM__OFF_KIND(entry) <= THRUM__OFF_INTERRUPTED &&
		thrum__read_find_lane(r, entry->lane) >= 0;
}

/* Returns the next entry that is good, or NULL. */
static const struct thrum__off_cpu *next_entry(struct reader *r)
{
	struct off_cpu *off = &r->off_cpu;

	for (;; off->batch_next++) {
		if (off->batch_next < off->batch_count) {
			if (is_good(r, &off->batch[off->batch_next]))
				return &off->batch[off->batch_next];
			continue;
		}
		uint64_t left = off->count - off->next;
		size_t size = (left < OFF_CPU_BATCH ? left : OFF_CPU_BATCH) * sizeof *off->batch;
		int64_t got = size == 0
			? 0
			: thrum__format_input_read(&r->trace.input,
				  r->header.off_cpu.offset + off->next * sizeof *off->batch,
				  off->batch, size);

		if (got < (int64_t)sizeof *off->batch) {
			off->count = off->next; /* the file ends */
			return NULL;
		}
		off->batch_count = (uint32_t)((size_t)got / sizeof *off->batch);
		off->next += off->batch_count;
		off->batch_next = UINT32_MAX; /* 0 after the loop's step */
	}
}

static const char *text_of(const struct thrum__off_cpu *entry)
{
	enum thrum__off_cpu_state state = THRUM__OFF_CPU_BLOCKED;
	uint32_t waker = THRUM__OFF_WAKER(entry);

	switch (THRUM__OFF_KIND(entry)) {
#define X(name, words) \
	case THRUM__OFF_##name: state = THRUM__OFF_CPU_##name; break;
		THRUM__OFF_CPU_WORDS(X)
#undef X
	}
	return thrum__read_off_cpu_text(state,
		waker == THRUM__OFF_BY_INTERRUPT       ? THRUM__OFF_CPU_BY_INTERRUPT
			: waker == THRUM__OFF_BY_OTHER ? THRUM__OFF_CPU_BY_PROGRAM
						       : THRUM__OFF_CPU_BY_TASK);
}

/* Returns the own task of the thread that woke it; 0: none is known. */
static uint64_t waker_of(const struct reader *r, const struct thrum__off_cpu *entry)
{
	int64_t lane = THRUM__OFF_KIND(entry) == THRUM__OFF_WOKEN && THRUM__OFF_WAKER(entry) > 0
		? thrum__read_find_lane(r, THRUM__OFF_WAKER(entry) - 1)
		: -1;

	return lane < 0 ? 0 : r->lanes[lane].own;
}

uint64_t thrum__read_off_cpu_next(struct reader *r)
{
	const struct thrum__off_cpu *entry = next_entry(r);

	return entry ? entry->begin : UINT64_MAX;
}

void thrum__read_off_cpu_skip(struct reader *r, uint64_t ticks)
{
	struct off_cpu *off = &r->off_cpu;
	uint64_t high = off->count;

	while (off->next < high) {
		uint64_t middle = off->next + (high - off->next) / 2;
		struct thrum__off_cpu entry;

		if (thrum__format_input_read(&r->trace.input,
			    r->header.off_cpu.offset + middle * sizeof entry, &entry,
			    sizeof entry) == sizeof entry &&
			entry.begin < ticks)
			off->next = middle + 1;
		else
			high = middle;
	}
}

size_t thrum__read_off_cpu_give(struct reader *r, uint64_t ticks, const struct thrum_event **events)
{
	struct off_cpu *off = &r->off_cpu;
	const struct thrum__off_cpu *entry;
	size_t count = 0;

	while (count < OFF_CPU_BATCH && (entry = next_entry(r)) && entry->begin <= ticks) {
		const char *text = text_of(entry);
		uint64_t waker = waker_of(r, entry);
		int64_t time = clock_ns(&r->clock, entry->begin);

		off->last = entry->begin;
		off->events[count++] = (struct thrum_event){
			.time = time,
			.clock = entry->begin,
			.other = waker,
			.value = clock_ns(&r->clock, entry->end) - time,
			.text = text,
			.text_size = (uint32_t)strlen(text),
			.lane = (uint32_t)thrum__read_find_lane(r, entry->lane),
			.type = THRUM_EVENT_OFF_CPU,
			.flags = (uint8_t)(THRUM_EVENT_HAS_TEXT | THRUM_EVENT_HAS_VALUE |
				(waker ? THRUM_EVENT_HAS_OTHER : 0)),
		};
		off->batch_next++;
	}
	*events = off->events;
	return count;
}
