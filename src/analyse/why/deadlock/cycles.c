/* SPDX-License-Identifier: ISC */
/*
 * Finds deadlocks: cycles of tasks that wait for each other.
 *
 * A cycle alone proves nothing, as a wait may end in several ways: a choice needs one of its waits,
 * a semaphore one of its holders. So tasks that may go on are taken away, with those that go on
 * because of them, until none is left that may (R. C. Holt, "Some deadlock properties of computer
 * systems", 1972). The rest is blocked for ever, and each of it waits for another of the rest.
 *
 * This is done once without doubts: then a task that waits for a lock needs all of its holders to
 * release it, and one that is left to blocked lanes (lanes.h) needs one of these. If something
 * remains, it is done again with all doubts: several waits of a task other than a join count as a
 * choice, and a lock may be got as soon as one of its holders releases it, since it isn't known
 * whether the task wants it for itself or together with readers. A cycle that remains then, too, is
 * certain. A task whose wait has a time limit goes on by itself, so a cycle through it is only possible.
 */
#include <stdlib.h>

#include "analyse/why/blame/blame.h"
#include "analyse/why/deadlock/lanes.h"
#include "analyse/why/parts.h"

#define HOLD_BACK 64 /* edges of a task, back to the one by which it took what it waits for */

/* A target that is no node. */
enum {
	FREE = 0,              /* it may go on */
	SKIP = UINT32_MAX - 1, /* it counts for nothing */
	ENDED = UINT32_MAX,    /* a holder that has ended, and will release nothing */
};

/* A task that waits, a lock, a task that is left to blocked lanes, or a lane. The nodes from 1 on are
 * the graph's tasks that wait; then come its locks, the tasks that are left, and the lanes. */
struct node {
	uint32_t task;
	/* Its targets: one for each wait, for each hold, or for each lane that could run it. That of
	 * a lane is the task that blocks it. */
	uint32_t first, count;
	uint32_t need;         /* how many of them must go on before it does */
	bool needs_all;        /* without doubts */
	bool needs_all_surely; /* with doubts */
	bool is_free;          /* it may go on anyhow */
	bool is_doubtful;      /* with doubts, it may go on anyhow */
	bool is_weak;          /* it is but possible that it is blocked */
	bool is_tried;         /* a read-write lock for which a task waits with a time limit */
	bool is_kept;          /* a lock that one that waits for it has for good */
	bool is_left;          /* it is not yet known to go on */
	bool is_blocked;       /* without doubts */
	bool is_surely_blocked;
	uint32_t target; /* the index of the target that is followed */
	uint32_t walk;   /* the number of the walk that came first; 0: none did */
};

struct net {
	struct thrum__search *search;
	struct thrum__why_lanes lanes;
	struct node *nodes;
	uint32_t locks, left, first_lane; /* the numbers of the first nodes of each sort */
	uint32_t count;                   /* one more than the nodes, as number 0 is FREE */
	uint32_t *targets, target_count;
	uint32_t *children, child_count; /* threads of children for which something waits */
	/* For each node, the nodes that have it as their target. */
	uint32_t *source_first, *sources;
	uint32_t *queue, queued; /* nodes that go on, and whose sources are still to be told so */
};

/* ---- Nodes ---------------------------------------------------------------------------------- */

static uint32_t node_of(const struct net *net, uint32_t task)
{
	const struct thrum__model *model = net->search->model;
	uint32_t place = thrum__place(&net->search->findings->places, task);
	uint32_t number = net->search->graph.number[place];
	uint32_t left = net->lanes.number ? net->lanes.number[place] : 0;

	if (number > 0 && thrum__analyse_task_is_lock(model, task))
		return net->locks + number - 1;
	return left > 0 ? net->left + left - 1 : number;
}

/* Whether a task does nothing but wait. A task may wait in the middle of a run: then the wait is
 * the last thing it did. A lane's own task isn't blocked if its lane went on: if it began more than
 * one run since. */
static bool is_blocked(const struct thrum__model *model, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	int64_t since = wait->since;
	uint32_t run = THRUM__TASK(model, task, run);
	int runs = 0;

	if (!thrum__analyse_task_is_lane(model, task))
		return thrum__model_last_edge(model, task) == wait->edge ||
			!thrum__analyse_task_is_running(model, task);
	for (; thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) > since;
		run = THRUM__RUN(model, run, prev))
		if (++runs > 1)
			return false;
	return true;
}

