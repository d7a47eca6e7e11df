/* SPDX-License-Identifier: ISC */
/*
 * base/: what all adapters use.
 *
 *   real.c       finds the real functions
 *   site.c       addresses of callers, names of addresses
 *   chain.c      callers of the small functions in which callers lie
 *   request.c    tasks of requests, and of what should come and doesn't
 *   object.c     tasks for objects of the program, by address
 *   holder.c     the program's threads, and the locks that they hold
 *   permits.c    who holds permits of semaphores
 *   wait.c       waiting for objects, and jumps out of it
 *   handlers.c   the program's handlers of signals
 *   process.c    what /proc tells of processes
 *   forked.c     locks that a child got by fork
 *   cell.c       the program's callbacks of libraries whose objects have no room for more
 */
#ifndef ADAPT_BASE_H
#define ADAPT_BASE_H

#include "adapt/adapt.h"

#include <signal.h>

/* ---- real.c ---- */

/* A function behind a stand-in. */
struct real {
	const char *name, *version; /* the version may be NULL */
	void *known;                /* NULL: not found yet, or not the same for all callers */
};

/*
 * Finds the function behind a stand-in: the next one in the order of the dynamic linker, or, if a
 * library was loaded for itself alone (RTLD_LOCAL), the one that the caller's module means, or else
 * any. The caller may be NULL. Returns NULL if there is none. Keeps errno.
 */
void *thrum__adapt_find_real(struct real *, const void *caller);
/* Finds all that libraries have which were loaded for all modules. */
void thrum__adapt_find_reals(void);

/* Declares a function's real_NAME(caller), which returns a pointer to the real function. */
#define REAL_VERSION(name, version) \
	static struct real found_##name = {#name, version, NULL}; \
	static struct real *const noted_##name \
		__attribute__((section("thrum_reals"), used)) = &found_##name; \
	static inline __typeof__(&name) real_##name(const void *caller) \
	{ \
		void *known = __atomic_load_n(&found_##name.known, __ATOMIC_RELAXED); \
\
		if (UNLIKELY(!known)) \
			known = thrum__adapt_find_real(&found_##name, caller); \
		return (__typeof__(&name))known; \
	}
#define REAL(name) REAL_VERSION(name, NULL)

/* ---- chain.c: async-signal-safe with glibc 2.35 and later ---- */

/* The place of a call in a small function of the program, with where that was called. Such a place may stand
 * for any caller. NULL: the caller is an address. */
const struct thrum__site_chain *thrum__adapt_chain_at(const void *caller);
/* The address of a caller. */
static inline const void *address_of_caller(const void *caller)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at(caller);

	return chain ? chain->site.function : caller;
}
/* Callers that have no chain, by their hash, as far as they were seen. */
#define CHAIN_BITS 12
extern _Atomic uintptr_t thrum__adapt_unchained[1 << CHAIN_BITS];
static inline uint32_t chain_hash(uintptr_t bits)
{
	return (uint32_t)((uint64_t)bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CHAIN_BITS));
}
const void *thrum__adapt_find_chain(const void *caller, uintptr_t stack, uintptr_t pointer);
/* Returns the place of a caller; the caller's address if its function isn't small, or who called that isn't
 * known. `stack` and `pointer` are its registers. Costs 10 instructions then, else some 50. */
static inline const void *thrum__adapt_chain(const void *caller, uintptr_t stack, uintptr_t pointer)
{
	const _Atomic uintptr_t *known = &thrum__adapt_unchained[chain_hash((uintptr_t)caller)];

	return LIKELY(atomic_load_explicit(known, memory_order_relaxed) == (uintptr_t)caller)
		? caller
		: thrum__adapt_find_chain(caller, stack, pointer);
}
/* The same for the call of the stand-in in which this stands. */
#define CHAIN \
	thrum__adapt_chain(CALLER, (uintptr_t)__builtin_dwarf_cfa(), \
		*(const uintptr_t *)__builtin_frame_address(0))

/* ---- site.c: async-signal-safe with glibc 2.35 and later ---- */

/* The program's callback that the thread runs for a library; NULL: none. Where its last act is a call, it
 * jumps there: then the call seems to come from this library, which called it. */
