/* SPDX-License-Identifier: ISC */
/* Writes findings as JSON. */
#include <string.h>

#include "answer/why.h"
#include "base/json.h"
#include "line/text.h"
#include "scene/scene.h"

static void write_json_key(struct output *out, const char *key)
{
	char *to = output_room(out, strlen(key) + 4);

	if (to[-1] != '{')
		*to++ = ',';
	*to++ = '"';
	to = put_string(to, key);
	*to++ = '"';
	*to++ = ':';
	out->at = to;
}

static void write_json_text(struct output *out, const char *key, const char *text, size_t size)
{
	if (size == 0)
		return;
	write_json_key(out, key);
	output_text(out, "\"");
	output_put(out, text, size, thrum__base_json_escape, THRUM__JSON_BYTES);
	output_text(out, "\"");
}

static void write_json_number(struct output *out, const char *key, int64_t number)
{
	write_json_key(out, key);
	out->at = put_signed(output_room(out, NUMBER_ROOM), number);
}

/* Writes a task's id under `key`, and its label and call site under keys of their own. */
static void write_json_task(struct output *out, const struct thrum__model *model, const char *key,
	uint32_t task, uint32_t edge)
{
	char words[600];
	const char *name;
	size_t size;

	if (!thrum__model_has_row(&model->tasks, task))
		return;
	write_json_key(out, key);
	out->at = put_id(output_room(out, NUMBER_ROOM), THRUM__TASK(model, task, id),
		model->signed_ids);
	name = thrum__model_task_name(model, task, &size);
	write_json_text(out, strcmp(key, "task") == 0 ? "label" : "other-label", name, size);
	size = why_put_site(why_site_of(model, task, edge), words, sizeof words);
	write_json_text(out, strcmp(key, "task") == 0 ? "site" : "other-site", words, size);
	if (model->is_joined) {
		const char *process = thrum__model_process(model, task);

		write_json_text(out, strcmp(key, "task") == 0 ? "process" : "other-process",
			process, strlen(process));
	}
}

/* Returns the name that `dump` gives to the event behind an edge. */
static const char *event_of(int kind)
{
	static const uint8_t types[THRUM__EDGE_KINDS] = {
		[THRUM__EDGE_WAIT] = THRUM_EVENT_WAIT,
		[THRUM__EDGE_READ] = THRUM_EVENT_READ,
		[THRUM__EDGE_RESOLVE] = THRUM_EVENT_RESOLVE,
		[THRUM__EDGE_FAIL] = THRUM_EVENT_FAIL,
		[THRUM__EDGE_CANCEL] = THRUM_EVENT_CANCEL,
		[THRUM__EDGE_SIGNAL] = THRUM_EVENT_SIGNAL,
		[THRUM__EDGE_LOCK] = THRUM_EVENT_LOCK,
		[THRUM__EDGE_UNLOCK] = THRUM_EVENT_UNLOCK,
		[THRUM__EDGE_BECOME] = THRUM_EVENT_BECOME,
		[THRUM__EDGE_READ_LATER] = THRUM_EVENT_READ_LATER,
		[THRUM__EDGE_LINK] = THRUM_EVENT_LINK_RECEIVE,
		[THRUM__EDGE_READY] = THRUM_EVENT_READY,
	};

	return thrum_event_name(types[kind]);
}

static void write_json_step(struct output *out, const struct thrum__model *model,
	const struct thrum__step *step)
{
	const char *name = thrum__why_step_name(step->kind);

	output_text(out, "{");
	write_json_text(out, "step", name, strlen(name));
	write_json_number(out, "time", step->time);
	if (thrum__model_has_row(&model->edges, step->edge)) {
		const char *event = event_of(THRUM__EDGE(model, step->edge, kind));

		write_json_text(out, "event", event, strlen(event));
		write_json_number(out, "event-time", THRUM__EDGE(model, step->edge, time));
	}
	write_json_task(out, model, "task", step->task, thrum__why_place(model, step));
	write_json_task(out, model, "other", step->other, THRUM__NONE);
	if (step->more > 0)
		write_json_number(out, "more", step->more);
	output_text(out, "}");
}

void why_write_json(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding, const char *unknown)
{
	const char *class = thrum__why_class_name(finding->class);
	const char *certainty = thrum__why_certainty_name(finding->certainty);
	char words[600];

	output_text(out, "{");
	write_json_text(out, "class", class, strlen(class));
	write_json_text(out, "certainty", certainty, strlen(certainty));
	thrum__words_finding(model, finding, words, sizeof words);
	write_json_text(out, "text", words, strlen(words));
	thrum__words_finding_cause(model, finding, words, sizeof words);
	write_json_text(out, "cause", words, strlen(words));
	write_json_task(out, model, "task", finding->task, THRUM__NONE);
	write_json_number(out, "behind", finding->behind);
	if (finding->count > 0)
		write_json_number(out, "count", finding->count);
	if (finding->peers > 0) {
		write_json_number(out, "peers", finding->peers);
		write_json_number(out, "usual", finding->usual);
		write_json_number(out, "longest", finding->longest);
	}
	write_json_key(out, "steps");
	output_text(out, "[");
	for (unsigned i = 0; i < finding->step_count; i++) {
		output_text(out, i > 0 ? "," : "");
		write_json_step(out, model, &finding->steps[i]);
	}
	output_text(out, "]");
	write_json_text(out, "unknown", unknown, strlen(unknown));
	output_text(out, "}\n");
}
