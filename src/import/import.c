/* SPDX-License-Identifier: ISC */
/* Collects the items that a reader finds, and puts them in order. */
#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "import/parts.h"

#define PARTS_MAX 64 /* as many recordings can be one trace */
#define RANGE \
	(INT64_C(1) \
		<< 58) /* ns from the first time to the last: 9 years; readers take twice that */

/* ---- Collecting ----------------------------------------------------------------------------- */

uint32_t thrum__import_text(struct thrum__import *im, const char *text, size_t size)
{
	uint32_t index = 0;

	if (thrum__base_keys_add(&im->texts, 0, text, size, &index))
		im->failed = true;
	return index;
}

uint32_t thrum__import_part(struct thrum__import *im, int64_t number, const char *text, size_t size)
{
	uint32_t index = 0;
	struct thrum__import_part *grown;

	if (thrum__base_keys_add(&im->part_keys, (uint64_t)number, text, size, &index))
		im->failed = true;
	index = index < PARTS_MAX ? index : PARTS_MAX - 1;
	if (im->failed || index < im->part_count)
		return index;
	grown = thrum__base_grow(im->parts, &im->part_room, index + UINT64_C(1), sizeof *grown);
	if (!grown) {
		im->failed = true;
		return 0;
	}
	im->parts = grown;
	grown[im->part_count++] = (struct thrum__import_part){.name = THRUM__IMPORT_NONE,
		.host = THRUM__IMPORT_NONE,
		.pid = number > 0 && number <= INT32_MAX ? (uint32_t)number : 0};
	return index;
}

uint32_t thrum__import_lane(struct thrum__import *im, uint32_t part, int64_t number,
	const char *text, size_t size)
{
	uint32_t index = 0;
	struct thrum__import_lane *grown;
	uint64_t key = (uint64_t)number * PARTS_MAX + part;

	if (thrum__base_keys_add(&im->lane_keys, key, text, size, &index))
		im->failed = true;
	if (im->failed || index < im->lane_count)
		return index;
	grown = thrum__base_grow(im->lanes, &im->lane_room, index + UINT64_C(1), sizeof *grown);
	if (!grown) {
		im->failed = true;
		return 0;
	}
	im->lanes = grown;
	grown[im->lane_count++] = (struct thrum__import_lane){.part = part,
		.number = im->parts[part].lanes++,
		.tid = number > 0 && number <= INT32_MAX ? (uint32_t)number : 0,
		.name = size > 0 ? thrum__import_text(im, text, size) : THRUM__IMPORT_NONE};
	return index;
}

