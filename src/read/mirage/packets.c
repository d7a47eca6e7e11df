/* SPDX-License-Identifier: ISC */
/*
 * Where the packets of a mirage-profile trace are, and in which order they were written.
 *
 * Finding them. A packet ends where the next one begins. Its own word for that is taken when the
 * packet before was of the same size, or the next one is; else the next header is searched for. So
 * a damaged size costs nothing, and a damaged header no more than its packet.
 *
 * Ordering them. The file is a ring, so somewhere the 16-bit count falls. Counts are unwrapped by
 * their signed differences from packet to packet: where one falls, the ring begins, and a damaged
 * one moves no others. If counts and stamps then disagree (a damaged count; a recorder killed when
 * it had renewed a packet's count, but not yet its content; files joined), packets go by their
 * stamps, as far as these are witnessed.
 */
#include "read/mirage/packets.h"

#include <stdlib.h>

#include "base/array.h"

enum {
	CHUNK = 1 << 16, /* bytes read at once while searching */
	PEEK = 4096,     /* bytes of content in which a packet's first stamps are looked for */
	SLACK = 8,
};

const uint8_t thrum__mirage_mark[THRUM__MIRAGE_MARK] = {0xc1, 0x1f, 0xfc, 0xc1, 0x05, 0x88, 0x3b,
	0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c};

struct scan {
	const struct thrum__input *input;
	uint64_t size; /* of the file */
	uint64_t step; /* the size of the last packet whose size could be trusted; 0: none yet */
	int error;     /* the first one that reading met */
	uint8_t buffer[CHUNK + SLACK];
};

struct header {
	uint64_t size, content; /* bytes; 0: nonsense */
	uint16_t count;
};

uint64_t thrum__mirage_leap(uint64_t last, uint64_t span)
{
	const uint64_t hour = UINT64_C(3600) * 1000 * 1000 * 1000, month = 30 * 24 * hour;
	uint64_t leap = last < month / 127 ? last * 127 : month;
	if (leap < hour)
		leap = hour;
	if (span > INT64_MAX / 8)
		return INT64_MAX;
	return leap < span * 8 ? span * 8 : leap;
}

size_t thrum__mirage_event_size(const uint8_t *p, size_t left)
{
	if (left < THRUM__MIRAGE_EVENT_MIN)
		return 0;
	const struct thrum__mirage_op *op = &thrum__mirage_ops[p[8]];
	size_t size = op->size;
	if (op->text) {
		const uint8_t *end = p + left;
		if (size >= left)
			return 0;
		size = (size_t)(thrum__read_text_end(p + size, end) - p) + 1;
	}
	return size <= left ? size : 0;
}

/* ---- Finding -------------------------------------------------------------------------------- */

static size_t fetch(struct scan *scan, uint64_t offset, size_t size)
{
	if (offset >= scan->size)
		return 0;
	int64_t got = scan->input->read(scan->input->owner, offset, scan->buffer, size);
	if (got < 0 && !scan->error)
		scan->error = (int)got;
	return got < 0 ? 0 : (size_t)got;
}

static bool header_at(struct scan *scan, uint64_t offset, struct header *header)
{
	const uint8_t *bytes = scan->buffer;
	if (fetch(scan, offset, THRUM__MIRAGE_HEADER) < THRUM__MIRAGE_HEADER ||
		memcmp(bytes, thrum__mirage_mark, THRUM__MIRAGE_MARK) != 0)
		return false;
	uint32_t size, content;
	memcpy(&size, bytes + 20, 4);
	memcpy(&header->count, bytes + 24, 2);
	memcpy(&content, bytes + 26, 4);
	/* Both are in bits. */
	bool size_ok = size % 8 == 0 && size >= THRUM__MIRAGE_HEADER * 8;
	bool content_ok = content % 8 == 0 && content >= THRUM__MIRAGE_HEADER * 8;
	header->size = size_ok ? size / 8 : 0;
	header->content = content_ok ? content / 8 : 0;
	return true;
}

