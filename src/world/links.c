/* SPDX-License-Identifier: ISC */
/* Finds the messages that one part sent and another one received. */
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "read/connection.h"
#include "world/parts.h"

uint64_t thrum__world_key(const char *text, uint32_t size)
{
	/* Both directions are one. */
	if (thrum__read_is_connection(text, size))
		size -= THRUM__CONNECTION_END;
	return thrum__base_hash_text(0x7468726d, text, size);
}

static int add_link(struct thrum__world_links *links, const struct thrum__world_link *link)
{
	struct thrum__world_link *grown = thrum__base_grow(links->all, &links->room,
		links->count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	links->all = grown;
	grown[links->count++] = *link;
	return 0;
}

static int add_message(struct thrum__world_links *links, uint32_t sent, uint32_t received)
{
	struct thrum__world_message *grown = thrum__base_grow(links->messages, &links->message_room,
		links->message_count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	links->messages = grown;
	grown[links->message_count++] = (struct thrum__world_message){sent, received};
	return 0;
}

static int add_own(struct thrum__world_links *links, uint64_t key)
{
	uint64_t *grown = thrum__base_grow(links->own, &links->own_room,
		links->own_count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	links->own = grown;
	grown[links->own_count++] = key;
	return 0;
}

int thrum__world_links_take(struct thrum__world_links *links, uint32_t part,
	const struct thrum_event *e)
{
	struct thrum__world_link link;

	if (e->type != THRUM_EVENT_LINK_SEND && e->type != THRUM_EVENT_LINK_RECEIVE)
		return 0;
	link = (struct thrum__world_link){thrum__world_key(e->text, e->text_size), e->clock, part,
		e->type == THRUM_EVENT_LINK_SEND};
	if (thrum__read_is_connection(e->text, e->text_size)) {
		link.of_connection = link.is_send ? SENDS : RECEIVES;
		/* So one end only sends, and the other one only receives. */
		link.is_send ^= thrum__read_connection_way(e->text, e->text_size);
	}
	return add_link(links, &link);
}

static int compare_links(const void *a, const void *b)
{
	const struct thrum__world_link *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->is_send != y->is_send)
		return x->is_send ? -1 : 1;
	return x->clock < y->clock ? -1 : x->clock > y->clock;
}

/* Whether a part of this group of links with one key both sends and receives. */
static bool is_own(const struct thrum__world_link *group, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (group[i].part == group[i - 1].part && !group[i].is_send && group[i - 1].is_send)
			return true;
	return false;
}

/* Adds the messages of a group of links with one key. A key that was sent twice doesn't tell which
 * of the two arrived. */
static int match_group(struct thrum__world_links *links, uint32_t first, uint32_t count)
{
	const struct thrum__world_link *group = links->all + first;
	uint32_t sent = count;
	int error = 0;

	if (group[0].part == group[count - 1].part)
		return 0;
	if (is_own(group, count))
		return add_own(links, group->key);
	/* Nobody knows which message over a connection is which. */
	for (uint32_t i = 0; i < count; i++)
		links->streamed += group[i].of_connection == SENDS;
	if (group->of_connection)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		if (group[i].is_send && sent < count)
			return 0;
		if (group[i].is_send)
			sent = i;
	}
	for (uint32_t i = 0; i < count && sent < count && error == 0; i++)
		if (!group[i].is_send)
			error = add_message(links, first + sent, first + i);
	return error;
}

int thrum__world_links_match(struct thrum__world_links *links)
{
	int error = 0;

	if (links->count == 0)
		return 0;
	qsort(links->all, links->count, sizeof *links->all, compare_links);
	for (uint32_t i = 0, end; i < links->count && error == 0; i = end) {
		for (end = i + 1; end < links->count && links->all[end].key == links->all[i].key;)
			end++;
		error = match_group(links, i, end - i);
	}
	return error;
}

bool thrum__world_links_is_own(const struct thrum__world_links *links, uint64_t key)
{
	uint32_t low = 0, high = links->own_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (links->own[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < links->own_count && links->own[low] == key;
}

void thrum__world_links_finish(struct thrum__world_links *links)
{
	free(links->all);
	free(links->messages);
	free(links->own);
	*links = (struct thrum__world_links){0};
}
