/* SPDX-License-Identifier: ISC */
/*
 * adapt/: libthrum-adapt.so, which `thrum record` loads into programs that know nothing of thrum.
 * It stands in for functions of other libraries, calls the real ones, and records what they do. It
 * never changes what the program sees: results, errno, order, lifetimes.
 *
 * Each adapter is a table of the calls that it stands in for (*.def), and a file or two for what is
 * special about them. To wrap one more call is a line in the table.
 *
 *   start.c      options, the environment
 *   exec.c       other programs in the same process
 *   fork.c       children that are forked, and their recordings
 *   memory.c     programs that limit their memory
 *   rights.c     programs that give up root's rights
 *   seccomp.c    programs that limit their system calls
 *   base/        tasks of objects, threads and the locks that they hold, waits: all adapters use it
 *   shared/      semaphores and queues that processes share: who has permits, who uses them
 *   descriptor/  what is known of descriptors: whether calls wait, pipes, connections, timers
 *   relatives/   what processes have of each other: children, signals, who could end a wait
 *   ends/        who has the other end of a pipe or the lock of a file, and whether all wait for each other
 *   look/        threads that look what they missed
 *   call/        calls of the C library that wait for the outside, or make descriptors
 *   ipc/         semaphores and queues of messages that the kernel has, and semaphores in shared memory
 *   pthread/     pthreads and C11 threads
 *   uv/ event/ glib/ uring/    libuv, libevent, GLib and GIO, liburing
 *
 * A folder uses none that stands below it here. The files of this one use all, and are used by all.
 *
 * Until the recorder runs, also in a fork's child, every call goes straight to the real function.
 */
#ifndef ADAPT_ADAPT_H
#define ADAPT_ADAPT_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for a clock */
#endif

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"
#include "thrum.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
/* A function that stands in for another library's. */
#define STAND_IN __attribute__((visibility("default")))
/* Variables that a fork's child changes lie together, since it gets a copy of each page that it changes. */
#define AT_FORK __attribute__((section("thrum_at_fork")))
/* The address to which the call of the stand-in returns. */
#define CALLER __builtin_return_address(0)

/* ---- start.c ---- */

/* The adapters. X(NAME, word): the word is for --only and --without. */
#define ADAPTERS(X) \
	X(PTHREAD, "pthread") \
	X(LOOP, "loop") \
	X(BLOCK, "block") \
	X(UV, "uv") \
	X(EVENT, "event") \
	X(GLIB, "glib") \
	X(URING, "uring")
enum adapter {
#define ADAPTER__X(NAME, word) ADAPTER_##NAME,
	ADAPTERS(ADAPTER__X)
#undef ADAPTER__X
};
/* The chosen adapters, as bits. */
extern unsigned thrum__adapt_chosen;
/* The program reports to the recorder itself. Then only waits of threads are recorded for which it tells
 * nothing, and their own tasks stand for them. */
extern bool thrum__adapt_is_beside;

/* Starts the recording, if it is not started yet: an adapter has something to record. Keeps errno. Not
 * async-signal-safe. */
void thrum__adapt_start(void);
/* Whether this process has forked, and may yet begin to record. */
bool thrum__adapt_has_forked(void);

/* The entries that the environment of another program gets. */
#define VARIABLES 3
struct variables {
	char *entry[VARIABLES];
	int count;
	char link[48]; /* "THRUM_LINK=..." */
};
/* Finds the entries with which another program, in this process or a child, loads the adapters and
 * knows who started it; none if it doesn't load them, and no others than these if it inherits them.
 * Records that it is started, if this process records. Allocates nothing. */
void thrum__adapt_variables(struct variables *);
/* The process is about to end by _exit(). Async-signal-safe. */
void thrum__adapt_exits(int status);
/* The process is about to forbid itself system calls: neither this process begins to record if it is a fork's
 * child, nor do its children. Async-signal-safe. */
void thrum__adapt_forbids(void);
/* The same, and the calls of those who record would be harmful: the recording ends. */
void thrum__adapt_limits(void);
/* This process, without a system call. In the child of a vfork it is the parent. */
pid_t thrum__adapt_known_pid(void);
/* A fork is about to be made; what the child starts is linked to this moment. */
void thrum__adapt_fork(void);

static inline bool is_chosen(enum adapter adapter)
{
	return thrum__adapt_chosen >> adapter & 1;
}

/* Whether an adapter records. */
static inline bool is_on(enum adapter adapter)
{
	return THRUM__ON(THRUM__BIT_STARTED) && is_chosen(adapter);
}

/* ---- vfork.c: async-signal-safe ---- */

extern __thread bool thrum__adapt_may_be_vforked __attribute__((tls_model("initial-exec")));
bool thrum__adapt_asks_vforked(void);

/* Whether this is the child of a vfork, which shares its parent's memory. A system call after a vfork of
 * this thread, until it is the parent again. */
