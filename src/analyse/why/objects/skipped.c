/* SPDX-License-Identifier: ISC */
/*
 * Tells which thread left a step out once. It does rounds: each time it goes on, after it waited for the
 * same thing, it signals a condition before it waits for that again; only once it did not. That counts where
 * others wait for that condition, or where those that hear it serve it.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 4096 /* edges of a task that are searched, from the latest back */
#define ROUNDS_MIN 8   /* so many rounds with a signal show that each should have one */
#define KEYS 6         /* things that a thread waits for, and conditions that it signals */
#define OF_SITE 0x80000000u

/* The rounds of a thread, from the latest back. */
struct rounds {
	uint32_t on[KEYS], signalled[KEYS]; /* keys of what it waits for; conditions */
	bool has[KEYS][KEYS];               /* whether the round has the signal */
	unsigned on_count, signalled_count;
	struct round {
		uint32_t with, without, edge; /* edge: by which the one without began */
	} of[KEYS][KEYS];
};

/* The index of a key, which is added if it is new and there is room; else KEYS. */
static unsigned index_of(uint32_t keys[KEYS], unsigned *count, uint32_t key)
{
	unsigned i = 0;

	while (i < *count && keys[i] != key)
		i++;
	if (i == *count && i < KEYS) {
		keys[i] = key;
		++*count;
	}
	return i;
}

/* The thread goes on by an edge: a round begins there. */
static void note_begin(struct rounds *rounds, const struct thrum__model *model, uint32_t edge)
{
	uint32_t to = THRUM__EDGE(model, edge, to), key = to, site;
	unsigned on, before = rounds->on_count;

	if (!thrum__model_has_row(&model->tasks, to))
		return;
	site = THRUM__TASK(model, to, site);
	if (!thrum__analyse_task_is_object(model, to))
		key = site > 0 ? site | OF_SITE : THRUM__NONE;
	on = key == THRUM__NONE ? KEYS : index_of(rounds->on, &rounds->on_count, key);
	if (on == KEYS)
		return;
	/* In the last one the signal may yet come. */
	for (unsigned i = 0; i < rounds->signalled_count && on < before; i++) {
		struct round *round = &rounds->of[on][i];

		if (rounds->has[on][i]) {
			round->with++;
		} else if (round->with > 0) {
			round->without++;
			round->edge = edge;
		}
		rounds->has[on][i] = false;
	}
}

static void note_signal(struct rounds *rounds, uint32_t condition)
{
	unsigned i = index_of(rounds->signalled, &rounds->signalled_count, condition);

	for (unsigned on = 0; i < KEYS && on < rounds->on_count; on++)
		rounds->has[on][i] = true;
}

static void look_at(struct rounds *rounds, const struct thrum__model *model, uint32_t thread)
{
	THRUM__EDGES_FROM (model, thread, edge, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ)
			note_begin(rounds, model, edge);
		else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			thrum__why_is_condition(model, to))
			note_signal(rounds, to);
	}
}

/* Whether a condition is the leaf, or one of those that serve the leaf hears its signals. */
static bool leads_to(const struct thrum__model *model, uint32_t condition, uint32_t leaf,
	const struct thrum__why_servers *servers)
{
	if (condition == leaf)
		return true;
	THRUM__ACTS_ON (model, condition, edge, LOOK_BACK, THRUM__EDGE_READ)
		if (thrum__why_is_server(servers, THRUM__EDGE(model, edge, from)))
			return true;
	return false;
}

/* Adds a step for the round of a thread that lacks a signal which all others have. */
static void add_round(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path, uint32_t thread,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	struct rounds rounds = {0};

	look_at(&rounds, model, thread);
	for (unsigned i = 0; i < rounds.on_count * KEYS; i++) {
		const struct round *round = &rounds.of[i / KEYS][i % KEYS];
		uint32_t condition = rounds.signalled[i % KEYS];

		if (round->with < ROUNDS_MIN || round->without != 1 ||
			!thrum__analyse_had_waiter(model, condition,
				THRUM__EDGE(model, round->edge, time)) ||
			!leads_to(model, condition, path->leaf, servers))
			continue;
		thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_SKIPS, thread,
					    condition, round->edge),
			round->with);
		return;
	}
}

void thrum__why_add_skipped(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	unsigned before = finding->step_count;
	struct thrum__why_servers servers;

	if (!last || THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_CONDITION ||
		finding->certainty != THRUM__POSSIBLE || search->gap >= 0)
		return;
	thrum__why_servers_of(model, path->leaf, last->task, &servers);
	THRUM__EACH_TASK (model, task)
		if (task != last->task && THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD)
			add_round(finding, search, path, task, &servers);
	/* Where several do so, it is no rule. */
	if (finding->step_count > before + 1)
		finding->step_count = (uint8_t)before;
}
