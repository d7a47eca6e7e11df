/* SPDX-License-Identifier: ISC */
/* Divides a recording's bytes into sections. */
#include <string.h>

#include "format/format.h"

#define PAGE UINT64_C(4096)
#define LIVE_LEAST 2048 /* live tasks, if they fit 1/5 of the recording */

static uint64_t round_up(uint64_t size, uint64_t page)
{
	return (size + page - 1) / page * page;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

static uint64_t power_of_two_below(uint64_t value)
{
	return UINT64_C(1) << (63 - __builtin_clzll(value));
}

/* Returns a section of `size` bytes at *end, and moves *end behind its last page. */
static struct thrum__section take_section(uint64_t *end, uint64_t size)
{
	struct thrum__section section = {*end, size};

	*end += round_up(size, PAGE);
	return section;
}

/* Fills in the rest of the header. The packets lie behind the other sections. */
static void finish_layout(struct thrum__header *h, uint64_t end, uint64_t packet, uint64_t packets)
{
	h->packet_size = (uint32_t)packet;
	h->packets = (uint32_t)packets;
	h->packet = (struct thrum__section){end, packets * packet};
	h->header_size = THRUM__HEADER_SIZE;
	h->version = THRUM__VERSION;
	h->size = end + h->packet.size;
	memcpy(h->magic, THRUM__MAGIC, sizeof h->magic);
}

void thrum__format_lay_out_counters(struct thrum__header *h, uint64_t page)
{
	uint64_t end = THRUM__HEADER_SIZE;

	h->metadata = take_section(&end, THRUM__METADATA_SIZE);
	h->definitions = take_section(&end, 2 * PAGE);
	end = round_up(end, page);
	h->counters = take_section(&end, 64 * PAGE);
	h->live_tasks = take_section(&end, 0);
	finish_layout(h, end, PAGE, 1);
}

int thrum__format_lay_out(struct thrum__header *h, uint64_t size, uint64_t page)
{
	size = size / PAGE * PAGE;
	if (size < THRUM__SIZE_MIN || size > THRUM__SIZE_MAX)
		return -THRUM_E_SIZE;

	/* Within bounds, definitions get 1/32 of the recording and live tasks 1/16. A small
	 * recording wraps soon, so its live tasks get up to 1/5. */
	uint64_t definitions = clamp(size / 32 / sizeof(struct thrum__definition), 64, 32768);
	uint64_t cells = size / sizeof(struct thrum__live_task);
	uint64_t live = power_of_two_below(
		clamp(cells / 16, cells / 5 < LIVE_LEAST ? cells / 5 : LIVE_LEAST, 65536));
	uint64_t end = THRUM__HEADER_SIZE;

	h->metadata = take_section(&end, THRUM__METADATA_SIZE);
	h->definitions = take_section(&end, definitions * sizeof(struct thrum__definition));
	end = round_up(end, page);
	h->counters = take_section(&end, clamp(size / 64, 4 * PAGE, 256 * PAGE));
	h->live_tasks = take_section(&end, live * sizeof(struct thrum__live_task));
	h->control = take_section(&end, THRUM__CONTROL_PAGE + clamp(size / 256, PAGE, 16 * PAGE));
	/* Only where that isn't much of it. */
	if (size / page >= 64) {
		end = round_up(end, page);
		h->witness = take_section(&end, page);
	}

	/* The rest is about 1,024 packets. With fewer, a program with many threads would run out of
	 * them; smaller than 4 KiB, a packet would be mostly header. */
	uint64_t packet = clamp(power_of_two_below(size / 1024), PAGE, UINT64_C(1) << 26);

	finish_layout(h, end, packet, (size - end) / packet);
	return 0;
}
