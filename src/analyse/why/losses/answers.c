/* SPDX-License-Identifier: ISC */
/*
 * Tells who took a message out of a mailbox and sent no answer, as all others did that were sent in the same
 * stage: tasks with a mailbox each ask one another, and the one for which they do so hangs.
 *
 * Mailboxes are queues: the first message that was put in is the first that is taken out. A message that a
 * task sends belongs to the one that it took last. So it is of the next stage.
 */
#include "analyse/why/losses/likes.h"

#include <stdlib.h>

#define MESSAGES_MAX 8192 /* of more, it would take too long to find out */
#define MESSAGES_A_TASK 8 /* so many are looked at in the time of a task */
#define ACTORS_MAX 64     /* tasks that send or take */
#define BOXES_MAX 64
#define ANSWERED_MIN 6 /* so many answers show that each message of a stage gets one */
#define THERE_MIN 2    /* of them, by the same task */
#define LIKE_MIN 3     /* so many like the leaf must have been ended by those that take messages */

struct message {
	uint32_t box, like;   /* like: that of its box */
	uint32_t from, cause; /* cause: the message that the sender had taken; or NONE */
	uint32_t read, stage; /* read: the edge by which it was taken; or NONE */
	int64_t time;
	bool is_answered, is_over; /* is_over: the turn of the one that took it has ended */
};

struct actor {
	uint32_t task, taken; /* taken: the message that it works for; or NONE */
	bool takes;           /* it took a message */
};

struct box {
	uint32_t object, like; /* like: the first box whose name is alike */
	uint32_t next;         /* the first message that may not be taken yet */
	uint32_t reader;       /* or NONE */
};

struct mail {
	const struct thrum__model *model;
	struct message *all;
	uint32_t count, actor_count, box_count;
	struct actor actors[ACTORS_MAX];
	struct box boxes[BOXES_MAX];
};

/* NULL: there are too many. */
static struct actor *actor_of(struct mail *mail, uint32_t task)
{
	uint32_t i = 0;

	while (i < mail->actor_count && mail->actors[i].task != task)
		i++;
	if (i == mail->actor_count && i < ACTORS_MAX)
		mail->actors[mail->actor_count++] = (struct actor){task, THRUM__NONE, false};
	return i < mail->actor_count ? &mail->actors[i] : NULL;
}

/* The first box whose name is like that of an object, which may be the next one. */
static uint32_t like_of(const struct mail *mail, uint32_t object)
{
	uint32_t i = 0;

	while (i < mail->box_count &&
		!thrum__why_are_named_alike(mail->model, mail->boxes[i].object, object))
		i++;
	return i;
}

static struct box *box_of(struct mail *mail, uint32_t object)
{
	uint32_t i = 0;

	while (i < mail->box_count && mail->boxes[i].object != object)
		i++;
	if (i == mail->box_count && i < BOXES_MAX)
		mail->boxes[mail->box_count++] = (struct box){object, like_of(mail, object), 0,
			THRUM__NONE};
	return i < mail->box_count ? &mail->boxes[i] : NULL;
}

static bool note_sent(struct mail *mail, struct actor *actor, struct box *box, uint32_t edge)
{
	struct message *message = &mail->all[mail->count];

	if (mail->count == MESSAGES_MAX)
		return false;
	*message = (struct message){box->object, box->like, actor->task, actor->taken, THRUM__NONE,
		0, THRUM__EDGE(mail->model, edge, time), false, false};
	if (actor->taken != THRUM__NONE)
		message->stage = mail->all[actor->taken].stage + 1;
	mail->count++;
	return true;
}

static void end_turn(struct mail *mail, struct actor *actor)
{
	if (actor->taken != THRUM__NONE)
		mail->all[actor->taken].is_over = true;
	actor->taken = THRUM__NONE;
}

static bool note_taken(struct mail *mail, struct actor *actor, struct box *box, uint32_t edge)
{
	while (box->next < mail->count && mail->all[box->next].box != box->object)
		box->next++;
	if (box->next == mail->count || (box->reader != THRUM__NONE && box->reader != actor->task))
		return false;
	end_turn(mail, actor);
	box->reader = actor->task;
	actor->taken = box->next;
	actor->takes = true;
	mail->all[box->next++].read = edge;
	return true;
}

