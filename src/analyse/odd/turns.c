/* SPDX-License-Identifier: ISC */
/* Sorts the events of a model into turns, with what each did, and the turns into series. */
#include "analyse/odd/turns.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/rows.h"
#include "base/array.h"
#include "base/hash.h"

#define SERIES_MAX 4096
#define AT_ONCE 1024 /* rows that are read before it is asked whether to go on */
#define KNOWN 4096   /* names whose classes are remembered, and series by what begins their turns */
#define MADE_BACK 8  /* edges to a task that are searched for its maker's wait */
#define DESCRIPTOR_TAG "woken by descriptor"

/* The class of a name and a kind: most tasks are like one not long before. */
struct known_class {
	uint32_t name, class; /* class + 1; 0: none is known here */
	int kind;
};

/* The series of turns that begin so. */
struct known_series {
	uint64_t begin, by;
	uint32_t series; /* + 1; 0: none is known here */
};

struct thrum__odd_known {
	struct known_class classes[KNOWN];
	struct known_series series[KNOWN];
};

/* Whether there is such a task: the model has forgotten none. */
static bool is_task(const struct thrum__model *model, uint32_t task)
{
	return task < model->tasks.count;
}

/* ---- Classes of tasks --------------------------------------------------------------------- */

/* The number of a task's class; NONE: it has no name. */
static uint32_t class_of(struct thrum__odd_work *work, uint32_t task)
{
	const struct thrum__model *model = work->model;
	uint32_t name = thrum__model_label(model, task), class;
	int kind = THRUM__TASK(model, task, kind);
	struct known_class *known =
		&work->known->classes[thrum__base_hash_number((uint64_t)kind, name) % KNOWN];
	char pattern[THRUM__LABEL_PATTERN_MAX];
	const char *label;
	size_t size;

	if (name == THRUM__NONE)
		return THRUM__NONE;
	if (known->class > 0 && known->name == name && known->kind == kind)
		return known->class - 1;
	label = thrum__model_string(model, name, &size);
	if (size == 0)
		return THRUM__NONE;
	size = thrum__analyse_label_pattern(label, size, pattern);
	if (thrum__base_keys_add(&work->classes, (uint64_t)kind, pattern, size, &class) < 0) {
		work->error = -THRUM_E_MEMORY;
		return THRUM__NONE;
	}
	*known = (struct known_class){name, class + 1, kind};
	return class;
}

static void set_vague(struct thrum__odd_work *work, uint32_t class)
{
	bool *grown = thrum__base_grow_zeroed(work->is_vague, &work->vague_room,
		class + UINT64_C(1), sizeof *work->is_vague);

	if (grown) {
		work->is_vague = grown;
		grown[class] = true;
	} else {
		work->error = -THRUM_E_MEMORY;
	}
}

/* ---- Turns -------------------------------------------------------------------------------- */

/* The series of turns that begin so; NONE: there are too many. */
static uint32_t series_of(struct thrum__odd_work *work, uint32_t class, unsigned sort, uint64_t by)
{
	uint64_t begin = class | (uint64_t)sort << 32;
	struct known_series *known =
		&work->known->series[thrum__base_hash_number(begin, by) % KNOWN];
	uint32_t at;
	void *grown;

	if (class == THRUM__NONE || by == THRUM__NONE || work->keys.count >= SERIES_MAX)
		return THRUM__NONE;
	if (known->series > 0 && known->begin == begin && known->by == by)
		return known->series - 1;
	if (thrum__base_keys_add(&work->keys, begin, (const char *)&by, sizeof by, &at) == 0) {
		grown = thrum__base_grow_zeroed(work->series, &work->series_room, at + UINT64_C(1),
			sizeof *work->series);
		if (grown) {
			work->series = grown;
			*known = (struct known_series){begin, by, at + 1};
			return at;
		}
	}
	work->error = -THRUM_E_MEMORY;
	return THRUM__NONE;
}

/* A task's turn that isn't over, or NULL. */
static struct thrum__odd_turn *open_turn(const struct thrum__odd_work *work, uint32_t task)
{
	uint32_t open = work->open[task];

	return open > 0 ? &work->turns[open - 1] : NULL;
}

static void begin_turn(struct thrum__odd_work *work, const struct thrum__odd_turn *turn)
{
	uint32_t *open = &work->open[turn->task];
	struct thrum__odd_turn *grown = thrum__base_grow(work->turns, &work->room,
		work->count + UINT64_C(1), sizeof *work->turns);

	if (!grown) {
		work->error = -THRUM_E_MEMORY;
		return;
	}
	work->turns = grown;
	if (*open > 0 && grown[*open - 1].until == THRUM__OPEN)
		grown[*open - 1].until = turn->time;
	grown[work->count] = *turn;
	grown[work->count].effects = 1;
	*open = ++work->count;
}

