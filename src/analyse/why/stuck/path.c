/* SPDX-License-Identifier: ISC */
/* Follows the waits from a task to the one that waits for nothing. */
#include "analyse/why/stuck/stuck.h"
#include "base/array.h"

#define LATE_TIMES 10 /* so many times as old as its peers became, a task is late */
#define WAY_MAX 16    /* waits that are followed from each task that a choice waits for */
#define AGAIN 2       /* so often a task waits for an object that does so again and again */

/* The ends to which the waits of a choice may lead. The first in this list is followed; of a join,
 * which needs all its waits, the last but COMES and YOUNG. */
enum way {
	WAY_COMES,          /* a timer that may still come */
	WAY_SHOULD_RESOLVE, /* a task that should resolve and has been pending for long, or a lost lock */
	WAY_YOUNG,          /* a task that may just be under way */
	WAY_INSIDE,         /* a task that the program itself has to resolve */
	WAY_OUTSIDE,        /* a request, timer or handle */
};

/* Where the waits of a task lead. */
static enum way way_of(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	bool is_young = false;

	for (int i = 0; i < WAY_MAX; i++) {
		struct thrum__analyse_waits waits;

		if (thrum__why_is_running_timer(search, task))
			return WAY_COMES;
		if (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE)
			return is_young || thrum__why_peers_is_young(&search->peers, task)
				? WAY_YOUNG
				: WAY_SHOULD_RESOLVE;
		is_young |= thrum__why_peers_is_young(&search->peers, task);
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count > 0 && thrum__why_is_lock_lost(search, waits.waits[0].on))
			return WAY_SHOULD_RESOLVE;
		if (waits.count == 0 || waits.waits[0].next == THRUM__NONE)
			break;
		task = waits.waits[0].next;
	}
	if (is_young)
		return WAY_YOUNG;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TIMER: /* The program has set it to a far too late time. */
		return thrum__why_due_of(model, task) > model->end ? WAY_INSIDE : WAY_OUTSIDE;
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_HANDLE: return WAY_OUTSIDE;
	default: return WAY_INSIDE;
	}
}

/* How much the way of a join's wait explains that the join hangs. */
static int weight_of(enum way way)
{
	switch (way) {
	case WAY_SHOULD_RESOLVE: return 4;
	case WAY_INSIDE: return 3;
	case WAY_OUTSIDE: return 2;
	case WAY_YOUNG: return 1;
	default: return 0;
	}
}

/* The index of the wait of a choice to follow: the one with the first enum way. */
static uint32_t pick_of_choice(const struct thrum__search *search,
	struct thrum__analyse_waits waits)
{
	enum way best = WAY_OUTSIDE;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < waits.count; i++) {
		enum way way = way_of(search, waits.waits[i].on);

		if (way < best) {
			best = way;
			chosen = i;
		}
	}
	return chosen;
}

/* The index of the wait of a join to follow: of those that explain most, the one that is latest
 * against its peers, or else the oldest. */
static uint32_t pick_of_join(const struct thrum__search *search, struct thrum__analyse_waits waits)
{
	uint32_t chosen = waits.count - 1;
	int best = -1;
	int64_t latest = 0;

	for (uint32_t i = waits.count; i-- > 0;) {
		int weight = weight_of(way_of(search, waits.waits[i].on));
		int64_t lateness = thrum__why_peers_lateness(&search->peers, waits.waits[i].on);

		if (weight > best || (weight == best && lateness > latest)) {
			best = weight;
			latest = lateness;
			chosen = i;
		}
	}
	return chosen;
}

/* The index of the wait to follow of a task of another kind: the latest, or one of the same sort that
 * is still later against its peers, if both are late. */
static uint32_t pick_of_task(const struct thrum__search *search, struct thrum__analyse_waits waits)
{
	enum way way = way_of(search, waits.waits[0].on);
	int64_t latest = thrum__why_peers_lateness(&search->peers, waits.waits[0].on);
	uint32_t chosen = 0;

	if (latest < LATE_TIMES || way == WAY_COMES || way == WAY_YOUNG)
		return 0;
	for (uint32_t i = 1; i < waits.count; i++) {
		int64_t lateness = thrum__why_peers_lateness(&search->peers, waits.waits[i].on);

		if (waits.waits[i].is_stale || lateness <= latest)
			continue;
		latest = lateness;
		chosen = i;
	}
	return chosen;
}

