/* SPDX-License-Identifier: ISC */
/*
 * The history of counters: what each was in the last 5 minutes by the second, in the last 24 hours
 * by the minute, and in the last 30 days by the hour. It is a ring of slots for each of the three,
 * so its size is bounded: 134 KiB for a counter and 490 KiB for a distribution.
 *
 * Time is that of the wall clock, since people ask for "since midnight". If the clock is set back,
 * the slots of the future are not used; those of the present take what comes in addition. Each slot
 * knows how much time was observed in it, so rates stay right. Nothing is known of times when nobody
 * samples.
 *
 * A history can be kept in a file: its bytes are the structures below, in the byte order of the
 * machine, little-endian. Nothing here does I/O. Nothing that was read is trusted.
 *
 *	HEADER  SERIES...     a series: its head, its slots, and the sketches of a distribution
 */
#ifndef MONITOR_HISTORY_H
#define MONITOR_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <thrum/trace.h>

#include "read/counters.h"

#define THRUM__HISTORY_SERIES 256u /* counters, at most; others are not kept */
#define THRUM__HISTORY_PATH 120u
#define THRUM__HISTORY_CELLS 24u
#define THRUM__HISTORY_SECONDS 300u
#define THRUM__HISTORY_MINUTES 1440u
#define THRUM__HISTORY_HOURS 720u
#define THRUM__HISTORY_SLOTS \
	(THRUM__HISTORY_SECONDS + THRUM__HISTORY_MINUTES + THRUM__HISTORY_HOURS)

struct thrum__monitor_history_header {
	char magic[8]; /* "THRUMHIS" */
	uint32_t version;
	uint32_t series; /* so many follow */
	uint64_t zero[6];
};

struct thrum__monitor_history_head {
	char path[THRUM__HISTORY_PATH]; /* ends in NUL */
	uint32_t kind;                  /* enum thrum_counter_kind */
	uint32_t zero;
};

struct thrum__monitor_history_slot {
	uint64_t start; /* s since 1970, a multiple of the slot's length; 0: empty */
	uint64_t span;  /* ns of it that were sampled */
	uint64_t count; /* samples; for a distribution, observations */
	double sum; /* gauge: of all samples; cumulative: the growth; else of the observations */
	int64_t least, most;
	int64_t last; /* gauge and cumulative: the value at the last sample */
};

/* The observations of a slot in at most 24 cells. A cell is a bucket of the recording, or as many
 * neighbours as are needed for the room to suffice: 1 << shift. */
struct thrum__monitor_history_sketch {
	uint16_t used, shift;
	int16_t places[THRUM__HISTORY_CELLS]; /* ascending */
	uint32_t counts[THRUM__HISTORY_CELLS];
};

_Static_assert(sizeof(struct thrum__monitor_history_header) == 64,
	"the header is a part of the file");
_Static_assert(sizeof(struct thrum__monitor_history_head) == 128, "the head is a part of the file");
_Static_assert(sizeof(struct thrum__monitor_history_slot) == 56,
	"the slots are a part of the file");
_Static_assert(sizeof(struct thrum__monitor_history_sketch) == 148,
	"the sketches are a part of the file");

#define THRUM__HISTORY_PLAIN_BYTES \
	(sizeof(struct thrum__monitor_history_head) + \
		THRUM__HISTORY_SLOTS * sizeof(struct thrum__monitor_history_slot))
#define THRUM__HISTORY_DISTRIBUTION_BYTES \
	(THRUM__HISTORY_PLAIN_BYTES + \
		THRUM__HISTORY_SLOTS * sizeof(struct thrum__monitor_history_sketch))
#define THRUM__HISTORY_FILE_MAX \
	(sizeof(struct thrum__monitor_history_header) + \
		THRUM__HISTORY_SERIES * THRUM__HISTORY_DISTRIBUTION_BYTES)

struct thrum__monitor_history_series {
	struct thrum__monitor_history_head head;
	struct thrum__monitor_history_slot *slots;      /* seconds, minutes, hours */
	struct thrum__monitor_history_sketch *sketches; /* of the slots; NULL: not a distribution */
	uint64_t offset;                                /* in the file */
	/* From the last sample. */
	bool is_new;     /* its head was not written yet */
	bool is_changed; /* its slots of that time were */
	bool is_known;
	int64_t value, sum;
	uint64_t count;
	struct thrum__read_bucket *buckets;
	uint32_t bucket_count;
};

struct thrum__monitor_history {
	struct thrum__monitor_history_series *series[THRUM__HISTORY_SERIES];
	uint32_t count;
	uint32_t left_out; /* counters of the last sample that found no room */
	uint64_t size;     /* bytes of the file */
	uint64_t time;     /* of the last sample, s; 0: none yet */
};

/* All zero is an empty history. */
void thrum__monitor_history_finish(struct thrum__monitor_history *);

/*
 * Adds the counters as they are at `time`, s since 1970. `elapsed`: ns since the last sample by a
 * clock that nobody sets. The first sample, also after loading, only tells from where counters grow.
 * Returns 0 or -THRUM_E_MEMORY; then some counters were not added.
 */
THRUM__MUST_USE int thrum__monitor_history_add(struct thrum__monitor_history *,
	const struct thrum__read_counters *, uint64_t time, uint64_t elapsed);

/* Some bytes to write to the file. */
struct thrum__monitor_history_piece {
	uint64_t offset;
	const void *bytes;
	size_t size;
};
#define THRUM__HISTORY_PIECES 7

/* Finds what the last sample changed in a series. The file first has to have history->size bytes; the
 * header is written after all series. Returns how many pieces there are. */
unsigned thrum__monitor_history_pieces(const struct thrum__monitor_history *, uint32_t series,
	struct thrum__monitor_history_piece[THRUM__HISTORY_PIECES]);
struct thrum__monitor_history_header thrum__monitor_history_header(
	const struct thrum__monitor_history *);

/* Reads a file's bytes into an empty history. Slots that can't be right become empty ones. Returns
 * 0, -THRUM_E_FORMAT, -THRUM_E_VERSION, -THRUM_E_DAMAGED if bytes are missing, or -THRUM_E_MEMORY;
 * after an error the history is empty. */
THRUM__MUST_USE int thrum__monitor_history_load(struct thrum__monitor_history *, const void *bytes,
	size_t size);

/* Returns the series of a counter, or NULL. A counter whose kind changes gets another series. */
struct thrum__monitor_history_series *thrum__monitor_history_find(
	const struct thrum__monitor_history *, const struct thrum__read_counter *);

/* All that is known of a stretch of time. */
struct thrum__monitor_history_answer {
	unsigned length; /* s: of the slots */
	double seconds;  /* that were sampled */
	uint64_t count;  /* 0: nothing is known */
	double sum;      /* as in a slot */
	double mean;     /* of a gauge's samples or the observations; NAN if there are none */
	double rate;     /* growth, or observations, for each second; NAN if it isn't known */
	int64_t least, most, last;
	int64_t p50, p90, p99; /* of a distribution: each the middle of a cell */
};

/* Tells of the time from `from` to `to`, s since 1970, in the shortest slots that reach back so far
 * from `to`. The slot in which `from` lies counts as a whole. */
void thrum__monitor_history_ask(const struct thrum__monitor_history_series *, uint64_t from,
	uint64_t to, struct thrum__monitor_history_answer *);

#endif
