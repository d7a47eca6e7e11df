/* SPDX-License-Identifier: ISC */
/*
 * Adds lanes of the machine to a recording, as packets behind its own: one for each processor, whose
 * interrupts are spans, and one for each block device, whose requests are tasks. A lane is suspended
 * while it has nothing to do.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sort.h"
#include "format/packet.h"
#include "source/input.h"
#include "source/switches/parts.h"

#define OPEN_MAX 16         /* interrupts within each other */
#define LANES_FROM 0x10000u /* their numbers, if the recording has no more lanes */
#define DEVICE (UINT64_C(1) << 32)
#define UNKNOWN_NAME UINT32_MAX

struct lane {
	struct thrum__format_fill fill;
	uint64_t work; /* the task that runs while it works */
	char name[40];
	bool is_device, has_begun, is_working;
	uint32_t number; /* of the processor or device */
	struct {
		uint64_t key;
		uint32_t name;
	} open[OPEN_MAX]; /* a processor's interrupts */
	uint32_t open_count;
	uint64_t since, last;     /* ticks: when the outermost one began; of the latest event */
	struct requests requests; /* a device's */
	uint32_t told_count;      /* those that are tasks */
};

struct machine {
	struct writing *w;
	struct thrum__source_change *change;
	struct lane *lanes;
	uint32_t lane_count, lane_room;
	struct thrum__base_keys keys; /* of lanes */
	struct thrum__definition *definitions;
	uint32_t definition_count, definition_first; /* those from `first` on are new */
	uint16_t *definition_of;                     /* by name; 0: none so far */
	uint64_t lost, next_task;
	/* Events that are no longer kept: how many, unless a lane has told it, and until when. */
	uint64_t forgotten, forgotten_until;
	uint32_t slot;
	uint64_t end; /* in the file: of what is written of the latest packet */
	int error;
};

/* ---- Packets ------------------------------------------------------------------------------- */

/* Writes no more of a packet than is filled: the rest is a hole. */
static void end_packet(struct machine *m, struct lane *lane)
{
	const struct thrum__header *header = &m->change->header;
	uint64_t offset = header->packet.offset + (uint64_t)m->slot * header->packet_size;
	size_t size = lane->fill.at;

	if (size == 0 || m->error != 0)
		return;
	thrum__format_fill_end(&lane->fill, header, m->w->numbers.ticket + 1 + m->slot);
	m->error = thrum__source_write_at(&m->change->fd, offset, lane->fill.bytes, size);
	m->end = offset + size;
	m->slot++;
}

static void put(struct machine *m, struct lane *lane, uint64_t ticks,
	const struct thrum__record *record)
{
	if (m->error != 0 || thrum__format_fill_put(&lane->fill, &m->change->header, ticks, record))
		return;
	end_packet(m, lane);
	if (!thrum__format_fill_put(&lane->fill, &m->change->header, ticks, record))
		m->error = -THRUM_E_SIZE;
}

/* ---- Definitions --------------------------------------------------------------------------- */

static int load_definitions(struct machine *m)
{
	const struct thrum__section *section = &m->change->header.definitions;
	uint32_t count = (uint32_t)(section->size / sizeof *m->definitions);
	int64_t got;

	m->definitions = malloc(section->size);
	m->definition_of = calloc(m->w->switches->names.count + 2, sizeof *m->definition_of);
	if (!m->definitions || !m->definition_of)
		return -THRUM_E_MEMORY;
	got = thrum__format_input_read(m->change->input, section->offset, m->definitions,
		section->size);
	if (got != (int64_t)section->size)
		return got < 0 ? (int)got : -THRUM_E_TRUNCATED;
	while (count > 1 && atomic_load(&m->definitions[count - 1].type) == 0)
		count--;
	m->definition_first = m->definition_count = count;
	return 0;
}

