/* SPDX-License-Identifier: ISC */
/*
 * Semaphores that are the kernel's own (semop). A thread that has to wait tells who has their permits, if
 * they are known to be locks: threads of this process, or other processes. While it waits, it looks from
 * time to time whether one of those has ended, or waits for a semaphore of the thread itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ipc.h>
#include <unistd.h>

#include "adapt/ipc/ipc.h"
#include "adapt/shared/held.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

#define OPS_MAX 64 /* a call with more operations isn't looked at */
#define PAGE 4096
#define SETALL_MAX 64 /* semaphores of a set that are noted when they get their values */

REAL(semtimedop)
REAL(semctl)

struct set_wait {
	struct wait wait;
	struct set_change change;
	struct held held; /* for the semaphore for which it waits first of all */
	unsigned number;
	struct ipc_look looked;
	bool is_stuck;   /* that is told */
	bool is_private; /* only relatives can know the set */
	bool looks;      /* from time to time */
};

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Not for a lock: whether all relatives wait for each other. */
static void look_for_stuck(struct set_wait *set)
{
	char label[CALL_MAX];
	const struct process_call call = {SYS_semtimedop,
		{(unsigned long)set->change.set, (unsigned long)set->change.ops,
			set->change.count}};

	thrum__adapt_set_put_name(label, set->change.set, set->number);
	set->looked.wait = &set->wait;
	set->looked.kind = THRUM_KIND_HANDLE;
	set->looked.label = label;
	set->looked.is_begun = true;
	set->is_stuck = thrum__adapt_ipc_look(&set->looked, &call);
}

/* The thread must not be cancelled while files are open, or a wait is half recorded. */
static void look(struct set_wait *set, bool is_first)
{
	int error = errno, before;

	if (is_limited())
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	thrum__adapt_held_look(&set->held, is_first && set->looks);
	if (!is_first && !set->wait.object && set->is_private && !set->held.is_timed &&
		!set->is_stuck)
		look_for_stuck(set);
	pthread_setcancelstate(before, NULL);
	errno = error;
}

/* ---- Waiting ----------------------------------------------------------------------------------- */

/* Finds the semaphore for which the call waits first of all. */
static void find_first(struct set_wait *set)
{
	struct semid_ds about;
	int error = errno;

	set->number = set->change.ops[0].sem_num;
	for (size_t i = 0; i < set->change.count; i++) {
		int value = thrum__adapt_set_value(set->change.set, set->change.ops[i].sem_num),
		    op = set->change.ops[i].sem_op;

		if (value < 0 || (op < 0 ? value >= -op : op > 0 || value == 0))
			continue;
		set->number = set->change.ops[i].sem_num;
		break;
	}
	set->held.key = thrum__adapt_set_key(set->change.set, set->number);
	set->is_private = real_semctl(NULL)(set->change.set, 0, IPC_STAT,
				  (union set_value){.pointer = &about}) == 0 &&
		about.sem_perm.__key == IPC_PRIVATE;
	errno = error;
}

static int64_t ns_of(const struct timespec *limit)
{
	return limit ? limit->tv_sec * INT64_C(1000000000) + limit->tv_nsec : -1;
}

static void begin(struct set_wait *set, const struct timespec *limit)
{
	char label[CALL_MAX];

	find_first(set);
	thrum__adapt_set_doubts(set->held.key);
	thrum__adapt_set_put_name(label, set->change.set, set->number);
	thrum__adapt_wait_outside(&set->wait, THRUM_KIND_HANDLE, label, ns_of(limit),
		set->change.caller);
	set->held.wait = &set->wait;
	set->held.caller = set->change.caller;
	set->held.is_timed = limit != NULL;
	set->held.note = limit ? FORKS_WAITS : thrum__adapt_set_waits(set->held.key);
	set->looks = !limit && !thrum__adapt_had_handlers();
	thrum__adapt_set_wait_looks(set->held.note, set->looks);
	look(set, true);
}

/* result: of the call, which is over. */
static void end(struct set_wait *set, int result)
{
	const void *address = set_address(set->held.key);
	int error = errno;

	thrum__adapt_held_end(&set->held);
	/* Watched until it has said that it has the permit. */
	atomic_fetch_add(watch_of(address), 1);
	thrum__adapt_wait_end(&set->wait);
	if (result == 0)
		thrum__adapt_set_takes(&set->change);
	atomic_fetch_sub(watch_of(address), 1);
	errno = error;
}

/* Waits so long at most. Fails with EAGAIN if that was too short. */
static int wait_ms(const struct set_wait *set, int ms)
{
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};

	return real_semtimedop(
		set->change.caller)(set->change.set, set->change.ops, set->change.count, &limit);
}

static int wait_on(struct set_wait *set, const struct timespec *limit)
{
	int error = errno, result;

	for (int pause = LOOK_FIRST; set->looks && !set->held.is_over;
		pause = thrum__adapt_ipc_pause(&set->looked, pause)) {
		result = wait_ms(set, pause);
		if (result == 0 || errno != EAGAIN)
			return result;
		look(set, false);
		/* Those that wait for something else than a lock go on in their order. */
		set->looks = (set->wait.object || set->is_private) && !thrum__adapt_had_handlers();
	}
	/* Those that have told why they wait in vain needn't be told by others. */
	if (!set->looks)
		thrum__adapt_set_wait_looks(set->held.note, false);
	errno = error;
	return real_semtimedop(
		set->change.caller)(set->change.set, set->change.ops, set->change.count, limit);
}

