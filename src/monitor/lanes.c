/* SPDX-License-Identifier: ISC */
/*
 * The lanes: how they have spent the time since the last sample, from their latest packets. A lane
 * that wrote much since then is read from a later place on, so that a sample never takes long. The
 * stretch that it tells of is shorter then.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/packet.h"
#include "format/scan.h"
#include "monitor/parts.h"

#define PACKETS_MAX 65536u           /* recorders make about 1,024; more is a hostile file */
#define BUDGET (UINT64_C(512) << 10) /* bytes of a lane that a sample reads; and a packet more */
#define PIECE (UINT32_C(256) << 10)  /* bytes of a packet that are read at once */
#define HEAD sizeof(struct thrum__packet)

/* ---- Packets --------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right)
{
	const struct packet_place *a = left, *b = right;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Reads a packet's header. Returns 1, 0 if it isn't in use or damaged, or an error of the input. A
 * header that is being written is seen by its ticket when the content is read. */
static int read_head(const struct thrum__monitor *m, uint32_t index, struct thrum__packet *head)
{
	uint64_t offset = m->header.packet.offset + (uint64_t)index * m->header.packet_size;
	int64_t got = thrum__format_input_read(&m->input, offset, head, sizeof *head);

	/* Partner: the release stores of ticket and content size. */
	atomic_thread_fence(memory_order_acquire);
	if (got < 0)
		return (int)got;
	return got == sizeof *head && head->ticket != 0 && head->magic == THRUM__PACKET_MAGIC &&
		memcmp(head->uuid, m->header.uuid, sizeof head->uuid) == 0 &&
		head->content_size / 8 >= HEAD && head->content_size / 8 <= m->header.packet_size;
}