/* Whether a task has the lock itself, which others had with it: it wants to have it alone. */
static bool is_upgrade(const struct thrum__analyse_lock *lock, uint32_t task)
{
	for (uint32_t i = 0; i < lock->count; i++)
		if (lock->holds[i].task == task)
			return true;
	return false;
}

/* Whether a lock is a read-write lock of POSIX, as the adapters name it. */
static bool is_rwlock(const struct thrum__model *model, uint32_t lock)
{
	return THRUM__BEGINS_WITH(model, lock, "rwlock ");
}

/* Whether a task that waits for a lock has it, and keeps it for good, whoever else comes and goes: nothing
 * turns a hold of a read-write lock for reading into one for writing. Where others release what a task took,
 * its hold may be over. */
static bool has_for_good(const struct thrum__model *model, uint32_t task,
	const struct thrum__analyse_lock *holds)
{
	uint32_t edge = thrum__model_last_edge(model, task), lock = holds->task;

	if (!is_rwlock(model, lock) || holds->strange > 0)
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, HOLD_BACK)
		if (THRUM__EDGE(model, edge, to) == lock &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
			return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK;
	return false;
}

/* The target of a wait for a lock. */
static uint32_t target_of_lock(const struct net *net, struct node *node,
	const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = net->search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&net->search->graph,
		wait->on);

	if (is_upgrade(lock, node->task)) {
		if (has_for_good(model, node->task, lock))
			return node_of(net, wait->on);
		if (is_rwlock(model, wait->on) && lock->strange > 0)
			return FREE; /* others may have released what it had */
	}
	if (lock->busy > wait->since)
		return FREE; /* it goes to others */
	if (lock->last > wait->since && is_upgrade(lock, node->task)) {
		/* The last of the others may just have left, so that the task gets it. */
		if (thrum__why_is_recent(model, lock->last))
			return FREE;
		node->is_doubtful = true;
	}
	return node_of(net, wait->on);
}

/* Whether a task stands for what the only thread of a child waits for, while something waits for that
 * child. */
static bool is_of_child(const struct net *net, uint32_t task)
{
	return thrum__why_is_among(net->children, net->child_count,
		THRUM__TASK(net->search->model, task, creator));
}

/* Whether nobody else is known who might end a wait over a link. */
static bool is_sole_link(const struct net *net, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	return wait->is_child || (wait->edge == THRUM__NONE && is_of_child(net, task));
}

static void fill_task(struct net *net, struct node *node)
{
	const struct thrum__model *model = net->search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&net->search->graph,
		node->task);
	bool is_join = THRUM__TASK(model, node->task, kind) == THRUM_KIND_JOIN;
	bool has_fresh = false;

	for (uint32_t i = 0; i < waits.count; i++)
		has_fresh |= !waits.waits[i].is_stale;
	node->is_doubtful = !has_fresh;
	for (uint32_t i = 0; i < waits.count; i++) {
		const struct thrum__analyse_wait *wait = &waits.waits[i];
		uint32_t *target = &net->targets[node->first + i];

		if ((wait->is_stale && has_fresh) || !is_blocked(model, node->task, wait))
			*target = SKIP;
		else if (wait->is_link && !is_sole_link(net, node->task, wait))
			*target = FREE;
		else if (thrum__analyse_task_is_lock(model, wait->on))
			*target = target_of_lock(net, node, wait);
		else
			*target = node_of(net, wait->on);
		node->is_doubtful |= wait->is_link;
		node->is_weak |= wait->is_link && !wait->is_child;
	}
	/* The table of live tasks remembers one wait of a choice. */
	node->is_free = thrum__analyse_task_is_choice(model, node->task) &&
		THRUM__TASK(model, node->task, flags) & THRUM__TASK_REMEMBERED;
	node->needs_all = node->needs_all_surely = is_join;
}

