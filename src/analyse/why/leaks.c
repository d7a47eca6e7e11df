/* SPDX-License-Identifier: ISC */
/* Finds leaks: tasks that are alike, of which more and more are pending. */
#include <stdlib.h>

#include "analyse/why/deadlock/lanes.h"
#include "base/sort.h"

#define LEAK_MIN 8    /* pending tasks, each more than twice as old as any of its peers became */
#define PARTS 4       /* of the time from `first` to `last`: more tasks must live after each part */
#define REFUSED_MIN 3 /* tasks that fail or wait because of a limit */

/* How the number of pending tasks with one peers' key grows. */
struct growth {
	int64_t first;           /* when the first task was created, or since when all are known */
	int64_t last;            /* when the last task was created */
	int64_t until[PARTS];    /* the end of each part */
	uint32_t live[PARTS];    /* tasks that live then */
	uint32_t other[PARTS];   /* tasks that ended in the part and may have been of these */
	uint32_t ended;          /* also cancelled ones */
	int64_t longest;         /* life of these, in ns */
	int64_t young;           /* the age up to which a pending task isn't old; -1: each is */
	uint32_t pending;        /* old pending tasks that no other finding explains */
	uint32_t fresh;          /* of these, such as a burst at the end brings */
	uint32_t left;           /* how many of these have a creator that has ended */
	uint32_t oldest, newest; /* of these */
	uint32_t begun;          /* how many of these ever ran */
	bool is_at_work;         /* the thread of one rests until a time that is still to come */
	bool is_starved;         /* some of them are ready, but can't run */
	bool may_leak;           /* enough tasks are pending, in all */
	/* About all tasks with the key, whether they leak or not: */
	uint32_t failed;      /* tasks */
	int64_t first_failed; /* when the first of them failed */
	bool is_creator;      /* some task like these created the newest of others */
	uint32_t waiting;     /* old pending tasks that wait; so far */
	uint32_t waiters;     /* such tasks like the newest one's creator, created after it */
};

/* Tasks that may live as long as their owner. */
static bool is_lasting(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_HANDLE || kind == THRUM_KIND_TIMER || kind == THRUM_KIND_THREAD ||
		thrum__analyse_task_is_object(model, task);
}

/* Whether it is a request to a device (`thrum record --kernel`). The device's lane records it, for a task of
 * another lane or for its own work. How many are under way is the machine's matter: other programs and the
 * kernel ask, too. */
static bool is_of_device(const struct thrum__model *model, const struct thrum__tasks *block,
	uint32_t k)
{
	uint32_t creator = block->creator[k];

	return block->kind[k] == THRUM_KIND_HANDLE &&
		thrum__model_has_row(&model->tasks, creator) &&
		(THRUM__TASK(model, creator, lane) != block->lane[k] ||
			THRUM__BEGINS_WITH(model, creator, "requests of "));
}

/* Whether it is a lock or a condition. Programs that know nothing of thrum need not end them, and they are
 * known from the first wait on, not since they were made. */
static bool is_unended(int kind)
{
	return kind == THRUM_KIND_LOCK || kind == THRUM_KIND_CONDITION;
}

/* Calls `count` for each task that can be part of a leak. */
static void for_each(const struct thrum__search *search, struct growth *all,
	void (*count)(const struct thrum__search *, struct growth *, uint32_t task))
{
	const struct thrum__model_rows *tasks = &search->model->tasks;

	for (uint32_t i = tasks->first >> THRUM__BLOCK_SHIFT; i < tasks->blocks; i++) {
		const uint32_t *keys = &search->peers.of[search->peers.places->first[i]];
		const struct thrum__tasks *block = tasks->block[i];

		for (uint32_t k = 0; block && k < THRUM__BLOCK; k++) {
			uint32_t task = (i << THRUM__BLOCK_SHIFT) + k;

			if (keys[k] != THRUM__NONE && all[keys[k]].may_leak &&
				!is_unended(block->kind[k]) &&
				!is_of_device(search->model, block, k))
				count(search, &all[keys[k]], task);
		}
	}
}

/* ---- Counting ------------------------------------------------------------------------------- */

static void count_lives(const struct thrum__search *search, struct growth *growth, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t created = THRUM__TASK(model, task, created), end = THRUM__TASK(model, task, end);

	growth->first = created < growth->first ? created : growth->first;
	growth->last = created > growth->last ? created : growth->last;
	if (end == THRUM__OPEN || THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING)
		return;
	growth->ended++;
	growth->longest = end - created > growth->longest ? end - created : growth->longest;
}