/* Sets *wait to the wait of a task to follow; returns false if there is none. A request that was
 * sent over a link to a task in the recording leads to that task. */
static bool next_wait(const struct thrum__search *search, uint32_t task,
	struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);

	if (waits.count == 0 || !thrum__why_is_blocked(model, task, &waits.waits[0]))
		return false;
	*wait = waits.waits[0];
	if (waits.count > 1 && thrum__analyse_task_is_choice(model, task))
		*wait = waits.waits[pick_of_choice(search, waits)];
	else if (waits.count > 1 && THRUM__TASK(model, task, kind) == THRUM_KIND_JOIN)
		*wait = waits.waits[pick_of_join(search, waits)];
	else if (waits.count > 1 && THRUM__TASK(model, task, kind) == THRUM_KIND_TASK)
		*wait = waits.waits[pick_of_task(search, waits)];
	if (THRUM__TASK(model, wait->on, kind) == THRUM_KIND_REQUEST)
		(void)thrum__analyse_link_wait(model, task, wait);
	return true;
}

/* If a task is missing at a barrier, and waits for something else, sets *wait to lead to it. */
static bool absent_wait(const struct thrum__search *search, uint32_t barrier, uint32_t waiter,
	struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	uint32_t absent[THRUM__ABSENT_MAX];
	unsigned count = thrum__why_absent(search, barrier, waiter, absent);

	for (unsigned i = 0; i < count; i++) {
		struct thrum__analyse_waits waits;

		if (!thrum__analyse_task_is_pending(model, absent[i]))
			return false;
		waits = thrum__analyse_graph_waits(&search->graph, absent[i]);
		if (waits.count == 0 || !thrum__why_is_blocked(model, absent[i], &waits.waits[0]))
			continue;
		*wait = (struct thrum__analyse_wait){.on = absent[i],
			.next = absent[i],
			.edge = THRUM__NONE,
			.since = waits.waits[0].since};
		return true;
	}
	return false;
}

/* The task that ended those like this one: also the one that made it, if that ended the latest of them. NONE:
 * it isn't known. */
static uint32_t usual_ender(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t maker = THRUM__TASK(model, task, creator), ender;

	if (thrum__analyse_task_is_object(model, task) ||
		!thrum__analyse_task_is_pending(model, task))
		return THRUM__NONE;
	ender = thrum__why_steady_ender(search, task);
	if (ender != THRUM__NONE || !peer || !thrum__model_has_row(&model->tasks, peer->sample))
		return ender;
	ender = thrum__why_actor_to(model, peer->sample, THRUM__EDGE_RESOLVE);
	return ender == maker ? ender : THRUM__NONE;
}

/* Whether a task waits for one of the path that is followed, or for one that a task of the path should end:
 * then sets *is_closed. */
static bool leads_back(struct thrum__search *search, uint32_t task, bool *is_closed)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);
	uint32_t on, ender;

	if (waits.count != 1 || !thrum__why_is_blocked(model, task, &waits.waits[0]))
		return false;
	on = waits.waits[0].next;
	if (on == THRUM__NONE || thrum__why_is_outside(model, on))
		return false;
	if (*thrum__cause(search, on) == THRUM__CAUSE_PATH)
		return true;
	ender = usual_ender(search, on);
	if (ender == THRUM__NONE || *thrum__cause(search, ender) != THRUM__CAUSE_PATH)
		return false;
	*is_closed = true;
	return true;
}

/* Sets *waits to those of a task that is blocked, and isn't the waiter; returns false if there are none. */
static bool blocked_waits(const struct thrum__search *search, uint32_t task, uint32_t waiter,
	struct thrum__analyse_waits *waits)
{
	*waits = thrum__analyse_graph_waits(&search->graph, task);
	return task != waiter && waits->count > 0 &&
		thrum__why_is_blocked(search->model, task, &waits->waits[0]);
}