void thrum__import_add(struct thrum__import *im, const struct thrum__import_item *item)
{
	struct thrum__import_item *grown = im->failed
		? NULL
		: thrum__base_grow(im->items, &im->room, im->count + UINT64_C(1), sizeof *grown);

	if (!grown) {
		im->failed = true;
		return;
	}
	im->items = grown;
	grown[im->count] = *item;
	if (item->time > THRUM__IMPORT_TIME_MAX || item->time < -THRUM__IMPORT_TIME_MAX)
		grown[im->count].time = item->time > 0 ? THRUM__IMPORT_TIME_MAX
						       : -THRUM__IMPORT_TIME_MAX;
	im->count++;
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* Tasks begin before all else that happens at the same time, and the longer one of two slices. */
static unsigned rank(const struct thrum__import_item *item)
{
	return item->type == THRUM__IMPORT_KEY_BEGIN || item->type == THRUM__IMPORT_TASK ? 0
		: item->type == THRUM__IMPORT_SLICE                                      ? 1
											 : 2;
}

static int compare(const void *context, uint32_t a, uint32_t b)
{
	const struct thrum__import_item *items = context, *x = &items[a], *y = &items[b];

	if (rank(x) != rank(y))
		return rank(x) < rank(y) ? -1 : 1;
	if (x->type == THRUM__IMPORT_SLICE && y->type == THRUM__IMPORT_SLICE &&
		x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int sort_items(struct thrum__import *im)
{
	size_t count = im->count;
	struct thrum__base_sort_item *order = malloc((count + 1) * sizeof *order);
	struct thrum__base_sort_item *room = malloc((count + 1) * sizeof *room);
	struct thrum__import_item *sorted = NULL;

	if (order && room) {
		for (uint32_t i = 0; i < count; i++)
			order[i] = (struct thrum__base_sort_item){im->items[i].time, i};
		thrum__base_sort(order, room, count, compare, im->items);
	}
	free(room);
	if (order && room)
		sorted = malloc((count + 1) * sizeof *sorted);
	for (uint32_t i = 0; sorted && i < count; i++)
		sorted[i] = im->items[order[i].item];
	free(order);
	if (!sorted)
		return -THRUM_E_MEMORY;
	free(im->items);
	im->items = sorted;
	im->room = im->count;
	return 0;
}

/* Brings times that can't be true into a range that readers take. */
static void bound_times(struct thrum__import *im)
{
	for (uint32_t i = 0; i < im->count; i++) {
		struct thrum__import_item *item = &im->items[i];
		int64_t last = im->items[0].time + RANGE;

		item->time = item->time < last ? item->time : last;
		if (item->type == THRUM__IMPORT_SLICE && item->value > last - item->time)
			item->value = last - item->time;
	}
}

/* Forgets the parts without items, whose lanes then have none. */
static int drop_empty_parts(struct thrum__import *im)
{
	bool used[PARTS_MAX] = {false};
	uint32_t to[PARTS_MAX] = {0}, count = 0;

	for (uint32_t i = 0; i < im->count; i++)
		if (im->items[i].type != THRUM__IMPORT_NOTHING)
			used[im->lanes[im->items[i].lane].part] = true;
	for (uint32_t i = 0; i < im->part_count; i++) {
		if (!used[i])
			continue;
		to[i] = count;
		im->parts[count++] = im->parts[i];
	}
	for (uint32_t i = 0; i < im->lane_count; i++)
		im->lanes[i].part = used[im->lanes[i].part] ? to[im->lanes[i].part]
							    : THRUM__IMPORT_NONE;
	im->part_count = count;
	return count > 0 ? 0 : -THRUM_E_FORMAT;
}

/* ---- The formats ---------------------------------------------------------------------------- */

static int read_any(struct thrum__import *im, const char *bytes, size_t size,
	struct thrum_error_info *info)
{
	int error = thrum__import_is_sched(bytes, size) ? thrum__import_sched(im, bytes, size, info)
							: thrum__import_json(im, bytes, size, info);

	if (error)
		return error;
	error = thrum__import_settle_spans(im);
	if (error == 0)
		error = sort_items(im);
	if (error == 0)
		error = thrum__import_settle_keys(im);
	if (error)
		return thrum__read_error_set(info, error, 0, "out of memory");
	bound_times(im);
	error = drop_empty_parts(im);
	if (error)
		thrum__read_error_set(info, error, 0,
			"none of its events can be told: thrum import --help names the formats");
	return error;
}

int thrum__import_read(const char *bytes, size_t size, struct thrum__import **import,
	struct thrum_error_info *info)
{
	struct thrum__import *im = calloc(1, sizeof *im);
	int error = im ? read_any(im, bytes, size, info)
		       : thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");

	if (error == 0)
		*import = im;
	else
		thrum__import_destroy(im);
	return error;
}

void thrum__import_destroy(struct thrum__import *im)
{
	if (!im)
		return;
	free(im->items);
	free(im->parts);
	free(im->lanes);
	thrum__base_keys_free(&im->texts);
	thrum__base_keys_free(&im->part_keys);
	thrum__base_keys_free(&im->lane_keys);
	thrum__base_keys_free(&im->span_keys);
	free(im->spans);
	free(im->links);
	free(im);
}

struct thrum__import_found thrum__import_found(const struct thrum__import *im)
{
	struct thrum__import_found found = {.format = im->format,
		.parts = im->part_count,
		.events = im->events,
		.left_out = im->left_out,
		.is_cut = im->is_cut,
		.is_kernel = im->is_kernel,
		.first = im->items[0].time,
		.last = im->items[im->count - 1].time};
	size_t size = 0;
	const char *host = im->parts[0].host != THRUM__IMPORT_NONE
		? thrum__base_keys_text(&im->texts, im->parts[0].host, &size)
		: "";

	snprintf(found.host, sizeof found.host, "%.*s", (int)(size < 63 ? size : 63), host);
	return found;
}

void thrum__import_set_clock(struct thrum__import *im, uint64_t boot, int64_t realtime)
{
	im->boot = boot;
	im->realtime = realtime;
}

void thrum__import_name(const struct thrum__import *im, uint32_t part, char name[64])
{
	const struct thrum__import_part *p = &im->parts[part];
	size_t size = 0;
	const char *text = p->name != THRUM__IMPORT_NONE
		? thrum__base_keys_text(&im->texts, p->name, &size)
		: "";

	if (size > 0)
		snprintf(name, 64, "%.*s",
			(int)(size > 63 ? thrum__base_utf8_floor(text, 63) : size), text);
	else if (p->pid)
		snprintf(name, 64, "process %u", p->pid);
	else
		snprintf(name, 64, "process");
}
