/* SPDX-License-Identifier: ISC */
/*
 * thrum.h: record what the tasks of an asynchronous program do.
 *
 * A task is anything with a beginning and an end that others may wait for: a promise, a request, a
 * timer, a fiber, a condition, a lock. The program reports what happens to its tasks. Each call
 * leaves one event in a recording, which survives a crash and which the command `thrum` shows.
 *
 *   thrum_start(NULL);
 *   thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "GET /");
 *   ...
 *   thrum_task_resolve(task);
 *   thrum_stop();
 *
 * The recording calls are those under Tasks, Lanes and Counters. Each of them keeps these rules
 * unless its comment says otherwise:
 *
 *  - It may be called at any time, from any thread and from signal handlers. It never blocks, never
 *    allocates, never fails and leaves errno alone. Events that can't be recorded are counted by
 *    cause, and readers show the counts.
 *  - While nothing is recorded (before thrum_start, after thrum_stop, in a forked child) it returns
 *    at once, and new tasks' ids are THRUM_TASK_NONE. Then it costs one test of one word.
 *  - It does nothing if the task that it is about is THRUM_TASK_NONE.
 *  - Texts are UTF-8 and end in NUL; NULL counts as empty. A text of more than THRUM_TEXT_MAX bytes
 *    is cut between two characters and ends in an ellipsis. The call copies its texts.
 *  - While recording, create (with a label of less than 48 bytes), wait, read, resolve, switch, log
 *    (likewise) and counters cost about as much as reading the clock. The other calls cost more.
 *
 * With -DTHRUM_DISABLED every call but thrum_error_message is compiled away, and arguments are not
 * evaluated.
 *
 * With -DTHRUM_WEAK nothing needs to be linked: calls reach libthrum only if the process has loaded
 * it. So a library can annotate itself without depending on thrum. This needs position-independent
 * code, and thrum_start, thrum_stop, thrum_snapshot, thrum_file and thrum_level are not declared.
 *
 * doc/annotate.md has recipes: the calls to make around locks, conditions, queues, schedulers, thread
 * pools, event loops and messages between processes.
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

/* A function that can fail returns 0, or one of these negated. X(name, value, message) */
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
	X(SIZE, 14, "size out of range") \
	X(IN_USE, 15, "a process that lives records to this file")

enum thrum_error {
	THRUM_OK = 0,
#define THRUM__X(name, value, message) THRUM_E_##name = value,
	THRUM_ERRORS(THRUM__X)
#undef THRUM__X
};

/* ---- Types --------------------------------------------------------------------------------- */

/* A task's id: unique within one recording, and never reused in it. */
typedef uint64_t thrum_task;
#define THRUM_TASK_NONE ((thrum_task)0)

/* The longest text that is recorded whole, in bytes without the ending NUL. */
#define THRUM_TEXT_MAX 511
/* The longest key of a link, in bytes. */
#define THRUM_KEY_MAX 64

/* Kinds of tasks. X(NAME, name, value): traces and output use `name`. The first 18 are those of
 * mirage-profile, with the same numbers. */
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

/* REQUEST and TIMER tasks are resolved from outside the program: by an answer, by the clock. A request that
 * the program serves is a TASK. A HANDLE, such as a connection that requests go over, may be pending for
 * ever, and so may a condition, lock, semaphore, mailbox or stream. */
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

/* The events that a full recording gives up. */
enum thrum_full {
	THRUM_FULL_OVERWRITE = 0, /* the oldest packet is overwritten: a flight recorder */
	THRUM_FULL_DISCARD = 1,   /* new events are discarded, and counted */
};

/*
 * A clock for thrum_start. `read(context)` returns sixteenths of a tick, less than 2^63, and never runs
 * backwards within a thread. It is called for every event, also in signal handlers, so it must be thread-safe
 * and async-signal-safe, and must record nothing itself. `frequency` is in ticks a second, at most
 * 100,000,000,000; the format works best with 50 to 500 MHz. If it steps back by more than 10 ms
 * nevertheless, an event says so, and times go on from there.
 */