static void note_effect(struct thrum__odd_work *work, uint32_t task, int kind, uint32_t on)
{
	struct thrum__odd_turn *turn = open_turn(work, task);
	struct thrum__odd_series *series;
	uint32_t like, i = 0;

	if (!turn || turn->series == THRUM__NONE || !is_task(work->model, on))
		return;
	like = class_of(work, on);
	series = &work->series[turn->series];
	while (i < series->count && (series->of[i].kind != kind || series->of[i].like != like))
		i++;
	if (like == THRUM__NONE || i == THRUM__ODD_EFFECTS)
		return;
	if (i == series->count)
		series->of[series->count++] = (struct thrum__odd_effect){.kind = kind,
			.like = like,
			.on = on};
	series->of[i].is_several |= series->of[i].on != on;
	series->of[i].on = on;
	series->of[i].last = turn->time;
	turn->effects |= (uint16_t)(2u << i);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* How often a lane has waited for work. */
static uint32_t lane_works(const struct thrum__odd_work *work, uint32_t lane)
{
	return lane < work->model->lane_count ? work->rested[lane] : 0;
}

/* A callback's task ends in this run. Its run before, in the same round of its loop, closed it. */
static void note_closing(struct thrum__odd_work *work, const struct thrum__odd_turn *last)
{
	struct thrum__odd_turn *before = open_turn(work, last->task);

	if (before && before->works == last->works)
		before->closes = true;
}

static void note_run(struct thrum__odd_work *work, uint32_t run)
{
	const struct thrum__model *model = work->model;
	uint32_t task = THRUM__RUN(model, run, task), class;
	struct thrum__odd_turn turn = {.task = task, .after = THRUM__NONE, .descriptor = -1};
	bool is_callback, ends;

	work->ran[THRUM__RUN(model, run, lane)] = run;
	if (!is_task(work->model, task) || THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD)
		return;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_HANDLE:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_REQUEST: is_callback = true; break;
	default: is_callback = false; break;
	}
	if (!is_callback && (open_turn(work, task) || thrum__analyse_task_is_pending(model, task)))
		return;
	class = class_of(work, task);
	if (class == THRUM__NONE)
		return;
	turn.time = THRUM__RUN(model, run, start);
	turn.until = THRUM__RUN(model, run, end);
	ends = THRUM__TASK(model, task, end) >= turn.time &&
		THRUM__TASK(model, task, end) <= turn.until;
	turn.works = lane_works(work, THRUM__RUN(model, run, lane));
	if (is_callback && ends)
		note_closing(work, &turn);
	turn.series = series_of(work, class, is_callback && ends, 0);
	begin_turn(work, &turn);
}

/* Whether a task's maker waits for it itself, as for a sleep. */
static bool is_own_wait(const struct thrum__model *model, uint32_t task)
{
	THRUM__ACTS_ON (model, task, edge, MADE_BACK, THRUM__EDGE_WAIT)
		if (THRUM__EDGE(model, edge, from) == THRUM__TASK(model, task, creator))
			return true;
	return false;
}

static void note_task(struct thrum__odd_work *work, uint32_t task)
{
	const struct thrum__model *model = work->model;
	uint32_t maker = THRUM__TASK(model, task, creator);

	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_TASK:
	case THRUM_KIND_ASYNC:
	case THRUM_KIND_PROMISE:
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_FIBER:
	case THRUM_KIND_THREAD: break;
	default: return;
	}
	if (is_task(work->model, maker) && open_turn(work, maker) && !is_own_wait(model, task))
		note_effect(work, maker, THRUM__EFFECT_BEGINS, task);
}

/* The lane on which a task runs, or else the one that made it. */
static uint32_t lane_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) ? THRUM__RUN(model, run, lane)
						       : THRUM__TASK(model, task, lane);
}

/* How often a thread's lane has waited for work. */
static uint32_t works_of(const struct thrum__odd_work *work, uint32_t thread)
{
	return lane_works(work, lane_of(work->model, thread));
}

/* Tells apart for what a thread waited: its sleeps at different places begin different turns. */
static uint64_t start_of(struct thrum__odd_work *work, uint32_t source)
{
	uint64_t class = class_of(work, source);

	return class != THRUM__NONE && THRUM__TASK(work->model, source, kind) == THRUM_KIND_TIMER
		? class | (uint64_t)THRUM__TASK(work->model, source, site) << 32
		: class;
}

