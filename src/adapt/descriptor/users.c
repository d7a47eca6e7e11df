/* SPDX-License-Identifier: ISC */
/*
 * Which descriptors a process has used by calls that read or write, since it began as a copy by fork, or
 * since it accepted them. Relatives read that from its memory: one that got a connection by a fork, and
 * never used it, has it by mistake.
 */
#define _GNU_SOURCE

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"

/* The process is negative if it accepted the descriptor, and hasn't used it yet; 0: not known. A fork's child
 * has its parent's. */
_Atomic uint64_t thrum__adapt_users[DESCRIPTORS];
/* The process in which something came out of it; 0: it isn't known. */
_Atomic pid_t thrum__adapt_getters[DESCRIPTORS];
__thread uint64_t thrum__adapt_user __attribute__((tls_model("initial-exec"))) = NO_USER;
/* This process, if all its uses are noted since it was forked. */
static AT_FORK _Atomic pid_t child;

static pid_t process_of(uint64_t user)
{
	return (pid_t)(uint32_t)user;
}

static uint32_t thread_of(uint64_t user)
{
	return (uint32_t)(user >> 32);
}

static uint64_t user_of(pid_t process, uint32_t thread)
{
	return (uint32_t)process | (uint64_t)thread << 32;
}

static void note(int fd, uint64_t user)
{
	uint64_t before = atomic_load_explicit(&thrum__adapt_users[fd], memory_order_relaxed);

	if (process_of(before) == process_of(user) && thread_of(before) != thread_of(user))
		user = user_of(process_of(user), USED_BY_SEVERAL);
	if (before != user)
		atomic_store_explicit(&thrum__adapt_users[fd], user, memory_order_relaxed);
}

/* The calling thread. In a fork's child that records nothing so far its number needs not be known. */
static uint64_t find_user(void)
{
	const struct thread *self = thrum__adapt_self;

	if (thrum__adapt_user == NO_USER && self)
		thrum__adapt_user = user_of(thrum__adapt_known_pid(),
			thrum__adapt_thread_number(self));
	if (thrum__adapt_user != NO_USER)
		return thrum__adapt_user;
	return user_of(thrum__adapt_known_pid(),
		atomic_load_explicit(&thrum__adapt_is_fresh, memory_order_relaxed)
			? own_tid()
			: USED_BY_SEVERAL);
}

void thrum__adapt_user_note(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		note(fd, find_user());
}

void thrum__adapt_user_got(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&thrum__adapt_getters[fd], process_of(find_user()),
			memory_order_relaxed);
}

void thrum__adapt_user_accepted(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		note(fd, user_of(-thrum__adapt_known_pid(), USED_BY_NONE));
}

void thrum__adapt_user_forget(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS)
		return;
	note(fd, user_of(0, USED_BY_NONE));
	if (atomic_load_explicit(&thrum__adapt_getters[fd], memory_order_relaxed) != 0)
		atomic_store_explicit(&thrum__adapt_getters[fd], 0, memory_order_relaxed);
}

void thrum__adapt_users_left(bool records)
{
	thrum__adapt_user = NO_USER;
	atomic_store(&child, records ? thrum__adapt_known_pid() : 0);
}

/* Copies what a process notes of a descriptor. */
static bool copy_user(pid_t process, int fd, uint64_t *user)
{
	return (unsigned)fd < DESCRIPTORS &&
		thrum__adapt_process_copy(process, (uintptr_t)&thrum__adapt_users[fd], user,
			sizeof *user);
}

enum thrum__adapt_use thrum__adapt_user_of(pid_t process, int fd)
{
	uint64_t user;
	pid_t forked;

	if (!copy_user(process, fd, &user) ||
		!thrum__adapt_process_copy(process, (uintptr_t)&child, &forked, sizeof forked))
		return USE_UNKNOWN;
	if (process_of(user) == process)
		return USE_SEEN;
	if (process_of(user) == -process)
		return USE_ACCEPTED;
	/* If its parent used it before, it may have left the rest to this process. */
	return forked == process && process_of(user) <= 0 ? USE_NEVER : USE_UNKNOWN;
}

uint32_t thrum__adapt_user_thread(pid_t process, int fd)
{
	uint64_t user;

	if (!copy_user(process, fd, &user))
		return USED_BY_SEVERAL;
	return process_of(user) == process ? thread_of(user) : USED_BY_NONE;
}

bool thrum__adapt_user_has_got(pid_t process, int fd)
{
	pid_t getter;

	return (unsigned)fd < DESCRIPTORS &&
		thrum__adapt_process_copy(process, (uintptr_t)&thrum__adapt_getters[fd], &getter,
			sizeof getter) &&
		getter == process;
}
