/* SPDX-License-Identifier: ISC */
/* Cases, rivals and measurements of the benchmark of recording. README.md in the folder above
 * explains the method. */
#ifndef BENCH_H
#define BENCH_H

/* For thread affinity. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thrum.h>

#define RING_SIZE (4u << 20) /* of the floors and of mirage's layout */
#define BATCH 1000u /* events between two readings of the CPU time, in cases that prepare tasks */
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
	struct thrum_counter *shared, *sizes; /* all runners' */
	thrum_task tasks[BATCH + 1];
};

/* The recorder that has to run for a case. */
enum group {
	RIVALS, /* none of thrum's */
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
	enum payload payload; /* selects the floor and the rivals for comparison */
	double limit;         /* times floor A, or ns more than `base`; 0: none, or the usual */
	unsigned factor;      /* how many times more rounds, for calls that take next to no time */
	/* Records `events` events. */
	void (*run)(struct runner *, unsigned events);
	/* Called before and after each BATCH of events, not timed; NULL: not needed. */
	void (*prepare)(struct runner *);
	void (*finish)(struct runner *);
	const char
		*base; /* the case to compare with: of a THRUM_LIVE case, that without the table */
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
/* Return the clock in use, raw, and its units a ns. */
uint64_t bench_clock(void);
double bench_clock_rate(void);

/* mirage.c */
struct mirage *mirage_create(const char *file); /* NULL: errno */
void mirage_creates(struct mirage *, uint64_t thread, uint64_t child, uint8_t type);
void mirage_label(struct mirage *, uint64_t thread, const char *text);

/* lttng.c. Returns NULL, or the reason why LTTng can't be compared with. */
const char *lttng_begin(const char *directory);
void lttng_end(void);
void lttng_two_ids(struct runner *, unsigned events);
void lttng_text(struct runner *, unsigned events);

/* measure.c */
/* Returns ns of thread CPU time an event, of the slowest thread. */
double bench_measure(const struct bench_case *, struct runner *, unsigned threads, uint64_t events);
/* Returns instructions an event, counted by single-stepping, or 0 if that can't be done here. */
double bench_instructions(const struct bench_case *, struct runner *, const char *file);
/* Returns the ns of a change to the next packet, in the recording that runs. */
double bench_packet_switch(void);
/* Returns ns an event when a recording's pages are written for the first time. Leaves them warm. */
double bench_first_pass(struct runner *);

/* recording.c: starts thrum's recording in `file`. Ends the program if that fails. */
double recording_start(const char *file, bool live_tasks); /* ns that it took */
void recording_stop(void);
bool recording_clock_is_tsc(void);
uint64_t recording_clock_frequency(void); /* of the counter itself */
double recording_packet_waits(void);      /* the number of waits that fit a packet */

/* sizes.c: `record --sizes FILE`. Returns the exit status. */
int bench_sizes(const char *recording);

#endif
