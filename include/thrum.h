/* SPDX-License-Identifier: ISC */
/*
 * thrum.h: record what the tasks of an asynchronous program do.
 *
 * A task is anything with a beginning and an end that others may wait for: a promise, a request, a
 * timer, a fiber, a condition, a lock. The program says what happens to its tasks; each call leaves
 * one event in a recording that survives a crash and that `thrum` shows.
 *
 * What holds for every recording call, unless it says otherwise:
 *
 *  - It may be called at any time, from any thread and from signal handlers. It never blocks, never
 *    allocates, never fails and leaves errno alone. What could not be recorded is counted by cause.
 *  - While nothing is recorded (before thrum_start, after thrum_stop, in a forked child) it returns
 *    at once, and ids are THRUM_TASK_NONE. This costs one test of one word.
 *  - THRUM_TASK_NONE as the task that something happens to is ignored.
 *  - Texts are UTF-8, ended by NUL; NULL counts as empty. What is longer than THRUM_TEXT_MAX bytes
 *    is cut between two characters and ends in an ellipsis. Texts are copied at once.
 *  - While recording it costs about as much as reading the clock.
 *
 * With -DTHRUM_DISABLED every call is compiled away; arguments are not evaluated.
 *
 * With -DTHRUM_WEAK nothing needs to be linked: calls reach libthrum only when the process has
 * loaded it, so that a library can annotate itself without depending on thrum. For position
 * independent code; thrum_start and its like are not there.
 *
 * The header is not stable before version 1.0.
 */
#ifndef THRUM_H
#define THRUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors -------------------------------------------------------------------------------- */

/* What can fail returns 0, or one of these negated. X(name, value, message) */
#define THRUM_ERRORS(X) \
	X(MEMORY, 1, "out of memory") \
	X(ARGUMENT, 2, "invalid argument") \
	X(SYSTEM, 3, "the operating system refused") \
	X(ACCESS, 4, "permission denied") \
	X(NOT_FOUND, 5, "no such file or process") \
	X(SYMLINK, 6, "a symbolic link is in the way") \
	X(EXISTS, 7, "a file that is not a recording is in the way") \
	X(SPACE, 8, "no space left on the device") \
	X(FORMAT, 9, "not a format that thrum knows") \
	X(VERSION, 10, "written by a newer thrum") \
	X(DAMAGED, 11, "damaged") \
	X(TRUNCATED, 12, "truncated") \
	X(NOT_RECORDING, 13, "nothing is being recorded") \
	X(SIZE, 14, "size out of range")

enum thrum_error {
	THRUM_OK = 0,
#define THRUM__X(name, value, message) THRUM_E_##name = value,
	THRUM_ERRORS(THRUM__X)
#undef THRUM__X
};

/* ---- Types --------------------------------------------------------------------------------- */

/* A task's id: unique within one recording, never reused. */
typedef uint64_t thrum_task;
#define THRUM_TASK_NONE ((thrum_task)0)

/* The most bytes of a text that are recorded, the ending NUL not counted. */
#define THRUM_TEXT_MAX 511
/* The most bytes of a link's key. */
#define THRUM_KEY_MAX 64

/* Kinds of tasks. X(NAME, name, value): name is the word that output and traces use. The first 18
 * are those of mirage-profile, with its numbers. */
#define THRUM_KINDS(X) \
	X(WAIT, wait, 0) \
	X(TASK, task, 1) \
	X(BIND, bind, 2) \
	X(TRY, try, 3) \
	X(CHOOSE, choose, 4) \
	X(PICK, pick, 5) \
	X(JOIN, join, 6) \
	X(MAP, map, 7) \
	X(CONDITION, condition, 8) \
	X(ON_SUCCESS, on_success, 9) \
	X(ON_FAILURE, on_failure, 10) \
	X(ON_TERMINATION, on_termination, 11) \
	X(ON_ANY, on_any, 12) \
	X(IGNORE_RESULT, ignore_result, 13) \
	X(ASYNC, async, 14) \
	X(PROMISE, promise, 15) \
	X(SEMAPHORE, semaphore, 16) \
	X(SWITCH, switch, 17) \
	X(REQUEST, request, 18) \
	X(TIMER, timer, 19) \
	X(HANDLE, handle, 20) \
	X(FIBER, fiber, 21) \
	X(THREAD, thread, 22) \
	X(LOCK, lock, 23) \
	X(MAILBOX, mailbox, 24) \
	X(STREAM, stream, 25)

