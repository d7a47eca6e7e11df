/* SPDX-License-Identifier: ISC */
/*
 * The memory of the counters: pages as format/counters.h describes them, always at the same address.
 *
 * While nothing is recorded they are memory of the process. While it records to a file they are the
 * file's own pages, so that others read the counters without the program's help, also when it was
 * killed. One mapping replaces the other in one step, but other threads add meanwhile. So the
 * values are copied to the new pages first; then the mapping is replaced; then, from a second
 * mapping of the old pages, comes whatever was added between the two. That is exact: after the
 * replacement nobody adds to the old pages any more.
 *
 * If that can't be done (the program gave the memory, or the kernel refuses), the pages stay the
 * process's, and the recording gets a copy about once a second, at a snapshot, and at the stop.
 *
 * A child process shares its parent's pages until its first call, which gives it a copy of its own.
 */
#include <string.h>

#include "record/record.h"

#ifndef THRUM_CORE
#define PAGES_MAX 256u
#else
#define PAGES_MAX THRUM__PORT_SHARED_PAGES
#endif
#define ROOM(pages) ((pages)*THRUM__COUNTERS_BLOCKS) /* blocks */
#define PATIENCE 1000                                /* tries to get the lock in a call */

struct counter_pages thrum__record_counter_pages;
#define the thrum__record_counter_pages

/* ---- The lock: held for a few stores, and while a recording starts or stops --------------- */

/* Waits as long as it takes. Not for signal handlers. */
void thrum__record_counter_pages_lock(void)
{
	uint32_t free = 0;

	while (!atomic_compare_exchange_weak(&the.lock, &free, 1)) {
		free = 0;
		thrum__port_yield();
	}
}

/* Waits a little: the holder may be the very code that this signal handler interrupted. */
static bool try_lock(void)
{
	for (int i = 0; i < PATIENCE; i++) {
		uint32_t free = 0;

		if (atomic_compare_exchange_strong(&the.lock, &free, 1))
			return true;
	}
	return false;
}

bool thrum__record_counter_pages_are_free(void)
{
	if (!try_lock())
		return false;
	thrum__record_counter_pages_unlock();
	return true;
}

