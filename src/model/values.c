/* SPDX-License-Identifier: ISC */
/* Counters, which are found by their paths, and links, which are found by their keys. */
#include <stdlib.h>

#include "model/parts.h"

/* ---- Counters ------------------------------------------------------------------------------ */

/* Returns the event's counter, a new one if need be; NULL when there is no memory. */
static struct thrum__counter *counter_of(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	uint32_t name = thrum__model_text_of(s);

	if (name == THRUM__NONE)
		return NULL;
	uint32_t *number = &m->strings->all[name].counter;

	if (*number != THRUM__NONE)
		return &m->counters[*number];
	void *counters = m->counters;
	int error = thrum__model_array_grow(&counters, &m->counter_room, m->counter_count + 1,
		sizeof *m->counters);

	m->counters = counters;
	if (error) {
		m->failed = true;
		return NULL;
	}
	struct thrum__counter *counter = &m->counters[m->counter_count];

	*counter = (struct thrum__counter){.name = name, .min = INT64_MAX, .max = INT64_MIN};
	/* Its value in a part that is overwritten is unknown. */
	if (m->is_cut && s->event->type == THRUM_EVENT_COUNTER)
		counter->start = s->event->value;
	counter->is_relative = m->is_cut && s->event->type == THRUM_EVENT_INCREASE;
	if (s->event->type == THRUM_EVENT_COUNTER)
		counter->kind = s->event->kind;
	*number = m->counter_count++;
	return counter;
}

static int64_t saturating_sum(int64_t a, int64_t b)
{
	if (b > 0 && a > INT64_MAX - b)
		return INT64_MAX;
	if (b < 0 && a < INT64_MIN - b)
		return INT64_MIN;
	return a + b;
}

void thrum__model_value_add(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__model *m = s->model;
	struct thrum__counter *counter = counter_of(s);

	if (!counter)
		return;
	int64_t value = s->event->value;
	uint32_t row = thrum__model_rows_add(m, &counter->values, sizeof(struct thrum__values),
		THRUM__VALUES_SHIFT);

	if (row == THRUM__NONE)
		return;
	if (s->event->type == THRUM_EVENT_INCREASE)
		value = saturating_sum(counter->last, value);
	THRUM__VALUE(counter, row, time) = s->time;
	THRUM__VALUE(counter, row, value) = value;
	THRUM__VALUE(counter, row, task) = task;
	counter->last = value;
	if (counter->min > value)
		counter->min = value;
	if (counter->max < value)
		counter->max = value;
	if (task != THRUM__NONE) {
		thrum__model_task_hold(m, task);
		thrum__model_task_hear(m, task, s->time);
	}
}

/* ---- Links --------------------------------------------------------------------------------- */

/* Whether the clocks of two lanes may differ by more than a stretch of time. */
static bool is_within_error(const struct thrum__lane *a, const struct thrum__lane *b, int64_t ns)
{
	return a->host != b->host &&
		(a->time_error >= INT64_MAX - b->time_error ||
			(ns < 0 ? -ns : ns) < a->time_error + b->time_error);
}

/* Adds the edge of a message of which one event came before. */
static void add_message(struct thrum__model_input *s, const struct thrum__link *link, uint32_t from,
	uint32_t to)
{
	struct thrum__model *m = s->model;
	bool is_doubtful = is_within_error(&m->lanes[link->lane], &m->lanes[s->event->lane],
		s->time - link->at);

	m->has_doubtful |= is_doubtful;
	thrum__model_edge_add(s, THRUM__EDGE_LINK, from, to, is_doubtful);
}

/* The event waits for the other one. */
static void note_first(const struct thrum__model_input *s, struct thrum__link *link)
{
	link->at = s->time;
	link->lane = s->event->lane;
}

/* Returns the event's link, a new one if need be; NULL when there is no memory. */
static struct thrum__link *link_of(struct thrum__model_input *s)
{
	struct thrum__model_links *links = s->model->links;
	uint32_t key = thrum__model_strings_add(&links->keys, s->event->text, s->event->text_size);
	void *all = links->all;
	int error = key == THRUM__NONE
		? -THRUM_E_MEMORY
		: thrum__model_array_grow(&all, &links->room, key + 1, sizeof *links->all);

	links->all = all;
	if (error) {
		s->model->failed = true;
		return NULL;
	}
	links->all[key].time = s->time;
	s->model->has_links = true;
	return &links->all[key];
}

void thrum__model_links_send(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__link *link = link_of(s);

	if (!link || task == THRUM__NONE)
		return;
	link->sender = task + 1;
	link->sent = s->time;
	link->taken = link->receiver == 0 ? THRUM__OPEN : s->time;
	link->taker = link->receiver;
	/* Two lanes' clocks differ a little: the receive event may come first. */
	if (thrum__model_has_row(&s->model->tasks, link->receiver - 1))
		add_message(s, link, task, link->receiver - 1);
	link->receiver = 0;
	note_first(s, link);
}

void thrum__model_links_receive(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__link *link = link_of(s);

	if (!link || task == THRUM__NONE)
		return;
	thrum__model_task_hear(s->model, task, s->time);
	if (link->sender != 0) {
		link->taken = s->time;
		link->taker = task + 1;
	}
	if (thrum__model_has_row(&s->model->tasks, link->sender - 1))
		add_message(s, link, link->sender - 1, task);
	else {
		link->receiver = task + 1;
		note_first(s, link);
	}
}

uint32_t thrum__model_message_count(const struct thrum__model *m)
{
	return m->links->keys.count;
}

bool thrum__model_message(const struct thrum__model *m, uint32_t number,
	struct thrum__message *message)
{
	const struct thrum__link *link = &m->links->all[number];

	if (link->sender == 0)
		return false;
	*message = (struct thrum__message){link->sender - 1, THRUM__NONE, link->sent, link->taken};
	if (link->taken != THRUM__OPEN)
		message->receiver = link->taker - 1;
	return true;
}

void thrum__model_links_forget(struct thrum__model *m, int64_t before)
{
	struct thrum__model_links *links = m->links;

	if (links->keys.live == 0)
		return;
	bool *is_used = calloc((size_t)links->keys.count + 1, sizeof *is_used);

	if (!is_used)
		return;
	for (uint32_t i = 0; i < links->keys.count; i++) {
		is_used[i] = links->all[i].time >= before;
		if (!is_used[i])
			links->all[i] = (struct thrum__link){0};
	}
	thrum__model_strings_sweep(&links->keys, is_used);
	free(is_used);
}
