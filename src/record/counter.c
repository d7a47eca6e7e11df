/* SPDX-License-Identifier: ISC */
/*
 * Counters: their list, and the cells in which threads add.
 *
 * The first thread that changes a counter owns it: it adds to a cell of its own without a locked
 * instruction. (Biased counting: Choi, Shull, Torrellas, "Biased reference counting", PACT 2018.)
 * Other threads add to the shared cell while each change is recorded: then the event needs the sum
 * of all cells anyway. Otherwise they get cells of their own, so that threads don't contend, and the
 * counter has no owner any more.
 *
 * A seat with its cells goes from a thread that ends to the next one that needs one.
 */
#include <pthread.h>
#include <string.h>

#include "record/record.h"

/* A seat's part of a distribution. */
struct distribution {
	int64_t *sums;
	_Atomic(int64_t *) rows[THRUM__ROWS];
};

static struct thrum_counter counters[THRUM_COUNTERS_MAX];
static _Atomic uint32_t counters_used;
static _Atomic bool is_creating;
/* Seat 0 is shared by all threads that have none, or no block. */
_Atomic(struct seat *) thrum__record_seats[SEATS];
static _Atomic uint64_t seats_taken[SEATS / 64] = {1}; /* a bit each; nobody takes seat 0 */
static _Atomic uint32_t seats_used;
/* For counters that the pages have no room for. Other processes don't see them. */
static _Atomic int64_t spare[THRUM_COUNTERS_MAX];

void thrum__record_counters_lock(void)
{
	/* The adapters would record a lock of pthreads as one of the program. */
	while (atomic_exchange(&is_creating, true))
		thrum__port_yield();
}

void thrum__record_counters_unlock(void)
{
	atomic_store(&is_creating, false);
}

uint32_t thrum__record_counters_used(void)
{
	return atomic_load(&counters_used);
}

/* ---- Seats ---------------------------------------------------------------------------------- */

/* Returns a seat's tables, made at first use; NULL if there is no memory. */
static struct seat *seat_at(unsigned number)
{
	struct seat *seat = atomic_load_explicit(&thrum__record_seats[number],
			    memory_order_acquire),
		    *none = NULL;

	if (seat)
		return seat;
	seat = thrum__port_allocate(sizeof *seat);
	if (seat && !atomic_compare_exchange_strong(&thrum__record_seats[number], &none, seat)) {
		thrum__port_unmap(seat, sizeof *seat);
		seat = none;
	}
	return seat;
}

static void free_seat(unsigned number)
{
	/* Partner: take_seat(). */
	atomic_fetch_and_explicit(&seats_taken[number / 64], ~(UINT64_C(1) << number % 64),
		memory_order_release);
}

static unsigned find_free_seat(unsigned wish)
{
	uint64_t wished = UINT64_C(1) << wish % 64;

	if (wish < SEATS && !(atomic_fetch_or(&seats_taken[wish / 64], wished) & wished))
		return wish;
	for (unsigned i = 0; i < SEATS / 64; i++) {
		uint64_t taken = atomic_load(&seats_taken[i]);

		while (~taken) {
			unsigned bit = (unsigned)__builtin_ctzll(~taken);

			/* Partner: free_seat(). */
			if (atomic_compare_exchange_weak(&seats_taken[i], &taken,
				    taken | UINT64_C(1) << bit))
				return i * 64 + bit;
		}
	}
	return 0;
}

/* Gives the thread a seat, if one is free: the wish (SEATS or more: none), or any. */
static unsigned take_seat(struct thread *thread, unsigned wish)
{
	unsigned number = find_free_seat(wish);
	uint16_t none = 0;
	uint32_t used = atomic_load(&seats_used);

	if (!number || !seat_at(number)) {
		if (number)
			free_seat(number);
		return 0;
	}
	while (used <= number && !atomic_compare_exchange_weak(&seats_used, &used, number + 1))
		;
	/* A handler that interrupted this may have taken one, too. */
	if (!atomic_compare_exchange_strong(&thread->seat, &none, (uint16_t)number)) {
		free_seat(number);
		return none;
	}
	if (thrum__record_has_exit_key)
		pthread_setspecific(thrum__record_exit_key, thread);
	return number;
}

void thrum__record_seat_leave(struct thread *thread)
{
	unsigned number = atomic_exchange(&thread->seat, 0);

	if (number)
		free_seat(number);
}

