/* SPDX-License-Identifier: ISC */
/* Counts how long tasks that are alike lived, how they ended, and who waited for them. */
#include "analyse/why/peers.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/why/parts.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"

#define KNOWN 4096
#define SOON 1000000000 /* ns */
#define LATE_PEERS 2
#define WAITER_BACK 8 /* edges to a task that are searched for one that waited for it */

/* The keys of some names, kinds and call sites: most tasks are like one not long before. */
struct known_key {
	uint64_t number; /* of the kind and the site, + 1; 0: none is known here */
	uint32_t name, key;
};

static const struct thrum__peer no_peer = {.sample = THRUM__NONE,
	.latest = {-1, -1, -1, -1},
	.family = THRUM__NONE};

/* Makes room for the counts with the index `at`. */
static int grow(struct thrum__peer **all, uint32_t *room, uint32_t at)
{
	uint32_t old = *room;
	struct thrum__peer *grown;

	if (at < old)
		return 0;
	grown = thrum__base_grow(*all, room, at + UINT64_C(1), sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	*all = grown;
	for (uint32_t i = old; i < *room; i++)
		grown[i] = no_peer;
	return 0;
}

/* The size of a label's first word, if more words follow; else 0. */
static size_t first_word(const char *label, size_t size)
{
	size_t word = 0;

	while (word < size && label[word] != ' ')
		word++;
	return word + 1 < size ? word : 0;
}

/* Makes the counts of a key that may be new. */
static int add_key(struct thrum__peers *peers, uint64_t number, const char *pattern, size_t size,
	uint32_t *key)
{
	uint32_t known = peers->keys.count, family;
	int error = thrum__base_keys_add(&peers->keys, number, pattern, size, key);
	size_t word = first_word(pattern, size);

	if (error == 0)
		error = grow(&peers->all, &peers->room, *key);
	if (error < 0 || *key < known || word == 0)
		return error;
	error = thrum__base_keys_add(&peers->family_keys, number, pattern, word, &family);
	if (error == 0)
		error = grow(&peers->families, &peers->family_room, family);
	if (error == 0)
		peers->all[*key].family = family;
	return error;
}

/* Finds the key of a task. `known` has KNOWN elements. */
static int find_key(struct thrum__peers *peers, struct known_key *known, uint32_t task,
	uint32_t *key)
{
	const struct thrum__model *model = peers->model;
	uint32_t name = THRUM__TASK(model, task, name);
	uint64_t site = THRUM__TASK(model, task, site);
	uint64_t number = THRUM__TASK(model, task, kind) | site << 8;
	char pattern[THRUM__LABEL_PATTERN_MAX];
	const char *label;
	size_t size;
	int error;

	known += thrum__base_hash_number(number, name) % KNOWN;
	if (known->number == number + 1 && known->name == name) {
		*key = known->key;
		return 0;
	}
	label = thrum__model_string(model, name, &size);
	size = thrum__analyse_label_pattern(label, size, pattern);
	error = add_key(peers, number, pattern, size, key);
	if (error == 0)
		*known = (struct known_key){number + 1, name, *key};
	return error;
}

/* How long a task lived that has ended, with those that it became; -1: it hasn't, or was
 * cancelled. */
static int64_t life_of(const struct thrum__model *model, uint32_t task)
{
	int state = THRUM__TASK(model, task, state);
	uint32_t heir = task;

	if (state == THRUM__STATE_BECAME) {
		heir = thrum__model_heir(model, task);
		state = THRUM__TASK(model, heir, state);
	}
	return state == THRUM__STATE_RESOLVED || state == THRUM__STATE_FAILED
		? THRUM__TASK(model, heir, end) - THRUM__TASK(model, task, created)
		: -1;
}

static void remember_latest(struct thrum__peer *peer, int64_t created)
{
	int i = THRUM__LATEST - 1;

	if (created <= peer->latest[i])
		return;
	for (; i > 0 && created > peer->latest[i - 1]; i--)
		peer->latest[i] = peer->latest[i - 1];
	peer->latest[i] = created;
}

static void add_dues(struct thrum__dues *dues, const struct thrum__dues *more)
{
	dues->soon += more->soon;
	dues->late += more->late;
	dues->longest = more->longest > dues->longest ? more->longest : dues->longest;
}

/* The due time of a task, for the counts. */
static struct thrum__dues due_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);
	int64_t due;

	if (!(THRUM__TASK(model, task, flags) & THRUM__TASK_DUE))
		return (struct thrum__dues){0};
	while (thrum__model_has_row(&model->notes, note) &&
		THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
		note = THRUM__NOTE(model, note, prev);
	if (!thrum__model_has_row(&model->notes, note) ||
		THRUM__NOTE(model, note, value) == THRUM__OPEN)
		return (struct thrum__dues){0};
	due = THRUM__NOTE(model, note, value) - THRUM__TASK(model, task, created);
	return due > SOON ? (struct thrum__dues){.late = 1}
			  : (struct thrum__dues){.soon = 1, .longest = due};
}

