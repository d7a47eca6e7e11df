/* SPDX-License-Identifier: ISC */
/* Checks a header before anybody follows its offsets. */
#include <string.h>

#include "format/format.h"

#define PACKET_SIZE_MIN 512u
#define PACKET_SIZE_MAX (1u << 26)
#define LIVE_TASKS_MAX (1u << 20)
#define FREQUENCY_MAX UINT64_C(100000000000)

static bool is_inside(struct thrum__section s, uint64_t size)
{
	return s.offset >= THRUM__HEADER_SIZE && s.offset % 8 == 0 && s.offset <= size &&
		s.size <= size - s.offset;
}

static bool is_table(struct thrum__section s, uint64_t size, uint64_t cell, uint64_t cells_max)
{
	return is_inside(s, size) && s.size % cell == 0 && s.size / cell <= cells_max;
}

static bool is_live_table(struct thrum__section s, uint64_t size)
{
	uint64_t cells = s.size / sizeof(struct thrum__live_task);

	return is_table(s, size, sizeof(struct thrum__live_task), LIVE_TASKS_MAX) &&
		(cells & (cells - 1)) == 0;
}

/* A page, and a history of at least one entry and at most 1 MiB. */
static bool is_control(struct thrum__section s, uint64_t size)
{
	return is_inside(s, size) && s.size >= THRUM__CONTROL_PAGE + 64 && s.size <= 1u << 20;
}

static bool has_packet_size(const struct thrum__header *h)
{
	return h->packet_size >= PACKET_SIZE_MIN && h->packet_size <= PACKET_SIZE_MAX &&
		h->packet_size % 8 == 0;
}

static bool has_packets(const struct thrum__header *h)
{
	return is_inside(h->packet, h->size) && h->packets <= h->packet.size / h->packet_size;
}

static bool has_clock(const struct thrum__header *h)
{
	return h->clock_frequency > 0 && h->clock_frequency <= FREQUENCY_MAX;
}

static int refuse_header(int error, const char *name, size_t at, const char **culprit,
	uint64_t *offset)
{
	*culprit = name;
	*offset = at;
	return error;
}

int thrum__format_check_header(const struct thrum__header *h, const char **culprit,
	uint64_t *offset)
{
#define REQUIRE(condition, error, name, member) \
	do { \
		if (!(condition)) \
			return refuse_header(-(error), name, \
				offsetof(struct thrum__header, member), culprit, offset); \
	} while (0)
	REQUIRE(memcmp(h->magic, THRUM__MAGIC, sizeof h->magic) == 0, THRUM_E_FORMAT,
		"magic number", magic);
	REQUIRE(h->version != 0, THRUM_E_DAMAGED, "version", version);
	REQUIRE(h->version <= THRUM__VERSION, THRUM_E_VERSION, "version", version);
	REQUIRE(h->header_size == THRUM__HEADER_SIZE, THRUM_E_DAMAGED, "size of the header",
		header_size);
	REQUIRE(h->size >= THRUM__HEADER_SIZE && h->size <= 2 * THRUM__SIZE_MAX, THRUM_E_DAMAGED,
		"size of the recording", size);
	REQUIRE(has_packet_size(h), THRUM_E_DAMAGED, "size of packets", packet_size);
	REQUIRE(has_packets(h), THRUM_E_DAMAGED, "place of packets", packet);
	REQUIRE(is_inside(h->metadata, h->size), THRUM_E_DAMAGED, "place of metadata", metadata);
	REQUIRE(is_table(h->definitions, h->size, sizeof(struct thrum__definition),
			THRUM__DEFINITIONS_MAX),
		THRUM_E_DAMAGED, "place of definitions", definitions);
	REQUIRE(is_inside(h->counters, h->size), THRUM_E_DAMAGED, "place of counters", counters);
	REQUIRE(is_live_table(h->live_tasks, h->size), THRUM_E_DAMAGED, "place of live tasks",
		live_tasks);
	REQUIRE(h->control.size == 0 || is_control(h->control, h->size), THRUM_E_DAMAGED,
		"place of the control section", control);
	REQUIRE(h->off_cpu.size == 0 || is_inside(h->off_cpu, h->size), THRUM_E_DAMAGED,
		"place of the times off the processor", off_cpu);
	REQUIRE(has_clock(h), THRUM_E_DAMAGED, "frequency of the clock", clock_frequency);
#undef REQUIRE
	return 0;
}
