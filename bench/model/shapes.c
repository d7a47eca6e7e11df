/* SPDX-License-Identifier: ISC */
/* Makes millions of events like those of programs of a certain shape. */
#include "model.h"

#include <string.h>

static uint32_t draw(struct shape *s, uint32_t below)
{
	s->random = s->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)s->random * below >> 32);
}

static void set(struct thrum_event *e, int type, uint64_t task, uint64_t other)
{
	e->type = (uint8_t)type;
	e->task = task;
	e->other = other;
	e->flags = (uint8_t)((task ? THRUM_EVENT_HAS_TASK : 0) |
		(other ? THRUM_EVENT_HAS_OTHER : 0));
}

static void set_text(struct thrum_event *e, const char *text)
{
	e->text = text;
	e->text_size = (uint32_t)strlen(text);
	e->flags |= THRUM_EVENT_HAS_TEXT;
}

static void create(struct shape *s, struct thrum_event *e, uint64_t parent, int kind)
{
	set(e, THRUM_EVENT_CREATE, parent, ++s->ids);
	e->kind = (uint8_t)kind;
}

static uint64_t one_of(struct shape *s, uint32_t latest)
{
	uint64_t back = draw(s, latest);

	return s->ids > back ? s->ids - back : 1;
}

/*
 * A tenth of the events are creations, and a tenth of the tasks have labels. 50 tasks act in turn.
 */
static void mixed(struct shape *s, struct thrum_event *e)
{
	uint32_t percent = draw(s, 100);

	if (percent < 10) {
		create(s, e, one_of(s, 50), THRUM_KIND_PROMISE);
	} else if (percent < 11) {
		set(e, THRUM_EVENT_LABEL, s->ids, 0);
		set_text(e, "some-label");
	} else if (percent < 40) {
		set(e, THRUM_EVENT_SWITCH, one_of(s, 50), 0);
	} else if (percent < 60) {
		set(e, THRUM_EVENT_WAIT, one_of(s, 50), one_of(s, 50));
	} else if (percent < 70) {
		set(e, THRUM_EVENT_RESOLVE, one_of(s, 50), one_of(s, 50));
	} else if (percent < 90) {
		set(e, THRUM_EVENT_READ, one_of(s, 50), one_of(s, 50));
	} else {
		set(e, THRUM_EVENT_COUNTER, one_of(s, 50), 0);
		set_text(e, "net/bytes");
		e->value = draw(s, 100000);
	}
}

/* Each task creates the next one and becomes it. Then the lane switches to the first one. */
static void chain(struct shape *s, struct thrum_event *e)
{
	switch (s->made % 3) {
	case 0: create(s, e, s->ids, THRUM_KIND_BIND); break;
	case 1: set(e, THRUM_EVENT_BECOME, s->ids > 1 ? s->ids - 1 : 1, s->ids); break;
	case 2: set(e, THRUM_EVENT_SWITCH, 1, 0); break;
	}
}

/* The same chain from its end: a task becomes the next one when that has already become another. */
static void chain_backwards(struct shape *s, struct thrum_event *e)
{
	uint64_t half = s->events / 2;

	if (s->made < half)
		create(s, e, 0, THRUM_KIND_TASK);
	else
		set(e, THRUM_EVENT_BECOME, 2 * half - s->made, 2 * half - s->made + 1);
}

static void live(struct shape *s, struct thrum_event *e)
{
	static const uint8_t types[] = {THRUM_EVENT_SWITCH, THRUM_EVENT_WAIT, THRUM_EVENT_READ};

	if (s->ids < 100000)
		create(s, e, one_of(s, 1000), THRUM_KIND_PROMISE);
	else
		set(e, types[draw(s, 3)], one_of(s, 100000), one_of(s, 100000));
}

static void nested(struct shape *s, struct thrum_event *e)
{
	create(s, e, s->ids, THRUM_KIND_BIND);
}

/* Each task wakes by reading the one before it, which makes it a child of that one. */
static void woken(struct shape *s, struct thrum_event *e)
{
	if (s->made % 2 == 0)
		create(s, e, 1, THRUM_KIND_BIND);
	else
		set(e, THRUM_EVENT_READ, s->ids, s->ids > 1 ? s->ids - 1 : 1);
}

/* The first task is a lock, which the second one takes. All others wait for it. */
static void queue(struct shape *s, struct thrum_event *e)
{
	if (s->made % 2 == 0)
		create(s, e, 0, s->made == 0 ? THRUM_KIND_LOCK : THRUM_KIND_FIBER);
	else if (s->made > 1)
		set(e, s->made == 3 ? THRUM_EVENT_LOCK : THRUM_EVENT_WAIT, s->ids, 1);
	else
		set(e, THRUM_EVENT_SWITCH, 1, 0);
}

static void lanes(struct shape *s, struct thrum_event *e)
{
	mixed(s, e);
	e->lane = draw(s, 1000);
}

/* Ids that are never close to each other. */
static void sparse(struct shape *s, struct thrum_event *e)
{
	create(s, e, 0, THRUM_KIND_TASK);
	e->other *= UINT64_C(0x9e3779b97f4a7c15);
}

static void counters(struct shape *s, struct thrum_event *e)
{
	static const char digits[] = "0123456789abcdef";
	static char path[BATCH][16];
	char *text = path[s->made % BATCH];
	uint32_t number = draw(s, 100000);

	set(e, THRUM_EVENT_COUNTER, 1, 0);
	strcpy(text, "conn#");
	for (int i = 0; i < 5; i++, number >>= 4)
		text[5 + i] = digits[number & 15];
	text[10] = '\0';
	set_text(e, text);
	e->value = draw(s, 1000);
}

#define M 1000000
const struct shape shapes[] = {
	{.name = "mixed, 1 M", .events = 1 * M, .next = mixed},
	{.name = "mixed, 10 M", .events = 10 * M, .next = mixed},
	{.name = "mixed, 50 M", .events = 50 * M, .next = mixed},
	{.name = "becomes-chain of 1 M", .events = 3 * M, .next = chain},
	{.name = "becomes-chain, backwards", .events = 2 * M, .next = chain_backwards},
	{.name = "100,000 live tasks", .events = 3 * M, .next = live},
	{.name = "1 M deep nesting", .events = 1 * M, .next = nested},
	{.name = "1 M binds, one by the other", .events = 2 * M, .next = woken},
	{.name = "500,000 wait for one lock", .events = 1 * M, .next = queue},
	{.name = "1,000 lanes", .events = 3 * M, .next = lanes},
	{.name = "ids far apart", .events = 1 * M, .next = sparse},
	{.name = "100,000 counters", .events = 3 * M, .next = counters},
};
const unsigned shape_count = sizeof shapes / sizeof *shapes;

size_t shape_next(struct shape *s, struct thrum_event *events)
{
	size_t count = 0;

	for (; count < BATCH && s->made < s->events; count++, s->made++) {
		events[count] = (struct thrum_event){.time = s->time += draw(s, 100), .text = ""};
		s->next(s, &events[count]);
	}
	return count;
}