static void count_resolved(struct thrum__peer *peer, uint32_t task, int64_t life)
{
	peer->resolved++;
	peer->sample = task;
	peer->longest_resolved = life > peer->longest_resolved ? life : peer->longest_resolved;
}

static void count_task(struct thrum__peers *peers, uint32_t task, uint32_t key)
{
	const struct thrum__model *model = peers->model;
	struct thrum__peer *peer = &peers->all[key];
	int64_t life;

	if (thrum__analyse_task_is_pending(model, task)) {
		peer->pending++;
	} else if (THRUM__TASK(model, task, flags) & THRUM__TASK_DUE) {
		struct thrum__dues due = due_of(model, task);

		add_dues(&peer->dues, &due);
	}
	peer->ran += THRUM__TASK(model, task, run) != THRUM__NONE;
	life = life_of(model, task);
	if (life < 0)
		return;
	peer->ended++;
	if (THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED)
		count_resolved(peer, task, life);
	remember_latest(peer, THRUM__TASK(model, task, created));
	if (life > peer->longest && !(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING))
		peer->longest = life;
}

/* Finds the keys of a block's tasks and counts these. */
static int count_block(struct thrum__peers *peers, struct known_key *known, uint32_t number)
{
	const struct thrum__model_rows *tasks = &peers->model->tasks;
	const struct thrum__tasks *block = tasks->block[number];
	uint32_t first = number << THRUM__BLOCK_SHIFT;
	uint32_t *keys = &peers->of[peers->places->first[number]];
	int error = 0;

	for (uint32_t i = 0; i < THRUM__BLOCK && i < tasks->count - first && error == 0; i++) {
		/* Tasks that share only their kind are not alike. */
		if ((block->name[i] == THRUM__NONE && block->site[i] == 0) ||
			block->flags[i] & THRUM__TASK_LANE)
			continue;
		error = find_key(peers, known, first + i, &keys[i]);
		if (error == 0)
			count_task(peers, first + i, keys[i]);
	}
	return error;
}

static int count_tasks(struct thrum__peers *peers)
{
	const struct thrum__model_rows *tasks = &peers->model->tasks;
	struct known_key *known = calloc(KNOWN, sizeof *known);
	int error = known ? 0 : -THRUM_E_MEMORY;

	memset(peers->of, UINT8_MAX, peers->places->count * sizeof *peers->of); /* NONE */
	for (uint32_t i = tasks->first >> THRUM__BLOCK_SHIFT; i < tasks->blocks && error == 0; i++)
		if (tasks->block[i])
			error = count_block(peers, known, i);
	free(known);
	return error;
}

/* Adds the counts of each key to those of its family. */
static void count_families(struct thrum__peers *peers)
{
	for (uint32_t key = 0; key < peers->keys.count; key++) {
		const struct thrum__peer *peer = &peers->all[key];
		struct thrum__peer *family;

		if (peer->family == THRUM__NONE)
			continue;
		family = &peers->families[peer->family];
		family->labels++;
		family->ended += peer->ended;
		family->pending += peer->pending;
		add_dues(&family->dues, &peer->dues);
		family->longest = peer->longest > family->longest ? peer->longest : family->longest;
		for (int i = 0; i < THRUM__LATEST; i++)
			remember_latest(family, peer->latest[i]);
	}
}