static inline bool is_vforked(void)
{
	return UNLIKELY(thrum__adapt_may_be_vforked) && thrum__adapt_asks_vforked();
}

/* ---- seccomp.c ---- */

/* The process has limited its system calls: nothing here makes one of its own any more. */
extern _Atomic bool thrum__adapt_is_limited;
/* The program calls prctl(PR_SET_SECCOMP) or seccomp() with these arguments. Keeps errno. */
void thrum__adapt_prctl(unsigned long mode, const void *filter);
void thrum__adapt_seccomp(unsigned long operation, const void *filter);

static inline bool is_limited(void)
{
	return UNLIKELY(atomic_load_explicit(&thrum__adapt_is_limited, memory_order_relaxed));
}

/* The numbers of this process and thread. Once the calls are limited, that of a thread only tells it from
 * others. */
static inline pid_t own_pid(void)
{
	return is_limited() ? thrum__adapt_known_pid() : getpid();
}

static inline uint32_t own_tid(void)
{
	return is_limited() ? (uint32_t)(uintptr_t)&errno : thrum__port_tid();
}

/* ---- memory.c ---- */

/* Returns the size of a recording that the limits of this process allow, at most this. */
uint64_t thrum__adapt_size_within(uint64_t size);

/* ---- fork.c: async-signal-safe ---- */

/* This is a fork's child that has recorded nothing so far, and shall once it waits. */
extern _Atomic bool thrum__adapt_is_fresh;
/* The process that forked it. */
extern pid_t thrum__adapt_parent;

static inline bool is_fresh(enum adapter adapter)
{
	return UNLIKELY(atomic_load_explicit(&thrum__adapt_is_fresh, memory_order_relaxed)) &&
		is_chosen(adapter);
}

/* Whether an adapter records a wait, should there be one. */
static inline bool may_record(enum adapter adapter)
{
	return LIKELY(is_on(adapter)) || is_fresh(adapter);
}

/* Whether an adapter records a wait that begins now. */
static inline bool records_wait(enum adapter adapter)
{
	if (is_fresh(adapter))
		thrum__adapt_start();
	return is_on(adapter);
}

/* Finds what the processes share, by the list of THRUM_ADAPT. */
void thrum__adapt_forks_find(const char *list);
/* That; without `thrum record` it is this process's own. */
struct thrum__adapt_forks *thrum__adapt_forks(void);
/* Whether this child may record: only so many do. It is counted. */
bool thrum__adapt_fork_may_record(pid_t child);
/* The child has ended, with this status of waitpid(). */
void thrum__adapt_fork_ended(pid_t child, int status);
/* This process has made the file of this key: see call/lock_file.c. */
void thrum__adapt_fork_made(uint64_t file);
/* Returns the process that made a file; 0: it isn't known, or its children may be to remove it. */
pid_t thrum__adapt_fork_maker(uint64_t file, char name[16], bool *is_killed);
/* This process has started another one, there. */
void thrum__adapt_fork_started(pid_t process, const void *caller);
/* Returns the process that started another one, and where: an address in it; 0: it isn't known. */
pid_t thrum__adapt_fork_starter(pid_t process, const void **caller);
/* Where a process was started, by this one or by a copy of it; NULL: that isn't known. */
const void *thrum__adapt_started_by_copy(pid_t process);
/* Returns the signal that killed a process that one of those here has started; 0: none did, or that isn't
 * known. Sets *caller to who sent it, an address of this program, or NULL. */
int thrum__adapt_killed_by(pid_t process, const void **caller);
/* A number that is the same in all copies of a process by fork: each program that is executed gets other
 * addresses. */
uint64_t thrum__adapt_image(void);
/* This process is about to fork: it may leave the files to its child. */
void thrum__adapt_fork_shares(void);
/* It could not, for this reason: a negative enum thrum_error. */
void thrum__adapt_fork_failed(int error);
/* In the child: it was forked just now by that process. */
void thrum__adapt_fork_left(pid_t parent, bool records);
/* Its recording is about to begin. */
void thrum__adapt_fork_begins(void);
/* In a fresh child, whether a call has to wait for a descriptor: for an event of poll(), and not
 * shortly. Then its recording begins. Keeps errno. */
bool thrum__adapt_fork_waits(int fd, short events);
/* Whether a sleep is recorded. That begins the recording if it is long, or the child is no longer young. */
bool thrum__adapt_fork_sleeps(int64_t ns);

/* ---- endings.c ---- */

/* This fork's child begins to record: notes its name. */
void thrum__adapt_endings_begin(void);

/* ---- exec.c ---- */

/* The call that started a child, if it is known; else NULL. Async-signal-safe. */
const void *thrum__adapt_started_at(pid_t);
/* Whether the child may have got locks by fork that threads of this process held. Async-signal-safe. */
bool thrum__adapt_got_held(pid_t);

#endif