static void fill_lock(struct net *net, struct node *node, const struct thrum__analyse_lock *lock)
{
	const struct thrum__model *model = net->search->model;
	bool is_semaphore = THRUM__TASK(model, lock->task, kind) == THRUM_KIND_SEMAPHORE;

	node->needs_all = !is_semaphore;
	/* A semaphore that was never released by its holder may be released by anybody. */
	node->is_doubtful = lock->strange > 0 || lock->is_cut ||
		(is_semaphore && lock->released == 0);
	/* Others than those who took its permits give them back, as a reader makes room in a queue. */
	node->is_free = is_semaphore && lock->released == 0 && lock->strange > 0;
	for (uint32_t i = 0; i < lock->count; i++) {
		const struct thrum__analyse_hold *hold = &lock->holds[i];
		struct thrum__analyse_waits waits = {NULL, 0};
		uint32_t target = FREE;

		/* Objects hold nothing, whatever a damaged recording says. */
		if (thrum__analyse_task_is_pending(model, hold->task)) {
			if (!thrum__analyse_task_is_object(model, hold->task))
				target = node_of(net, hold->task);
			waits = thrum__analyse_graph_waits(&net->search->graph, hold->task);
		} else if (hold->task != THRUM__NONE) {
			target = ENDED;
		}
		node->is_doubtful |= hold->is_guess;
		net->targets[node->first + i] = thrum__why_is_freed(model, hold->task, lock->task)
			? FREE
			: target;
		/* A reader that wants the lock for itself may get it once the others are gone. */
		for (uint32_t k = 0; k < waits.count; k++)
			if (waits.waits[k].on == lock->task) {
				if (has_for_good(model, hold->task, lock))
					node->is_kept = true;
				else
					node->needs_all = false;
			}
	}
}

/* Lets those wait for a lock that one keeps for good though it went to others since: they want it for
 * writing, and it went to readers. */
static void bind_writers(struct net *net)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;

	for (uint32_t i = 1; i < net->locks; i++) {
		const struct node *node = &net->nodes[i];
		struct thrum__analyse_waits waits = thrum__analyse_graph_waits(graph, node->task);

		for (uint32_t k = 0; k < waits.count; k++) {
			uint32_t lock = node_of(net, waits.waits[k].on);

			if (net->targets[node->first + k] == FREE && lock >= net->locks &&
				lock < net->left && net->nodes[lock].is_kept)
				net->targets[node->first + k] = lock;
		}
	}
}

/* A task waits for a lock with a time limit. Lets those go on that have it for reading and wait for it: they
 * may want it for reading again, and wait for that task only, until it gives up. */
static void free_readers(struct net *net, struct node *node)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(graph, node->task);

	if (node->is_tried || !is_rwlock(net->search->model, node->task))
		return;
	node->is_tried = true;
	for (uint32_t i = 0; i < lock->count; i++) {
		uint32_t task = lock->holds[i].task;
		uint32_t number = task == THRUM__NONE ? 0 : thrum__analyse_graph_list(graph, task);

		if (number > 0 && thrum__analyse_graph_waits(graph, task).waits[0].on == node->task)
			net->nodes[number].is_free = true;
	}
}

/* Marks the tasks whose waits have a time limit. */
static void mark_timed(struct net *net)
{
	const struct thrum__model *model = net->search->model;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		uint32_t task = thrum__why_timed_task(model, i), number;

		if (task == THRUM__NONE)
			continue;
		number = thrum__analyse_graph_list(&net->search->graph, task);
		if (number == 0)
			continue;
		net->nodes[number].is_doubtful = net->nodes[number].is_weak = true;
		number = node_of(net,
			thrum__analyse_graph_waits(&net->search->graph, task).waits[0].on);
		if (number >= net->locks && number < net->left)
			free_readers(net, &net->nodes[number]);
	}
}

/* Fills a node with the lanes to which its task is left. */
static void fill_left(struct net *net, struct node *node, const struct thrum__why_left *left)
{
	node->is_doubtful = true;
	node->is_weak = left->is_weak;
	for (uint32_t i = 0; i < left->count; i++)
		net->targets[node->first + i] = net->first_lane + left->lanes[i];
}

static void fill_lane(struct net *net, struct node *node, uint32_t lane)
{
	uint32_t blocker = net->lanes.blocker[lane];

	net->targets[node->first] = blocker == THRUM__NONE ? FREE : node_of(net, blocker);
}