struct thrum_clock {
	uint64_t (*read)(void *context);
	void *context;
	uint64_t frequency;
};

/* How to record. A member that is 0 stands for its default, so `{ 0 }` is a complete
 * configuration. */
struct thrum_config {
	/* The file's path. %p is replaced by the process id, %e by the program's name, %% by a
	 * percent sign. NULL: a new file in $XDG_RUNTIME_DIR/thrum/, else in
	 * /dev/shm/thrum-UID/. */
	const char *file;
	/* The size of the whole recording in bytes: at least 256 KiB, at most 64 GiB. 0: 16 MiB.
	 * After mlockall(MCL_FUTURE) all of it takes memory at once. */
	uint64_t size;
	enum thrum_full full;
	/* Don't keep the table of live tasks. Saves up to 3 ns at create, wait and resolve; but
	 * tasks created before the oldest event that is left are then unknown. */
	bool no_live_tasks;
	/* `size` bytes of memory, aligned to 4096, to record to instead of a file. The recorder
	 * owns it until the process ends. */
	void *memory;
	/* NULL: the time stamp counter where it can be trusted, else CLOCK_MONOTONIC. thrum_start
	 * copies the structure. */
	const struct thrum_clock *clock;
	/* Record no events, and keep nothing but the counters, for others to read. All calls but
	 * those of counters then cost as much as if nothing were recorded, and thrum_enabled is
	 * false. Needs a file of 300 KiB; `size` is ignored, and `memory` must be NULL. */
	bool counters_only;
	/* Take the whole file's space and memory at the start, and ask the kernel for none of it
	 * later: for a program that then enters a sandbox. Without it, a filter of system calls
	 * (seccomp) that doesn't allow madvise kills the program at some event, or the recording goes
	 * on in the packets that it has used so far, and the losses say so. Allow also
	 * clock_gettime, futex, gettid, prctl and tgkill. */
	bool reserve;
};

/* ---- Starting and stopping ------------------------------------------------------------------ */

/* Exported. With THRUM_WEAK the symbol may be undefined at run time. */
#if defined(THRUM_WEAK) && !defined(THRUM_DISABLED)
#define THRUM__API __attribute__((weak, visibility("default"))) extern
#else
#define THRUM__API __attribute__((visibility("default"))) extern
#endif

/* Called without a detour through the linker's table (PLT). */
#if defined(__ELF__) && defined(__PIC__) && __STDC_HOSTED__ && defined(__has_attribute)
#if __has_attribute(noplt)
#define THRUM__DIRECT __attribute__((noplt))
#endif
#endif
#ifndef THRUM__DIRECT
#define THRUM__DIRECT
#endif

/* The compiler warns if the caller ignores the result. */
#define THRUM__MUST_USE __attribute__((warn_unused_result))

/* Inline. With THRUM_DISABLED the function is never defined: a macro at the end replaces it. */
#ifndef THRUM_DISABLED
#define THRUM__INLINE static inline
#else
#define THRUM__INLINE extern
#endif

#if !defined(THRUM_DISABLED) && !defined(THRUM_WEAK)

/*
 * Starts recording. With NULL, the environment variables THRUM_TRACE, THRUM_SIZE, THRUM_FULL,
 * THRUM_RESERVE and THRUM_ENABLE, as they are now, give the configuration, and defaults the rest;
 * THRUM_SIZE=0 means `counters_only`, THRUM_RESERVE=1 `reserve`. If a recording already runs, this
 * returns 0 and changes nothing. Such a recording may be one that THRUM_TRACE started when the
 * library was loaded: the environment comes before the program.
 *
 * If a live process records to the file, also one of another container, FILE.PID is used instead;
 * likewise if this process did so before it executed this program. If that is taken, too, it is
 * FILE.PID.2 and so on. An older recording or an empty file is replaced; any other file, and a
 * symbolic link, is refused.
 *
 * Takes some milliseconds, for the file and the clock. Thread-safe, not async-signal-safe. It may
 * be called again after thrum_stop; each time leaves some address space of the former recording
 * behind, for threads caught in the middle of an event.
 *
 * Returns 0 or, negated, THRUM_E_SIZE, _ARGUMENT (also for a bad value in the environment),
 * _ACCESS, _NOT_FOUND, _SYMLINK, _EXISTS, _SPACE, _MEMORY or _SYSTEM. After an error nothing is
 * recorded. _SPACE: the disk has no room for all but the packets (before Linux 5.14, for the whole
 * file), or a limit forbids its size. A disk that is full later costs events, which are counted.
 */
