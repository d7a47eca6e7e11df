/* SPDX-License-Identifier: ISC */
/* Names of tasks: the label, or the kind with the call site or the id. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "words/words.h"

bool thrum__words_is_main_context(const struct thrum__model *model, uint32_t task)
{
	return model->is_mirage && thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, id) == 0;
}

const char *thrum__words_kind(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING
		? "task"
		: thrum_kind_name(THRUM__TASK(model, task, kind));
}

const char *thrum__words_kind_help(int kind)
{
	switch (kind) {
	case THRUM_KIND_BIND:
		return "calls a function with a result, and waits for what that returns";
	case THRUM_KIND_TRY: return "calls one of two functions, after a result or a failure";
	case THRUM_KIND_MAP: return "resolves with what a function makes of a result";
	case THRUM_KIND_CHOOSE: return "resolves as the first of several does";
	case THRUM_KIND_PICK:
		return "resolves as the first of several does, and cancels the others";
	case THRUM_KIND_JOIN: return "resolves when all of several have";
	default: return "";
	}
}

/* Prints the id without snprintf where it fits, as a search asks for each of a million tasks. */
size_t thrum__words_kind_and_id(const struct thrum__model *model, uint32_t task, char *to,
	size_t size)
{
	uint64_t id = THRUM__TASK(model, task, id);
	bool is_negative = model->signed_ids && (int64_t)id < 0;
	const char *kind = thrum__words_kind(model, task);
	char digits[24], *at = digits + sizeof digits - 1;
	size_t kind_size = strlen(kind), id_size;

	if (thrum__words_is_main_context(model, task))
		return (size_t)snprintf(to, size, "main context");
	*at = '\0';
	id = is_negative ? 0 - id : id;
	do
		*--at = (char)('0' + id % 10);
	while ((id /= 10) > 0);
	if (is_negative)
		*--at = '-';
	*--at = ' ';
	id_size = (size_t)(digits + sizeof digits - 1 - at);
	if (kind_size + id_size >= size)
		return (size_t)snprintf(to, size, "%s%s", kind, at);
	memcpy(to, kind, kind_size);
	memcpy(to + kind_size, at, id_size + 1);
	return kind_size + id_size;
}

size_t thrum__words_site(const struct thrum_trace_site *site, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	char digits[16], *end = digits + sizeof digits, *at = end; /* ":12 " */

	*--at = ' ';
	for (uint32_t line = site->line; line > 0; line /= 10)
		*--at = (char)('0' + line % 10);
	if (site->line > 0)
		*--at = ':';
	thrum__base_text_put(&text, site->file);
	thrum__base_text_bytes(&text, at, (size_t)(end - at));
	thrum__base_text_put(&text, site->function);
	return text.size;
}

size_t thrum__words_kind_and_site(const struct thrum__model *model, uint32_t task, char *to,
	size_t size)
{
	const struct thrum_trace_site *site;

	if (!thrum__model_has_row(&model->tasks, task))
		return (size_t)snprintf(to, size, "a forgotten task");
	site = thrum__model_site(model, task);
	if (site && site->function[0] && !site->line && !thrum__words_is_main_context(model, task))
		return (size_t)snprintf(to, size, "%s in %s", thrum__words_kind(model, task),
			site->function);
	if (site && site->function[0] && !thrum__words_is_main_context(model, task))
		return (size_t)snprintf(to, size, "%s in %s:%" PRIu32,
			thrum__words_kind(model, task), site->function, site->line);
	return thrum__words_kind_and_id(model, task, to, size);
}

size_t thrum__words_task(const struct thrum__model *model, uint32_t task, char *to, size_t size)
{
	const char *name = "";
	size_t length = 0;

	if (thrum__model_has_row(&model->tasks, task))
		name = thrum__model_task_name(model, task, &length);
	if (length == 0)
		return thrum__words_kind_and_site(model, task, to, size);
	if (size > 0) {
		size_t fits = length < size ? length : size - 1;

		memcpy(to, name, fits);
		to[fits] = 0;
	}
	return length;
}

size_t thrum__words_clock_error(const struct thrum__model *model, uint32_t task, int64_t from,
	int64_t until, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	bool is_known = model->is_joined && thrum__model_has_row(&model->tasks, task);
	uint32_t lane = is_known ? THRUM__TASK(model, task, lane) : THRUM__NONE;
	char words[64];
	int64_t error;

	if (lane >= model->lane_count || model->lanes[lane].task != task)
		return 0;
	for (uint32_t i = 0; i < lane; i++)
		if (model->lanes[i].process == model->lanes[lane].process)
			return 0;
	error = thrum__read_clock_error(&model->clocks, 0, model->lanes[lane].host, from, until);
	if (error == INT64_MAX) {
		thrum__base_text_put(&text, " ± unknown");
	} else if (error > 0) {
		thrum__words_duration(error, 2, words, sizeof words);
		thrum__base_text_put(&text, " ± ");
		thrum__base_text_put(&text, words);
	}
	return text.size;
}
