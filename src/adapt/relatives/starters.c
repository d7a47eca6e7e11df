/* SPDX-License-Identifier: ISC */
/*
 * Children of one thread alone. A thread that has started all of them waits for SIGCHLD though none is left:
 * then no signal comes, unless another thread starts one for the first time. A thread that takes the children
 * of others waits so all the time.
 */
#include "adapt/base/process.h"
#include "adapt/relatives/relatives.h"

#define ROUNDS_MIN 2 /* so often it started others after it had taken all */

/* The only thread that ever started children; SEVERAL: there are several; 0: nobody did. */
static _Atomic uint32_t starter;
/* How many were started and taken; and how often one was started after all others had been taken. */
static _Atomic uint32_t started, taken, rounds;

void thrum__adapt_children_started(void)
{
	uint32_t tid = own_tid(), known = 0;
	uint32_t before = atomic_fetch_add(&started, 1);

	if (!atomic_compare_exchange_strong(&starter, &known, tid) && known != tid)
		atomic_store(&starter, SEVERAL);
	if (before > 0 && before == atomic_load(&taken))
		atomic_fetch_add(&rounds, 1);
}

void thrum__adapt_starters_took(void)
{
	atomic_fetch_add(&taken, 1);
}

void thrum__adapt_starters_left(void)
{
	atomic_store(&starter, 0);
	atomic_store(&started, 0);
	atomic_store(&taken, 0);
	atomic_store(&rounds, 0);
}

bool thrum__adapt_starts_alone(void)
{
	return atomic_load(&starter) == own_tid() && atomic_load(&rounds) >= ROUNDS_MIN;
}