/* Fills node `number`, whose first target is net->targets[at]. */
static void fill_node(struct net *net, uint32_t number, uint32_t at)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	const struct thrum__model *model = net->search->model;
	struct node *node = &net->nodes[number];

	*node = (struct node){.first = at};
	if (number >= net->first_lane) {
		node->task = model->lanes[number - net->first_lane].task;
		node->count = 1;
		fill_lane(net, node, number - net->first_lane);
	} else if (number >= net->left) {
		const struct thrum__why_left *left = &net->lanes.left[number - net->left + 1];

		node->task = left->task;
		node->count = left->count;
		fill_left(net, node, left);
	} else if (number >= net->locks) {
		const struct thrum__analyse_lock *lock = &graph->locks[number - net->locks];

		node->task = lock->task;
		node->count = lock->count;
		fill_lock(net, node, lock);
	} else {
		node->task = graph->lists[number].task;
		node->count = graph->lists[number].count;
		fill_task(net, node);
	}
}

/* Lists the threads of children for which something waits: only traces of several processes have any. */
static int list_children(struct net *net)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;

	if (!net->search->model->is_joined)
		return 0;
	net->children = malloc(((size_t)graph->wait_count + 1) * sizeof *net->children);
	if (!net->children)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < graph->wait_count; i++)
		if (graph->waits[i].is_child)
			net->children[net->child_count++] = graph->waits[i].on;
	return 0;
}

static int make_nodes(struct net *net)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	uint32_t lanes = net->lanes.blocked > 0 ? net->search->model->lane_count : 0, at = 0;

	net->locks = graph->list_count + 1;
	net->left = net->locks + graph->lock_count;
	net->first_lane = net->left + net->lanes.left_count;
	net->count = net->first_lane + lanes;
	net->target_count = graph->wait_count + lanes;
	for (uint32_t i = 0; i < graph->lock_count; i++)
		net->target_count += graph->locks[i].count;
	for (uint32_t i = 1; i <= net->lanes.left_count; i++)
		net->target_count += net->lanes.left[i].count;
	net->nodes = calloc(net->count, sizeof *net->nodes);
	net->targets = malloc(((size_t)net->target_count + 1) * sizeof *net->targets);
	if (!net->nodes || !net->targets || list_children(net) < 0)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 1; i < net->count; i++) {
		fill_node(net, i, at);
		at += net->nodes[i].count;
	}
	bind_writers(net);
	mark_timed(net);
	return 0;
}

/* ---- Taking away ---------------------------------------------------------------------------- */

/* Sets how many targets a node needs. Returns whether it needs none. */
static bool is_free(const struct net *net, struct node *node, bool doubt)
{
	bool needs_all = doubt ? node->needs_all_surely : node->needs_all;
	uint32_t left = 0, free = 0;

	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t target = net->targets[node->first + i];

		if (target == SKIP)
			continue;
		left++;
		free += target == FREE || (target == ENDED && doubt);
	}
	node->need = needs_all ? left - free : 1;
	return node->is_free || (doubt && node->is_doubtful) || left == 0 ||
		(needs_all ? free == left : free > 0);
}

/* Queues the nodes that may go on by themselves. Those that may without doubts, also may with
 * doubts. */
static void take_first(struct net *net, bool doubt)
{
	net->queued = 0;
	for (uint32_t i = 1; i < net->count; i++) {
		struct node *node = &net->nodes[i];

		node->is_left = !(doubt && !node->is_blocked) && !is_free(net, node, doubt);
		if (!node->is_left)
			net->queue[net->queued++] = i;
	}
}

/* Makes the lists of sources from those of targets, but for the sources that go on by
 * themselves. */
static int make_sources(struct net *net)
{
	uint32_t *end;

	net->source_first = calloc((size_t)net->count + 2, sizeof *net->source_first);
	net->sources = malloc(((size_t)net->target_count + 1) * sizeof *net->sources);
	if (!net->source_first || !net->sources)
		return -THRUM_E_MEMORY;
	/* Node i's sources begin at source_first[i]. That of the next one is moved on while they
	 * are filled in, so that it is there at the end. */
	end = net->source_first + 1;
	for (uint32_t i = 1; i < net->count; i++) {
		const uint32_t *targets = &net->targets[net->nodes[i].first];

		for (uint32_t k = 0; k < net->nodes[i].count && net->nodes[i].is_left; k++)
			if (targets[k] < SKIP)
				net->source_first[targets[k] + 2]++;
	}
	for (uint32_t i = 2; i < net->count + 2; i++)
		net->source_first[i] += net->source_first[i - 1];
	for (uint32_t i = 1; i < net->count; i++) {
		const uint32_t *targets = &net->targets[net->nodes[i].first];

		for (uint32_t k = 0; k < net->nodes[i].count && net->nodes[i].is_left; k++)
			if (targets[k] < SKIP)
				net->sources[end[targets[k]]++] = i;
	}
	return 0;
}