THRUM__API int thrum_start(const struct thrum_config *config);

/* Stops recording, for all threads, whatever they do. The file stays. Does nothing if nothing is
 * recorded. Thread-safe, not async-signal-safe. */
THRUM__API void thrum_stop(void);

/*
 * Writes all that the recording holds now to `file`, as a recording of its own. The path and an
 * existing file are treated as by thrum_start, but a file to which a live process records is
 * refused (-THRUM_E_IN_USE), this recording's own file included. Recording goes on meanwhile, and
 * the new file counts the packets that are overwritten before they can be copied. Allocates, and
 * writes at most as many bytes as the recording has. Thread-safe, not async-signal-safe.
 *
 * Returns 0 or, negated, THRUM_E_ARGUMENT (`file` is NULL or empty), _NOT_RECORDING, or an error of
 * the file as thrum_start does.
 */
THRUM__API int thrum_snapshot(const char *file);

/* Returns the path of the current or last recording's file, or NULL if there was none. Valid until
 * the next start. Don't call it while another thread starts a recording. */
THRUM__API const char *thrum_file(void);

/*
 * Records a category's levels up to `level` (0 to 3) from now on, or nothing of it (-1). The
 * recorder's own categories are "task" (0: only ids; 1: also when tasks begin and end, and labels;
 * 2: also waits, reads, locks and links; 3: also which task is ready or runs), "counter" and "log". "task"
 * never goes below 0. By default all is recorded. A name that isn't known yet is remembered; NULL
 * is ignored. May be called before thrum_start; the environment variable THRUM_ENABLE and, while
 * recording, the command `thrum ctl` do the same from outside. Thread-safe, not async-signal-safe.
 */
THRUM__API void thrum_level(const char *category, int level);

#endif

/* Returns the message for an error, negative or not: a static string, never NULL. Thread-safe and
 * async-signal-safe. */
THRUM__API const char *thrum_error_message(int error);

/* Whether tasks are recorded now. Thread-safe and async-signal-safe. Costs one test of one word. In
 * a child that was made by _Fork() or a bare system call, true until its first recording call. */
THRUM__INLINE bool thrum_enabled(void);

/* ---- Tasks ---------------------------------------------------------------------------------- */

/*
 * Create a task and return its id, or THRUM_TASK_NONE if nothing is recorded. The label may be
 * NULL. They are macros, because each call's place in the source is noted in a static descriptor.
 *
 * A child of the running task:
 *   thrum_task thrum_task_create(enum thrum_kind kind, const char *label);
 *
 * A child of `parent`, where the running task only passes the work on; with THRUM_TASK_NONE, a task
 * without a parent:
 *   thrum_task thrum_task_create_in(thrum_task parent, enum thrum_kind kind, const char *label);
 *
 * A child of the running task that waits for `source` from the beginning. One event instead of two:
 *   thrum_task thrum_task_create_waiting(enum thrum_kind kind, const char *label,
 *           thrum_task source);
 *
 * As thrum_task_create, with a label that is formatted as by printf, only while recording. Not
 * async-signal-safe:
 *   thrum_task thrum_task_createf(enum thrum_kind kind, const char *format, ...);
 */

/* Labels a task. A task may get several labels; the last one is its name. */
THRUM__INLINE void thrum_task_label(thrum_task task, const char *label);