uint32_t thrum__why_peers_waiter(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_TO (model, task, edge, WAITER_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && from != task)
			return thrum__model_has_row(&model->tasks, from) ? from : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Whether a pending task is no older than twice the longest life of those that ended. */
static bool is_young(const struct thrum__peers *peers, const struct thrum__peer *peer,
	uint32_t task)
{
	return peer && peer->ended > 0 &&
		thrum__why_end_of(peers->model, task) - THRUM__TASK(peers->model, task, created) <=
		(peer->longest < INT64_MAX / 2 ? 2 * peer->longest : INT64_MAX);
}

/* Counts the due time of a task that has ended for the latest task that waited for it. */
static void count_if_awaited(const struct thrum__peers *peers, uint32_t task)
{
	uint32_t waiter, key;
	struct thrum__dues due;

	if (!(THRUM__TASK(peers->model, task, flags) & THRUM__TASK_DUE) ||
		thrum__analyse_task_is_pending(peers->model, task))
		return;
	waiter = thrum__why_peers_waiter(peers->model, task);
	if (waiter == THRUM__NONE)
		return;
	key = thrum__why_peers_key(peers, waiter);
	if (key == THRUM__NONE)
		return;
	due = due_of(peers->model, task);
	add_dues(&peers->all[key].awaits, &due);
}

static void count_if_old(const struct thrum__peers *peers, uint32_t task, uint32_t key)
{
	struct thrum__peer *peer = &peers->all[key], *family;

	if (!thrum__analyse_task_is_pending(peers->model, task))
		return;
	peer->old += !is_young(peers, peer, task);
	if (peer->family == THRUM__NONE)
		return;
	family = &peers->families[peer->family];
	family->old += !is_young(peers, family, task);
}

/* Counts the old tasks, once the longest lives are known. */
static void count_old(const struct thrum__peers *peers)
{
	const struct thrum__model *model = peers->model;

	for (uint32_t i = model->tasks.first >> THRUM__BLOCK_SHIFT; i < model->tasks.blocks; i++) {
		const uint32_t *keys = &peers->of[peers->places->first[i]];

		for (uint32_t k = 0; model->tasks.block[i] && k < THRUM__BLOCK; k++)
			if (keys[k] != THRUM__NONE)
				count_if_old(peers, (i << THRUM__BLOCK_SHIFT) + k, keys[k]);
	}
}

const struct thrum__dues *thrum__why_peers_awaits(const struct thrum__peers *peers, uint32_t task)
{
	const struct thrum__model *model = peers->model;
	uint32_t key = thrum__why_peers_key(peers, task);

	if (key == THRUM__NONE)
		return NULL;
	if (!peers->all[key].has_awaits) {
		for (uint32_t i = 0; i < peers->keys.count; i++)
			peers->all[i].has_awaits = true;
		THRUM__EACH_TASK (model, i)
			if (thrum__why_peers_key(peers, i) != THRUM__NONE)
				count_if_awaited(peers, i);
	}
	return &peers->all[key].awaits;
}

int thrum__why_peers_make(const struct thrum__model *model, const struct thrum__places *places,
	struct thrum__peers *peers)
{
	int error;

	*peers = (struct thrum__peers){.model = model, .places = places};
	peers->of = malloc(places->count * sizeof *peers->of);
	error = peers->of ? count_tasks(peers) : -THRUM_E_MEMORY;
	if (error < 0) {
		thrum__why_peers_free(peers);
		return error;
	}
	count_families(peers);
	count_old(peers);
	return 0;
}

void thrum__why_peers_free(struct thrum__peers *peers)
{
	thrum__base_keys_free(&peers->keys);
	thrum__base_keys_free(&peers->family_keys);
	free(peers->families);
	free(peers->all);
	free(peers->of);
	*peers = (struct thrum__peers){0};
}

const struct thrum__peer *thrum__why_peers_of(const struct thrum__peers *peers, uint32_t task)
{
	uint32_t key = thrum__why_peers_key(peers, task);

	return key == THRUM__NONE ? NULL : &peers->all[key];
}

const struct thrum__peer *thrum__why_peers_family(const struct thrum__peers *peers, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(peers, task);
	const struct thrum__peer *family;

	if (!peer || peer->family == THRUM__NONE)
		return NULL;
	family = &peers->families[peer->family];
	return family->labels > 1 ? family : NULL;
}

bool thrum__why_peers_is_young(const struct thrum__peers *peers, uint32_t task)
{
	return !peers->is_over && is_young(peers, thrum__why_peers_of(peers, task), task);
}

bool thrum__why_peers_is_overdue(const struct thrum__peers *peers, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(peers, task);

	return peer && peer->ended > 0 && !thrum__why_peers_is_young(peers, task);
}

int64_t thrum__why_peers_lateness(const struct thrum__peers *peers, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(peers, task);

	return peer && peer->ended >= LATE_PEERS
		? (peers->model->end - THRUM__TASK(peers->model, task, created)) /
			(peer->longest + 1)
		: 0;
}

static int find_usual(const struct thrum__peers *peers, uint32_t key, struct thrum__peer *peer)
{
	const struct thrum__model *model = peers->model;
	int64_t *lives = malloc(peer->ended * sizeof *lives);
	uint32_t count = 0;

	if (!lives)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->tasks.first >> THRUM__BLOCK_SHIFT; i < model->tasks.blocks; i++) {
		const uint32_t *keys = &peers->of[peers->places->first[i]];

		for (uint32_t k = 0; model->tasks.block[i] && k < THRUM__BLOCK; k++) {
			int64_t life = keys[k] == key
				? life_of(model, (i << THRUM__BLOCK_SHIFT) + k)
				: -1;

			if (life >= 0 && count < peer->ended)
				lives[count++] = life;
		}
	}
	peer->usual = thrum__base_select(lives, count, count / 2);
	peer->has_usual = true;
	free(lives);
	return 0;
}

int thrum__why_peers_usual(struct thrum__peers *peers, uint32_t task, int64_t *usual)
{
	uint32_t key = thrum__why_peers_key(peers, task);
	struct thrum__peer *peer = key == THRUM__NONE ? NULL : &peers->all[key];
	int error = 0;

	*usual = 0;
	if (!peer || peer->ended == 0)
		return 0;
	if (!peer->has_usual)
		error = find_usual(peers, key, peer);
	*usual = peer->usual;
	return error;
}
