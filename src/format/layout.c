/* SPDX-License-Identifier: ISC */
/* How a recording's bytes are divided. */
#include <string.h>

#include "format/format.h"

#define PAGE UINT64_C(4096)

static uint64_t whole_pages(uint64_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static uint64_t power_of_two_below(uint64_t value)
{
	return UINT64_C(1) << (63 - __builtin_clzll(value));
}

static struct thrum__section take(uint64_t *end, uint64_t size)
{
	struct thrum__section section = {*end, size};

	*end += whole_pages(size);
	return section;
}

int thrum__format_lay_out(struct thrum__header *h, uint64_t size)
{
	size = size / PAGE * PAGE;
	if (size < THRUM__SIZE_MIN || size > THRUM__SIZE_MAX)
		return -THRUM_E_SIZE;

	/* One part in 32 for definitions, in 16 for live tasks, within bounds; the rest is packets.
	 */
	uint64_t definitions = clamp(size / 32 / sizeof(struct thrum__definition), 64, 32768);
	uint64_t live = power_of_two_below(
		clamp(size / 16 / sizeof(struct thrum__live_task), 64, 65536));
	uint64_t end = THRUM__HEADER_SIZE;

	h->metadata = take(&end, THRUM__METADATA_SIZE);
	h->definitions = take(&end, definitions * sizeof(struct thrum__definition));
	h->counters = take(&end, clamp(size / 64, PAGE, 64 * PAGE));
	h->live_tasks = take(&end, live * sizeof(struct thrum__live_task));

	/* About 1,024 packets: with fewer, many threads find none; under 4 KiB a packet is mostly
	 * its header. */
	uint64_t packet = clamp(power_of_two_below(size / 1024), PAGE, UINT64_C(1) << 26);

	h->packet_size = (uint32_t)packet;
	h->packets = (uint32_t)((size - end) / packet);
	h->packet = (struct thrum__section){end, h->packets * packet};
	h->header_size = THRUM__HEADER_SIZE;
	h->version = THRUM__VERSION;
	h->size = end + h->packet.size;
	memcpy(h->magic, THRUM__MAGIC, sizeof h->magic);
	return 0;
}
