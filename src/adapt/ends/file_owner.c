/* SPDX-License-Identifier: ISC */
/*
 * Which process has the lock of a file, where that isn't known to be a thread of this one. A lock of flock()
 * belongs to an open file, which a fork's child has, too: fdinfo tells which descriptors have it, and who
 * took it. /proc/locks tells of fcntl(). A thread that is about to wait looks once, as it can't look
 * meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "adapt/ends/ends.h"
#include "port/port.h"

#define SHARE 50 /* looks take no more than this part of the time */

/* ---- /proc/locks ----------------------------------------------------------------------------- */

/* The search for the owner of a lock of fcntl(). */
struct owners {
	pid_t waits; /* the process whose lock it is */
	/* That has the lock of the lines before; 0: it isn't known, or that is no lock of fcntl(). */
	pid_t last;
	pid_t found;
};

/* "7: POSIX  ADVISORY  WRITE 123 fe:00:456 0 EOF", and "7: -> POSIX ..." for one that waits. */
static bool look_at_line(void *context, const char *line)
{
	struct owners *owners = context;
	const char *word = strstr(line, "POSIX"), *at = word ? strpbrk(word, "0123456789") : NULL;
	pid_t process = at ? (pid_t)strtol(at, NULL, 10) : 0;

	if (!strstr(line, "-> ")) {
		owners->last = process;
		return false;
	}
	if (process == owners->waits)
		owners->found = owners->last;
	return owners->found != 0;
}

/* Finds which process has the lock of fcntl() for which another one waits; 0: it isn't known. Those who wait
 * stand behind the one that has it. */
static pid_t find_owner(pid_t waits)
{
	struct owners owners = {.waits = waits};

	thrum__adapt_each_line("/proc/locks", look_at_line, &owners);
	return owners.found;
}

/* ---- Those who have it ------------------------------------------------------------------------- */

static bool find_lock(struct file_lock *lock)
{
	char path[64];
	struct statx file;

	thrum__adapt_process_descriptor(path, lock->process, lock->fd);
	if (!thrum__adapt_find_file(AT_FDCWD, path, &file))
		return false;
	lock->inode = file.stx_ino;
	lock->device = makedev(file.stx_dev_major, file.stx_dev_minor);
	return true;
}

bool thrum__adapt_file_lock(pid_t process, const struct process_call *call, struct file_lock *lock)
{
	*lock = (struct file_lock){.process = process,
		.fd = (int)call->arguments[0],
		.is_flock = call->number == SYS_flock};
	return (lock->is_flock || (call->number == SYS_fcntl && call->arguments[1] == F_SETLKW)) &&
		find_lock(lock);
}

struct search {
	const struct file_lock *lock;
	pid_t process, taker;
	int at; /* the lowest descriptor that has the lock; -1: none */
};

static void compare_file(void *context, int directory, const char *name)
{
	struct search *search = context;
	struct statx file;
	char info[48], text[PROCESS_TEXT], *at;

	if (!thrum__adapt_find_file(directory, name, &file) ||
		file.stx_ino != search->lock->inode ||
		makedev(file.stx_dev_major, file.stx_dev_minor) != search->lock->device ||
		(search->at >= 0 && search->at < atoi(name)))
		return;
	strcpy(stpcpy(info, "/fdinfo/"), name);
	thrum__adapt_process_read(search->process, info, text);
	at = strstr(text, "\nlock:");
	at = at ? strstr(at, "FLOCK") : NULL;
	at = at ? strpbrk(at, "0123456789") : NULL;
	if (!at)
		return;
	search->at = atoi(name);
	search->taker = (pid_t)strtol(at, NULL, 10);
}

unsigned thrum__adapt_file_holders(const struct look *look, const struct file_lock *lock,
	struct holder holders[PROCESSES])
{
	pid_t owner = lock->is_flock ? 0 : find_owner(lock->process);
	unsigned count = 0;

	if (owner)
		holders[count++] = (struct holder){owner, -1, true};
	for (unsigned i = 0; i < look->count && lock->is_flock; i++) {
		struct search search = {lock, look->processes[i], 0, -1};

		if (!thrum__adapt_process_each(look->processes[i], "/fd", compare_file, &search) &&
			!thrum__adapt_process_is_over(look->processes[i]))
			return 0;
		if (search.at >= 0)
			holders[count++] = (struct holder){look->processes[i], search.at,
				search.taker == look->processes[i]};
	}
	return count;
}

/* ---- Telling ----------------------------------------------------------------------------------- */

