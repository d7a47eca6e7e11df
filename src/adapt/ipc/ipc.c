/* SPDX-License-Identifier: ISC */
/* Looks whether the calling thread and all its relatives wait for each other, and tells it. */
#include "adapt/ipc/ipc.h"
#include "adapt/ends/stuck.h"
#include "adapt/shared/sets.h"

#define SOON 8 /* looks that come soon, at most */

int thrum__adapt_ipc_pause(struct ipc_look *look, int pause)
{
	if (!look->is_soon || look->soons >= SOON)
		return next_pause(pause);
	look->soons++;
	return LOOK_FIRST;
}

void thrum__adapt_ipc_tell_begin(struct ipc_look *look)
{
	const void *caller = look->wait->caller;

	if (!look->is_begun)
		return;
	thrum__adapt_wait_end(look->wait);
	thrum__adapt_wait_make(look->wait, look->kind, look->label, caller);
}

void thrum__adapt_ipc_tell_end(struct ipc_look *look)
{
	if (look->is_begun)
		thrum__adapt_wait_go(look->wait, &thrum__adapt_outside);
}

bool thrum__adapt_ipc_look(struct ipc_look *look, const struct process_call *call)
{
	struct stuck *stuck = thrum__adapt_stuck_take();
	bool is_stuck, tells;

	if (!stuck)
		return false;
	is_stuck = thrum__adapt_stuck_find_call(stuck, call);
	tells = is_stuck && stuck->sum == look->before && !thrum__adapt_stuck_has_stranger(stuck) &&
		thrum__adapt_stuck_is_teller(stuck);
	if (tells) {
		thrum__adapt_ipc_tell_begin(look);
		thrum__adapt_stuck_tell(look->wait, stuck);
		/* Those who wait for this process need not tell it again. */
		thrum__adapt_set_tells(thrum__adapt_set_self()->thread);
		thrum__adapt_ipc_tell_end(look);
	}
	look->before = is_stuck ? stuck->sum : 0;
	look->is_soon = is_stuck ? thrum__adapt_stuck_leads(stuck)
				 : stuck->is_blurred && stuck->oldest == stuck->look.self;
	thrum__adapt_stuck_release();
	return tells;
}
