/* SPDX-License-Identifier: ISC */
/*
 * Tells in which way a task differs from those like it, if it waits for nothing and nothing else is known of
 * it. Each success of another task ended one of those, and each failure none, though one was pending. Or a
 * task of some kind was there in the lives of the others, and there is none in the life of this one. Or
 * others were ended several at once, and this one was left out. Or a timer, which called back again and
 * again, comes no more.
 *
 * If others wait for an object, its signals are such ends: who ended before, in the same turn of a loop, gave
 * back a permit or counted itself.
 */
#include <string.h>

#include "analyse/why/losses/likes.h"

#define LIKE_MIN 4    /* so many that ended show how such tasks end */
#define CAUSES_MIN 3  /* so many of them a task of a kind must have led to */
#define READS_BACK 4  /* results that were handed on before one was ended */
#define EDGES_BACK 16 /* of a task, from the latest back */
#define CHAIN 12      /* tasks that led to an end */
#define BEFORE 64     /* tasks that were made before one, and may live in its life */
#define GROUPS 32     /* kinds of tasks in the life of others */
#define FEW 8         /* one of so many may be an exception, */
#define TIMES 10      /* so many times as long, no timer came */
#define SOME 4        /* or one of so many may have come to its end in another way */

/* ---- Failures that end none ------------------------------------------------------------------ */

/* The latest result that a task read before a time; NONE: it read none. */
static uint32_t read_before(const struct thrum__model *model, uint32_t task, int64_t time)
{
	THRUM__ACTS_OF (model, task, edge, EDGES_BACK, THRUM__EDGE_READ)
		if (THRUM__EDGE(model, edge, time) <= time)
			return thrum__why_known(model, THRUM__EDGE(model, edge, to));
	return THRUM__NONE;
}

/* The task with a name whose end led to that of another one: who ended it had read its result. Or else who
 * ended it. NONE: that isn't known, or was a thread. */
static uint32_t source_of(const struct thrum__model *model, const struct thrum__like *like)
{
	uint32_t ender = thrum__why_actor(model, like->by), task = ender;

	if (THRUM__EDGE(model, like->by, kind) == THRUM__EDGE_SIGNAL)
		return *thrum__model_task_name(model, like->task, NULL) ? like->task : THRUM__NONE;
	for (int i = 0; i < READS_BACK && task != THRUM__NONE; i++) {
		task = read_before(model, task, like->until);
		if (task != THRUM__NONE && *thrum__model_task_name(model, task, NULL))
			return task;
	}
	return ender != THRUM__NONE && !thrum__analyse_task_is_lane(model, ender) &&
			*thrum__model_task_name(model, ender, NULL)
		? ender
		: THRUM__NONE;
}

static bool are_of_a_kind(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	return THRUM__TASK(model, a, kind) == THRUM__TASK(model, b, kind) &&
		thrum__why_are_named_alike(model, a, b);
}

/* Whether one like the leaf, or the leaf, was pending at a time and stayed so. */
static bool was_pending(const struct thrum__likes *likes, int64_t time)
{
	for (uint32_t i = 0; i < likes->count; i++)
		if (likes->all[i].from < time && likes->all[i].until > time)
			return true;
	return THRUM__TASK(likes->search->model, likes->leaf, created) < time;
}

/* The latest task that failed and ended none, while nearly all of its kind that were resolved ended one.
 * If none failed, the only one that was resolved and ended none: what it brought went elsewhere. */