void thrum__record_seats_forget(void)
{
	unsigned mine = atomic_load(&thrum__record_thread.seat);

	for (unsigned i = 0; i < SEATS / 64; i++)
		atomic_store(&seats_taken[i],
			(mine / 64 == i ? UINT64_C(1) << mine % 64 : 0) | (i == 0));
}

/* ---- Cells ---------------------------------------------------------------------------------- */

/* Returns a seat's block of the values of 16 counters; NULL if there is none and no room for one. */
static int64_t *group_of(struct seat *seat, unsigned number, bool is_locked)
{
	unsigned group = number / THRUM__COUNTERS_WORDS;
	int64_t *block = atomic_load_explicit(&seat->groups[group], memory_order_acquire);
	int64_t *none = NULL;

	if (block)
		return block;
	block = thrum__record_counter_block(THRUM__COUNTERS_VALUES, group, NULL, is_locked);
	/* If a handler was quicker, this block stays empty. */
	if (block && !atomic_compare_exchange_strong(&seat->groups[group], &none, block))
		block = none;
	return block;
}

/* Returns the cell of the calling thread, or NULL if it can't have one. */
static int64_t *take_cell(const struct thrum_counter *counter)
{
	struct thread *thread = &thrum__record_thread;
	unsigned number = atomic_load_explicit(&thread->seat, memory_order_relaxed);

	if (!number)
		number = take_seat(thread, SEATS);
	int64_t *group = number ? group_of(seat_at(number), counter->number, false) : NULL;

	return group ? &group[counter->number % THRUM__COUNTERS_WORDS] : NULL;
}

/* Makes the calling thread the owner if there is none. */
static void become_owner(struct thrum_counter *counter, int64_t *cell)
{
	uint16_t none = OWNER_NONE, chosen = OWNER_CHOSEN;

	if (!atomic_compare_exchange_strong(&counter->owner, &none, OWNER_CHOSEN))
		return;
	atomic_store_explicit(&counter->own, cell, memory_order_relaxed);
	/* Partner: thrum__counter_add(). If another thread got a cell meanwhile, there are several. */
	atomic_compare_exchange_strong(&counter->owner, &chosen,
		atomic_load(&thrum__record_thread.seat));
}

static void add_slowly(struct thrum_counter *counter, int64_t amount)
{
	uint16_t owner = atomic_load(&counter->owner);

	/* If the owner has ended, this thread takes its place. */
	if (owner < SEATS && !atomic_load(&thrum__record_thread.seat))
		take_seat(&thrum__record_thread, owner);
	bool wants_cell = owner == OWNER_NONE || owner == OWNER_SEVERAL ||
		!is_on(THRUM__BIT_COUNTER) || owner == atomic_load(&thrum__record_thread.seat);
	int64_t *cell = wants_cell ? take_cell(counter) : NULL;

	if (cell && owner == OWNER_NONE)
		become_owner(counter, cell);
	if (!cell) {
		atomic_fetch_add_explicit(counter->shared, amount, memory_order_relaxed);
		return;
	}
	/* From now on all sum up all cells. */
	if (atomic_load(&counter->owner) != atomic_load(&thrum__record_thread.seat))
		atomic_store(&counter->owner, OWNER_SEVERAL);
	add_unlocked(cell, amount);
}

/* Adds to the cell of a thread's own, if the counter has several. */
static bool add_alone(const struct thrum_counter *counter, int64_t amount)
{
	unsigned number = atomic_load_explicit(&thrum__record_thread.seat, memory_order_relaxed);

	if (UNLIKELY(
		    atomic_load_explicit(&counter->owner, memory_order_relaxed) != OWNER_SEVERAL) ||
		UNLIKELY(!has_counters()) || UNLIKELY(!number))
		return false;
	/* A seat that is taken has its tables. */
	struct seat *seat = atomic_load_explicit(&thrum__record_seats[number],
		memory_order_relaxed);
	int64_t *group =
		atomic_load_explicit(&seat->groups[counter->number / THRUM__COUNTERS_WORDS],
			memory_order_relaxed);

	if (UNLIKELY(!group))
		return false;
	add_unlocked(&group[counter->number % THRUM__COUNTERS_WORDS], amount);
	return true;
}

