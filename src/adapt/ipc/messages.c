/* SPDX-License-Identifier: ISC */
/* Queues of messages that are the kernel's own (msgget). A thread that is about to wait for one looks
 * once, as it can't look meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include "adapt/ipc/ipc.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"

REAL(msgrcv)
REAL(msgsnd)
REAL(msgctl)

/* The last queue to which this process has sent. */
static _Atomic int asked_queue;

static uint64_t key_of(int queue)
{
	return thrum__adapt_queue_key(QUEUE_OF_MSGGET, (uint64_t)queue);
}

static bool has_unread(uint64_t asked)
{
	struct msqid_ds about;
	int queue = atomic_load(&asked_queue);

	return key_of(queue) == asked && real_msgctl(NULL)(queue, IPC_STAT, &about) == 0 &&
		about.msg_qnum > 0;
}

static void note_sent(int queue)
{
	atomic_store_explicit(&asked_queue, queue, memory_order_relaxed);
	thrum__adapt_queue_used(QUEUE_OF_MSGGET, (uint64_t)queue, QUEUE_SENDS);
}

static void begin(struct noted_wait *wait, int queue, uint64_t key, bool sends, const void *caller)
{
	char label[CALL_MAX], name[32];
	int error = errno;

	*wait = (struct noted_wait){.wait.pause.is_over = true, .note = FORKS_WAITS};
	thrum__adapt_start();
	if (records_wait(ADAPTER_BLOCK)) {
		*thrum__adapt_put_number(name, (uint64_t)queue) = '\0';
		strcpy(stpcpy(label, sends ? "send to queue " : "receive from queue "), name);
		thrum__adapt_wait_make(&wait->wait, sends ? THRUM_KIND_REQUEST : THRUM_KIND_HANDLE,
			label, caller);
		wait->note = thrum__adapt_set_waits(key);
		thrum__adapt_queue_look_once(&(struct queue_wait){.look.wait = &wait->wait,
			.key = key,
			.name = name,
			.sends = sends,
			.has_unread = has_unread,
			.call = {sends ? SYS_msgsnd : SYS_msgrcv, {(unsigned long)queue}}});
		thrum__adapt_wait_go(&wait->wait, &thrum__adapt_outside);
	}
	errno = error;
}

static NOINLINE ssize_t wait_to_receive(int queue, void *to, size_t size, long type, int flags,
	const void *caller)
{
	struct noted_wait wait __attribute__((cleanup(thrum__adapt_noted_wait_end)));

	/* It will receive, if anything comes. */
	begin(&wait, queue,
		thrum__adapt_queue_used(QUEUE_OF_MSGGET, (uint64_t)queue, QUEUE_RECEIVES), false,
		caller);
	return real_msgrcv(caller)(queue, to, size, type, flags);
}

static NOINLINE int wait_to_send(int queue, const void *from, size_t size, int flags,
	const void *caller)
{
	struct noted_wait wait __attribute__((cleanup(thrum__adapt_noted_wait_end)));

	begin(&wait, queue, key_of(queue), true, caller);
	return real_msgsnd(caller)(queue, from, size, flags);
}

/* A queue that was removed while the thread looked has been one for which it waited. */
static void note_removed(ssize_t result)
{
	if (result < 0 && errno == EINVAL)
		errno = EIDRM;
}

STAND_IN ssize_t msgrcv(int queue, void *to, size_t size, long type, int flags)
{
	const void *caller = CALLER;
	int error = errno;
	ssize_t result;

	if (!is_chosen(ADAPTER_BLOCK))
		return real_msgrcv(caller)(queue, to, size, type, flags);
	result = real_msgrcv(caller)(queue, to, size, type, flags | IPC_NOWAIT);
	if (result < 0 && errno == ENOMSG && !(flags & IPC_NOWAIT)) {
		errno = error;
		result = wait_to_receive(queue, to, size, type, flags, caller);
		note_removed(result);
	}
	if (result >= 0)
		thrum__adapt_queue_used(QUEUE_OF_MSGGET, (uint64_t)queue, QUEUE_RECEIVES);
	return result;
}

STAND_IN int msgsnd(int queue, const void *from, size_t size, int flags)
{
	const void *caller = CALLER;
	int error = errno, result;

	if (!is_chosen(ADAPTER_BLOCK))
		return real_msgsnd(caller)(queue, from, size, flags);
	result = real_msgsnd(caller)(queue, from, size, flags | IPC_NOWAIT);
	if (result < 0 && errno == EAGAIN && !(flags & IPC_NOWAIT)) {
		errno = error;
		result = wait_to_send(queue, from, size, flags, caller);
		note_removed(result);
	}
	if (result == 0)
		note_sent(queue);
	return result;
}
