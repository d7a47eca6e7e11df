/* SPDX-License-Identifier: ISC */
/*
 * Waits for queues of messages. Any process that knows a queue may use it at any time, so a wait for one is
 * for the outside: a server waits for its next request as long as it takes. But those who have used a queue
 * are known. So a process that waits for room is told if all that took messages out of it have ended. The
 * same goes for one that has asked and waits for the answer, if all have ended that could give it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

#include "adapt/ipc/ipc.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

#define SHARE 50 /* looks take no more than this part of the time */

static _Atomic int64_t next_look; /* by CLOCK_MONOTONIC */

void thrum__adapt_noted_wait_end(struct noted_wait *wait)
{
	thrum__adapt_set_wait_over(wait->note);
	thrum__adapt_wait_end(&wait->wait);
}

static bool has_ended(const struct queue_users *users)
{
	return users->is_whole && users->living == 0 && users->ended > 0;
}

/* Finds who should have ended the wait, and has ended itself. Returns false if anybody may yet do it. */
static bool find_ended(uint64_t key, bool sends, bool (*has_unread)(uint64_t),
	struct queue_users *users)
{
	uint64_t asked = thrum__adapt_queue_asked();
	struct queue_users answer;

	if (sends) {
		thrum__adapt_queue_users(key, QUEUE_RECEIVES, 0, users);
		return has_ended(users) &&
			!thrum__adapt_queue_is_user(key, QUEUE_RECEIVES, own_pid());
	}
	if (!asked)
		return false;
	thrum__adapt_queue_users(asked, QUEUE_RECEIVES, key, users);
	thrum__adapt_queue_users(key, QUEUE_SENDS, 0, &answer);
	return has_ended(users) && answer.is_whole && answer.living == 0 &&
		(users->is_killed || users->also || has_unread(asked));
}

static void tell(struct queue_wait *queue, const struct queue_users *users)
{
	struct wait *wait = queue->look.wait;
	char label[CALL_MAX + PROCESS_TEXT + PLACE_MAX], *to;
	thrum_task task;

	thrum__adapt_ipc_tell_begin(&queue->look);
	to = stpcpy(label, queue->sends ? "receipt from queue " : "answer in queue ");
	to = stpcpy(stpcpy(to, queue->name), " by ended process ");
	to = thrum__adapt_put_named(to, users->one, users->name);
	*thrum__adapt_put_starter(to, users->one) = '\0';
	task = thrum__adapt_ends_missing(wait, label, wait->caller);
	thrum_task_wait(wait->source, task);
	thrum__adapt_set_tells(thrum__adapt_set_self()->thread);
	thrum__adapt_ipc_tell_end(&queue->look);
}

bool thrum__adapt_queue_look(struct queue_wait *queue, bool is_last)
{
	int error = errno, before;
	struct queue_users users;
	bool tells;

	if (is_limited())
		return true; /* nothing more is told */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	tells = find_ended(queue->key, queue->sends, queue->has_unread, &users);
	if (tells)
		tell(queue, &users);
	else
		tells = thrum__adapt_ipc_look(&queue->look, &queue->call);
	/* Others that wait don't run between two looks, also if these follow each other at once. */
	if (!tells && is_last && queue->look.before)
		tells = thrum__adapt_ipc_look(&queue->look, &queue->call);
	pthread_setcancelstate(before, NULL);
	errno = error;
	return tells;
}

void thrum__adapt_queue_look_once(struct queue_wait *queue)
{
	int64_t began = (int64_t)thrum__port_monotonic(), now;

	if (began < atomic_load(&next_look))
		return;
	thrum__adapt_queue_look(queue, true);
	now = (int64_t)thrum__port_monotonic();
	atomic_store(&next_look, now + (now - began) * SHARE);
}
