/* SPDX-License-Identifier: ISC */
/* Divides tasks into traces: see otlp.h. */
#include "convert/otlp.h"

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
	uint8_t *state; /* by place: enum progress_of_task */
	uint32_t *path;
};

static uint8_t *state_of(const struct search *search, uint32_t task)
{
	return &search->state[thrum__place(&search->traces->dense, task)];
}

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
	struct mail *mail; /* by place */
	uint32_t edge, message;
};

/* That of a forgotten task is shared by all of them. */
static struct mail *mail_of(const struct walk *walk, uint32_t task)
{
	return &walk->mail[thrum__place(&walk->traces->dense, task)];
}

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
			take_message(mail_of(walk, message->ends.receiver), THRUM__NONE,
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
		take_message(mail_of(walk, THRUM__EDGE(model, edge, to)),
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
		struct export_place *place = export_place_of(walk->traces, i);
		struct message *last;
		uint32_t maker;

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		take_messages(walk, THRUM__TASK(model, i, created));
		maker = THRUM__TASK(model, i, creator);
		if (!thrum__model_has_row(&model->tasks, maker) || !should_resolve(model, i))
			continue;
		last = &mail_of(walk, maker)->last;
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

	for (uint32_t i = 0; i < traces->dense.count; i++) {
		traces->places[i] = (struct export_place){THRUM__NONE, THRUM__NONE, THRUM__NONE,
			THRUM__NONE, THRUM__NONE, THRUM__NONE, THRUM__NONE};
		mail[i] = (struct mail){none, none, false};
	}
	find_messages(&walk);
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		struct export_place *place = export_place_of(traces, i);
		const struct mail *of = mail_of(&walk, i);

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		if (of->first.is_there && !of->has_several) {
			place->sender = of->first.sender;
			place->received = of->first.header;
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
	uint32_t sender = export_place_of(search->traces, task)->sender;
	uint32_t above = sender != THRUM__NONE ? sender : export_maker(search->model, task);

	return above != THRUM__NONE && *state_of(search, above) != ON_PATH ? above : THRUM__NONE;
}

static void settle(struct search *search, uint32_t task, uint32_t parent)
{
	struct export_place *place = export_place_of(search->traces, task);
	bool should = should_resolve(search->model, task);
	bool is_within = parent != THRUM__NONE && *state_of(search, parent) == KNOWN_REQUEST;
	bool begins;

	/* The way from the sender leads back here. */
	if (place->sender != THRUM__NONE && parent != place->sender)
		place->received = THRUM__NONE;
	if (place->received != THRUM__NONE)
		begins = place->sender == THRUM__NONE;
	else
		begins = parent == THRUM__NONE || (should && !is_within);
	place->parent = begins ? THRUM__NONE : parent;
	place->root = begins ? task : export_place_of(search->traces, parent)->root;
	place->within = place->received;
	if (!begins && place->within == THRUM__NONE)
		place->within = export_place_of(search->traces, parent)->within;
	*state_of(search, task) = should || is_within || place->received != THRUM__NONE
		? KNOWN_REQUEST
		: KNOWN;
}

static void find(struct search *search, uint32_t task)
{
	uint32_t count = 0, parent = task;

	while (parent != THRUM__NONE && *state_of(search, parent) == UNKNOWN) {
		search->path[count++] = parent;
		*state_of(search, parent) = ON_PATH;
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
	const struct export_place *place = export_place_of(traces, task);
	uint32_t header = place->within != THRUM__NONE
		? place->within
		: export_place_of(traces, place->root)->began;

	return header < traces->messages.count ? &traces->messages.all[header] : NULL;
}

static bool is_one_trace(const struct export_message *a, const struct export_message *b)
{
	return memcmp(a->trace, b->trace, sizeof(a->trace)) == 0;
}

static void note_sent(const struct export_traces *traces, uint32_t header)
{
	const struct export_message *all = traces->messages.all;
	struct export_place *sender = export_place_of(traces, all[header].ends.sender);
	uint32_t *began = &export_place_of(traces, sender->root)->began;

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
		struct export_place *place = export_place_of(traces, i);
		const struct export_message *of;

		if (place->sent == THRUM__NONE)
			continue;
		of = export_trace_header(traces, i);
		if (place->sent == SEVERAL || !of ||
			!is_one_trace(of, &traces->messages.all[place->sent]))
			place->sent = THRUM__NONE;
	}
}

static int divide(struct export_traces *traces, const struct thrum__model *model)
{
	size_t count = traces->dense.count;
	struct search search = {.model = model, .traces = traces};
	struct mail *mail = malloc(count * sizeof(*mail));
	int result = -THRUM_E_MEMORY;

	search.path = malloc(count * sizeof(uint32_t));
	search.state = calloc(count, 1);
	if (mail && search.path && search.state) {
		find_senders(traces, model, mail);
		for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
			if (export_is_span(model, i))
				find(&search, i);
		find_sent(traces, model);
		result = 0;
	}
	free(mail);
	free(search.path);
	free(search.state);
	return result;
}

int export_traces_make(struct export_traces *traces, const struct thrum__model *model)
{
	int result = export_messages_make(&traces->messages, model);

	traces->dense = (struct thrum__places){0};
	traces->places = NULL;
	if (thrum__analyse_places_make(model, &traces->dense) < 0)
		return -THRUM_E_MEMORY;
	traces->places = malloc(traces->dense.count * sizeof(*traces->places));
	return result == 0 && traces->places ? divide(traces, model) : -THRUM_E_MEMORY;
}

void export_traces_free(struct export_traces *traces)
{
	export_messages_free(&traces->messages);
	thrum__analyse_places_free(&traces->dense);
	free(traces->places);
}