/* The index of the first of several that could serve an object, if all of them wait for the path itself; or
 * servers->count. */
static unsigned closing_server(struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers, bool *is_closed)
{
	unsigned first = servers->count;

	for (unsigned i = 0; i < servers->count; i++) {
		uint32_t task = servers->task[i];
		struct thrum__analyse_waits waits;

		if (!thrum__analyse_task_is_pending(search->model, task) ||
			(blocked_waits(search, task, THRUM__NONE, &waits) &&
				waits.waits[0].on == object))
			continue;
		if (!leads_back(search, task, is_closed))
			return servers->count;
		first = first < servers->count ? first : i;
	}
	return first;
}

/* Whether all that may serve an object wait for one other. Sets *on to that. */
static bool wait_for_same(const struct thrum__search *search, uint32_t object, uint32_t waiter,
	const struct thrum__why_servers *servers, uint32_t *on)
{
	*on = THRUM__NONE;
	for (unsigned i = 0; i < servers->count; i++) {
		struct thrum__analyse_waits waits;

		if (!thrum__analyse_task_is_pending(search->model, servers->task[i]))
			continue;
		if (!blocked_waits(search, servers->task[i], waiter, &waits))
			return false;
		if (waits.waits[0].on == object)
			continue;
		if (*on != THRUM__NONE && waits.waits[0].on != *on)
			return false;
		*on = waits.waits[0].on;
	}
	return *on != THRUM__NONE && thrum__analyse_task_is_object(search->model, *on);
}

/* Whether those that serve an object, and those that serve another one, all wait for each other: as where two
 * queues are full, since one that takes from the second puts something into the first. So it waits there for
 * the first time, unlike the waiter; or it is the waiter itself, which wants room. Without that, those may be
 * workers that have no job. */
static bool is_mutual(struct thrum__search *search, uint32_t object, uint32_t waiter,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_servers others;
	uint32_t on, back;

	if (!wait_for_same(search, object, waiter, servers, &on) ||
		thrum__why_waits_on(model, waiter, object) <= AGAIN)
		return false;
	thrum__why_servers_of(model, on, servers->task[0], &others);
	if (!others.is_whole || !wait_for_same(search, on, THRUM__NONE, &others, &back) ||
		back != object)
		return false;
	return thrum__why_is_server(&others, waiter)
		? thrum__why_wants_room(search, object, waiter, servers, on)
		: thrum__why_waits_on(model, others.task[0], object) == 1;
}

/* Whether a task waits for room in a stream or mailbox, as one that put something there: itself, or by a task
 * of its own for the wait. Sets *object. */
static bool wants_room(const struct thrum__search *search, uint32_t task, uint32_t *object)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits;

	if (!blocked_waits(search, task, THRUM__NONE, &waits))
		return false;
	*object = waits.waits[0].on;
	if (THRUM__TASK(model, *object, kind) != THRUM_KIND_WAIT)
		return thrum__why_is_writer(model, *object, task);
	task = *object;
	if (!blocked_waits(search, task, THRUM__NONE, &waits))
		return false;
	*object = waits.waits[0].on;
	return thrum__why_is_writer(model, *object, task);
}

/* Whether a waiter wants room in an object, and all that take from there want room in one other: they aren't
 * idle. */
static bool is_full_behind(const struct thrum__search *search, uint32_t object, uint32_t waiter,
	const struct thrum__why_servers *servers)
{
	uint32_t other = THRUM__NONE, on;

	if (!thrum__why_is_writer(search->model, object, waiter))
		return false;
	for (unsigned i = 0; i < servers->count; i++) {
		if (!thrum__analyse_task_is_pending(search->model, servers->task[i]))
			continue;
		if (!wants_room(search, servers->task[i], &on) || on == object ||
			(other != THRUM__NONE && on != other))
			return false;
		other = on;
	}
	return other != THRUM__NONE;
}

