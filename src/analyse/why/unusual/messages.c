/* SPDX-License-Identifier: ISC */
/*
 * Tells which messages nobody received: posts to another loop that are lost. Messages to other
 * processes are received there, so only those count whose like were received here. The
 * latest message of a connection counts if its receiver runs a loop within its own run, and so isn't
 * called for it. It also counts if a loop received those before, and now waits for other work.
 */
#include <stdlib.h>

#include "analyse/why/unusual/unusual.h"

#define RECEIVED_MIN 3    /* messages that show where others like them go */
#define RARE 8            /* of so many that are received, one may be lost */
#define TIMES 10          /* as long as it took the others */
#define OLD_MIN 50000000  /* ns; younger messages are never suspicious */
#define NEAR 10000000     /* ns between sending and the making of the answer */
#define LANE_NEAR 1000000 /* the same for a lane's own task, which does much else */

/* The messages of senders with one peers' key. */
struct group {
	uint32_t received, lost;
	uint32_t receiver; /* of the latest */
	int64_t longest;   /* from sending to receiving */
	bool are_forks; /* they tell other processes who made them, of which some may not record */
};

static struct group *group_of(const struct thrum__search *search, struct group *groups,
	const struct thrum__message *message)
{
	uint32_t key = thrum__model_has_row(&search->model->tasks, message->sender)
		? thrum__why_peers_key(&search->peers, message->sender)
		: THRUM__NONE;

	return &groups[key == THRUM__NONE ? search->peers.keys.count : key];
}

static bool is_old(const struct thrum__model *model, const struct thrum__message *message)
{
	return message->received == THRUM__OPEN && model->end - message->sent >= OLD_MIN;
}

/* The name of a task's process; NONE: it isn't known. */
static uint32_t process_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, lane)
								  : THRUM__NONE;

	return lane < model->lane_count ? model->lanes[lane].process : THRUM__NONE;
}

/* Whether the receiver is another process, which began only after the message was sent. */
static bool is_fork(const struct thrum__model *model, const struct thrum__message *message)
{
	return process_of(model, message->sender) != process_of(model, message->receiver) &&
		process_of(model, message->receiver) != THRUM__NONE &&
		THRUM__TASK(model, message->receiver, created) > message->sent;
}

static void count_message(const struct thrum__search *search, struct group *groups,
	const struct thrum__message *message)
{
	struct group *group = group_of(search, groups, message);
	int64_t took = message->received - message->sent;

	if (message->received == THRUM__OPEN) {
		group->lost += is_old(search->model, message);
		return;
	}
	group->received++;
	group->receiver = message->receiver;
	group->are_forks |= is_fork(search->model, message);
	group->longest = took > group->longest ? took : group->longest;
}

static bool is_lost(const struct thrum__search *search, const struct group *group,
	const struct thrum__message *message)
{
	return is_old(search->model, message) && !group->are_forks &&
		group->received >= RECEIVED_MIN && group->lost <= 1 + group->received / RARE &&
		(search->model->end - message->sent) / TIMES > group->longest &&
		thrum__model_has_row(&search->model->tasks, message->sender);
}

/* The wait of a task that runs, while its thread waits for events: it runs a loop of its own, which doesn't
 * call it for further messages. NONE: there is none, or it is young. */
static uint32_t inner_loop_of(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits;

	if (THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE ||
		model->lanes[THRUM__TASK(model, task, lane)].running != task)
		return THRUM__NONE;
	waits = thrum__analyse_graph_waits(&search->graph, task);
	return waits.count > 0 && model->end - waits.waits[0].since >= THRUM__SOON_OUTSIDE
		? waits.waits[0].edge
		: THRUM__NONE;
}

/* The handle to which a loop gave the message that its thread received at a time, if that isn't closed;
 * else NONE. */
static uint32_t reader_at(const struct thrum__model *model, uint32_t thread, int64_t time)
{
	uint32_t run = thrum__why_run_soon(model, THRUM__TASK(model, thread, lane), thread, time);
	uint32_t task = run == THRUM__NONE ? THRUM__NONE
					   : thrum__why_known(model, THRUM__RUN(model, run, task));

	return task != THRUM__NONE && thrum__analyse_task_is_pending(model, task) &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE
		? task
		: THRUM__NONE;
}

/* Adds the latest message of a connection if its receiver can't receive it, or doesn't, as the receiver's
 * loop waits for other work. */
