/* SPDX-License-Identifier: ISC */
/*
 * Waits at sockets that listen. A thread that reads while its connection is in the queue waits for the thread
 * that accepts, which may do something else. And a thread that waits to accept isn't woken when another one
 * closes the socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapt/call/call.h"
#include "adapt/ends/ends.h"
#include "adapt/look/look.h"
#include "port/port.h"

REAL(poll)

/* ms until the first look at a queue. The accepter looks at other times: to it a thread that looks isn't
 * asleep. */
#define QUEUE_FIRST (LOOK_FIRST * 3 / 2)

/* ---- Connections in the queue ------------------------------------------------------------------ */

/* The only thread that may accept the connection of a Unix socket, if none has; else NONE. Sets *stopper,
 * unless NULL, to where libevent was told to accept no more from its listener. */
static thrum_task queued_for(int fd, const void **stopper)
{
	struct sockaddr_un peer;
	socklen_t size = sizeof peer;
	thrum_task accepter = THRUM_TASK_NONE;

	if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sun_family == AF_UNIX &&
		size <= sizeof peer)
		accepter = thrum__adapt_accepter((struct sockaddr *)&peer, size);
	if (stopper)
		*stopper = accepter
			? thrum__adapt_removed_disabler(
				  thrum__adapt_accepts_at((struct sockaddr *)&peer, size))
			: NULL;
	return accepter && thrum__adapt_socket_is_queued(fd) ? accepter : THRUM_TASK_NONE;
}

bool thrum__adapt_accept_is_due(int fd)
{
	int error = errno, before;
	bool is_due = thrum__adapt_has_accepters() &&
		thrum__adapt_socket_limit(fd, false) == ENDLESS && !thrum__adapt_may_interrupt();

	if (is_due) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		is_due = queued_for(fd, NULL) != THRUM_TASK_NONE;
		pthread_setcancelstate(before, NULL);
	}
	errno = error;
	return is_due;
}

void thrum__adapt_accept_wait(struct wait *wait, const char *verb, int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	_Atomic uintptr_t *looker LOOKER = NULL;
	thrum_task told = THRUM_TASK_NONE, accepter;
	int pause = QUEUE_FIRST, error = errno, before;
	char label[CALL_MAX + PLACE_MAX + 60];
	const void *stopper, *stopped = NULL;

	thrum__adapt_socket_receive(fd);
	looker = thrum__adapt_note_looker(&one, false);
	while (!is_limited()) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		accepter = queued_for(fd, &stopper);
		if (pause > QUEUE_FIRST && (accepter != told || stopper != stopped)) {
			told = accepter;
			stopped = stopper;
			thrum__adapt_wait_end(wait);
			thrum__adapt_put_call(label, verb, fd);
			if (stopper)
				thrum__adapt_label(label + strlen(label),
					", not accepted since evconnlistener_disable in", stopper);
			thrum__adapt_wait_make(wait, told ? THRUM_KIND_REQUEST : THRUM_KIND_HANDLE,
				label, wait->caller);
			if (told)
				thrum_task_wait(wait->source, told);
			thrum__adapt_wait_go(wait, &thrum__adapt_outside);
			thrum__adapt_socket_receive(fd);
		}
		pthread_setcancelstate(before, NULL);
		if (!accepter || real_poll(NULL)(&one, 1, pause) != 0)
			break;
		pause = next_pause(pause);
	}
	errno = error;
}

/* ---- Closing ----------------------------------------------------------------------------------- */

/* Whether a thread of this process waits to accept from a descriptor. */
static bool waits_to_accept(uint32_t tid, int fd)
{
	struct process_call call;

	return thrum__adapt_process_call(own_pid(), tid, &call) &&
		(call.number == SYS_accept || call.number == SYS_accept4) &&
		(int)call.arguments[0] == fd;
}

static void end_unwoken(struct thread *thread)
{
	uint64_t task = atomic_exchange(&thread->unwoken, 0);

	if (task && atomic_load(&thread->recording) == thrum__recording())
		thrum_task_resolve(task);
}

static void tell_closed(struct thread *thread, int fd, const void *caller)
{
	char label[CALL_MAX + PLACE_MAX + 40];
	thrum_task task, waits = atomic_load(&thread->outside);

	thrum__adapt_put_call(label, "wake-up of accept from", fd);
	thrum__adapt_label(label + strlen(label), ", closed by", caller);
	task = thrum__adapt_missing(label, caller);
	thrum_task_wait(waits, task);
	atomic_store(&thread->unwoken, task);
	/* It may have been woken meanwhile. */
	if (!waits_to_accept(atomic_load(&thread->tid), fd))
		end_unwoken(thread);
}

void thrum__adapt_accepts_closed(int fd, const void *caller)
{
	int error = errno, before;

	if (!is_on(ADAPTER_BLOCK) || thrum__adapt_is_beside)
		return;
	/* A file is open meanwhile. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next) {
		uint32_t tid = atomic_load(&t->tid);

		if (tid && atomic_load(&t->recording) == thrum__recording() &&
			!atomic_load(&t->unwoken) && waits_to_accept(tid, fd))
			tell_closed(t, fd, caller);
	}
	pthread_setcancelstate(before, NULL);
	errno = error;
}

void thrum__adapt_accept_over(void)
{
	struct thread *self = thrum__adapt_self;

	if (self && UNLIKELY(atomic_load_explicit(&self->unwoken, memory_order_relaxed) != 0))
		end_unwoken(self);
}