/* REQUEST and TIMER are resolved from outside the program; a HANDLE may be pending for ever. */
enum thrum_kind {
#define THRUM__X(NAME, name, value) THRUM_KIND_##NAME = value,
	THRUM_KINDS(THRUM__X)
#undef THRUM__X
};

enum thrum_counter_kind {
	THRUM_COUNTER_GAUGE = 0,        /* goes up and down: connections open, bytes queued */
	THRUM_COUNTER_CUMULATIVE = 1,   /* only grows: requests served */
	THRUM_COUNTER_DISTRIBUTION = 2, /* single observations: sizes, latencies */
};

/* What happens when the recording is full. */
enum thrum_full {
	THRUM_FULL_OVERWRITE = 0, /* the oldest packet goes: a flight recorder */
	THRUM_FULL_DISCARD = 1,   /* new events go, and are counted */
};

/*
 * A clock for thrum_start: `read(context)` returns sixteenths of a tick and never runs backwards
 * within a thread; it is called for every event, also in signal handlers. `frequency` is in ticks a
 * second and fits the format best between 50 and 500 MHz.
 */
struct thrum_clock {
	uint64_t (*read)(void *context);
	void *context;
	uint64_t frequency;
};

/* Zeros mean defaults, so that `{ 0 }` is a complete configuration. */
struct thrum_config {
	/* Where to record; %p is replaced by the process id, %e by the program's name. NULL: a new
	 * file in $XDG_RUNTIME_DIR/thrum/, else in /dev/shm/thrum-UID/. */
	const char *file;
	/* Bytes, all told: at least 256 KiB, at most 64 GiB. 0: 16 MiB. */
	uint64_t size;
	enum thrum_full full;
	/* Don't keep the table of live tasks: saves up to 3 ns at create, wait and resolve; but
	 * what was created before the oldest event that is still there is then forgotten. */
	bool no_live_tasks;
	/* Memory of `size` bytes, aligned to a page, instead of a file. It belongs to the recorder
	 * until the process ends. */
	void *memory;
	/* NULL: the time stamp counter where it can be trusted, else CLOCK_MONOTONIC. */
	const struct thrum_clock *clock;
};

/* ---- Starting and stopping ------------------------------------------------------------------ */

/* Exported; under THRUM_WEAK perhaps not there. */
#if defined(THRUM_WEAK) && !defined(THRUM_DISABLED)
#define THRUM__API __attribute__((weak, visibility("default"))) extern
#else
#define THRUM__API __attribute__((visibility("default"))) extern
#endif

/* The result must be looked at. */
#define THRUM__MUST_USE __attribute__((warn_unused_result))

/* Inline; with THRUM_DISABLED never defined, but replaced by the macros at the end. */
#ifndef THRUM_DISABLED
#define THRUM__INLINE static inline
#else
#define THRUM__INLINE extern
#endif

#if !defined(THRUM_DISABLED) && !defined(THRUM_WEAK)

/*
 * Starts recording. NULL: as the environment says now (THRUM_TRACE, THRUM_SIZE, THRUM_FULL), else
 * defaults. When a recording is already running, also one that THRUM_TRACE started, this returns 0
 * and changes nothing: the environment comes before the program.
 *
 * A file that another live process records to is left alone: FILE.PID is used then. An older
 * recording and an empty file are replaced; any other file, and a symbolic link, is refused.
 *
 * Takes some milliseconds, for the file and the clock. Thread-safe, not async-signal-safe. Returns
 * 0 or a negative enum thrum_error. It may be called again after thrum_stop; each time leaves some
 * address space of the former recording behind, for threads caught in the middle of an event.
 */
