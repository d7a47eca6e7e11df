/* SPDX-License-Identifier: ISC */
/* Divides tasks into traces: see export_otlp.h. */
#include "export_otlp.h"

#include <stdlib.h>

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

struct mail {
	uint32_t first, last; /* who sent the first message, and the latest so far; or NONE */
	bool has_several;
};

static void take_message(const struct thrum__model *model, struct mail *mail, uint32_t edge)
{
	struct mail *of = &mail[THRUM__EDGE(model, edge, to)];

	of->last = THRUM__EDGE(model, edge, from);
	of->has_several = of->first != THRUM__NONE;
	if (!of->has_several)
		of->first = of->last;
}

static bool is_message(const struct thrum__model *model, uint32_t edge)
{
	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK &&
		THRUM__EDGE(model, edge, to) < model->tasks.count;
}

/* Finds for each request the message that its maker received before it. Each message is taken for one
 * request only. */
static void find_messages(struct export_traces *traces, const struct thrum__model *model,
	struct mail *mail)
{
	uint32_t edge = model->edges.first;

	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		uint32_t maker;

		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		for (; edge < model->edges.count; edge++) {
			if (!is_message(model, edge))
				continue;
			if (THRUM__EDGE(model, edge, time) > THRUM__TASK(model, i, created))
				break;
			take_message(model, mail, edge);
		}
		maker = THRUM__TASK(model, i, creator);
		if (maker >= model->tasks.count || !should_resolve(model, i))
			continue;
		traces->sender[i] = mail[maker].last;
		mail[maker].last = THRUM__NONE;
	}
	for (; edge < model->edges.count; edge++)
		if (is_message(model, edge))
			take_message(model, mail, edge);
}

static void find_senders(struct export_traces *traces, const struct thrum__model *model,
	struct mail *mail)
{
	for (uint32_t i = 0; i < model->tasks.count; i++) {
		traces->sender[i] = THRUM__NONE;
		mail[i] = (struct mail){THRUM__NONE, THRUM__NONE, false};
	}
	find_messages(traces, model, mail);
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++) {
		uint32_t *sender = &traces->sender[i];

		if (mail[i].first != THRUM__NONE && !mail[i].has_several)
			*sender = mail[i].first;
		if (*sender == i || !thrum__model_has_row(&model->tasks, i) ||
			!export_is_span(model, *sender) ||
			THRUM__TASK(model, *sender, start) >= THRUM__TASK(model, i, start))
			*sender = THRUM__NONE;
	}
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* The task above a task, be it in its trace or not; NONE also where the way would be a circle. */
static uint32_t above(const struct search *search, uint32_t task)
{
	uint32_t sender = search->traces->sender[task];
	uint32_t above = sender != THRUM__NONE ? sender : export_maker(search->model, task);

	return above != THRUM__NONE && search->state[above] != ON_PATH ? above : THRUM__NONE;
}

static void settle(struct search *search, uint32_t task, uint32_t parent)
{
	bool should = should_resolve(search->model, task);
	bool is_within = parent != THRUM__NONE && search->state[parent] == KNOWN_REQUEST;
	bool begins = parent == THRUM__NONE || (should && !is_within);

	search->traces->parent[task] = begins ? THRUM__NONE : parent;
	search->traces->root[task] = begins ? task : search->traces->root[parent];
	search->state[task] = should || is_within ? KNOWN_REQUEST : KNOWN;
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

int export_traces_make(struct export_traces *traces, const struct thrum__model *model)
{
	size_t count = (size_t)model->tasks.count + 1;
	struct search search = {.model = model, .traces = traces};
	struct mail *mail = malloc(count * sizeof(*mail));
	int result = -THRUM_E_MEMORY;

	traces->parent = malloc(count * sizeof(uint32_t));
	traces->root = malloc(count * sizeof(uint32_t));
	traces->sender = malloc(count * sizeof(uint32_t));
	search.path = malloc(count * sizeof(uint32_t));
	search.state = calloc(count, 1);
	if (mail && traces->parent && traces->root && traces->sender && search.path &&
		search.state) {
		find_senders(traces, model, mail);
		for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
			if (export_is_span(model, i))
				find(&search, i);
		result = 0;
	}
	free(mail);
	free(search.path);
	free(search.state);
	return result;
}

void export_traces_free(struct export_traces *traces)
{
	free(traces->parent);
	free(traces->root);
	free(traces->sender);
}