/* Marks a task as one that must be resolved some time: if it never is, something is wrong. It may be
 * a thread's own task, which ends with the thread; but the end of a process ends no task, so the
 * main thread's own is resolved only if the program does it. */
THRUM__INLINE void thrum_task_should_resolve(thrum_task task);

/* Tells when a timer or a deadline is due, in ns from now; negative if it is overdue, INT64_MAX while it
 * rests. One that is stopped for good is cancelled. */
THRUM__INLINE void thrum_task_due(thrum_task task, int64_t ns_from_now);

/* Returns the task that runs on this lane: the lane's own if no other does, THRUM_TASK_NONE if
 * nothing is recorded. */
THRUM__INLINE thrum_task thrum_task_current(void);

/* Makes `task` the one that runs on this lane. THRUM_TASK_NONE stands for the lane's own task. */
THRUM__INLINE void thrum_task_switch(thrum_task task);

/* Switches to a task and returns the one that ran before. */
THRUM__INLINE thrum_task thrum_task_enter(thrum_task task);

/* Switches back to the task that thrum_task_enter returned. */
THRUM__INLINE void thrum_task_leave(thrum_task before);

/* THRUM_RUN(task) { … }, or with one statement and no braces, enters the task, and leaves it when
 * the block ends, also by break, continue, return or goto. Blocks may nest: the outer task goes on
 * behind the inner block. It is a loop that runs once: break and continue end the block, and not a
 * loop around it. */

/*
 * Records that `waiter` looked at `source`, found it unresolved, and waits for it. A thread that
 * blocks runs nothing meanwhile, so it calls
 *
 *   thrum_task_wait(thrum_task_current(), source);
 *   thrum_suspend(THRUM_BLOCKED);
 *   pthread_cond_wait(...);
 *   thrum_resume();
 *
 * and then thrum_task_read or thrum_lock_acquired, or thrum_task_wait again. A wait is over when its source
 * has ended. One for a handle is also over when the waiter has read that; and one for a condition, lock,
 * semaphore, mailbox or stream when the waiter has read or taken that, or runs again: after a timeout there
 * is nothing to call. The latest wait counts. Only tasks of the kinds JOIN, CHOOSE and PICK wait for several
 * at a time.
 */
THRUM__INLINE void thrum_task_wait(thrum_task waiter, thrum_task source);

/* Records that `task` could run from now on: its scheduler has queued it. Shows how long it then
 * waited for its turn, and who kept it waiting, also if those had many short turns. Call it each time
 * that the task is queued again. */
THRUM__INLINE void thrum_task_ready(thrum_task task);

/* Records that `reader` got the result of `source`. */
THRUM__INLINE void thrum_task_read(thrum_task reader, thrum_task source);

/*
 * Record that the running task, which may be `task` itself, ended `task`. A task ends only once. At
 * the time when it ends, no other thread may label it, mark it or make it wait.
 */

/* The task ended with a result. */
THRUM__INLINE void thrum_task_resolve(thrum_task task);

/* The task ended with an error. */
THRUM__INLINE void thrum_task_fail(thrum_task task, const char *reason);

/* The task ended because nobody wants its result any more. */
THRUM__INLINE void thrum_task_cancel(thrum_task task);

/* Makes `task` the same as `other` from now on: all that wait for `task` wait for `other`. */
THRUM__INLINE void thrum_task_become(thrum_task task, thrum_task other);

/* Records that the running task signalled a condition for which `waiters` tasks waited: all that
 * waited at that moment, however many the signal wakes. With 0 waiters, the signal was lost; that is
 * harmless where those who come later look at a variable first, and don't wait. For a
 * mailbox or stream: that a value was put into it, while `waiters` tasks waited for one; a reader that was
 * woken and hasn't taken its value yet may count. */
THRUM__INLINE void thrum_task_signal(thrum_task condition, unsigned waiters);