THRUM__API int thrum_start(const struct thrum_config *config);

/* Stops recording; the file stays. Thread-safe, not async-signal-safe. */
THRUM__API void thrum_stop(void);

/*
 * Writes what the recording holds now to `file`, as a recording of its own; an existing file is
 * treated as thrum_start does. Recording goes on meanwhile; what is overwritten while it is copied
 * is counted in the new file. Thread-safe, not async-signal-safe. Returns 0 or a negative enum
 * thrum_error.
 */
THRUM__API int thrum_snapshot(const char *file);

/* The file that is or was last recorded to, or NULL. Valid until the next start. */
THRUM__API const char *thrum_file(void);

/*
 * Sets what is recorded of a category: its levels up to `level`, or nothing (-1). The recorder's
 * own are "task" (0: only ids, 1: lives, 2: waits too, 3: also who runs), "counter" and "log". By
 * default everything is recorded. A name that isn't known yet is remembered. Thread-safe.
 */
THRUM__API void thrum_level(const char *category, int level);

#endif

/* The message for an error, negative or not. Static, never NULL. */
THRUM__API const char *thrum_error_message(int error);

/* Whether anything is recorded now. */
THRUM__INLINE bool thrum_enabled(void);

/* ---- Tasks ---------------------------------------------------------------------------------- */

/*
 * A new task: a child of the running one, of a given parent (NONE: of none), or one that waits from
 * the beginning for `source` (one event instead of two). The label may be NULL. Returns its id;
 * NONE when nothing is recorded. Macros, as they note the call's place in a static descriptor:
 *
 *   thrum_task thrum_task_create(enum thrum_kind kind, const char *label);
 *   thrum_task thrum_task_create_in(thrum_task parent, enum thrum_kind kind, const char *label);
 *   thrum_task thrum_task_create_waiting(enum thrum_kind kind, const char *label, thrum_task
 * source);
 *
 * This one formats its label, only when recording. Not async-signal-safe.
 *
 *   thrum_task thrum_task_createf(enum thrum_kind kind, const char *format, ...);
 */

/* A task may get several labels; the last one is its name. */
THRUM__INLINE void thrum_task_label(thrum_task task, const char *label);

/* The task is expected to be resolved some time: that it never is would be an error. */
THRUM__INLINE void thrum_task_should_resolve(thrum_task task);

/* When a timer or a deadline is due, in ns from now; negative: it is overdue. */
THRUM__INLINE void thrum_task_due(thrum_task task, int64_t ns_from_now);

/* The task that runs on this lane; the lane's own when no other does. NONE when not recording. */
THRUM__INLINE thrum_task thrum_task_current(void);

/* From now on this task runs on this lane. NONE: the lane's own. */
THRUM__INLINE void thrum_task_switch(thrum_task task);

/* Switches to a task and returns the one that ran before; leave switches back to that. */
THRUM__INLINE thrum_task thrum_task_enter(thrum_task task);
THRUM__INLINE void thrum_task_leave(thrum_task before);

/* THRUM_RUN(task) { … } enters the task and, however the block is left, leaves it. */

/* `waiter` looked at `source`, found it unresolved and waits for it. */
THRUM__INLINE void thrum_task_wait(thrum_task waiter, thrum_task source);

/* `reader` got the result of `source`. */
THRUM__INLINE void thrum_task_read(thrum_task reader, thrum_task source);

/* The running task, which may be `task` itself, ended it: with a result, with an error (the reason
 * may be NULL), or because nobody wants it any more. A task ends once, and is not labelled, marked
 * or made to wait by another thread at the same moment. */
