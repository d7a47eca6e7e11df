/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=locate
 *   truth: The map's loop rebuilds its grid itself and serves nobody meanwhile. The pool should do that work.
 *   culprit: rebuild.grid
 *   victim: locate|find place
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Locates parcels: the front asks a map, which lives in the loop of another thread. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PARCELS = 120,
	CELLS = 4096
};

struct parcel {
	int number, x, y;
};

struct map {
	pthread_t thread;
	pthread_barrier_t ready;
	struct thrum_inbox *inbox;
	uint32_t cells[CELLS], spare[CELLS];
	bool pooled;
	int rebuilt;
};

static struct map map;
static struct parcel parcels[PARCELS];
static int located, scanned;

static struct thrum_promise *nothing(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- The map's thread ---- */

/* Sorts all streets into cells again. */
static int fill_cells(void *data, struct thrum_value *result)
{
	uint64_t begin = uv_hrtime();
	uint32_t street = 2463534242;

	(void)data;
	(void)result;
	while (uv_hrtime() - begin < 130 * 1000 * 1000)
		for (int i = 0; i < CELLS; i++) {
			street ^= street << 13;
			street ^= street >> 17;
			street ^= street << 5;
			map.spare[street % CELLS] += street >> 28;
		}
	return 0;
}

static struct thrum_promise *use_spare(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	memcpy(map.cells, map.spare, sizeof(map.cells));
	map.rebuilt++;
	return nothing(loop);
}

static struct thrum_promise *rebuild_grid(struct thrum_loop *loop, void *data)
{
	struct thrum_value value = thrum_value_none();

	if (map.pooled)
		return thrum_promise_bind(thrum_work(loop, "fill cells", fill_cells, NULL, NULL),
			use_spare, data, NULL);
	fill_cells(NULL, &value);
	return use_spare(loop, NULL, data);
}

static struct thrum_value cell_of(struct thrum_loop *loop, void *value, void *data)
{
	struct parcel *parcel = data;

	(void)loop;
	(void)value;
	return thrum_value_int(
		1 + (intptr_t)(map.cells[(parcel->x * 64 + parcel->y) % CELLS] & 0xff));
}

/* Every eighth parcel lies at the edge, and its cell must be read from the disk. */
static struct thrum_promise *find_place(struct thrum_loop *loop, void *data)
{
	struct parcel *parcel = data;

	return thrum_promise_map(parcel->number % 8 ? thrum_promise_pause(loop)
						    : thrum_sleep(loop, 3),
		cell_of, parcel, NULL);
}

static struct thrum_promise *close_map(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_inbox_close(map.inbox);
	return nothing(loop);
}

static void *map_thread(void *data)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)data;
	thrum_lane_name("map");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	map.inbox = thrum_inbox_create(loop, "map");
	pthread_barrier_wait(&map.ready);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return NULL;
}

/* ---- The front ---- */

static struct thrum_promise *label_parcel(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	located += thrum_int(value) > 0;
	return thrum_promise_pause(loop); /* prints it */
}

static struct thrum_promise *locate(struct thrum_loop *loop, void *value, void *data)
{
	struct parcel *parcel = data;
	struct thrum_promise *place;

	(void)value;
	scanned++;
	if (parcel->number == 50 &&
		thrum_inbox_post(map.inbox, "rebuild grid", rebuild_grid, NULL, NULL))
		return thrum_promise_fail(loop, -EPIPE, "no map");
	place = thrum_inbox_call(map.inbox, loop, "find place", find_place, parcel, NULL);
	return thrum_promise_label(thrum_promise_bind(place, label_parcel, NULL, NULL), "locate");
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[PARCELS], *closed;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	if (thrum_start(NULL))
		fprintf(stderr, "geo: not recorded\n");
	map.pooled = argc < 2 || strcmp(argv[1], "broken");
	pthread_barrier_init(&map.ready, NULL, 2);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop) ||
		pthread_create(&map.thread, NULL, map_thread, NULL))
		return 1;
	pthread_barrier_wait(&map.ready);
	/* The belt brings a parcel every 4 ms. */
	for (int i = 0; i < PARCELS; i++) {
		parcels[i] = (struct parcel){i, i * 31 % 64, i * 17 % 64};
		all[i] = thrum_promise_bind(thrum_sleep(loop, 4 * (uint64_t)i), locate, &parcels[i],
			NULL);
	}
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, all, PARCELS), "shift")));
	closed = thrum_inbox_call(map.inbox, loop, "close map", close_map, NULL, NULL);
	result |= thrum_promise_run(closed);
	pthread_join(map.thread, NULL);
	thrum_stop();
	printf("%d of %d parcels located, grid rebuilt %d times\n", located, scanned, map.rebuilt);
	thrum_inbox_unref(map.inbox);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result != 0;
}