static void count_failures(const struct thrum__search *search, struct growth *all)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = thrum__why_next(search, 0, THRUM__SORT_FAILED); i < model->tasks.count;
		i = thrum__why_next(search, i + 1, THRUM__SORT_FAILED)) {
		uint32_t key = thrum__why_peers_key(&search->peers, i);
		int64_t time = THRUM__TASK(model, i, end);

		if (key == THRUM__NONE || THRUM__TASK(model, i, state) != THRUM__STATE_FAILED)
			continue;
		if (all[key].failed++ == 0 || time < all[key].first_failed)
			all[key].first_failed = time;
	}
}

/* Whether a pending task's age is more than twice the longest life of its peers. */
static bool is_old(const struct thrum__search *search, const struct growth *growth, uint32_t task)
{
	return search->model->end - THRUM__TASK(search->model, task, created) > growth->young;
}

/* Whether a task waits for a timer that isn't due yet, or is that timer: both end by themselves. Timers for
 * which nobody waits may be forgotten. */
static bool is_to_come(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	bool is_timer = THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER;
	uint32_t waiter = is_timer ? thrum__why_heir_of(model, thrum__why_peers_waiter(model, task))
				   : task;
	struct thrum__analyse_waits waits;

	if (waiter == THRUM__NONE || !thrum__analyse_task_is_pending(model, waiter))
		return false;
	waits = thrum__analyse_graph_waits(&search->graph, waiter);
	return waits.count == 1 && (!is_timer || waits.waits[0].on == task) &&
		THRUM__TASK(model, waits.waits[0].on, kind) == THRUM_KIND_TIMER &&
		thrum__why_due_of(model, waits.waits[0].on) > model->end;
}

static void count_live(const struct thrum__search *search, struct growth *growth, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t created = THRUM__TASK(model, task, created), end = THRUM__TASK(model, task, end);
	uint32_t cause, creator;

	for (int i = 0; i < PARTS && end > growth->until[i]; i++)
		growth->live[i] += created <= growth->until[i];
	if (end != THRUM__OPEN || !is_old(search, growth, task))
		return;
	if (is_to_come(search, task)) {
		growth->is_at_work |= thrum__why_lane_rests_for(model,
			thrum__why_last_lane(model, task), THRUM__REASON_BLOCKED_FOR_A_TIME);
		return;
	}
	cause = *thrum__cause(search, task);
	creator = THRUM__TASK(model, task, creator);
	if (cause < search->findings->count) {
		growth->is_starved |= search->findings->findings[cause].class ==
			THRUM__FINDING_STARVED;
		return;
	}
	growth->fresh += model->end - created < THRUM__SOON;
	if (growth->pending++ == 0)
		growth->oldest = task;
	growth->newest = task;
	growth->begun += THRUM__TASK(model, task, run) != THRUM__NONE;
	growth->left += thrum__model_has_row(&model->tasks, creator) &&
		THRUM__TASK(model, creator, end) != THRUM__OPEN;
}

/* The key of the tasks like a task's creator, or NONE. */
static uint32_t creators_key(const struct thrum__search *search, uint32_t task)
{
	uint32_t creator = THRUM__TASK(search->model, task, creator);

	return thrum__model_has_row(&search->model->tasks, creator)
		? thrum__why_peers_key(&search->peers, creator)
		: THRUM__NONE;
}

/* Counts for each key with old pending tasks how many tasks like the newest one's creator were
 * created after it and wait for something until the end. */
static void count_waiters(const struct thrum__search *search, struct growth *all)
{
	const struct thrum__model *model = search->model;
	bool is_creator = false;

	for (uint32_t key = 0; key < search->peers.keys.count; key++) {
		uint32_t other = all[key].pending >= LEAK_MIN
			? creators_key(search, all[key].newest)
			: THRUM__NONE;

		if (other != THRUM__NONE)
			all[other].is_creator = is_creator = true;
	}
	/* From the last task to the first. */
	for (uint32_t task = model->tasks.count; is_creator && task-- > model->tasks.first;) {
		uint32_t key = thrum__why_peers_key(&search->peers, task), other;

		if (key == THRUM__NONE)
			continue; /* also if it is forgotten */
		if (all[key].pending >= LEAK_MIN && all[key].newest == task) {
			other = creators_key(search, task);
			all[key].waiters = other == THRUM__NONE ? 0 : all[other].waiting;
		}
		all[key].waiting += all[key].is_creator &&
			thrum__analyse_task_is_pending(model, task) &&
			is_old(search, &all[key], task) &&
			thrum__analyse_graph_waits(&search->graph, task).count > 0;
	}
}

