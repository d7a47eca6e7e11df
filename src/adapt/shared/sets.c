/* SPDX-License-Identifier: ISC */
/*
 * Semaphores that are the kernel's own belong to nobody: any process may use them. So all that are recorded
 * note who took a permit. Those who have one are told only if it is known that threads give back what they
 * took themselves. A semaphore that counts events is posted by others; one that begins with 1 may be the only
 * place of a queue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>

#include "adapt/base/process.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

#define TRIES 8
#define POSTS 3                    /* so often it must have been posted */
#define UNDOES (UINT64_C(1) << 31) /* in a thread: it took the permit with SEM_UNDO */

REAL(semctl)

/* The use of a semaphore so far. */
enum {
	SET_KNOWN = 1,   /* with how many permits it began */
	SET_STRANGE = 2, /* it was used in a way that no lock is */
	SET_INVERSE = 4, /* whoever finds it 0 may make it 1 */
	SET_AGAIN = 8,   /* one of its givers took another one */
	SET_CROWDED = 16 /* not all its posters are noted */
};

void thrum__adapt_set_put_name(char *to, int set, unsigned number)
{
	to = thrum__adapt_put_number(stpcpy(to, "semaphore "), number);
	*thrum__adapt_put_number(stpcpy(to, " of set "), (uint64_t)set) = '\0';
}

static const void *address_by(uint64_t key, int set)
{
	return set == SET_NONE ? thrum__adapt_share_address(key) : set_address(key);
}

const void *thrum__adapt_set_address(const struct set_lock *lock)
{
	return address_by(lock->key, lock->set);
}

void thrum__adapt_set_put_lock(char *to, const struct set_lock *lock)
{
	if (lock->set == SET_NONE)
		thrum__adapt_share_put_name(to, lock->key);
	else
		thrum__adapt_set_put_name(to, lock->set, lock->number);
}

int thrum__adapt_set_value(int set, unsigned number)
{
	return real_semctl(NULL)(set, (int)number, GETVAL, (union set_value){0});
}

/* ---- Finding ----------------------------------------------------------------------------------- */

/* It is looked up once in each thread of a process, as that takes as long as a change of a semaphore. */
const struct set_self *thrum__adapt_set_self(void)
{
	static __thread struct set_self self __attribute__((tls_model("initial-exec")));
	uint64_t process = (uint64_t)own_pid();
	struct stat numbers, sets;

	if (self.thread >> 32 == process)
		return &self;
	self.space = stat("/proc/self/ns/pid", &numbers) == 0 &&
			stat("/proc/self/ns/ipc", &sets) == 0
		? mix_key(mix_key(1, numbers.st_ino), sets.st_ino)
		: 0;
	self.thread = set_thread((pid_t)process, own_tid());
	return &self;
}

static uint64_t key_of(const struct set_self *self, int set, unsigned number)
{
	return self->space ? mix_key(mix_key(self->space, (uint64_t)set), number) | 1 : 0;
}

uint64_t thrum__adapt_set_key(int set, unsigned number)
{
	int error = errno;
	uint64_t key = key_of(thrum__adapt_set_self(), set, number);

	errno = error;
	return key;
}

static struct thrum__adapt_semaphore *find(uint64_t key)
{
	struct thrum__adapt_semaphore *all = thrum__adapt_forks()->semaphore;

	for (unsigned i = 0; key && i < TRIES; i++) {
		struct thrum__adapt_semaphore *one = &all[((key >> 1) + i) % FORKS_SEMAPHORES];

		if (atomic_load_explicit(&one->key, memory_order_acquire) == key)
			return one;
	}
	return NULL;
}

static void clear(struct thrum__adapt_semaphore *one)
{
	atomic_store(&one->bits, 0);
	atomic_store(&one->total, 0);
	atomic_store(&one->takes, 0);
	atomic_store(&one->returns, 0);
	for (unsigned i = 0; i < FORKS_GIVERS; i++)
		atomic_store(&one->giver[i], 0);
	for (unsigned i = 0; i < FORKS_PERMITS; i++)
		atomic_store(&one->permit[i].thread, 0);
	atomic_store(&one->posts, 0);
	for (unsigned i = 0; i < FORKS_POSTERS; i++)
		atomic_store(&one->poster[i].thread, 0);
}

