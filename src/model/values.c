/* SPDX-License-Identifier: ISC */
/* Counters, which are found by their paths, and links, which are found by their keys. */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "read/connection.h"

#define LATER_MAX 8 /* edges that others add to what a task did before */
#define KEY_MAX 192 /* of a connection, with the name of a process before it */

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
		THRUM__VALUES_SHIFT, s->time);

	if (row == THRUM__NONE)
		return;
	if (s->event->type == THRUM_EVENT_INCREASE)
		value = saturating_sum(counter->last, value);
	thrum__model_put_near(m, &counter->values,
		counter->values.block[row >> THRUM__VALUES_SHIFT], THRUM__VALUES_SHIFT,
		THRUM__NUMBER_OF(values, time), row, s->time);
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

/* Whether the clocks of two lanes may differ by more than the time between two events of theirs. */
static bool is_within_error(const struct thrum__model *m, uint32_t a, uint32_t b, int64_t from,
	int64_t until)
{
	if (m->lanes[a].host == m->lanes[b].host)
		return false;
	return until < from ? from - until < thrum__model_clock_error(m, a, b, until, from)
			    : until - from < thrum__model_clock_error(m, a, b, from, until);
}

/* How often the sender's lane was suspended since it sent a message that is received now. */
static int rests_since(const struct thrum__model_input *s, const struct thrum__link *link,
	uint32_t to)
{
	uint32_t count = s->model->lanes[link->lane].rests - link->rests;

	if (!link->is_of_connection || link->receiver == to + 1)
		return 0;
	return count < THRUM__LINK_RESTS_MAX ? (int)count : THRUM__LINK_RESTS_MAX;
}

/* Adds the edge of a message of which one event came before. */
static void add_message(struct thrum__model_input *s, const struct thrum__link *link, uint32_t from,
	uint32_t to)
{
	struct thrum__model *m = s->model;
	bool is_doubtful = is_within_error(m, link->lane, s->event->lane, link->at, s->time);

	m->has_doubtful |= is_doubtful;
	thrum__model_edge_add(s, THRUM__EDGE_LINK, from, to,
		is_doubtful | (link->is_of_connection ? THRUM__LINK_CONNECTION : 0) |
			rests_since(s, link, to) << THRUM__LINK_RESTS);
}

static uint32_t *cell_of(const struct thrum__model_links *links, uint32_t task)
{
	return &links->cells[(task * UINT32_C(0x9e3779b1)) & (links->cell_count - 1)];
}

static void put_into_cell(struct thrum__model_links *links, uint32_t number)
{
	struct thrum__link *link = &links->all[number];
	uint32_t *cell = cell_of(links, link->awaiting - 1);

	link->next = *cell;
	*cell = number + 1;
}

/* Sorts all that are awaited into cells, as many as there are keys at least. Returns false when there is no
 * memory; then the cells are as they were. */
static bool fill_cells(struct thrum__model_links *links)
{
	uint32_t count = 16;
	uint32_t *cells;

	while (count < links->keys.count)
		count *= 2;
	cells = calloc(count, sizeof *cells);
	if (!cells)
		return false;
	free(links->cells);
	links->cells = cells;
	links->cell_count = count;
	for (uint32_t i = 0; i < links->keys.count; i++)
		if (links->all[i].awaiting)
			put_into_cell(links, i);
	return true;
}

/* Nobody waits for the next message of a key any more. */
static void await_no_more(struct thrum__model_links *links, uint32_t number)
{
	struct thrum__link *link = &links->all[number];
	uint32_t *at;

	if (!link->awaiting)
		return;
	for (at = cell_of(links, link->awaiting - 1); *at != number + 1;)
		at = &links->all[*at - 1].next;
	*at = link->next;
	link->awaiting = 0;
}

uint32_t thrum__model_next_awaited(const struct thrum__model *m, uint32_t task, uint32_t number)
{
	const struct thrum__model_links *links = m->links;
	uint32_t least = THRUM__NONE;

	if (links->cell_count == 0)
		return THRUM__NONE;
	for (uint32_t at = *cell_of(links, task); at; at = links->all[at - 1].next)
		if (links->all[at - 1].awaiting == task + 1 && at - 1 < least &&
			(number == THRUM__NONE || at - 1 > number))
			least = at - 1;
	return least;
}