static uint32_t other_way(struct thrum__likes *likes)
{
	const struct thrum__model *model = likes->search->model;
	uint32_t sources[THRUM__LIKES_MOST], count = 0, others = 0;
	uint32_t failed = THRUM__NONE, other = THRUM__NONE;
	int64_t since = model->end;

	for (uint32_t i = 0; i < likes->count; i++) {
		uint32_t source = source_of(model, &likes->all[i]);

		if (source == THRUM__NONE ||
			(count > 0 && !are_of_a_kind(model, sources[0], source)))
			return THRUM__NONE;
		if (THRUM__TASK(model, source, state) != THRUM__STATE_RESOLVED)
			return THRUM__NONE;
		sources[count++] = source;
		since = likes->all[i].until;
	}
	THRUM__EACH_TASK (model, at) {
		int state = THRUM__TASK(model, at, state);
		uint32_t i = 0;

		if (!thrum__why_spend(likes->search, 1))
			return THRUM__NONE;
		while (i < count && sources[i] != at)
			i++;
		if (i < count || state == THRUM__STATE_PENDING || state == THRUM__STATE_BECAME ||
			THRUM__TASK(model, at, end) < since ||
			!are_of_a_kind(model, sources[0], at) ||
			!was_pending(likes, THRUM__TASK(model, at, end)))
			continue;
		if (state != THRUM__STATE_RESOLVED) {
			failed = at;
			continue;
		}
		other = at;
		if (++others > count / FEW)
			return THRUM__NONE;
	}
	return failed != THRUM__NONE || others != 1 ? failed : other;
}

/* ---- Tasks that are missing ------------------------------------------------------------------ */

/* Tasks of one kind in the lives of others. */
struct group {
	uint32_t key, sample;
	uint32_t lives, last; /* in how many lives there was one; the latest of these, + 1 */
	uint32_t causes;      /* how many ends they led to */
	int64_t after;        /* how long after the beginnings of the lives, in sum */
};

struct groups {
	struct group all[GROUPS];
	uint32_t count;
};

static struct group *group_of(struct groups *groups, uint32_t key, bool is_new)
{
	uint32_t i = 0;

	while (i < groups->count && groups->all[i].key != key)
		i++;
	if (i == groups->count && is_new && i < GROUPS)
		groups->all[groups->count++] = (struct group){.key = key, .sample = THRUM__NONE};
	return i < groups->count ? &groups->all[i] : NULL;
}

/* Whether a task may lead to the end of another one: it does something itself. */
static bool is_work(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TASK:
	case THRUM_KIND_ASYNC:
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER: return *thrum__model_task_name(model, task, NULL);
	default: return false;
	}
}

/* Calls note for each task that does something, and whose life has a part in that of a task. */
static void look_at_life(const struct thrum__likes *likes, uint32_t task, int64_t from,
	int64_t until, struct groups *groups,
	void (*note)(const struct thrum__likes *, struct groups *, uint32_t))
{
	const struct thrum__model *model = likes->search->model;
	uint32_t at = task > BEFORE ? task - BEFORE : 0;

	for (; at < model->tasks.count && likes->search->budget > 0; at++) {
		likes->search->budget--;
		if (!thrum__model_has_row(&model->tasks, at) || at == task)
			continue;
		if (THRUM__TASK(model, at, created) >= until)
			return;
		if (THRUM__TASK(model, at, end) > from && is_work(model, at) &&
			thrum__why_peers_key(&likes->search->peers, at) != THRUM__NONE &&
			!thrum__why_is_alike(likes->search, likes->leaf, at))
			note(likes, groups, at);
	}
}

/* `count` is the index of the life, + 1. */
static void note_like(const struct thrum__likes *likes, struct groups *groups, uint32_t task)
{
	const struct thrum__model *model = likes->search->model;
	uint32_t life = likes->count;
	int64_t after = THRUM__TASK(model, task, created) - likes->all[life - 1].from;
	struct group *group = group_of(groups, thrum__why_peers_key(&likes->search->peers, task),
		true);

	if (!group || group->last == life)
		return;
	group->last = life;
	group->lives++;
	group->after += after > 0 ? after : 0;
	group->sample = group->sample == THRUM__NONE ? task : group->sample;
}

