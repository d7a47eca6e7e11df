/* SPDX-License-Identifier: ISC */
/* Turns the items of one part into the records of a recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE
#define DEPTH 256     /* of slices that are open in a lane; deeper ones are left out */
#define ITEM_BYTES 40 /* of a recording, for each item; more only cost room */

/* A slice that is open. */
struct open {
	uint64_t task; /* that runs in it; 0: a span */
	int64_t end;   /* INT64_MAX: an END will tell */
	uint32_t text; /* of a span */
	bool is_own;   /* the slice is the task */
};

struct lane {
	uint64_t own, current; /* current: the task that runs below all slices, often its own */
	struct open *open;
	uint32_t count, room;
	uint32_t too_deep; /* BEGINs that were left out */
	uint32_t next_key; /* of a link that the next slice receives, or NONE */
	int64_t soonest;   /* the least end of those that are open */
	int64_t last;      /* the time of its last item */
	bool has_begun, is_resting, is_processor;
};

struct put {
	const struct thrum__import *import;
	struct thrum__import_writer *writer;
	struct lane *lanes;
	uint64_t next_task;
	/* The lane of the item, and its number. */
	struct lane *lane;
	uint32_t number;
	bool failed;
	char text[THRUM_TEXT_MAX + 2];
};

/* ---- Records -------------------------------------------------------------------------------- */

/* A text for a record; one that is too long keeps as much as shows that. */
static const char *text_of(struct put *p, uint32_t index)
{
	size_t size = 0;
	const char *text = index == NONE ? ""
					 : thrum__base_keys_text(&p->import->texts, index, &size);

	size = size < sizeof p->text - 1 ? size : sizeof p->text - 1;
	if (size > 0)
		memcpy(p->text, text, size);
	p->text[size] = '\0';
	return p->text;
}

static void record(struct put *p, int64_t time, struct thrum__record record)
{
	thrum__import_writer_put(p->writer, p->number, time, &record);
}

static void two(struct put *p, int64_t time, enum thrum__record_type type, uint64_t task,
	uint64_t other)
{
	record(p, time, (struct thrum__record){.type = type, .task = task, .other = other});
}

static void switch_to(struct put *p, int64_t time, uint64_t task)
{
	two(p, time, THRUM__R_SWITCH, task, 0);
}

static void create(struct put *p, int64_t time, uint64_t task,
	const struct thrum__import_item *item)
{
	record(p, time,
		(struct thrum__record){.type = THRUM__R_CREATE,
			.other = task,
			.kind = item->type == THRUM__IMPORT_TASK ? item->kind : THRUM_KIND_TASK,
			.text = text_of(p, item->text)});
}

/* ---- Slices --------------------------------------------------------------------------------- */

/* The slice below number `i` that isn't a span, or NULL. */
static struct open *below(struct lane *lane, uint32_t i)
{
	while (i > 0 && lane->open[i - 1].task == 0)
		i--;
	return i > 0 ? &lane->open[i - 1] : NULL;
}

static uint64_t running(struct lane *lane)
{
	const struct open *top = below(lane, lane->count);

	return top ? top->task : lane->current;
}

/* Ends slice number `i`, which normally is the last one. */
static void end_slice(struct put *p, uint32_t i, int64_t time)
{
	struct lane *lane = p->lane;
	struct open ended = lane->open[i], *around = below(lane, i);
	uint64_t was = running(lane), now;

	if (ended.task == 0) {
		struct thrum__record end = {.type = THRUM__R_SPAN_END};

		thrum__import_writer_named(p->writer, p->number, time, &end, THRUM__DEFINES_TAG,
			text_of(p, ended.text));
	}
	if (ended.is_own)
		two(p, time, THRUM__R_RESOLVE, 0, ended.task);
	lane->count--;
	memmove(&lane->open[i], &lane->open[i + 1], (lane->count - i) * sizeof *lane->open);
	now = running(lane);
	if (now != was)
		switch_to(p, time, now);
	if (ended.is_own && around)
		two(p, time, THRUM__R_READ, around->task, ended.task);
	lane->last = time;
}

/* Ends the slices whose time is over, in the order of their ends. */
static void end_until(struct put *p, int64_t time)
{
	struct lane *lane = p->lane;

	while (lane->soonest <= time) {
		uint32_t first = 0;
		int64_t second = INT64_MAX;

		/* The inner one of two that end together comes first. */
		for (uint32_t i = 1; i < lane->count; i++)
			if (lane->open[i].end <= lane->open[first].end)
				first = i;
		end_slice(p, first, lane->open[first].end);
		for (uint32_t i = 0; i < lane->count; i++)
			second = lane->open[i].end < second ? lane->open[i].end : second;
		lane->soonest = second;
	}
}

