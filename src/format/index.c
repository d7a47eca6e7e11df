/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/index.h"

/* Appends an entry for the packet at `index`, unless its ticket is 0. *room: the capacity of the
 * array of entries. */
static int append_entry(struct thrum__format_index *list, uint32_t *room,
	const struct thrum__packet *packet, uint32_t index)
{
	uint32_t ticket = atomic_load_explicit(&packet->ticket, memory_order_relaxed);
	if (ticket == 0)
		return 0;
	struct thrum__format_index_entry *entries = thrum__base_grow(list->entries, room,
		list->count + UINT64_C(1), sizeof *entries);
	if (!entries)
		return -THRUM_E_MEMORY;
	list->entries = entries;
	list->entries[list->count++] = (struct thrum__format_index_entry){packet->begin,
		packet->lane, packet->seq, ticket, index};
	return 0;
}

int thrum__format_index_init(struct thrum__format_index *index, const struct thrum__input *input,
	const struct thrum__header *header)
{
	struct thrum__format_index list = {NULL, 0};
	uint32_t room = 0;
	uint32_t used = atomic_load_explicit(&header->packets_used, memory_order_relaxed);
	for (uint32_t i = 0; i < used && i < header->packets; i++) {
		struct thrum__packet packet;
		int64_t got = input->read(input->owner,
			header->packet.offset + (uint64_t)i * header->packet_size, &packet,
			sizeof packet);
		int error = got < 0 ? (int)got : 0;
		if (error == 0 && got < (int64_t)sizeof packet)
			break; /* the end of a truncated file */
		if (error == 0)
			error = append_entry(&list, &room, &packet, i);
		if (error != 0) {
			free(list.entries);
			return error;
		}
	}
	*index = list;
	return 0;
}

void thrum__format_index_finish(struct thrum__format_index *index)
{
	free(index->entries);
	*index = (struct thrum__format_index){NULL, 0};
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_begin(const void *left, const void *right)
{
	const struct thrum__format_index_entry *a = left, *b = right;
	int order = compare_numbers(a->begin, b->begin);
	return order ? order : compare_numbers(a->index, b->index);
}

static int compare_lane(const void *left, const void *right)
{
	const struct thrum__format_index_entry *a = left, *b = right;
	int order = compare_numbers(a->lane, b->lane);
	if (order == 0)
		order = compare_numbers(a->seq, b->seq);
	return order ? order : compare_numbers(a->index, b->index);
}

void thrum__format_index_sort_by_begin(struct thrum__format_index *index)
{
	if (index->count > 0)
		qsort(index->entries, index->count, sizeof *index->entries, compare_begin);
}

void thrum__format_index_sort_by_lane(struct thrum__format_index *index)
{
	if (index->count > 0)
		qsort(index->entries, index->count, sizeof *index->entries, compare_lane);
}

int thrum__format_index_read(const struct thrum__format_index_entry *entry,
	const struct thrum__input *input, const struct thrum__header *header, uint8_t *to,
	size_t *bytes)
{
	int result = thrum__format_packet_read(input, header, entry->index, to, bytes);
	if (result == 1) {
		uint32_t ticket;
		memcpy(&ticket, to + offsetof(struct thrum__packet, ticket), sizeof ticket);
		if (ticket != entry->ticket)
			return THRUM__REUSED;
	}
	return result == 0 ? THRUM__REUSED : result;
}