static void note_value(struct thrum_counter *counter)
{
	bool has_owner = atomic_load_explicit(&counter->owner, memory_order_acquire) < SEATS;
	int64_t *own = atomic_load_explicit(&counter->own, memory_order_relaxed);

	thrum__record_counter_event(counter,
		has_owner ? owners_value(counter, own) : thrum__record_counter_sum(counter));
}

static __attribute__((noinline)) void add_otherwise(struct thrum_counter *counter, int64_t amount)
{
	if (counter->kind == THRUM_COUNTER_DISTRIBUTION) {
		thrum__counter_observe(counter, amount);
		return;
	}
	if (!has_counters())
		thrum__record_counters_adopt();
	add_slowly(counter, amount);
	if (is_on(THRUM__BIT_COUNTER))
		note_value(counter);
}

void thrum__record_counter_add(struct thrum_counter *counter, int64_t amount)
{
	if (UNLIKELY(!add_alone(counter, amount)))
		add_otherwise(counter, amount);
	else if (is_on(THRUM__BIT_COUNTER))
		note_value(counter);
}

/* ---- Distributions -------------------------------------------------------------------------- */

static const int64_t no_sums[THRUM__COUNTERS_WORDS] = {
	[THRUM__SUMS_LEAST] = INT64_MAX,
	[THRUM__SUMS_MOST] = INT64_MIN,
};

/* Returns a seat's part of a distribution; NULL if there is none and no room for one. */
static struct distribution *distribution_of(struct seat *seat, unsigned number, bool is_locked)
{
	struct distribution *d = atomic_load_explicit(&seat->distributions[number],
				    memory_order_acquire),
			    *none = NULL;

	if (d)
		return d;
	int64_t *sums = thrum__record_counter_block(THRUM__COUNTERS_SUMS, number, no_sums,
		is_locked);

	d = sums ? thrum__port_allocate(sizeof *d) : NULL;
	if (!d)
		return NULL;
	d->sums = sums;
	if (!atomic_compare_exchange_strong(&seat->distributions[number], &none, d)) {
		thrum__port_unmap(d, sizeof *d);
		d = none;
	}
	return d;
}

static int64_t *row_of(struct distribution *d, unsigned number, unsigned row, bool is_locked)
{
	int64_t *block = atomic_load_explicit(&d->rows[row], memory_order_acquire), *none = NULL;

	if (block)
		return block;
	block = thrum__record_counter_block(THRUM__COUNTERS_BUCKETS + row, number, NULL, is_locked);
	if (block && !atomic_compare_exchange_strong(&d->rows[row], &none, block))
		block = none;
	return block;
}