void thrum__record_counter_pages_unlock(void)
{
	atomic_store_explicit(&the.lock, 0, memory_order_release);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static int64_t *block_at(struct thrum__counters_page *pages, uint32_t block)
{
	return pages[block / THRUM__COUNTERS_BLOCKS].words[block % THRUM__COUNTERS_BLOCKS];
}

static _Atomic uint32_t *tag_at(struct thrum__counters_page *pages, uint32_t block)
{
	return &pages[block / THRUM__COUNTERS_BLOCKS].tags[block % THRUM__COUNTERS_BLOCKS];
}

/* Takes a block and fills it in. The lock is held. Returns NULL if there is none left. */
static int64_t *add_block(unsigned part, unsigned number, const void *words)
{
	uint32_t block = atomic_load(&the.used);

	if (block >= the.room)
		return NULL;
	int64_t *to = block_at(the.pages, block);

	if (words)
		memcpy(to, words, THRUM__COUNTERS_WORDS * sizeof *to);
	atomic_store_explicit(&the.pages[block / THRUM__COUNTERS_BLOCKS].version,
		THRUM__COUNTERS_VERSION, memory_order_relaxed);
	/* Partner: the reader's acquire fence after it read the tags. */
	atomic_store_explicit(tag_at(the.pages, block), thrum__format_counters_tag(part, number),
		memory_order_release);
	atomic_store(&the.used, block + 1);
	return to;
}

int64_t *thrum__record_counter_block(unsigned part, unsigned number, const void *words,
	bool is_locked)
{
	bool is_full = atomic_load(&the.used) >= atomic_load(&the.room);

	if (is_full || (!is_locked && !try_lock()))
		return NULL;
	int64_t *block = add_block(part, number, words);

	if (!is_locked)
		thrum__record_counter_pages_unlock();
	return block;
}

/* ---- Copying -------------------------------------------------------------------------------- */

static int64_t load(const int64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Copies the blocks that are used. A tag is copied after its block. */
static void copy_blocks(struct thrum__counters_page *to, struct thrum__counters_page *from,
	uint32_t used)
{
	for (uint32_t block = 0; block < used; block++) {
		const int64_t *words = block_at(from, block);
		int64_t *copy = block_at(to, block);

		for (uint32_t i = 0; i < THRUM__COUNTERS_WORDS; i++)
			__atomic_store_n(&copy[i], load(&words[i]), __ATOMIC_RELAXED);
		atomic_store_explicit(&to[block / THRUM__COUNTERS_BLOCKS].version,
			THRUM__COUNTERS_VERSION, memory_order_relaxed);
		atomic_store_explicit(tag_at(to, block),
			atomic_load_explicit(tag_at(from, block), memory_order_acquire),
			memory_order_release);
	}
}

/* Adds to the shared blocks what was added to the old pages since they were copied. */
static void add_rest(struct thrum__counters_page *old, struct thrum__counters_page *copied,
	uint32_t used)
{
	for (uint32_t block = 0; block < used; block++) {
		uint32_t tag = atomic_load(tag_at(old, block));

		if (thrum__format_counters_part(tag) == THRUM__COUNTERS_NAME)
			continue;
		for (uint32_t i = 0; i < THRUM__COUNTERS_WORDS; i++) {
			int64_t now = load(block_at(old, block) + i);
			int64_t before = load(block_at(copied, block) + i);

			if (now != before)
				thrum__record_counter_add_part(tag, i, now, before);
		}
	}
}

/*
 * Makes `to` the counters' pages; it is shared memory. `old` is a second mapping of those that they
 * were. Returns false if that can't be done. The lock is held.
 */
static bool replace_pages(struct thrum__counters_page *to, struct thrum__counters_page *old,
	uint32_t count)
{
	size_t size = count * sizeof *to;
	uint32_t used = atomic_load(&the.used);
	struct thrum__counters_page *copied = thrum__port_allocate(size);

	if (!copied)
		return false;
	copy_blocks(copied, old, used);
	copy_blocks(to, copied, used);
	bool done = thrum__port_alias(to, size, the.pages) != NULL;

	if (done)
		add_rest(old, copied, used);
	else if (!thrum__port_alias(old, size, the.pages)) /* the refusal may have left a hole */
		thrum__port_detach(the.pages, size);
	thrum__port_unmap(copied, size);
	return done;
}

/* ---- The process ---------------------------------------------------------------------------- */

bool thrum__record_counter_pages_make(void)
{
	thrum__record_counter_pages_lock();
	if (!the.pages) {
		thrum__port_wipe_on_fork(&thrum__record_process, sizeof thrum__record_process);
		/* First, so that nobody who sees the pages takes them for a parent's. */
		atomic_store(&thrum__record_process.counters, COUNTERS_OURS);
		the.pages = thrum__port_allocate_shared(PAGES_MAX * sizeof *the.pages);
		the.room = ROOM(PAGES_MAX);
	}
	thrum__record_counter_pages_unlock();
	return the.pages != NULL;
}

/* Gives a child process pages of its own, with its parent's values. */
static void take_over(void)
{
	size_t size = PAGES_MAX * sizeof *the.pages;
	struct thrum__counters_page *own = thrum__port_allocate_shared(size);
	uint32_t used = atomic_load(&the.used);

	thrum__record_seats_forget();
	if (own)
		copy_blocks(own, the.pages, used);
	if (!own || !thrum__port_alias(own, size, the.pages))
		thrum__port_detach(the.pages, size); /* rather no values than its parent's */
	if (own)
		thrum__port_unmap(own, size);
	the.recorder = NULL;
	the.room = ROOM(PAGES_MAX);
	thrum__record_counter_pages_unlock();
}

void thrum__record_counters_adopt(void)
{
	uint32_t state = COUNTERS_FOREIGN;
	struct thrum__port_signals signals;

	if (!the.pages)
		return;
	/* A handler that came in the middle would wait for ever. */
	thrum__port_block_signals(&signals);
	if (atomic_compare_exchange_strong(&thrum__record_process.counters, &state,
		    COUNTERS_TAKING)) {
		take_over();
		atomic_store(&thrum__record_process.counters, COUNTERS_OURS);
	}
	while (atomic_load(&thrum__record_process.counters) != COUNTERS_OURS)
		thrum__port_yield();
	thrum__port_restore_signals(&signals);
}

/* ---- Recordings ----------------------------------------------------------------------------- */

void thrum__record_counters_begin(struct recorder *r)
{
	const struct thrum__section *section = &r->header->counters;
	uint64_t pages = section->size / sizeof(struct thrum__counters_page);

	r->counters = (void *)((uint8_t *)r->header + section->offset);
	r->counter_pages = pages < PAGES_MAX ? (uint32_t)pages : PAGES_MAX;
	if (!thrum__record_counter_pages_make())
		return;
	thrum__record_counter_pages_lock();
	uint32_t count = r->counter_pages;
	bool can_share = r->has_file && !the.recorder && atomic_load(&the.used) <= ROOM(count);
	struct thrum__counters_page *old = NULL;

	if (can_share)
		old = thrum__port_alias(the.pages, count * sizeof *old, NULL);
	/* From now on blocks must fit the file, also those that the replacement takes. */
	if (old)
		the.room = ROOM(count);
	if (old && replace_pages(r->counters, old, count))
		the.recorder = r;
	else
		the.room = ROOM(PAGES_MAX);
	if (old)
		thrum__port_unmap(old, count * sizeof *old);
	thrum__record_counter_pages_unlock();
	thrum__record_counters_refresh(r);
}

void thrum__record_counters_refresh(struct recorder *r)
{
	if (!the.pages || the.recorder == r)
		return;
	uint32_t used = atomic_load(&the.used);

	/* A part of the values would be wrong, so it is all or nothing. */
	if (used <= ROOM(r->counter_pages))
		copy_blocks(r->counters, the.pages, used);
	else
		atomic_store(&r->header->lost[THRUM__LOST_COUNTERS], thrum__record_counters_used());
}

void thrum__record_counters_end(struct recorder *r)
{
	thrum__record_counters_refresh(r);
	if (!the.pages || the.recorder != r)
		return;
	thrum__record_counter_pages_lock();
	size_t size = PAGES_MAX * sizeof *the.pages;
	struct thrum__counters_page *own = thrum__port_allocate_shared(size);

	/* If that fails, the pages remain the file's. */
	if (own && replace_pages(own, r->counters, PAGES_MAX)) {
		the.recorder = NULL;
		the.room = ROOM(PAGES_MAX);
	}
	if (own)
		thrum__port_unmap(own, size);
	thrum__record_counter_pages_unlock();
}
