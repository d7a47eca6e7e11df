/* SPDX-License-Identifier: ISC */
/*
 * Measures how long it takes to place tasks on tracks, and to make the index from which frames are
 * painted, by size and shape of the trace. Times are the thread's CPU time, the best of some
 * rounds. Beside the layout's time stands that divided by n log2 n, in ns: it stays the same for
 * any n when the layout is O(n log n).
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/sort.h"
#include "base/time.h"
#include "timeline/index/index.h"

struct life {
	int64_t start, end; /* OPEN: never */
	uint32_t parent;    /* or NONE */
};

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return memory;
}

static uint32_t draw(uint32_t below)
{
	static uint64_t random = 88172645463325252;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (uint32_t)((random >> 32) * below >> 32);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* A loop creates requests that have children; some twenty requests are alive at a time. */
static void server(struct life *lives, uint32_t count)
{
	int64_t now = 0;
	uint32_t request = 0;

	lives[0] = (struct life){0, THRUM__OPEN, THRUM__NONE};
	for (uint32_t i = 1, left = 0; i < count; i++) {
		if (left == 0) {
			now += 20 + draw(60);
			lives[i] = (struct life){now, now + 200 + draw(2000), 0};
			request = i;
			left = 2 + draw(6);
			continue;
		}
		int64_t start = lives[request].start + draw(180);

		lives[i] = (struct life){start, start + 20 + draw(400), request};
		left--;
	}
}

/* Each iteration of a loop creates the next one and ends soon after. */
static void loop(struct life *lives, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		lives[i] = (struct life){100ll * i, 100ll * i + 102, i ? i - 1 : THRUM__NONE};
}

/* Each task creates the next one and outlives it. */
static void nest(struct life *lives, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		lives[i] = (struct life){i, 2ll * count - i, i ? i - 1 : THRUM__NONE};
}

/* A parent is any of the last thousand tasks; tasks live for any time; a tenth never end. */
static void tangle(struct life *lives, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t start = 10ll * i;
		uint32_t most = 1u << draw(14);
		uint32_t back = i < 1000 ? i : 1000;

		lives[i] = (struct life){start, draw(10) ? start + 1 + draw(most) : THRUM__OPEN,
			i ? i - 1 - draw(back) : THRUM__NONE};
	}
}

/* ---- Traces ---------------------------------------------------------------------------------- */

static void append(struct thrum__model *model, const struct thrum_event *event)
{
	if (thrum__model_append(model, event, 1))
		need(NULL);
}

static struct thrum_event event_of(int type, int64_t time, uint64_t task, uint64_t other)
{
	return (struct thrum_event){
		.type = (uint8_t)type,
		.time = time,
		.task = task,
		.other = other,
		.text = "",
		.kind = THRUM_KIND_PROMISE,
		.flags = (uint8_t)((task ? THRUM_EVENT_HAS_TASK : 0) |
			(other ? THRUM_EVENT_HAS_OTHER : 0)),
	};
}

/* Appends `deeds` events of a task that has just begun. */
static void work(struct thrum__model *model, int64_t time, uint32_t task, unsigned deeds)
{
	static const int TYPES[] = {THRUM_EVENT_SWITCH, THRUM_EVENT_WAIT, THRUM_EVENT_READ};

	for (unsigned i = 0; i < deeds; i++) {
		uint32_t other = task > 20 ? task - draw(20) : 1;
		struct thrum_event event = event_of(TYPES[i % 3], time, i % 3 ? task : other,
			i % 3 ? other : 0);

		append(model, &event);
	}
}

static struct thrum__model *model_of(void (*shape)(struct life *, uint32_t), uint32_t count,
	unsigned deeds)
{
	struct life *lives = need(malloc(count * sizeof(*lives)));
	struct thrum__base_span *times = need(malloc(4ull * count * sizeof(*times)));
	struct thrum__model *model;
	uint32_t n = 0;

	shape(lives, count);
	/* `end` is 1 when the time is the end of a life. */
	for (uint32_t i = 0; i < count; i++)
		times[n++] = (struct thrum__base_span){lives[i].start, 0, i};
	for (uint32_t i = 0; i < count; i++)
		if (lives[i].end != THRUM__OPEN)
			times[n++] = (struct thrum__base_span){lives[i].end, 1, i};
	thrum__base_sort_spans(times, times + 2ull * count, n);
	if (thrum__model_create(NULL, &model))
		need(NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t task = times[i].item;
		uint64_t parent = lives[task].parent == THRUM__NONE ? 0 : lives[task].parent + 1ull;
		struct thrum_event event = times[i].end
			? event_of(THRUM_EVENT_RESOLVE, times[i].start, task + 1ull, task + 1ull)
			: event_of(THRUM_EVENT_CREATE, times[i].start, parent, task + 1ull);

		append(model, &event);
		if (!times[i].end)
			work(model, times[i].start, task + 1, deeds);
	}
	free(lives);
	free(times);
	return model;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void measure(const char *name, void (*shape)(struct life *, uint32_t), uint32_t count,
	unsigned deeds, int rounds)
{
	struct thrum__model *model = model_of(shape, count, deeds);
	double layout_best = 0, index_best = 0;
	uint32_t tracks = 0;
	size_t bytes = 0;

	for (int i = 0; i < rounds; i++) {
		struct thrum__layout *layout;
		struct thrum__index *index;
		double start = seconds();

		if (thrum__layout_create(true, true, &layout) ||
			thrum__layout_update(layout, model, NULL, NULL))
			need(NULL);
		double middle = seconds();

		if (thrum__index_create(model, layout, &index))
			need(NULL);
		double end = seconds();

		if (i == 0 || middle - start < layout_best)
			layout_best = middle - start;
		if (i == 0 || end - middle < index_best)
			index_best = end - middle;
		tracks = layout->tracks;
		bytes = thrum__index_memory(index);
		thrum__index_destroy(index);
		thrum__layout_destroy(layout);
	}
	size_t items = (size_t)model->tasks.count + model->runs.count + 2ull * model->edges.count;

	printf("%-8s %9u %9llu %8u %11.2f %11.1f %11.2f %10.1f\n", name, (unsigned)count,
		(unsigned long long)model->events, (unsigned)tracks, layout_best * 1e3,
		layout_best * 1e9 / (count * log2(count)), index_best * 1e3,
		(double)bytes / (double)items);
	thrum__model_destroy(model);
}

int main(void)
{
	printf("%-8s %9s %9s %8s %11s %11s %11s %10s\n", "shape", "tasks", "events", "tracks",
		"layout ms", "ns/(n ld n)", "index ms", "bytes/item");
	measure("server", server, 1000, 3, 20);
	measure("server", server, 26000, 3, 10);
	measure("server", server, 100000, 3, 5);
	measure("server", server, 1000000, 0, 2);
	measure("server", server, 1000000, 8, 1);
	measure("loop", loop, 1000000, 0, 2);
	measure("nest", nest, 1000000, 0, 2);
	measure("tangle", tangle, 100000, 0, 3);
	measure("tangle", tangle, 1000000, 0, 1);
	return 0;
}