/* Takes away what may go on because of the nodes that are queued. Returns how many are left. */
static uint32_t take_others(struct net *net)
{
	uint32_t left = net->count - 1 - net->queued;

	while (net->queued > 0 && left > 0) {
		uint32_t at = net->queue[--net->queued];

		for (uint32_t i = net->source_first[at]; i < net->source_first[at + 1]; i++) {
			struct node *source = &net->nodes[net->sources[i]];

			if (!source->is_left || --source->need > 0)
				continue;
			source->is_left = false;
			net->queue[net->queued++] = net->sources[i];
			left--;
		}
	}
	return left;
}

/* Finds the nodes that are blocked, without doubts and surely. Most programs have none. Sets *found
 * to whether there are any. */
static int reduce(struct net *net, bool *found)
{
	int error;

	*found = false;
	net->queue = malloc((size_t)net->count * sizeof *net->queue);
	if (!net->queue)
		return -THRUM_E_MEMORY;
	take_first(net, false);
	if (net->queued + 1 == net->count)
		return 0;
	error = make_sources(net);
	if (error < 0 || take_others(net) == 0)
		return error;
	*found = true;
	for (uint32_t i = 1; i < net->count; i++)
		net->nodes[i].is_blocked = net->nodes[i].is_left;
	take_first(net, true);
	(void)take_others(net);
	for (uint32_t i = 1; i < net->count; i++)
		net->nodes[i].is_surely_blocked = net->nodes[i].is_left;
	return 0;
}

/* ---- Findings ------------------------------------------------------------------------------- */

/* The wait of a node that is followed; NULL if it is a lock. */
static const struct thrum__analyse_wait *wait_of(const struct net *net, uint32_t number)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	const struct node *node = &net->nodes[number];

	if (number >= net->locks)
		return NULL;
	return &thrum__analyse_graph_waits(graph, node->task).waits[node->target];
}

static uint32_t target_of(const struct net *net, uint32_t number)
{
	return net->targets[net->nodes[number].first + net->nodes[number].target];
}

/* When the node began to wait. If it is a lock, when the first of its holders took it; if it is a
 * task that is left, when it was created. */
static int64_t since_of(const struct net *net, uint32_t number)
{
	const struct thrum__model *model = net->search->model;
	const struct thrum__analyse_wait *wait = wait_of(net, number);
	const struct thrum__analyse_lock *lock;

	if (wait)
		return wait->since;
	if (number >= net->first_lane)
		return since_of(net, target_of(net, number));
	if (number >= net->left)
		return THRUM__TASK(model, net->nodes[number].task, created);
	lock = thrum__analyse_graph_lock(&net->search->graph, net->nodes[number].task);
	return THRUM__EDGE(model, lock->holds[0].edge, time);
}

/* The node to begin with, so that the steps come in the order of time: the task behind the one that
 * was the last to wait and so closed the cycle. */
static uint32_t first_of(const struct net *net, uint32_t number)
{
	uint32_t last = THRUM__NONE, at = number;

	do {
		if (wait_of(net, at) &&
			(last == THRUM__NONE || since_of(net, at) > since_of(net, last)))
			last = at;
		at = target_of(net, at);
	} while (at != number);
	do
		at = target_of(net, last);
	while (!wait_of(net, last = at));
	return at;
}

static int certainty_of(const struct net *net, uint32_t number)
{
	int64_t first = THRUM__OPEN;
	int certainty = THRUM__CERTAIN;
	uint32_t at = number;

	do {
		int64_t since = since_of(net, at);
		uint32_t task = net->nodes[at].task;

		first = since < first ? since : first;
		if (!net->nodes[at].is_surely_blocked && certainty > THRUM__LIKELY)
			certainty = THRUM__LIKELY;
		if (net->nodes[at].is_weak || thrum__why_is_beside_naps(net->search->model, task) ||
			(task != THRUM__NONE && /* a lane may have none */
				thrum__why_is_unsure(net->search, task)))
			certainty = THRUM__POSSIBLE;
		at = target_of(net, at);
	} while (at != number);
	return thrum__why_certainty(net->search, certainty, first);
}