/* The lane of a thread's own task, or of a handle or timer that its loop runs; or NONE. */
static uint32_t carrier_of(const struct thrum__model *model, uint32_t task)
{
	if (thrum__analyse_task_is_lane(model, task))
		return THRUM__TASK(model, task, lane);
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_HANDLE:
	case THRUM_KIND_TIMER: return thrum__why_last_lane(model, task);
	default: return THRUM__NONE;
	}
}

/* The task that is blocked on a lane, so that nothing else runs there; or NONE. */
static uint32_t keeper_on(const struct thrum__search *search, uint32_t task, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits;
	uint32_t on;

	if (lane >= model->lane_count)
		return THRUM__NONE;
	on = thrum__why_task_of_lane(&model->lanes[lane]);
	if (on == task || !thrum__analyse_task_is_pending(model, on))
		return THRUM__NONE;
	waits = thrum__analyse_graph_waits(&search->graph, on);
	return waits.count > 0 && thrum__why_is_blocked(model, on, &waits.waits[0]) &&
			thrum__why_thread_rests_for(model, on, THRUM__REASON_BLOCKED)
		? on
		: THRUM__NONE;
}

/* The task that is blocked on a task's thread; or NONE. */
static uint32_t keeper_of(const struct thrum__search *search, uint32_t task)
{
	return keeper_on(search, task, carrier_of(search->model, task));
}

/* The task that is blocked on the lane on which all like a task ran that is ready; an idle thread doesn't
 * know of it. NONE: there is none. */
static uint32_t usual_keeper(struct thrum__search *search, uint32_t task)
{
	uint32_t keeper = keeper_on(search, task, thrum__why_usual_lane(search, task));

	return keeper != THRUM__NONE && !thrum__analyse_task_is_lane(search->model, keeper)
		? keeper
		: THRUM__NONE;
}

/* If a thread's own task waits for nothing, or a handle or timer that serves the object before it, but
 * another task is blocked on the thread, makes *link lead to that one. The same for a task that is ready,
 * if all like it ran there. */
static bool thread_wait(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t task, struct thrum__why_link *link)
{
	bool is_lane = thrum__analyse_task_is_lane(search->model, task);
	uint32_t keeper = keeper_of(search, task);

	if (!is_lane && (path->length == 0 || !path->links[path->length - 1].is_served))
		keeper = usual_keeper(search, task);
	if (keeper == THRUM__NONE)
		return false;
	link->is_carried = !is_lane;
	link->wait = (struct thrum__analyse_wait){.on = keeper,
		.next = keeper,
		.edge = THRUM__NONE,
		.since = thrum__analyse_graph_waits(&search->graph, keeper).waits[0].since};
	return true;
}

/* If all that served an object ran on a lane that a task keeps which waits for the object itself, or for one
 * of the path, makes *link lead to that task. Not if another thread may go on, as that may serve the object
 * for the first time. */
static bool keeping_wait(struct thrum__search *search, struct thrum__why_path *path,
	uint32_t object, struct thrum__why_link *link)
{
	uint32_t keeper = thrum__why_keeper_of(search, object);
	struct thrum__analyse_waits waits;
	bool is_closed = false;

	if (keeper == THRUM__NONE || !blocked_waits(search, keeper, THRUM__NONE, &waits) ||
		(waits.waits[0].on != object && !leads_back(search, keeper, &is_closed)) ||
		!thrum__why_all_look(search, keeper, waits.waits[0].since))
		return false;
	path->is_guessed = true;
	link->is_carried = true;
	link->wait = (struct thrum__analyse_wait){.on = keeper,
		.next = keeper,
		.edge = THRUM__NONE,
		.since = waits.waits[0].since};
	return true;
}

/* If a single task serves an object, and waits itself, or its thread is blocked in another one, makes *link
 * lead to it. The same for several that all wait for the path, or for others which wait for the object. */
