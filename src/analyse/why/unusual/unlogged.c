/* SPDX-License-Identifier: ISC */
/*
 * Tells which log line is missing: a task that should resolve waits for a handle, and its like each time
 * logged a certain line soon after the one that it logged last. So it may be in a state that the others left.
 */
#include "analyse/why/unusual/unusual.h"

#define TIMES_MIN 4   /* so often the line came after that one */
#define LONGER 20     /* so many times as long as ever before, it is missing */
#define NOTES_BACK 64 /* of a task */

/* The line that follows another one. */
struct following {
	uint32_t after; /* the text of that line */
	uint32_t text, note, times;
	int64_t longest; /* until it came */
	bool is_unsure;  /* something else, or nothing, came as well */
};

/* The next log line of a task, from this note back. Sets *left to the notes that may still be read. NONE: it
 * has no more, or too many notes. */
static uint32_t log_from(const struct thrum__model *model, uint32_t note, int *left)
{
	for (; *left > 0 && thrum__model_has_row(&model->notes, note);
		note = THRUM__NOTE(model, note, prev), --*left)
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_LOG)
			return note;
	return THRUM__NONE;
}

static void add(const struct thrum__model *model, struct following *following, uint32_t note,
	uint32_t next)
{
	uint32_t text = THRUM__NOTE(model, next, text);
	int64_t took = THRUM__NOTE(model, next, time) - THRUM__NOTE(model, note, time);

	if (following->times++ == 0)
		following->text = text;
	following->note = next;
	following->longest = took > following->longest ? took : following->longest;
	following->is_unsure |= text != following->text;
}

/* Reads the log lines of a task. Those that are pending may lack the same one. */
static void read_task(const struct thrum__model *model, uint32_t task, struct following *following)
{
	int left = NOTES_BACK;
	uint32_t next = THRUM__NONE, note = log_from(model, THRUM__TASK(model, task, note), &left);

	while (note != THRUM__NONE) {
		if (THRUM__NOTE(model, note, text) == following->after) {
			if (next != THRUM__NONE)
				add(model, following, note, next);
			else
				following->is_unsure |= !thrum__analyse_task_is_pending(model,
					task);
		}
		next = note;
		note = log_from(model, THRUM__NOTE(model, note, prev), &left);
	}
}

uint32_t thrum__why_unlogged(struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct following following = {.note = THRUM__NONE};
	const struct thrum__peer *peer = last ? thrum__why_peers_of(&search->peers, last->task)
					      : NULL;
	int left = NOTES_BACK;
	uint32_t note;
	int64_t since;

	if (!last || last->is_served || !path->is_marked || search->gap >= 0 || model->is_joined ||
		THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_HANDLE)
		return THRUM__NONE;
	note = log_from(model, THRUM__TASK(model, last->task, note), &left);
	if (note == THRUM__NONE)
		return note;
	since = THRUM__NOTE(model, note, time);
	following.after = THRUM__NOTE(model, note, text);
	if (model->end - since < THRUM__SOON_OUTSIDE || !peer || peer->ended < peer->pending ||
		!thrum__why_spend(search, model->tasks.count))
		return THRUM__NONE;
	THRUM__EACH_TASK (model, task)
		if (task != last->task && thrum__why_is_alike(search, task, last->task))
			read_task(model, task, &following);
	return following.times >= TIMES_MIN && !following.is_unsure &&
			following.text != following.after &&
			(model->end - since) / LONGER > following.longest
		? following.note
		: THRUM__NONE;
}