/* A thread goes on after a wait, unless it works for a descriptor. */
static void note_read(struct thrum__odd_work *work, uint32_t thread, uint32_t source, int64_t time)
{
	const struct thrum__model *model = work->model;
	struct thrum__odd_turn *before = open_turn(work, thread);
	struct thrum__odd_turn turn = {.task = thread,
		.time = time,
		.until = THRUM__OPEN,
		.after = source,
		.descriptor = -1};

	if (THRUM__TASK(model, thread, kind) != THRUM_KIND_THREAD ||
		!is_task(work->model, source) ||
		(before && before->descriptor >= 0 && before->works == works_of(work, thread)) ||
		(before && before->after == source && !before->has_waited))
		return;
	turn.series = series_of(work, class_of(work, thread), 2, start_of(work, source));
	begin_turn(work, &turn);
}

/* Whether a thread's wait is an old one that is told anew: what it made to wait for waits itself. */
static bool is_told_anew(const struct thrum__odd_work *work, const struct thrum__odd_turn *turn,
	uint32_t source)
{
	const struct thrum__model *model = work->model;
	uint32_t edge;

	if (turn->effects != 1 || turn->after == THRUM__NONE || turn->has_waited ||
		!is_task(work->model, source) || THRUM__TASK(model, source, creator) != turn->task)
		return false;
	edge = THRUM__TASK(model, source, edge_out);
	THRUM__EDGES_BACK (model, edge, prev_out, MADE_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT)
			return true;
	return false;
}

/* A task begins to wait. */
static void note_wait(struct thrum__odd_work *work, uint32_t task, uint32_t source)
{
	struct thrum__odd_turn *turn = open_turn(work, task);

	if (!turn)
		return;
	if (is_told_anew(work, turn, source))
		turn->series = THRUM__NONE;
	turn->has_waited = true;
	turn->waits_on = is_task(work->model, source) ? class_of(work, source) + 1 : 0;
}

static void note_edge(struct thrum__odd_work *work, uint32_t edge)
{
	const struct thrum__model *model = work->model;
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);

	if (!is_task(work->model, from) || from == to)
		return;
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_WAIT: note_wait(work, from, to); break;
	case THRUM__EDGE_READ: note_read(work, from, to, THRUM__EDGE(model, edge, time)); break;
	case THRUM__EDGE_SIGNAL: note_effect(work, from, THRUM__EFFECT_SIGNALS, to); break;
	case THRUM__EDGE_READY: note_effect(work, from, THRUM__EFFECT_READIES, to); break;
	case THRUM__EDGE_RESOLVE:
	case THRUM__EDGE_FAIL:
	case THRUM__EDGE_CANCEL:
		if (THRUM__TASK(model, to, creator) != from || !is_own_wait(model, to))
			note_effect(work, from, THRUM__EFFECT_ENDS, to);
		break;
	default: break;
	}
}

/* A thread's loop woke up. Nobody knows for which of several descriptors it does something then. */
static void note_descriptor(struct thrum__odd_work *work, uint32_t thread, int64_t descriptor,
	int64_t time)
{
	uint32_t works = works_of(work, thread);
	struct thrum__odd_turn *before = open_turn(work, thread);
	struct thrum__odd_turn turn = {.task = thread,
		.time = time,
		.until = THRUM__OPEN,
		.after = THRUM__NONE,
		.works = works,
		.descriptor = (int32_t)descriptor};

	if (before && before->descriptor >= 0 && before->works == works) {
		before->series = THRUM__NONE;
		return;
	}
	turn.series = series_of(work, class_of(work, thread), 3, (uint32_t)descriptor);
	begin_turn(work, &turn);
}

/* The run that set a timer, or stopped it, at a time; NONE: that isn't known. It is one of the timer's loop,
 * which isn't known of a timer that never ran and was made by a thread. */
static uint32_t run_for(struct thrum__odd_work *work, uint32_t timer, int64_t time)
{
	const struct thrum__model *model = work->model;
	uint32_t maker = THRUM__TASK(model, timer, creator), lane = lane_of(model, timer);
	uint32_t class = class_of(work, timer), run;

	if (THRUM__TASK(model, timer, run) == THRUM__NONE && class != THRUM__NONE &&
		is_task(work->model, maker) &&
		THRUM__TASK(model, maker, kind) == THRUM_KIND_THREAD) {
		set_vague(work, class);
		return THRUM__NONE;
	}
	run = lane < model->lane_count ? work->ran[lane] : THRUM__NONE;
	return thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, end) >= time &&
			is_task(work->model, THRUM__RUN(model, run, task))
		? run
		: THRUM__NONE;
}