static bool serving_wait(struct thrum__search *search, struct thrum__why_path *path,
	uint32_t object, uint32_t waiter, struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_servers servers;
	struct thrum__analyse_waits waits;
	unsigned i = 0, able, closing;
	bool is_closed = false;

	if (waiter == THRUM__NONE || thrum__why_is_lock(search, object) ||
		thrum__why_lapsed(model, object) != THRUM__NONE)
		return false;
	if (thrum__why_is_barrier(model, object))
		return absent_wait(search, object, waiter, &link->wait);
	thrum__why_servers_of(model, object, waiter, &servers);
	if (servers.count == 0 && !thrum__why_find_far_end(search, object, waiter, &servers) &&
		!thrum__why_find_successor(search, object, waiter, &servers))
		return false;
	able = servers.is_whole ? thrum__why_able_servers(search, object, &servers, &i) : 0;
	if (able == 0)
		return servers.pending == 0 && keeping_wait(search, path, object, link);
	closing = closing_server(search, object, &servers, &is_closed);
	if (closing < servers.count)
		i = closing;
	else if (able > 1 && !is_mutual(search, object, waiter, &servers) &&
		!is_full_behind(search, object, waiter, &servers))
		return false;
	if (!blocked_waits(search, servers.task[i], waiter, &waits) &&
		(thrum__analyse_task_is_lane(model, servers.task[i]) || waits.count > 0 ||
			keeper_of(search, servers.task[i]) == THRUM__NONE))
		return false;
	path->is_closed |= is_closed && closing < servers.count;
	path->is_guessed |= servers.edge[i] == THRUM__NONE ||
		THRUM__EDGE(model, servers.edge[i], kind) == THRUM__EDGE_LINK;
	link->also = able - 1;
	link->wait = (struct thrum__analyse_wait){.on = servers.task[i],
		.next = servers.task[i],
		.edge = servers.edge[i],
		.since = servers.edge[i] == THRUM__NONE
			? THRUM__TASK(model, object, created)
			: THRUM__EDGE(model, servers.edge[i], time)};
	return true;
}

/* Whether a thread sleeps on in its wait for a condition, though that was signalled since a task is
 * there: the signal came too early, or woke another one. */
static bool sleeps_on(const struct thrum__search *search, uint32_t thread,
	const struct thrum__analyse_wait *wait, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_wake wake;
	uint32_t signal;

	if (THRUM__TASK(model, wait->on, kind) != THRUM_KIND_CONDITION ||
		*thrum__cause(search, thread) != THRUM__NONE)
		return false;
	signal = thrum__why_lost_signal(model, wait->on, thread, wait->since);
	if (signal == THRUM__NONE &&
		thrum__why_single_wake(search, wait->on, thread, wait->since, &wake))
		signal = wake.signal;
	return signal != THRUM__NONE &&
		THRUM__EDGE(model, signal, time) >= THRUM__TASK(model, task, created);
}

/* The task that always ended those like this one, if it hangs itself: it isn't idle, and doesn't just
 * wait for the next event. NONE: there is none. */
static uint32_t hanging_ender(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t ender = thrum__why_steady_ender(search, task), on;
	struct thrum__analyse_waits waits;

	if (!thrum__analyse_task_is_pending(model, ender))
		return THRUM__NONE;
	waits = thrum__analyse_graph_waits(&search->graph, ender);
	if (waits.count == 0)
		return THRUM__NONE;
	on = waits.waits[0].on;
	if (thrum__analyse_task_is_lane(model, ender))
		return sleeps_on(search, ender, &waits.waits[0], task) ? ender : THRUM__NONE;
	switch (THRUM__TASK(model, on, kind)) {
	case THRUM_KIND_TIMER:
	case THRUM_KIND_HANDLE: return THRUM__NONE;
	default:
		return thrum__analyse_task_is_object(model, on) || thrum__why_is_inbound(model, on)
			? THRUM__NONE
			: ender;
	}
}