/* The first header that begins in from..to, or `to`. */
static uint64_t search(struct scan *scan, uint64_t from, uint64_t to)
{
	while (from < to) {
		size_t got = fetch(scan, from, CHUNK);
		if (got < THRUM__MIRAGE_HEADER)
			return to;
		size_t starts = got - (THRUM__MIRAGE_HEADER - 1);
		const uint8_t *at = scan->buffer, *end = at + starts;
		while ((at = memchr(at, thrum__mirage_mark[0], (size_t)(end - at)))) {
			if (memcmp(at, thrum__mirage_mark, THRUM__MIRAGE_MARK) == 0) {
				uint64_t found = from + (uint64_t)(at - scan->buffer);
				return found < to ? found : to;
			}
			at++;
		}
		from += starts;
	}
	return to;
}

/* Where the packet at `offset` ends, which may be behind the end of the file. */
static uint64_t packet_end(struct scan *scan, uint64_t offset, const struct header *header)
{
	struct header next;
	uint64_t end = offset + header->size, to = scan->size;
	if (header->size && header->size == scan->step)
		return end;
	if (scan->step && header_at(scan, offset + scan->step, &next))
		return offset + scan->step;
	/* The last packet of a ring takes what the division by their number left over. (The search
	 * would come to the same, but read all that the packet has not used.) */
	if (header->size && end == scan->size && header->size / 2 < scan->step)
		return end;
	if (header->size && header_at(scan, end, &next)) {
		if (next.size == header->size)
			return end;
		to = end;
	}
	uint64_t from = offset + THRUM__MIRAGE_HEADER;
	if (header->size && header->content <= header->size && header->content)
		from = offset + header->content;
	uint64_t found = search(scan, from, to);
	if (!header->size || found < end)
		return found < to || !header->size ? found : end;
	/* Something else lies between the two, unless the content needs the room. */
	return header->content > header->size && offset + header->content <= found ? found : end;
}

static struct thrum__mirage_packet *append(struct thrum__mirage_packets *packets)
{
	void *all = thrum__base_grow(packets->all, &packets->room, packets->count + UINT64_C(1),
		sizeof *packets->all);

	if (!all)
		return NULL;
	packets->all = all;
	struct thrum__mirage_packet *packet = &packets->all[packets->count++];
	memset(packet, 0, sizeof(*packet));
	return packet;
}

/*
 * Looks at the first three stamps. The second one stands for the packet: only it can be checked
 * from both sides, so that one that is wrong, by however little, has no effect on other packets.
 */
static void witness(struct scan *scan, struct thrum__mirage_packet *packet)
{
	size_t left = packet->content - THRUM__MIRAGE_HEADER;
	left = fetch(scan, packet->offset + THRUM__MIRAGE_HEADER, left < PEEK ? left : PEEK);
	const uint8_t *p = scan->buffer;
	uint64_t stamps[3] = {0};
	for (unsigned i = 0; i < 3; i++) {
		if (left < 9)
			return;
		stamps[i] = thrum__mirage_load64(p);
		size_t size = p[8] < THRUM__MIRAGE_OPS ? thrum__mirage_event_size(p, left) : 0;
		if (!size && i < 2)
			return;
		p += size;
		left -= size;
	}
	packet->time = stamps[1];
	packet->witnessed = stamps[0] <= stamps[1] && stamps[1] <= stamps[2] &&
		stamps[2] <= INT64_MAX && stamps[1] - stamps[0] <= thrum__mirage_leap(stamps[0], 0);
}

static bool add_packet(struct scan *scan, struct thrum__mirage_packets *packets, uint64_t offset,
	const struct header *header, uint64_t end)
{
	struct thrum__mirage_packet *packet = append(packets);
	if (!packet)
		return false;
	uint64_t size = end - offset, there = scan->size - offset;
	packet->offset = offset;
	packet->size = size;
	packet->count = header->count;
	if (header->size == size)
		scan->step = size;
	else
		packet->damage = THRUM__MIRAGE_BAD_SIZE;
	if (size > packets->largest)
		packets->largest = size;
	if (size > there)
		packet->missing = (uint32_t)(size - there);
	if (header->content == 0 || header->content > size) {
		packet->damage = THRUM__MIRAGE_BAD_CONTENT;
		packet->content = THRUM__MIRAGE_HEADER;
		return true;
	}
	packet->content = (uint32_t)(header->content < there ? header->content : there);
	witness(scan, packet);
	return true;
}