extern __thread const void *thrum__adapt_callback __attribute__((tls_model("initial-exec")));
/* Where the program calls a library that starts a child and waits for it itself, or joins a thread; NULL: the
 * thread is in no such call. */
extern __thread const void *thrum__adapt_spawner __attribute__((tls_model("initial-exec")));
static inline const void *thrum__adapt_spawns_at(const void *caller)
{
	return thrum__adapt_spawner ? thrum__adapt_spawner : caller;
}
/* Returns a caller's address; the callback's, if it lies in this library. */
const void *thrum__adapt_caller(const void *caller);

/* Whether code is the program's own, and no library's. */
bool thrum__adapt_is_of_program(const void *address);
/* A place of the program, and where the function was called in which it lies, or the chain of it. NULL: not
 * known. */
struct place {
	const void *at, *above;
};
/* Returns the place of a caller; `above` only if both are the program's own code, as libraries call such
 * functions for anybody. Then it unwinds the calling thread's stack, which takes about a microsecond.
 * Async-signal-safe with glibc 2.35 and later. */
struct place thrum__adapt_place(const void *caller);

/* Where a function was called that begins at `begins`, if the call returns to `returns`: that place, or a
 * jump in the function that was called there, as compilers replace a last call by a jump. */
const void *thrum__adapt_call_of(const void *returns, const void *begins);

/* Returns the descriptor for a caller's address, for the recorder; the same for all if there are too many. */
struct thrum_site *thrum__adapt_site(const void *caller);
/* The same for what a task does: where a chain is known it is that. The site where a task was made tells its
 * sort, so that is never a chain. */
struct thrum_site *thrum__adapt_event_site(const void *caller);

#define PLACE_MAX 80
/* Writes "NOUN MODULE+0x1234", or "NOUN 0x7f..." for an address in no module. Readers replace the
 * module and offset by a name if they find one. */
void thrum__adapt_label(char to[PLACE_MAX], const char *noun, const void *address);
/* Writes the same of a place, and ", called in" with where its function was called if that is known. Room for
 * two places. */
void thrum__adapt_label_place(char *to, const char *noun, struct place);

/* THRUM_WAIT_FOR_WORK for a call such as poll(), which need not be a loop's: it names the caller. The usual
 * one if there are too many callers, or for NULL. is_outside: others than the program may end the wait.
 * is_timed: it ends at a time that is set. */
struct thrum_tag *thrum__adapt_work_reason(const char *call, const void *caller, bool is_outside,
	bool is_timed);

/* Writes a number. Returns the place behind it. */
char *thrum__adapt_put_number(char *to, uint64_t);

/* ---- request.c ---- */