THRUM__INLINE void thrum_task_resolve(thrum_task task);
THRUM__INLINE void thrum_task_fail(thrum_task task, const char *reason);
THRUM__INLINE void thrum_task_cancel(thrum_task task);

/* From now on `task` is the same as `other`: who waits for the one waits for the other. */
THRUM__INLINE void thrum_task_become(thrum_task task, thrum_task other);

/* The running task signalled a condition for which so many waited; 0: nobody heard. */
THRUM__INLINE void thrum_task_signal(thrum_task condition, unsigned waiters);

/* The running task took a lock, and gave it back. */
THRUM__INLINE void thrum_lock_acquired(thrum_task lock);
THRUM__INLINE void thrum_lock_released(thrum_task lock);

/*
 * Causes across processes and machines: what the running task sends under a key causes what the
 * receiver of the same key does. A key is up to THRUM_KEY_MAX bytes; the rest is cut off.
 */
THRUM__INLINE void thrum_link_send(const void *key, size_t size);
THRUM__INLINE void thrum_link_receive(const void *key, size_t size);

/* ---- Lanes, text, spans --------------------------------------------------------------------- */

/* Names this thread's own task; until then it is called as the thread was when it first recorded.
 */
THRUM__INLINE void thrum_lane_name(const char *name);

/* A line of free text, said by the running task. The second formats it, only when recording, and is
 * not async-signal-safe: void thrum_logf(const char *format, ...); */
THRUM__INLINE void thrum_log(const char *text);

/*
 * Static descriptors of categories and tags:
 *
 *   THRUM_CATEGORY(net, "net");
 *   THRUM_TAG(parse, &net, "net/dns.parse", 1);
 *
 * The same names are the same category or tag wherever they stand. A tag's category may be NULL,
 * and its level is 0 (always wanted) to 3 (fine detail). There is room for 13 categories; further
 * ones share the levels of the last.
 */
#define THRUM_CATEGORY(variable, name) \
	static struct thrum_category variable __attribute__((unused)) = {name, 0}
#define THRUM_TAG(variable, category, name, level) \
	static struct thrum_tag variable __attribute__((unused)) = {name, category, level, 0, 0}

/* Their members are the recorder's. */
struct thrum_category {
	const char *name;
	uint32_t id; /* its number in this process, + 1; 0: not used yet */
};
struct thrum_tag {
	const char *name;
	struct thrum_category *category;
	uint32_t level;
	uint32_t bit; /* of the mask below; until the tag is first used, the one that says "started"
		       */
	uint32_t id;  /* recording << 16 | definition */
};

/* Something happened, to the running task; with a value. */
THRUM__INLINE void thrum_tag(struct thrum_tag *tag);
THRUM__INLINE void thrum_tag_value(struct thrum_tag *tag, int64_t value);

/* A stretch of this lane's time: a phase, a garbage collection, an interrupt. May nest. */
THRUM__INLINE void thrum_span_begin(struct thrum_tag *tag);
THRUM__INLINE void thrum_span_end(struct thrum_tag *tag);

/* Nothing runs on this lane from now on, for a reason: one of the three below, or a tag of your
 * own. */
THRUM__INLINE void thrum_suspend(struct thrum_tag *reason);
THRUM__INLINE void thrum_resume(void);

#define THRUM_WAIT_FOR_WORK (&thrum__wait_for_work) /* the loop waits for events */
#define THRUM_SUSPENDED (&thrum__suspended)         /* the machine or the guest sleeps */
#define THRUM_HIBERNATED (&thrum__hibernated)       /* it was saved to disk */

/* ---- Counters ------------------------------------------------------------------------------- */

/*
 * Counters live whether or not anything is recorded; while recording, each change leaves an event.
 * All of these take NULL and then do nothing.
 */
struct thrum_counter;
#define THRUM_COUNTERS_MAX 4096

/*
 * The counter of this path, made when there is none yet. A path like "net/tcp/bytes-acked" has its
 * place in a tree. The memory is the recorder's and stays. NULL when there are too many, or for a
 * NULL path. Thread-safe, not async-signal-safe.
 */
