/* SPDX-License-Identifier: ISC */
/* Helpers of the recorder's tests: places to record to, a clock that the test moves, and reading a
 * whole recording at once. */
#ifndef RECORD_HELPER_H
#define RECORD_HELPER_H

#include <thrum/trace.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif
#ifndef UNDER_ASAN
#define UNDER_ASAN 0
#endif
#define SANITIZED (UNDER_TSAN || UNDER_ASAN)

/* Returns memory for a recording or for the test itself: zeroed, aligned to a page, shared with
 * children, never freed. */
void *shared_memory(size_t size);

/*
 * Returns a path in a folder of the test's own, which is removed with its files when the test ends.
 * The text stays valid until the eighth call from now.
 */
const char *scratch(const char *name);

/* A clock that moves only when the test adds to hand_time, and by hand_step at each reading. In
 * sixteenths of a tick, at 100 MHz. */
extern const struct thrum_clock hand_clock;
extern _Atomic uint64_t hand_time, hand_step;

/* Starts a recording in memory; fails the test if that fails. Returns the memory. */
const void *start_in_memory(uint64_t size, const struct thrum_clock *clock);

/* All events of a trace; their texts are copies. */
struct events {
	struct thrum_event *list;
	size_t count;
	struct thrum_trace_info info;
};

/* Reads from memory, or from a file if memory is NULL. Returns 0 or a negative enum thrum_error. */
int events_read(struct events *, const void *memory, size_t size, const char *file);
/* The same; fails the test on an error. */
struct events events_of_memory(const void *memory, size_t size);
struct events events_of_file(const char *file);
void events_free(struct events *);

/* Returns the number of events of a type. */
size_t events_count(const struct events *, enum thrum_event_type);
/* Returns the n-th event of a type, counted from 0, or NULL. */
const struct thrum_event *events_find(const struct events *, enum thrum_event_type, size_t n);
/* The same, among those with this text. */
const struct thrum_event *events_find_text(const struct events *, enum thrum_event_type,
	const char *text);

/* Like fork(), but the child ends when the test ends in any way. Fails the test if there is no
 * child. */
int fork_child(void);

/* Skips the test, and prints why, where a thread that ends without telling the C library can't be
 * joined. */
void skip_unless_threads_vanish(void);

/* Waits for a child process. Returns its exit status, or -signal. */
int child_result(int pid);

#endif
