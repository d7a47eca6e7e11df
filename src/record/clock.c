/* SPDX-License-Identifier: ISC */
/*
 * The recording's clock, and the readings of all clocks by which readers find its frequency and the
 * time of day.
 */
#include "port/port.h"
#include "record/record.h"

#define READING_EVERY 1        /* seconds between two readings of all clocks */
#define CALIBRATION_NS 2000000 /* how long the start measures the frequency */
#define STEP_MS 10             /* no clocks of two processors differ by more */

static const struct thrum_clock time_stamp_counter;
_Atomic(const struct thrum_clock *) thrum__record_clock = &time_stamp_counter;

/* In sixteenths of a tick of 4 ns: so the compact header's 27 bits last half a second. */
static uint64_t read_monotonic(void *context)
{
	(void)context;
	return thrum__port_monotonic() * 4;
}

static uint64_t stepped_time(const struct recorder *r)
{
	return read_clock(&r->clock) + atomic_load_explicit(&r->step, memory_order_relaxed);
}

static uint64_t read_stepped(void *context)
{
	return stepped_time(context) / 2;
}

/* Reads three clocks at one time. Makes five tries and keeps the shortest one. */
static struct thrum__reading read_clocks(void)
{
	struct thrum__reading best = {0};
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = now();
		uint64_t monotonic = thrum__port_monotonic();
		uint64_t after = now();
		uint64_t realtime = thrum__port_realtime();

		if (after - before >= shortest)
			continue;
		shortest = after - before;
		best.ticks = (before + shortest / 2) >> TICK_BITS;
		best.monotonic = monotonic;
		best.realtime = realtime - (thrum__port_monotonic() - monotonic);
	}
	return best;
}

/* Returns the ticks a second, measured over CALIBRATION_NS. Readers find a better value from
 * readings that lie further apart. */
static uint64_t measure_frequency(void)
{
	struct thrum__reading start = read_clocks(), end;

	do
		end = read_clocks();
	while (end.monotonic - start.monotonic < CALIBRATION_NS);
	return (end.ticks - start.ticks) * UINT64_C(1000000000) / (end.monotonic - start.monotonic);
}

/* Chooses the program's clock, else the time stamp counter if it can be trusted, else
 * CLOCK_MONOTONIC, and makes it the clock in use. Returns its kind. */
static enum thrum__clock_kind choose_clock(struct thrum_clock *clock,
	const struct thrum_clock *given)
{
	enum thrum__clock_kind kind = THRUM__CLOCK_MONOTONIC;

	*clock = (struct thrum_clock){.read = read_monotonic, .frequency = 250000000};
	if (given) {
		*clock = *given;
		kind = THRUM__CLOCK_GIVEN;
	} else if (thrum__port_tsc_is_trusted()) {
		*clock = time_stamp_counter;
		kind = THRUM__CLOCK_TSC;
	}
	atomic_store(&thrum__record_clock, clock);
	if (kind == THRUM__CLOCK_TSC) {
		uint64_t told = thrum__port_tsc_frequency();

		clock->frequency = told ? told : measure_frequency();
	}
	return kind;
}

void thrum__record_clock_begin(struct recorder *r, struct thrum__header *h,
	const struct thrum_clock *given)
{
	h->clock_kind = choose_clock(&r->clock, given);
	r->stepped = (struct thrum_clock){.read = read_stepped, .context = r};
	h->clock_frequency = r->clock.frequency;
	h->start = read_clocks();
	(void)thrum__port_realtime_error(&h->realtime_error.most, &h->realtime_error.estimate);
	atomic_store(&h->start.ticket, 1);
	atomic_store(&r->next_reading, now() + (READING_EVERY * r->clock.frequency << TICK_BITS));
}

/* ---- A clock that steps back ---------------------------------------------------------------- */

uint64_t thrum__record_clock_after(struct recorder *r, uint64_t last)
{
	uint64_t step = atomic_load(&r->step);
	int64_t behind = (int64_t)(last - stepped_time(r));

	if (behind <= (int64_t)((r->clock.frequency << TICK_BITS) / 1000 * STEP_MS) ||
		!atomic_compare_exchange_strong(&r->step, &step, step + (uint64_t)behind))
		return last;
	atomic_fetch_add(&r->step_to_tell, (uint64_t)behind);
	atomic_store(&thrum__record_clock, &r->stepped);
	/* Partner: thrum__record_set_limit(). From now on no event reads the time stamp counter by
	 * itself. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < r->packet_count; i++)
		atomic_store_explicit(&r->lanes[i].tsc_limit, NULL, memory_order_relaxed);
	return last;
}

bool thrum__record_clock_has_stepped(struct recorder *r, struct thrum__record *record)
{
	if (LIKELY(!atomic_load_explicit(&r->step_to_tell, memory_order_relaxed)))
		return false;
	uint64_t ticks = atomic_exchange(&r->step_to_tell, 0) >> TICK_BITS,
		 second = r->clock.frequency;

	*record = (struct thrum__record){.type = THRUM__R_TAG_VALUE,
		.text = "the clock stepped back (ms)",
		.value = (int64_t)(ticks / second * 1000 + ticks % second * 1000 / second)};
	return ticks != 0;
}

/* ---- Readings of all clocks ----------------------------------------------------------------- */

bool thrum__record_clock_is_due(struct recorder *r, uint64_t time)
{
	uint64_t due = atomic_load_explicit(&r->next_reading, memory_order_relaxed);

	return time >= due &&
		atomic_compare_exchange_strong(&r->next_reading, &due,
			time + (READING_EVERY * r->clock.frequency << TICK_BITS));
}

void thrum__record_note_clocks(struct recorder *r, struct thrum__record *record)
{
	uint32_t number = atomic_fetch_add(&r->readings, 1) + 1;
	/* Two places in turn: if the process dies while one is written, the other one is whole. */
	struct thrum__reading *to = &r->header->latest[number % 2], reading = read_clocks();
	uint32_t ticket = atomic_load(&to->ticket);

	thrum__record_counters_refresh(r);
	*record = (struct thrum__record){.type = THRUM__R_CLOCK,
		.monotonic = reading.monotonic,
		.realtime = reading.realtime};
	/* If another thread is writing there just now, its reading will do. */
	if (number > 2 && (!ticket || !atomic_compare_exchange_strong(&to->ticket, &ticket, 0)))
		return;
	/* Partner: the reader's acquire fence before it looks at the ticket again. */
	atomic_thread_fence(memory_order_release);
	to->ticks = reading.ticks;
	to->monotonic = reading.monotonic;
	to->realtime = reading.realtime;
	atomic_store_explicit(&to->ticket, number, memory_order_release);
}
