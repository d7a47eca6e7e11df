/* SPDX-License-Identifier: ISC */
/* Chooses the words that stand for a unit. */
#include <string.h>

#include "scene/paint/names.h"
#include "words/match.h"

#define CHAIN_LOOKED_AT 4    /* tasks of a chain whose labels are looked at */
#define BEFORE_LOOKED_AT 256 /* notes before a time in which a unit's name is looked for */

/* Whether a note is a label; an empty or blank one is none. */
static bool is_label(const struct thrum__model *model, uint32_t note)
{
	const char *text;

	if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_LABEL)
		return false;
	text = thrum__model_string(model, THRUM__NOTE(model, note, text), NULL);
	return text[strspn(text, " ")] != '\0';
}

static bool is_label_of(const struct thrum__paint *p, uint32_t note, uint32_t unit)
{
	uint32_t task = THRUM__NOTE(p->model, note, task);

	return is_label(p->model, note) && thrum__layout_unit(p->layout, task) == unit;
}

/* Returns a task's earliest label if it was set by a time, else NONE; also NONE if the task has
 * many notes. */
static uint32_t early_label(const struct thrum__paint *p, uint32_t task, int64_t until)
{
	const struct thrum__model *model = p->model;
	uint32_t note = THRUM__TASK(model, task, note), found = THRUM__NONE;

	for (int i = 0; thrum__model_has_row(&model->notes, note); i++) {
		if (i == THRUM__NOTES_LOOKED_AT)
			return THRUM__NONE;
		if (is_label(model, note))
			found = THRUM__NOTE(model, note, time) <= until
				? THRUM__NOTE(model, note, text)
				: THRUM__NONE;
		note = THRUM__NOTE(model, note, prev);
	}
	return found;
}

uint32_t thrum__paint_first_label(const struct thrum__paint *p, uint32_t unit)
{
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	uint32_t track = thrum__layout_track(p->layout, unit), task = u->task;
	int64_t until = thrum__scene_time_axis_time(p->time,
		thrum__scene_time_axis_x(p->time, u->start) + THRUM__NAME_EARLY);
	size_t end, at = thrum__index_seek(p->index, THRUM__INDEX_NOTES, track, u->start, &end);

	if (until < u->start)
		until = u->start;
	for (size_t last = at + THRUM__NOTES_LOOKED_AT; at < end && at < last; at++) {
		uint32_t note = thrum__index_item(p->index, THRUM__INDEX_NOTES, at);

		if (THRUM__NOTE(p->model, note, time) > until)
			break;
		if (is_label_of(p, note, unit))
			return THRUM__NOTE(p->model, note, text);
	}
	/* The label was set before the unit begins: look at the tasks of its chain. */
	for (int i = 0; i < CHAIN_LOOKED_AT && thrum__model_has_row(&p->model->tasks, task); i++) {
		uint32_t label = early_label(p, task, until);

		if (label != THRUM__NONE)
			return label;
		task = thrum__layout_next(p->layout, p->model, task);
	}
	return THRUM__NONE;
}

uint32_t thrum__paint_label_at(const struct thrum__paint *p, uint32_t unit, int64_t time)
{
	const int kind = THRUM__INDEX_NOTES;
	uint32_t track = thrum__layout_track(p->layout, unit);
	size_t end, at = thrum__index_seek(p->index, kind, track, time, &end);
	size_t first = thrum__index_first(p->index, kind, track);

	for (int i = 0; i < THRUM__NOTES_LOOKED_AT && at > first; i++) {
		uint32_t note = thrum__index_item(p->index, kind, --at);

		if (is_label_of(p, note, unit))
			return THRUM__NOTE(p->model, note, text);
	}
	return THRUM__NONE;
}

bool thrum__paint_is_first_label(const struct thrum__model *model, uint32_t note)
{
	for (int i = 0; i < THRUM__NOTES_LOOKED_AT; i++) {
		note = THRUM__NOTE(model, note, prev);
		if (!thrum__model_has_row(&model->notes, note))
			return true;
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_LABEL)
			return false;
	}
	return false;
}

uint32_t thrum__paint_name_at(const struct thrum__paint *p, uint32_t unit, int64_t time)
{
	uint32_t track = thrum__layout_track(p->layout, unit), said = THRUM__NONE;
	size_t end, at = thrum__index_seek(p->index, THRUM__INDEX_NOTES, track, time, &end);
	size_t first = thrum__index_first(p->index, THRUM__INDEX_NOTES, track);

	for (int i = 0; i < BEFORE_LOOKED_AT && at > first; i++) {
		uint32_t note = thrum__index_item(p->index, THRUM__INDEX_NOTES, --at);

		if (!is_label_of(p, note, unit))
			continue;
		if (!p->model->is_mirage || thrum__paint_is_first_label(p->model, note))
			return THRUM__NOTE(p->model, note, text);
		said = said == THRUM__NONE ? THRUM__NOTE(p->model, note, text) : said;
	}
	return thrum__paint_first_label(p, unit) == THRUM__NONE ? said : THRUM__NONE;
}

uint32_t thrum__paint_task_at(const struct thrum__paint *p, uint32_t unit, int64_t time)
{
	uint32_t track = thrum__layout_track(p->layout, unit), task;
	size_t end, at = thrum__index_seek(p->index, THRUM__INDEX_RUNS, track, time, &end);

	if (at > thrum__index_first(p->index, THRUM__INDEX_RUNS, track)) {
		task = THRUM__RUN(p->model, thrum__index_item(p->index, THRUM__INDEX_RUNS, at - 1),
			task);
		if (thrum__layout_unit(p->layout, task) == unit)
			return task;
	}
	return p->layout->units[unit].task;
}

bool thrum__paint_name_is_found(const struct thrum__paint *p, const char *text, size_t size)
{
	size_t wanted_size = strlen(p->state->search);

	return wanted_size > 0 &&
		thrum__words_text_contains(text, size, p->state->search, wanted_size);
}