static void note_note(struct thrum__odd_work *work, uint32_t note)
{
	const struct thrum__model *model = work->model;
	uint32_t task = THRUM__NOTE(model, note, task), run;
	int64_t time = THRUM__NOTE(model, note, time), value = THRUM__NOTE(model, note, value);

	if (!is_task(work->model, task))
		return;
	if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_TAG_VALUE) {
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD && value >= 0 &&
			value < INT32_MAX &&
			strcmp(thrum__model_string(model, THRUM__NOTE(model, note, text), NULL),
				DESCRIPTOR_TAG) == 0)
			note_descriptor(work, task, value, time);
		return;
	}
	if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE || is_own_wait(model, task))
		return;
	run = run_for(work, task, time);
	if (run == THRUM__NONE)
		return;
	note_effect(work, THRUM__RUN(model, run, task),
		value == THRUM__OPEN ? THRUM__EFFECT_STOPS : THRUM__EFFECT_SETS, task);
}

static void note_suspension(struct thrum__odd_work *work, uint32_t suspension)
{
	const struct thrum__model *model = work->model;

	work->rested[THRUM__SUSPENSION(model, suspension, lane)] += thrum__model_is_reason(model,
		THRUM__SUSPENSION(model, suspension, text), THRUM__REASON_WORK);
}

/* Notes the next row. Returns false if there is none. */
static inline bool note_next(struct thrum__odd_work *work, struct thrum__rows *rows)
{
	switch (thrum__analyse_next_table(rows)) {
	case THRUM__TABLE_SUSPENSIONS:
		note_suspension(work, thrum__analyse_take_row(rows, THRUM__TABLE_SUSPENSIONS));
		return true;
	case THRUM__TABLE_RUNS:
		note_run(work, thrum__analyse_take_row(rows, THRUM__TABLE_RUNS));
		return true;
	case THRUM__TABLE_NOTES:
		note_note(work, thrum__analyse_take_row(rows, THRUM__TABLE_NOTES));
		return true;
	case THRUM__TABLE_TASKS:
		note_task(work, thrum__analyse_take_row(rows, THRUM__TABLE_TASKS));
		return true;
	case THRUM__TABLE_EDGES:
		note_edge(work, thrum__analyse_take_row(rows, THRUM__TABLE_EDGES));
		return true;
	default: return false;
	}
}

static void note_all(struct thrum__odd_work *work)
{
	struct thrum__rows rows;
	bool has_more = true;

	thrum__analyse_begin_rows(work->model, &rows);
	while (has_more && work->error == 0 &&
		!atomic_load_explicit(work->is_unwanted, memory_order_relaxed))
		for (unsigned i = 0; has_more && i < AT_ONCE; i++)
			has_more = note_next(work, &rows);
}

/* ---- Series ---------------------------------------------------------------------------------- */

static void count_effects(struct thrum__odd_work *work)
{
	for (uint32_t t = 0; t < work->count; t++) {
		struct thrum__odd_turn *turn = &work->turns[t];

		if (turn->series == THRUM__NONE)
			continue;
		struct thrum__odd_series *series = &work->series[turn->series];

		series->turns++;
		turn->before = series->last;
		series->last = t + 1;
		for (unsigned a = 0; turn->effects >> a; a++)
			for (unsigned b = 0; turn->effects >> b; b++)
				series->both[a][b] += turn->effects >> a & turn->effects >> b & 1;
	}
}

void thrum__odd_turns_free(struct thrum__odd_work *work)
{
	if (!work)
		return;
	thrum__base_keys_free(&work->classes);
	thrum__base_keys_free(&work->keys);
	free(work->series);
	free(work->turns);
	free(work->known);
	free(work->open);
	free(work->is_vague);
	free(work->ran);
	free(work->rested);
	free(work);
}

struct thrum__odd_work *thrum__odd_turns_make(const struct thrum__model *model,
	const atomic_bool *is_unwanted)
{
	struct thrum__odd_work *work = calloc(1, sizeof *work);
	size_t lanes = (size_t)model->lane_count + 1;

	if (!work)
		return NULL;
	work->model = model;
	work->is_unwanted = is_unwanted;
	work->known = calloc(1, sizeof *work->known);
	work->open = calloc((size_t)model->tasks.count + 1, sizeof *work->open);
	work->ran = malloc(lanes * sizeof *work->ran);
	work->rested = calloc(lanes, sizeof *work->rested);
	if (work->known && work->open && work->ran && work->rested) {
		memset(work->ran, 0xff, lanes * sizeof *work->ran);
		note_all(work);
		count_effects(work);
	} else {
		work->error = -THRUM_E_MEMORY;
	}
	if (work->error == 0 && !*is_unwanted)
		return work;
	thrum__odd_turns_free(work);
	return NULL;
}
