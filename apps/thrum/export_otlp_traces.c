/* SPDX-License-Identifier: ISC */
/* Divides tasks into traces: see export_otlp.h. */
#include "export_otlp.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/family/family.h"

/* How much is known of a task's trace. */
enum progress_of_task {
	UNKNOWN,
	ON_PATH, /* the search goes through it */
	KNOWN,
	KNOWN_REQUEST, /* it or a task above it should resolve */
};

struct search {
	const struct thrum__model *model;
	struct export_traces *traces;
	uint8_t *state; /* by task: enum progress_of_task */
	uint32_t *path;
};

bool export_is_span(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) &&
		!thrum__family_is_shared(model, task);
}

static bool should_resolve(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE;
}

uint32_t export_maker(const struct thrum__model *model, uint32_t task)
{
	uint32_t parent = THRUM__TASK(model, task, parent);

	return parent != task && export_is_span(model, parent) ? parent : THRUM__NONE;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Its sender, and its number if it is a header; each may be NONE. */
struct message {
	uint32_t sender, header;
	bool is_there;
};

struct mail {
	struct message first, last; /* the latest so far */
	bool has_several;
};

/* The messages in the order of time: edges, and headers from outside. */
struct walk {
	const struct export_traces *traces;
	const struct thrum__model *model;
	struct mail *mail; /* by task */
	uint32_t edge, message;
};

static void take_message(struct mail *of, uint32_t sender, uint32_t header)
{
	of->last = (struct message){sender, header, true};
	of->has_several = of->first.is_there;
	if (!of->has_several)
		of->first = of->last;
}

static void take_from_outside(struct walk *walk, int64_t until)
{
	const struct export_messages *messages = &walk->traces->messages;

	for (; walk->message < messages->count; walk->message++) {
		const struct export_message *message = &messages->all[walk->message];

		if (message->ends.received > until)
			return;
		if (message->is_header && message->ends.sender == THRUM__NONE &&
			message->ends.receiver != THRUM__NONE)
			take_message(&walk->mail[message->ends.receiver], THRUM__NONE,
				walk->message);
	}
}

/* The message of an edge, if it is a header. */
static uint32_t header_of(const struct walk *walk, uint32_t edge)
{
	const struct export_messages *messages = &walk->traces->messages;
	uint32_t number = export_messages_find(messages, walk->model, edge);

	return number != THRUM__NONE && messages->all[number].is_header ? number : THRUM__NONE;
}

static void take_messages(struct walk *walk, int64_t until)
{
	const struct thrum__model *model = walk->model;

	for (; walk->edge < model->edges.count; walk->edge++) {
		uint32_t edge = walk->edge;

		if (!thrum__model_has_row(&model->edges, edge) ||
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LINK ||
			THRUM__EDGE(model, edge, to) >= model->tasks.count)
			continue;
		if (THRUM__EDGE(model, edge, time) > until)
			break;
		take_from_outside(walk, THRUM__EDGE(model, edge, time));
		take_message(&walk->mail[THRUM__EDGE(model, edge, to)],
			THRUM__EDGE(model, edge, from), header_of(walk, edge));
	}
	take_from_outside(walk, until);
}

/* Finds for each request the message that its maker received before it. Each message is taken for one
 * request only. */
static void find_messages(struct walk *walk)
{
	const struct thrum__model *model = walk->model;

	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		struct export_place *place = &walk->traces->places[i];
		struct message *last;
		uint32_t maker;

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		take_messages(walk, THRUM__TASK(model, i, created));
		maker = THRUM__TASK(model, i, creator);
		if (maker >= model->tasks.count || !should_resolve(model, i))
			continue;
		last = &walk->mail[maker].last;
		place->sender = last->sender;
		place->received = last->header;
		*last = (struct message){THRUM__NONE, THRUM__NONE, false};
	}
	take_messages(walk, INT64_MAX);
}

/* Whether a task was there before another one, so that it can be above it. */
static bool is_before(const struct thrum__model *model, uint32_t task, uint32_t other)
{
	return !thrum__model_has_row(&model->tasks, task) ||
		(task != other &&
			THRUM__TASK(model, task, start) < THRUM__TASK(model, other, start));
}

static void find_senders(struct export_traces *traces, const struct thrum__model *model,
	struct mail *mail)
{
	const struct message none = {THRUM__NONE, THRUM__NONE, false};
	struct walk walk = {traces, model, mail, model->edges.first, 0};

