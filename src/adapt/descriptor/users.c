/* SPDX-License-Identifier: ISC */
/*
 * Which descriptors a process has used by calls that read or write, since it began as a copy by fork, or
 * since it accepted them. Relatives read that from its memory: one that got a connection by a fork, and
 * never used it, has it by mistake.
 */
#define _GNU_SOURCE

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"

/* By descriptor: the process that used it, or minus the process that accepted it and hasn't used it yet; 0:
 * not known. A fork's child has its parent's. */
static _Atomic pid_t users[DESCRIPTORS];
/* This process, if all its uses are noted since it was forked. */
static AT_FORK _Atomic pid_t child;

/* The process in which something came out of it; 0: it isn't known. */
static _Atomic pid_t getters[DESCRIPTORS];
/* The only thread of the first process that used it. */
static _Atomic uint32_t threads[DESCRIPTORS];

static void note(int fd, pid_t user, uint32_t thread)
{
	uint32_t before;

	if ((unsigned)fd >= DESCRIPTORS)
		return;
	before = atomic_load_explicit(&threads[fd], memory_order_relaxed);
	if (atomic_load_explicit(&users[fd], memory_order_relaxed) != user)
		atomic_store_explicit(&users[fd], user, memory_order_relaxed);
	else if (before != thread)
		thread = USED_BY_SEVERAL;
	if (before != thread)
		atomic_store_explicit(&threads[fd], thread, memory_order_relaxed);
}

/* The number of the calling thread. In a fork's child that records nothing so far it needs not be known. */
static uint32_t number_of_self(void)
{
	const struct thread *self = thrum__adapt_self;

	if (self)
		return thrum__adapt_thread_number(self);
	return atomic_load_explicit(&thrum__adapt_is_fresh, memory_order_relaxed) ? own_tid()
										  : USED_BY_SEVERAL;
}

void thrum__adapt_user_note(int fd)
{
	note(fd, thrum__adapt_known_pid(), number_of_self());
}

void thrum__adapt_user_got(int fd)
{
	pid_t self = thrum__adapt_known_pid();

	if ((unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&getters[fd], memory_order_relaxed) != self)
		atomic_store_explicit(&getters[fd], self, memory_order_relaxed);
}

void thrum__adapt_user_accepted(int fd)
{
	note(fd, -thrum__adapt_known_pid(), USED_BY_NONE);
}

void thrum__adapt_user_forget(int fd)
{
	note(fd, 0, USED_BY_NONE);
	if ((unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&getters[fd], memory_order_relaxed) != 0)
		atomic_store_explicit(&getters[fd], 0, memory_order_relaxed);
}

void thrum__adapt_users_left(bool records)
{
	atomic_store(&child, records ? thrum__adapt_known_pid() : 0);
}

enum thrum__adapt_use thrum__adapt_user_of(pid_t process, int fd)
{
	pid_t user, forked;

	if ((unsigned)fd >= DESCRIPTORS ||
		!thrum__adapt_process_copy(process, (uintptr_t)&users[fd], &user, sizeof user) ||
		!thrum__adapt_process_copy(process, (uintptr_t)&child, &forked, sizeof forked))
		return USE_UNKNOWN;
	if (user == process)
		return USE_SEEN;
	if (user == -process)
		return USE_ACCEPTED;
	/* If its parent used it before, it may have left the rest to this process. */
	return forked == process && user <= 0 ? USE_NEVER : USE_UNKNOWN;
}

uint32_t thrum__adapt_user_thread(pid_t process, int fd)
{
	pid_t user;
	uint32_t thread;

	if ((unsigned)fd >= DESCRIPTORS ||
		!thrum__adapt_process_copy(process, (uintptr_t)&users[fd], &user, sizeof user) ||
		!thrum__adapt_process_copy(process, (uintptr_t)&threads[fd], &thread,
			sizeof thread))
		return USED_BY_SEVERAL;
	return user == process ? thread : USED_BY_NONE;
}

bool thrum__adapt_user_has_got(pid_t process, int fd)
{
	pid_t getter;

	return (unsigned)fd < DESCRIPTORS &&
		thrum__adapt_process_copy(process, (uintptr_t)&getters[fd], &getter,
			sizeof getter) &&
		getter == process;
}
