/* SPDX-License-Identifier: ISC */
/*
 * Files that are locks: whoever makes one has the lock until it removes it. All processes under one `thrum
 * record` note which of them made a file that must not exist before. So one that tries in vain for some time
 * knows whether the file was left by a process that a signal has killed, or is its own. A file that it opens
 * in between is no lock: it only makes sure that there is one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/call/call.h"
#include "adapt/forks.h"

REAL(remove)
REAL(unlink)
REAL(unlinkat)

#define TRIED 16          /* paths that are tried at a time */
#define TRIES_MIN 10      /* so many tries in vain, */
#define TRIES_NS 50000000 /* and for so long, mean that somebody waits */

/* By a hash of the path: a lock that this process can't get. */
static struct tried {
	_Atomic uint64_t path; /* 0: none */
	_Atomic uint32_t count, recording;
	_Atomic int64_t since;
	_Atomic uint64_t task, file; /* once it is told: until that file is removed */
	_Atomic bool is_own;         /* this process made it */
} tried[TRIED];
static _Atomic bool has_tried;

/* The number of the namespace in which the process has its own number; 0: not known. It is looked up once for
 * each process, as that takes longer than all else here. */
static uint64_t find_space(void)
{
	static _Atomic uint64_t known, owner;
	uint64_t self = (uint64_t)own_pid(), space;
	struct stat numbers;

	if (atomic_load(&owner) == self && (space = atomic_load(&known)))
		return space;
	if (stat("/proc/self/ns/pid", &numbers) != 0)
		return 0;
	atomic_store(&owner, 0);
	atomic_store(&known, numbers.st_ino);
	atomic_store(&owner, self);
	return numbers.st_ino;
}

/* Tells files apart, also one from a later one in the same place; 0: that can't be told. Processes that have
 * other numbers for each other know nothing of each other's files. */
static uint64_t key_of(int folder, const char *path)
{
	struct statx file;
	uint64_t key, space;

	if (statx(folder, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*path ? 0 : AT_EMPTY_PATH),
		    STATX_TYPE | STATX_INO | STATX_BTIME, &file) != 0 ||
		!(file.stx_mask & STATX_BTIME) || !S_ISREG(file.stx_mode) ||
		!(space = find_space()))
		return 0;
	key = mix_key(file.stx_ino, (uint64_t)file.stx_dev_major << 32 | file.stx_dev_minor);
	key = mix_key(key, (uint64_t)file.stx_btime.tv_sec << 30 ^ file.stx_btime.tv_nsec);
	return mix_key(key, space);
}

/* ---- Telling ----------------------------------------------------------------------------------- */

/* The process that made a file. */
struct maker {
	pid_t process;
	bool is_killed;
	char name[16];
};

/* Whether it left the file: it was killed, or it is this process, whose only thread wants to make the file
 * again. */
static bool is_left(const struct maker *maker)
{
	siginfo_t told;

	if (maker->process == own_pid())
		return thrum__adapt_process_is_single(maker->process) &&
			!thrum__adapt_has_handlers();
	return maker->is_killed ||
		(thrum__adapt_child_ended(maker->process, &told) == 1 &&
			(told.si_code == CLD_KILLED || told.si_code == CLD_DUMPED));
}

static char *put_maker(char *to, const struct maker *maker)
{
	if (maker->process == own_pid())
		return stpcpy(to, "this process");
	to = thrum__adapt_put_named(stpcpy(to, "killed process "), maker->process, maker->name);
	return thrum__adapt_put_starter(to, maker->process);
}

static void tell(struct tried *lock, const struct maker *maker, const char *path, uint64_t key,
	const void *caller)
{
	char label[CALL_MAX + PROCESS_TEXT + PLACE_MAX] = "removal of lock file ";
	const char *slash = strrchr(path, '/');
	thrum_task task;

	strncat(label, slash ? slash + 1 : path, 64);
	put_maker(stpcpy(strchr(label, '\0'), ", made by "), maker);
	task = thrum__adapt_missing(label, caller);
	atomic_store(&lock->recording, thrum__recording());
	atomic_store(&lock->file, key);
	atomic_store(&lock->is_own, maker->process == own_pid());
	atomic_store(&lock->task, task);
}