/* Finds a semaphore by its key, or begins to note what happens to it. NULL: there are too many. */
static struct thrum__adapt_semaphore *find_or_make(uint64_t key, int set, unsigned number)
{
	struct thrum__adapt_semaphore *all = thrum__adapt_forks()->semaphore;
	struct thrum__adapt_semaphore *found = find(key);

	for (unsigned i = 0; key && !found && i < TRIES; i++) {
		struct thrum__adapt_semaphore *one = &all[((key >> 1) + i) % FORKS_SEMAPHORES];
		uint64_t none = 0;

		/* Another thread may note the same one just now. */
		if (!atomic_compare_exchange_strong(&one->key, &none, key) && none != key)
			continue;
		atomic_store(&one->set, set);
		atomic_store(&one->number, number);
		found = one;
	}
	return found;
}

static struct thrum__adapt_semaphore *find_in_set(const struct set_self *self, int set,
	unsigned number)
{
	return find_or_make(key_of(self, set, number), set, number);
}

/* ---- Those who have permits -------------------------------------------------------------------- */

static bool is_thread(const struct thrum__adapt_permit *permit, uint64_t thread)
{
	return (atomic_load(&permit->thread) & ~UNDOES) == thread;
}

/* Returns the permit that a thread has, or NULL. */
static struct thrum__adapt_permit *permit_of(struct thrum__adapt_semaphore *one, uint64_t thread)
{
	for (unsigned i = 0; i < FORKS_PERMITS; i++)
		if (is_thread(&one->permit[i], thread))
			return &one->permit[i];
	return NULL;
}

/* Those who have ended have no permits any more, or it doesn't matter: others got them since. Returns whether
 * there was any. */
static bool forget_ended(struct thrum__adapt_semaphore *one)
{
	bool found = false;

	for (unsigned i = 0; i < FORKS_PERMITS; i++) {
		uint64_t thread = atomic_load(&one->permit[i].thread);

		if (!thread || !thrum__adapt_process_is_over((pid_t)(thread >> 32)))
			continue;
		atomic_compare_exchange_strong(&one->permit[i].thread, &thread, 0);
		found = true;
	}
	return found;
}

/* This process has had a permit, or one of which it is a copy. */
static _Atomic bool has_taken;

static void name_permit(struct thrum__adapt_permit *permit, uint64_t thread)
{
	if (atomic_load(&permit->named) == thread)
		return;
	thrum__adapt_note_name(permit->name);
	atomic_store(&permit->named, thread);
}

static const void *address_of(const struct thrum__adapt_semaphore *one)
{
	return address_by(atomic_load(&one->key), atomic_load(&one->set));
}

/* Notes that the calling thread has a permit. Returns false if there is no room. */
static bool note_taken(struct thrum__adapt_semaphore *one, const struct set_self *self, bool undoes,
	const void *caller)
{
	uint64_t thread = undoes ? self->thread | UNDOES : self->thread;
	const void *address = address_of(one);
	bool is_recorded = is_on(ADAPTER_BLOCK);
	const struct object *object;

	if (is_recorded)
		thrum__adapt_thread(); /* makes its task */
	for (unsigned i = 0; i < FORKS_PERMITS; i++) {
		struct thrum__adapt_permit *permit = &one->permit[i];
		uint64_t none = 0;

		/* Only this thread's process reads the first two, and only a thread that takes. */
		if (atomic_load(&permit->thread) != 0 ||
			!atomic_compare_exchange_strong(&permit->thread, &none, thread))
			continue;
		atomic_store(&permit->is_killed, 0);
		atomic_store(&permit->is_shared, 0);
		atomic_store(&has_taken, true);
		atomic_store(&permit->caller, (uintptr_t)caller);
		atomic_store(&permit->task, is_recorded ? thrum__adapt_actor() : 0);
		name_permit(permit, self->thread);
		object = is_recorded && is_watched(address)
			? thrum__adapt_object((uintptr_t)address)
			: NULL;
		if (object)
			thrum__adapt_set_tell_own(object, atomic_load(&one->key));
		return true;
	}
	return false;
}