THRUM__INLINE struct thrum_counter *thrum_counter_create(const char *path,
	enum thrum_counter_kind kind);

/* Overflow wraps. */
THRUM__INLINE void thrum_counter_add(struct thrum_counter *counter, int64_t amount);
THRUM__INLINE void thrum_counter_set(struct thrum_counter *counter, int64_t value);

/* One observation of a distribution; the last one is the counter's value. */
THRUM__INLINE void thrum_counter_observe(struct thrum_counter *counter, int64_t value);

THRUM__INLINE int64_t thrum_counter_value(const struct thrum_counter *counter);

/* ---- How it is done: not to be used directly ------------------------------------------------ */

/* Where a task was created. */
struct thrum_site {
	const char *file, *function;
	uint32_t line;
	uint32_t id; /* recording << 16 | definition */
};

/*
 * What is recorded: 16 categories of 4 levels; level l of category c is bit c * 4 + l. A page of
 * its own, which the kernel wipes in a fork's child: nothing is on there, however the child was
 * made.
 */
struct thrum__control {
	uint32_t mask[2];
	char page[4096 - 8];
};
enum {
	THRUM__BIT_STARTED = 0, /* category "task": ids */
	THRUM__BIT_LIFE = 1,    /* created, labelled, ended */
	THRUM__BIT_WAITS = 2,   /* waits, reads, locks, links */
	THRUM__BIT_RUNS = 3,    /* switch, suspend, resume */
	THRUM__BIT_COUNTER = 4, /* category "counter" */
	THRUM__BIT_LOG = 8,     /* category "log" */
};
THRUM__API struct thrum__control thrum__control;

