/* SPDX-License-Identifier: ISC */
/* POSIX's queues of messages (mq_open). They are descriptors, and their calls may have a time limit: so
 * a thread that waits looks from time to time whether anybody is left who would end that. */
#define _GNU_SOURCE
/* It would give mq_open() another name. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "adapt/ipc/ipc.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"

REAL(mq_open)
REAL(mq_receive)
REAL(mq_timedreceive)
REAL(mq_send)
REAL(mq_timedsend)
REAL(mq_getattr)

/* By descriptor: the number of the queue; 0: not known yet. */
#define QUEUES 1024
static _Atomic uint64_t numbers[QUEUES];
/* The last queue to which this process has sent. */
static _Atomic int asked_queue;

/* The numbers of queues without a name that were waited for; 0: free. */
#define OWN 32
static _Atomic uint64_t own[OWN];
/* This program may have started a process: that may have any queue, even without its name by now. */
static _Atomic bool is_shared;

static void put_path(char path[64], mqd_t queue)
{
	*thrum__adapt_put_number(stpcpy(path, "/proc/self/fd/"), (uint64_t)queue) = '\0';
}

static uint64_t number_of(mqd_t queue)
{
	uint64_t number = (unsigned)queue < QUEUES
		? atomic_load_explicit(&numbers[queue], memory_order_relaxed)
		: 0;
	int error = errno;
	char path[64];
	bool is_private;

	if (LIKELY(number) || queue < 0)
		return number;
	put_path(path, queue);
	number = thrum__adapt_ipc_mq_number(path, &is_private);
	if (queue < QUEUES)
		atomic_store(&numbers[queue], number);
	errno = error;
	return number;
}

static uint64_t key_of(mqd_t queue)
{
	return thrum__adapt_queue_key(QUEUE_OF_MQ_OPEN, number_of(queue));
}

static bool has_unread(uint64_t asked)
{
	struct mq_attr about;
	mqd_t queue = atomic_load(&asked_queue);

	return key_of(queue) == asked && real_mq_getattr(NULL)(queue, &about) == 0 &&
		about.mq_curmsgs > 0;
}

/* ---- Queues that the program has alone --------------------------------------------------------- */

/* The address that stands for a queue: the program has nothing there. */
static const void *address_of(uint64_t number)
{
	return (const void *)~(uintptr_t)number;
}

/* Finds the object of a queue without a name, that no other process can have. NULL: there is none. */
static struct object *own_object(mqd_t queue, const void *caller)
{
	char path[64], name[IPC_NAME], label[CALL_MAX] = "queue ";
	uint64_t number;
	bool is_private = false;
	unsigned i = 0;

	put_path(path, queue);
	number = thrum__adapt_ipc_mq_number(path, &is_private);
	if (!number || !is_private || atomic_load(&is_shared))
		return NULL;
	for (uint64_t before = 0; i < OWN; i++, before = 0)
		if (atomic_compare_exchange_strong(&own[i], &before, number) || before == number)
			break;
	if (i == OWN)
		return NULL;
	thrum__adapt_ipc_mq_name(name, path);
	strcat(label, name);
	return thrum__adapt_object_named(address_of(number), THRUM_KIND_STREAM, label, caller);
}

/* The same if a thread has waited for it already. */
static struct object *known_object(mqd_t queue)
{
	return UNLIKELY(atomic_load_explicit(&own[0], memory_order_relaxed) != 0) &&
			!atomic_load(&is_shared)
		? thrum__adapt_object((uintptr_t)address_of(number_of(queue)))
		: NULL;
}

void thrum__adapt_queues_shared(void)
{
	if (atomic_exchange(&is_shared, true))
		return;
	for (unsigned i = 0; i < OWN && atomic_load(&own[i]); i++) {
		struct object *object = thrum__adapt_object(
			(uintptr_t)address_of(atomic_load(&own[i])));
		thrum_task other;

		if (!object)
			continue;
		other = thrum__create(thrum__adapt_site(NULL), THRUM_KIND_HANDLE,
			"a queue that others have, too");
		thrum_task_become(atomic_exchange(&object->task, other), other);
	}
}

/* Tells who sent to such a queue, or received from it. */
static void tell_used(mqd_t queue, bool sends, const void *caller)
{
	struct object *object = known_object(queue);

	if (object && sends)
		thrum__adapt_signal(object, atomic_load(&object->waiters), caller);
	else if (object)
		thrum_task_read(thrum_task_current(), atomic_load(&object->task));
}

static void note_used(mqd_t queue, bool sends)
{
	if (sends)
		atomic_store_explicit(&asked_queue, queue, memory_order_relaxed);
	thrum__adapt_queue_used(QUEUE_OF_MQ_OPEN, number_of(queue),
		sends ? QUEUE_SENDS : QUEUE_RECEIVES);
}

