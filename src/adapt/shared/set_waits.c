/* SPDX-License-Identifier: ISC */
/* Waits for semaphores and queues that processes share, which all of them know. */
#include <errno.h>

#include "adapt/base/process.h"
#include "adapt/shared/sets.h"

/* Takes a place that is free, or one of those that have ended if is_ended. */
static uint32_t take_place(uint64_t self, bool is_ended)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	uint32_t place = 0;

	for (; place < FORKS_WAITS; place++) {
		uint64_t before = atomic_load(&forks->wait[place].thread);

		if ((!before ||
			    (is_ended && thrum__adapt_process_is_over((pid_t)(before >> 32)))) &&
			atomic_compare_exchange_strong(&forks->wait[place].thread, &before, self))
			break;
	}
	return place;
}

uint32_t thrum__adapt_set_waits(uint64_t key)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();
	int error = errno;
	uint64_t self = thrum__adapt_set_self()->thread;
	uint32_t place = take_place(self, false);

	if (place == FORKS_WAITS)
		place = take_place(self, true);
	errno = error;
	if (place == FORKS_WAITS)
		return place;
	atomic_fetch_add(&forks->wait[place].turn, 1);
	atomic_store(&forks->wait[place].is_told, 0);
	atomic_store(&forks->wait[place].looks, 0);
	atomic_store(&forks->wait[place].key, key);
	return place;
}

void thrum__adapt_set_wait_looks(uint32_t place, bool looks)
{
	if (place < FORKS_WAITS)
		atomic_store(&thrum__adapt_forks()->wait[place].looks, looks);
}

void thrum__adapt_set_wait_over(uint32_t place)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();

	if (place >= FORKS_WAITS)
		return;
	atomic_store(&forks->wait[place].key, 0);
	atomic_fetch_add(&forks->wait[place].turn, 1);
	atomic_store(&forks->wait[place].thread, 0);
}

/* Returns the place of a thread's wait, or FORKS_WAITS. */
static uint32_t place_of(uint64_t thread)
{
	const struct thrum__adapt_forks *forks = thrum__adapt_forks();
	uint32_t place = 0;

	while (place < FORKS_WAITS && atomic_load(&forks->wait[place].thread) != thread)
		place++;
	return place;
}

uint64_t thrum__adapt_set_wait_of(uint64_t thread, uint32_t *turn)
{
	const struct thrum__adapt_forks *forks = thrum__adapt_forks();
	uint32_t place = place_of(thread);

	if (place == FORKS_WAITS)
		return 0;
	*turn = atomic_load(&forks->wait[place].turn);
	return atomic_load(&forks->wait[place].key);
}

bool thrum__adapt_set_wait_is_looked(uint64_t thread)
{
	uint32_t place = place_of(thread);

	return place < FORKS_WAITS && atomic_load(&thrum__adapt_forks()->wait[place].looks);
}

bool thrum__adapt_set_tells(uint64_t thread)
{
	uint32_t place = place_of(thread);

	return place < FORKS_WAITS &&
		atomic_exchange(&thrum__adapt_forks()->wait[place].is_told, 1) == 0;
}

bool thrum__adapt_set_is_told(uint64_t thread)
{
	uint32_t place = place_of(thread);

	return place < FORKS_WAITS && atomic_load(&thrum__adapt_forks()->wait[place].is_told);
}
