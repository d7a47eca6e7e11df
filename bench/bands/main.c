/* SPDX-License-Identifier: ISC */
/*
 * Measures the bands of a server with four loops, or with LOOPS: the time and memory to make them, the
 * data of a frame at several zooms, the numbers of a window, and the lines of an opened band.
 * `bands [EVENTS [LOOPS]]`, 10 million events by default.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/bands/bands.h"

#define BATCH 4096
#define IN_FLIGHT 200
#define LANES_MOST 1000
#define COLUMNS 648 /* of 2 px, in a picture of 1600 px */
#define ROUNDS 7
#define ROUTES 12
#define ROWS 512 /* of an opened band, at most */

#define MAKE_LIMIT 500.0 /* ms at 10 million events */
#define MEMORY_LIMIT 70.0
#define FRAME_LIMIT 4.0

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void fail(void)
{
	fputs("bands: out of memory\n", stderr);
	exit(1);
}

/* ---- The server ----------------------------------------------------------------------------- */

struct server {
	struct thrum__model *model;
	struct thrum_event events[BATCH];
	char texts[BATCH][24];
	size_t count;
	uint64_t made, id, seed;
	int64_t time;
	uint64_t request[LANES_MOST]; /* the first of three tasks; 0: none is in flight here */
};

static uint32_t dice(struct server *server, uint32_t sides)
{
	server->seed ^= server->seed << 13;
	server->seed ^= server->seed >> 7;
	server->seed ^= server->seed << 17;
	return (uint32_t)(server->seed >> 32) % sides;
}

static void flush(struct server *server)
{
	if (thrum__model_append(server->model, server->events, server->count))
		fail();
	server->count = 0;
}

static void add(struct server *server, uint32_t lane, int type, uint64_t task, uint64_t other,
	const char *text)
{
	struct thrum_event *event;

	if (server->count == BATCH)
		flush(server);
	event = &server->events[server->count];
	*event = (struct thrum_event){
		.time = server->time,
		.lane = lane,
		.type = (uint8_t)type,
		.kind = type == THRUM_EVENT_CREATE && !text ? THRUM_KIND_PROMISE
							    : THRUM_KIND_REQUEST,
		.task = task,
		.other = other,
		.text = "",
		.flags = THRUM_EVENT_HAS_TASK | (other ? THRUM_EVENT_HAS_OTHER : 0),
	};
	if (text) {
		strcpy(server->texts[server->count], text);
		event->text = server->texts[server->count];
		event->text_size = (uint32_t)strlen(text);
		event->flags |= THRUM_EVENT_HAS_TEXT;
	}
	server->count++;
	server->made++;
	server->time += 100 + dice(server, 400);
}

/* A request begins on a lane: it waits for a promise, which waits for a look-up. */
static void begin(struct server *server, uint32_t lane, uint32_t at)
{
	uint64_t id = server->id;
	uint32_t route = dice(server, ROUTES);
	char text[24];

	server->id += 3;
	server->request[at] = id;
	snprintf(text, sizeof text, "GET /%c/%u", 'a' + (int)route, (unsigned)dice(server, 100));
	add(server, lane, THRUM_EVENT_CREATE, lane + 1, id, NULL);
	add(server, lane, THRUM_EVENT_LABEL, id, 0, text);
	add(server, lane, THRUM_EVENT_SHOULD_RESOLVE, id, 0, NULL);
	add(server, lane, THRUM_EVENT_SWITCH, id, 0, NULL);
	add(server, lane, THRUM_EVENT_CREATE, id, id + 1, NULL);
	add(server, lane, THRUM_EVENT_WAIT, id, id + 1, NULL);
	add(server, lane, THRUM_EVENT_CREATE, id, id + 2, NULL);
	snprintf(text, sizeof text, "look up %c", 'a' + (int)route % 4);
	add(server, lane, THRUM_EVENT_LABEL, id + 2, 0, text);
	add(server, lane, THRUM_EVENT_WAIT, id + 1, id + 2, NULL);
	add(server, lane, THRUM_EVENT_SWITCH, lane + 1, 0, NULL);
}

