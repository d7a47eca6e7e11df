/* SPDX-License-Identifier: ISC */
/* The arrows between runs. */
#include <stdlib.h>

#include "analyse/graph.h"
#include "analyse/stats/stats.h"
#include "base/time.h"
#include "convert/export.h"

#define RUNS_BACK 64 /* are looked at one by one */

/* A task at some time of the walk over the edges. */
struct known {
	uint32_t run;      /* its latest run, or NONE */
	uint32_t waits_by; /* the run in which it began to wait for `awaited`, or NONE */
	uint32_t awaited;
	uint32_t end_by; /* the run that ended it, or NONE */
	int64_t waits_at, ended;
};

struct walk {
	const struct export *export;
	struct export_messages messages;
	struct thrum__places dense; /* numbers the tasks that aren't forgotten */
	struct known *known;        /* by these numbers; the first is for all others */
	uint32_t number;            /* of the latest arrow */
	export_take_arrow *take;
	void *context;
};

static struct known *known_of(const struct walk *walk, uint32_t task)
{
	return &walk->known[thrum__place(&walk->dense, task)];
}

const char *export_arrow_category(const struct export_arrow *arrow)
{
	static const char *const categories[] = {
#define X(NAME, category, from, to) category,
		EXPORT_ARROWS(X)
#undef X
	};

	return categories[arrow->kind];
}

/* Gives an arrow, if it leads to another run, and not back: clocks of two machines differ. */
static void give(struct walk *walk, enum export_arrow_kind kind, uint32_t from, int64_t begin,
	uint32_t to, int64_t end)
{
	static const char *const names[][2] = {
#define X(NAME, category, from, to) {from, to},
		EXPORT_ARROWS(X)
#undef X
	};

	if (from == THRUM__NONE || to == THRUM__NONE || from == to || begin > end)
		return;
	walk->take(walk->context,
		&(struct export_arrow){kind, ++walk->number, {names[kind][0], from, begin},
			{names[kind][1], to, end}});
}

static bool lasts_at(const struct thrum__model *model, uint32_t run, int64_t time)
{
	int64_t start = THRUM__RUN(model, run, start);

	return time >= start &&
		(uint64_t)thrum__base_time_between(start, time) <=
		(uint64_t)thrum__stats_run_length(model, run);
}

/* Returns the run in which a task acts, or NONE. */
static uint32_t acting_run(const struct walk *walk, uint32_t task, int64_t time)
{
	const struct thrum__model *model = walk->export->model;
	uint32_t run = known_of(walk, task)->run;

	return run != THRUM__NONE && lasts_at(model, run, time) ? run : THRUM__NONE;
}

