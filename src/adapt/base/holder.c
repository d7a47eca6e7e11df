/* SPDX-License-Identifier: ISC */
/*
 * The program's threads, and the locks that they hold. A lock that nobody waits for is not
 * recorded. But the thread that has to wait for it looks here who holds it, and where that thread
 * took it.
 */
#include <pthread.h>

#include "adapt/base/handover.h"
#include "port/port.h"

#define CHUNK 64      /* threads for which memory is taken at once */
#define TAKEN_TOLD 16 /* so often each taking is told while others wait for the lock's condition */
#define PLACES 4096u  /* a power of two */
#define LOOKS 1000    /* at a lock that its holder hasn't noted */

__thread struct thread *thrum__adapt_self __attribute__((tls_model("initial-exec")));
_Atomic bool thrum__adapt_is_limited;

/* The thread is about to end, and runs only the destructors of its thread-local objects. */
static __thread bool has_ended __attribute__((tls_model("initial-exec")));
static _Atomic(struct thread *) all;
/* In a fork's child: the thread that was forked, and its number here. Locks that it took before have the
 * number that it had. */
AT_FORK static struct thread *forked;
AT_FORK static uint32_t forked_tid;

bool thrum__adapt_is_beside;
int64_t thrum__adapt_long = 10000000;
static struct thrum_category locks = {"locks", 0};
static struct thrum_tag held_long = {"held for ms", &locks, 1, 0, 0};

struct thread *thrum__adapt_threads(void)
{
	return atomic_load(&all);
}

struct thread *thrum__adapt_thread_of(uint32_t tid)
{
	struct thread *t = tid ? atomic_load(&all) : NULL;

	while (t && atomic_load(&t->tid) != tid)
		t = t->next;
	return t;
}

/* Takes over a thread that has ended. */
static struct thread *find_ended(uint32_t tid)
{
	for (struct thread *t = atomic_load(&all); t; t = t->next) {
		uint32_t nobody = 0;

		if (atomic_load_explicit(&t->tid, memory_order_relaxed) == 0 &&
			atomic_compare_exchange_strong(&t->tid, &nobody, tid))
			return t;
	}
	return NULL;
}

/* Adds threads to the list, all but the first as ended ones. Returns the first. */
static struct thread *add_chunk(uint32_t tid)
{
	struct thread *chunk = thrum__port_allocate(CHUNK * sizeof *chunk);

	if (!chunk)
		return NULL;
	atomic_store(&chunk->tid, tid);
	for (int i = 0; i + 1 < CHUNK; i++)
		chunk[i].next = &chunk[i + 1];
	chunk[CHUNK - 1].next = atomic_load(&all);
	while (!atomic_compare_exchange_weak(&all, &chunk[CHUNK - 1].next, chunk))
		;
	return chunk;
}

struct thread *thrum__adapt_thread_begin(thrum_task task)
{
	uint32_t tid = own_tid();
	struct thread *self = find_ended(tid);

	if (!self)
		self = add_chunk(tid);
	if (!self)
		return NULL;
	atomic_store(&self->holds, 0);
	atomic_store(&self->permits, 0);
	atomic_store(&self->is_left, false);
	atomic_store(&self->unwoken, 0);
	thrum__adapt_news_first(self);
	atomic_store(&self->messages, 0);
	atomic_store(&self->talks_by, 0);
	self->limits[0] = self->limits[1] = 0;
	self->limit = -1;
	self->limit_since = 0;
	self->timed = TIMED;
	self->tells = false;
	atomic_store(&self->is_idle, false);
	self->waited = 0;
	atomic_store(&self->task, task);
	atomic_store(&self->own, 0);
	atomic_store(&self->recording, thrum__recording());
	thrum__adapt_self = self;
	return self;
}

void thrum__adapt_thread_is_idle(bool is_idle)
{
	if (thrum__adapt_self)
		atomic_store(&thrum__adapt_self->is_idle, is_idle);
}

/* For threads that nobody saw begin, as those that the C library makes: their key's destructor says that
 * they end. */
static pthread_key_t end_key;
static bool has_key;

static void end_unseen(void *thread)
{
	if (thrum__adapt_self == thread)
		thrum__adapt_thread_end();
}

__attribute__((constructor)) static void make_key(void)
{
	has_key = pthread_key_create(&end_key, end_unseen) == 0;
}

/* Allocates nothing for one of the first keys, which this one is. */
static struct thread *begin_unseen(void)
{
	struct thread *self = thrum__adapt_thread_begin(0);

