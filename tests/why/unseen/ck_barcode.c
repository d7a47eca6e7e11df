/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_parcel stops reading from a dock whose line is full. sort_tick reads on only if the line's length is
 *     exactly LINE_LOW. Pallets leave the line five at a time and jump over that length, so reading from dock 1 never
 *     begins again, and the scanner of dock 1 waits for ever for the receipt of its batch.
 *   culprit: on_parcel|sort_tick|uv_read_stop|uv_read_start|read_stop
 *   victim: scan_dock|dock-1
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The gateway of a parcel hall: scanners at the docks send barcodes, and a sorter takes them from a line for each dock. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	DOCKS = 2,
	LINE_HIGH = 32,
	LINE_LOW = 8,
	BATCHES = 5,
	LINE_MAX_LENGTH = 64
};

struct parcel {
	char kind; /* S: small, P: pallet, E: the last one of a batch */
	char code[11];
};

struct dock {
	uv_pipe_t scanner;
	uv_timer_t sorter;
	struct parcel line[LINE_MAX_LENGTH];
	unsigned first;
	unsigned count;
	unsigned sorted;
	size_t have;
	struct parcel incoming;
	bool paused;
	int far_end;
	int number;
	pthread_t thread;
};

static struct dock docks[DOCKS];
static bool any_length;
static unsigned open_docks = DOCKS;
static uv_timer_t lamp;
static unsigned blinks;

static void on_parcel(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct dock *dock = handle->data;

	(void)suggested;
	*buffer = uv_buf_init((char *)&dock->incoming + dock->have,
		(unsigned)(sizeof dock->incoming - dock->have));
}

static void close_dock(struct dock *dock)
{
	uv_timer_stop(&dock->sorter);
	uv_close((uv_handle_t *)&dock->sorter, NULL);
	uv_close((uv_handle_t *)&dock->scanner, NULL);
	if (--open_docks == 0)
		uv_close((uv_handle_t *)&lamp, NULL);
}

static void on_parcel(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct dock *dock = stream->data;

	(void)buffer;
	if (got < 0) {
		close_dock(dock);
		return;
	}
	dock->have += (size_t)got;
	if (dock->have < sizeof dock->incoming)
		return;
	dock->have = 0;
	dock->line[(dock->first + dock->count++) % LINE_MAX_LENGTH] = dock->incoming;
	if (dock->count >= LINE_HIGH) {
		uv_read_stop(stream);
		dock->paused = true;
	}
}

static struct parcel take(struct dock *dock)
{
	struct parcel parcel = dock->line[dock->first++ % LINE_MAX_LENGTH];

	dock->count--;
	dock->sorted++;
	return parcel;
}

static void give_receipt(struct dock *dock)
{
	uv_buf_t receipt = uv_buf_init("r", 1);

	if (uv_try_write((uv_stream_t *)&dock->scanner, &receipt, 1) != 1)
		fprintf(stderr, "dock %d: no receipt\n", dock->number);
}

/* Small parcels go one by one, and pallets up to five at a time. */
static void sort_tick(uv_timer_t *timer)
{
	struct dock *dock = timer->data;
	unsigned taken = 0;
	struct parcel parcel;

	while (dock->count > 0 && taken < 5) {
		parcel = take(dock);
		taken++;
		if (parcel.kind == 'E')
			give_receipt(dock);
		if (parcel.kind != 'P')
			break;
	}
	if (dock->paused && (any_length ? dock->count <= LINE_LOW : dock->count == LINE_LOW)) {
		dock->paused = false;
		uv_read_start((uv_stream_t *)&dock->scanner, on_room, on_parcel);
	}
}

static void on_lamp(uv_timer_t *timer)
{
	(void)timer;
	blinks++;
}

static void *scan_dock(void *data)
{
	struct dock *dock = data;
	struct parcel batch[60];
	char name[16];
	char receipt;

	snprintf(name, sizeof name, "dock-%d", dock->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < BATCHES; i++) {
		bool pallets = dock->number == 1 && i == 3;

		memset(batch, 0, sizeof batch);
		for (int k = 0; k < 60; k++) {
			batch[k].kind = k == 59 ? 'E' : pallets ? 'P' : 'S';
			snprintf(batch[k].code, sizeof batch[k].code, "%d-%02d-%03d", dock->number,
				i, k);
		}
		if (write(dock->far_end, batch, sizeof batch) != (ssize_t)sizeof batch)
			break;
		if (read(dock->far_end, &receipt, 1) != 1)
			break;
	}
	close(dock->far_end);
	return NULL;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	int ends[2];

	any_length = argc > 1 && !strcmp(argv[1], "healthy");
	uv_timer_init(loop, &lamp);
	uv_timer_start(&lamp, on_lamp, 50, 50);
	for (int i = 0; i < DOCKS; i++) {
		struct dock *dock = &docks[i];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		dock->number = i + 1;
		dock->far_end = ends[1];
		uv_pipe_init(loop, &dock->scanner, 0);
		uv_pipe_open(&dock->scanner, ends[0]);
		uv_timer_init(loop, &dock->sorter);
		dock->scanner.data = dock;
		dock->sorter.data = dock;
		uv_read_start((uv_stream_t *)&dock->scanner, on_room, on_parcel);
		uv_timer_start(&dock->sorter, sort_tick, 1, 1);
		pthread_create(&dock->thread, NULL, scan_dock, dock);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < DOCKS; i++) {
		pthread_join(docks[i].thread, NULL);
		printf("dock %d: %u parcels\n", docks[i].number, docks[i].sorted);
	}
	return 0;
}
