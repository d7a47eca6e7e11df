/* SPDX-License-Identifier: ISC */
/* Notes which threads of this process sleep for a time, from look to look. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>

#include "adapt/base/base.h"
#include "adapt/base/naps.h"
#include "port/port.h"

#define ROUNDS 3          /* so many looks have to see it nap, */
#define LASTING 500000000 /* for so many ns */
/* One that counts down naps for longer, and seldom so often. */
#define SHORT 300000000 /* ns of a nap, with its work, */
#define NAPS 12         /* or so many naps */

bool thrum__adapt_is_nap(const struct process_call *call)
{
	switch (call->number) {
	case SYS_clock_nanosleep:
#ifdef SYS_nanosleep
	case SYS_nanosleep:
#endif
		return true;
#ifdef SYS_poll
	case SYS_poll: return call->arguments[1] == 0 && (int)call->arguments[2] >= 0;
#endif
	case SYS_ppoll: return call->arguments[1] == 0 && call->arguments[2] != 0;
	default: return false;
	}
}

static struct napper *napper_of(struct naps *naps, uint32_t tid)
{
	struct napper *napper = NULL;

	for (unsigned i = 0; i < NAPPERS; i++) {
		if (naps->list[i].tid == tid)
			return &naps->list[i];
		if (!napper && naps->list[i].tid == 0)
			napper = &naps->list[i];
	}
	return napper;
}

void thrum__adapt_naps_see(struct naps *naps, pid_t process, uint32_t tid, bool runs, bool is_nap)
{
	struct napper *napper = napper_of(naps, tid);
	bool is_known = napper && napper->tid == tid;
	uint64_t turns;

	if (!napper)
		return;
	if (runs ? !is_known || napper->is_awake : !is_nap) {
		if (is_known)
			napper->tid = 0;
		return;
	}
	turns = thrum__adapt_process_turns(process, tid);
	if (!is_known)
		*napper = (struct napper){.tid = tid, .first = turns, .since = rough_time()};
	if (turns != napper->turns)
		napper->rounds++;
	napper->turns = turns;
	napper->is_awake = runs;
}

static void look_at_thread(void *context, int directory, const char *name)
{
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	struct process_call call;
	bool runs;

	if (tid == own_tid())
		return;
	runs = !thrum__adapt_process_call(own_pid(), tid, &call);
	thrum__adapt_naps_see(context, own_pid(), tid, runs, !runs && thrum__adapt_is_nap(&call));
}

void thrum__adapt_naps_note(struct naps *naps)
{
	thrum__adapt_process_each(own_pid(), "/task", look_at_thread, naps);
}

bool thrum__adapt_naps_goes_round(const struct naps *naps, uint32_t tid,
	const struct process_call *call)
{
	for (unsigned i = 0; naps && i < NAPPERS; i++) {
		const struct napper *napper = &naps->list[i];
		int64_t time = rough_time() - napper->since;
		uint64_t count = napper->turns - napper->first;

		if (napper->tid == tid)
			return napper->rounds >= ROUNDS && time >= LASTING &&
				(count >= NAPS || count >= (uint64_t)(time / SHORT)) &&
				(!call || thrum__adapt_is_nap(call));
	}
	return false;
}