	if (self && has_key)
		pthread_setspecific(end_key, self);
	return self;
}

struct thread *thrum__adapt_thread(void)
{
	struct thread *self = thrum__adapt_self;

	if (!self && !has_ended)
		self = begin_unseen();
	uint32_t recording = thrum__recording();

	if (self &&
		(!atomic_load_explicit(&self->task, memory_order_relaxed) ||
			atomic_load_explicit(&self->recording, memory_order_relaxed) !=
				recording)) {
		atomic_store(&self->task,
			thrum__adapt_is_beside ? thrum__own() : thrum_task_current());
		atomic_store(&self->recording, recording);
		self->waited = 0;
	}
	return self;
}

bool thrum__adapt_speaks(void)
{
	struct thread *self;

	if (!thrum__adapt_is_beside)
		return true;
	self = thrum__adapt_thread();
	if (self && !self->tells)
		self->tells = !thrum__own_runs(self->waited);
	return self && !self->tells;
}

thrum_task thrum__adapt_actor(void)
{
	struct thread *self = thrum__adapt_thread();

	return self && thrum__adapt_is_beside ? atomic_load(&self->task) : thrum_task_current();
}

void thrum__adapt_thread_end(void)
{
	struct thread *self = thrum__adapt_self;

	thrum__adapt_self = NULL;
	has_ended = true;
	/* A thread that ends with a lock is remembered, for those who wait for the lock. */
	if (self && atomic_load(&self->holds) == 0 && !thrum__adapt_permits_left(self))
		atomic_store(&self->tid, 0);
}

void thrum__adapt_threads_left(void)
{
	forked = thrum__adapt_self;
	forked_tid = own_tid();
	for (struct thread *t = atomic_load(&all); t; t = t->next) {
		if (t == forked || !atomic_load(&t->tid))
			continue;
		atomic_store(&t->permits, 0);
		if (atomic_load(&t->holds) == 0)
			atomic_store(&t->tid, 0);
		else
			atomic_store(&t->is_left, true);
	}
}

uint32_t thrum__adapt_thread_number(const struct thread *thread)
{
	return thread == forked ? forked_tid
				: atomic_load_explicit(&thread->tid, memory_order_relaxed);
}

/* Returns the place of a lock among those that the thread holds, or HELD_MAX. */
static uint32_t place_of(const struct thread *thread, const void *lock)
{
	uint32_t n = atomic_load_explicit(&thread->holds, memory_order_relaxed);

	for (n = n < HELD_MAX ? n : HELD_MAX; n > 0; n--)
		if (atomic_load_explicit(&thread->held[n - 1].lock, memory_order_relaxed) ==
			(uintptr_t)lock)
			return n - 1;
	return HELD_MAX;
}

bool thrum__adapt_thread_holds(const struct thread *thread, const void *lock)
{
	return place_of(thread, lock) < HELD_MAX;
}

const void *thrum__adapt_lock_caller(const struct thread *thread, const void *lock)
{
	uint32_t place = place_of(thread, lock);

	return place == HELD_MAX
		? NULL
		: (const void *)(atomic_load(&thread->held[place].caller) & ~RECORDED);
}

/* The number that a forked thread had is its parent's: what it didn't take itself, that one has. */
static bool is_thread(const struct thread *thread, uint32_t tid, bool has_taken)
{
	if (thread == forked && (tid == forked_tid || !has_taken))
		return tid == forked_tid;
	return atomic_load_explicit(&thread->tid, memory_order_relaxed) == tid;
}

bool thrum__adapt_is_forker(uint32_t tid)
{
	return forked && tid != forked_tid &&
		tid == atomic_load_explicit(&forked->tid, memory_order_relaxed);
}

/* A thread that waits for its own lock may have taken it in the callback that waits. */
static thrum_task holder_of(const struct thread *thread)
{
	return thread == thrum__adapt_self ? thrum__adapt_actor() : atomic_load(&thread->task);
}

/* ---- Read-write locks that others release ------------------------------------------------------- */

#define LENT_MAX 16 /* of them; if there are more, who reads is told of none */

static _Atomic uintptr_t lent[LENT_MAX];
static _Atomic uint32_t lent_count;

/* Whether another thread once released the lock than the one that had it for reading. Then it isn't known who
 * has it. */