static void end(struct server *server, uint32_t lane, uint32_t at)
{
	uint64_t id = server->request[at];
	bool fails = dice(server, 100) == 0;

	server->request[at] = 0;
	add(server, lane, THRUM_EVENT_RESOLVE, lane + 1, id + 2, NULL);
	add(server, lane, THRUM_EVENT_SWITCH, id + 1, 0, NULL);
	add(server, lane, THRUM_EVENT_READ, id + 1, id + 2, NULL);
	add(server, lane, THRUM_EVENT_RESOLVE, id + 1, id + 1, NULL);
	add(server, lane, THRUM_EVENT_SWITCH, id, 0, NULL);
	add(server, lane, fails ? THRUM_EVENT_FAIL : THRUM_EVENT_RESOLVE, id, id, NULL);
	add(server, lane, THRUM_EVENT_SWITCH, lane + 1, 0, NULL);
}

static struct thrum__model *serve(uint64_t events, uint32_t lanes)
{
	uint32_t in_flight = lanes > IN_FLIGHT ? lanes : IN_FLIGHT;
	struct server *server = calloc(1, sizeof *server);
	struct thrum__model *model;

	if (!server || thrum__model_create(NULL, &server->model))
		fail();
	server->seed = 42;
	server->id = lanes + 100;
	for (uint32_t lane = 0; lane < lanes; lane++) {
		server->events[server->count++] = (struct thrum_event){
			.type = THRUM_EVENT_CREATE,
			.kind = THRUM_KIND_THREAD,
			.lane = lane,
			.other = lane + 1,
			.text = "",
			.flags = THRUM_EVENT_HAS_OTHER,
		};
		add(server, lane, THRUM_EVENT_SWITCH, lane + 1, 0, NULL);
	}
	while (server->made < events) {
		uint32_t at = dice(server, dice(server, 4) ? in_flight / 20 : in_flight);

		if (server->request[at])
			end(server, at % lanes, at);
		else
			begin(server, at % lanes, at);
	}
	flush(server);
	model = server->model;
	free(server);
	return model;
}

/* ---- Measuring ------------------------------------------------------------------------------ */

static const char *verdict(double value, double limit)
{
	return value <= limit ? "ok" : "OVER";
}

/* All data of a frame: the cells of the shown groups, each decade in four classes, the threads with
 * their longest runs, and the holes. */
static void ask_frame(const struct thrum__bands *bands, struct thrum__bands_window *window)
{
	static struct thrum__bands_cell cells[COLUMNS];
	static float shares[COLUMNS];
	int64_t from = window->times[0], to = window->times[COLUMNS];
	struct thrum__bands_hole holes[20];
	struct thrum__bands_run runs[2];

	for (uint32_t i = 0; i < bands->family.shown_count; i++) {
		uint32_t number = bands->family.shown[i];
		const struct thrum__group *group = &bands->family.groups[number];
		unsigned class = thrum__bands_class(group->low) / 2 * 2;

		for (; class <= thrum__bands_class(group->longest); class += 2)
			thrum__bands_cells(bands, number, class, 2, window, cells);
	}
	for (uint32_t i = 0; i < bands->thread_count; i++) {
		thrum__bands_thread_shares(bands, i, window, shares);
		thrum__bands_longest_runs(bands, i, from, to, (to - from) / 200, runs, 2);
	}
	thrum__bands_holes(bands, from, to, (to - from) / 20, holes, 20);
}