/* Returns the last run of a lane that began by then, or NONE. */
static uint32_t run_of_lane(const struct walk *walk, uint32_t lane, int64_t time)
{
	const struct thrum__model *model = walk->export->model;
	const struct export_order *runs = &walk->export->runs;
	uint32_t low, high;

	if (lane >= model->lane_count)
		return THRUM__NONE;
	low = runs->first[lane];
	high = runs->first[lane + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (THRUM__RUN(model, runs->rows[middle], start) <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low > runs->first[lane] ? runs->rows[low - 1] : THRUM__NONE;
}

static bool is_run_of(const struct walk *walk, uint32_t run, uint32_t task, int64_t time)
{
	const struct thrum__model *model = walk->export->model;

	return export_has_run(model, run) && THRUM__RUN(model, run, task) == task &&
		lasts_at(model, run, time);
}

/* Returns the run of a task at an earlier time, or NONE. Many runs back only two lanes are looked at: that
 * in which it ran then, and that in which it was made. */
static uint32_t earlier_run(const struct walk *walk, uint32_t task, int64_t time)
{
	const struct thrum__model *model = walk->export->model;
	uint32_t run = known_of(walk, task)->run, found;

	for (int i = 0; i < RUNS_BACK && export_has_run(model, run); i++) {
		if (THRUM__RUN(model, run, start) <= time)
			return lasts_at(model, run, time) ? run : THRUM__NONE;
		run = THRUM__RUN(model, run, prev);
	}
	if (!export_has_run(model, run))
		return THRUM__NONE;
	found = run_of_lane(walk, THRUM__RUN(model, run, lane), time);
	if (!is_run_of(walk, found, task, time))
		found = run_of_lane(walk, THRUM__TASK(model, task, lane), time);
	return is_run_of(walk, found, task, time) ? found : THRUM__NONE;
}

/* ---- Edges ----------------------------------------------------------------------------------- */

/* A message over a connection doesn't tell when it was sent: that counts as just now, if its sender runs. */
static void pass_message(struct walk *walk, uint32_t edge)
{
	const struct thrum__model *model = walk->export->model;
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	uint32_t number = export_messages_find(&walk->messages, model, edge);
	int64_t time = THRUM__EDGE(model, edge, time);
	int64_t sent = number == THRUM__NONE ? time : walk->messages.all[number].ends.sent;

	give(walk, EXPORT_MESSAGE, earlier_run(walk, from, sent), sent, acting_run(walk, to, time),
		time);
}

static void pass_read(struct walk *walk, uint32_t run, uint32_t from, uint32_t to, int64_t time)
{
	struct known *reader = known_of(walk, from);
	const struct known *read = known_of(walk, to);

	if (read->end_by == THRUM__NONE || read->ended > time)
		return;
	if (reader->awaited == to)
		give(walk, EXPORT_WAIT, reader->waits_by, reader->waits_at, read->end_by,
			read->ended);
	reader->awaited = THRUM__NONE;
	give(walk, EXPORT_READ, read->end_by, read->ended, run, time);
}

static void pass_edge(struct walk *walk, uint32_t edge)
{
	const struct thrum__model *model = walk->export->model;
	int64_t time = THRUM__EDGE(model, edge, time);
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	uint32_t run = acting_run(walk, from, time);

	if (!thrum__model_has_row(&model->tasks, to))
		return;
	if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK) {
		pass_message(walk, edge);
		return;
	}
	to = thrum__model_heir(model, to);
	if (!thrum__model_has_row(&model->tasks, to))
		return;
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_RESOLVE:
	case THRUM__EDGE_FAIL:
	case THRUM__EDGE_CANCEL:
		if (run == THRUM__NONE)
			break;
		known_of(walk, to)->end_by = run;
		known_of(walk, to)->ended = time;
		break;
	case THRUM__EDGE_WAIT:
		if (!thrum__model_has_row(&model->tasks, from))
			break;
		known_of(walk, from)->waits_by = run;
		known_of(walk, from)->waits_at = time;
		known_of(walk, from)->awaited = to;
		break;
	case THRUM__EDGE_READ:
		if (run != THRUM__NONE)
			pass_read(walk, run, from, to, time);
		break;
	}
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void pass_run(struct walk *walk, uint32_t run)
{
	const struct thrum__model *model = walk->export->model;
	uint32_t task = THRUM__RUN(model, run, task);
	struct known *known = known_of(walk, task);
	uint32_t creator = THRUM__TASK(model, task, creator);
	int64_t created = THRUM__TASK(model, task, created);

	if (known->run == THRUM__NONE && creator != task)
		give(walk, EXPORT_SPAWN, earlier_run(walk, creator, created), created, run,
			THRUM__RUN(model, run, start));
	known->run = run;
}

static void walk_edges(struct walk *walk, struct export *export)
{
	const struct thrum__model *model = export->model;
	uint32_t run = model->runs.first;

	for (uint32_t i = 0; i < walk->dense.count; i++)
		walk->known[i] = (struct known){.run = THRUM__NONE,
			.waits_by = THRUM__NONE,
			.awaited = THRUM__NONE,
			.end_by = THRUM__NONE};
	for (uint32_t i = model->edges.first; i <= model->edges.count; i++) {
		bool is_last = i == model->edges.count;

		if (!is_last && !thrum__model_has_row(&model->edges, i))
			continue;
		for (; run < model->runs.count; run++) {
			if (!export_has_run(model, run))
				continue;
			if (!is_last && THRUM__RUN(model, run, start) > THRUM__EDGE(model, i, time))
				break;
			pass_run(walk, run);
		}
		if (!is_last)
			pass_edge(walk, i);
		export_step(export);
	}
}

int export_arrows(struct export *export, export_take_arrow *take, void *context)
{
	struct walk walk = {.export = export, .take = take, .context = context};
	int result = export_messages_make(&walk.messages, export->model);

	if (thrum__analyse_places_make(export->model, &walk.dense) == 0)
		walk.known = malloc(walk.dense.count * sizeof(*walk.known));
	if (!walk.known)
		result = -THRUM_E_MEMORY;
	if (result == 0)
		walk_edges(&walk, export);
	free(walk.known);
	thrum__analyse_places_free(&walk.dense);
	export_messages_free(&walk.messages);
	return result;
}