static bool is_lent(const void *lock)
{
	uint32_t count = atomic_load_explicit(&lent_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count && i < LENT_MAX; i++)
		if (atomic_load_explicit(&lent[i], memory_order_relaxed) == (uintptr_t)lock)
			return true;
	return count > LENT_MAX;
}

void thrum__adapt_lend(const struct thread *self, const void *lock)
{
	bool is_held = false;

	for (struct thread *t = atomic_load(&all); t; t = t->next) {
		uint32_t place = t != self && atomic_load(&t->tid) ? place_of(t, lock) : HELD_MAX;
		const struct object *object;

		if (place == HELD_MAX)
			continue;
		is_held = true;
		object = thrum__adapt_object((uintptr_t)lock);
		if (atomic_fetch_and(&t->held[place].caller, ~RECORDED) & RECORDED && object)
			thrum_lock_released(atomic_load(&object->task));
	}
	if (!is_held || is_lent(lock))
		return;
	uint32_t at = atomic_fetch_add(&lent_count, 1);

	if (at < LENT_MAX)
		atomic_store(&lent[at], (uintptr_t)lock);
}

/* Whether a thread goes on holding a lock that it hasn't noted. One that takes the lock notes it soon, and
 * one that releases it has it no longer then. Sets *place if it has noted it meanwhile. */
static bool goes_on_holding(const struct thread *thread, const void *lock, uint32_t tid,
	holder_tid *tid_of, uint32_t *place)
{
	for (int i = 0; tid_of && i < LOOKS && *place == HELD_MAX; i++) {
		if (tid_of(lock) != tid)
			return false;
		*place = place_of(thread, lock);
	}
	return true;
}

void thrum__adapt_tell_holders(const struct object *object, const void *lock, uint32_t tid,
	holder_tid *tid_of)
{
	if (!tid && is_lent(lock))
		return;
	for (struct thread *t = atomic_load(&all); t; t = t->next) {
		uint32_t its = atomic_load_explicit(&t->tid, memory_order_relaxed);
		uint32_t place = its ? place_of(t, lock) : HELD_MAX;
		uintptr_t caller = 0;

		if (atomic_load_explicit(&t->is_left, memory_order_relaxed) ||
			(tid ? !is_thread(t, tid, place < HELD_MAX) : place == HELD_MAX))
			continue;
		if (tid && !goes_on_holding(t, lock, tid, tid_of, &place))
			return;
		if (place < HELD_MAX)
			caller = atomic_fetch_or(&t->held[place].caller, RECORDED);
		if (!(caller & RECORDED) && THRUM__ON(THRUM__BIT_WAITS)) {
			struct thrum_site *site = caller
				? thrum__adapt_event_site((const void *)caller)
				: NULL;

			/* It may have released the lock before it could know that this is recorded. */
			if (place == HELD_MAX || place_of(t, lock) < HELD_MAX ||
				!(atomic_fetch_and(&t->held[place].caller, ~RECORDED) & RECORDED))
				thrum__lock_held(site, holder_of(t), atomic_load(&object->task));
		}
		if (tid)
			return;
	}
}

/* Counts that a lock is taken at a place of the program. Returns how often it was before. Places that share
 * a counter seem to be more usual than they are. */
static uint32_t count_taking(const struct object *object, uintptr_t place)
{
	static _Atomic uint32_t taken[PLACES];
	uint64_t key = place ^ atomic_load(&object->task) << 16 ^
		(uint64_t)thrum__recording() << 48;

	return atomic_fetch_add_explicit(&taken[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
						 PLACES],
		1, memory_order_relaxed);
}

bool thrum__adapt_is_known_well(struct object *object, const void *caller)
{
	uint32_t here = count_taking(object, (uintptr_t)caller);

	return !atomic_load(&object->waiters) &&
		atomic_fetch_add(&object->arrived, 1) >= TAKEN_TOLD && here >= TAKEN_TOLD &&
		here & (here - 1);
}

void thrum__adapt_tell_taken(struct thread *self, struct object *object)
{
	uint32_t n = atomic_load_explicit(&self->holds, memory_order_relaxed);

	if (UNLIKELY(has_handovers()) && n <= HELD_MAX)
		thrum__adapt_handover_take(self, atomic_load(&self->held[n - 1].lock),
			atomic_load(&self->held[n - 1].caller));
	/* Another address may have the same watch. */
	if (!object || n > HELD_MAX || !THRUM__ON(THRUM__BIT_WAITS))
		return;
	_Atomic uintptr_t *caller = &self->held[n - 1].caller;

	if (thrum__adapt_is_known_well(object, (const void *)atomic_load(caller)) ||
		is_lent((const void *)atomic_load(&self->held[n - 1].lock)))
		return;
	thrum__adapt_thread();

	/* A recursive lock is taken once. */
	for (uint32_t i = 0; i + 1 < n; i++)
		if (self->held[i].lock == self->held[n - 1].lock)
			return;
	uintptr_t before = atomic_fetch_or(caller, RECORDED);

	if (!(before & RECORDED))
		thrum__lock_held(thrum__adapt_event_site((const void *)before),
			thrum__adapt_actor(), atomic_load(&object->task));
}

