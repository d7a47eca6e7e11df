/* SPDX-License-Identifier: ISC */
/*
 * Locks of files (flock), which belong to an open file: a thread of this process may have to wait for
 * another one. As with locks in memory, who takes one is only noted, by the descriptor. The thread that
 * has to wait records who holds it, and where that one took it. Locks of fcntl() and lockf() belong to the
 * whole process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "adapt/ends/waits.h"

/* By descriptor. */
static struct held {
	_Atomic uintptr_t file; /* the key of the file that is locked; 0: none */
	_Atomic uintptr_t caller;
	_Atomic uint64_t task; /* that took it */
	_Atomic uint32_t recording;
} held[FDS_MAX];
static _Atomic int fds_used; /* no descriptor from this one on has been noted */

REAL(flock)

/* Returns what stands for the file in the place of a lock's address. 0: there is no such file. Another thread
 * may close the descriptor meanwhile: fstat() would do the same, but ThreadSanitizer calls that a race. */
static uintptr_t key_of(int fd)
{
	struct stat status;
	uint64_t key;

	if (fstatat(fd, "", &status, AT_EMPTY_PATH) != 0)
		return 0;
	key = (status.st_ino ^ (uint64_t)status.st_dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
	return address_of_key(key);
}

/* ---- Holding ----------------------------------------------------------------------------------- */

static void tell(struct held *lock, const struct object *object)
{
	uintptr_t caller = atomic_fetch_or(&lock->caller, RECORDED);

	if (!(caller & RECORDED) && THRUM__ON(THRUM__BIT_WAITS))
		thrum__lock_held(thrum__adapt_site((const void *)caller), atomic_load(&lock->task),
			atomic_load(&object->task));
}

/* Records who holds the lock of a file, as far as it isn't recorded yet. Returns whether anybody does. */
static bool tell_holders(const struct object *object, uintptr_t file)
{
	bool found = false;

	for (int fd = 0; fd < atomic_load(&fds_used); fd++) {
		/* The descriptor may have been closed by ways that nobody sees. */
		if (atomic_load(&held[fd].file) != file || key_of(fd) != file ||
			atomic_load(&held[fd].recording) != thrum__recording())
			continue;
		tell(&held[fd], object);
		found = true;
	}
	return found;
}

static void note_taken(int fd, uintptr_t file, const void *caller)
{
	const struct object *object;

	thrum__adapt_thread(); /* makes its task */
	atomic_store(&held[fd].caller, (uintptr_t)caller);
	atomic_store(&held[fd].task, thrum__adapt_actor());
	atomic_store(&held[fd].recording, thrum__recording());
	atomic_store(&held[fd].file, file);
	raise_to(&fds_used, fd + 1);
	object = is_watched((const void *)file) ? thrum__adapt_object(file) : NULL;
	if (object)
		tell(&held[fd], object);
}

void thrum__adapt_files_forget(unsigned first, unsigned last)
{
	unsigned used = (unsigned)atomic_load_explicit(&fds_used, memory_order_relaxed);

	for (unsigned fd = first; fd <= last && fd < used; fd++) {
		uintptr_t file = atomic_exchange(&held[fd].file, 0);
		const struct object *object = file && atomic_load(&held[fd].caller) & RECORDED
			? thrum__adapt_object(file)
			: NULL;

		if (object)
			thrum_lock_released(atomic_load(&object->task));
	}
}

bool thrum__adapt_files_are_own(int fd)
{
	int used = atomic_load(&fds_used), first = fd < 0 ? 0 : fd;
	int end = fd < 0 || fd >= used ? used : fd + 1;
	thrum_task actor = thrum__adapt_actor();

	for (int i = first; i < end; i++)
		if (atomic_load(&held[i].file) && atomic_load(&held[i].task) == actor &&
			atomic_load(&held[i].recording) == thrum__recording())
			return true;
	return false;
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* If a thread of this process holds the lock, the running task waits for that one. Others that take the
 * lock from now on say so. */
static bool begin_held(struct wait *wait, int fd, uintptr_t file, const void *caller)
{
	const void *address = (const void *)file;
	struct object *object;
	char label[CALL_MAX];

	if (!file || !thrum__adapt_speaks())
		return false;
	if (!thrum__adapt_put_name(label, "file lock", fd))
		thrum__adapt_put_call(label, "lock of", fd);
	object = thrum__adapt_object_named(address, THRUM_KIND_LOCK, label, caller);
	atomic_fetch_add(watch_of(address), 1);
	if (!object || !tell_holders(object, file)) {
		atomic_fetch_sub(watch_of(address), 1);
		return false;
	}
	/* Another process may take it then. */
	thrum__adapt_wait_pipe(wait, object, NULL, caller, &thrum__adapt_outside);
	wait->address = address;
	wait->is_watched = true;
	return true;
}

static NOINLINE int wait_for(const void *caller, int fd, int operation, uintptr_t file)
{
	struct wait wait;
	int error = errno, result;

	thrum__adapt_start();
	if (!records_wait(ADAPTER_BLOCK))
		return real_flock(caller)(fd, operation);
	bool is_held = begin_held(&wait, fd, file, caller);

	if (!is_held)
		thrum__adapt_file_wait(&wait, fd, 0, caller);
	errno = error;
	result = real_flock(caller)(fd, operation);
	error = errno;
	/* Watched until it has said that it has the lock. */
	if (is_held)
		atomic_fetch_add(watch_of((const void *)file), 1);
	thrum__adapt_wait_end(&wait);
	if (result == 0 && file)
		note_taken(fd, file, caller);
	if (is_held)
		atomic_fetch_sub(watch_of((const void *)file), 1);
	errno = error;
	return result;
}

/* A lock of another sort than the one that the descriptor has takes the place of that. */
STAND_IN int flock(int fd, int operation)
{
	const void *caller = CALLER;
	int error = errno;

	if (operation & LOCK_UN && fd >= 0)
		thrum__adapt_files_forget((unsigned)fd, (unsigned)fd);
	errno = error;
	if (!is_chosen(ADAPTER_BLOCK) || operation & LOCK_UN)
		return real_flock(caller)(fd, operation);
	int result = real_flock(caller)(fd, operation | LOCK_NB);

	if (result != 0 && errno != EWOULDBLOCK)
		return result;
	int answer = errno;
	bool is_noted = (unsigned)fd < FDS_MAX && (result != 0 || may_record(ADAPTER_BLOCK));
	uintptr_t file = is_noted ? key_of(fd) : 0;

	thrum__adapt_files_forget((unsigned)fd, (unsigned)fd);
	if (result == 0 && file)
		note_taken(fd, file, caller);
	errno = result == 0 || !(operation & LOCK_NB) ? error : answer;
	return result == 0 || operation & LOCK_NB ? result : wait_for(caller, fd, operation, file);
}