/*
 * Record that the running task took a lock, and that it released it. Several tasks may hold a lock
 * at a time: the readers of a readers-writer lock, or those that took a place of a semaphore (kind
 * SEMAPHORE), a call for each place. A task that must wait for it calls thrum_task_wait first, also
 * a reader that wants to write. A lock that is handed over is acquired by the task that gets it, at
 * once: THRUM_RUN(next) thrum_lock_acquired(lock); then comes thrum_task_ready(next). Nothing else takes
 * a lock for another task. If that task has ended, it holds the lock all the same. A semaphore
 * that one task posts and another waits for is no lock but a mailbox: signal and read.
 */
THRUM__INLINE void thrum_lock_acquired(thrum_task lock);
THRUM__INLINE void thrum_lock_released(thrum_task lock);

/*
 * Link causes across processes and machines: the running task sends a key with its message, and the
 * running task of another process receives the same key. The sender then causes the work of the
 * receiver. A key has `size` bytes; those beyond THRUM_KEY_MAX are cut off. A NULL key is ignored.
 */
THRUM__INLINE void thrum_link_send(const void *key, size_t size);
THRUM__INLINE void thrum_link_receive(const void *key, size_t size);

/* ---- Lanes, text, spans --------------------------------------------------------------------- */

/* Names this thread's own task; while nothing is recorded, that of the thread's next recording. Without
 * a name it has the one that the thread had when it first recorded. */
THRUM__INLINE void thrum_lane_name(const char *name);

/* Records a line of free text for the running task. */
THRUM__INLINE void thrum_log(const char *text);

/*
 * The same with a text that is formatted as by printf, only while recording. A macro; not
 * async-signal-safe:
 *   void thrum_logf(const char *format, ...);
 */

/*
 * Static descriptors of categories and tags:
 *
 *   THRUM_CATEGORY(net, "net");
 *   THRUM_TAG(parse, &net, "net/dns.parse", 1);
 *
 * Two descriptors with the same name stand for the same category or tag. A tag's category may be
 * NULL. Its level is 0 (always wanted) to 3 (fine detail): see thrum_level. There is room for 13
 * categories; further ones share the levels of the last.
 */
#define THRUM_CATEGORY(variable, name) \
	static struct thrum_category variable __attribute__((unused)) = {name, 0}
#define THRUM_TAG(variable, category, name, level) \
	static struct thrum_tag variable __attribute__((unused)) = {name, category, level, 0, 0}

/* Only the recorder uses the members. The names must stay valid. */
struct thrum_category {
	const char *name;
	uint32_t id; /* its number in this process, + 1; 0: not used yet */
};
struct thrum_tag {
	const char *name;
	struct thrum_category *category;
	uint32_t level;
	uint32_t bit; /* of the mask below; THRUM__BIT_STARTED until the tag is first used */
	uint32_t id;  /* recording << 16 | definition */
};

/* Record that an event of the program's own kind happened to the running task: without a value, or
 * with one. `tag` must not be NULL. */
THRUM__INLINE void thrum_tag(struct thrum_tag *tag);
THRUM__INLINE void thrum_tag_value(struct thrum_tag *tag, int64_t value);

/* Begin and end a span, a part of this lane's time with a name: a phase, a garbage collection, an
 * interrupt. Spans may nest. `tag` must not be NULL. */
THRUM__INLINE void thrum_span_begin(struct thrum_tag *tag);
THRUM__INLINE void thrum_span_end(struct thrum_tag *tag);

/* Records that nothing runs on this lane from now on; the task that was entered, if any, is
 * blocked. The reason is one of those below or a tag of the program's own; a NULL reason is
 * ignored. Suspends don't nest: a second one takes the place of the first, and one thrum_resume ends
 * it. A loop that sleeps until something comes from outside says THRUM_WAIT_FOR_WORK, also in poll(-1).
 * One that watches nothing any more, and has no timer, though tasks are pending, says
 * THRUM_DEADLOCKED before it sleeps or returns EDEADLK: then all tasks that wait count as hung. */
THRUM__INLINE void thrum_suspend(struct thrum_tag *reason);

/* Records that the running task goes on after thrum_suspend. */
THRUM__INLINE void thrum_resume(void);

