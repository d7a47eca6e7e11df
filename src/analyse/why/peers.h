/* SPDX-License-Identifier: ISC */
/*
 * Peers: the tasks that are like one another, and how long they live. Tasks are alike if they have
 * the same kind, the same call site, and labels with the same pattern (analyse/label.h). Tasks of a
 * lane, and tasks with neither label nor call site, have no peers. A task that became another lives
 * as long as that one: links of a chain that goes on are in neither count but for the last.
 *
 * A family is wider: tasks of the same kind and call site whose labels begin with the same word, and
 * have different patterns. "query www.org" and "query mx.org" are of one family.
 */
#ifndef ANALYSE_WHY_PEERS_H
#define ANALYSE_WHY_PEERS_H

#include "analyse/places.h"
#include "base/keys.h"

#define THRUM__LATEST 4

/* How many tasks were due soon (within a second of their creation), the longest of these times in ns,
 * and how many were due later. */
struct thrum__dues {
	uint32_t soon, late;
	int64_t longest;
};

struct thrum__peer {
	uint32_t ended, pending; /* how many tasks; cancelled ones are in neither */
	uint32_t ran, resolved;  /* those that ever ran; those that were resolved */
	uint32_t old;            /* of the pending ones: those that are not young */
	/* When the latest of those that ended were created, the last one first; -1: there is
	 * none. */
	int64_t latest[THRUM__LATEST];
	uint32_t sample;          /* the last created of those that were resolved, or NONE */
	int64_t longest;          /* life of those that ended, in ns */
	int64_t longest_resolved; /* the same of those that were resolved, preexisting ones included */
	int64_t usual;            /* the median life; set by thrum__why_peers_usual */
	bool has_usual, has_awaits;
	struct thrum__dues dues;   /* of those that ended or were cancelled */
	struct thrum__dues awaits; /* set by thrum__why_peers_awaits */
	uint32_t family;           /* index of the family, or NONE */
	uint32_t labels;           /* of a family: how many patterns of labels it has */
};

struct thrum__peers {
	const struct thrum__model *model;
	struct thrum__base_keys keys;
	struct thrum__peer *all; /* by key */
	uint32_t room;
	struct thrum__base_keys family_keys;
	struct thrum__peer *families; /* by family key */
	uint32_t family_room;
	const struct thrum__places *places;
	uint32_t *of; /* key by place of tasks: thrum__why_peers_key */
	bool is_over; /* the program says that nothing can happen any more: no task is young */
};

/* Counts all tasks of the model. The model and the places must outlive *peers. Returns 0 or
 * -THRUM_E_MEMORY. Free with thrum__why_peers_free. O(tasks). */
THRUM__MUST_USE int thrum__why_peers_make(const struct thrum__model *, const struct thrum__places *,
	struct thrum__peers *);
void thrum__why_peers_free(struct thrum__peers *);

/* A task's key: tasks with the same key are peers. NONE: it has no peers. */
static inline uint32_t thrum__why_peers_key(const struct thrum__peers *peers, uint32_t task)
{
	return peers->of[thrum__place(peers->places, task)];
}

/* The counts of a task's peers and itself, or NULL if it has no key. */
const struct thrum__peer *thrum__why_peers_of(const struct thrum__peers *, uint32_t task);

/* The counts of a task's family, or NULL if it has none or no more than one label. */
const struct thrum__peer *thrum__why_peers_family(const struct thrum__peers *, uint32_t task);

/* The dues of the tasks that have ended and for which a task's peers waited; NULL if it has no key.
 * O(tasks) for the first question. */
const struct thrum__dues *thrum__why_peers_awaits(const struct thrum__peers *, uint32_t task);

/* The task that waited latest for a task, or NONE. */
uint32_t thrum__why_peers_waiter(const struct thrum__model *, uint32_t task);

/* Whether a pending task may just be under way: some peers ended, and its age is no more than twice
 * the longest life among them. */
bool thrum__why_peers_is_young(const struct thrum__peers *, uint32_t task);

/* Whether a task has ended peers, and is much older than any of them became. */
bool thrum__why_peers_is_overdue(const struct thrum__peers *, uint32_t task);

/* How many times as old a task is as any of its peers became; 0 if fewer than two have ended. */
int64_t thrum__why_peers_lateness(const struct thrum__peers *, uint32_t task);

/* Sets *usual to the median life of a task's peers that ended, in ns; 0 if there are none. Returns
 * 0 or -THRUM_E_MEMORY. O(tasks × log tasks) for the first question about the same peers. */
THRUM__MUST_USE int thrum__why_peers_usual(struct thrum__peers *, uint32_t task, int64_t *usual);

#endif