/* A task that began before the leaf, and has ended, is of no use to that. */
static void note_leaf(const struct thrum__likes *likes, struct groups *groups, uint32_t task)
{
	const struct thrum__model *model = likes->search->model;
	struct group *group = group_of(groups, thrum__why_peers_key(&likes->search->peers, task),
		false);

	if (group &&
		(THRUM__TASK(model, task, created) >= THRUM__TASK(model, likes->leaf, created) ||
			THRUM__TASK(model, task, state) == THRUM__STATE_PENDING))
		group->lives = 0;
}

/* Counts the tasks that led to the end of one: who ended it, what that had read or by whom it was made,
 * and so on. */
static void count_causes(const struct thrum__likes *likes, const struct thrum__like *like,
	struct groups *groups)
{
	const struct thrum__model *model = likes->search->model;
	uint32_t task = thrum__why_actor(model, like->by);

	for (int i = 0; i < CHAIN && task != THRUM__NONE; i++) {
		uint32_t source;
		struct group *group;

		if (THRUM__TASK(model, task, end) <= like->from)
			return;
		group = group_of(groups, thrum__why_peers_key(&likes->search->peers, task), false);
		if (group)
			group->causes++;
		source = read_before(model, task, like->until);
		task = source != THRUM__NONE
			? source
			: thrum__why_known(model, THRUM__TASK(model, task, creator));
	}
}

/* The latest of the tasks of a kind that was there in each life but that of the leaf: of those that led to
 * ends, the first that came in these lives. NONE: there is none. */
static uint32_t missing_step(struct thrum__likes *likes)
{
	const struct thrum__model *model = likes->search->model;
	struct groups groups = {.count = 0};
	const struct group *found = NULL;
	uint32_t count = likes->count;

	for (likes->count = 1; likes->count <= count; likes->count++) {
		const struct thrum__like *like = &likes->all[likes->count - 1];

		look_at_life(likes, like->task, like->from, like->until, &groups, note_like);
		count_causes(likes, like, &groups);
	}
	likes->count = count;
	look_at_life(likes, likes->leaf, THRUM__TASK(model, likes->leaf, created), THRUM__OPEN,
		&groups, note_leaf);
	for (uint32_t i = 0; i < groups.count && likes->search->budget > 0; i++) {
		const struct group *group = &groups.all[i];

		if (group->lives >= count - count / SOME && group->causes >= CAUSES_MIN &&
			group->causes >= count / 2 && (!found || group->after < found->after))
			found = group;
	}
	return found ? found->sample : THRUM__NONE;
}

/* ---- Batches that leave one out ---------------------------------------------------------------- */

/* The task that ended the one made before the leaf, while that was pending, and has ended, if the others
 * were ended in batches: by the task that ended the one made next. NONE: there is none. */
static uint32_t batch_before(const struct thrum__likes *likes)
{
	const struct thrum__model *model = likes->search->model;
	uint32_t pairs = 0, found = THRUM__NONE;

	for (uint32_t i = likes->count; i-- > 0;) {
		const struct thrum__like *like = &likes->all[i];
		uint32_t by = thrum__why_actor(model, like->by);

		pairs += i > 0 && by == thrum__why_actor(model, like[-1].by);
		if (like->task < likes->leaf)
			found = like->until > THRUM__TASK(model, likes->leaf, created)
				? by
				: THRUM__NONE;
	}
	return found != THRUM__NONE && pairs * 3 >= likes->count &&
			!thrum__analyse_task_is_pending(model, found)
		? found
		: THRUM__NONE;
}

/* ---- Timers that come no more ---------------------------------------------------------------- */

/* The latest timer that called back, if its like did so again and again, and none came for far longer than
 * the last of them took together; else NONE. */