static void receive(struct put *p, int64_t time, uint32_t key);

static bool push(struct put *p, struct open open)
{
	struct lane *lane = p->lane;
	struct open *grown = thrum__base_grow(lane->open, &lane->room, lane->count + UINT64_C(1),
		sizeof *grown);

	if (!grown) {
		p->failed = true;
		return false;
	}
	lane->open = grown;
	grown[lane->count++] = open;
	lane->soonest = open.end < lane->soonest ? open.end : lane->soonest;
	return true;
}

static void begin_slice(struct put *p, const struct thrum__import_item *item)
{
	const struct open *around = below(p->lane, p->lane->count);
	int64_t end = item->type == THRUM__IMPORT_SLICE ? item->time + item->value : INT64_MAX;
	uint64_t caller = around ? around->task : 0;
	struct open open = {p->next_task, end, NONE, true};

	if (!push(p, open))
		return;
	p->next_task++;
	create(p, item->time, open.task, item);
	if (caller)
		two(p, item->time, THRUM__R_WAIT, caller, open.task);
	switch_to(p, item->time, open.task);
	if (p->lane->next_key != NONE)
		receive(p, item->time, p->lane->next_key);
	p->lane->next_key = NONE;
}

static void begin_span(struct put *p, const struct thrum__import_item *item)
{
	struct thrum__record begin = {.type = THRUM__R_SPAN_BEGIN};

	if (push(p, (struct open){0, INT64_MAX, item->text, false}))
		thrum__import_writer_named(p->writer, p->number, item->time, &begin,
			THRUM__DEFINES_TAG, text_of(p, item->text));
}

static uint64_t task_id(const struct put *p, uint32_t task)
{
	return UINT64_C(1) + p->import->lane_count + task;
}

static void begin_run(struct put *p, const struct thrum__import_item *item)
{
	uint64_t was = running(p->lane);
	uint64_t task = item->task == NONE ? was : task_id(p, item->task);

	if (push(p, (struct open){task, INT64_MAX, NONE, false}) && task != was)
		switch_to(p, item->time, task);
}

static void end_latest(struct put *p, int64_t time)
{
	uint32_t i = p->lane->count;

	if (p->lane->too_deep > 0) {
		p->lane->too_deep--;
		return;
	}
	while (i > 0 && p->lane->open[i - 1].end != INT64_MAX)
		i--;
	if (i > 0)
		end_slice(p, i - 1, time);
}