static void measure_frames(const struct thrum__bands *bands)
{
	struct thrum__bands_window window = {0};
	static int64_t times[COLUMNS + 1];

	for (int zoom = 0; zoom <= 16; zoom += 4) {
		int64_t length = (bands->to - bands->from) >> zoom;
		int64_t from = (bands->to - length) / 3;
		struct thrum__bands_time time = {{from, 0}, {from + length, 0}};
		struct thrum__bands_numbers numbers;
		double frame = 1e9, before;

		for (int i = 0; i <= COLUMNS; i++)
			times[i] = from + length / COLUMNS * i;
		for (int i = 0; i < ROUNDS; i++) {
			before = milliseconds();
			if (thrum__bands_window_set(&window, times, COLUMNS))
				fail();
			ask_frame(bands, &window);
			before = milliseconds() - before;
			frame = before < frame ? before : frame;
		}
		before = milliseconds();
		for (uint32_t i = 0; i < bands->family.shown_count; i++)
			thrum__bands_numbers(bands, bands->family.shown[i], &time, &numbers);
		printf("frame of 1/%-6d %8.2f ms, at most %.0f: %s; numbers %.2f ms\n", 1 << zoom,
			frame, FRAME_LIMIT, verdict(frame, FRAME_LIMIT), milliseconds() - before);
	}
	thrum__bands_window_finish(&window);
}

/* The lines of an opened band, in windows of several lengths. */
static void measure_opened(const struct thrum__bands *bands)
{
	static struct thrum__bands_line lines[ROWS];
	struct thrum__bands_box box = {.group = bands->family.shown[0]};

	for (uint32_t i = 1; i < bands->family.shown_count; i++)
		if (bands->family.groups[bands->family.shown[i]].lines >
			bands->family.groups[box.group].lines)
			box.group = bands->family.shown[i];
	for (uint32_t rows = ROWS / 64; rows <= ROWS; rows *= 8)
		for (int zoom = 0; zoom <= 8; zoom += 4) {
			double took = 1e9, before;
			uint32_t in_sight = 0;

			box.from = (bands->to - bands->from) / 3;
			box.to = zoom ? box.from + ((bands->to - bands->from) >> zoom) : bands->to;
			for (int i = 0; i < ROUNDS; i++) {
				before = milliseconds();
				thrum__bands_pick(bands, &box, lines, rows, &in_sight);
				before = milliseconds() - before;
				took = before < took ? before : took;
			}
			printf("%3" PRIu32 " of %8" PRIu32 " lines %6.2f ms, at most %.0f: %s\n",
				rows, in_sight, took, FRAME_LIMIT, verdict(took, FRAME_LIMIT));
		}
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	unsigned long lanes = argc > 2 ? strtoul(argv[2], NULL, 10) : 4;
	struct thrum__model *model;
	double took = 1e9, memory, limit = MAKE_LIMIT * (double)events / 1e7;
	struct thrum__bands *bands = NULL;

	if (lanes == 0 || lanes > LANES_MOST) {
		fprintf(stderr, "bands: 1 to %d loops\n", LANES_MOST);
		return 1;
	}
	model = serve(events, (uint32_t)lanes);
	for (int i = 0; i < ROUNDS / 2; i++) {
		double before = milliseconds();

		thrum__bands_destroy(bands);
		if (thrum__bands_make(model, NULL, NULL, &bands))
			fail();
		before = milliseconds() - before;
		took = before < took ? before : took;
	}
	memory = (double)thrum__bands_memory(bands) / model->tasks.count;
	printf("%" PRIu64 " events, %" PRIu32 " tasks, %" PRIu32 " runs\n", events,
		model->tasks.count, model->runs.count);
	printf("make             %8.0f ms, at most %.0f: %s\n", took, limit, verdict(took, limit));
	printf("memory           %8.1f bytes a task, at most %.0f: %s\n", memory, MEMORY_LIMIT,
		verdict(memory, MEMORY_LIMIT));
	measure_frames(bands);
	if (bands->family.shown_count > 0)
		measure_opened(bands);
	thrum__bands_destroy(bands);
	thrum__model_destroy(model);
	return 0;
}
