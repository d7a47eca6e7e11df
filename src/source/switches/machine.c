/* SPDX-License-Identifier: ISC */
/* The records that the kernel writes about the machine: the data of tracepoints. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "source/switches/parts.h"

#define EVENTS_MAX (4u << 20) /* that are kept: 160 MiB */
#define FIELD_MAX 4096        /* bytes of a tracepoint's data */
#define FLAGS_AT 2            /* in the data of a tracepoint: bits of its context */
#define IN_INTERRUPT 0x18     /* a hard one, a soft one */
#define NAME_MAX_SIZE 64

/* ---- Descriptions -------------------------------------------------------------------------- */

static const char *const field_names[][THRUM__POINT_FIELDS] = {
	[THRUM__POINT_WAKE] = {"pid"},
	[THRUM__POINT_IRQ] = {"irq", "name"},
	[THRUM__POINT_IRQ_END] = {"irq"},
	[THRUM__POINT_SOFTIRQ] = {"vec"},
	[THRUM__POINT_SOFTIRQ_END] = {"vec"},
	[THRUM__POINT_VECTOR] = {NULL},
	[THRUM__POINT_VECTOR_END] = {NULL},
	[THRUM__POINT_ISSUE] = {"dev", "sector", "bytes", "rwbs"},
	[THRUM__POINT_REQUEUE] = {"dev", "sector"},
	[THRUM__POINT_COMPLETE] = {"dev", "sector"},
};

/* Finds "field:TYPE NAME;" or "field:TYPE NAME[...];" with "offset:N; size:N;" behind it. */
static bool find_field(const char *format, const char *name, struct thrum__source_field *field)
{
	size_t size = strlen(name);
	const char *end;

	for (const char *at = format; (at = strstr(at, "field:")) && (end = strchr(at, ';'));
		at = end) {
		const char *stop = end;

		if (stop[-1] == ']')
			while (stop > at && *stop != '[')
				stop--;
		if ((size_t)(stop - at) <= size || memcmp(stop - size, name, size) != 0 ||
			stop[-(ptrdiff_t)size - 1] != ' ')
			continue;
		return sscanf(end + 1, " offset:%u; size:%u;", &field->at, &field->size) == 2 &&
			field->size > 0 && field->size <= FIELD_MAX && field->at <= FIELD_MAX;
	}
	return false;
}

bool thrum__source_switches_describe(struct thrum__source_point *point, const char *format)
{
	const char *const *names = field_names[point->use];

	for (int i = 0; i < THRUM__POINT_FIELDS && names[i]; i++)
		if (!find_field(format, names[i], &point->fields[i]))
			return false;
	return true;
}

/* ---- Fields -------------------------------------------------------------------------------- */

struct sample {
	struct thrum__source_sample_id id;
	const struct thrum__source_point *point;
	const uint8_t *raw;
	size_t size;
};

/* A field that is a number of up to 8 bytes; 0: it lies outside of the data. */
static uint64_t number_of(const struct sample *s, int field)
{
	struct thrum__source_field f = s->point->fields[field];
	uint64_t number = 0;

	if (f.size <= sizeof number && f.at <= s->size && f.size <= s->size - f.at)
		memcpy(&number, s->raw + f.at, f.size);
	return number;
}

/* A field that is text in its place, or elsewhere in the data: then its place and size are there. Returns
 * its length. */
static int text_of(const struct sample *s, int field, bool is_elsewhere, const char **text)
{
	struct thrum__source_field f = s->point->fields[field];
	const char *end;

	if (is_elsewhere) {
		uint64_t place = number_of(s, field);

		f = (struct thrum__source_field){place & 0xffff, (uint32_t)(place >> 16)};
	}
	*text = "";
	if (f.at > s->size || f.size > s->size - f.at)
		return 0;
	*text = (const char *)s->raw + f.at;
	f.size = f.size < NAME_MAX_SIZE ? f.size : NAME_MAX_SIZE;
	end = memchr(*text, '\0', f.size);
	return (int)(end ? (size_t)(end - *text) : f.size);
}

/* ---- Events -------------------------------------------------------------------------------- */

void thrum__source_switches_keep_event(struct thrum__source_switches *switches,
	const struct thrum__source_kernel_event *event)
{
	struct thrum__source_kernel_event *grown;

	if (switches->event_count == EVENTS_MAX) {
		switches->events[switches->next_event] = *event;
		switches->next_event = (switches->next_event + 1) % EVENTS_MAX;
		switches->forgotten_events++;
		return;
	}
	grown = thrum__base_grow(switches->events, &switches->event_room,
		switches->event_count + UINT64_C(1), sizeof *grown);
	if (!grown) {
		switches->failed = true;
		return;
	}
	switches->events = grown;
	grown[switches->event_count++] = *event;
}

static uint32_t name_of(struct thrum__source_switches *switches, const char *kind, const char *name,
	int size)
{
	char text[NAME_MAX_SIZE + 16];
	uint32_t index = 0;
	int length = snprintf(text, sizeof text, "%s%.*s", kind, size, name);

	if (thrum__base_keys_add(&switches->names, 0, text, (size_t)length, &index) < 0)
		switches->failed = true;
	return index;
}

static void keep_wake(struct thrum__source_switches *switches, const struct sample *s)
{
	struct thrum__source_switch one = {.kind = THRUM__SWITCH_WOKEN,
		.time = s->id.time,
		.tid = (uint32_t)number_of(s, 0),
		.by = s->raw[FLAGS_AT] & IN_INTERRUPT ? 0 : s->id.tid};

	if (one.tid < switches->known_room && switches->is_known[one.tid])
		thrum__source_switches_keep(switches, &one);
}