static uint32_t last_tick(struct thrum__likes *likes)
{
	struct thrum__search *search = likes->search;
	const struct thrum__model *model = search->model;

	for (uint32_t at = model->tasks.count; at-- > model->tasks.first && search->budget > 0;
		search->budget--) {
		const struct thrum__peer *peer;

		if (!thrum__model_has_row(&model->tasks, at) ||
			THRUM__TASK(model, at, kind) != THRUM_KIND_TIMER ||
			thrum__why_edge_to(model, at, THRUM__EDGE_WAIT) != THRUM__NONE)
			continue; /* if a task waited for it, it doesn't call the program back */
		peer = thrum__why_peers_of(&search->peers, at);
		return peer && peer->ended > THRUM__LATEST && peer->pending == 0 &&
				THRUM__TASK(model, at, state) == THRUM__STATE_RESOLVED &&
				(model->end - THRUM__TASK(model, at, end)) / TIMES >
					peer->latest[0] - peer->latest[THRUM__LATEST - 1]
			? at
			: THRUM__NONE;
	}
	return THRUM__NONE;
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* The task or object that a finding can only say to be pending, and that the program itself has to end; or
 * NONE. */
static uint32_t leaf_of(const struct thrum__model *model, const struct thrum__finding *finding)
{
	const struct thrum__step *step = &finding->steps[0];
	uint32_t leaf = step->kind == THRUM__STEP_WAITS_FOR ? step->other : step->task;

	return (step->kind == THRUM__STEP_WAITS_FOR || step->kind == THRUM__STEP_NEVER_RESOLVED) &&
			finding->step_count < THRUM__STEPS_MAX &&
			thrum__analyse_task_is_pending(model, leaf) &&
			THRUM__TASK(model, leaf, kind) != THRUM_KIND_LOCK &&
			!thrum__analyse_task_is_lane(model, leaf) &&
			!thrum__why_is_outside(model, leaf)
		? leaf
		: THRUM__NONE;
}

/* Adds a first step. */
static void tell(struct thrum__finding *finding, const struct thrum__model *model, int kind,
	uint32_t task, uint32_t other)
{
	if (kind == THRUM__STEP_NOT_AGAIN)
		thrum__why_add_again(finding, model, task, other, 1);
	else
		thrum__why_add_blame(finding, model, &(struct thrum__why_blame){kind, task, other});
	thrum__why_move_last(finding, 0);
}

/* Whether an adapter saw why it doesn't come, and its name says so. */
static bool names_cause(const struct thrum__model *model, uint32_t task)
{
	return strstr(thrum__model_task_name(model, task, NULL), ", quit before it ran by ");
}

static void add_way(struct thrum__likes *likes, struct thrum__finding *finding)
{
	const struct thrum__model *model = likes->search->model;
	bool is_object = thrum__analyse_task_is_object(model, likes->leaf);
	uint32_t task;

	thrum__why_find_likes(likes);
	task = likes->count < LIKE_MIN ? THRUM__NONE : other_way(likes);
	if (task != THRUM__NONE) {
		tell(finding, model, thrum__why_blame_ended(model, task, likes->leaf).kind, task,
			likes->leaf);
		return;
	}
	if (is_object)
		return;
	task = likes->count < LIKE_MIN ? THRUM__NONE : missing_step(likes);
	if (task != THRUM__NONE) {
		tell(finding, model, THRUM__STEP_NOT_STARTED, likes->leaf, task);
		return;
	}
	task = likes->count < LIKE_MIN ? THRUM__NONE : batch_before(likes);
	if (task != THRUM__NONE) {
		tell(finding, model, THRUM__STEP_ENDS_WITHOUT, task, likes->leaf);
		return;
	}
	task = names_cause(model, likes->leaf) ? THRUM__NONE : last_tick(likes);
	if (task != THRUM__NONE)
		tell(finding, model, THRUM__STEP_NOT_AGAIN, task, likes->leaf);
	else
		thrum__why_add_no_answer(likes, finding);
}

void thrum__why_add_ways(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	if (search->gap >= 0 || model->is_cut)
		return;
	for (uint32_t i = 0; i < search->findings->count; i++) {
		struct thrum__finding *finding = &search->findings->findings[i];
		struct thrum__likes likes = {.search = search, .leaf = leaf_of(model, finding)};

		if (likes.leaf != THRUM__NONE)
			add_way(&likes, finding);
	}
}