/* Notes an edge. Returns false if the messages can't be told apart. */
static bool note(struct mail *mail, uint32_t edge)
{
	const struct thrum__model *model = mail->model;
	uint32_t from = thrum__why_actor(model, edge), to = THRUM__EDGE(model, edge, to);
	struct actor *actor;
	struct box *box;

	if (from == THRUM__NONE || !thrum__model_has_row(&model->tasks, to) ||
		THRUM__TASK(model, to, kind) != THRUM_KIND_MAILBOX)
		return true;
	actor = actor_of(mail, from);
	box = box_of(mail, to);
	if (!actor || !box)
		return false;
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_SIGNAL: return note_sent(mail, actor, box, edge);
	case THRUM__EDGE_READ: return note_taken(mail, actor, box, edge);
	case THRUM__EDGE_WAIT: end_turn(mail, actor); return true;
	default: return true;
	}
}

/* Marks the messages to whose sender those that took them sent one. */
static void find_answers(struct mail *mail)
{
	for (uint32_t i = 0; i < mail->count; i++) {
		uint32_t cause = mail->all[i].cause;

		if (cause != THRUM__NONE &&
			box_of(mail, mail->all[i].box)->reader == mail->all[cause].from)
			mail->all[cause].is_answered = true;
	}
}

/* Whether those that take messages ended all that are like the leaf. */
static bool end_likes(struct mail *mail, const struct thrum__likes *likes)
{
	for (uint32_t i = 0; i < likes->count; i++) {
		uint32_t by = thrum__why_actor(mail->model, likes->all[i].by), at = 0;

		while (at < mail->actor_count && mail->actors[at].task != by)
			at++;
		if (at == mail->actor_count || !mail->actors[at].takes)
			return false;
	}
	return likes->count >= LIKE_MIN;
}

/* How many messages out of the mailbox of one got an answer, if it is the only one of its stage that got
 * none; else 0. */
static uint32_t answered_beside(const struct mail *mail, uint32_t one)
{
	const struct message *lost = &mail->all[one];
	uint32_t count = 0, there = 0;

	for (uint32_t i = 0; i < mail->count; i++) {
		const struct message *message = &mail->all[i];

		if (i == one || message->stage != lost->stage || message->like != lost->like)
			continue;
		if (!message->is_answered)
			return 0;
		count++;
		there += message->box == lost->box;
	}
	return count >= ANSWERED_MIN && there >= THERE_MIN ? there : 0;
}

/* Tells of the only message of its stage that got no answer, since the leaf was made. */
static void tell(const struct mail *mail, const struct thrum__likes *likes,
	struct thrum__finding *finding)
{
	const struct thrum__model *model = mail->model;
	int64_t since = THRUM__TASK(model, likes->leaf, created);

	for (uint32_t i = 0; i < mail->count; i++) {
		const struct message *message = &mail->all[i];
		uint32_t answered, from = 0;

		while (from < mail->box_count && mail->boxes[from].reader != message->from)
			from++;
		if (message->time < since || message->read == THRUM__NONE || !message->is_over ||
			message->is_answered || from == mail->box_count ||
			thrum__why_is_recent(model, THRUM__EDGE(model, message->read, time)))
			continue;
		if (!thrum__why_spend(likes->search, mail->count / MESSAGES_A_TASK))
			return;
		answered = answered_beside(mail, i);
		if (answered == 0)
			continue;
		thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_LEAVES_OUT,
					    THRUM__EDGE(model, message->read, from),
					    mail->boxes[from].object, message->read),
			answered);
		thrum__why_move_last(finding, 0);
		return;
	}
}

void thrum__why_add_no_answer(struct thrum__likes *likes, struct thrum__finding *finding)
{
	struct thrum__search *search = likes->search;
	const struct thrum__model *model = search->model;
	struct mail mail = {.model = model};
	uint32_t edge = model->edges.first;

	if (model->is_joined || !thrum__why_spend(search, model->edges.count))
		return;
	mail.all = malloc(MESSAGES_MAX * sizeof *mail.all);
	if (!mail.all)
		return;
	while (edge < model->edges.count && thrum__model_has_row(&model->edges, edge) &&
		note(&mail, edge))
		edge++;
	if (edge == model->edges.count && end_likes(&mail, likes)) {
		find_answers(&mail);
		tell(&mail, likes, finding);
	}
	free(mail.all);
}
