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
#include "adapt/relatives/sets.h"
#include "port/port.h"

#define CHAIN 4    /* processes that are followed */
#define OPS_MAX 64 /* a call with more operations isn't looked at */
#define PAGE 4096
#define SETALL_MAX 64 /* semaphores of a set that are noted when they get their values */

REAL(semtimedop)
REAL(semctl)

/* ---- Those who have it -------------------------------------------------------------------------- */

/* A process that is told to have a permit. */
struct told {
	uint64_t thread;
	thrum_task task, lock; /* lock: the task of the semaphore */
	bool has_ended;
};

struct set_wait {
	struct wait wait;
	struct set_change change;
	uint64_t key; /* of the semaphore for which it waits first of all */
	unsigned number;
	struct told told[FORKS_PERMITS + CHAIN];
	unsigned told_count;
	uint64_t stuck;  /* as struct ipc_look's `before` */
	bool is_stuck;   /* that is told */
	bool is_private; /* only relatives can know the set */
	bool is_over;    /* there is nothing more to find out */
	bool is_timed;
	bool looks;     /* from time to time */
	bool is_teller; /* of those of this process that wait for the same */
	uint32_t note;
};

static struct object *make_object(const struct set_lock *lock, const void *caller)
{
	char label[CALL_MAX];

	thrum__adapt_set_put_name(label, lock->set, lock->number);
	return thrum__adapt_object_named(set_address(lock->key),
		lock->total == 1 ? THRUM_KIND_LOCK : THRUM_KIND_SEMAPHORE, label, caller);
}

/* Makes the task of a process that has a permit of the semaphore with this task. */
static thrum_task tell_holder(struct set_wait *set, const struct set_holder *holder,
	thrum_task lock)
{
	const void *place = thrum__adapt_started_at(holder->process);
	bool has_ended = thrum__adapt_process_is_over(holder->process);
	char label[PROCESS_TEXT + PLACE_MAX + 40], *to;
	struct told *told;

	for (unsigned i = 0; i < set->told_count; i++)
		if (set->told[i].thread == holder->thread && set->told[i].lock == lock)
			return set->told[i].task;
	if (set->told_count == FORKS_PERMITS + CHAIN)
		return THRUM_TASK_NONE;
	to = stpcpy(stpcpy(label, has_ended && place ? "child " : ""), "process ");
	to = thrum__adapt_put_named(to, holder->process, holder->name);
	*thrum__adapt_put_starter(to, holder->process) = '\0';
	told = &set->told[set->told_count++];
	*told = (struct told){.thread = holder->thread, .lock = lock, .has_ended = has_ended};
	told->task = thrum__create(thrum__adapt_site(place ? place : set->change.caller),
		has_ended ? THRUM_KIND_TASK : THRUM_KIND_HANDLE, label);
	thrum__lock_held(thrum__adapt_process_is_copy(getpid(), holder->process)
			? thrum__adapt_site(holder->caller)
			: NULL,
		told->task, lock);
	if (has_ended)
		thrum_task_resolve(told->task);
	return told->task;
}

/* Those processes have permits no longer. */
static void end_told(struct set_wait *set)
{
	thrum_task before = thrum_task_current();

	for (unsigned i = 0; i < set->told_count; i++) {
		thrum_task_switch(set->told[i].task);
		thrum_lock_released(set->told[i].lock);
		thrum_task_switch(before);
		if (!set->told[i].has_ended)
			thrum_task_resolve(set->told[i].task);
	}
	set->told_count = 0;
}

/* Whether what is told is still so. */
static bool is_told_well(const struct set_wait *set, const struct set_lock *lock)
{
	bool is_well = true;

	for (unsigned i = 0; i < set->told_count && is_well; i++) {
		bool is_found = false;

		for (unsigned j = 0; j < lock->count; j++)
			is_found |= lock->holders[j].thread == set->told[i].thread;
		is_well = is_found &&
			(set->told[i].has_ended ||
				!thrum__adapt_process_is_over((pid_t)(set->told[i].thread >> 32)));
	}
	return is_well;
}