/* If a pending task should end this one, which waits for nothing, makes *link lead to it. */
static bool ending_wait(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t task, struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	uint32_t usual, ender;

	if (thrum__analyse_task_is_object(model, task) ||
		thrum__analyse_task_is_running(model, task) ||
		thrum__why_peers_is_young(&search->peers, task))
		return false;
	ender = thrum__why_ender_of(search, task, &usual);
	if (ender == THRUM__NONE && usual == THRUM__NONE) {
		ender = path->is_closed ? usual_ender(search, task) : hanging_ender(search, task);
		link->is_steady = true;
	}
	if (ender == THRUM__NONE && usual == THRUM__NONE && !path->is_closed) {
		ender = thrum__why_open_child(search, task);
		link->is_steady = false;
		link->is_child = true;
	}
	ender = ender == THRUM__NONE ? ender : thrum__model_heir(model, ender);
	if (!thrum__analyse_task_is_pending(model, ender) ||
		(*thrum__cause(search, ender) == THRUM__CAUSE_PATH) != path->is_closed)
		return false;
	link->wait = (struct thrum__analyse_wait){.on = ender,
		.next = ender,
		.edge = THRUM__NONE,
		.since = THRUM__TASK(model, task, created)};
	return true;
}

static int push_link(struct thrum__why_path *path, const struct thrum__why_link *link)
{
	if (path->length == path->room) {
		struct thrum__why_link *grown = thrum__base_grow(path->links, &path->room,
			path->room + UINT64_C(1), sizeof *grown);

		if (!grown)
			return -THRUM_E_MEMORY;
		path->links = grown;
	}
	path->links[path->length++] = *link;
	return 0;
}

bool thrum__why_is_on_path(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	return thrum__model_has_row(&model->tasks, task) &&
		!thrum__analyse_task_is_lane(model, task) &&
		*thrum__cause(search, thrum__model_heir(model, task)) == THRUM__CAUSE_PATH;
}

/* The link of the path that begins at a task, or NONE. */
static uint32_t link_of(const struct thrum__why_path *path, uint32_t task)
{
	for (uint32_t i = path->length; i-- > 0;)
		if (path->links[i].task == task)
			return i;
	return THRUM__NONE;
}

int thrum__why_path_follow(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t at = path->leaf, waiter = THRUM__NONE;
	struct thrum__why_link link;
	int error = 0;

	path->length = 0;
	path->handle = THRUM__NONE;
	path->circle = THRUM__NONE;
	path->is_closed = path->is_guessed = false;
	while (error == 0 && (path->reached = *thrum__cause(search, at)) == THRUM__NONE) {
		link = (struct thrum__why_link){.task = at};
		*thrum__cause(search, at) = THRUM__CAUSE_PATH;
		if (thrum__analyse_task_is_object(model, at))
			link.is_served = serving_wait(search, path, at, waiter, &link);
		if (!link.is_served && !next_wait(search, at, &link.wait)) {
			link.is_served = thread_wait(search, path, at, &link) ||
				ending_wait(search, path, at, &link);
			if (!link.is_served)
				break;
		}
		path->is_unknown |= thrum__analyse_task_is_choice(model, at) &&
			THRUM__TASK(model, at, flags) & THRUM__TASK_REMEMBERED;
		error = push_link(path, &link);
		waiter = at;
		path->leaf = at = link.wait.next == THRUM__NONE ? link.wait.on : link.wait.next;
	}
	if (path->reached == THRUM__CAUSE_PATH) {
		path->reached = THRUM__NONE;
		path->circle = link_of(path, at);
	}
	return error;
}

void thrum__why_path_settle(struct thrum__search *search, const struct thrum__why_path *path,
	uint32_t cause)
{
	bool is_finding = cause < search->findings->count;

	for (uint32_t i = 0; i <= path->length; i++) {
		uint32_t at = i < path->length ? path->links[i].task : path->leaf;

		if (i < path->length || path->reached == THRUM__NONE)
			*thrum__cause(search, at) = cause;
		if (!is_finding)
			continue;
		thrum__why_mark(search, at, THRUM__MARK_BEHIND);
		if (i < path->length)
			thrum__why_mark(search, path->links[i].wait.on, THRUM__MARK_BEHIND);
	}
}

void thrum__why_path_cut(struct thrum__search *search, struct thrum__why_path *path,
	uint32_t length)
{
	*thrum__cause(search, path->leaf) = THRUM__CAUSE_HEALTHY;
	while (--path->length > length)
		*thrum__cause(search, path->links[path->length].task) = THRUM__CAUSE_HEALTHY;
	path->leaf = path->links[length].task;
}