/* Whether a task's beginning is overwritten, and its end is not: nothing tells which tasks it was like. */
static bool is_unknown(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING &&
		THRUM__TASK(model, task, end) != THRUM__OPEN;
}

/* How many of these times, which are sorted, are no later than that one. */
static uint32_t count_until(const int64_t *times, uint32_t count, int64_t until)
{
	uint32_t low = 0;

	while (low < count) {
		uint32_t middle = low + (count - low) / 2;

		if (times[middle] <= until)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* Counts the unknown tasks that ended in each part. Without them those that are still pending would seem to
 * be all that there ever were. O(tasks + n log n), n: the unknown ones. */
static int count_unknown(const struct thrum__search *search, struct growth *all)
{
	const struct thrum__model *model = search->model;
	uint32_t count = 0, room = 0;
	int64_t *ends;

	for (uint32_t i = model->tasks.first; model->is_cut && i < model->tasks.count; i++)
		room += thrum__model_has_row(&model->tasks, i) && is_unknown(model, i);
	if (room == 0)
		return 0;
	ends = malloc(2 * (size_t)room * sizeof *ends);
	if (!ends)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
		if (thrum__model_has_row(&model->tasks, i) && is_unknown(model, i))
			ends[count++] = THRUM__TASK(model, i, end);
	thrum__base_sort_times(ends, ends + room, count);
	for (uint32_t key = 0; key < search->peers.keys.count; key++)
		for (int k = 1; all[key].pending >= LEAK_MIN && k < PARTS; k++)
			all[key].other[k] = count_until(ends, count, all[key].until[k]) -
				count_until(ends, count, all[key].until[k - 1]);
	free(ends);
	return 0;
}

/* ---- Judging -------------------------------------------------------------------------------- */

/* Whether tasks like these, or like those that create them, began to fail or to wait after the
 * growth had stopped: so it has come to a limit. */
static bool has_hit_limit(const struct thrum__search *search, const struct growth *all,
	const struct growth *growth)
{
	uint32_t key = creators_key(search, growth->newest);

	if (growth->waiters >= REFUSED_MIN ||
		(growth->failed >= REFUSED_MIN && growth->first_failed >= growth->last))
		return true;
	return key != THRUM__NONE && all[key].failed >= REFUSED_MIN &&
		all[key].first_failed >= growth->last;
}

/* Whether nearly all were made in the first part of the time: a store for later, and no growth. That isn't
 * known if the beginning is lost. */
static bool is_store(const struct thrum__model *model, const struct growth *growth)
{
	return !model->is_cut && growth->first <= THRUM__TASK(model, growth->oldest, created) &&
		growth->live[PARTS - 1] - growth->live[0] < growth->live[0] / PARTS;
}

/* Whether more tasks lived after each part of the time, also if each unknown one was like these. */
static bool has_grown(const struct growth *growth)
{
	for (int i = 1; i < PARTS; i++)
		if (growth->live[i] <= growth->live[i - 1] + growth->other[i])
			return false;
	return true;
}

/* How certain the growth is a leak; -1: it is none. */
static int certainty_of(const struct thrum__search *search, const struct growth *all,
	const struct growth *growth)
{
	const struct thrum__model *model = search->model;
	int64_t grew = growth->last - growth->first, whole = model->last - growth->first;
	bool is_many = growth->pending - growth->fresh >= 2 * LEAK_MIN &&
		growth->live[PARTS - 1] - growth->live[PARTS - 2] > 1;

	/* Those that never ran have their turn once that thread goes on. */
	if (growth->pending < LEAK_MIN || growth->is_starved || !has_grown(growth) ||
		(growth->is_at_work && growth->begun == 0) || is_store(model, growth) ||
		(growth->ended == 0 &&
			thrum__why_is_too_soon(model,
				model->end - THRUM__TASK(model, growth->oldest, created), false)))
		return -1;
	if (has_hit_limit(search, all, growth))
		return THRUM__LIKELY;
	/* Much may be done at once, and be over soon. */
	if (growth->pending - growth->fresh < LEAK_MIN)
		return -1;
	if (!is_lasting(model, growth->oldest)) {
		/* Tasks that are all created at the start aren't growth. */
		if (grew < whole / PARTS)
			return -1;
		return is_many ? THRUM__LIKELY : THRUM__POSSIBLE;
	}
	/* These may be meant to stay. A cache that is full grows no more. */
	if (grew < whole - whole / PARTS)
		return -1;
	/* A cache keeps objects in its entries, and drops few of these. */
	if (thrum__analyse_task_is_object(model, growth->oldest) && growth->ended < growth->pending)
		return -1;
	if (growth->ended > 0)
		return is_many ? THRUM__LIKELY : THRUM__POSSIBLE;
	return is_many || growth->left >= growth->pending - growth->pending / PARTS
		? THRUM__POSSIBLE
		: -1;
}

/* Adds a finding if this growth is a leak. */
static void add_leak(struct thrum__search *search, const struct growth *all,
	const struct growth *growth)
{
	const struct thrum__model *model = search->model;
	int certainty = certainty_of(search, all, growth);
	struct thrum__finding *finding;

	if (certainty < 0)
		return;
	finding = thrum__why_add(search, THRUM__FINDING_LEAK,
		thrum__why_certainty(search, certainty, growth->first), growth->oldest);
	if (!finding)
		return;
	finding->count = growth->pending;
	thrum__why_add_step(finding, THRUM__STEP_FIRST_PENDING, growth->oldest,
		thrum__why_known(model, THRUM__TASK(model, growth->oldest, creator)),
		THRUM__TASK(model, growth->oldest, created), THRUM__NONE);
	thrum__why_add_step(finding, THRUM__STEP_LAST_PENDING, growth->newest,
		thrum__why_known(model, THRUM__TASK(model, growth->newest, creator)),
		THRUM__TASK(model, growth->newest, created), THRUM__NONE);
}

/* Divides the time from `first`, or since when all are known, to `last` into its parts. */
static void divide_time(struct growth *growth, int64_t known)
{
	int64_t part;

	if (growth->first < known)
		growth->first = known;
	part = growth->last > growth->first ? (growth->last - growth->first) / PARTS : 0;
	for (int i = 0; i < PARTS - 1; i++)
		growth->until[i] = growth->first + part * (i + 1);
	growth->until[PARTS - 1] = part > 0 ? growth->last : growth->first;
}

/* Sets the age up to which a pending task isn't old. */
static void set_young(const struct thrum__peers *peers, const struct thrum__peer *peer,
	struct growth *growth)
{
	bool has_peers = !peers->is_over && peer->ended > 0;
	int64_t longest = has_peers && peer->longest > growth->longest ? peer->longest
								       : growth->longest;

	growth->young = !has_peers && growth->ended == 0 ? -1
		: longest < INT64_MAX / 2                ? 2 * longest
							 : INT64_MAX;
}

/* Counts all tasks, if some may leak. Returns 0 or -THRUM_E_MEMORY. */
static int count_tasks(const struct thrum__search *search, struct growth *all)
{
	const struct thrum__model *model = search->model;
	int64_t known = search->gap > model->forgotten ? search->gap : model->forgotten;
	bool found = false;

	for (uint32_t i = 0; i < search->peers.keys.count; i++) {
		all[i].first = THRUM__OPEN;
		all[i].may_leak = search->peers.all[i].pending >= LEAK_MIN;
		found |= all[i].may_leak;
	}
	if (!found)
		return 0;
	count_failures(search, all);
	for_each(search, all, count_lives);
	/* Those that ended before are not known, so growth can be told only from then on. */
	for (uint32_t i = 0; i < search->peers.keys.count; i++) {
		divide_time(&all[i], known);
		set_young(&search->peers, &search->peers.all[i], &all[i]);
	}
	for_each(search, all, count_live);
	count_waiters(search, all);
	return count_unknown(search, all);
}

int thrum__why_find_leaks(struct thrum__search *search)
{
	uint32_t keys = search->peers.keys.count;
	struct growth *all = calloc((size_t)keys + 1, sizeof *all);
	int error = all ? count_tasks(search, all) : -THRUM_E_MEMORY;

	for (uint32_t i = 0; error == 0 && i < keys; i++)
		add_leak(search, all, &all[i]);
	free(all);
	return error;
}
