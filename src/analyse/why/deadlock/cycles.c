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

#include "analyse/why/deadlock/net.h"

/* ---- Taking away ---------------------------------------------------------------------------- */

/* Sets how many targets a node needs. Returns whether it needs none. */
static bool is_free(const struct thrum__why_net *net, struct thrum__why_node *node, bool doubt)
{
	bool needs_all = doubt ? node->needs_all_surely : node->needs_all;
	uint32_t left = 0, free = 0;

	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t target = net->targets[node->first + i];

		if (target == THRUM__NET_SKIP)
			continue;
		left++;
		free += target == THRUM__NET_FREE || (target == THRUM__NET_ENDED && doubt);
	}
	node->need = needs_all ? left - free : 1;
	return node->is_free || (doubt && node->is_doubtful) || left == 0 ||
		(needs_all ? free == left : free > 0);
}

/* Queues the nodes that may go on by themselves. Those that may without doubts, also may with
 * doubts. */
static void take_first(struct thrum__why_net *net, bool doubt)
{
	net->queued = 0;
	for (uint32_t i = 1; i < net->count; i++) {
		struct thrum__why_node *node = &net->nodes[i];

		node->is_left = !(doubt && !node->is_blocked) && !is_free(net, node, doubt);
		if (!node->is_left)
			net->queue[net->queued++] = i;
	}
}

/* Makes the lists of sources from those of targets, but for the sources that go on by
 * themselves. */
static int make_sources(struct thrum__why_net *net)
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
			if (targets[k] < THRUM__NET_SKIP)
				net->source_first[targets[k] + 2]++;
	}
	for (uint32_t i = 2; i < net->count + 2; i++)
		net->source_first[i] += net->source_first[i - 1];
	for (uint32_t i = 1; i < net->count; i++) {
		const uint32_t *targets = &net->targets[net->nodes[i].first];

		for (uint32_t k = 0; k < net->nodes[i].count && net->nodes[i].is_left; k++)
			if (targets[k] < THRUM__NET_SKIP)
				net->sources[end[targets[k]]++] = i;
	}
	return 0;
}

/* Takes away what may go on because of the nodes that are queued. Returns how many are left. */
static uint32_t take_others(struct thrum__why_net *net)
{
	uint32_t left = net->count - 1 - net->queued;

	while (net->queued > 0 && left > 0) {
		uint32_t at = net->queue[--net->queued];

		for (uint32_t i = net->source_first[at]; i < net->source_first[at + 1]; i++) {
			struct thrum__why_node *source = &net->nodes[net->sources[i]];

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
static int reduce(struct thrum__why_net *net, bool *found)
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
static const struct thrum__analyse_wait *wait_of(const struct thrum__why_net *net, uint32_t number)
{
	const struct thrum__analyse_graph *graph = &net->search->graph;
	const struct thrum__why_node *node = &net->nodes[number];

	if (number >= net->locks)
		return NULL;
	return &thrum__analyse_graph_waits(graph, node->task).waits[node->target];
}

static uint32_t target_of(const struct thrum__why_net *net, uint32_t number)
{
	return net->targets[net->nodes[number].first + net->nodes[number].target];
}

/* When the node began to wait. If it is a lock, when the first of its holders took it; if it is a
 * task that is left, when it was created. */
static int64_t since_of(const struct thrum__why_net *net, uint32_t number)
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
static uint32_t first_of(const struct thrum__why_net *net, uint32_t number)
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

static int certainty_of(const struct thrum__why_net *net, uint32_t number)
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
static void add_deadlock(struct thrum__why_net *net, uint32_t number)
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
static bool has_target(const struct thrum__why_net *net, uint32_t number, uint32_t other)
{
	const struct thrum__why_node *node = &net->nodes[number];

	for (uint32_t i = 0; i < node->count; i++)
		if (net->targets[node->first + i] == other)
			return true;
	return false;
}

/* Chooses the blocked target to follow, one that is surely blocked if there is one. One that only wants more
 * of a semaphore says less than others. */
static void choose_target(struct thrum__why_net *net, uint32_t number)
{
	struct thrum__why_node *node = &net->nodes[number];
	bool is_lock = number >= net->locks && number < net->left;
	int best = -1;

	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t target = net->targets[node->first + i];
		int rank;

		if (target == THRUM__NET_FREE || target >= THRUM__NET_SKIP ||
			!net->nodes[target].is_blocked)
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
static void walk_cycles(struct thrum__why_net *net)
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
static void settle_left(const struct thrum__why_net *net)
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
	struct thrum__why_net net = {.search = search};
	int error = thrum__why_lanes_make(search, &net.lanes);
	bool found = false;

	if (error == 0)
		error = thrum__why_net_make(&net);
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