/* Writes the name of the file, or its number if it has none. */
static char *put_name(char *to, const struct file_lock *lock)
{
	char path[64], target[PROCESS_TEXT], *name;
	ssize_t length;

	thrum__adapt_process_descriptor(path, lock->process, lock->fd);
	length = readlink(path, target, sizeof target);
	target[length > 0 && (size_t)length < sizeof target ? length : 0] = '\0';
	name = strrchr(target, '/');
	return name && strlen(name) < CALL_MAX - sizeof "release of file lock  in "
		? stpcpy(to, name + 1)
		: thrum__adapt_put_number(to, lock->inode);
}

thrum_task thrum__adapt_file_make(struct wait *wait, const struct look *look,
	const struct file_lock *lock, pid_t holder)
{
	char label[CALL_MAX + PROCESS_TEXT + PLACE_MAX], *to;
	thrum_task task;

	to = stpcpy(put_name(stpcpy(label, "release of file lock "), lock), " in ");
	*thrum__adapt_ends_put_holder(to, look, holder) = '\0';
	task = thrum__adapt_ends_missing(wait, label, wait->caller);
	if (holder == look->self)
		thrum_task_wait(task, wait->task);
	return task;
}

static _Atomic int64_t next_look; /* by CLOCK_MONOTONIC */

static void add_process(struct look *look, pid_t process)
{
	if (process > 1 && look->count < PROCESSES && !thrum__adapt_relatives_bit(look, process))
		look->processes[look->count++] = process;
}

/* Those who may have the lock of flock(): this process's relatives. /proc/locks would tell others, too, but
 * the kernel holds up all who lock files while it is read, for 10 ms. */
static void add_relatives(struct look *look)
{
	pid_t siblings[PROCESSES], ancestor = thrum__adapt_process_parent(look->self);
	struct found_processes found = {siblings, 0, PROCESSES, true};

	thrum__adapt_process_children(ancestor, &found);
	for (unsigned i = 0; i < found.count; i++)
		add_process(look, siblings[i]);
	for (int i = 0; i < ANCESTORS && ancestor > 1; i++) {
		add_process(look, ancestor);
		ancestor = thrum__adapt_process_parent(ancestor);
	}
}

/* If this process took the lock and closed its descriptor, its child has it by mistake. */
static void tell(struct wait *wait, const struct look *look, const struct file_lock *lock,
	const struct holder *holders, unsigned count)
{
	bool is_here = false, is_meant = false;

	for (unsigned i = 0; i < count; i++) {
		is_here |= holders[i].process == look->self;
		is_meant |= holders[i].is_meant;
	}
	if (is_here)
		return;
	for (unsigned i = 0; i < count; i++)
		if (is_meant)
			thrum__adapt_ends_tell(wait, look, holders[i].process);
		else
			thrum_task_wait(wait->source,
				thrum__adapt_file_make(wait, look, lock, holders[i].process));
}

/* Whether looks have taken but a small share of the time so far. */
static bool may_look(void)
{
	return (int64_t)thrum__port_monotonic() >= atomic_load(&next_look);
}

/* Looks who has the lock, and tells it. */
static void look_once(struct wait *wait, struct file_lock *lock, pid_t owner)
{
	struct holder holders[PROCESSES] = {{owner, -1, true}};
	unsigned count = owner > 0;
	struct look look = {.fd = -1};
	int64_t began = (int64_t)thrum__port_monotonic(), now;

	thrum__adapt_relatives_look(&look);
	if (lock->is_flock && find_lock(lock)) {
		add_relatives(&look);
		count = thrum__adapt_file_holders(&look, lock, holders);
	}
	tell(wait, &look, lock, holders, count);
	now = (int64_t)thrum__port_monotonic();
	atomic_store(&next_look, now + (now - began) * SHARE);
}

void thrum__adapt_file_wait(struct wait *wait, int fd, pid_t owner, const void *caller)
{
	struct file_lock lock = {.process = own_pid(), .fd = fd, .is_flock = owner == 0};
	char label[CALL_MAX];
	int error = errno, before;

	thrum__adapt_start(); /* also that of a program with a single thread */
	(void)records_wait(ADAPTER_BLOCK);
	thrum__adapt_put_file(label, "lock", fd);
	thrum__adapt_wait_make(wait, THRUM_KIND_REQUEST, label, caller);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	if (is_on(ADAPTER_BLOCK) && may_look())
		look_once(wait, &lock, owner);
	pthread_setcancelstate(before, NULL);
	thrum__adapt_wait_go(wait, &thrum__adapt_outside);
	errno = error;
}
