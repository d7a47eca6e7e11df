/* SPDX-License-Identifier: ISC */
/* Makes a recorder over a block of memory: lays out its sections, fills in the header and writes
 * the metadata. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "port/port.h"
#include "record/record.h"

#define ALIGNED(size) (((size) + 63) / 64 * 64)

static uint32_t generation;
static const struct recorder *latest; /* of this process, or of its parent */

static void fill_in_header(struct thrum__header *h, struct recorder *r,
	const struct thrum_config *config)
{
	h->full = config->full;
	h->pid = thrum__port_pid();
	h->process_start = thrum__port_process_start(0);
	thrum__port_random(h->uuid, sizeof h->uuid);
	h->uuid[6] = (h->uuid[6] & 0x0f) | 0x40; /* RFC 9562, version 4 */
	h->uuid[8] = (h->uuid[8] & 0x3f) | 0x80;
	thrum__port_program(h->program, sizeof h->program);
	thrum__port_host(h->host, sizeof h->host);
	h->boot = thrum__port_boot();
	thrum__record_clock_begin(r, h, config->clock);
	atomic_store(&h->state, THRUM__RECORDING);
}

/* For the history of the mask. */
static uint64_t read_ticks(void *owner, bool is_after)
{
	(void)owner, (void)is_after;
	return now() >> TICK_BITS;
}

static void write_metadata(struct thrum__header *h)
{
	struct thrum__metadata metadata = {.uuid = h->uuid, .program = h->program, .host = h->host};

	thrum__format_set_clock(&metadata, h);
	thrum__format_write_metadata((char *)h + h->metadata.offset, h->metadata.size, &metadata);
}

/* Allocates the recorder and its arrays as one block of private memory, in the order of their
 * alignment, and the lanes, which a child must not have. Returns NULL if there is no memory. */
static struct recorder *allocate_recorder(const struct thrum__header *h, uint32_t definitions)
{
	uint32_t n = h->packets;
	uint32_t live = (uint32_t)(h->live_tasks.size / sizeof(struct thrum__live_task));
	uint32_t id_block = live <= SMALL_TABLE ? ID_BLOCK_SMALL : ID_BLOCK;
	uint32_t regions = live / id_block;
	uint32_t known = UINT32_C(2) << (31 - __builtin_clz(definitions));
	size_t cells_at = ALIGNED(sizeof(struct recorder));
	size_t ready_at = cells_at + ALIGNED(n * sizeof(uint64_t));
	size_t regions_at = ready_at + ALIGNED(n * sizeof(uint32_t));
	size_t known_at = regions_at + ALIGNED(regions * sizeof(uint32_t));
	uint8_t *block = thrum__port_allocate(known_at + known * 2 * sizeof(uint16_t));

	if (!block)
		return NULL;
	struct recorder *r = (void *)block;

	size_t lanes = (n * sizeof(struct lane) + PAGE_MAX - 1) / PAGE_MAX * PAGE_MAX;

	r->lanes = thrum__port_allocate(lanes);
	if (!r->lanes)
		return NULL;
	thrum__port_wipe_on_fork(r->lanes, lanes);
	r->cells = (void *)(block + cells_at);
	r->ready = (void *)(block + ready_at);
	r->regions = (void *)(block + regions_at);
	r->known = (void *)(block + known_at);
	r->known_mask = known * 2 - 1;
	r->id_block = id_block;
	return r;
}

/* Whether memcheck runs the program: it would report that fast events read beyond texts' ends. */
static bool is_watched(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload_memcheck");
}

int thrum__record_lay_out(struct thrum__header *h, uint64_t size, const struct thrum_config *config)
{
	uint64_t page = config->memory ? 4096 : thrum__port_page_size();

	if (!config->counters_only)
		return thrum__format_lay_out(h, size, page);
	thrum__format_lay_out_counters(h, page);
	return 0;
}

int thrum__record_recorder_create(struct recorder **recorder, void *memory, uint64_t size,
	const struct thrum_config *config)
{
	struct thrum__header *h = memory;
	int error = thrum__record_lay_out(h, size, config);

	if (error)
		return error;
	uint32_t definitions = (uint32_t)(h->definitions.size / sizeof(struct thrum__definition));
	struct recorder *r = allocate_recorder(h, definitions);

	if (!r)
		return -THRUM_E_MEMORY;
	fill_in_header(h, r, config);
	write_metadata(h);
	r->header = h;
	r->size = size;
	r->packets = (uint8_t *)h + h->packet.offset;
	r->packet_size = h->packet_size;
	r->packet_count = h->packets;
	r->definitions = (void *)((uint8_t *)h + h->definitions.offset);
	r->definition_count = definitions;
	atomic_store(&r->definitions_used, 1);
	if (!config->no_live_tasks && !config->counters_only) {
		r->live = (void *)((uint8_t *)h + h->live_tasks.offset);
		r->live_mask = h->live_tasks.size / sizeof(struct thrum__live_task) - 1;
	}
	/* Never 0, which marks descriptors that were never used. */
	generation = generation % 65535 + 1;
	r->generation = generation;
	/* A program may still know tasks of the last recording: none of this one has such an id. */
	if (latest)
		atomic_store(&r->id_blocks,
			atomic_load(&latest->id_blocks) * latest->id_block / r->id_block + 1);
	latest = r;
	r->discard = config->full == THRUM_FULL_DISCARD;
	r->careful = is_watched();
	r->has_file = !config->memory;
	r->counters_only = config->counters_only;
	if (!r->counters_only)
		thrum__format_controls_init(&r->controls, (uint8_t *)h + h->control.offset,
			h->control.size);
	r->controls.mask = thrum__record_mask();
	r->controls.ticks = read_ticks;
	thrum__record_pool_init(r);
	*recorder = r;
	return 0;
}
