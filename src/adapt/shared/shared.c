/* SPDX-License-Identifier: ISC */
/*
 * Semaphores that a process shares with copies of it: in memory, or of bytes in a pipe. All copies know one
 * by the same key, as they got this table by fork. So shared/sets.c notes who has its permits.
 */

#include "adapt/shared/sets.h"
#include "port/port.h"

#define PLACES 256u /* if several have the same place, only the latest is known */

_Atomic bool thrum__adapt_has_shares;
static struct {
	_Atomic uintptr_t address; /* 0: it is free; stored last */
	_Atomic uint64_t key;
	const struct share_kind *_Atomic kind;
} places[PLACES];

static unsigned place_of(const void *address)
{
	uintptr_t bits = (uintptr_t)address;

	return (unsigned)((bits >> 2 ^ bits >> 10 ^ bits >> 18) % PLACES);
}

void thrum__adapt_share_ends(const void *address)
{
	unsigned at = place_of(address);
	uintptr_t known = (uintptr_t)address;

	if (atomic_compare_exchange_strong(&places[at].address, &known, 0))
		thrum__adapt_set_ends_key(atomic_load(&places[at].key));
}

void thrum__adapt_share_begins(const void *address, unsigned permits, const struct share_kind *kind)
{
	unsigned at = place_of(address);
	uint64_t key = mix_key(mix_key(thrum__adapt_set_self()->thread, thrum__port_monotonic()),
			       (uintptr_t)address) |
		1;
	uintptr_t before = atomic_load(&places[at].address);

	/* A lock has to stay known. */
	if (permits == 0 && before && before != (uintptr_t)address)
		return;
	thrum__adapt_share_ends((const void *)before);
	if (!thrum__adapt_set_begins_key(key, permits, kind->returns))
		return;
	atomic_store(&places[at].key, key);
	atomic_store(&places[at].kind, kind);
	atomic_store(&places[at].address, (uintptr_t)address);
	atomic_store(&thrum__adapt_has_shares, true);
}

uint64_t thrum__adapt_share_key(const void *address)
{
	unsigned at = place_of(address);

	return atomic_load_explicit(&places[at].address, memory_order_acquire) == (uintptr_t)address
		? atomic_load(&places[at].key)
		: 0;
}

const void *thrum__adapt_share_address(uint64_t key)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (atomic_load(&places[i].key) == key && atomic_load(&places[i].address) != 0)
			return (const void *)atomic_load(&places[i].address);
	return NULL;
}

int thrum__adapt_share_value(uint64_t key)
{
	const void *address = thrum__adapt_share_address(key);

	return address ? atomic_load(&places[place_of(address)].kind)->value(address) : -1;
}

void thrum__adapt_share_put_name(char *to, uint64_t key)
{
	const void *address = thrum__adapt_share_address(key);

	strcpy(to, "a semaphore");
	if (address)
		atomic_load(&places[place_of(address)].kind)->put_name(to, address);
}