THRUM__API thrum_task thrum__create(struct thrum_site *, int kind, const char *label);
THRUM__API thrum_task thrum__createf(struct thrum_site *, int kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
THRUM__API thrum_task thrum__create_in(struct thrum_site *, thrum_task parent, int kind,
	const char *label);
THRUM__API thrum_task thrum__create_waiting(struct thrum_site *, int kind, const char *label,
	thrum_task source);
THRUM__API void thrum__label(thrum_task, const char *label);
THRUM__API void thrum__should_resolve(thrum_task);
THRUM__API void thrum__due(thrum_task, int64_t ns_from_now);
THRUM__API thrum_task thrum__current(void);
THRUM__API void thrum__switch(thrum_task);
THRUM__API thrum_task thrum__enter(thrum_task);
THRUM__API void thrum__wait(thrum_task waiter, thrum_task source);
THRUM__API void thrum__read(thrum_task reader, thrum_task source);
THRUM__API void thrum__resolve(thrum_task);
THRUM__API void thrum__fail(thrum_task, const char *reason);
THRUM__API void thrum__cancel(thrum_task);
THRUM__API void thrum__become(thrum_task, thrum_task other);
THRUM__API void thrum__signal(thrum_task condition, unsigned waiters);
THRUM__API void thrum__lock_acquired(thrum_task lock);
THRUM__API void thrum__lock_released(thrum_task lock);
THRUM__API void thrum__link_send(const void *key, size_t size);
THRUM__API void thrum__link_receive(const void *key, size_t size);
THRUM__API void thrum__lane_name(const char *name);
THRUM__API void thrum__suspend(struct thrum_tag *reason);
THRUM__API void thrum__resume(void);
THRUM__API void thrum__tag(struct thrum_tag *);
THRUM__API void thrum__tag_value(struct thrum_tag *, int64_t value);
THRUM__API void thrum__span_begin(struct thrum_tag *);
THRUM__API void thrum__span_end(struct thrum_tag *);
THRUM__API void thrum__log(const char *text);
THRUM__API void thrum__logf(const char *format, ...) __attribute__((format(printf, 1, 2)));
THRUM__API struct thrum_counter *thrum__counter_create(const char *path, int kind);
THRUM__API void thrum__counter_add(struct thrum_counter *, int64_t amount);
THRUM__API void thrum__counter_set(struct thrum_counter *, int64_t value);
THRUM__API void thrum__counter_observe(struct thrum_counter *, int64_t value);
THRUM__API int64_t thrum__counter_value(const struct thrum_counter *);

#define THRUM__TAG(name) \
	{ \
		name, NULL, 0, 0, 0 \
	}
static struct thrum_tag thrum__wait_for_work __attribute__((unused)) = THRUM__TAG("wait for work");
static struct thrum_tag thrum__suspended __attribute__((unused)) = THRUM__TAG("suspended");
static struct thrum_tag thrum__hibernated __attribute__((unused)) = THRUM__TAG("hibernated");

struct thrum__run {
	thrum_task before;
	bool again;
};

#ifndef THRUM_DISABLED

#ifdef THRUM_WEAK
#define THRUM__HAVE (&thrum__control != (struct thrum__control *)0)
#else
#define THRUM__HAVE 1
#endif

/* One load, one test; off is the case that must cost nothing. */
#define THRUM__WORD(bit) __atomic_load_n(&thrum__control.mask[(bit) / 32], __ATOMIC_RELAXED)
#define THRUM__ON(bit) (THRUM__HAVE && __builtin_expect(THRUM__WORD(bit) >> ((bit) % 32) & 1, 0))
#define THRUM__TAG_ON(tag) THRUM__ON(__atomic_load_n(&(tag)->bit, __ATOMIC_RELAXED))

static inline const char *thrum__text(const char *text)
{
	return text ? text : "";
}
#define THRUM__CREATE(call, ...) \
	__extension__({ \
		static struct thrum_site thrum__site = {__FILE__, __func__, __LINE__, 0}; \
		THRUM__ON(THRUM__BIT_STARTED) ? call(&thrum__site, __VA_ARGS__) : THRUM_TASK_NONE; \
	})
#define thrum_task_create(kind, label) THRUM__CREATE(thrum__create, kind, thrum__text(label))
#define thrum_task_createf(...) THRUM__CREATE(thrum__createf, __VA_ARGS__)
#define thrum_task_create_in(parent, kind, label) \
	THRUM__CREATE(thrum__create_in, parent, kind, thrum__text(label))
#define thrum_task_create_waiting(kind, label, source) \
	THRUM__CREATE(thrum__create_waiting, kind, thrum__text(label), source)
#define thrum_logf(...) (THRUM__ON(THRUM__BIT_LOG) ? thrum__logf(__VA_ARGS__) : (void)0)

static inline bool thrum_enabled(void)
{
	return THRUM__ON(THRUM__BIT_STARTED);
}

static inline thrum_task thrum_task_current(void)
{
	return THRUM__ON(THRUM__BIT_STARTED) ? thrum__current() : THRUM_TASK_NONE;
}

static inline thrum_task thrum_task_enter(thrum_task task)
{
	return THRUM__ON(THRUM__BIT_STARTED) ? thrum__enter(task) : THRUM_TASK_NONE;
}

static inline void thrum_task_label(thrum_task task, const char *label)
{
	if (THRUM__ON(THRUM__BIT_LIFE))
		thrum__label(task, label);
}

static inline void thrum_task_should_resolve(thrum_task task)
{
	if (THRUM__ON(THRUM__BIT_LIFE))
		thrum__should_resolve(task);
}

static inline void thrum_task_due(thrum_task task, int64_t ns_from_now)
{
	if (THRUM__ON(THRUM__BIT_LIFE))
		thrum__due(task, ns_from_now);
}

static inline void thrum_task_switch(thrum_task task)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__switch(task);
}

static inline void thrum_task_leave(thrum_task before)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__switch(before);
}

static inline void thrum_task_wait(thrum_task waiter, thrum_task source)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__wait(waiter, source);
}

