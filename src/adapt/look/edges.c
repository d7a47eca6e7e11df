/* SPDX-License-Identifier: ISC */
/*
 * Watches of epoll that tell of new data only (EPOLLET). If the code that was told leaves some of it, nobody
 * is told of the rest. A program may want that: it reads on once another thread is done, or after some time.
 * So a rest is known to be left for good only if each read of such a descriptor came in the turn that told of
 * it, the loop has gone round often meanwhile, and the other end waits in vain while nobody works.
 */
#include "adapt/look/look.h"

#define HABIT 3 /* so many reads came in their turns */
#define TURNS 4 /* of the loop, in which the rest was left */

_Atomic bool thrum__adapt_are_edges;
static _Atomic uint32_t reads; /* that came in their turns */
static _Atomic bool are_late;  /* one came later, or by another thread */

void thrum__adapt_edge_read(int fd)
{
	int in_turn = thrum__adapt_watch_in_turn(fd);

	if (in_turn == 0)
		atomic_store_explicit(&are_late, true, memory_order_relaxed);
	else if (in_turn > 0)
		atomic_fetch_add_explicit(&reads, 1, memory_order_relaxed);
}

bool thrum__adapt_edge_is_left(int fd, int64_t since, uint32_t turns, thrum_task *waiter)
{
	return !atomic_load(&are_late) && atomic_load(&reads) >= HABIT && turns >= TURNS &&
		!thrum__adapt_listens(fd) && thrum__adapt_rounds_are_idle(fd, since, waiter) &&
		thrum__adapt_unread(fd) > 0;
}