/* ---- Circles ----------------------------------------------------------------------------------- */

/* The holders of locks, each of which waits for the next one's, and the last one for the calling thread's. */
struct chain {
	struct set_lock locks[CHAIN + 1]; /* the first is the one for which the thread waits */
	unsigned count;
	uint64_t turns;
};

static bool follow(const struct set_lock *first, struct chain *chain)
{
	uint64_t self = set_thread(getpid(), thrum__port_tid());

	*chain = (struct chain){.count = 1};
	chain->locks[0] = *first;
	while (chain->count <= CHAIN) {
		const struct set_lock *lock = &chain->locks[chain->count - 1];
		struct set_lock *next = &chain->locks[chain->count];
		uint32_t turn = 0;

		if (lock->total != 1)
			return false;
		if (lock->holders[0].thread == self)
			return chain->count > 1;
		if (chain->count == CHAIN ||
			!thrum__adapt_set_of_lock(thrum__adapt_set_wait_of(lock->holders[0].thread,
							  &turn),
				next) ||
			!thrum__adapt_set_is_taken(next))
			return false;
		chain->turns = chain->turns * 31 + turn;
		chain->count++;
	}
	return false;
}

/* Whether the thread waits for itself in the end. All is read twice: a holder that waits can give nothing
 * back between. */
static bool is_circle(const struct set_lock *first, struct chain *chain)
{
	struct chain again;

	return follow(first, chain) && follow(first, &again) && again.count == chain->count &&
		again.turns == chain->turns &&
		memcmp(again.locks, chain->locks, chain->count * sizeof *chain->locks) == 0;
}

/* Each holder waits for the lock that is the next one's, until the calling thread's own. */
static void tell_circle(struct set_wait *set, const struct chain *chain)
{
	const struct object *object = set->wait.object;

	for (unsigned i = 0; i + 1 < chain->count; i++) {
		const struct object *next = make_object(&chain->locks[i + 1], set->change.caller);
		const struct set_holder *holder = &chain->locks[i].holders[0];

		if (!next)
			return;
		/* Threads of this process tell for what they wait. */
		if (holder->process != getpid())
			thrum_task_wait(tell_holder(set, holder, atomic_load(&object->task)),
				atomic_load(&next->task));
		thrum__adapt_set_tell_own(next, chain->locks[i + 1].key);
		object = next;
	}
}

/* The thread of a circle by which all its threads know it. */
static uint64_t first_of(const struct chain *chain)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < chain->count; i++)
		if (chain->locks[i].holders[0].thread < first)
			first = chain->locks[i].holders[0].thread;
	return first;
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static void begin_lock(struct set_wait *set, const struct set_lock *lock)
{
	const void *address = set_address(lock->key);
	struct object *object = make_object(lock, set->change.caller);

	if (!object)
		return;
	/* First, so that threads of this process that take it from now on say so. */
	atomic_fetch_add(watch_of(address), 1);
	thrum__adapt_wait_end(&set->wait);
	thrum__adapt_set_tell_own(object, lock->key);
	thrum__adapt_wait_pipe(&set->wait, object, NULL, set->change.caller, &thrum__adapt_outside);
	set->wait.address = address;
	set->wait.is_watched = true;
}

/* Whether the calling thread is the one that tells of others. */
static bool is_teller(struct set_wait *set)
{
	uint32_t nobody = 0;

	if (!set->is_teller)
		set->is_teller = atomic_compare_exchange_strong(&set->wait.object->count, &nobody,
			thrum__port_tid());
	return set->is_teller;
}