static inline void thrum_task_read(thrum_task reader, thrum_task source)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__read(reader, source);
}

static inline void thrum_task_resolve(thrum_task task)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__resolve(task);
}

static inline void thrum_task_fail(thrum_task task, const char *reason)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__fail(task, reason);
}

static inline void thrum_task_cancel(thrum_task task)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__cancel(task);
}

static inline void thrum_task_become(thrum_task task, thrum_task other)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__become(task, other);
}

static inline void thrum_task_signal(thrum_task condition, unsigned waiters)
{
	if (THRUM__ON(THRUM__BIT_LIFE))
		thrum__signal(condition, waiters);
}

static inline void thrum_lock_acquired(thrum_task lock)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__lock_acquired(lock);
}

static inline void thrum_lock_released(thrum_task lock)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__lock_released(lock);
}

static inline void thrum_link_send(const void *key, size_t size)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__link_send(key, size);
}

static inline void thrum_link_receive(const void *key, size_t size)
{
	if (THRUM__ON(THRUM__BIT_WAITS))
		thrum__link_receive(key, size);
}

static inline void thrum_lane_name(const char *name)
{
	if (THRUM__ON(THRUM__BIT_STARTED))
		thrum__lane_name(name);
}

static inline void thrum_log(const char *text)
{
	if (THRUM__ON(THRUM__BIT_LOG))
		thrum__log(text);
}

static inline void thrum_suspend(struct thrum_tag *reason)
{
	if (THRUM__ON(THRUM__BIT_RUNS))
		thrum__suspend(reason);
}

static inline void thrum_resume(void)
{
	if (THRUM__ON(THRUM__BIT_RUNS))
		thrum__resume();
}

static inline void thrum_tag(struct thrum_tag *tag)
{
	if (THRUM__TAG_ON(tag))
		thrum__tag(tag);
}

static inline void thrum_tag_value(struct thrum_tag *tag, int64_t value)
{
	if (THRUM__TAG_ON(tag))
		thrum__tag_value(tag, value);
}

static inline void thrum_span_begin(struct thrum_tag *tag)
{
	if (THRUM__TAG_ON(tag))
		thrum__span_begin(tag);
}

static inline void thrum_span_end(struct thrum_tag *tag)
{
	if (THRUM__TAG_ON(tag))
		thrum__span_end(tag);
}

static inline struct thrum_counter *thrum_counter_create(const char *path,
	enum thrum_counter_kind kind)
{
	return THRUM__HAVE ? thrum__counter_create(path, (int)kind) : NULL;
}

static inline void thrum_counter_add(struct thrum_counter *counter, int64_t amount)
{
	if (counter)
		thrum__counter_add(counter, amount);
}

static inline void thrum_counter_set(struct thrum_counter *counter, int64_t value)
{
	if (counter)
		thrum__counter_set(counter, value);
}

static inline void thrum_counter_observe(struct thrum_counter *counter, int64_t value)
{
	if (counter)
		thrum__counter_observe(counter, value);
}

static inline int64_t thrum_counter_value(const struct thrum_counter *counter)
{
	return counter ? thrum__counter_value(counter) : 0;
}

/* The attribute sees to break, return and goto. */
static inline void thrum__run_end(struct thrum__run *run)
{
	thrum_task_leave(run->before);
}
#define THRUM_RUN(task) \
	for (struct thrum__run thrum__run \
		__attribute__((cleanup(thrum__run_end))) = {thrum_task_enter(task), true}; \
		thrum__run.again; thrum__run.again = false)

#else /* THRUM_DISABLED: arguments are looked at by the compiler, never evaluated */

int thrum__nothing(int, ...);
#define THRUM__NOTHING(...) ((void)sizeof(thrum__nothing(__VA_ARGS__)))
/* Functions, so that nobody is warned who doesn't use a value. */
static inline thrum_task thrum__no_task(void)
{
	return THRUM_TASK_NONE;
}
static inline struct thrum_counter *thrum__no_counter(void)
{
	return NULL;
}
static inline int64_t thrum__no_value(void)
{
	return 0;
}
static inline int thrum__no_recording(int result)
{
	return result;
}
#define THRUM__NONE(...) (THRUM__NOTHING(__VA_ARGS__), thrum__no_task())