/* ---- Changes ----------------------------------------------------------------------------------- */

enum deed {
	NOTHING,
	TAKES,
	GIVES,
	ADDS,
	STRANGE
};

/* A part of a call does this, if the semaphore is a lock. */
static enum deed deed_of(const struct sembuf *ops, size_t i, unsigned bits)
{
	bool is_inverse = i > 0 && ops[i - 1].sem_num == ops[i].sem_num && ops[i - 1].sem_op == 0;

	switch (ops[i].sem_op) {
	case 0: return NOTHING;
	case -1: return bits & SET_INVERSE ? GIVES : TAKES;
	case 1: return is_inverse ? TAKES : bits & SET_INVERSE ? STRANGE : GIVES;
	default: return ops[i].sem_op > 0 && !is_inverse ? ADDS : STRANGE;
	}
}

static void add_bit(struct thrum__adapt_semaphore *one, uint32_t bit)
{
	if (!(atomic_load(&one->bits) & bit))
		atomic_fetch_or(&one->bits, bit);
}

/* A permit is given by a thread that took none: to begin with, instead of a process that ended, or it is no
 * lock. */
static void give_strange(struct thrum__adapt_semaphore *one, unsigned amount)
{
	if (atomic_load(&one->takes) == 0 && !(atomic_load(&one->bits) & SET_KNOWN)) {
		atomic_fetch_add(&one->total, amount);
		add_bit(one, SET_KNOWN);
	} else if (!forget_ended(one)) {
		add_bit(one, SET_STRANGE);
	}
}

/* The calling thread gives back what it took. */
static void give_own(struct thrum__adapt_semaphore *one, struct thrum__adapt_permit *permit)
{
	uint64_t caller = atomic_load(&permit->caller);
	const struct object *object = caller & RECORDED
		? thrum__adapt_object((uintptr_t)address_of(one))
		: NULL;
	uint64_t giver = atomic_exchange(&permit->thread, 0) & ~UNDOES;
	uint32_t before = atomic_fetch_add(&one->returns, 1);

	if (before < FORKS_GIVERS)
		atomic_store(&one->giver[before], giver);
	if (object)
		thrum_lock_released(atomic_load(&object->task));
}

void thrum__adapt_set_gives(struct set_change *change)
{
	const struct sembuf *ops = change->ops;
	int error = errno;

	change->self = thrum__adapt_set_self();
	change->given = 0;
	change->may_take = false;
	for (size_t i = 0; i < change->count && i < SET_OPERATIONS; i++) {
		struct thrum__adapt_semaphore *one = find_in_set(change->self, change->set,
			ops[i].sem_num);
		enum deed deed = one ? deed_of(ops, i, atomic_load(&one->bits)) : NOTHING;
		struct thrum__adapt_permit *permit = deed == GIVES
			? permit_of(one, change->self->thread)
			: NULL;

		if (permit) {
			give_own(one, permit);
			change->given |= UINT32_C(1) << i;
		} else if (deed == GIVES || deed == ADDS) {
			give_strange(one, (unsigned)ops[i].sem_op);
		}
		change->may_take |= deed == TAKES || deed == STRANGE;
	}
	errno = error;
}

/* A semaphore that was made by others, or before. */
static void learn_total(struct thrum__adapt_semaphore *one, const struct sembuf *op, int value)
{
	if (value < 0)
		add_bit(one, SET_STRANGE);
	else
		atomic_store(&one->total, op->sem_op > 0 ? 1 : (unsigned)value + 1);
	add_bit(one, SET_KNOWN);
}

/* The calling thread has taken a permit of a semaphore whose number of permits is known. */
static void take_known(struct thrum__adapt_semaphore *one, const struct set_self *self, bool undoes,
	const void *caller)
{
	unsigned taken = 1;

	atomic_fetch_add(&one->takes, 1);
	if (atomic_load(&one->bits) & SET_STRANGE)
		return;
	for (unsigned i = 0; i < FORKS_GIVERS; i++)
		if (atomic_load(&one->giver[i]) == self->thread)
			add_bit(one, SET_AGAIN);
	for (unsigned i = 0; i < FORKS_PERMITS; i++)
		taken += atomic_load(&one->permit[i].thread) != 0;
	if ((taken > atomic_load(&one->total) && !forget_ended(one)) ||
		!note_taken(one, self, undoes, caller))
		add_bit(one, SET_STRANGE);
}

