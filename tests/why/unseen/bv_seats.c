/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: book_seat throws the seat map of the train away after each booking, instead of updating it. So almost each
 *     booking loads the map from the database again, over the only connection.
 *   culprit: load seat map|load_map|query
 *   victim: booking
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A train seat server: bookings look at a cached seat map of their train. */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define TRAINS 3
#define BOOKINGS 60
#define SEATS 64

struct train {
	int number;
	bool is_cached;
	bool taken[SEATS];  /* the cached map */
	bool stored[SEATS]; /* in the database */
};

struct booking {
	int number;
	struct train *train;
	int seat; /* -1: none */
};

static struct thrum_semaphore *connections; /* to the database */
static struct train trains[TRAINS] = {{.number = 70}, {.number = 571}, {.number = 1202}};
static struct booking bookings[BOOKINGS];
static bool broken;
static unsigned queries;

static struct thrum_promise *map_loaded(struct thrum_loop *loop, void *value, void *data)
{
	struct train *train = data;

	(void)value;
	memcpy(train->taken, train->stored, sizeof train->taken);
	train->is_cached = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query(struct thrum_loop *loop, void *data)
{
	(void)data;
	queries++;
	return thrum_promise_label(thrum_sleep(loop, 8), "query");
}

static struct thrum_promise *load_map(struct train *train)
{
	struct thrum_promise *rows = thrum_semaphore_with(connections, query, train, NULL);

	return thrum_promise_label(thrum_promise_bind(rows, map_loaded, train, NULL),
		"load seat map");
}

static struct thrum_promise *book_seat(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;
	struct train *train = booking->train;

	(void)value;
	booking->seat = -1;
	for (int seat = 0; seat < SEATS && booking->seat < 0; seat++)
		if (!train->taken[seat])
			booking->seat = seat;
	if (booking->seat < 0)
		return thrum_promise_fail(loop, 1, "train %d is full", train->number);
	train->stored[booking->seat] = true;
	train->taken[booking->seat] = true;
	if (broken)
		train->is_cached = false;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *begin_booking(struct thrum_loop *loop, void *value, void *data)
{
	struct booking *booking = data;
	struct thrum_promise *map;

	(void)value;
	if (booking->train->is_cached)
		map = thrum_promise_return(loop, thrum_value_none());
	else
		map = load_map(booking->train);
	return thrum_promise_bind(map, book_seat, booking, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[BOOKINGS];
	struct thrum_loop *loop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "database connection", 1);
	for (int i = 0; i < BOOKINGS; i++) {
		struct booking *booking = &bookings[i];
		struct thrum_promise *arrival = thrum_sleep(loop, (uint64_t)i * 12);

		booking->number = i;
		booking->train = &trains[i % TRAINS];
		thrum_promise_label(arrival, "customer");
		all[i] = thrum_promise_bind(arrival, begin_booking, booking, NULL);
		thrum_promise_should_resolve(thrum_promise_labelf(all[i], "booking %d", i));
	}
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, BOOKINGS), "all bookings"));
	printf("%u queries: %s\n", queries, thrum_promise_error_message(error));
	return error ? 1 : 0;
}