/* Adds a finding for the cycle that a node is part of. */
static void add_deadlock(struct net *net, uint32_t number)
{
	struct thrum__search *search = net->search;
	uint32_t first = first_of(net, number), at = first;
	struct thrum__finding *finding = thrum__why_add(search, THRUM__FINDING_DEADLOCK,
		certainty_of(net, number), net->nodes[first].task);

	do {
		const struct thrum__analyse_wait *wait = wait_of(net, at);
		uint32_t task = net->nodes[at].task, next = target_of(net, at);

		if (wait) {
			*thrum__cause(search, task) = finding ? search->findings->count - 1
							      : THRUM__CAUSE_HEALTHY;
			thrum__why_mark(search, task, THRUM__MARK_STUCK);
		}
		if (finding && wait) {
			thrum__why_add_step(finding, THRUM__STEP_WAITS_IN_CYCLE, task, wait->on,
				wait->since, wait->edge);
			finding->count++;
		} else if (finding && at < net->left) {
			thrum__why_add_holders(search, finding, task, net->nodes[next].task);
		} else if (finding && at < net->first_lane) {
			thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_NEEDS_LANE,
						    task,
						    thrum__why_known(search->model,
							    net->nodes[next].task),
						    since_of(net, at), THRUM__NONE),
				net->nodes[at].count - 1);
		}
		at = next;
	} while (at != first);
}

/* Whether a node has another one as a target. */
static bool has_target(const struct net *net, uint32_t number, uint32_t other)
{
	const struct node *node = &net->nodes[number];

	for (uint32_t i = 0; i < node->count; i++)
		if (net->targets[node->first + i] == other)
			return true;
	return false;
}

/* Chooses the blocked target to follow, one that is surely blocked if there is one. One that only wants more
 * of a semaphore says less than others. */
static void choose_target(struct net *net, uint32_t number)
{
	struct node *node = &net->nodes[number];
	bool is_lock = number >= net->locks && number < net->left;
	int best = -1;

	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t target = net->targets[node->first + i];
		int rank;

		if (target == FREE || target >= SKIP || !net->nodes[target].is_blocked)
			continue;
		rank = net->nodes[target].is_surely_blocked +
			2 * !(is_lock && has_target(net, target, number));
		if (rank > best)
			node->target = i;
		best = rank > best ? rank : best;
	}
	node->is_blocked = best >= 0; /* else it waits for holders that have ended */
}

/* Follows the blocked targets from each node. Each walk ends at a node that an earlier walk passed,
 * at one that waits for nobody, or where it closes a cycle. */
static void walk_cycles(struct net *net)
{
	for (uint32_t i = 1; i < net->count; i++)
		if (net->nodes[i].is_blocked)
			choose_target(net, i);
	for (uint32_t i = 1; i < net->count; i++) {
		uint32_t at = i;

		while (net->nodes[at].is_blocked && net->nodes[at].walk == 0) {
			net->nodes[at].walk = i;
			at = target_of(net, at);
		}
		if (net->nodes[at].is_blocked && net->nodes[at].walk == i)
			add_deadlock(net, at);
	}
}

/* Tasks and conditions that are left to the lanes of a cycle belong to its finding: those that wait for them
 * join it. */
static void settle_left(const struct net *net)
{
	for (uint32_t i = net->left; i < net->first_lane; i++) {
		uint32_t *cause = thrum__cause(net->search,
			net->lanes.left[i - net->left + 1].wanted);
		uint32_t at = i;

		if (!net->nodes[i].is_blocked || *cause != THRUM__NONE)
			continue;
		while (!wait_of(net, at))
			at = target_of(net, at);
		*cause = *thrum__cause(net->search, net->nodes[at].task);
	}
}

int thrum__why_find_cycles(struct thrum__search *search)
{
	struct net net = {.search = search};
	int error = thrum__why_lanes_make(search, &net.lanes);
	bool found = false;

	if (error == 0)
		error = make_nodes(&net);
	if (error == 0)
		error = reduce(&net, &found);
	if (error == 0 && found) {
		walk_cycles(&net);
		settle_left(&net);
	}
	thrum__why_lanes_free(&net.lanes);
	free(net.nodes);
	free(net.targets);
	free(net.children);
	free(net.source_first);
	free(net.sources);
	free(net.queue);
	return error;
}