/* Records that the thread held a lock for long, if nothing is recorded yet of this. */
static void tell_long(struct thread *thread, uint32_t place, const char *noun)
{
	const void *lock = (const void *)atomic_load(&thread->held[place].lock);
	const void *caller = (const void *)atomic_load(&thread->held[place].caller);
	int64_t time = rough_time() - thread->held[place].since;
	struct object *object;

	thread->timed--;
	if (time < thrum__adapt_long || (uintptr_t)caller & RECORDED ||
		!THRUM__ON(THRUM__BIT_WAITS))
		return;
	/* A recursive lock is held as long as its first turn. */
	for (uint32_t i = 0; i < place; i++)
		if (atomic_load(&thread->held[i].lock) == (uintptr_t)lock)
			return;
	object = thrum__adapt_object_make(lock, THRUM_KIND_LOCK, noun, caller);
	if (!object)
		return;
	atomic_fetch_or(&thread->held[place].caller, RECORDED);
	thrum__lock_held(thrum__adapt_event_site(caller), thrum__adapt_actor(),
		atomic_load(&object->task));
	thrum_tag_value(&held_long, time / 1000000);
}

/* Whether the latest two locks that are noted are this one: those for which there was no room are it, too. */
static bool is_latest_twice(const struct thread *thread, const void *lock)
{
	return atomic_load(&thread->held[HELD_MAX - 1].lock) == (uintptr_t)lock &&
		atomic_load(&thread->held[HELD_MAX - 2].lock) == (uintptr_t)lock;
}

/* Records that the thread released a lock of which it was recorded that it is held. */
static void tell_released(struct thread *thread, const void *lock)
{
	const struct object *object = thrum__adapt_object((uintptr_t)lock);

	if (!object)
		return;
	if (thrum__adapt_thread_holds(thread, lock))
		/* A recursive lock, of which another turn is left. */
		atomic_fetch_or(&thread->held[place_of(thread, lock)].caller, RECORDED);
	else
		thrum_lock_released(atomic_load(&object->task));
}

void thrum__adapt_tell_dropped(struct thread *thread, uint32_t place, const void *lock)
{
	if (atomic_fetch_and(&thread->held[place].caller, ~RECORDED) & RECORDED)
		tell_released(thread, lock);
}

void thrum__adapt_drop(struct thread *thread, const void *lock, const char *noun)
{
	uint32_t n = atomic_load_explicit(&thread->holds, memory_order_relaxed);
	uint32_t place = place_of(thread, lock), last = n < HELD_MAX ? n : HELD_MAX;
	uintptr_t caller = 0;

	/* Another thread took it, or it is one of those for which there was no room. */
	if (place == HELD_MAX && n <= HELD_MAX) {
		if (strcmp(noun, "rwlock") == 0)
			thrum__adapt_lend(thread, lock);
		return;
	}
	if (n > HELD_MAX && is_latest_twice(thread, lock)) {
		atomic_store(&thread->holds, n - 1);
		return;
	}
	if (place < HELD_MAX && thread->timed > 0)
		tell_long(thread, place, noun);
	if (place + 1 == n) {
		atomic_store(&thread->holds, n - 1);
		thrum__adapt_tell_dropped(thread, place, lock);
		return;
	}
	if (place < HELD_MAX)
		caller = atomic_load(&thread->held[place].caller);
	for (; place + 1 < last; place++) {
		atomic_store(&thread->held[place].lock, thread->held[place + 1].lock);
		atomic_store(&thread->held[place].caller, thread->held[place + 1].caller);
		thread->held[place].since = thread->held[place + 1].since;
	}
	if (n > HELD_MAX) /* the last one is none of those that are noted */
		atomic_store(&thread->held[HELD_MAX - 1].lock, 0);
	atomic_store(&thread->holds, n - 1);
	if (caller & RECORDED)
		tell_released(thread, lock);
}
