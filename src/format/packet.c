/* SPDX-License-Identifier: ISC */
/*
 * The reader's side of the packet protocol. The recorder may reuse a packet at any time: it stores
 * ticket 0, then an empty content size, then the rest, then a new ticket. So a reader that finds
 * the same ticket before and after copying has a copy of one packet. Until the packet is reused,
 * its content size only grows, and the bytes before that are complete.
 *
 * Words are read in aligned pairs. A copy of 8 bytes is one access, even if the operating system
 * copies anything shorter byte by byte.
 */
#include <string.h>

#include "format/packet.h"

#define TRIES 3

struct word_pair {
	uint32_t first, second;
};

int64_t thrum__format_input_read(const struct thrum__input *input, uint64_t offset, void *to,
	size_t size)
{
	size_t done = 0;

	while (done < size) {
		int64_t got = input->read(input->owner, offset + done, (uint8_t *)to + done,
			size - done);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

static int read_pair(const struct thrum__input *input, uint64_t offset, struct word_pair *pair)
{
	int64_t got = thrum__format_input_read(input, offset, pair, sizeof *pair);

	/* Partner: the release stores of ticket and content size. Later reads are not older. */
	atomic_thread_fence(memory_order_acquire);
	if (got < 0)
		return (int)got;
	return got == sizeof *pair ? 0 : -THRUM_E_TRUNCATED;
}

static bool is_packet_of(const struct thrum__header *header, const uint8_t *bytes)
{
	uint32_t magic;

	memcpy(&magic, bytes, sizeof magic);
	return magic == THRUM__PACKET_MAGIC &&
		memcmp(bytes + offsetof(struct thrum__packet, uuid), header->uuid,
			sizeof header->uuid) == 0;
}

static bool has_sane_sizes(const struct thrum__header *header, struct word_pair bits)
{
	uint32_t content = bits.first / 8;

	return bits.first % 8 == 0 && content >= sizeof(struct thrum__packet) &&
		content <= header->packet_size && bits.second / 8 == header->packet_size;
}

/* Makes one try; THRUM__REUSED means that another one is worth while. */
static int try_to_read(const struct thrum__input *input, const struct thrum__header *header,
	uint64_t offset, uint8_t *to, size_t limit, size_t *bytes)
{
	struct word_pair before, sizes, after;
	int error = read_pair(input, offset + offsetof(struct thrum__packet, ticket), &before);

	if (error == 0 && before.first == 0)
		return 0;
	if (error == 0)
		error = read_pair(input, offset + offsetof(struct thrum__packet, content_size),
			&sizes);
	if (error)
		return error;
	bool sane = has_sane_sizes(header, sizes);
	size_t size = sane ? sizes.first / 8 : sizeof(struct thrum__packet);

	if (size > limit)
		size = limit;
	int64_t got = thrum__format_input_read(input, offset, to, size);

	if (got < 0)
		return (int)got;
	/* Partner: the release fence behind the store of ticket 0. */
	atomic_thread_fence(memory_order_acquire);
	error = read_pair(input, offset + offsetof(struct thrum__packet, ticket), &after);
	if (error)
		return error;
	if (after.first != before.first)
		return THRUM__REUSED;
	*bytes = (size_t)got;
	if ((size_t)got < sizeof(struct thrum__packet))
		return -THRUM_E_TRUNCATED;
	if (!sane || !is_packet_of(header, to))
		return -THRUM_E_DAMAGED;
	/* The copied header may have a newer content size than the one that was copied by. */
	memcpy(to + offsetof(struct thrum__packet, content_size), &sizes.first, sizeof sizes.first);
	return (size_t)got < size ? -THRUM_E_TRUNCATED : 1;
}

int thrum__format_packet_peek(const struct thrum__input *input, const struct thrum__header *header,
	uint32_t index, uint8_t *to, size_t limit, size_t *bytes)
{
	uint64_t offset = header->packet.offset + (uint64_t)index * header->packet_size;
	int result = THRUM__REUSED;

	*bytes = 0;
	for (int i = 0; i < TRIES && result == THRUM__REUSED; i++)
		result = try_to_read(input, header, offset, to, limit, bytes);
	return result;
}

int thrum__format_packet_more(const struct thrum__input *input, const struct thrum__header *header,
	uint32_t index, uint32_t ticket, uint32_t from, uint8_t *to, size_t size, size_t *bytes)
{
	uint64_t offset = header->packet.offset + (uint64_t)index * header->packet_size;
	int64_t got = thrum__format_input_read(input, offset + from, to, size);
	struct word_pair now;

	*bytes = got < 0 ? 0 : (size_t)got;
	if (got < 0)
		return (int)got;
	/* Partner: the release fence behind the store of ticket 0. */
	atomic_thread_fence(memory_order_acquire);
	int error = read_pair(input, offset + offsetof(struct thrum__packet, ticket), &now);

	if (error)
		return error;
	if (now.first != ticket)
		return 0;
	return (size_t)got < size ? -THRUM_E_TRUNCATED : 1;
}

int thrum__format_packet_read(const struct thrum__input *input, const struct thrum__header *header,
	uint32_t index, uint8_t *to, size_t *bytes)
{
	return thrum__format_packet_peek(input, header, index, to, header->packet_size, bytes);
}

/* ---- Filling ----------------------------------------------------------------------------- */

static void begin(struct thrum__format_fill *fill, const struct thrum__header *header,
	uint64_t ticks)
{
	struct thrum__packet *packet = (struct thrum__packet *)fill->bytes;

	memset(packet, 0, sizeof *packet);
	packet->magic = THRUM__PACKET_MAGIC;
	memcpy(packet->uuid, header->uuid, sizeof packet->uuid);
	packet->lane = fill->lane;
	packet->begin = ticks;
	packet->packet_size = header->packet_size * 8;
	packet->seq = fill->seq++;
	packet->tid = fill->tid;
	packet->id_base = fill->id_base;
	packet->own = fill->own;
	packet->running = fill->running;
	packet->suspended = fill->suspended;
	packet->open = fill->open;
	memcpy(packet->spans, fill->spans, sizeof packet->spans);
	fill->at = sizeof *packet;
	fill->last = ticks;
}

/* Keeps what the beginning of the next packet has to say. */
static void follow(struct thrum__format_fill *fill, const struct thrum__record *record)
{
	switch (record->type) {
	case THRUM__R_LANE: fill->own = fill->running = record->other; break;
	case THRUM__R_SWITCH: fill->running = record->task; break;
	case THRUM__R_SPAN_BEGIN:
		if (fill->open < THRUM__SPANS_MAX)
			fill->spans[fill->open] = record->def;
		fill->open += fill->open < UINT16_MAX;
		break;
	case THRUM__R_SUSPEND: fill->suspended = record->def ? record->def : UINT16_MAX; break;
	case THRUM__R_RESUME: fill->suspended = 0; break;
	case THRUM__R_SPAN_END: fill->open -= fill->open > 0; break;
	default: break;
	}
}

static size_t encode(const struct thrum__format_fill *fill, uint8_t *to,
	const struct thrum__record *record, uint64_t ticks)
{
	bool wide = thrum__format_record_is_wide(record, fill->id_base);
	size_t size = thrum__format_encode_header(to,
		(unsigned)record->type + (wide ? THRUM__WIDE : 0), ticks, fill->last);

	return size + thrum__format_encode_fields(to + size, record, fill->id_base, wide);
}

bool thrum__format_fill_put(struct thrum__format_fill *fill, const struct thrum__header *header,
	uint64_t ticks, const struct thrum__record *record)
{
	uint8_t bytes[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
	size_t size;

	ticks = ticks < fill->last ? fill->last : ticks;
	if (fill->at == 0)
		begin(fill, header, ticks);
	size = encode(fill, bytes, record, ticks);
	if (size > header->packet_size - fill->at)
		return false;
	memcpy(fill->bytes + fill->at, bytes, size);
	fill->at += size;
	fill->last = ticks;
	follow(fill, record);
	return true;
}

void thrum__format_fill_end(struct thrum__format_fill *fill, const struct thrum__header *header,
	uint32_t ticket)
{
	struct thrum__packet *packet = (struct thrum__packet *)fill->bytes;

	atomic_store(&packet->content_size, (uint32_t)fill->at * 8);
	atomic_store(&packet->ticket, ticket);
	memset(fill->bytes + fill->at, 0, header->packet_size - fill->at);
	fill->at = 0;
}