static bool find(struct scan *scan, struct thrum__mirage_packets *packets)
{
	struct header header, other;
	for (uint64_t offset = 0, end; offset < scan->size && !scan->error; offset = end) {
		if (header_at(scan, offset, &header)) {
			end = packet_end(scan, offset, &header);
			if (!add_packet(scan, packets, offset, &header, end))
				return false;
			continue;
		}
		if (scan->step && header_at(scan, offset + scan->step, &other))
			end = offset + scan->step;
		else
			end = search(scan, offset + 1, scan->size);
		struct thrum__mirage_packet *hole = append(packets);
		if (!hole)
			return false;
		hole->offset = offset;
		hole->size = end - offset;
		hole->damage = THRUM__MIRAGE_NO_HEADER;
	}
	return true;
}

/* ---- Ordering ------------------------------------------------------------------------------- */

static void number(struct thrum__mirage_packets *packets)
{
	const struct thrum__mirage_packet *before = NULL;
	size_t first = 0;
	for (size_t i = 0; i < packets->count; i++) {
		struct thrum__mirage_packet *packet = &packets->all[i];
		if (packet->damage == THRUM__MIRAGE_NO_HEADER)
			continue;
		packet->number = packet->count;
		if (before)
			packet->number = before->number + (int16_t)(packet->count - before->count);
		else
			first = i;
		before = packet;
	}
	/* Bytes between packets belong behind the one before them in the file, or before the first.
	 */
	for (size_t i = 0; i < packets->count; i++) {
		if (packets->all[i].damage == THRUM__MIRAGE_NO_HEADER)
			packets->all[i].number = packets->all[i ? i - 1 : first].number;
	}
}

static int compare(const void *a, const void *b)
{
	const struct thrum__mirage_packet *left = a, *right = b;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int compare_time(const void *a, const void *b)
{
	const struct thrum__mirage_packet *left = a, *right = b;
	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return compare(a, b);
}

/* Whether counts rise, and stamps with them. */
static bool agree(const struct thrum__mirage_packets *packets)
{
	const struct thrum__mirage_packet *before = NULL;
	uint64_t time = 0;
	for (size_t i = 0; i < packets->count; i++) {
		const struct thrum__mirage_packet *packet = &packets->all[i];
		if (packet->damage == THRUM__MIRAGE_NO_HEADER)
			continue;
		if (before && packet->number == before->number)
			return false;
		before = packet;
		if (!packet->witnessed)
			continue;
		if (packet->time < time)
			return false;
		time = packet->time;
	}
	return true;
}

/* A packet ends before the next one that is later: at its second event, or before. */
static void set_bounds(struct thrum__mirage_packets *packets)
{
	uint64_t time = INT64_MAX, bound = INT64_MAX;
	for (size_t i = packets->count; i--;) {
		struct thrum__mirage_packet *packet = &packets->all[i];
		packet->bound = time;
		if (!packet->witnessed)
			continue;
		/* Coarse clocks and repeated packets: the same time says nothing. */
		if (packet->time == time)
			packet->bound = bound;
		time = packet->time;
		bound = packet->bound;
	}
}

static void order(struct thrum__mirage_packets *packets)
{
	number(packets);
	qsort(packets->all, packets->count, sizeof(*packets->all), compare);
	packets->by_time = !agree(packets);
	if (packets->by_time) {
		/* What has no time of its own stays behind its predecessor. */
		for (size_t i = 0; i < packets->count; i++) {
			if (!packets->all[i].witnessed)
				packets->all[i].time = i ? packets->all[i - 1].time : 0;
		}
		qsort(packets->all, packets->count, sizeof(*packets->all), compare_time);
	}
	set_bounds(packets);
}

int thrum__mirage_find_packets(const struct thrum__input *input,
	struct thrum__mirage_packets *packets, struct thrum_error_info *info)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	if (!scan)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	scan->input = input;
	scan->size = input->size(input->owner);
	bool found = find(scan, packets);
	int error = scan->error;
	free(scan);
	if (error)
		return thrum__read_error_set(info, error, 0, "can't be read");
	if (!found)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0,
			"out of memory for a list of its packets");
	if (!packets->largest)
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"no packet of mirage-profile's in it");
	order(packets);
	return 0;
}