/* The event waits for the other one. */
static void note_first(const struct thrum__model_input *s, struct thrum__link *link)
{
	link->at = s->time;
	link->lane = s->event->lane;
}

/* Returns the link of a key, a new one if need be; NULL when there is no memory. */
static struct thrum__link *link_of(struct thrum__model_input *s, const char *text, size_t size)
{
	struct thrum__model_links *links = s->model->links;
	uint32_t key = thrum__model_strings_add(&links->keys, text, size);
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
	links->all[key].is_of_connection = thrum__read_is_connection(text, size);
	s->model->has_links = true;
	return &links->all[key];
}

uint32_t thrum__model_last_edge(const struct thrum__model *m, uint32_t task)
{
	uint32_t edge = THRUM__TASK(m, task, edge_out);

	for (int i = 0; i < LATER_MAX && thrum__model_has_row(&m->edges, edge) &&
		(THRUM__EDGE(m, edge, kind) == THRUM__EDGE_LOCK ||
			(THRUM__EDGE(m, edge, kind) == THRUM__EDGE_LINK &&
				THRUM__EDGE(m, edge, value) & THRUM__LINK_CONNECTION));
		i++)
		edge = THRUM__EDGE(m, edge, prev_out);
	return edge;
}

/* The task waits for the next message of a connection, by its latest wait; or for room to send more. */
static void await_message(struct thrum__model_input *s, uint32_t number, uint32_t task,
	bool wants_room)
{
	const struct thrum_event *e = s->event;
	struct thrum__model *m = s->model;
	struct thrum__model_links *links = m->links;
	uint32_t wait = thrum__model_last_edge(m, task);
	char key[KEY_MAX];
	struct thrum__link *twin;

	if (!thrum__model_has_row(&m->edges, wait) ||
		THRUM__EDGE(m, wait, kind) != THRUM__EDGE_WAIT || e->text_size > KEY_MAX)
		return;
	memcpy(key, e->text, e->text_size);
	key[e->text_size - THRUM__CONNECTION_END] ^= 1;
	twin = link_of(s, key, e->text_size);
	if (!twin)
		return;
	links->all[number].twin = (uint32_t)(twin - links->all) + 1;
	if (links->cell_count < links->keys.count && !fill_cells(links)) {
		m->failed = true;
		return;
	}
	await_no_more(links, number);
	links->all[number].awaiting = THRUM__EDGE(m, wait, to) + 1;
	links->all[number].wants_room = wants_room;
	put_into_cell(links, number);
	m->has_connections = true;
}

void thrum__model_links_send(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__link *link = link_of(s, s->event->text, s->event->text_size);

	if (!link || task == THRUM__NONE)
		return;
	if (link->is_of_connection && s->lane->suspended != THRUM__NONE) {
		await_message(s, (uint32_t)(link - s->model->links->all), task, true);
		return;
	}
	await_no_more(s->model->links, (uint32_t)(link - s->model->links->all));
	link->sender = task + 1;
	link->sent = s->time;
	link->rests = s->lane->rests;
	if (link->taker != 0 && link->taken != THRUM__OPEN)
		link->before = link->taken;
	link->taken = link->receiver == 0 ? THRUM__OPEN : s->time;
	/* The receiver of those before receives this one, too. */
	if (link->receiver != 0 || !link->is_of_connection)
		link->taker = link->receiver;
	/* Two lanes' clocks differ a little: the receive event may come first. */
	if (thrum__model_has_row(&s->model->tasks, link->receiver - 1))
		add_message(s, link, task, link->receiver - 1);
	link->receiver = 0;
	note_first(s, link);
}

/* The task has received over a connection; or waits for the next message, if its thread rests. */
static void receive_over(struct thrum__model_input *s, uint32_t number, uint32_t task)
{
	bool rests = s->lane->suspended != THRUM__NONE, is_new;
	struct thrum__link *link;

	if (rests)
		await_message(s, number, task, false);
	link = &s->model->links->all[number];
	is_new = link->sender != 0 && link->taken == THRUM__OPEN;
	if (rests && !is_new) {
		link->receiver = task + 1;
		note_first(s, link);
		return;
	}
	if (is_new && thrum__model_has_row(&s->model->tasks, link->sender - 1))
		add_message(s, link, link->sender - 1, task);
	/* Else it is the rest of a message, unless nobody recorded who sends. */
	if (is_new || link->sender == 0 || link->taker != task + 1) {
		link->is_shared |= link->taker != 0 && link->taker != task + 1;
		link->taken = s->time;
		link->taker = task + 1;
	}
}