static void leave(struct tried *lock)
{
	uint64_t task = atomic_exchange(&lock->task, 0);

	if (task && atomic_load(&lock->recording) == thrum__recording())
		thrum_task_resolve(task);
}

/* A process that ends by itself didn't wait for what it has: it only made sure that there is such a file. */
__attribute__((destructor)) static void leave_own(void)
{
	for (struct tried *lock = tried; lock < tried + TRIED; lock++)
		if (atomic_load(&lock->is_own))
			leave(lock);
}

/* ---- Trying ------------------------------------------------------------------------------------ */

static void note_made(int fd)
{
	uint64_t key = key_of(fd, "");

	if (key)
		thrum__adapt_fork_made(key);
}

/* Its maker may be killed at any time, so it is looked at again from time to time. */
static void note_refused(struct tried *lock, int folder, const char *path, const void *caller)
{
	uint32_t count = atomic_fetch_add(&lock->count, 1) + 1;
	struct maker maker;
	uint64_t key;
	int before;

	if (count % TRIES_MIN != 0 || rough_time() - atomic_load(&lock->since) < TRIES_NS)
		return;
	key = key_of(folder, path);
	if (atomic_load(&lock->task) && atomic_load(&lock->file) != key)
		leave(lock);
	if (!key || atomic_load(&lock->task))
		return;
	maker.process = thrum__adapt_fork_maker(key, maker.name, &maker.is_killed);
	if (maker.process == 0)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	if (is_left(&maker)) {
		thrum__adapt_start();
		if (records_wait(ADAPTER_BLOCK))
			tell(lock, &maker, path, key, caller);
	}
	pthread_setcancelstate(before, NULL);
}

static uint64_t hash_of(int folder, const char *path)
{
	uint64_t hash = (uint64_t)folder + 1;

	for (const char *at = path; *at; at++)
		hash = mix_key(hash, (unsigned char)*at);
	return hash;
}

void thrum__adapt_lock_file_used(int folder, const char *path)
{
	if (LIKELY(!atomic_load_explicit(&has_tried, memory_order_relaxed)))
		return;
	int error = errno;
	uint64_t hash = hash_of(folder, path);
	struct tried *file = &tried[hash % TRIED];

	if (atomic_compare_exchange_strong(&file->path, &hash, 0))
		leave(file);
	errno = error;
}

void thrum__adapt_lock_file(int folder, const char *path, int fd, const void *caller)
{
	int error = errno;
	uint64_t hash;
	struct tried *lock;

	if (fd < 0 && error != EEXIST)
		return;
	hash = hash_of(folder, path);
	lock = &tried[hash % TRIED];
	if (fd >= 0)
		note_made(fd);
	if (fd >= 0 && atomic_load(&lock->path) == hash) {
		leave(lock);
		atomic_store(&lock->path, 0);
	} else if (fd < 0) {
		atomic_store_explicit(&has_tried, true, memory_order_relaxed);
		if (atomic_exchange(&lock->path, hash) != hash) {
			leave(lock);
			atomic_store(&lock->count, 0);
			atomic_store(&lock->since, rough_time());
		}
		note_refused(lock, folder, path, caller);
	}
	errno = error;
}

/* ---- Removing ---------------------------------------------------------------------------------- */

STAND_IN int unlink(const char *path)
{
	int result = real_unlink(CALLER)(path);

	if (result == 0)
		thrum__adapt_lock_file_used(AT_FDCWD, path);
	return result;
}

STAND_IN int unlinkat(int folder, const char *path, int flags)
{
	int result = real_unlinkat(CALLER)(folder, path, flags);

	if (result == 0)
		thrum__adapt_lock_file_used(folder, path);
	return result;
}

STAND_IN int remove(const char *path)
{
	int result = real_remove(CALLER)(path);

	if (result == 0)
		thrum__adapt_lock_file_used(AT_FDCWD, path);
	return result;
}