/* The definition of a name; 0: the table has no room. */
static uint16_t define(struct machine *m, uint32_t name, const char *text)
{
	uint64_t room = m->change->header.definitions.size / sizeof *m->definitions;
	struct thrum__definition *cell = &m->definitions[m->definition_count];

	if (m->definition_of[name] == 0 && m->definition_count < room) {
		memset(cell, 0, sizeof *cell);
		thrum__format_copy_text(cell->text, text, sizeof cell->text - 1);
		atomic_store(&cell->type, THRUM__DEFINES_TAG);
		m->definition_of[name] = (uint16_t)m->definition_count++;
	}
	return m->definition_of[name];
}

/* Puts a record with the definition of a name. The reason to be suspended counts as the last name. */
static void put_named(struct machine *m, struct lane *lane, uint64_t ticks,
	enum thrum__record_type type, uint32_t name)
{
	const struct thrum__base_keys *names = &m->w->switches->names;
	struct thrum__record record = {.type = type};
	char text[THRUM_TEXT_MAX] = THRUM__REASON_WORK;
	size_t size;

	if (name < names->count) {
		const char *known = thrum__base_keys_text(names, name, &size);

		snprintf(text, sizeof text, "%.*s", (int)size, known);
	} else {
		name = names->count;
	}
	record.def = define(m, name, text);
	if (record.def == 0)
		put(m, lane, ticks, &(struct thrum__record){.type = THRUM__R_NAME, .text = text});
	put(m, lane, ticks, &record);
}

/* ---- Lanes --------------------------------------------------------------------------------- */

/* Names a device as the system does: by the last part of a link. */
static void name_device(struct lane *lane)
{
	char path[48], target[256];
	unsigned major = lane->number >> 20, minor = lane->number & 0xfffff;
	ssize_t size;

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major, minor);
	size = readlink(path, target, sizeof target - 1);
	target[size > 0 ? size : 0] = '\0';
	if (size > 0 && strrchr(target, '/'))
		snprintf(lane->name, sizeof lane->name, "%s", strrchr(target, '/') + 1);
	else
		snprintf(lane->name, sizeof lane->name, "%u:%u", major, minor);
}

static struct lane *find_lane(struct machine *m, uint32_t number, bool is_device)
{
	uint32_t index = UINT32_MAX;
	struct lane *grown, *lane;

	if (thrum__base_keys_add(&m->keys, number | (is_device ? DEVICE : 0), "", 0, &index) == 0 &&
		index < m->lane_count)
		return &m->lanes[index];
	grown = thrum__base_grow(m->lanes, &m->lane_room, m->lane_count + UINT64_C(1),
		sizeof *grown);
	if (grown)
		m->lanes = grown;
	lane = grown ? &grown[m->lane_count] : NULL;
	if (lane)
		*lane = (struct lane){.is_device = is_device,
			.number = number,
			.fill = {.bytes = malloc(m->change->header.packet_size),
				.lane = m->w->numbers.next_lane + m->lane_count,
				.id_base = m->w->numbers.next_base}};
	if (!lane || !lane->fill.bytes || index != m->lane_count) {
		m->error = -THRUM_E_MEMORY;
		return NULL;
	}
	m->lane_count++;
	if (is_device)
		name_device(lane);
	else
		snprintf(lane->name, sizeof lane->name, "CPU %u", number);
	return lane;
}

/* A lane works, or has nothing to do, from now on. */
static void set_working(struct machine *m, struct lane *lane, uint64_t ticks, bool is_working)
{
	if (!lane->has_begun || lane->is_working == is_working)
		return;
	lane->is_working = is_working;
	if (is_working)
		put(m, lane, ticks, &(struct thrum__record){.type = THRUM__R_RESUME});
	put(m, lane, ticks,
		&(struct thrum__record){.type = THRUM__R_SWITCH,
			.task = is_working ? lane->work : lane->fill.own});
	if (!is_working)
		put_named(m, lane, ticks, THRUM__R_SUSPEND, UNKNOWN_NAME);
}

