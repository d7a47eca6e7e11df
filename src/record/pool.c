/* SPDX-License-Identifier: ISC */
/*
 * The pool: the packets that no lane has, in the order in which they were closed, and the lanes
 * that no thread has.
 *
 * The packets wait in a ring of cells. A cell holds turn << 33 | full << 32 | slot, where turn is
 * the number of times that the ring went round. To take a packet, change the head's cell from
 * FULL(turn) to EMPTY(turn + 1), then move the head on. To put one, change the tail's cell from
 * EMPTY(turn) to FULL(turn), then move the tail on. Each step is one compare-and-swap. A thread
 * that finds head or tail behind its cell moves it on, so no thread ever waits for another. (A
 * bounded variant of Michael and Scott's queue, 1996; modelled in verify/pool.pml.)
 *
 * Parked lanes keep their packet and form a stack whose top carries a tag against the ABA problem
 * (Treiber, 1986).
 */
#include "port/port.h"
#include "record/record.h"

static uint64_t cell_when_empty(uint64_t turn)
{
	return turn << 33;
}

static uint64_t cell_when_full(uint64_t turn, uint32_t slot)
{
	return turn << 33 | UINT64_C(1) << 32 | slot;
}

void thrum__record_pool_init(struct recorder *r)
{
	for (uint32_t slot = 0; slot < r->packet_count; slot++)
		atomic_init(&r->cells[slot], cell_when_full(0, slot));
	atomic_store(&r->tail, r->packet_count);
}

void thrum__record_pool_put(struct recorder *r, uint32_t slot)
{
	for (;;) {
		uint64_t tail = atomic_load(&r->tail);
		uint64_t turn = tail / r->packet_count;
		_Atomic uint64_t *cell = &r->cells[tail % r->packet_count];
		uint64_t seen = atomic_load(cell);
		bool mine = seen == cell_when_empty(turn) &&
			atomic_compare_exchange_strong(cell, &seen, cell_when_full(turn, slot));

		/* The cell is filled, by us or by another thread, so the tail moves on. */
		if (mine || seen != cell_when_empty(turn))
			atomic_compare_exchange_strong(&r->tail, &tail, tail + 1);
		if (mine)
			return;
	}
}

uint32_t thrum__record_pool_take(struct recorder *r)
{
	for (;;) {
		uint64_t head = atomic_load(&r->head);
		uint64_t turn = head / r->packet_count;
		_Atomic uint64_t *cell = &r->cells[head % r->packet_count];
		uint64_t seen = atomic_load(cell);

		if (seen == cell_when_empty(turn)) {
			if (atomic_load(&r->head) == head)
				return NO_PACKET;
			continue;
		}
		bool is_full = seen >> 32 == (turn << 1 | 1);
		bool mine = is_full &&
			atomic_compare_exchange_strong(cell, &seen, cell_when_empty(turn + 1));

		if (mine || !is_full)
			atomic_compare_exchange_strong(&r->head, &head, head + 1);
		if (mine)
			return (uint32_t)seen;
	}
}

/* Marks a packet that was taken to be given back. */
#define TAKEN UINT32_MAX

void thrum__record_pool_shrink(struct recorder *r, uint64_t bytes)
{
	uint32_t end = (uint32_t)((r->size - r->header->packet.offset) / r->packet_size);
	uint64_t kept = bytes > r->header->packet.offset
		? (bytes - r->header->packet.offset) / r->packet_size
		: 0;
	uint64_t head = atomic_load(&r->head), waiting = atomic_load(&r->tail) - head;
	uint32_t slot, last = end;

	/* Each packet once: others that are put meanwhile are at the end. */
	for (; waiting > 0 && (slot = thrum__record_pool_take(r)) != NO_PACKET; waiting--)
		if (r->ready[slot] == 0 && slot >= kept)
			r->ready[slot] = TAKEN;
		else
			thrum__record_pool_put(r, slot);
	/* Those at the end of the file are this thread's alone, for ever. */
	while (last > 0 && r->ready[last - 1] == TAKEN)
		last--;
	for (slot = 0; slot < last; slot++)
		if (r->ready[slot] == TAKEN) {
			r->ready[slot] = 0;
			thrum__record_pool_put(r, slot);
		}
	r->size -= (uint64_t)(end - last) * r->packet_size;
	if (end > last)
		thrum__port_unmap((uint8_t *)r->header + r->size,
			(size_t)(end - last) * r->packet_size);
}

void thrum__record_park(struct recorder *r, struct lane *lane)
{
	uint64_t top = atomic_load(&r->parked), next;

	do {
		atomic_store_explicit(&lane->next_parked, (uint32_t)top, memory_order_relaxed);
		next = ((top >> 32) + 1) << 32 | (lane->number + 1);
	} while (!atomic_compare_exchange_weak(&r->parked, &top, next));
}

struct lane *thrum__record_unpark(struct recorder *r)
{
	uint64_t top = atomic_load(&r->parked);

	while ((uint32_t)top) {
		struct lane *lane = &r->lanes[(uint32_t)top - 1];
		uint32_t below = atomic_load_explicit(&lane->next_parked, memory_order_relaxed);

		if (atomic_compare_exchange_weak(&r->parked, &top, ((top >> 32) + 1) << 32 | below))
			return lane;
	}
	return NULL;
}