#define THRUM_WAIT_FOR_WORK (&thrum__wait_for_work) /* the loop waits for events */
#define THRUM_BLOCKED (&thrum__blocked)             /* in a call that another task ends: a lock */
#define THRUM_BLOCKED_FOR_A_TIME (&thrum__blocked_for_a_time) /* the same with a limit; a sleep */
#define THRUM_BLOCKED_OUTSIDE (&thrum__blocked_outside)       /* in a call that the outside ends */
#define THRUM_SUSPENDED (&thrum__suspended)                   /* the machine or the guest sleeps */
#define THRUM_HIBERNATED (&thrum__hibernated)                 /* the machine was saved to disk */
#define THRUM_DEADLOCKED (&thrum__deadlocked) /* nothing is left that could wake the loop */

/* ---- Counters ------------------------------------------------------------------------------- */

/*
 * Counters have values also while nothing is recorded. While recording, each change leaves an
 * event, unless thrum_level("counter", -1) forbids that, and other processes can read all counters,
 * also when this one was killed. A NULL counter is ignored.
 *
 * Recordings of 16 MiB have room for about 1,900 blocks of values. A counter takes one. A thread takes
 * one for each 16 counters that it changes. For each distribution that it observes, it takes one, and
 * one for each power of two in which a value lies. When none is left, threads share blocks, and a new
 * counter is known to this process only.
 */
struct thrum_counter;
#define THRUM_COUNTERS_MAX 4096

/*
 * Returns the counter with this path, which is made if there is none yet; `kind` counts only then.
 * A path like "net/tcp/bytes-acked" is a place in a tree; paths of more than 95 bytes are cut. The
 * counter belongs to the recorder and is never freed. Returns NULL for a NULL path, or if there are
 * THRUM_COUNTERS_MAX counters already. Searches all counters, under a lock. Thread-safe, not
 * async-signal-safe.
 */
THRUM__INLINE struct thrum_counter *thrum_counter_create(const char *path,
	enum thrum_counter_kind kind);

/* Add to a counter, and set it. Overflow wraps. Threads that add don't contend, unless each change
 * leaves an event; then adding is cheapest in the thread that changed the counter first. */
THRUM__INLINE void thrum_counter_add(struct thrum_counter *counter, int64_t amount);
THRUM__INLINE void thrum_counter_set(struct thrum_counter *counter, int64_t value);

/* Records one observation of a distribution. Its percentiles are known to within 3.2 %. To set or add
 * to a distribution is an observation, too, and an observation of another counter sets it. */
THRUM__INLINE void thrum_counter_observe(struct thrum_counter *counter, int64_t value);

/* Returns a counter's value; of a distribution the number of observations; 0 for NULL. */
THRUM__INLINE int64_t thrum_counter_value(const struct thrum_counter *counter);

/* ---- Implementation: not to be used directly ------------------------------------------------ */

/* The place in the source that creates tasks. If `file` is NULL, `function` is the address in the
 * program's code to which the call returns. If `line` isn't 0 then, it is part of a struct
 * thrum__site_chain. */
struct thrum_site {
	const char *file, *function;
	uint32_t line;
	uint32_t id; /* recording << 16 | definition */
};

/* The same with where the function was called in which it lies, where that one's function was called,
 * and so on: `site.line` tells how many of these are known. All lie in one file of code. */
#define THRUM__ABOVE_MAX 2
struct thrum__site_chain {
	struct thrum_site site;
	const void *above[THRUM__ABOVE_MAX];
};

/*
 * The mask of all that is recorded: 16 categories of 4 levels; level l of category c is bit
 * c * 4 + l. It is a page of its own, in whose place the recording's control page is mapped. So
 * others may change the mask from outside, and a fork's child can be given another page.
 */