/* The kernel told not all before this time; count: 0 if another lane tells how much. */
static void put_loss(struct machine *m, struct lane *lane, uint64_t ticks, uint64_t count)
{
	m->lost += count;
	put(m, lane, ticks,
		&(struct thrum__record){.type = THRUM__R_LOST,
			.cause = THRUM__LOST_KERNEL,
			.value = count < INT64_MAX ? (int64_t)count : INT64_MAX});
}

/* Begins a lane at the beginning of the recording, before its first event there. */
static void begin_lane(struct machine *m, struct lane *lane)
{
	uint64_t begin = m->w->begin, own;
	char label[80];

	if (lane->has_begun)
		return;
	lane->has_begun = lane->is_working = true;
	own = m->next_task++;
	lane->work = m->next_task++;
	snprintf(label, sizeof label, "%s of %s", lane->is_device ? "requests" : "interrupts",
		lane->name);
	put(m, lane, begin,
		&(struct thrum__record){.type = THRUM__R_LANE, .other = own, .text = lane->name});
	put(m, lane, begin,
		&(struct thrum__record){.type = THRUM__R_CREATE,
			.other = lane->work,
			.kind = THRUM_KIND_HANDLE,
			.text = label});
	set_working(m, lane, begin, false);
	if (m->forgotten_until > begin)
		put_loss(m, lane, m->forgotten_until, m->forgotten);
	m->forgotten = 0;
	if (lane->open_count > 0)
		set_working(m, lane, begin, true);
	for (uint32_t i = 0; i < lane->open_count; i++)
		put_named(m, lane, begin, THRUM__R_SPAN_BEGIN, lane->open[i].name);
}

/* ---- Interrupts ---------------------------------------------------------------------------- */

/* Ends the innermost interrupts until `count` are left. */
static void end_interrupts(struct machine *m, struct lane *lane, uint64_t ticks, uint32_t count)
{
	if (lane->open_count <= count)
		return;
	while (lane->open_count > count) {
		lane->open_count--;
		if (lane->has_begun)
			put_named(m, lane, ticks, THRUM__R_SPAN_END,
				lane->open[lane->open_count].name);
	}
	if (count > 0)
		return;
	set_working(m, lane, ticks, false);
	ADD(m->w, busy, busy_count, busy_room, (struct busy){lane->number, lane->since, ticks});
}

/* Ends interrupts whose end the kernel didn't tell, as it began to tell of it later: a hard one interrupts
 * none but a soft one, and a soft one interrupts none. */
static void end_stale(struct machine *m, struct lane *lane,
	const struct thrum__source_kernel_event *event)
{
	bool is_hard = !(event->key & THRUM__KERNEL_SOFT);

	end_interrupts(m, lane, lane->last,
		is_hard && lane->open_count > 0 && lane->open[0].key & THRUM__KERNEL_SOFT);
}

static void begin_interrupt(struct machine *m, struct lane *lane, uint64_t ticks,
	const struct thrum__source_kernel_event *event)
{
	if (lane->open_count == 0)
		lane->since = ticks;
	lane->open[lane->open_count].key = event->key;
	lane->open[lane->open_count++].name = event->name;
	set_working(m, lane, ticks, true);
	if (lane->has_begun)
		put_named(m, lane, ticks, THRUM__R_SPAN_BEGIN, event->name);
}

static void end_interrupt(struct machine *m, struct lane *lane, uint64_t ticks, uint64_t key)
{
	uint32_t i = lane->open_count;

	while (i > 0 && lane->open[i - 1].key != key)
		i--;
	if (i > 0)
		end_interrupts(m, lane, ticks, i - 1);
}

/* ---- Requests ------------------------------------------------------------------------------ */

/* Makes the task of a request: for the thread that issued it, or for the lane's work if that one isn't
 * recorded. */
