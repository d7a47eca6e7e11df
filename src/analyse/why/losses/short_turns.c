/* SPDX-License-Identifier: ISC */
/*
 * Tells which thread cut a turn short. Threads that take a lock again and again in one place take it in
 * another place between, where they tell that a job is done. Only one or two turns don't come there: they
 * may have left early. A place where they go to wait for a condition isn't meant.
 */
#include "analyse/graph.h"
#include "analyse/why/parts.h"

#define LOCKS_BACK 8192 /* edges of a thread that are searched, from the latest back */
#define PLACES 16       /* where the lock is taken; with more, nothing is told */
#define TURNS_MIN 6     /* so many turns that come to a place show that each should, */
#define SHORT_MOST 2    /* but for so many, */
#define SHARE 4         /* and this part of the others */

/* The turns of all threads that begin in one place. */
struct turns {
	uint32_t count;
	uint32_t with[PLACES];    /* how many come to the other place, */
	uint32_t last[PLACES];    /* and how many of them come there last; */
	uint32_t missing[PLACES]; /* the edge by which a turn began that doesn't come there */
	uint32_t there[PLACES];   /* the latest edge by which one came there */
};

struct places {
	int place[PLACES];
	unsigned count;
	bool are_more;
	bool waits[PLACES]; /* a thread went to wait for a condition after it took the lock there */
	struct turns turns[PLACES];
};

/* A thread, from its latest edge back: what has been seen since the place itself was. */
struct seen {
	bool waits; /* for a condition, since the lock was taken last */
	bool has[PLACES];
	uint32_t places[PLACES]; /* bits */
	uint32_t edges[PLACES];  /* the latest in each place */
	unsigned last[PLACES];   /* the place that a turn comes to last */
};

static unsigned index_of(struct places *places, int place)
{
	unsigned i = 0;

	while (i < places->count && places->place[i] != place)
		i++;
	if (i == places->count && i < PLACES)
		places->place[places->count++] = place;
	places->are_more |= i == PLACES || place <= 0;
	return i;
}

/* A turn begins in a place, by an edge. Its end is known. */
static void note_turn(struct turns *turns, const struct seen *seen, unsigned place, uint32_t edge)
{
	turns->count++;
	for (unsigned i = 0; i < PLACES; i++) {
		if (!(seen->places[place] >> i & 1)) {
			turns->missing[i] = edge;
			continue;
		}
		turns->with[i]++;
		turns->last[i] += seen->last[place] == i;
		turns->there[i] = seen->edges[i];
	}
}

/* The thread takes the lock, in a place with this number, by an edge. */
static void note_lock(struct places *places, struct seen *seen, int number, uint32_t edge)
{
	unsigned place = index_of(places, number);

	if (places->are_more)
		return;
	if (seen->has[place])
		note_turn(&places->turns[place], seen, place, edge);
	places->waits[place] |= seen->waits;
	seen->waits = false;
	seen->has[place] = true;
	seen->places[place] = 0;
	seen->edges[place] = edge;
	for (unsigned i = 0; i < PLACES; i++) {
		if (i == place)
			continue;
		if (!seen->places[i])
			seen->last[i] = place;
		seen->places[i] |= 1u << place;
	}
}

static void look_at(struct places *places, const struct thrum__model *model, uint32_t thread,
	uint32_t lock)
{
	struct seen seen = {.waits = false};

	THRUM__EDGES_FROM (model, thread, edge, LOCKS_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to);

		seen.waits |= kind == THRUM__EDGE_WAIT && thrum__why_is_condition(model, to);
		if (kind == THRUM__EDGE_LOCK && to == lock)
			note_lock(places, &seen, thrum__model_edge_place(model, edge), edge);
		if (places->are_more)
			return;
	}
}

/* Whether nearly all turns come to a place. */
static bool is_usual(const struct turns *turns, unsigned place)
{
	uint32_t with = turns->with[place], without = turns->count - with;

	return with >= TURNS_MIN && without > 0 && without <= SHORT_MOST && without * SHARE <= with;
}

bool thrum__why_find_short_turn(const struct thrum__model *model, uint32_t lock, int64_t since,
	struct thrum__step *step)
{
	struct places places = {.count = 0};
	uint32_t most = 0;

	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD)
			look_at(&places, model, task, lock);
	for (unsigned i = 0; i < places.count * PLACES && !places.are_more; i++) {
		const struct turns *turns = &places.turns[i / PLACES];
		unsigned at = i % PLACES;

		if (places.waits[at] || !is_usual(turns, at) || turns->last[at] < most ||
			THRUM__EDGE(model, turns->missing[at], time) < since)
			continue;
		most = turns->last[at] + 1;
		*step = (struct thrum__step){.kind = THRUM__STEP_SHORT_TURN,
			.task = THRUM__EDGE(model, turns->missing[at], from),
			.other = step->other,
			.time = THRUM__EDGE(model, turns->missing[at], time),
			.edge = turns->there[at],
			.more = turns->with[at]};
	}
	return most > 0;
}
