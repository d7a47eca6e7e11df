/* SPDX-License-Identifier: ISC */
/* The packets of a recording to which more are added. */
#include <stdlib.h>
#include <string.h>

#include "format/index.h"
#include "source/input.h"
#include "source/switches/parts.h"

#define TASKS (UINT64_C(1) << 32) /* of a packet, from its id_base on */

int thrum__source_switches_packets(struct thrum__source_change *change, struct numbers *numbers,
	visit_packet *visit, void *data)
{
	struct thrum__format_index index;
	uint8_t *bytes = malloc(change->header.packet_size);
	int error = thrum__format_index_init(&index, change->input, &change->header);

	if (error != 0 || !bytes) {
		free(bytes);
		return error ? error : -THRUM_E_MEMORY;
	}
	for (size_t i = 0; i < index.count; i++) {
		struct thrum__packet packet;
		size_t size;

		if (thrum__format_index_read(&index.entries[i], change->input, &change->header,
			    bytes, &size) != 1)
			continue;
		memcpy(&packet, bytes, sizeof packet);
		if (numbers->ticket < index.entries[i].ticket)
			numbers->ticket = index.entries[i].ticket;
		if (numbers->next_lane <= packet.lane)
			numbers->next_lane = packet.lane + 1;
		if (numbers->next_base <= packet.id_base)
			numbers->next_base = packet.id_base + TASKS;
		visit(data, bytes, size, &packet);
	}
	thrum__format_index_finish(&index);
	free(bytes);
	return 0;
}

int thrum__source_switches_header(struct thrum__source_change *change)
{
	struct thrum__header *header = &change->header;
	int error = thrum__source_write_at(&change->fd, 0, header,
		offsetof(struct thrum__header, state));

	return error
		? error
		: thrum__source_write_at(&change->fd, offsetof(struct thrum__header, packets_used),
			  &header->packets_used, sizeof header->packets_used);
}