static void tell_request(struct machine *m, struct lane *lane, uint64_t ticks,
	const struct thrum__source_kernel_event *event, struct request *request)
{
	const struct thrum__base_keys *names = &m->w->switches->names;
	const struct holding *holding = thrum__source_switches_holding_at(m->w, event->tid, ticks);
	char label[128];
	size_t size;
	const char *name = thrum__base_keys_text(names, event->name, &size);
	int length = snprintf(label, sizeof label, "%s %.*s", lane->name, (int)size, name);

	if (event->bytes > 0)
		snprintf(label + length, sizeof label - (size_t)length, " %u KiB",
			event->bytes / 1024);
	request->task = m->next_task++;
	lane->told_count++;
	set_working(m, lane, ticks, true);
	put(m, lane, ticks,
		&(struct thrum__record){.type = THRUM__R_CREATE_IN,
			.task = holding && holding->own ? holding->own : lane->work,
			.other = request->task,
			/* It may well be pending when the program ends. */
			.kind = THRUM_KIND_HANDLE,
			.text = label});
}

static void complete(struct machine *m, struct lane *lane, uint64_t ticks, struct request *request)
{
	uint64_t task = request->task;

	thrum__source_requests_remove(&lane->requests, request);
	if (task == 0)
		return;
	put(m, lane, ticks, &(struct thrum__record){.type = THRUM__R_RESOLVE, .other = task});
	if (--lane->told_count == 0)
		set_working(m, lane, ticks, false);
}

static void take_request(struct machine *m, struct lane *lane, uint64_t ticks,
	const struct thrum__source_kernel_event *event)
{
	struct request *request = thrum__source_requests_find(&lane->requests, event->key);

	if (event->type == THRUM__KERNEL_REQUEUE && request) {
		request->is_back = true;
	} else if (event->type == THRUM__KERNEL_ISSUE && request && request->is_back) {
		request->is_back = false;
	} else if (event->type == THRUM__KERNEL_ISSUE) {
		/* The end of some that were merged isn't told. */
		if (request)
			complete(m, lane, ticks, request);
		request = thrum__source_requests_add(&lane->requests, event->key);
		if (!request)
			m->error = -THRUM_E_MEMORY;
		else if (lane->has_begun)
			tell_request(m, lane, ticks, event, request);
	} else if (event->type == THRUM__KERNEL_COMPLETE && request) {
		complete(m, lane, ticks, request);
	}
}

/* ---- Events -------------------------------------------------------------------------------- */

/* Nothing is known of the time since the processor's event before. The end of any request may be lost: so
 * their lanes have a gap, too. */
static void lose(struct machine *m, struct lane *lane, uint64_t ticks, uint64_t count)
{
	end_interrupts(m, lane, lane->last, 0);
	if (!lane->has_begun)
		return;
	put_loss(m, lane, ticks, count);
	for (uint32_t i = 0; i < m->lane_count; i++)
		if (m->lanes[i].told_count > 0)
			put_loss(m, &m->lanes[i], ticks, 0);
}

static void take(struct machine *m, uint64_t ticks, const struct thrum__source_kernel_event *event)
{
	bool is_device = event->type == THRUM__KERNEL_ISSUE ||
		event->type == THRUM__KERNEL_REQUEUE || event->type == THRUM__KERNEL_COMPLETE;
	struct lane *lane = find_lane(m, is_device ? event->device : event->cpu, is_device);

	if (!lane)
		return;
	if (event->type == THRUM__KERNEL_BEGIN)
		end_stale(m, lane, event);
	if (ticks >= m->w->begin)
		begin_lane(m, lane);
	switch (event->type) {
	case THRUM__KERNEL_BEGIN: begin_interrupt(m, lane, ticks, event); break;
	case THRUM__KERNEL_END: end_interrupt(m, lane, ticks, event->key); break;
	case THRUM__KERNEL_ISSUE:
	case THRUM__KERNEL_REQUEUE:
	case THRUM__KERNEL_COMPLETE: take_request(m, lane, ticks, event); break;
	case THRUM__KERNEL_LOST: lose(m, lane, ticks, event->key); break;
	}
	lane->last = ticks;
}