#define thrum_start(config) (THRUM__NOTHING(0, config), thrum__no_recording(0))
#define thrum_stop() ((void)0)
#define thrum_snapshot(file) (THRUM__NOTHING(0, file), thrum__no_recording(-THRUM_E_NOT_RECORDING))
#define thrum_file() ((const char *)NULL)
#define thrum_level(category, level) THRUM__NOTHING(0, category, level)
#define thrum_enabled() false
#define thrum_task_create(kind, label) THRUM__NONE(0, kind, label)
#define thrum_task_createf(...) THRUM__NONE(0, __VA_ARGS__)
#define thrum_task_create_in(parent, kind, label) THRUM__NONE(0, parent, kind, label)
#define thrum_task_create_waiting(kind, label, source) THRUM__NONE(0, kind, label, source)
#define thrum_task_current() THRUM_TASK_NONE
#define thrum_task_enter(task) THRUM__NONE(0, task)
#define thrum_task_label(task, label) THRUM__NOTHING(0, task, label)
#define thrum_task_should_resolve(task) THRUM__NOTHING(0, task)
#define thrum_task_due(task, ns_from_now) THRUM__NOTHING(0, task, ns_from_now)
#define thrum_task_switch(task) THRUM__NOTHING(0, task)
#define thrum_task_leave(before) THRUM__NOTHING(0, before)
#define thrum_task_wait(waiter, source) THRUM__NOTHING(0, waiter, source)
#define thrum_task_read(reader, source) THRUM__NOTHING(0, reader, source)
#define thrum_task_resolve(task) THRUM__NOTHING(0, task)
#define thrum_task_fail(task, reason) THRUM__NOTHING(0, task, reason)
#define thrum_task_cancel(task) THRUM__NOTHING(0, task)
#define thrum_task_become(task, other) THRUM__NOTHING(0, task, other)
#define thrum_task_signal(condition, waiters) THRUM__NOTHING(0, condition, waiters)
#define thrum_lock_acquired(lock) THRUM__NOTHING(0, lock)
#define thrum_lock_released(lock) THRUM__NOTHING(0, lock)
#define thrum_link_send(key, size) THRUM__NOTHING(0, key, size)
#define thrum_link_receive(key, size) THRUM__NOTHING(0, key, size)
#define thrum_lane_name(name) THRUM__NOTHING(0, name)
#define thrum_log(text) THRUM__NOTHING(0, text)
#define thrum_suspend(reason) THRUM__NOTHING(0, reason)
#define thrum_resume() ((void)0)
#define thrum_tag(tag) THRUM__NOTHING(0, tag)
#define thrum_tag_value(tag, value) THRUM__NOTHING(0, tag, value)
#define thrum_span_begin(tag) THRUM__NOTHING(0, tag)
#define thrum_span_end(tag) THRUM__NOTHING(0, tag)
#define thrum_counter_add(counter, amount) THRUM__NOTHING(0, counter, amount)
#define thrum_counter_set(counter, value) THRUM__NOTHING(0, counter, value)
#define thrum_counter_observe(counter, value) THRUM__NOTHING(0, counter, value)
#define thrum_logf(...) THRUM__NOTHING(0, __VA_ARGS__)
#define thrum_counter_create(path, kind) (THRUM__NOTHING(0, path, kind), thrum__no_counter())
#define thrum_counter_value(counter) (THRUM__NOTHING(0, counter), thrum__no_value())
#define THRUM_RUN(task) \
	for (bool thrum__again = (THRUM__NOTHING(0, task), true); thrum__again; \
		thrum__again = false)

#endif

#ifdef __cplusplus
}
#endif

#endif