/* Another thread, or a handler of this one, may do the same. */
static void widen(int64_t *sums, int64_t value)
{
	int64_t least = __atomic_load_n(&sums[THRUM__SUMS_LEAST], __ATOMIC_RELAXED);
	int64_t most = __atomic_load_n(&sums[THRUM__SUMS_MOST], __ATOMIC_RELAXED);

	while (value < least &&
		!__atomic_compare_exchange_n(&sums[THRUM__SUMS_LEAST], &least, value, true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	while (value > most &&
		!__atomic_compare_exchange_n(&sums[THRUM__SUMS_MOST], &most, value, true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void add_locked(int64_t *word, int64_t amount)
{
	__atomic_fetch_add(word, amount, __ATOMIC_RELAXED);
}

/* Counts a value in the calling thread's cells. Returns false if it has none for this value. */
static bool observe_alone(unsigned number, int64_t value, struct thrum__bucket bucket)
{
	struct thread *thread = &thrum__record_thread;
	unsigned seat = atomic_load_explicit(&thread->seat, memory_order_relaxed);

	if (UNLIKELY(!seat) && !(seat = take_seat(thread, SEATS)))
		return false;
	struct distribution *d = distribution_of(seat_at(seat), number, false);
	int64_t *row = d ? row_of(d, number, bucket.row, false) : NULL;

	if (!row)
		return false;
	add_unlocked(&row[bucket.place], 1);
	add_unlocked(&d->sums[THRUM__SUMS_SUM], value);
	widen(d->sums, value);
	return true;
}

/* Counts a value in cells that threads share. */
static void observe_together(unsigned number, int64_t value, struct thrum__bucket bucket)
{
	struct seat *seat = seat_at(0);
	struct distribution *d = seat ? distribution_of(seat, number, false) : NULL;

	if (!d) {
		atomic_fetch_add_explicit(&spare[number], 1, memory_order_relaxed);
		return;
	}
	int64_t *row = row_of(d, number, bucket.row, false);

	add_locked(row ? &row[bucket.place] : &d->sums[THRUM__SUMS_LOOSE], 1);
	add_locked(&d->sums[THRUM__SUMS_SUM], value);
	widen(d->sums, value);
}

void thrum__counter_observe(struct thrum_counter *counter, int64_t value)
{
	if (counter->kind != THRUM_COUNTER_DISTRIBUTION) {
		thrum__counter_set(counter, value);
		return;
	}
	struct thrum__bucket bucket = thrum__format_counters_bucket(value);

	if (!has_counters())
		thrum__record_counters_adopt();
	if (UNLIKELY(!observe_alone(counter->number, value, bucket)))
		observe_together(counter->number, value, bucket);
	if (is_on(THRUM__BIT_COUNTER))
		thrum__record_counter_event(counter, value);
}

static uint64_t count_row(const int64_t *row)
{
	uint64_t count = 0;

	for (unsigned i = 0; row && i < THRUM__COUNTERS_WORDS; i++)
		count += (uint64_t)__atomic_load_n(&row[i], __ATOMIC_RELAXED);
	return count;
}

static uint64_t count_observations(struct distribution *d)
{
	uint64_t count = (uint64_t)__atomic_load_n(&d->sums[THRUM__SUMS_LOOSE], __ATOMIC_RELAXED);

	for (unsigned row = 0; row < THRUM__ROWS; row++)
		count += count_row(atomic_load_explicit(&d->rows[row], memory_order_acquire));
	return count;
}

/* ---- Values --------------------------------------------------------------------------------- */

int64_t thrum__record_counter_sum(const struct thrum_counter *counter)
{
	bool is_distribution = counter->kind == THRUM_COUNTER_DISTRIBUTION;
	unsigned group = counter->number / THRUM__COUNTERS_WORDS;
	unsigned word = counter->number % THRUM__COUNTERS_WORDS, used = atomic_load(&seats_used);
	uint64_t sum = (uint64_t)atomic_load_explicit(counter->shared, memory_order_relaxed);

	for (unsigned i = is_distribution ? 0 : 1; i < used || i == 0; i++) {
		struct seat *seat = atomic_load_explicit(&thrum__record_seats[i],
			memory_order_acquire);
		int64_t *block = seat
			? atomic_load_explicit(&seat->groups[group], memory_order_acquire)
			: NULL;
		struct distribution *d = seat && is_distribution
			? atomic_load_explicit(&seat->distributions[counter->number],
				  memory_order_acquire)
			: NULL;

		if (d)
			sum += count_observations(d);
		else if (block && !is_distribution)
			sum += (uint64_t)__atomic_load_n(&block[word], __ATOMIC_RELAXED);
	}
	return (int64_t)sum;
}

int64_t thrum__counter_value(const struct thrum_counter *counter)
{
	if (!has_counters())
		thrum__record_counters_adopt();
	return thrum__record_counter_sum(counter);
}

void thrum__counter_set(struct thrum_counter *counter, int64_t value)
{
	if (counter->kind == THRUM_COUNTER_DISTRIBUTION) {
		thrum__counter_observe(counter, value);
		return;
	}
	uint64_t change = (uint64_t)value - (uint64_t)thrum__counter_value(counter);

	atomic_fetch_add_explicit(counter->shared, (int64_t)change, memory_order_relaxed);
	if (is_on(THRUM__BIT_COUNTER))
		thrum__record_counter_event(counter, value);
}

void thrum__record_counter_add_part(uint32_t tag, unsigned i, int64_t now, int64_t before)
{
	unsigned part = thrum__format_counters_part(tag);
	unsigned number = thrum__format_counters_number(tag);
	int64_t change = (int64_t)((uint64_t)now - (uint64_t)before);

	/* The tag comes from memory that others may write to. */
	if (part == THRUM__COUNTERS_VALUES) {
		number = number * THRUM__COUNTERS_WORDS + i;
		if (number < thrum__record_counters_used())
			atomic_fetch_add(counters[number].shared, change);
		return;
	}
	if (number >= thrum__record_counters_used() || part < THRUM__COUNTERS_SUMS ||
		(part >= THRUM__COUNTERS_BUCKETS &&
			!thrum__format_counters_is_row(part - THRUM__COUNTERS_BUCKETS)))
		return;
	struct seat *seat = seat_at(0);
	struct distribution *d = seat ? distribution_of(seat, number, true) : NULL;

	if (!d)
		return;
	if (part == THRUM__COUNTERS_SUMS && (i == THRUM__SUMS_LEAST || i == THRUM__SUMS_MOST))
		widen(d->sums, now);
	else if (part == THRUM__COUNTERS_SUMS)
		add_locked(&d->sums[i], change);
	else {
		int64_t *row = row_of(d, number, part - THRUM__COUNTERS_BUCKETS, true);

		add_locked(row ? &row[i] : &d->sums[THRUM__SUMS_LOOSE], change);
	}
}

/* ---- The list ------------------------------------------------------------------------------- */

static struct thrum_counter *find_counter(const char *path, uint32_t used)
{
	for (uint32_t i = 0; i < used; i++)
		if (strncmp(counters[i].path, path, sizeof counters[i].path - 1) == 0)
			return &counters[i];
	return NULL;
}

/* Takes the blocks without which other processes don't see the counter: last the name, so that they
 * never see half of its value. */
static void show_counter(struct thrum_counter *counter)
{
	struct thrum__counters_name name = {.kind = counter->kind};
	struct seat *seat = seat_at(0);
	struct recorder *r = atomic_load(&thrum__record_process.recorder);
	bool has_room = false;

	counter->shared = &spare[counter->number];
	memcpy(name.path, counter->path, sizeof counter->path);
	if (seat && counter->kind == THRUM_COUNTER_DISTRIBUTION) {
		has_room = distribution_of(seat, counter->number, true) != NULL;
	} else if (seat) {
		int64_t *group = group_of(seat, counter->number, true);

		has_room = group != NULL;
		if (group)
			counter->shared =
				(_Atomic int64_t *)&group[counter->number % THRUM__COUNTERS_WORDS];
	}
	if (has_room)
		has_room = thrum__record_counter_block(THRUM__COUNTERS_NAME, counter->number, &name,
				   true) != NULL;
	if (!has_room && r)
		thrum__record_count_lost(THRUM__LOST_COUNTERS);
}

static struct thrum_counter *add_counter(const char *path, uint32_t number, uint32_t kind)
{
	struct thrum_counter *counter = &counters[number];

	memcpy(counter->path, path, sizeof counter->path);
	counter->kind = kind > THRUM_COUNTER_DISTRIBUTION ? THRUM_COUNTER_GAUGE : kind;
	counter->number = (uint16_t)number;
	atomic_store(&counter->owner, OWNER_NONE);
	thrum__record_counter_pages_lock();
	show_counter(counter);
	atomic_store(&counters_used, number + 1);
	thrum__record_counter_pages_unlock();
	return counter;
}

struct thrum_counter *thrum__counter_create(const char *path, int kind)
{
	if (!path)
		return NULL;
	char name[sizeof counters->path] = {0};

	thrum__format_copy_text(name, path, sizeof name - 1);
	if (!has_counters())
		thrum__record_counters_adopt();
	thrum__record_counters_lock();
	uint32_t used = atomic_load(&counters_used);
	struct thrum_counter *counter = find_counter(name, used);

	if (!counter && used < THRUM_COUNTERS_MAX && thrum__record_counter_pages_make())
		counter = add_counter(name, used, (uint32_t)kind);
	thrum__record_counters_unlock();
	return counter;
}

uint16_t thrum__record_define_counter(struct recorder *r, struct thrum_counter *counter)
{
	struct thrum__definition d = {.type = THRUM__DEFINES_COUNTER, .number = counter->kind};
	size_t size = strlen(counter->path) + 1;

	memcpy(d.text, counter->path, size);
	return thrum__record_define(r, &d, size, &counter->id);
}

void thrum__record_write_counter(struct thrum_counter *counter, int64_t value)
{
	struct recorder *r = current_recorder();

	if (r)
		thrum__record_write_defined(r,
			&(struct thrum__record){.type = THRUM__R_COUNTER,
				.def = counter_number(r, counter),
				.value = value,
				.text = counter->path});
}