static void add_unread(struct thrum__search *search, const struct thrum__message *message)
{
	const struct thrum__model *model = search->model;
	struct thrum__lost lost = {message->sender, message->receiver, message->sent, THRUM__NONE,
		false};

	if (model->end - message->sent < THRUM__SOON_OUTSIDE ||
		!thrum__model_has_row(&model->tasks, message->sender) ||
		!thrum__model_has_row(&model->tasks, message->receiver) ||
		!thrum__analyse_task_is_pending(model, message->receiver) ||
		!thrum__why_thread_rests_for(model, message->receiver, THRUM__REASON_WORK))
		return;
	lost.wait = inner_loop_of(search, message->receiver);
	lost.is_left = thrum__analyse_task_is_lane(model, message->receiver);
	if (lost.is_left)
		lost.receiver = reader_at(model, message->receiver, message->received);
	if (lost.wait != THRUM__NONE || (lost.is_left && lost.receiver != THRUM__NONE))
		search->lost[search->lost_count++] = lost;
}

static uint32_t maker_of(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task)
		? thrum__why_known(model, THRUM__TASK(model, task, creator))
		: THRUM__NONE;
}

/* The task that should have received a lost message: the one that received the latest message of a sender
 * with the same maker, or else of the group. If it has ended, and its maker goes on, that made it for the
 * message. */
static uint32_t receiver_for(const struct thrum__model *model, const struct group *group,
	const struct thrum__message *lost)
{
	uint32_t maker = maker_of(model, lost->sender), found = group->receiver;
	struct thrum__message message;

	for (uint32_t i = thrum__model_message_count(model); i-- > 0 && maker != THRUM__NONE;)
		if (thrum__model_message(model, i, &message) && message.received != THRUM__OPEN &&
			maker_of(model, message.sender) == maker) {
			found = message.receiver;
			break;
		}
	maker = maker_of(model, found);
	return maker != THRUM__NONE && !thrum__analyse_task_is_pending(model, found) &&
			thrum__analyse_task_is_pending(model, maker)
		? maker
		: thrum__why_known(model, found);
}

int thrum__why_find_lost(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	uint32_t count = thrum__model_message_count(model);
	struct thrum__message message;
	struct group *groups;

	search->lost_count = 0;
	if (count == 0)
		return 0;
	groups = calloc((size_t)search->peers.keys.count + 1, sizeof *groups);
	if (!groups)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		if (thrum__model_message(model, i, &message))
			count_message(search, groups, &message);
	for (uint32_t i = 0; i < count && search->lost_count < THRUM__LOST_MAX; i++)
		if (thrum__model_unread(model, i, &message)) {
			add_unread(search, &message);
		} else if (thrum__model_message(model, i, &message)) {
			const struct group *group = group_of(search, groups, &message);

			if (is_lost(search, group, &message))
				search->lost[search->lost_count++] =
					(struct thrum__lost){message.sender,
						receiver_for(model, group, &message), message.sent,
						THRUM__NONE, false};
		}
	free(groups);
	return 0;
}

/* Whether a task of the path sent the latest message of a connection: it waits for whatever comes over it,
 * or behind the receiver. */
static bool is_unread_of(const struct thrum__model *model, const struct thrum__why_path *path,
	const struct thrum__lost *lost)
{
	uint32_t sender = thrum__model_heir(model, lost->sender), i = 0;

	while (i < path->length && path->links[i].task != sender)
		i++;
	return i + 1 < path->length
		? path->links[path->length - 1].task == thrum__model_heir(model, lost->receiver)
		: i < path->length && thrum__why_is_inbound(model, path->leaf);
}

/* Whether a message was sent when a task was made: it belongs to it. */
static bool is_sent_with(const struct thrum__model *model, const struct thrum__lost *lost,
	uint32_t task)
{
	int64_t near = thrum__analyse_task_is_lane(model, lost->sender) ? LANE_NEAR : NEAR;
	int64_t created = THRUM__TASK(model, task, created);

	return lost->time - created <= near && created - lost->time <= near;
}

uint32_t thrum__why_idle_reader(const struct thrum__search *search, uint32_t request)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < search->lost_count; i++) {
		const struct thrum__lost *lost = &search->lost[i];

		if (lost->is_left && THRUM__TASK(model, request, kind) == THRUM_KIND_REQUEST &&
			(lost->sender == request ||
				lost->sender == THRUM__TASK(model, request, creator)) &&
			is_sent_with(model, lost, request))
			return lost->receiver;
	}
	return THRUM__NONE;
}

const struct thrum__lost *thrum__why_lost_of(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t maker = THRUM__TASK(model, path->leaf, creator);

	for (uint32_t i = 0; i < search->lost_count; i++) {
		const struct thrum__lost *lost = &search->lost[i];

		if (lost->is_left)
			continue;
		if (lost->wait != THRUM__NONE) {
			if (is_unread_of(model, path, lost))
				return lost;
			continue;
		}
		if (lost->sender != path->leaf && lost->sender != maker &&
			!(last && thrum__model_heir(model, lost->sender) == last->task))
			continue;
		if (is_sent_with(model, lost, path->leaf))
			return lost;
	}
	return NULL;
}