static int list_packets(struct thrum__monitor *m)
{
	uint32_t used = m->header.packets_used;
	struct packet_place *packets;

	if (used > m->header.packets)
		used = m->header.packets;
	if (used > PACKETS_MAX)
		used = PACKETS_MAX;
	packets = thrum__base_grow(m->packets, &m->packet_room, used, sizeof *packets);
	if (!packets && used > 0)
		return -THRUM_E_MEMORY;
	m->packets = packets;
	m->packet_count = 0;
	for (uint32_t i = 0; i < used; i++) {
		struct thrum__packet head;
		int result = read_head(m, i, &head);

		if (result < 0)
			return result;
		if (result > 0)
			packets[m->packet_count++] = (struct packet_place){head.lane, head.seq, i,
				head.ticket, head.content_size / 8};
	}
	if (m->packet_count > 0)
		qsort(packets, m->packet_count, sizeof *packets, compare_places);
	return 0;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Counts the time up to here to the state in which the lane was. */
static void pass_time(struct thrum__monitor *m, struct lane_state *lane, uint64_t ticks)
{
	uint64_t passed;

	/* Times of damaged records may lie in the future. */
	if (m->sample.ticks != 0 && ticks > m->sample.ticks)
		ticks = m->sample.ticks;
	if (ticks <= lane->until)
		return;
	passed = ticks - lane->until;
	lane->until = ticks;
	if (lane->is_suspended)
		lane->suspended += passed;
	else if (lane->running == lane->own)
		lane->in_own += passed;
	else
		lane->in_tasks += passed;
}

static void begin_stretch(struct lane_state *lane, uint64_t ticks)
{
	lane->begin = lane->until = ticks;
	lane->in_tasks = lane->in_own = lane->suspended = lane->records = 0;
}

static uint64_t task_at(const struct thrum__format_scan *scan, uint64_t id_base)
{
	const uint8_t *at = scan->packet + scan->fields;
	uint32_t low;
	uint64_t id;

	if (scan->wide) {
		memcpy(&id, at, sizeof id);
		return id;
	}
	memcpy(&low, at, sizeof low);
	return id_base + low;
}

static void take_counter(struct thrum__monitor *m, const struct lane_state *lane,
	const struct thrum__format_scan *scan)
{
	const uint8_t *at = scan->packet + scan->fields;
	uint16_t definition;
	int32_t narrow;
	int64_t value;

	if (lane->running == lane->own)
		return;
	memcpy(&definition, at, sizeof definition);
	memcpy(&narrow, at + sizeof definition, sizeof narrow);
	value = narrow;
	if (scan->wide)
		memcpy(&value, at + sizeof definition, sizeof value);
	thrum__monitor_take_exemplar(m, definition, value, lane->running);
}

static void take_record(struct thrum__monitor *m, struct lane_state *lane,
	const struct thrum__format_scan *scan, uint64_t id_base)
{
	pass_time(m, lane, scan->ticks);
	lane->records++;
	switch (scan->id) {
	case THRUM__R_SWITCH:
	case THRUM__R_CONTEXT: lane->running = task_at(scan, id_base); break;
	case THRUM__R_LANE:
		lane->own = lane->running = task_at(scan, id_base);
		lane->is_suspended = false;
		break;
	case THRUM__R_SUSPEND: lane->is_suspended = lane->was_suspended = true; break;
	case THRUM__R_RESUME: lane->is_suspended = false; break;
	case THRUM__R_COUNTER: take_counter(m, lane, scan); break;
	default: break;
	}
}

/* Reads the records of a packet that lie behind lane->at. Stops where the packet is damaged or was
 * reused meanwhile. */
static int read_records(struct thrum__monitor *m, struct lane_state *lane,
	const struct packet_place *place, uint64_t id_base)
{
	uint64_t offset = m->header.packet.offset + (uint64_t)place->index * m->header.packet_size;

	while (lane->at < place->content) {
		uint32_t size = place->content - lane->at;
		struct thrum__format_scan scan = {.packet = m->bytes,
			.next = HEAD,
			.ticks = lane->last};
		struct thrum__packet head;

		if (size > PIECE)
			size = PIECE;
		int64_t got = thrum__format_input_read(&m->input, offset + lane->at,
			m->bytes + HEAD, size);
		int result = got < 0 ? (int)got : read_head(m, place->index, &head);

		if (result < 0)
			return result;
		if (result == 0 || head.ticket != place->ticket)
			break;
		scan.end = HEAD + (size_t)got;
		while (thrum__format_scan_next(&scan) == 1)
			take_record(m, lane, &scan, id_base);
		/* A record that is cut off is the first of the next piece. */
		if (scan.next == HEAD)
			break;
		lane->at += (uint32_t)(scan.next - HEAD);
		lane->last = scan.ticks;
	}
	return 0;
}

/* Reads a packet: from its beginning, or behind the records that the last sample has read. */
static int read_packet(struct thrum__monitor *m, struct lane_state *lane,
	const struct packet_place *place, bool is_first)
{
	struct thrum__packet head;
	int result = read_head(m, place->index, &head);

	if (result < 0)
		return result;
	if (result == 0 || head.ticket != place->ticket)
		return 0;
	if (!lane->is_read || lane->ticket != place->ticket || lane->seq != place->seq) {
		if (is_first)
			begin_stretch(lane, head.begin);
		pass_time(m, lane, head.begin);
		lane->last = head.begin;
		lane->at = HEAD;
		lane->own = head.own;
		lane->running = head.running;
		lane->is_suspended = head.suspended != 0;
		lane->was_suspended |= lane->is_suspended;
		lane->tid = head.tid;
		lane->seq = place->seq;
		lane->ticket = place->ticket;
		lane->is_read = true;
	}
	return read_records(m, lane, place, head.id_base);
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static int compare_states(const void *left, const void *right)
{
	const struct lane_state *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

/* Finds a lane among the first `known`, which are sorted, or adds it. */
static struct lane_state *find_state(struct thrum__monitor *m, uint64_t number, uint32_t known)
{
	struct lane_state key = {.number = number}, *found, *states;

	found = known == 0 ? NULL : bsearch(&key, m->states, known, sizeof key, compare_states);
	if (found)
		return found;
	states = thrum__base_grow(m->states, &m->state_room, m->state_count + 1, sizeof *states);
	if (!states)
		return NULL;
	m->states = states;
	states[m->state_count] = key;
	return &states[m->state_count++];
}

/* Reads the packets of one lane, oldest first. */
static int read_lane(struct thrum__monitor *m, struct lane_state *lane,
	const struct packet_place *places, uint32_t count)
{
	uint32_t first = count - 1;
	uint64_t bytes = places[first].content;
	int error = 0;

	/* Back to the packet that was read last, or as far as the budget allows. */
	while (first > 0 && places[first - 1].seq + 1 == places[first].seq &&
		!(lane->is_read && lane->seq == places[first].seq) &&
		bytes + places[first - 1].content <= BUDGET)
		bytes += places[--first].content;
	lane->was_seen = true;
	/* The stretch begins at the last sample, or where reading begins. */
	begin_stretch(lane, lane->until);
	for (uint32_t i = first; i < count && error == 0; i++)
		error = read_packet(m, lane, &places[i], i == first);
	if (m->sample.ticks != 0)
		pass_time(m, lane, m->sample.ticks);
	return error;
}

static int read_lanes(struct thrum__monitor *m)
{
	uint32_t known = m->state_count, kept = 0, end;
	int error = 0;

	for (uint32_t i = 0; i < known; i++)
		m->states[i].was_seen = false;
	for (uint32_t i = 0; i < m->packet_count && error == 0; i = end) {
		struct lane_state *lane = find_state(m, m->packets[i].lane, known);

		for (end = i + 1; end < m->packet_count; end++)
			if (m->packets[end].lane != m->packets[i].lane)
				break;
		error = lane ? read_lane(m, lane, &m->packets[i], end - i) : -THRUM_E_MEMORY;
	}
	/* A lane whose last packet was given to another is known no more. */
	for (uint32_t i = 0; i < m->state_count; i++)
		if (m->states[i].was_seen)
			m->states[kept++] = m->states[i];
	m->state_count = kept;
	if (kept > 0)
		qsort(m->states, kept, sizeof *m->states, compare_states);
	return error;
}

static int list_lanes(struct thrum__monitor *m)
{
	struct thrum__monitor_lane *lanes = thrum__base_grow(m->sample.lanes, &m->lane_room,
		m->state_count, sizeof *lanes);

	if (!lanes && m->state_count > 0)
		return -THRUM_E_MEMORY;
	m->sample.lanes = lanes;
	m->sample.lane_count = m->state_count;
	for (uint32_t i = 0; i < m->state_count; i++) {
		const struct lane_state *state = &m->states[i];
		const struct thrum__monitor_task *own = thrum__monitor_find(m, state->own);

		lanes[i] = (struct thrum__monitor_lane){
			.number = state->number,
			.tid = state->tid,
			.is_alive = own != NULL,
			.is_suspended = state->is_suspended,
			.tells_suspension = state->was_suspended,
			.own = state->own,
			.running = state->running,
			.span = thrum__monitor_ns(m, state->until - state->begin),
			.in_tasks = thrum__monitor_ns(m, state->in_tasks),
			.in_own = thrum__monitor_ns(m, state->in_own),
			.suspended = thrum__monitor_ns(m, state->suspended),
			.records = state->records,
		};
		if (own)
			memcpy(lanes[i].name, own->label, sizeof lanes[i].name);
	}
	return 0;
}

double thrum__monitor_load(const struct thrum__monitor_lane *lane)
{
	double worked = (double)lane->in_tasks;

	if (lane->tells_suspension)
		worked += (double)lane->in_own;
	if (lane->span <= 0)
		return NAN;
	/* Each time is cut off by itself, if damaged records make it too long. */
	return worked < (double)lane->span ? worked / (double)lane->span : 1;
}

int thrum__monitor_sample_lanes(struct thrum__monitor *m)
{
	int error;

	if (!m->bytes)
		m->bytes = calloc(1, HEAD + PIECE);
	if (!m->bytes)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < m->sample.exemplar_count; i++)
		m->exemplars[i].is_new = false;
	error = list_packets(m);
	if (error == 0)
		error = read_lanes(m);
	return error != 0 ? error : list_lanes(m);
}
