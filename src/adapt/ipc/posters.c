/* SPDX-License-Identifier: ISC */
/*
 * Semaphores that processes share, and that others post than those who take permits. If all who ever posted
 * one wait for locks that the calling thread has, nobody is left who would post it.
 */
#include "adapt/base/process.h"
#include "adapt/ends/ends.h"
#include "adapt/ipc/ipc.h"
#include "adapt/shared/sets.h"

/* Whether a thread of another process, which has no more threads, waits for a lock that the calling thread
 * has. turn: differs in each of its waits. */
static bool waits_for_self(uint64_t thread, struct set_lock *lock, uint32_t *turn)
{
	pid_t process = (pid_t)(thread >> 32);

	return process != own_pid() && thrum__adapt_process_is_single(process) &&
		thrum__adapt_set_of_lock(thrum__adapt_set_wait_of(thread, turn), lock) &&
		thrum__adapt_set_is_taken(lock) && lock->total == 1 &&
		lock->holders[0].thread == set_thread(own_pid(), own_tid());
}

/* Leaves out those who have ended, and finds for which locks the others wait. Returns a sum that differs once
 * one has gone on; 0: not all of them wait for the calling thread. */
static uint64_t judge(struct set_poster posters[FORKS_POSTERS],
	struct set_lock locks[FORKS_POSTERS], unsigned *count)
{
	unsigned left = 0;
	uint64_t sum = 1;

	for (unsigned i = 0; i < *count; i++) {
		uint32_t turn = 0;

		if (thrum__adapt_process_is_over((pid_t)(posters[i].thread >> 32)))
			continue;
		if (!waits_for_self(posters[i].thread, &locks[left], &turn))
			return 0;
		sum = mix_key(mix_key(sum, posters[i].thread), turn) | 1;
		posters[left++] = posters[i];
	}
	*count = left;
	return left > 0 ? sum : 0;
}

/* Returns the task of a lock that the calling thread has; NONE: there is none. It is told as a semaphore:
 * others than those who posted before may post the one for which the thread waits, so nothing is certain. */
static thrum_task make_lock(const struct set_lock *lock, const void *caller)
{
	const void *address = thrum__adapt_set_address(lock);
	char label[SHARE_NAME];
	struct object *object;

	if (!address)
		return THRUM_TASK_NONE;
	thrum__adapt_set_put_lock(label, lock);
	object = thrum__adapt_object_named(address, THRUM_KIND_SEMAPHORE, label, caller);
	if (!object)
		return THRUM_TASK_NONE;
	thrum__adapt_set_tell_own(object, lock->key);
	return atomic_load(&object->task);
}

/* Whether one of these locks was told before, as such. */
static bool are_told(const struct set_lock *locks, unsigned count)
{
	bool are = false;

	for (unsigned i = 0; i < count; i++)
		are |= thrum__adapt_object((uintptr_t)thrum__adapt_set_address(&locks[i])) != NULL;
	return are;
}

/* Makes the task of a process that posted the semaphore. */
static thrum_task make_process(struct wait *wait, const struct set_poster *poster)
{
	char label[PROCESS_TEXT + 2 * PLACE_MAX + 40], *to;
	pid_t process = (pid_t)(poster->thread >> 32);

	to = thrum__adapt_put_process_name(label, process);
	thrum__adapt_label(to, ", which posted it at", poster->caller);
	*thrum__adapt_put_starter(strchr(to, '\0'), process) = '\0';
	return thrum__adapt_ends_make(wait, THRUM_KIND_HANDLE, label, poster->caller);
}

/* Records that the wait is for those processes, and they wait for these locks. */
static void tell(struct ipc_look *look, uint64_t key, const struct set_poster *posters,
	const struct set_lock *locks, unsigned count)
{
	struct wait *wait = look->wait;
	bool has_locks = !are_told(locks, count);
	char name[SHARE_NAME];

	thrum__adapt_share_put_name(name, key);
	look->label = name;
	thrum__adapt_ipc_tell_begin(look);
	for (unsigned i = 0; i < count; i++) {
		thrum_task process = make_process(wait, &posters[i]);

		thrum_task_wait(wait->source, process);
		if (has_locks)
			thrum_task_wait(process, make_lock(&locks[i], wait->caller));
	}
	thrum__adapt_wait_go(wait, THRUM_BLOCKED);
}

bool thrum__adapt_posters_look(struct ipc_look *look, uint64_t key)
{
	struct set_poster posters[FORKS_POSTERS];
	struct set_lock locks[FORKS_POSTERS];
	unsigned count = thrum__adapt_set_posters(key, posters);
	uint64_t before = look->waits, now = judge(posters, locks, &count);

	look->waits = now;
	if (!now || now != before)
		return false;
	tell(look, key, posters, locks, count);
	thrum__adapt_set_tells(thrum__adapt_set_self()->thread);
	return true;
}