static void take(struct thrum__adapt_semaphore *one, const struct set_change *change,
	const struct sembuf *op)
{
	if (op->sem_op > 0)
		add_bit(one, SET_INVERSE);
	if (!(atomic_load(&one->bits) & SET_KNOWN))
		learn_total(one, op, thrum__adapt_set_value(change->set, op->sem_num));
	/* An inverse one begins with none. */
	if (op->sem_op > 0 && atomic_load(&one->total) == 0)
		atomic_store(&one->total, 1);
	take_known(one, change->self, op->sem_flg & SEM_UNDO, change->caller);
}

void thrum__adapt_set_takes(const struct set_change *change)
{
	const struct sembuf *ops = change->ops;
	int error = errno;

	for (size_t i = 0; change->may_take && i < change->count && i < SET_OPERATIONS; i++) {
		struct thrum__adapt_semaphore *one = find_in_set(change->self, change->set,
			ops[i].sem_num);
		enum deed deed = one ? deed_of(ops, i, atomic_load(&one->bits)) : NOTHING;

		if (deed == TAKES)
			take(one, change, &ops[i]);
		else if (deed == STRANGE)
			add_bit(one, SET_STRANGE);
	}
	errno = error;
}

void thrum__adapt_set_failed(const struct set_change *change)
{
	int error = errno;

	for (size_t i = 0; change->given && i < change->count && i < SET_OPERATIONS; i++) {
		struct thrum__adapt_semaphore *one = change->given >> i & 1
			? find_in_set(change->self, change->set, change->ops[i].sem_num)
			: NULL;

		if (one &&
			!note_taken(one, change->self, change->ops[i].sem_flg & SEM_UNDO,
				change->caller))
			add_bit(one, SET_STRANGE);
	}
	errno = error;
}

void thrum__adapt_set_begins(int set, unsigned number, unsigned value)
{
	int error = errno;
	struct thrum__adapt_semaphore *one = find_in_set(thrum__adapt_set_self(), set, number);

	errno = error;
	if (!one)
		return;
	clear(one);
	atomic_store(&one->total, value);
	/* An inverse lock begins with 0, and so does one whose permits are added later. */
	if (value > 0)
		add_bit(one, SET_KNOWN);
}

void thrum__adapt_set_ends(int set)
{
	struct thrum__adapt_semaphore *all = thrum__adapt_forks()->semaphore;

	for (unsigned i = 0; i < FORKS_SEMAPHORES; i++) {
		uint64_t key = atomic_load(&all[i].key);

		if (!key || atomic_load(&all[i].set) != set ||
			key != thrum__adapt_set_key(set, atomic_load(&all[i].number)))
			continue;
		clear(&all[i]);
		atomic_store(&all[i].key, 0);
		thrum__adapt_object_end(set_address(key));
	}
}

/* ---- Those that are none of the kernel's --------------------------------------------------------- */

bool thrum__adapt_set_begins_key(uint64_t key, unsigned permits, unsigned returns)
{
	struct thrum__adapt_semaphore *one = find_or_make(key, SET_NONE, returns);

	if (!one)
		return false;
	clear(one);
	atomic_store(&one->total, permits);
	add_bit(one, SET_KNOWN);
	return true;
}

void thrum__adapt_set_spoils_key(uint64_t key)
{
	struct thrum__adapt_semaphore *one = find(key);

	if (one)
		add_bit(one, SET_STRANGE);
}

void thrum__adapt_set_ends_key(uint64_t key)
{
	struct thrum__adapt_semaphore *one = find(key);

	if (!one)
		return;
	clear(one);
	atomic_store(&one->key, 0);
}

void thrum__adapt_set_takes_key(uint64_t key, const void *caller)
{
	struct thrum__adapt_semaphore *one = find(key);
	int error = errno;

	if (one)
		take_known(one, thrum__adapt_set_self(), false, address_of_caller(caller));
	errno = error;
}

