/* SPDX-License-Identifier: ISC */
/* The turns of odd.h, sorted into series. Only files of this folder include it. */
#ifndef ANALYSE_ODD_TURNS_H
#define ANALYSE_ODD_TURNS_H

#include <stdatomic.h>

#include "analyse/graph.h"
#include "analyse/odd/odd.h"
#include "base/keys.h"

#define THRUM__ODD_EFFECTS 12 /* of one series; more are not told apart */

struct thrum__odd_effect {
	int kind;
	uint32_t like, on; /* the class of tasks on which it acts, and the latest of them */
	bool is_several;   /* it acted on others of the class, too */
	int64_t last;      /* when a turn that had it began, the latest */
};

/* Turns that are alike. Bit 0 of a turn's effects is always set, the bit i + 1 is for of[i]. */
struct thrum__odd_series {
	uint32_t turns, last; /* how many; the latest, + 1 */
	uint32_t count;
	struct thrum__odd_effect of[THRUM__ODD_EFFECTS];
	uint32_t both[THRUM__ODD_EFFECTS + 1][THRUM__ODD_EFFECTS + 1];
};

struct thrum__odd_turn {
	int64_t time, until;
	uint32_t task, after; /* after: see struct thrum__odd */
	uint32_t series;      /* NONE: it isn't known what began it */
	uint32_t before;      /* the turn of the series before it, + 1 */
	uint32_t
		works; /* by a descriptor, or of a callback: how often its lane had waited for work */
	uint32_t waits_on;  /* the class of what its thread waited for last, + 1; 0: not known */
	int32_t descriptor; /* -1: none */
	uint16_t effects;
	bool has_waited, closes; /* closes: its handle, which ended in the same round */
};

struct thrum__odd_work {
	const struct thrum__model *model;
	struct thrum__base_keys classes, keys; /* of tasks; of series */
	struct thrum__odd_series *series;
	uint32_t series_room;
	struct thrum__odd_turn *turns;
	uint32_t count, room;
	struct thrum__odd_known *known; /* while the turns are sorted */
	uint32_t *open;                 /* by task: its open turn, + 1 */
	uint32_t *ran, *rested;         /* by lane: its latest run; how often it waited for work */
	bool *is_vague;                 /* by class, of timers: it isn't known which run set one */
	uint32_t vague_room;
	int error;
	const atomic_bool *is_unwanted;
};

/* Sorts all turns of a model that has forgotten no row into series. Returns NULL if there is no memory, or
 * once *is_unwanted is set. The caller frees it by thrum__odd_turns_free. O(events). */
struct thrum__odd_work *thrum__odd_turns_make(const struct thrum__model *,
	const atomic_bool *is_unwanted);
/* NULL is nothing to free. */
void thrum__odd_turns_free(struct thrum__odd_work *);

#endif