static void tell_others(struct set_wait *set, const struct set_lock *lock)
{
	unsigned ended = 0;

	if (!is_told_well(set, lock))
		end_told(set);
	for (unsigned i = 0; i < lock->count; i++) {
		if (lock->holders[i].process == getpid())
			continue;
		tell_holder(set, &lock->holders[i], atomic_load(&set->wait.object->task));
		ended += thrum__adapt_process_is_over(lock->holders[i].process);
	}
	/* Nobody is left who could give it. */
	set->is_over = ended == lock->count;
}

static bool has_own(const struct set_lock *lock)
{
	bool has = false;

	for (unsigned i = 0; i < lock->count; i++)
		has |= lock->holders[i].process == getpid();
	return has;
}

static void look_once(struct set_wait *set, bool is_first)
{
	struct set_lock lock;
	struct chain chain;

	if (!thrum__adapt_set_of_lock(set->key, &lock) || !thrum__adapt_set_is_taken(&lock)) {
		end_told(set);
		return;
	}
	if (is_first && set->looks && !has_own(&lock))
		return; /* most waits are over before the first look */
	if (!set->wait.object)
		begin_lock(set, &lock);
	if (!set->wait.object || !is_teller(set))
		return;
	tell_others(set, &lock);
	if (!set->is_over && !set->is_timed && is_circle(&lock, &chain)) {
		set->is_over = true;
		if (!thrum__adapt_set_tells(first_of(&chain)))
			return;
		tell_circle(set, &chain);
	}
	if (set->is_over)
		thrum__adapt_wait_again(&set->wait, true);
}

/* Not for a lock: whether all relatives wait for each other. */
static void look_for_stuck(struct set_wait *set)
{
	char label[CALL_MAX];
	struct ipc_look look = {.wait = &set->wait,
		.kind = THRUM_KIND_HANDLE,
		.label = label,
		.is_begun = true,
		.before = set->stuck};
	const struct process_call call = {SYS_semtimedop,
		{(unsigned long)set->change.set, (unsigned long)set->change.ops,
			set->change.count}};

	thrum__adapt_set_put_name(label, set->change.set, set->number);
	set->is_stuck = thrum__adapt_ipc_look(&look, &call);
	set->stuck = look.before;
}

/* The thread must not be cancelled while files are open, or a wait is half recorded. */
static void look(struct set_wait *set, bool is_first)
{
	int error = errno, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	look_once(set, is_first);
	if (!is_first && !set->wait.object && set->is_private && !set->is_timed && !set->is_stuck)
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
	set->key = thrum__adapt_set_key(set->change.set, set->number);
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
	thrum__adapt_set_put_name(label, set->change.set, set->number);
	thrum__adapt_wait_outside(&set->wait, THRUM_KIND_HANDLE, label, ns_of(limit),
		set->change.caller);
	set->is_timed = limit != NULL;
	set->note = limit ? FORKS_WAITS : thrum__adapt_set_waits(set->key);
	set->looks = !limit && !thrum__adapt_had_handlers();
	thrum__adapt_set_wait_looks(set->note, set->looks);
	look(set, true);
}

/* result: of the call, which is over. */
static void end(struct set_wait *set, int result)
{
	const void *address = set_address(set->key);
	int error = errno;

	thrum__adapt_set_wait_over(set->note);
	end_told(set);
	if (set->is_teller)
		atomic_store(&set->wait.object->count, 0);
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

	for (int pause = LOOK_FIRST; set->looks && !set->is_over; pause = next_pause(pause)) {
		result = wait_ms(set, pause);
		if (result == 0 || errno != EAGAIN)
			return result;
		look(set, false);
		/* Those that wait for something else than a lock go on in their order. */
		set->looks = (set->wait.object || set->is_private) && !thrum__adapt_had_handlers();
	}
	/* Those that have told why they wait in vain needn't be told by others. */
	if (!set->looks)
		thrum__adapt_set_wait_looks(set->note, false);
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
	if (!thrum__adapt_process_copy(getpid(), (uintptr_t)ops, copies, count * sizeof *ops))
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
	if (!thrum__adapt_process_copy(getpid(), (uintptr_t)values, copies, count * sizeof *copies))
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