struct thrum__control {
	uint32_t mask[2];
	char page[4096 - 8];
};
enum {
	THRUM__BIT_STARTED = 0, /* category "task": ids */
	THRUM__BIT_LIFE = 1,    /* created, labelled, ended */
	THRUM__BIT_WAITS = 2,   /* waits, reads, locks, links */
	THRUM__BIT_RUNS = 3,    /* ready, switch, suspend, resume */
	THRUM__BIT_COUNTER = 4, /* category "counter" */
	THRUM__BIT_LOG = 8,     /* category "log" */
};
THRUM__API struct thrum__control thrum__control;

/* The process is about to end with this status by _exit(), which runs no destructors: notes that in the
 * recording. */
THRUM__API void thrum__exits(int status);
/* The process is about to limit its system calls: ends the recording, and no other begins. */
THRUM__API void thrum__limits(void);
/* The process limits its memory: unlocks the recording's pages, and gives back address space that it hasn't
 * used so far, beyond so many bytes. */
THRUM__API void thrum__shrink(uint64_t bytes);
/* Returns a number that tells the recording from others of this process; 0: there is none. */
THRUM__API uint32_t thrum__recording(void);
/* Only in this one the label may be NULL. */
THRUM__API thrum_task thrum__create(struct thrum_site *, int kind, const char *label) THRUM__DIRECT;
THRUM__API thrum_task thrum__createf(struct thrum_site *, int kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
THRUM__API thrum_task thrum__create_in(struct thrum_site *, thrum_task parent, int kind,
	const char *label) THRUM__DIRECT;
THRUM__API thrum_task thrum__create_waiting(struct thrum_site *, int kind, const char *label,
	thrum_task source) THRUM__DIRECT;
THRUM__API void thrum__label(thrum_task, const char *label);
THRUM__API void thrum__should_resolve(thrum_task);
THRUM__API void thrum__due(thrum_task, int64_t ns_from_now);
THRUM__API thrum_task thrum__current(void) THRUM__DIRECT;
/* The calling thread's own task; 0: it has no lane. */
THRUM__API thrum_task thrum__own(void);
/* Whether that task runs, its lane isn't suspended, and this is the task that it waited for last (0: it never
 * waited). */
THRUM__API bool thrum__own_runs(thrum_task waited);
THRUM__API void thrum__switch(thrum_task) THRUM__DIRECT;
THRUM__API thrum_task thrum__enter(thrum_task) THRUM__DIRECT;
/* The same as entering `task` and then thrum_task_read(task, source), with one look at the clock. */
THRUM__API thrum_task thrum__enter_reading(thrum_task task, thrum_task source) THRUM__DIRECT;
THRUM__API void thrum__wait(thrum_task waiter, thrum_task source) THRUM__DIRECT;
THRUM__API void thrum__wait_at(struct thrum_site *, thrum_task waiter, thrum_task source);
THRUM__API void thrum__ready(thrum_task);
THRUM__API void thrum__read(thrum_task reader, thrum_task source) THRUM__DIRECT;
THRUM__API void thrum__resolve(thrum_task) THRUM__DIRECT;
THRUM__API void thrum__fail(thrum_task, const char *reason);
THRUM__API void thrum__cancel(thrum_task);
THRUM__API void thrum__become(thrum_task, thrum_task other);
THRUM__API void thrum__signal(thrum_task condition, unsigned waiters);
THRUM__API void thrum__signal_at(struct thrum_site *, thrum_task condition, unsigned waiters);
THRUM__API void thrum__lock_acquired(thrum_task lock);
THRUM__API void thrum__lock_released(thrum_task lock);
THRUM__API void thrum__lock_held(struct thrum_site *, thrum_task task, thrum_task lock);
THRUM__API void thrum__link_send(const void *key, size_t size);
THRUM__API void thrum__link_receive(const void *key, size_t size);
THRUM__API void thrum__lane_name(const char *name);
THRUM__API void thrum__suspend(struct thrum_tag *reason);
THRUM__API void thrum__resume(void);
THRUM__API void thrum__tag(struct thrum_tag *);
THRUM__API void thrum__tag_value(struct thrum_tag *, int64_t value);
THRUM__API void thrum__span_begin(struct thrum_tag *);
THRUM__API void thrum__span_end(struct thrum_tag *);
THRUM__API void thrum__log(const char *text) THRUM__DIRECT;
THRUM__API void thrum__logf(const char *format, ...) __attribute__((format(printf, 1, 2)));
THRUM__API struct thrum_counter *thrum__counter_create(const char *path, int kind);
THRUM__API void thrum__counter_add(struct thrum_counter *, int64_t amount) THRUM__DIRECT;
THRUM__API void thrum__counter_set(struct thrum_counter *, int64_t value);
THRUM__API void thrum__counter_observe(struct thrum_counter *, int64_t value);
THRUM__API int64_t thrum__counter_value(const struct thrum_counter *);

#define THRUM__TAG(name) \
	{ \
		name, NULL, 0, 0, 0 \
	}
/* The words by which recordings name the reasons above. */
#define THRUM__REASON_WORK "wait for work"
#define THRUM__REASON_OUTSIDE " outside" /* behind another one: from others than the program */
#define THRUM__REASON_WORK_OUTSIDE THRUM__REASON_WORK THRUM__REASON_OUTSIDE
#define THRUM__REASON_FOR_A_TIME " for a time" /* behind one for work: it has a time limit */
#define THRUM__REASON_WORK_FOR_A_TIME THRUM__REASON_WORK THRUM__REASON_FOR_A_TIME
#define THRUM__REASON_OUTSIDE_FOR_A_TIME THRUM__REASON_WORK_OUTSIDE THRUM__REASON_FOR_A_TIME
#define THRUM__REASON_BLOCKED "blocked"
#define THRUM__REASON_BLOCKED_FOR_A_TIME "blocked for a time"
#define THRUM__REASON_BLOCKED_OUTSIDE "blocked by the outside"
#define THRUM__REASON_HANDLER "blocked by the outside: or by a handler" /* of the program's */
#define THRUM__REASON_SUSPENDED "suspended"
#define THRUM__REASON_HIBERNATED "hibernated"
#define THRUM__REASON_DEADLOCKED "deadlocked"

#define THRUM__REASON(name, words) \
	static struct thrum_tag thrum__##name __attribute__((unused)) = THRUM__TAG(words)
THRUM__REASON(wait_for_work, THRUM__REASON_WORK);
THRUM__REASON(blocked, THRUM__REASON_BLOCKED);
THRUM__REASON(blocked_for_a_time, THRUM__REASON_BLOCKED_FOR_A_TIME);
THRUM__REASON(blocked_outside, THRUM__REASON_BLOCKED_OUTSIDE);
THRUM__REASON(suspended, THRUM__REASON_SUSPENDED);
THRUM__REASON(hibernated, THRUM__REASON_HIBERNATED);
THRUM__REASON(deadlocked, THRUM__REASON_DEADLOCKED);

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

/* One load and one test. Their cost while nothing is recorded counts most. */
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
#define thrum_task_create(kind, label) THRUM__CREATE(thrum__create, kind, label)
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

static inline void thrum_task_ready(thrum_task task)
{
	if (THRUM__ON(THRUM__BIT_RUNS))
		thrum__ready(task);
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
	if (THRUM__HAVE)
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

/* The cleanup attribute calls this also at break, return and goto. */
static inline void thrum__run_end(struct thrum__run *run)
{
	thrum_task_leave(run->before);
}
#define THRUM_RUN(task) \
	for (struct thrum__run thrum__run \
		__attribute__((cleanup(thrum__run_end))) = {thrum_task_enter(task), true}; \
		thrum__run.again; thrum__run.again = false)

#else /* THRUM_DISABLED: the compiler checks arguments, but they are never evaluated */

int thrum__nothing(int, ...);
#define THRUM__NOTHING(...) ((void)sizeof(thrum__nothing(__VA_ARGS__)))
/* Functions, so that the compiler doesn't warn about a value that is not used. */
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
#define thrum_task_ready(task) THRUM__NOTHING(0, task)
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
