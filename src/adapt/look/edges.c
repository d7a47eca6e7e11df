/* SPDX-License-Identifier: ISC */
/*
 * Watches of epoll that tell of new data only (EPOLLET). If the code that was told leaves some of it, nobody
 * is told of the rest. A program may want that: it reads on once another thread is done, or after some time.
 * So a rest is known to be left for good only if each read of such a descriptor came in the turn that told of
 * it, the loop has gone round often meanwhile, and the other end waits in vain while nobody works.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>

#include "adapt/look/look.h"

#define HABIT 3 /* so many reads, or accepts, came in their turns */
#define TURNS 4 /* of the loop, in which the rest was left */

_Atomic bool thrum__adapt_are_edges;
static _Atomic uint32_t reads; /* that came in their turns */
static _Atomic bool are_late;  /* one came later, or by another thread */

void thrum__adapt_edge_read(int fd)
{
	int in_turn = thrum__adapt_watch_in_turn(fd);

	if (in_turn == 0)
		atomic_store_explicit(&are_late, true, memory_order_relaxed);
	else if (in_turn > 0 && atomic_load_explicit(&reads, memory_order_relaxed) < HABIT)
		atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
}

bool thrum__adapt_edge_is_left(int fd, int64_t at, int64_t since, uint32_t turns,
	thrum_task *waiter)
{
	return !atomic_load(&are_late) && atomic_load(&reads) >= HABIT && turns >= TURNS &&
		thrum__adapt_rounds_are_idle(fd, at, since, true, waiter) &&
		thrum__adapt_unread(fd) > 0;
}

/* ---- Telling ----------------------------------------------------------------------------------- */

/* Whether nobody is about to read what is left of a connection. From other descriptors, such as a
 * pipe that only wakes a loop, it need not be read. */
bool thrum__adapt_edge_may_tell(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode) &&
		thrum__adapt_others_nap(thrum__adapt_look_naps());
}

/* The code of the program that took of a descriptor last; else where the thread waits. */
static const void *taker_at(int fd, const void *accepter, const void *waits_at)
{
	const void *at = accepter ? accepter : thrum__adapt_reader(fd);

	return at && (accepter || thrum__adapt_is_of_program(at)) ? at : waits_at;
}

thrum_task thrum__adapt_edge_make(int fd, bool is_beside, const void *accepter,
	const void *waits_at)
{
	bool is_door = thrum__adapt_listens(fd);
	const void *caller = taker_at(fd, is_door ? accepter : NULL, waits_at);
	const char *callback = is_door ? NULL : thrum__adapt_removed_callback(fd, waits_at);
	char label[CALL_MAX + PLACE_MAX + 60];

	/* A timer may yet let somebody read on, the first time. */
	thrum__adapt_put_call(label,
		is_door ? "queued connections of edge-triggered"
			: is_beside && thrum__adapt_timers_are_armed()
			? "data so far unread of edge-triggered"
			: "unread data of edge-triggered",
		fd);
	if (is_beside)
		strcat(label, BESIDE);
	if (callback)
		thrum__adapt_label(label + strlen(label), ", left by the event", callback);
	else
		thrum__adapt_label(label + strlen(label), ", left by", caller);
	return thrum__create(thrum__adapt_site(callback ? callback + 1 : caller), THRUM_KIND_TASK,
		label);
}
