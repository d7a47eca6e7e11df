/* SPDX-License-Identifier: ISC */
/*
 * Finds the packets of a mirage-profile trace, and the order in which they were written.
 *
 * Finding: a packet ends where the next one begins. The size in its header says where, and is
 * believed when the packet before or the next one has the same size. Otherwise the code searches
 * for the next header. So a damaged size costs nothing, and a damaged header no more than its
 * packet.
 *
 * Ordering: the file is a ring, and each packet's header has a 16-bit count, which falls at some
 * place in the file. The code unwraps the counts by their signed differences from packet to packet.
 * The ring begins where the count falls, and a damaged count moves no other packet. Counts and
 * timestamps may disagree: a count is damaged; the recorder was killed when it had renewed a
 * packet's count but not yet its content; files were joined. The packets are then ordered by their
 * timestamps, as far as these are witnessed.
 */
#include "read/mirage/packets.h"

#include <stdlib.h>

#include "base/array.h"

enum {
	CHUNK = 1 << 16, /* bytes read at once while searching */
	PEEK = 4096,     /* bytes of content in which a packet's first timestamps are looked for, */
	GLANCE = 256,    /* which mostly are among so many */
	SLACK = 8,       /* readable bytes behind a chunk: see thrum__mirage_event_size */
};

const uint8_t thrum__mirage_mark[THRUM__MIRAGE_MARK] = {0xc1, 0x1f, 0xfc, 0xc1, 0x05, 0x88, 0x3b,
	0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c};

struct scan {
	const struct thrum__input *input;
	uint64_t size; /* of the file */
	uint64_t step; /* the size of the last packet whose size could be trusted; 0: none yet */
	int error;     /* the first error of reading, or 0 */
	uint8_t buffer[CHUNK + SLACK];
};

struct header {
	uint64_t size, content; /* bytes, header included; 0: not a possible size */
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

/* Reads up to `size` bytes to scan->buffer. Returns how many; 0 at the end and on failure. */
static size_t fetch(struct scan *scan, uint64_t offset, size_t size)
{
	if (offset >= scan->size)
		return 0;
	int64_t got = scan->input->read(scan->input->owner, offset, scan->buffer, size);
	if (got < 0 && !scan->error)
		scan->error = (int)got;
	return got < 0 ? 0 : (size_t)got;
}

/* Reads the packet header at `offset`. Returns false when there is none. */
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

/* Returns the offset of the first header that begins from `from` on and before `to`; else `to`. */
static uint64_t find_header(struct scan *scan, uint64_t from, uint64_t to)
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

/* Returns the end of the packet at `offset`, which may lie behind the end of the file. */
static uint64_t packet_end(struct scan *scan, uint64_t offset, const struct header *header)
{
	struct header next;
	uint64_t end = offset + header->size, to = scan->size;
	if (header->size && header->size == scan->step)
		return end;
	if (scan->step && header_at(scan, offset + scan->step, &next))
		return offset + scan->step;
	/* The recorder divides its buffer by the number of packets, and the last packet takes the
	 * remainder. (A search would find the same end, but would read all unused bytes.) */
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
	uint64_t found = find_header(scan, from, to);
	if (!header->size || found < end)
		return found < to || !header->size ? found : end;
	/* Other bytes lie between the two packets, unless the content needs the room. */
	return header->content > header->size && offset + header->content <= found ? found : end;
}

/* Returns a new packet of zeros at the end of the list; NULL when there is no memory. */
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

/* Reads a packet's first three timestamps. False: they aren't among the first bytes of its content. */
static bool read_stamps(struct scan *scan, const struct thrum__mirage_packet *packet, size_t bytes,
	uint64_t stamps[3])
{
	size_t left = packet->content - THRUM__MIRAGE_HEADER;
	left = fetch(scan, packet->offset + THRUM__MIRAGE_HEADER, left < bytes ? left : bytes);
	const uint8_t *p = scan->buffer;
	for (unsigned i = 0; i < 3; i++) {
		if (left < 9)
			return false;
		stamps[i] = thrum__mirage_load64(p);
		size_t size = p[8] < THRUM__MIRAGE_OPS ? thrum__mirage_event_size(p, left) : 0;
		if (!size && i < 2)
			return false;
		p += size;
		left -= size;
	}
	return true;
}

/*
 * Sets the packet's `time` and `witnessed` by its first three timestamps. The second one is the
 * packet's time, because only that can be checked from both sides: so a wrong timestamp, by however
 * little it is wrong, has no effect on other packets.
 */
static void witness(struct scan *scan, struct thrum__mirage_packet *packet)
{
	uint64_t stamps[3] = {0};
	if (!read_stamps(scan, packet, GLANCE, stamps) && !read_stamps(scan, packet, PEEK, stamps))
		return;
	packet->time = stamps[1];
	packet->witnessed = stamps[0] <= stamps[1] && stamps[1] <= stamps[2] &&
		stamps[2] <= INT64_MAX && stamps[1] - stamps[0] <= thrum__mirage_leap(stamps[0], 0);
}

/* Adds the packet of this header, which lies from `offset` to `end`. False: there is no memory. */
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

/*
 * Lists the packets, and the bytes between them, in the order of the file. False: there is no
 * memory.
 */
static bool find_packets(struct scan *scan, struct thrum__mirage_packets *packets)
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
			end = find_header(scan, offset + 1, scan->size);
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

/* Sets each packet's `number`. */
static void number_packets(struct thrum__mirage_packets *packets)
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
	/* Bytes between packets go behind the packet before them in the file, or before the
	 * first. */
	for (size_t i = 0; i < packets->count; i++) {
		if (packets->all[i].damage == THRUM__MIRAGE_NO_HEADER)
			packets->all[i].number = packets->all[i ? i - 1 : first].number;
	}
}

