/* SPDX-License-Identifier: ISC */
/*
 * Finds the tasks of asynchronous slices, and the links of flows, by their keys. A key may be used
 * again once its slice has ended. Slices with one key that overlap are nested. Each step of a flow is
 * a link of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE

struct task {
	uint32_t below; /* the task with its key that goes on when it has ended, or NONE */
	uint32_t lane;
	int64_t ending; /* as in KEY_BEGIN */
};

struct settling {
	struct thrum__import *import;
	uint32_t *open, *latest; /* by key: tasks, or NONE */
	uint32_t *link;          /* by key: the text of the flow's latest link, or NONE */
	struct task *tasks;
	uint32_t task_room, keys, links;
};

static bool is_same_part(const struct thrum__import *im, uint32_t a, uint32_t b)
{
	return im->lanes[a].part == im->lanes[b].part;
}

static void begin_task(struct settling *s, struct thrum__import_item *item)
{
	struct thrum__import *im = s->import;
	struct task *grown = thrum__base_grow(s->tasks, &s->task_room, im->tasks + UINT64_C(1),
		sizeof *grown);
	uint32_t key = item->text, parent = s->open[key];

	if (!grown) {
		im->failed = true;
		return;
	}
	s->tasks = grown;
	grown[im->tasks] = (struct task){parent, item->lane, item->value};
	item->type = THRUM__IMPORT_TASK;
	item->task = im->tasks++;
	item->text = item->other;
	item->other = parent != NONE && is_same_part(im, item->lane, grown[parent].lane) ? parent
											 : NONE;
	item->value = parent == NONE && item->value == 0;
	s->open[key] = s->latest[key] = item->task;
}

/* A task is acted on in its own process. */
static void act_on(struct settling *s, struct thrum__import_item *item, uint32_t task,
	enum thrum__import_type type)
{
	item->type = (uint8_t)(task == NONE ? THRUM__IMPORT_NOTHING : type);
	item->task = task;
	item->text = item->other;
	if (task != NONE && !is_same_part(s->import, item->lane, s->tasks[task].lane))
		item->lane = s->tasks[task].lane;
}

static void end_task(struct settling *s, struct thrum__import_item *item)
{
	uint32_t key = item->text, task = s->open[key];
	int64_t ending = task != NONE ? s->tasks[task].ending : 0;

	item->other = ending > 1 ? (uint32_t)(ending - 2) : NONE;
	act_on(s, item, task,
		ending == 0           ? THRUM__IMPORT_RESOLVE
			: ending == 1 ? THRUM__IMPORT_NOTHING
				      : THRUM__IMPORT_FAIL);
	if (task != NONE)
		s->open[key] = s->tasks[task].below;
}

static void run_task(struct settling *s, struct thrum__import_item *item)
{
	uint32_t open = s->open[item->text], task = open != NONE ? open : s->latest[item->text];

	if (task != NONE && !is_same_part(s->import, item->lane, s->tasks[task].lane))
		task = NONE;
	item->type = THRUM__IMPORT_RUN;
	item->task = task;
}

/* The key of a new link, which no other trace has. */
static uint32_t new_link(struct settling *s)
{
	char text[64];
	int size = snprintf(text, sizeof text, "flow %" PRIx64 " %u",
		(uint64_t)s->import->items[0].time, ++s->links);

	return thrum__import_text(s->import, text, (size_t)size);
}

static void begin_flow(struct settling *s, struct thrum__import_item *item)
{
	uint32_t key = item->text;

	item->type = THRUM__IMPORT_SEND;
	item->text = s->link[key] = new_link(s);
}

static void go_on(struct settling *s, struct thrum__import_item *item)
{
	uint32_t key = item->text;
	bool is_end = item->type == THRUM__IMPORT_FLOW_END;

	item->text = s->link[key];
	if (item->text == NONE) {
		item->type = THRUM__IMPORT_NOTHING;
		return;
	}
	item->type = item->kind ? THRUM__IMPORT_RECEIVE_NEXT : THRUM__IMPORT_RECEIVE;
	item->other = NONE;
	if (!is_end)
		item->other = s->link[key] = new_link(s);
}

static void settle(struct settling *s, struct thrum__import_item *item)
{
	switch (item->type) {
	case THRUM__IMPORT_KEY_BEGIN: begin_task(s, item); break;
	case THRUM__IMPORT_KEY_END: end_task(s, item); break;
	case THRUM__IMPORT_KEY_LOG: act_on(s, item, s->open[item->text], THRUM__IMPORT_LOG); break;
	case THRUM__IMPORT_KEY_RUN: run_task(s, item); break;
	case THRUM__IMPORT_FLOW_BEGIN: begin_flow(s, item); break;
	case THRUM__IMPORT_FLOW_STEP:
	case THRUM__IMPORT_FLOW_END: go_on(s, item); break;
	default: break;
	}
}

int thrum__import_settle_keys(struct thrum__import *im)
{
	struct settling s = {.import = im, .keys = im->texts.count};
	size_t size = ((size_t)s.keys + 1) * sizeof(uint32_t);

	s.open = malloc(size);
	s.latest = malloc(size);
	s.link = malloc(size);
	im->failed |= !s.open || !s.latest || !s.link;
	for (uint32_t i = 0; i < s.keys && !im->failed; i++)
		s.open[i] = s.latest[i] = s.link[i] = NONE;
	for (uint32_t i = 0; i < im->count && !im->failed; i++)
		settle(&s, &im->items[i]);
	free(s.open);
	free(s.latest);
	free(s.link);
	free(s.tasks);
	return im->failed ? -THRUM_E_MEMORY : 0;
}
