/* SPDX-License-Identifier: ISC */
/* Makes the net of waits: what each task, lock and lane waits for, and whether it may go on anyhow. */
#include <stdlib.h>

#include "analyse/why/blame/blame.h"
#include "analyse/why/deadlock/net.h"

#define HOLD_BACK 64 /* edges of a task, back to the one by which it took what it waits for */

static uint32_t node_of(const struct thrum__why_net *net, uint32_t task)
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
static uint32_t target_of_lock(const struct thrum__why_net *net, struct thrum__why_node *node,
	const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = net->search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&net->search->graph,
		wait->on);

	if (is_upgrade(lock, node->task)) {
		if (has_for_good(model, node->task, lock))
			return node_of(net, wait->on);
		if (is_rwlock(model, wait->on) && lock->strange > 0)
			return THRUM__NET_FREE; /* others may have released what it had */
	}
	if (lock->busy > wait->since)
		return THRUM__NET_FREE; /* it goes to others */
	if (lock->last > wait->since && is_upgrade(lock, node->task)) {
		/* The last of the others may just have left, so that the task gets it. */
		if (thrum__why_is_recent(model, lock->last))
			return THRUM__NET_FREE;
		node->is_doubtful = true;
	}
	return node_of(net, wait->on);
}

/* Whether a task stands for what the only thread of a child waits for, while something waits for that
 * child. */
static bool is_of_child(const struct thrum__why_net *net, uint32_t task)
{
	return thrum__why_is_among(net->children, net->child_count,
		THRUM__TASK(net->search->model, task, creator));
}

/* Whether nobody else is known who might end a wait over a link. */
static bool is_sole_link(const struct thrum__why_net *net, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	return wait->is_child || wait->is_room ||
		(wait->edge == THRUM__NONE && is_of_child(net, task));
}

static void fill_task(struct thrum__why_net *net, struct thrum__why_node *node)
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
			*target = THRUM__NET_SKIP;
		else if (wait->is_link && !is_sole_link(net, node->task, wait))
			*target = THRUM__NET_FREE;
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

static void fill_lock(struct thrum__why_net *net, struct thrum__why_node *node,
	const struct thrum__analyse_lock *lock)
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
		uint32_t target = THRUM__NET_FREE;

		/* Objects hold nothing, whatever a damaged recording says. */
		if (thrum__analyse_task_is_pending(model, hold->task)) {
			if (!thrum__analyse_task_is_object(model, hold->task))
				target = node_of(net, hold->task);
			waits = thrum__analyse_graph_waits(&net->search->graph, hold->task);
		} else if (hold->task != THRUM__NONE) {
			target = THRUM__NET_ENDED;
		}
		node->is_doubtful |= hold->is_guess;
		net->targets[node->first + i] = thrum__why_is_freed(model, hold->task, lock->task)
			? THRUM__NET_FREE
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
static void bind_writers(struct thrum__why_net *net)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;

	for (uint32_t i = 1; i < net->locks; i++) {
		const struct thrum__why_node *node = &net->nodes[i];
		struct thrum__analyse_waits waits = thrum__analyse_graph_waits(graph, node->task);

		for (uint32_t k = 0; k < waits.count; k++) {
			uint32_t lock = node_of(net, waits.waits[k].on);

			if (net->targets[node->first + k] == THRUM__NET_FREE &&
				lock >= net->locks && lock < net->left && net->nodes[lock].is_kept)
				net->targets[node->first + k] = lock;
		}
	}
}

/* A task waits for a lock with a time limit. Lets those go on that have it for reading and wait for it: they
 * may want it for reading again, and wait for that task only, until it gives up. */
static void free_readers(struct thrum__why_net *net, struct thrum__why_node *node)
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
static void mark_timed(struct thrum__why_net *net)
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
static void fill_left(struct thrum__why_net *net, struct thrum__why_node *node,
	const struct thrum__why_left *left)
{
	node->is_doubtful = true;
	node->is_weak = left->is_weak;
	for (uint32_t i = 0; i < left->count; i++)
		net->targets[node->first + i] = net->first_lane + left->lanes[i];
}

static void fill_lane(struct thrum__why_net *net, struct thrum__why_node *node, uint32_t lane)
{
	uint32_t blocker = net->lanes.blocker[lane];

	net->targets[node->first] = blocker == THRUM__NONE ? THRUM__NET_FREE
							   : node_of(net, blocker);
}

/* Fills node `number`, whose first target is net->targets[at]. */
static void fill_node(struct thrum__why_net *net, uint32_t number, uint32_t at)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	const struct thrum__model *model = net->search->model;
	struct thrum__why_node *node = &net->nodes[number];

	*node = (struct thrum__why_node){.first = at};
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
static int list_children(struct thrum__why_net *net)
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

int thrum__why_net_make(struct thrum__why_net *net)
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