void thrum__model_links_receive(struct thrum__model_input *s, uint32_t task)
{
	struct thrum__link *link = link_of(s, s->event->text, s->event->text_size);

	if (!link || task == THRUM__NONE)
		return;
	thrum__model_task_hear(s->model, task, s->time);
	if (link->is_of_connection) {
		receive_over(s, (uint32_t)(link - s->model->links->all), task);
		return;
	}
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

	if (link->sender == 0 || link->is_of_connection)
		return false;
	*message = (struct thrum__message){link->sender - 1, THRUM__NONE, link->sent, link->taken};
	if (link->taken != THRUM__OPEN)
		message->receiver = link->taker - 1;
	return true;
}

bool thrum__model_unread(const struct thrum__model *m, uint32_t number,
	struct thrum__message *message)
{
	const struct thrum__link *link = &m->links->all[number];

	if (!link->is_of_connection || link->sender == 0 || link->taker == 0 ||
		link->taken != THRUM__OPEN)
		return false;
	*message = (struct thrum__message){link->sender - 1, link->taker - 1, link->sent,
		link->before};
	return true;
}

bool thrum__model_message_from_outside(const struct thrum__model *m, uint32_t number,
	struct thrum__message *message)
{
	const struct thrum__link *link = &m->links->all[number];

	if (link->receiver == 0 || link->is_of_connection)
		return false;
	*message = (struct thrum__message){THRUM__NONE, link->receiver - 1, link->at, link->at};
	return true;
}

bool thrum__model_has_sent_unread(const struct thrum__model *m, uint32_t task, int64_t after)
{
	for (uint32_t i = 0; i < m->links->keys.count; i++)
		if (m->links->all[i].sender == task + 1 && m->links->all[i].sent > after &&
			m->links->all[i].receiver == 0 &&
			(m->links->all[i].taker ? m->links->all[i].taken == THRUM__OPEN
						: !m->is_joined))
			return true;
	return false;
}

const char *thrum__model_message_key(const struct thrum__model *m, uint32_t number, size_t *size)
{
	const struct thrum__model_string_entry *key = &m->links->keys.all[number];

	*size = key->size;
	return key->text;
}

bool thrum__model_awaited(const struct thrum__model *m, uint32_t number,
	struct thrum__awaited *awaited)
{
	const struct thrum__link *link = &m->links->all[number];
	const struct thrum__link *twin = link->twin ? &m->links->all[link->twin - 1] : NULL;

	/* An answer that has come since may be the whole one. */
	if (!twin || link->awaiting == 0 || link->wants_room || twin->taker == 0 ||
		link->sent > twin->taken)
		return false;
	*awaited = (struct thrum__awaited){link->awaiting - 1, twin->taker - 1, twin->awaiting - 1,
		twin->taken};
	return true;
}

bool thrum__model_room(const struct thrum__model *m, uint32_t number,
	struct thrum__awaited *awaited)
{
	const struct thrum__link *link = &m->links->all[number];
	const struct thrum__link *twin = link->twin ? &m->links->all[link->twin - 1] : NULL;

	if (!twin || link->awaiting == 0 || !link->wants_room || link->taker == 0 ||
		link->is_shared)
		return false;
	*awaited = (struct thrum__awaited){link->awaiting - 1, link->taker - 1,
		twin->wants_room ? twin->awaiting - 1 : THRUM__NONE, link->sent};
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
		is_used[i] |= links->all[i].time >= before;
		if (is_used[i] && links->all[i].twin)
			is_used[links->all[i].twin - 1] = true;
	}
	for (uint32_t i = 0; i < links->keys.count; i++)
		if (!is_used[i]) {
			await_no_more(links, i);
			links->all[i] = (struct thrum__link){0};
		}
	thrum__model_strings_sweep(&links->keys, is_used);
	free(is_used);
}
