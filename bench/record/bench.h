/* SPDX-License-Identifier: ISC */
/* What the parts of the benchmark share. */
#ifndef BENCH_H
#define BENCH_H

/* For thread affinity. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thrum.h>

#define RING_SIZE (4u << 20) /* of the floors and of mirage's layout */
#define BATCH 1000u /* events between two looks at the CPU time, where tasks are prepared */
#define THREADS_MAX 2

/* Keeps the compiler from merging the rounds of a loop. */
#define BARRIER() __asm__ volatile("" ::: "memory")

/* One of the threads that run a case. */
struct runner {
	unsigned number;
	uint8_t *ring;
	size_t position;
	struct mirage *mirage;
	struct thrum_counter *counter;
	thrum_task tasks[BATCH + 1];
};

/* Which recorder a case belongs to: what has to run for it. */
enum group {
	RIVALS, /* nothing of thrum's */
	LTTNG,
	THRUM,      /* without the table of live tasks */
	THRUM_LIVE, /* with it */
	GROUPS,
};

enum payload {
	FIXED, /* two 64-bit ids */
	TEXT,  /* 12 characters */
};

struct bench_case {
	const char *name;
	enum group group;
	enum payload payload; /* which floor and which rivals it is compared with */
	double limit;         /* times floor A; 0: none */
	unsigned factor;      /* more rounds, for what takes next to no time */
	/* Records `events` events. */
	void (*run)(struct runner *, unsigned events);
	/* Before and after each BATCH of events, not timed; NULL: not needed. */
	void (*prepare)(struct runner *);
	void (*finish)(struct runner *);
	const char *base; /* a THRUM_LIVE case: the same without the table */
};

extern const struct bench_case bench_cases[];
extern const unsigned bench_case_count;

/* Texts that the compiler can't see through: four of 12 characters, four of 10. */
extern const char *const volatile bench_text12[4], *const volatile bench_text10[4];

/* floor.c; chosen by bench_floor_init to read the same clock as the recorder. */
void bench_floor_init(bool tsc);
void bench_floor_fixed(struct runner *, unsigned events);
void bench_floor_text(struct runner *, unsigned events);
void bench_empty_loop(struct runner *, unsigned events);
/* The clock in use, raw, and how many units of it are a ns. */
uint64_t bench_clock(void);
double bench_clock_rate(void);

/* mirage.c */
struct mirage *mirage_create(const char *file); /* NULL: errno */
void mirage_creates(struct mirage *, uint64_t thread, uint64_t child, uint8_t type);
void mirage_label(struct mirage *, uint64_t thread, const char *text);

/* lttng.c. Returns NULL, or why LTTng can't be compared with. */
const char *lttng_begin(const char *directory);
void lttng_end(void);
void lttng_two_ids(struct runner *, unsigned events);
void lttng_text(struct runner *, unsigned events);

/* measure.c */
/* ns of thread CPU time an event; of the slowest of the threads. */
double bench_measure(const struct bench_case *, struct runner *, unsigned threads, uint64_t events);
/* Instructions an event, counted by single-stepping. 0: it can't be done here. */
double bench_instructions(const struct bench_case *, struct runner *, const char *file);
/* ns that changing to the next packet costs, in the recording that runs. */
double bench_packet_switch(void);
/* ns an event, the first time that a recording's pages are written. Leaves them warm. */
double bench_first_pass(struct runner *);

/* recording.c: thrum's recording in `file`. Ends the program when that fails. */
double recording_start(const char *file, bool live_tasks); /* ns that it took */
void recording_stop(void);
bool recording_clock_is_tsc(void);
uint64_t recording_clock_frequency(void); /* of the counter itself */
double recording_packet_waits(void);      /* so many waits fit a packet */

/* sizes.c: `record --sizes FILE`. The exit status. */
int bench_sizes(const char *recording);

#endif
