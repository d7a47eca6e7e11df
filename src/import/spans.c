/* SPDX-License-Identifier: ISC */
/*
 * Makes items of spans. A parent waits for a child in its process that ends before it does. A child in
 * another process is a message, and for a client's span so is the answer: their times say how the
 * clocks of two machines compare. A consumer below a producer is one in any process.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/sort.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE

uint32_t thrum__import_span(struct thrum__import *im, const struct thrum__import_span *span)
{
	struct thrum__import_span *grown;
	uint32_t task = 0;

	if (thrum__base_keys_add(&im->span_keys, span->key, "", 0, &task)) {
		im->failed = true;
		return NONE;
	}
	if (task < im->tasks)
		return NONE;
	grown = thrum__base_grow(im->spans, &im->span_room, task + UINT64_C(1), sizeof *grown);
	if (!grown) {
		im->failed = true;
		return NONE;
	}
	im->spans = grown;
	grown[task] = *span;
	im->tasks = task + 1;
	return task;
}

void thrum__import_link(struct thrum__import *im, const struct thrum__import_link *link)
{
	struct thrum__import_link *grown = thrum__base_grow(im->links, &im->link_room,
		im->link_count + UINT64_C(1), sizeof *grown);

	if (!grown) {
		im->failed = true;
		return;
	}
	im->links = grown;
	grown[im->link_count++] = *link;
}

/* ---- Items ---------------------------------------------------------------------------------- */

static void add(struct thrum__import *im, enum thrum__import_type type, int64_t time, uint32_t task,
	uint32_t text)
{
	thrum__import_add(im,
		&(struct thrum__import_item){.type = (uint8_t)type,
			.time = time,
			.lane = im->spans[task].lane,
			.task = task,
			.other = NONE,
			.text = text});
}

static void add_two(struct thrum__import *im, enum thrum__import_type type, int64_t time,
	uint32_t task, uint32_t other)
{
	thrum__import_add(im,
		&(struct thrum__import_item){.type = (uint8_t)type,
			.time = time,
			.lane = im->spans[task].lane,
			.task = task,
			.other = other,
			.text = NONE});
}

static uint32_t find_span(const struct thrum__import *im, uint32_t key)
{
	return key == NONE ? NONE : thrum__base_keys_find(&im->span_keys, key, "", 0);
}

static bool is_same_part(const struct thrum__import *im, uint32_t a, uint32_t b)
{
	return im->lanes[im->spans[a].lane].part == im->lanes[im->spans[b].lane].part;
}

static bool is_message(const struct thrum__import *im, uint32_t task, uint32_t parent)
{
	return !is_same_part(im, task, parent) ||
		(im->spans[parent].is_producer && im->spans[task].is_consumer);
}

static int64_t clamp(int64_t time, const struct thrum__import_span *span)
{
	return time < span->start ? span->start : time > span->end ? span->end : time;
}

static bool is_awaited(const struct thrum__import *im, uint32_t task, uint32_t parent)
{
	return parent != NONE && parent != task && !is_message(im, task, parent) &&
		im->spans[task].end <= im->spans[parent].end && !im->spans[task].is_open;
}

static void add_message(struct thrum__import *im, const char *name, uint32_t key, uint32_t from,
	int64_t sent, uint32_t to, int64_t received)
{
	size_t size;
	const char *text = thrum__base_keys_text(&im->texts, key, &size);
	char message[96];
	int length = snprintf(message, sizeof message, "%s %.*s", name, size < 64 ? (int)size : 64,
		text);

	key = thrum__import_text(im, message, (size_t)length);
	add(im, THRUM__IMPORT_SEND, sent, from, key);
	add(im, THRUM__IMPORT_RECEIVE, received, to, key);
}

/* The first child in another process answers a client's request. */
static void add_remote(struct thrum__import *im, uint32_t task, uint32_t parent, bool *has_answer)
{
	const struct thrum__import_span *span = &im->spans[task], *client = &im->spans[parent];

	add(im, THRUM__IMPORT_RECEIVE, span->start, task, span->parent);
	if (!client->is_client || has_answer[parent] || span->is_open || client->is_open)
		return;
	has_answer[parent] = true;
	add_message(im, "answer", span->key, task, span->end, parent, client->end);
}

static void add_parent(struct thrum__import *im, uint32_t task, bool *sends, bool *has_answer)
{
	const struct thrum__import_span *span = &im->spans[task];
	uint32_t parent = find_span(im, span->parent);

	if (span->parent == NONE || parent == task)
		return;
	if (parent == NONE) {
		/* Another file may have it. */
		add(im, THRUM__IMPORT_RECEIVE, span->start, task, span->parent);
	} else if (is_message(im, task, parent)) {
		sends[parent] = true;
		add_remote(im, task, parent, has_answer);
	} else if (is_awaited(im, task, parent)) {
		add_two(im, THRUM__IMPORT_WAIT, clamp(span->start, &im->spans[parent]), parent,
			task);
	}
}