/* Also before the recording starts: the number may have been another queue's. */
static mqd_t note_opened(mqd_t queue)
{
	if ((unsigned)queue < QUEUES)
		atomic_store(&numbers[queue], 0);
	return queue;
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

struct mq_call {
	mqd_t queue;
	bool sends;
	char *to; /* or from */
	size_t size;
	unsigned *priority; /* that is stored, or sent */
	const struct timespec *until;
	const void *caller;
};

static ssize_t call_until(const struct mq_call *call, const struct timespec *until)
{
	return call->sends ? real_mq_timedsend(call->caller)(call->queue, call->to, call->size,
				     *call->priority, until)
			   : real_mq_timedreceive(call->caller)(call->queue, call->to, call->size,
				     call->priority, until);
}

/* Looks until there is nothing more to find out, or the call ends. Returns whether it has ended. */
static bool look_until(struct noted_wait *wait, const struct mq_call *call,
	struct queue_wait *queue, ssize_t *result)
{
	bool looks = !call->until && !thrum__adapt_had_handlers();

	thrum__adapt_set_wait_looks(wait->note, looks);
	for (int pause = LOOK_FIRST; looks; pause = thrum__adapt_ipc_pause(&queue->look, pause)) {
		struct timespec until = after_ms(pause);
		int error = errno;

		*result = call_until(call, &until);
		if (*result >= 0 || errno != ETIMEDOUT)
			return true;
		errno = error;
		if (thrum__adapt_queue_look(queue, false))
			return false; /* it is told; others needn't */
		looks = !thrum__adapt_had_handlers();
	}
	thrum__adapt_set_wait_looks(wait->note, false);
	return false;
}

/* Waits for a queue that the program has alone: one of its threads has to end that. */
static ssize_t wait_inside(const struct mq_call *call, struct object *object)
{
	struct wait wait __attribute__((cleanup(thrum__adapt_wait_end)));

	thrum__adapt_wait_begin(&wait, object, NULL, call->caller, call->until != NULL);
	return call_until(call, call->until);
}

static NOINLINE ssize_t wait_for(const struct mq_call *call)
{
	struct noted_wait wait
		__attribute__((cleanup(thrum__adapt_noted_wait_end))) = {.wait.pause.is_over = true,
			.note = FORKS_WAITS};
	char label[CALL_MAX], name[IPC_NAME], path[64];
	struct queue_wait queue = {.look = {&wait.wait,
					   call->sends ? THRUM_KIND_REQUEST : THRUM_KIND_HANDLE,
					   label, true, 0, false, 0},
		.key = key_of(call->queue),
		.name = name,
		.sends = call->sends,
		.has_unread = has_unread,
		.call = {call->sends ? SYS_mq_timedsend : SYS_mq_timedreceive,
			{(unsigned long)call->queue}}};
	struct object *object;
	int error = errno;
	ssize_t result;

	if (!call->sends)
		note_used(call->queue, false); /* it will, if anything comes */
	thrum__adapt_start();
	if (!records_wait(ADAPTER_BLOCK))
		return call_until(call, call->until);
	object = thrum__adapt_had_handlers() ? NULL : own_object(call->queue, call->caller);
	if (object) {
		errno = error;
		return wait_inside(call, object);
	}
	put_path(path, call->queue);
	thrum__adapt_ipc_mq_name(name, path);
	strcpy(stpcpy(label, call->sends ? "send to queue " : "receive from queue "), name);
	thrum__adapt_wait_outside(&wait.wait, queue.look.kind, label, -1, call->caller);
	if (!call->until)
		wait.note = thrum__adapt_set_waits(queue.key);
	if (!call->until && thrum__adapt_had_handlers())
		thrum__adapt_queue_look_once(&queue);
	errno = error;
	return look_until(&wait, call, &queue, &result) ? result : call_until(call, call->until);
}

/* Tries first without waiting. */
static ssize_t try_first(const struct mq_call *call)
{
	static const struct timespec past = {0, 0};
	int error = errno;
	ssize_t result = call_until(call, &past);

	if (result < 0 && errno == ETIMEDOUT) {
		errno = error;
		result = wait_for(call);
	}
	if (result >= 0) {
		note_used(call->queue, call->sends);
		tell_used(call->queue, call->sends, call->caller);
	}
	return result;
}

/* ---- The stand-ins ----------------------------------------------------------------------------- */

STAND_IN mqd_t mq_open(const char *name, int flags, ...)
{
	mode_t mode;
	struct mq_attr *about;
	va_list rest;

	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	about = flags & O_CREAT ? va_arg(rest, struct mq_attr *) : NULL;
	va_end(rest);
	return note_opened(real_mq_open(CALLER)(name, flags, mode, about));
}

/* Programs that are compiled with _FORTIFY_SOURCE call this. */
mqd_t __mq_open_2(const char *name, int flags);
REAL(__mq_open_2)
STAND_IN mqd_t __mq_open_2(const char *name, int flags)
{
	return note_opened(real___mq_open_2(CALLER)(name, flags));
}

STAND_IN ssize_t mq_receive(mqd_t queue, char *to, size_t size, unsigned *priority)
{
	const struct mq_call call = {queue, false, to, size, priority, NULL, CALLER};

	return is_chosen(ADAPTER_BLOCK) ? try_first(&call)
					: real_mq_receive(CALLER)(queue, to, size, priority);
}

STAND_IN ssize_t mq_timedreceive(mqd_t queue, char *restrict to, size_t size,
	unsigned *restrict priority, const struct timespec *restrict until)
{
	const struct mq_call call = {queue, false, to, size, priority, until, CALLER};

	return is_chosen(ADAPTER_BLOCK) && is_time(until) ? try_first(&call)
							  : call_until(&call, until);
}

STAND_IN int mq_send(mqd_t queue, const char *from, size_t size, unsigned priority)
{
	const struct mq_call call = {queue, true, (char *)(uintptr_t)from, size, &priority, NULL,
		CALLER};

	return is_chosen(ADAPTER_BLOCK) ? (int)try_first(&call)
					: real_mq_send(CALLER)(queue, from, size, priority);
}

STAND_IN int mq_timedsend(mqd_t queue, const char *from, size_t size, unsigned priority,
	const struct timespec *until)
{
	const struct mq_call call = {queue, true, (char *)(uintptr_t)from, size, &priority, until,
		CALLER};

	return is_chosen(ADAPTER_BLOCK) && is_time(until) ? (int)try_first(&call)
							  : (int)call_until(&call, until);
}
