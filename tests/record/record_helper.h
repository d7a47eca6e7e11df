/* SPDX-License-Identifier: ISC */
/* What the recorder's tests share: places to record to, a clock by hand, and reading all of a
 * recording at once. */
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

/* Zeroed, aligned to a page, shared with children, never freed: a recording's or the test's own. */
void *shared_memory(size_t size);

/*
 * A path in a folder of the test's own, which goes with all that is in it when the test ends. The
 * text stays valid until the eighth call from now.
 */
const char *scratch(const char *name);

/* A clock that stands still but for what the test adds to hand_time, and hand_step at each look.
 * Sixteenths of a tick, at 100 MHz. */
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

/* From memory, or, when that is NULL, from a file. Returns 0 or a negative enum thrum_error. */
int events_read(struct events *, const void *memory, size_t size, const char *file);
/* The same, failing the test instead. */
struct events events_of_memory(const void *memory, size_t size);
struct events events_of_file(const char *file);
void events_free(struct events *);

/* How many there are of a type. */
size_t events_count(const struct events *, enum thrum_event_type);
/* The n-th of a type, counted from 0, or NULL. */
const struct thrum_event *events_find(const struct events *, enum thrum_event_type, size_t n);
/* The same, of those with this text. */
const struct thrum_event *events_find_text(const struct events *, enum thrum_event_type,
	const char *text);

/* fork(), but a child that ends when the test does, however that ends. Fails the test when there is
 * no child. */
int fork_child(void);

/* Waits for a child process. Returns its exit status, or -signal. */
int child_result(int pid);

#endif