/* The calling thread gives a permit, and has taken none. */
static void note_post(struct thrum__adapt_semaphore *one, const void *caller)
{
	uint64_t self = thrum__adapt_set_self()->thread;

	atomic_fetch_add(&one->posts, 1);
	for (unsigned i = 0; i < FORKS_POSTERS; i++) {
		uint64_t none = 0;

		if (atomic_load(&one->poster[i].thread) != self &&
			!atomic_compare_exchange_strong(&one->poster[i].thread, &none, self))
			continue;
		atomic_store(&one->poster[i].caller, (uintptr_t)caller);
		return;
	}
	add_bit(one, SET_CROWDED);
}

void thrum__adapt_set_gives_key(uint64_t key, const void *caller)
{
	struct thrum__adapt_semaphore *one = find(key);
	struct thrum__adapt_permit *permit;
	int error = errno;

	if (!one)
		return;
	permit = permit_of(one, thrum__adapt_set_self()->thread);
	if (permit) {
		give_own(one, permit);
	} else {
		note_post(one, caller);
		give_strange(one, 1);
	}
	errno = error;
}

void thrum__adapt_set_doubts(uint64_t key)
{
	struct thrum__adapt_semaphore *one = find(key);
	int error = errno;

	if (one && permit_of(one, thrum__adapt_set_self()->thread) && thrum__adapt_has_handlers())
		add_bit(one, SET_STRANGE);
	errno = error;
}

/* ---- Asking ------------------------------------------------------------------------------------ */

/* Whether as many permits as there are were given back, by threads that took no more: so they are no jobs,
 * which a worker may put back once. */
static bool is_given_back(const struct thrum__adapt_semaphore *one)
{
	return !(atomic_load(&one->bits) & SET_AGAIN) &&
		atomic_load(&one->returns) >= FORKS_GIVERS &&
		atomic_load(&one->returns) >= atomic_load(&one->total);
}

static bool is_lock(const struct thrum__adapt_semaphore *one)
{
	uint32_t bits = atomic_load(&one->bits), total = atomic_load(&one->total);
	uint32_t returns = atomic_load(&one->returns);

	if (atomic_load(&one->set) == SET_NONE && returns < atomic_load(&one->number) &&
		!is_given_back(one))
		return false;
	return (bits & (SET_KNOWN | SET_STRANGE)) == SET_KNOWN && total > 0 &&
		total <= FORKS_PERMITS &&
		(returns == 0 ? total == 1 : returns * 2 >= atomic_load(&one->takes) - 1);
}

bool thrum__adapt_set_of_lock(uint64_t key, struct set_lock *lock)
{
	const struct thrum__adapt_semaphore *one = find(key);

	if (!one || !is_lock(one))
		return false;
	*lock = (struct set_lock){.key = key,
		.set = atomic_load(&one->set),
		.number = atomic_load(&one->number),
		.total = atomic_load(&one->total),
		.is_proven = atomic_load(&one->returns) > 0,
		.is_inverse = atomic_load(&one->bits) & SET_INVERSE};
	for (unsigned i = 0; i < FORKS_PERMITS; i++) {
		const struct thrum__adapt_permit *permit = &one->permit[i];
		uint64_t thread = atomic_load(&permit->thread);
		struct set_holder *holder = &lock->holders[lock->count];

		*holder = (struct set_holder){.thread = thread & ~UNDOES,
			.process = (pid_t)(thread >> 32),
			.tid = (uint32_t)(thread & ~UNDOES),
			.caller = (const void *)(uintptr_t)(atomic_load(&permit->caller) &
				~RECORDED),
			.is_copy = lock->set == SET_NONE,
			.is_shared = atomic_load(&permit->is_shared) != 0,
			.is_killed = atomic_load(&permit->is_killed) != 0,
			.gives_at_end = (thread & UNDOES) != 0};
		thrum__adapt_copy_name(holder->name, permit->name);
		lock->count += thread != 0;
	}
	return true;
}