/* A program that records nothing yet begins once a wait lasts. Returns whether the wait is recorded; if not,
 * its result. */
static bool starts(const struct set_wait *set, const struct timespec *limit, int *result)
{
	if (!is_on(ADAPTER_BLOCK)) {
		*result = -1;
		if (!limit && !thrum__adapt_had_handlers()) {
			int error = errno;

			*result = wait_ms(set, LOOK_FIRST);
			if (*result == 0 || errno != EAGAIN)
				return false;
			errno = error;
		}
		if (!limit)
			thrum__adapt_start();
	}
	if (!records_wait(ADAPTER_BLOCK)) {
		*result = real_semtimedop(set->change.caller)(set->change.set, set->change.ops,
			set->change.count, limit);
		return false;
	}
	return true;
}

static NOINLINE int wait_for(struct set_wait *set, const struct timespec *limit)
{
	int result;

	if (!starts(set, limit, &result)) {
		if (result == 0)
			thrum__adapt_set_takes(&set->change);
		return result;
	}
	begin(set, limit);
	result = wait_on(set, limit);
	end(set, result);
	return result;
}

/* ---- The stand-ins ----------------------------------------------------------------------------- */

static bool may_wait_for(const struct sembuf *ops, size_t count, const struct timespec *limit)
{
	bool waits = false;

	if (limit && limit->tv_sec == 0 && limit->tv_nsec == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (ops[i].sem_flg & IPC_NOWAIT)
			return false;
		waits |= ops[i].sem_op <= 0;
	}
	return waits;
}

/* Whether operations can be read. The kernel refuses a bad pointer, and so must not be asked in vain. A page
 * that was there for the thread's last operations is there. */
static bool can_read(const struct sembuf *ops, size_t count)
{
	static __thread uintptr_t last __attribute__((tls_model("initial-exec")));
	uintptr_t page = (uintptr_t)ops / PAGE, end = (uintptr_t)(ops + count) / PAGE;
	struct sembuf copies[OPS_MAX];

	if (!ops || count > OPS_MAX)
		return false;
	if (last && page == last && page == end)
		return true;
	if (!thrum__adapt_process_copy(own_pid(), (uintptr_t)ops, copies, count * sizeof *ops))
		return false;
	last = page;
	return true;
}

static int operate(int id, struct sembuf *ops, size_t count, const struct timespec *limit,
	const void *caller)
{
	static const struct timespec none = {0, 0};
	struct set_wait set = {.wait.pause.is_over = true,
		.change = {.set = id, .ops = ops, .count = count, .caller = caller}};
	bool waits;
	int error = errno, result;

	if (!is_chosen(ADAPTER_BLOCK) || !can_read(ops, count) || !is_time(limit))
		return real_semtimedop(caller)(id, ops, count, limit);
	waits = may_wait_for(ops, count, limit);
	thrum__adapt_set_gives(&set.change);
	result = real_semtimedop(caller)(id, ops, count, waits ? &none : limit);
	if (result == 0) {
		thrum__adapt_set_takes(&set.change);
	} else if (waits && errno == EAGAIN) {
		errno = error;
		result = wait_for(&set, limit);
		/* Its set was removed while the thread looked. */
		if (result != 0 && errno == EINVAL)
			errno = EIDRM;
	}
	if (result != 0)
		thrum__adapt_set_failed(&set.change);
	return result;
}

STAND_IN int semop(int set, struct sembuf *ops, size_t count)
{
	return operate(set, ops, count, NULL, CALLER);
}

STAND_IN int semtimedop(int set, struct sembuf *ops, size_t count, const struct timespec *limit)
{
	return operate(set, ops, count, limit, CALLER);
}

static void note_all(int set, const unsigned short *values)
{
	unsigned short copies[SETALL_MAX];
	struct semid_ds about;
	int error = errno;
	unsigned count = 0;

	if (real_semctl(NULL)(set, 0, IPC_STAT, (union set_value){.pointer = &about}) == 0)
		count = about.sem_nsems < SETALL_MAX ? (unsigned)about.sem_nsems : SETALL_MAX;
	if (!thrum__adapt_process_copy(own_pid(), (uintptr_t)values, copies,
		    count * sizeof *copies))
		count = 0;
	for (unsigned i = 0; i < count; i++)
		thrum__adapt_set_begins(set, i, copies[i]);
	errno = error;
}

STAND_IN int semctl(int set, int number, int command, ...)
{
	union set_value value;
	va_list rest;
	int result;

	va_start(rest, command);
	value = va_arg(rest, union set_value);
	va_end(rest);
	/* Before others can take its permits. */
	if (command == SETVAL && is_chosen(ADAPTER_BLOCK))
		thrum__adapt_set_begins(set, (unsigned)number, (unsigned)value.number);
	else if (command == SETALL && is_chosen(ADAPTER_BLOCK) && value.pointer)
		note_all(set, value.pointer);
	result = real_semctl(CALLER)(set, number, command, value);
	if (command == IPC_RMID && result == 0 && is_chosen(ADAPTER_BLOCK))
		thrum__adapt_set_ends(set);
	return result;
}
