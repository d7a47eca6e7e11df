/* SPDX-License-Identifier: ISC */
/*
 * Odd turns: those that left out what others like them did. A turn is a run of a callback, a whole task of
 * another kind that has ended, a thread's work for a descriptor by which its loop woke up, or its work from
 * one wait to the next. Turns are alike if the same begins them, and if their tasks are of the same kind and
 * have labels of one pattern.
 */
#ifndef ANALYSE_ODD_H
#define ANALYSE_ODD_H

#include <stdatomic.h>

#include "model/model.h"

/* X(NAME, lacks, did, has): the effects of a turn, and the words for one without it, for one with it, and for
 * others with it. */
#define THRUM__EFFECTS(X) \
	X(NONE, "", "", "") \
	X(SIGNALS, "didn't signal", "signalled", "did") \
	X(ENDS, "ended none like", "ended", "ended one") \
	X(READIES, "made none ready like", "made ready", "made one ready") \
	X(BEGINS, "began none like", "began", "began one") \
	X(SETS, "set none like", "set", "set one") \
	X(STOPS, "stopped none like", "stopped", "stopped one")

enum thrum__effect {
#define THRUM__X(NAME, lacks, did, has) THRUM__EFFECT_##NAME,
	THRUM__EFFECTS(THRUM__X)
#undef THRUM__X
};

#define THRUM__ODD_TURNS 3

/* A series of turns, of which a few lack an effect, and none had it later. */
struct thrum__odd {
	uint32_t count; /* how many lack it: the latest first, as far as there is room */
	uint32_t with;  /* how many have it */
	uint32_t apart; /* the fewest with it before the first that lacks it, or between two */
	uint32_t task[THRUM__ODD_TURNS];
	int64_t time[THRUM__ODD_TURNS];
	int effect, given;     /* enum thrum__effect; given: all of these turns have it, or NONE */
	uint32_t on, given_on; /* tasks on which they acted, the latest */
	uint32_t after;     /* threads: the task for which they waited before the turn; or NONE */
	int64_t descriptor; /* threads: the one by which they woke up; -1: none */
};

/* A search, which may be asked several times. Set only the model, which must outlive it and not change. */
struct thrum__odd_search {
	const struct thrum__model *model;
	struct thrum__odd_work *work; /* all turns in their series; NULL until somebody asks */
	/* NULL, or waits for a thread that prepares a search of this model, and sets `work` to what it has
	 * made. If that isn't wanted any more, the thread may give up. It is called once. */
	void (*join)(struct thrum__odd_search *, bool is_wanted);
	void *context; /* for `join` */
};

/* Does what takes long before anybody asks: a thread may do it while others read the model. Gives up, and
 * leaves all to the first question, if there is no memory or once *is_unwanted is set. O(events). */
void thrum__analyse_odd_prepare(struct thrum__odd_search *, const atomic_bool *is_unwanted);

/*
 * Finds up to `max` series whose latest odd turn began before a time, the latest one first; unless `on` is
 * NONE, only those whose effect is on that task: then turns that closed their handle need none. Finds none if
 * events are missing. Returns how many there are, or -THRUM_E_MEMORY. The first call takes O(events).
 */
THRUM__MUST_USE int thrum__analyse_odd(struct thrum__odd_search *, uint32_t on, int64_t before,
	struct thrum__odd *, uint32_t max);

/* Frees what the search holds. */
void thrum__analyse_odd_free(struct thrum__odd_search *);

#endif