/* Begins a slice, a span or a run, unless too many are open. */
static void begin(struct put *p, const struct thrum__import_item *item)
{
	if (p->lane->count >= DEPTH)
		p->lane->too_deep += item->type != THRUM__IMPORT_SLICE;
	else if (item->type == THRUM__IMPORT_SPAN)
		begin_span(p, item);
	else if (item->type == THRUM__IMPORT_RUN)
		begin_run(p, item);
	else
		begin_slice(p, item);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

static void begin_task(struct put *p, const struct thrum__import_item *item)
{
	uint64_t task = task_id(p, item->task);

	if (item->other == NONE)
		create(p, item->time, task, item);
	else
		record(p, item->time,
			(struct thrum__record){.type = THRUM__R_CREATE_IN,
				.task = item->other == THRUM__IMPORT_NOBODY
					? 0
					: task_id(p, item->other),
				.other = task,
				.kind = item->kind,
				.text = text_of(p, item->text)});
	if (item->value)
		two(p, item->time, THRUM__R_SHOULD_RESOLVE, task, 0);
}

static void put_key(struct put *p, int64_t time, enum thrum__record_type type, uint32_t key)
{
	size_t size;
	const char *bytes = thrum__base_keys_text(&p->import->texts, key, &size);

	record(p, time,
		(struct thrum__record){.type = type,
			.key = (const uint8_t *)bytes,
			.key_size = (uint8_t)(size < THRUM_KEY_MAX ? size : THRUM_KEY_MAX)});
}

static void receive(struct put *p, int64_t time, uint32_t key)
{
	put_key(p, time, THRUM__R_LINK_RECEIVE, key);
}

/* Lets the running task act, or another one that runs for this moment. */
static void act(struct put *p, const struct thrum__import_item *item)
{
	uint64_t was = running(p->lane);
	uint64_t task = item->task == NONE ? was : task_id(p, item->task);

	if (task != was)
		switch_to(p, item->time, task);
	if (item->type == THRUM__IMPORT_LOG)
		record(p, item->time,
			(struct thrum__record){.type = THRUM__R_LOG,
				.text = text_of(p, item->text)});
	else if (item->type == THRUM__IMPORT_SEND)
		put_key(p, item->time, THRUM__R_LINK_SEND, item->text);
	else
		receive(p, item->time, item->text);
	if (item->type == THRUM__IMPORT_RECEIVE && item->other != NONE)
		put_key(p, item->time, THRUM__R_LINK_SEND, item->other);
	if (task != was)
		switch_to(p, item->time, was);
}

static void end_task(struct put *p, const struct thrum__import_item *item)
{
	bool is_failure = item->type == THRUM__IMPORT_FAIL;

	record(p, item->time,
		(struct thrum__record){.type = is_failure ? THRUM__R_FAIL : THRUM__R_RESOLVE,
			.other = task_id(p, item->task),
			.text = is_failure ? text_of(p, item->text) : ""});
}

/* The lane has nothing to do since its last item, or the end of its last slice. */
static void rest(struct put *p)
{
	struct thrum__record suspend = {.type = THRUM__R_SUSPEND};

	thrum__import_writer_named(p->writer, p->number, p->lane->last, &suspend,
		THRUM__DEFINES_TAG, THRUM__REASON_WORK);
	p->lane->is_resting = true;
}

/* A thread rests between its slices, as far as anybody knows. */
static void wake(struct put *p, int64_t time)
{
	if (!p->lane->is_resting && p->lane->count == 0 && time > p->lane->last)
		rest(p);
	if (p->lane->is_resting)
		record(p, time, (struct thrum__record){.type = THRUM__R_RESUME});
	p->lane->is_resting = false;
}

/* The tasks of a processor are threads. */
static void switch_thread(struct put *p, const struct thrum__import_item *item)
{
	uint64_t was = running(p->lane);

	if (p->lane->is_resting)
		record(p, item->time, (struct thrum__record){.type = THRUM__R_RESUME});
	p->lane->is_resting = false;
	p->lane->current = item->task == NONE ? p->lane->own : task_id(p, item->task);
	if (running(p->lane) != was)
		switch_to(p, item->time, running(p->lane));
	p->lane->last = item->time;
	if (item->task == NONE)
		rest(p);
}

/* An interrupt, whose span lies above the running thread, isn't that thread's doing. */
static void make_ready(struct put *p, const struct thrum__import_item *item)
{
	struct lane *lane = p->lane;
	uint64_t was = running(lane);
	bool is_interrupt = lane->count > 0 && lane->open[lane->count - 1].task == 0;

	if (is_interrupt && was != lane->own)
		switch_to(p, item->time, lane->own);
	two(p, item->time, THRUM__R_READY, 0, task_id(p, item->other));
	if (is_interrupt && was != lane->own)
		switch_to(p, item->time, was);
}

/* ---- Items ---------------------------------------------------------------------------------- */

static void count_up(struct put *p, const struct thrum__import_item *item)
{
	struct thrum__record counter = {.type = THRUM__R_COUNTER, .value = item->value};

	thrum__import_writer_named(p->writer, p->number, item->time, &counter,
		THRUM__DEFINES_COUNTER, text_of(p, item->text));
}

static void put_item(struct put *p, const struct thrum__import_item *item)
{
	switch (item->type) {
	case THRUM__IMPORT_SLICE:
	case THRUM__IMPORT_BEGIN:
	case THRUM__IMPORT_SPAN:
	case THRUM__IMPORT_RUN: begin(p, item); break;
	case THRUM__IMPORT_END: end_latest(p, item->time); break;
	case THRUM__IMPORT_TASK: begin_task(p, item); break;
	case THRUM__IMPORT_RESOLVE:
	case THRUM__IMPORT_FAIL: end_task(p, item); break;
	case THRUM__IMPORT_WAIT:
		two(p, item->time, THRUM__R_WAIT, task_id(p, item->task), task_id(p, item->other));
		break;
	case THRUM__IMPORT_READ:
		two(p, item->time, THRUM__R_READ,
			item->task == NONE ? p->lane->own : task_id(p, item->task),
			task_id(p, item->other));
		break;
	case THRUM__IMPORT_LOG:
	case THRUM__IMPORT_SEND:
	case THRUM__IMPORT_RECEIVE: act(p, item); break;
	case THRUM__IMPORT_RECEIVE_NEXT: p->lane->next_key = item->text; break;
	case THRUM__IMPORT_LABEL:
		record(p, item->time,
			(struct thrum__record){.type = THRUM__R_LABEL,
				.task = task_id(p, item->task),
				.text = text_of(p, item->text)});
		break;
	case THRUM__IMPORT_READY: make_ready(p, item); break;
	case THRUM__IMPORT_SWITCH: switch_thread(p, item); break;
	case THRUM__IMPORT_COUNTER: count_up(p, item); break;
	default: break;
	}
}

static void begin_lane(struct put *p, uint32_t index, int64_t time)
{
	const struct thrum__import_lane *lane = &p->import->lanes[index];
	char name[32];

	p->lane->has_begun = true;
	p->lane->is_processor = lane->is_processor;
	p->lane->own = p->lane->current = UINT64_C(1) + index;
	p->lane->next_key = NONE;
	p->lane->soonest = INT64_MAX;
	snprintf(name, sizeof name, "thread %u", lane->tid);
	thrum__import_writer_lane(p->writer, p->number, time, p->lane->own, lane->tid,
		lane->name != NONE ? text_of(p, lane->name) : name);
	p->lane->last = time;
}

static void put_items(struct put *p, uint32_t part)
{
	const struct thrum__import *im = p->import;

	for (uint32_t i = 0; i < im->count && !p->failed; i++) {
		const struct thrum__import_item *item = &im->items[i];

		if (item->type == THRUM__IMPORT_NOTHING || im->lanes[item->lane].part != part)
			continue;
		p->number = im->lanes[item->lane].number;
		p->lane = &p->lanes[p->number];
		if (!p->lane->has_begun)
			begin_lane(p, item->lane, item->time);
		end_until(p, item->time);
		if (!p->lane->is_processor)
			wake(p, item->time);
		put_item(p, item);
		p->lane->last = item->time;
	}
	for (uint32_t i = 0; i < im->parts[part].lanes && !p->failed; i++) {
		p->number = i;
		p->lane = &p->lanes[i];
		if (!p->lane->has_begun)
			continue;
		end_until(p, INT64_MAX - 1);
		if (p->lane->count == 0 && !p->lane->is_resting && !p->lane->is_processor)
			rest(p);
	}
}

/* ---- A part --------------------------------------------------------------------------------- */

/* Recordings with the same number share a clock, as the parts of one file do. */
static uint64_t machine_of(const struct thrum__import *im, const char *host)
{
	uint64_t number = (uint64_t)im->items[0].time;

	for (; *host; host++)
		number = number * 31 + (uint8_t)*host;
	number *= UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 32 ? number ^ number >> 32 : 1;
}

/* When the last item of a part ends. */
static int64_t end_of(const struct thrum__import *im, uint32_t part)
{
	int64_t end = im->items[0].time;

	for (uint32_t i = 0; i < im->count; i++) {
		const struct thrum__import_item *item = &im->items[i];
		int64_t last = item->time + (item->type == THRUM__IMPORT_SLICE ? item->value : 0);

		if (im->lanes[item->lane].part == part && last > end)
			end = last;
	}
	return end;
}

static struct thrum__import_plan make_plan(const struct thrum__import *im, uint32_t part,
	const char *program, const char *host)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < im->count; i++)
		count += im->lanes[im->items[i].lane].part == part;
	return (struct thrum__import_plan){.program = program,
		.host = host,
		.pid = im->parts[part].pid,
		.lanes = im->parts[part].lanes,
		.first = im->items[0].time,
		.last = end_of(im, part),
		.realtime = im->is_realtime ? 0
			: im->boot          ? im->realtime
					    : INT64_MIN,
		.boot = im->boot ? im->boot : machine_of(im, host),
		.bytes = count * ITEM_BYTES};
}

int thrum__import_write(const struct thrum__import *im, uint32_t part,
	const struct thrum__output *output)
{
	struct put p = {.import = im, .next_task = UINT64_C(1) + im->lane_count + im->tasks};
	char program[64], host[sizeof p.text];
	struct thrum__import_plan plan;
	int error;

	thrum__import_name(im, part, program);
	strcpy(host, text_of(&p, im->parts[part].host));
	plan = make_plan(im, part, program, host);
	p.lanes = calloc(plan.lanes, sizeof *p.lanes);
	error = p.lanes ? thrum__import_writer_create(&p.writer, output, &plan) : -THRUM_E_MEMORY;
	if (error == 0) {
		put_items(&p, part);
		error = thrum__import_writer_end(p.writer);
	}
	for (uint32_t i = 0; p.lanes && i < plan.lanes; i++)
		free(p.lanes[i].open);
	free(p.lanes);
	thrum__import_writer_destroy(p.writer);
	return p.failed ? -THRUM_E_MEMORY : error;
}