/* Creates the task of a request, which something outside the program answers. Keeps errno. */
thrum_task thrum__adapt_request(const void *caller, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same; its label also names the program's callback that gets the answer, unless that is NULL. */
thrum_task thrum__adapt_request_then(const void *caller, void (*callback)(void), const char *format,
	...) __attribute__((format(printf, 3, 4)));

/* Creates the task of something that should come, and doesn't: who waits for it hangs. */
thrum_task thrum__adapt_missing(const char *label, const void *caller);
/* A task waits for the run of a loop, which *told stands for. If there is none, it is made at the call of
 * `caller`; its label is the words with that place (NULL: the words alone). Thread-safe. */
void thrum__adapt_wait_for_run(thrum_task waiter, _Atomic uint64_t *told, const char *words,
	const void *place, const void *caller);

#define ADDRESS_MAX 64
struct sockaddr;
/* Writes the address of a peer; NULL if it is known otherwise. */
const char *thrum__adapt_put_address(char to[ADDRESS_MAX], const struct sockaddr *);

/* ---- object.c: lock-free ---- */

/* An object of the program that has a task, such as a lock. */
struct object {
	_Atomic uintptr_t key;      /* its address, or another key; 0: the cell is free */
	_Atomic uint64_t task;      /* 0: none any more */
	_Atomic uint32_t recording; /* to which the task belongs */
	_Atomic uint32_t waiters;
	_Atomic uint64_t waiter; /* the task that began to wait last */
	/* For a barrier: how many threads it waits for, and how many have come. For a condition:
	 * the signals since the last wait that nobody heard, and whether there ever was one. For a
	 * futex: the first, and who may wake others. For a
	 * lock: the other process that is told to have it, and how often it was taken since the last
	 * wait for it, or for a condition that nobody had signalled, began. */
	_Atomic uint32_t count, arrived;
	uint32_t forks;          /* of the process, when its task was made */
	_Atomic uint32_t voices; /* for a condition: a bit for each task that signalled it */
};

/* Keys that are no addresses of objects. */
#define KEY_OF_TID(tid) (~(uintptr_t)(tid))
#define KEY_OF_HANDLE(pthread) ((uintptr_t)(pthread) | 1)

/* Returns the object of this key, or NULL. */
struct object *thrum__adapt_object(uintptr_t key);
/* Returns the object of this address. Makes it, with a task of this kind, if it is new. NULL: there
 * are too many objects. */
struct object *thrum__adapt_object_make(const void *address, enum thrum_kind kind, const char *noun,
	const void *caller);
/* The same with a label. */
struct object *thrum__adapt_object_named(const void *address, enum thrum_kind kind,
	const char *label, const void *caller);
/* Notes a task that exists under a key. */
void thrum__adapt_object_note(uintptr_t key, thrum_task task);
/* In a fork's child: nobody waits for any object. */
void thrum__adapt_objects_left(void);
/* Records that the running task signals it, while so many wait for it. */
void thrum__adapt_signal(struct object *, uint32_t waiters, const void *caller);
/* How often the calling thread did so, or called functions of libuv. */
extern __thread uint32_t thrum__adapt_acts __attribute__((tls_model("initial-exec")));
/* The object is no more: its task ends. */
void thrum__adapt_object_end(const void *address);

/* The place of an address in a table of ADDRESSES. The arenas of malloc, one for each thread, are alike but
 * for the upper bits of their addresses: so these count, too (Fibonacci hashing: D. Knuth, The Art of
 * Computer Programming, 6.4). */
#define ADDRESSES_BITS 12
#define ADDRESSES (1 << ADDRESSES_BITS)
static inline unsigned place_of_address(const void *address)
{
	return (unsigned)((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15) >>
		(64 - ADDRESSES_BITS));
}

/* Whether a thread waits for an object at this address, so that those who take it have to say so.
 * May be true for other addresses, too. */
extern _Atomic uint16_t thrum__adapt_watched[ADDRESSES];
static inline _Atomic uint16_t *watch_of(const void *address)
{
	return &thrum__adapt_watched[place_of_address(address)];
}
static inline bool is_watched(const void *address)
{
	return atomic_load_explicit(watch_of(address), memory_order_relaxed) != 0;
}

/* Mixes a value into a key. */
static inline uint64_t mix_key(uint64_t key, uint64_t value)
{
	key = (key ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 32;
}

/* Stands for a key in the place of an object's address, which it is none of: the highest bit is set. */
static inline uintptr_t address_of_key(uint64_t key)
{
	return (uintptr_t)(key >> 8) | (UINTPTR_MAX / 2 + 1);
}

/* Ends the task that tells of something, if there is one. */
static inline void resolve_told(_Atomic uint64_t *task)
{
	if (UNLIKELY(atomic_load_explicit(task, memory_order_relaxed) != 0))
		thrum_task_resolve(atomic_exchange(task, 0));
}

/* Raises a number that only grows. */
static inline void raise_to(_Atomic int *most, int value)
{
	int before = atomic_load_explicit(most, memory_order_relaxed);

	while (before < value && !atomic_compare_exchange_weak(most, &before, value))
		;
}

/* ---- holder.c ---- */

#define HELD_MAX 16
#define PERMITS_MAX 16
/* The same event that epoll, or poll, tells of again and again. */
struct spin {
	uint64_t data;         /* epoll's, or the descriptor of poll */
	uint64_t task, teller; /* of the finding, and the one that waits for it */
	uint32_t events, count;
	int left; /* bytes */
	int64_t since;
};

/* A thread of the program. It lies in memory that is never freed. */
struct thread {
	struct thread *next;   /* of all threads */
	_Atomic uint64_t task; /* 0: it has recorded nothing */
	_Atomic uint64_t own;  /* the task of its lane, where that isn't `task`; 0: there is none */
	_Atomic uint64_t outside; /* for what it waited last outside of the program */
	_Atomic uint64_t unwoken; /* the wake-up that doesn't come from a closed socket; 0: none */
	_Atomic uint32_t recording; /* to which the task belongs */
	_Atomic uint32_t tid;       /* 0: the thread has ended, and holds nothing */
	_Atomic bool is_left;       /* it is the parent's: a fork has left it there */
	_Atomic uint32_t holds;     /* the number of locks that it holds */
	_Atomic uint32_t turns;     /* how often it waited for events of epoll, */
	_Atomic uint32_t loops;     /* or of anything, once it is noted */
	_Atomic bool is_idle;       /* it is of a pool, and in no work of the program */
	_Atomic uint32_t news;      /* grows once it may have heard of others */
	_Atomic uint32_t nap_news;  /* the same when it began */
	_Atomic int64_t
		napped; /* when it slept first, by rough_time; 0: never; -1: it heard of others */
	_Atomic int64_t calm_since; /* since when it heard nothing, when it last made a thread, */
	uint32_t calm_news;         /* its own: and its news then */
	_Atomic uint32_t messages;  /* that it has sent and received by sockets, */
	_Atomic int talks_by;       /* and the descriptor of the latest, + 1 */
	_Atomic int epoll;          /* + 1: it looks while it waits for that; 0: it doesn't */
	int64_t looked;             /* its own: when it looked what it missed, by rough_time */
	int64_t limits[2];   /* its own: when the latest two time limits of its waits came, */
	int limit;           /* the one of this wait in ms; -1: it has none, */
	int64_t limit_since; /* and since when the limits are the same, by rough_time */
	struct spin spin;    /* its own */
	int timed;           /* its own: so many releases look how long the lock was held */
	/* Its own, beside a program that reports itself: */
	bool tells;              /* the program records what it does, so the adapters don't */
	_Atomic uint64_t waited; /* the task of the last wait that an adapter recorded */
	struct {
		_Atomic uintptr_t lock, caller;
		int64_t since;    /* the thread's own: when it took it, by rough_time */
	} held[HELD_MAX];         /* the first of them, in the order in which it took them */
	_Atomic uintptr_t awaits; /* the semaphore for which it waits; 0: none */
	_Atomic uint32_t permits; /* how many it has */
	struct {
		_Atomic uintptr_t semaphore, caller;
		_Atomic uint64_t task; /* that took it */
	} permit[PERMITS_MAX];
};
/* In `caller`: it is recorded that the thread holds the lock, so its release has to be, too. */
#define RECORDED (UINTPTR_MAX / 2 + 1)
extern __thread struct thread *thrum__adapt_self __attribute__((tls_model("initial-exec")));

/* All threads. */
struct thread *thrum__adapt_threads(void);
/* In the place of a thread's number: there are several. */
#define SEVERAL UINT32_MAX
/* The thread of this number; NULL: none that is noted, or the number is 0. */
struct thread *thrum__adapt_thread_of(uint32_t tid);
/* Returns the calling thread, which is noted if it is unknown. NULL: it is about to end, or there is
 * no memory. */
struct thread *thrum__adapt_thread(void);
/* Whether the adapters speak for the calling thread. */
bool thrum__adapt_speaks(void);
/* The task for which the calling thread takes locks and permits, and signals: the running one, or, beside a
 * program that reports itself, the thread's own. */
thrum_task thrum__adapt_actor(void);
/* The calling thread begins, and its work is that task; 0: not known yet. */
struct thread *thrum__adapt_thread_begin(thrum_task task);
/* A thread of a pool goes to work for the program, or is idle again. */
void thrum__adapt_thread_is_idle(bool);
/* The calling thread ends. */
void thrum__adapt_thread_end(void);
/* In a fork's child: there is no thread but the calling one. */
void thrum__adapt_threads_left(void);
/* The kernel's number of a thread, also of one that was forked, which is known by its parent's. */
uint32_t thrum__adapt_thread_number(const struct thread *);
/* The number of the thread that holds a lock, as the lock tells it; 0: nobody, or it isn't known. */
typedef uint32_t holder_tid(const void *lock);
/* Records which threads hold a lock, as far as it isn't recorded yet. tid: the holder's, if the lock
 * itself tells it, else 0. tid_of: tells it anew; or NULL, if the holder waits for this one. */
void thrum__adapt_tell_holders(const struct object *, const void *lock, uint32_t tid,
	holder_tid *tid_of);
/* In a fork's child: whether a number is that of the thread that forked, which the notes of its copy have,
 * too. A lock that processes share means that thread, and any other lock means the copy. */
bool thrum__adapt_is_forker(uint32_t tid);
/* Counts that a lock is taken at a call. Returns whether nobody waits for the lock itself, and it was taken
 * often: by any call, and by this one. Then ever fewer such events are to be recorded. */
bool thrum__adapt_is_known_well(struct object *, const void *caller);
/* Records that the calling thread took a lock, the last one that it took, unless that is known well. */
void thrum__adapt_tell_taken(struct thread *, struct object *);
/* A thread releases a read-write lock that it hasn't noted. If another one has it for reading, it isn't known
 * from then on who has it. */
void thrum__adapt_lend(const struct thread *self, const void *lock);
/* Notes that a thread releases a lock, and records it if necessary. */
void thrum__adapt_drop(struct thread *, const void *lock, const char *noun);
/* The thread released the lock that had a place. Records it if it was recorded that the thread held it. */
void thrum__adapt_tell_dropped(struct thread *, uint32_t place, const void *lock);
/*
 * Whether a thread may have learned anything of others: it took a lock or a permit, waited for more than a
 * time, or received data. The first one begins anew for the calling thread, and returns a number; 0: it isn't
 * known, as the thread holds a lock. The second one tells of any thread whether all that is not so since.
 */
uint32_t thrum__adapt_news_begin(struct thread *);
bool thrum__adapt_heard_nothing(const struct thread *, uint32_t since);
static inline void hear_news(struct thread *self)
{
	if (self)
		atomic_store_explicit(&self->news,
			atomic_load_explicit(&self->news, memory_order_relaxed) + 1,
			memory_order_relaxed);
}
/* The calling thread has begun, and knows nothing. */
void thrum__adapt_news_first(struct thread *);
/* Since when the calling thread has surely heard nothing, by rough_time: a thread that it makes knows no
 * more. */
int64_t thrum__adapt_calm_since(struct thread *);
/* The calling thread sleeps for a time. */
void thrum__adapt_note_nap(struct thread *self);
/* Whether a thread has never heard anything of others, and sleeps again and again since before a time, or
 * its creator had heard nothing since. One that has heard of them may be at work that it got before. */
bool thrum__adapt_only_naps(const struct thread *, int64_t before);
/* Whether the thread holds a lock, as far as it is noted, and who took it. */
bool thrum__adapt_thread_holds(const struct thread *, const void *lock);
const void *thrum__adapt_lock_caller(const struct thread *, const void *lock);

/*
 * A lock that is held as long, in ns, is recorded though nobody waits for it. To look at the time twice
 * would cost too much. So a release looks only if the thread took no lock for so long, not many locks ago,
 * or has just begun. Hence in a thread that takes locks all the time, the first such lock may be missed.
 */
extern int64_t thrum__adapt_long;
#define TIMED 256

/* The time in ns, as it was at the last tick of the kernel's clock: that costs a nanosecond. */
static inline int64_t rough_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The time in so many ms, by CLOCK_REALTIME. */
static inline struct timespec after_ms(int ms)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += ms % 1000 * 1000000L;
	time.tv_sec += ms / 1000 + time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* Notes that the calling thread took a lock. */
static inline void take_lock(const void *lock, const void *caller)
{
	int64_t now = rough_time(); /* first, when few registers are in use */
	struct thread *self = thrum__adapt_self;

	if (UNLIKELY(!self) && !(self = thrum__adapt_thread()))
		return;
	uint32_t n = atomic_load_explicit(&self->holds, memory_order_relaxed);

	if (LIKELY(n < HELD_MAX)) {
		atomic_store_explicit(&self->held[n].lock, (uintptr_t)lock, memory_order_relaxed);
		atomic_store_explicit(&self->held[n].caller, (uintptr_t)caller,
			memory_order_relaxed);
		if (UNLIKELY(now - self->held[n].since >= thrum__adapt_long))
			self->timed = TIMED;
		self->held[n].since = now;
	}
	atomic_store_explicit(&self->holds, n + 1, memory_order_relaxed);
	if (UNLIKELY(is_watched(lock)))
		thrum__adapt_tell_taken(self, thrum__adapt_object((uintptr_t)lock));
}

/* Notes that the calling thread is about to release a lock. */
static inline void drop_lock(const void *lock, const char *noun)
{
	struct thread *self = thrum__adapt_self;

	if (UNLIKELY(!self))
		return;
	uint32_t n = atomic_load_explicit(&self->holds, memory_order_relaxed);

	if (UNLIKELY(n == 0)) {
		if (strcmp(noun, "rwlock") == 0)
			thrum__adapt_lend(self, lock);
		return;
	}
	/* The lock taken last is mostly the first to be released. A thread that waits for it may record now
	 * that it is held, and looks before that whether it still is: so it is given back first. */
	if (LIKELY(n <= HELD_MAX) &&
		LIKELY(atomic_load_explicit(&self->held[n - 1].lock, memory_order_relaxed) ==
			(uintptr_t)lock) &&
		LIKELY(self->timed == 0)) {
		atomic_store_explicit(&self->holds, n - 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		if (UNLIKELY(atomic_load_explicit(&self->held[n - 1].caller, memory_order_relaxed) &
			    RECORDED))
			thrum__adapt_tell_dropped(self, n - 1, lock);
	} else {
		thrum__adapt_drop(self, lock, noun);
	}
}

/* ---- permits.c ---- */

/*
 * A semaphore that begins with permits may count places, which each thread gives back that took one; or
 * something else. So those who have permits are told once one was given back by the thread that took it,
 * and never more once one was posted by a thread that had none. Then it counts events, as one does that
 * begins without permits: it matters who posts. Those who have the only permits of semaphores, and wait for
 * each other's in a circle, are told at once.
 */
enum {
	PERMITS_RETURN = 1,  /* one was given back */
	PERMITS_STRANGE = 2, /* one was posted by a thread that had none */
	PERMITS_ONE = 4,     /* it began with a single permit */
	PERMITS_BITS = 7
};
/* The semaphores of this process alone: their addresses with these bits. If several have the same place,
 * only the latest is known. */
extern _Atomic uintptr_t thrum__adapt_semaphores[ADDRESSES];
static inline _Atomic uintptr_t *semaphore_of(const void *address)
{
	return &thrum__adapt_semaphores[place_of_address(address)];
}
/* By the same places: the task that posted last a semaphore that counts events, and in which recording. */
extern _Atomic uint32_t thrum__adapt_posters[ADDRESSES];
static inline bool has_permits(const void *semaphore)
{
	uintptr_t known = atomic_load_explicit(semaphore_of(semaphore), memory_order_relaxed);

	return (known & ~(uintptr_t)(PERMITS_RETURN | PERMITS_ONE)) == (uintptr_t)semaphore;
}

/* Whether a semaphore belongs to this process alone. */
static inline bool is_own(const void *semaphore)
{
	uintptr_t known = atomic_load_explicit(semaphore_of(semaphore), memory_order_relaxed);

	return (known & ~(uintptr_t)PERMITS_BITS) == (uintptr_t)semaphore;
}

/* A semaphore of this process alone begins with so many permits. */
void thrum__adapt_semaphore_begin(const void *semaphore, unsigned permits);
/* It is no more, or other processes may post it, too. */
void thrum__adapt_semaphore_end(const void *semaphore);
/* Records which tasks have the permits, as far as it isn't recorded yet. */
void thrum__adapt_permits_tell(const struct object *, const void *semaphore);
/* The calling thread is about to wait for a permit without a limit. Records who has which if the only permits
 * of several semaphores are taken in a circle. */
void thrum__adapt_permits_circle(const void *semaphore, const void *caller);
/* The calling thread took a permit of such a semaphore, or is about to post one. */
void thrum__adapt_permit_take(const void *semaphore, const void *caller);
void thrum__adapt_permit_give(const void *semaphore);
/* Whether the calling thread has one. */
bool thrum__adapt_permit_has(const void *semaphore);
/* It is no semaphore, or handlers post it: what is noted and recorded of its permits is taken back. */
void thrum__adapt_permits_forget(const void *semaphore);
/* The calling thread ends. Returns whether it has permits that count. */
bool thrum__adapt_permits_left(struct thread *);

static inline void take_permit(const void *semaphore, const void *caller)
{
	hear_news(thrum__adapt_self);
	if (has_permits(semaphore))
		thrum__adapt_permit_take(semaphore, caller);
}
static inline void give_permit(const void *semaphore)
{
	if (has_permits(semaphore))
		thrum__adapt_permit_give(semaphore);
}

/* ---- wait.c ---- */

/* Whether glibc takes such a clock and such a time: else a call fails though it need not wait. */
static inline bool is_clock(int clock)
{
	return clock == 0 || clock == 1; /* CLOCK_REALTIME, CLOCK_MONOTONIC */
}
static inline bool is_time(const struct timespec *time)
{
	return !time || (time->tv_nsec >= 0 && time->tv_nsec < 1000000000);
}

/* A suspension of the calling thread's lane, during a call. */
struct pause {
	bool is_wait;   /* it is a struct wait's */
	bool is_untold; /* nothing is recorded of it */
	bool is_over;
};

/* reason NULL: nothing is recorded. */
void thrum__adapt_pause(struct pause *, struct thrum_tag *reason);
void thrum__adapt_go_on(struct pause *);
/* Whether the calling thread's lane is suspended. */
bool thrum__adapt_is_paused(void);

/* A wait of the running task. */
#define WAIT_ALSO 14
struct wait {
	struct pause pause; /* the first member */
	bool is_lock, is_watched;
	bool is_sleep;         /* it ends at a time */
	bool is_inside;        /* nothing but this program ends it */
	bool is_ready;         /* what it waits for has come; others may take it */
	struct object *object; /* NULL: there are too many, and nothing is recorded */
	const void *address, *caller;
	thrum_task task, source; /* task waits for source */
	bool ends_source;        /* it ends with the wait */
	/* Tasks that end with the wait, too: those who have the other end of a pipe. */
	unsigned also_count;
	thrum_task also[WAIT_ALSO];
};
/* One of which nothing is recorded. */
static inline void clear_wait(struct wait *wait)
{
	memset(wait, 0, offsetof(struct wait, also));
	wait->pause.is_over = true;
}

/* Whether the function of this name waits for some time at most. */
#define IS_TIMED(name) (strstr(#name, "timed") || strstr(#name, "clock"))

/* The running task waits for the object from now on. `object` may be NULL. */
void thrum__adapt_wait_begin(struct wait *, struct object *, const void *address,
	const void *caller, bool is_timed);
/* The same, without a time limit, for an object that other processes share. */
void thrum__adapt_wait_with_others(struct wait *, struct object *, const void *address,
	const void *caller);
/* The same for a pipe: another process may have got an end of it. tokens: its semaphore, or NULL. */
void thrum__adapt_wait_pipe(struct wait *, struct object *, const void *tokens, const void *caller,
	struct thrum_tag *reason);

/* The calling thread is in a call of a library, made there, that waits for a condition of its own until this
 * task's callback has returned in another thread. task NONE: it is in no such call. */
struct returning {
	thrum_task task;
	const void *callback, *caller;
};
extern __thread struct returning thrum__adapt_returning __attribute__((tls_model("initial-exec")));
/* The running task waits for that from now on. */
void thrum__adapt_wait_return(struct wait *);

/* The running task waits for something outside of the program: a task of this kind and label, which ends
 * with the wait. due: in ns from now; negative: not known. Keeps errno. Async-signal-safe. */
void thrum__adapt_wait_outside(struct wait *, enum thrum_kind, const char *label, int64_t due,
	const void *caller);
/* The same in two steps: makes the task for which the running one will wait, and begins the wait. */
void thrum__adapt_wait_make(struct wait *, enum thrum_kind, const char *label, const void *caller);
void thrum__adapt_wait_go(struct wait *, struct thrum_tag *reason);
extern struct thrum_tag thrum__adapt_outside;
/* The same; it says so if a signal's handler of the program may be the one that ends the wait. */
struct thrum_tag *thrum__adapt_handler_reason(void);
/* Records the wait anew. is_inside: nothing outside of the program ends it. */
void thrum__adapt_wait_again(struct wait *, bool is_inside);
/* The wait is over; the task got what it waited for, or gave up. Does nothing if it never began. Keeps
 * errno. */
void thrum__adapt_wait_end(struct wait *);
/* The call in which a thread of another process waits, and where its function was called, if that is small;
 * tid 0: its main thread. `at` is NULL: it isn't known, as the process is no copy of this one, or the thread
 * runs. Changes errno. */
struct place thrum__adapt_waits_in(pid_t self, pid_t process, uint32_t tid);
/* Ends a wait as that does, and begins one for this task instead, which ends with the new wait. */
void thrum__adapt_wait_instead(struct wait *, thrum_task source, const void *caller);

/* The same for a semaphore. Records who has its permits. */
void thrum__adapt_wait_semaphore(struct wait *, const void *semaphore, const void *caller,
	bool is_timed);

/* The running task waits for a lock from now on. Records who holds it. tid_of is NULL if the lock
 * itself doesn't tell that. */
void thrum__adapt_wait_lock(struct wait *, const void *lock, holder_tid *tid_of, const char *noun,
	const void *caller, bool is_timed);
/* That wait is over. taken: the thread has the lock now. */
void thrum__adapt_wait_lock_end(struct wait *, bool taken);

/* While a thread waits, it looks from time to time. */
#define LOOK_FIRST 50        /* ms between looks; within a wait, each time is twice as long */
#define LOOK_LAST 1600       /* ms: the longest */
#define LOOK_TWICE 100000000 /* ns */
/* The time until the next look, after a look that came so many ms after the one before. */
static inline int next_pause(int ms)
{
	return ms < LOOK_LAST ? ms * 2 : ms;
}

/* ---- handlers.c ---- */

/* Returns a signal's handler, or NULL. May change errno. */
const void *thrum__adapt_handler(int number);
/* The handler in which the calling thread is: of all signals that have one, only its own is blocked. NULL: it
 * is in none, or that isn't known. May change errno. */
const void *thrum__adapt_handler_around(void);
/* Whether it is in one that is known. Keeps errno. Not while its system calls are limited. */
bool thrum__adapt_is_in_handler(void);
/* Finds the signals that have handlers, and those of them that end a call which waits. */
void thrum__adapt_find_handlers(sigset_t *handled, sigset_t *ending);

/* Whether it is a signal that asks a process to end. */
bool thrum__adapt_asks_to_end(int number);

/* Whether the program has a handler for any signal. */
bool thrum__adapt_has_handlers(void);

/* The effect of the program's handlers on a call that waits. */
enum handlers {
	HANDLERS_NONE,      /* it has none */
	HANDLERS_RESTART,   /* the call goes on after each */
	HANDLERS_INTERRUPT, /* it ends with each */
	HANDLERS_MIXED      /* it can't be told whether the call should end, or go on */
};

/* A system call for each signal. */
enum handlers thrum__adapt_handlers(void);
/* Whether there is one that ends such a call. */
bool thrum__adapt_may_interrupt(void);

/* Whether there was a handler shortly before. Once there is one, there may be one at any time. Keeps
 * errno. */
bool thrum__adapt_had_handlers(void);
/* Whether there is a handler that ends a call which waits. Not of SIGINT: most interpreters handle
 * that, to break off the program. Keeps errno. */
bool thrum__adapt_heeds_signals(void);
/* As thrum__adapt_had_handlers, but without loops' handlers of signals that ask a program to end, or tell of
 * a child's end. They write to what the loop waits for, so none is lost between two parts of its wait. */
bool thrum__adapt_had_other_handlers(void);
/* A loop's library has just made sure that the signal has its handler. */
void thrum__adapt_loop_handles(int number);
/* Whether there is one, or was one just now. Keeps errno. */
bool thrum__adapt_may_handle(void);
/* The C library will call a function of the program in a thread of its own. It counts as a handler from now
 * on. */
void thrum__adapt_will_call_back(void);
/* Whether it was asked to. */
bool thrum__adapt_calls_back(void);

#endif