	for (uint32_t i = 0; i < model->tasks.count; i++) {
		traces->places[i] = (struct export_place){THRUM__NONE, THRUM__NONE, THRUM__NONE,
			THRUM__NONE, THRUM__NONE, THRUM__NONE, THRUM__NONE};
		mail[i] = (struct mail){none, none, false};
	}
	find_messages(&walk);
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		struct export_place *place = &traces->places[i];

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		if (mail[i].first.is_there && !mail[i].has_several) {
			place->sender = mail[i].first.sender;
			place->received = mail[i].first.header;
		}
		if (!is_before(model, place->sender, i))
			place->received = THRUM__NONE;
		if (!is_before(model, place->sender, i) || !export_is_span(model, place->sender))
			place->sender = THRUM__NONE;
	}
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* The task above a task, be it in its trace or not; NONE also where the way would be a circle. */
static uint32_t above(const struct search *search, uint32_t task)
{
	uint32_t sender = search->traces->places[task].sender;
	uint32_t above = sender != THRUM__NONE ? sender : export_maker(search->model, task);

	return above != THRUM__NONE && search->state[above] != ON_PATH ? above : THRUM__NONE;
}

static void settle(struct search *search, uint32_t task, uint32_t parent)
{
	struct export_place *places = search->traces->places, *place = &places[task];
	bool should = should_resolve(search->model, task);
	bool is_within = parent != THRUM__NONE && search->state[parent] == KNOWN_REQUEST;
	bool begins;

	/* The way from the sender leads back here. */
	if (place->sender != THRUM__NONE && parent != place->sender)
		place->received = THRUM__NONE;
	if (place->received != THRUM__NONE)
		begins = place->sender == THRUM__NONE;
	else
		begins = parent == THRUM__NONE || (should && !is_within);
	place->parent = begins ? THRUM__NONE : parent;
	place->root = begins ? task : places[parent].root;
	place->within = place->received;
	if (!begins && place->within == THRUM__NONE)
		place->within = places[parent].within;
	search->state[task] = should || is_within || place->received != THRUM__NONE ? KNOWN_REQUEST
										    : KNOWN;
}

static void find(struct search *search, uint32_t task)
{
	uint32_t count = 0, parent = task;

	while (parent != THRUM__NONE && search->state[parent] == UNKNOWN) {
		search->path[count++] = parent;
		search->state[parent] = ON_PATH;
		parent = above(search, parent);
	}
	while (count-- > 0) {
		settle(search, search->path[count], parent);
		parent = search->path[count];
	}
}

/* ---- Numbers --------------------------------------------------------------------------------- */

#define SEVERAL (THRUM__NONE - 1)

const struct export_message *export_trace_header(const struct export_traces *traces, uint32_t task)
{
	const struct export_place *place = &traces->places[task];
	uint32_t header = place->within != THRUM__NONE ? place->within
						       : traces->places[place->root].began;

	return header < traces->messages.count ? &traces->messages.all[header] : NULL;
}

static bool is_one_trace(const struct export_message *a, const struct export_message *b)
{
	return memcmp(a->trace, b->trace, sizeof(a->trace)) == 0;
}

static void note_sent(const struct export_traces *traces, uint32_t header)
{
	const struct export_message *all = traces->messages.all;
	struct export_place *sender = &traces->places[all[header].ends.sender];
	uint32_t *began = &traces->places[sender->root].began;

	sender->sent = sender->sent == THRUM__NONE ? header : SEVERAL;
	if (sender->within != THRUM__NONE)
		return;
	if (*began == THRUM__NONE)
		*began = header;
	else if (*began != SEVERAL && !is_one_trace(&all[*began], &all[header]))
		*began = SEVERAL;
}

/* Headers that a program sent give numbers to its spans. */
static void find_sent(const struct export_traces *traces, const struct thrum__model *model)
{
	for (uint32_t i = 0; i < traces->messages.count; i++)
		if (traces->messages.all[i].is_header &&
			export_is_span(model, traces->messages.all[i].ends.sender))
			note_sent(traces, i);
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		struct export_place *place = &traces->places[i];
		const struct export_message *of;

		if (place->sent == THRUM__NONE)
			continue;
		of = export_trace_header(traces, i);
		if (place->sent == SEVERAL || !of ||
			!is_one_trace(of, &traces->messages.all[place->sent]))
			place->sent = THRUM__NONE;
	}
}

int export_traces_make(struct export_traces *traces, const struct thrum__model *model)
{
	size_t count = (size_t)model->tasks.count + 1;
	struct search search = {.model = model, .traces = traces};
	struct mail *mail = malloc(count * sizeof(*mail));
	int result = export_messages_make(&traces->messages, model);

	traces->places = malloc(count * sizeof(*traces->places));
	search.path = malloc(count * sizeof(uint32_t));
	search.state = calloc(count, 1);
	if (!mail || !traces->places || !search.path || !search.state)
		result = -THRUM_E_MEMORY;
	if (result == 0) {
		find_senders(traces, model, mail);
		for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
			if (export_is_span(model, i))
				find(&search, i);
		find_sent(traces, model);
	}
	free(mail);
	free(search.path);
	free(search.state);
	return result;
}

void export_traces_free(struct export_traces *traces)
{
	export_messages_free(&traces->messages);
	free(traces->places);
}