unsigned thrum__adapt_set_posters(uint64_t key, struct set_poster posters[FORKS_POSTERS])
{
	const struct thrum__adapt_semaphore *one = find(key);
	unsigned count = 0;

	/* One that was given back by who took it is no such semaphore. */
	if (!one || atomic_load(&one->returns) > 0 || atomic_load(&one->posts) < POSTS ||
		atomic_load(&one->bits) & SET_CROWDED)
		return 0;
	while (count < FORKS_POSTERS && atomic_load(&one->poster[count].thread)) {
		posters[count].thread = atomic_load(&one->poster[count].thread);
		posters[count].caller = (const void *)(uintptr_t)atomic_load(
			&one->poster[count].caller);
		count++;
	}
	return count;
}

static int value_of(const struct set_lock *lock)
{
	return lock->set == SET_NONE ? thrum__adapt_share_value(lock->key)
				     : thrum__adapt_set_value(lock->set, lock->number);
}

bool thrum__adapt_set_is_taken(struct set_lock *lock)
{
	unsigned left = 0;
	int value = value_of(lock), last;

	for (unsigned i = 0; i < lock->count; i++) {
		const struct set_holder *holder = &lock->holders[i];

		if ((holder->gives_at_end || holder->is_shared) &&
			thrum__adapt_process_is_over(holder->process))
			continue;
		lock->holders[left++] = *holder;
	}
	lock->count = left;
	if (left != lock->total || value != (lock->is_inverse ? (int)left : 0))
		return false;
	if (left > 1)
		return true;
	if (lock->set == SET_NONE)
		return lock->is_proven || lock->holders[0].is_killed;
	last = real_semctl(NULL)(lock->set, (int)lock->number, GETPID, (union set_value){0});
	return last == lock->holders[0].process && (lock->is_proven || lock->holders[0].is_killed);
}

/* The task of a thread of this process that took a permit before the recording began. */
static uint64_t find_task(uint32_t tid)
{
	const struct thread *found = tid == own_tid() ? thrum__adapt_thread()
						      : thrum__adapt_thread_of(tid);

	return found ? atomic_load(&found->task) : 0;
}

void thrum__adapt_set_tell_own(const struct object *object, uint64_t key)
{
	struct thrum__adapt_semaphore *one = find(key);

	for (unsigned i = 0; one && i < FORKS_PERMITS; i++) {
		struct thrum__adapt_permit *permit = &one->permit[i];
		uint64_t thread = atomic_load(&permit->thread) & ~UNDOES, caller, task;

		if (thread >> 32 != (uint64_t)own_pid())
			continue;
		task = atomic_load(&permit->task);
		task = task ? task : find_task((uint32_t)thread);
		caller = task ? atomic_fetch_or(&permit->caller, RECORDED) : RECORDED;
		if (!(caller & RECORDED) && THRUM__ON(THRUM__BIT_WAITS))
			thrum__lock_held(thrum__adapt_site((const void *)(uintptr_t)caller), task,
				atomic_load(&object->task));
	}
}

/* ---- All permits of a process -------------------------------------------------------------------- */

/* Calls for each permit that a thread of a process has. of_sets: also for those of semaphores of sets. */
static void each_permit(pid_t process, bool of_sets, void (*call)(struct thrum__adapt_permit *))
{
	struct thrum__adapt_semaphore *all = thrum__adapt_forks()->semaphore;

	for (struct thrum__adapt_semaphore *one = all; one < all + FORKS_SEMAPHORES; one++) {
		if (!atomic_load(&one->key) || (!of_sets && atomic_load(&one->set) != SET_NONE))
			continue;
		for (unsigned i = 0; i < FORKS_PERMITS; i++)
			if (atomic_load(&one->permit[i].thread) >> 32 == (uint64_t)process)
				call(&one->permit[i]);
	}
}

static void note_killed(struct thrum__adapt_permit *permit)
{
	atomic_store(&permit->is_killed, 1);
}

static void note_shared(struct thrum__adapt_permit *permit)
{
	atomic_store(&permit->is_shared, 1);
}

void thrum__adapt_set_killed(pid_t process)
{
	each_permit(process, true, note_killed);
}

void thrum__adapt_set_shares(void)
{
	if (atomic_load(&has_taken))
		each_permit(own_pid(), true, note_shared);
}

void thrum__adapt_set_leaves(void)
{
	if (atomic_load(&has_taken))
		each_permit(own_pid(), false, note_shared);
}
