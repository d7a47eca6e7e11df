/* SPDX-License-Identifier: ISC */
/* How long tasks usually live, by those that are alike: same kind, call site, and label but for its
 * numbers. */
#ifndef ANALYSE_WHY_PEERS_H
#define ANALYSE_WHY_PEERS_H

#include "analyse/why/places.h"
#include "base/keys.h"

struct thrum__peer {
	uint32_t ended, pending; /* cancelled ones are in neither */
	int64_t longest;
	int64_t usual; /* once somebody asked for it: thrum__why_peers_usual */
	bool has_usual;
};

struct thrum__peers {
	const struct thrum__model *model;
	struct thrum__base_keys keys;
	struct thrum__peer *all; /* by key */
	uint32_t room;
	const struct thrum__places *places;
	uint32_t *of; /* thrum__why_peers_key */
};

THRUM__MUST_USE int thrum__why_peers_make(const struct thrum__model *, const struct thrum__places *,
	struct thrum__peers *);
void thrum__why_peers_free(struct thrum__peers *);

/* A task's key, or NONE: nothing is like it. */
static inline uint32_t thrum__why_peers_key(const struct thrum__peers *peers, uint32_t task)
{
	return peers->of[thrum__place(peers->places, task)];
}

/* Those like a task, or NULL. */
const struct thrum__peer *thrum__why_peers_of(const struct thrum__peers *, uint32_t task);

/* Whether a pending task is no older than twice the age that one of those alike reached: it may
 * just be under way. */
bool thrum__why_peers_is_young(const struct thrum__peers *, uint32_t task);

/* The median life of those alike that ended. O(tasks × log tasks) for the first of them. */
THRUM__MUST_USE int thrum__why_peers_usual(struct thrum__peers *, uint32_t task, int64_t *usual);

#endif