static int compare_numbers(const void *a, const void *b)
{
	const struct thrum__mirage_packet *left = a, *right = b;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int compare_times(const void *a, const void *b)
{
	const struct thrum__mirage_packet *left = a, *right = b;
	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return compare_numbers(a, b);
}

/* Tells whether the numbers rise from packet to packet, and the witnessed times never fall. */
static bool do_counts_agree(const struct thrum__mirage_packets *packets)
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

/* Sets each packet's `bound`: the time of the next witnessed packet that has a later time. */
static void set_bounds(struct thrum__mirage_packets *packets)
{
	uint64_t time = INT64_MAX, bound = INT64_MAX;
	for (size_t i = packets->count; i--;) {
		struct thrum__mirage_packet *packet = &packets->all[i];
		packet->bound = time;
		if (!packet->witnessed)
			continue;
		/* Clocks may be coarse, and packets repeated: the same time is no bound. */
		if (packet->time == time)
			packet->bound = bound;
		time = packet->time;
		bound = packet->bound;
	}
}

/* Puts the packets in the order in which they are to be read, and sets their bounds. */
static void order_packets(struct thrum__mirage_packets *packets)
{
	number_packets(packets);
	qsort(packets->all, packets->count, sizeof(*packets->all), compare_numbers);
	packets->by_time = !do_counts_agree(packets);
	if (packets->by_time) {
		/* A packet without a witnessed time stays behind the packet before it. */
		for (size_t i = 0; i < packets->count; i++) {
			if (!packets->all[i].witnessed)
				packets->all[i].time = i ? packets->all[i - 1].time : 0;
		}
		qsort(packets->all, packets->count, sizeof(*packets->all), compare_times);
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
	bool found = find_packets(scan, packets);
	int error = scan->error;
	free(scan);
	if (error)
		return thrum__read_error_set(info, error, 0, "can't be read");
	if (!found)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0,
			"out of memory for a list of its packets");
	if (!packets->largest)
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"it holds no packet of mirage-profile");
	order_packets(packets);
	return 0;
}