static void add_task(struct thrum__import *im, uint32_t task)
{
	const struct thrum__import_span *span = &im->spans[task];
	uint32_t parent = find_span(im, span->parent);
	bool is_below = parent != NONE && parent != task && is_same_part(im, task, parent) &&
		im->spans[parent].start <= span->start;

	thrum__import_add(im,
		&(struct thrum__import_item){.type = THRUM__IMPORT_TASK,
			.time = span->start,
			.lane = span->lane,
			.task = task,
			.other = is_below ? parent : THRUM__IMPORT_NOBODY,
			.text = span->name,
			.kind = span->kind,
			.value = !is_below});
}

/* The caller in another process, or outside, heard of the failure. */
static void tell_outside(struct thrum__import *im, uint32_t task)
{
	thrum__import_add(im,
		&(struct thrum__import_item){.type = THRUM__IMPORT_READ,
			.time = im->spans[task].end,
			.lane = im->spans[task].lane,
			.task = NONE,
			.other = task,
			.text = NONE});
}

static void add_end(struct thrum__import *im, uint32_t task)
{
	const struct thrum__import_span *span = &im->spans[task];
	uint32_t parent = find_span(im, span->parent);

	if (!span->is_open)
		add(im, span->failure == NONE ? THRUM__IMPORT_RESOLVE : THRUM__IMPORT_FAIL,
			span->end, task, span->failure);
	if (is_awaited(im, task, parent))
		add_two(im, THRUM__IMPORT_READ, span->end, parent, task);
	else if (!span->is_open && span->failure != NONE)
		tell_outside(im, task);
}

static void add_link(struct thrum__import *im, const struct thrum__import_link *link)
{
	uint32_t other = find_span(im, link->key);
	const struct thrum__import_span *span = &im->spans[link->span];

	if (other == NONE || other == link->span)
		return;
	if (link->is_read && is_same_part(im, link->span, other))
		add_two(im, THRUM__IMPORT_READ, clamp(im->spans[other].end, span), link->span,
			other);
	else
		add_message(im, "link", link->key, other, clamp(span->start, &im->spans[other]),
			link->span, span->start);
}

/* ---- All ------------------------------------------------------------------------------------ */

/* The longer one of two that begin together comes first. */
static int compare(const void *context, uint32_t a, uint32_t b)
{
	const struct thrum__import_span *spans = context;

	return spans[a].end > spans[b].end ? -1 : spans[a].end < spans[b].end;
}

/* Puts the spans in the order of their beginnings. The caller frees the result; NULL: no memory. */
static struct thrum__base_sort_item *sort_spans(const struct thrum__import *im, uint32_t count)
{
	struct thrum__base_sort_item *order = malloc((count + (size_t)1) * sizeof *order);
	struct thrum__base_sort_item *room = malloc((count + (size_t)1) * sizeof *room);

	if (order && room) {
		for (uint32_t i = 0; i < count; i++)
			order[i] = (struct thrum__base_sort_item){im->spans[i].start, i};
		thrum__base_sort(order, room, count, compare, im->spans);
	} else {
		free(order);
		order = NULL;
	}
	free(room);
	return order;
}

/* Adds the items. Those of the same time stay in this order: so tasks are made from the outermost one
 * on, and end from the innermost one on. */
static void add_all(struct thrum__import *im, const struct thrum__base_sort_item *order,
	uint32_t count, bool *sends, bool *has_answer)
{
	for (uint32_t i = 0; i < count; i++)
		add_task(im, order[i].item);
	for (uint32_t i = 0; i < count; i++)
		add_parent(im, order[i].item, sends, has_answer);
	for (uint32_t i = 0; i < im->link_count; i++)
		add_link(im, &im->links[i]);
	for (uint32_t i = count; i-- > 0;) {
		uint32_t task = order[i].item;

		if (sends[task] || im->spans[task].is_client || im->spans[task].is_producer)
			add(im, THRUM__IMPORT_SEND, im->spans[task].start, task,
				im->spans[task].key);
		add_end(im, task);
	}
}

int thrum__import_settle_spans(struct thrum__import *im)
{
	uint32_t count = im->spans ? im->tasks : 0;
	bool *sends = calloc(count + (size_t)1, sizeof *sends);
	bool *has_answer = calloc(count + (size_t)1, sizeof *has_answer);
	struct thrum__base_sort_item *order = sort_spans(im, count);

	im->failed |= !sends || !has_answer || !order;
	if (!im->failed)
		add_all(im, order, count, sends, has_answer);
	free(sends);
	free(has_answer);
	free(order);
	return im->failed ? -THRUM_E_MEMORY : 0;
}