/* Takes all events until the recording's end in the order of time. */
static int take_all(struct machine *m)
{
	const struct thrum__source_switches *switches = m->w->switches;
	uint32_t count = switches->event_count;
	struct thrum__base_sort_item *order = malloc((count + UINT64_C(1)) * sizeof *order);
	struct thrum__base_sort_item *room = malloc((count + UINT64_C(1)) * sizeof *room);
	bool can = order && room;

	for (uint32_t i = 0; i < count && can; i++) {
		/* Those of a processor are in order from the oldest one on. */
		uint32_t at = (switches->next_event + i) % count;

		order[i] = (struct thrum__base_sort_item){(int64_t)switches->events[at].time, at};
	}
	if (can)
		thrum__base_sort(order, room, count, NULL, NULL);
	for (uint32_t i = 0; i < count && can && m->error == 0; i++) {
		const struct thrum__source_kernel_event *event = &switches->events[order[i].item];
		uint64_t ticks = thrum__source_switches_ticks_at(m->w, event->time);

		if (ticks > m->w->until)
			break;
		if (i == 0 && switches->forgotten_events > 0 && ticks > m->w->begin) {
			m->forgotten = switches->forgotten_events;
			m->forgotten_until = ticks;
		}
		take(m, ticks, event);
	}
	free(order);
	free(room);
	return can ? m->error : -THRUM_E_MEMORY;
}

/* ---- The file ------------------------------------------------------------------------------ */

static int compare_busy(const void *left, const void *right)
{
	const struct busy *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Writes the last packets, the new definitions, and into *header how many packets there are. */
static int finish(struct machine *m)
{
	struct thrum__header *header = &m->change->header;
	uint64_t at = (uint64_t)m->definition_first * sizeof *m->definitions;

	for (uint32_t i = 0; i < m->lane_count; i++)
		end_packet(m, &m->lanes[i]);
	if (m->error != 0 || m->slot == atomic_load(&header->packets_used))
		return m->error;
	m->error = thrum__source_write_at(&m->change->fd, header->definitions.offset + at,
		&m->definitions[m->definition_first],
		(m->definition_count - m->definition_first) * sizeof *m->definitions);
	atomic_store(&header->packets_used, m->slot);
	if (header->packets < m->slot)
		header->packets = m->slot;
	header->packet.size = (uint64_t)header->packets * header->packet_size;
	if (header->size < header->packet.offset + header->packet.size)
		header->size = header->packet.offset + header->packet.size;
	header->lost[THRUM__LOST_KERNEL] += m->lost;
	/* The last packet has its whole length. */
	return m->error || m->end == header->size
		? m->error
		: thrum__source_write_at(&m->change->fd, header->size - 1, "", 1);
}

int thrum__source_switches_add_lanes(struct writing *w, struct thrum__source_change *change)
{
	const struct thrum__header *header = &change->header;
	struct machine m = {.w = w,
		.change = change,
		.next_task = w->numbers.next_base + 1,
		.slot = atomic_load(&header->packets_used)};

	if (w->switches->event_count == 0)
		return 0;
	/* More packets have room behind the last one only. */
	if (header->packet.offset + header->packet.size + header->packet_size <= header->size)
		return -THRUM_E_ARGUMENT;
	if (w->numbers.next_lane < LANES_FROM)
		w->numbers.next_lane = LANES_FROM;
	m.error = load_definitions(&m);
	if (m.error == 0)
		m.error = take_all(&m);
	if (m.error == 0)
		m.error = finish(&m);
	if (w->busy_count > 0)
		qsort(w->busy, w->busy_count, sizeof *w->busy, compare_busy);
	for (uint32_t i = 0; i < m.lane_count; i++) {
		free(m.lanes[i].fill.bytes);
		free(m.lanes[i].requests.all);
	}
	free(m.lanes);
	free(m.definitions);
	free(m.definition_of);
	thrum__base_keys_free(&m.keys);
	return m.error;
}