static uint32_t softirq_name(struct thrum__source_switches *switches, uint64_t vector)
{
	static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
		"TASKLET", "SCHED", "HRTIMER", "RCU"};
	const char *name = vector < sizeof names / sizeof *names ? names[vector] : "other";

	return name_of(switches, "softirq ", name, (int)strlen(name));
}

/* Whether a request to a block device discards blocks, by the letters that the kernel has for it. The end of
 * several that were merged is told of some of them only. */
static bool is_discard(const struct sample *s)
{
	const char *letters;
	int size = text_of(s, 3, false, &letters);

	return memchr(letters, 'D', (size_t)size) != NULL;
}

static uint32_t request_name(struct thrum__source_switches *switches, const struct sample *s)
{
	const char *letters, *name = "request";
	int size = text_of(s, 3, false, &letters);

	if (memchr(letters, 'R', (size_t)size))
		name = "read";
	else if (memchr(letters, 'W', (size_t)size))
		name = "write";
	else if (memchr(letters, 'F', (size_t)size))
		name = "flush";
	return name_of(switches, "", name, (int)strlen(name));
}

#define VECTOR (UINT64_C(2) << 32) /* the keys of several kinds of interrupts differ */

static void take_point(struct thrum__source_switches *switches, const struct sample *s)
{
	struct thrum__source_kernel_event event = {.time = s->id.time, .cpu = s->id.cpu};
	const struct thrum__source_point *point = s->point;
	const char *name;
	int size;

	switch (point->use) {
	case THRUM__POINT_WAKE: keep_wake(switches, s); return;
	case THRUM__POINT_IRQ:
		size = text_of(s, 1, true, &name);
		event.name = name_of(switches, "irq ", name, size);
		event.key = number_of(s, 0);
		break;
	case THRUM__POINT_IRQ_END: event.key = number_of(s, 0); break;
	case THRUM__POINT_SOFTIRQ:
		event.name = softirq_name(switches, number_of(s, 0));
		event.key = THRUM__KERNEL_SOFT | number_of(s, 0);
		break;
	case THRUM__POINT_SOFTIRQ_END: event.key = THRUM__KERNEL_SOFT | number_of(s, 0); break;
	case THRUM__POINT_VECTOR:
	case THRUM__POINT_VECTOR_END:
		event.name = name_of(switches, "irq ", point->name, (int)strlen(point->name));
		event.key = VECTOR | event.name;
		break;
	case THRUM__POINT_ISSUE:
		if (is_discard(s))
			return;
		event.name = request_name(switches, s);
		event.bytes = (uint32_t)number_of(s, 2);
		event.tid = s->id.tid;
		/* fall through */
	case THRUM__POINT_REQUEUE:
	case THRUM__POINT_COMPLETE:
		event.device = (uint32_t)number_of(s, 0);
		event.key = number_of(s, 1);
		event.key = event.key == UINT64_MAX ? 0 : event.key; /* a flush ends with that */
		break;
	}
	event.type = point->use == THRUM__POINT_ISSUE ? THRUM__KERNEL_ISSUE
		: point->use == THRUM__POINT_REQUEUE  ? THRUM__KERNEL_REQUEUE
		: point->use == THRUM__POINT_COMPLETE ? THRUM__KERNEL_COMPLETE
		: point->use == THRUM__POINT_IRQ || point->use == THRUM__POINT_SOFTIRQ ||
			point->use == THRUM__POINT_VECTOR
		? THRUM__KERNEL_BEGIN
		: THRUM__KERNEL_END;
	thrum__source_switches_keep_event(switches, &event);
}

static void take_sample(struct thrum__source_switches *switches, const uint8_t *body, size_t size)
{
	struct sample s;
	uint32_t raw;
	uint16_t id;

	if (size < sizeof s.id + sizeof raw)
		return;
	memcpy(&s.id, body, sizeof s.id);
	memcpy(&raw, body + sizeof s.id, sizeof raw);
	s.raw = body + sizeof s.id + sizeof raw;
	s.size = size - sizeof s.id - sizeof raw;
	s.size = raw < s.size ? raw : s.size;
	if (s.size <= FLAGS_AT)
		return;
	memcpy(&id, s.raw, sizeof id);
	for (uint32_t i = 0; i < switches->point_count; i++)
		if (switches->points[i].id == id) {
			s.point = &switches->points[i];
			take_point(switches, &s);
			return;
		}
}

void thrum__source_switches_machine_record(struct thrum__source_switches *switches,
	const uint8_t *record, size_t size)
{
	struct perf_event_header header;
	struct thrum__source_sample_id id;
	struct thrum__source_kernel_event event = {.type = THRUM__KERNEL_LOST};

	if (size < sizeof header)
		return;
	memcpy(&header, record, sizeof header);
	record += sizeof header;
	size -= sizeof header;
	if (header.type == PERF_RECORD_SAMPLE) {
		take_sample(switches, record, size);
		return;
	}
	/* Its number stands behind another of 8 bytes. Without some wakes it is only not known who woke a
	 * thread. */
	if (header.type != PERF_RECORD_LOST || !switches->has_events ||
		size < 2 * sizeof event.key + sizeof id)
		return;
	memcpy(&event.key, record + sizeof event.key, sizeof event.key);
	memcpy(&id, record + size - sizeof id, sizeof id);
	event.time = id.time;
	event.cpu = id.cpu;
	thrum__source_switches_keep_event(switches, &event);
}
