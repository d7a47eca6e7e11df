/* SPDX-License-Identifier: ISC */
/* The arrows from where a task ended to where another one read its result. */
#include <stdlib.h>

#include "analyse/stats/stats.h"
#include "base/time.h"
#include "export.h"

/* A task at some time of the walk over the edges. */
struct known {
	int64_t ended;
	uint32_t run;    /* its latest run, or NONE */
	uint32_t end_by; /* the run that ended it, or NONE */
};

struct walk {
	const struct export *export;
	struct known *known; /* by task */
	export_take_arrow *take;
	void *context;
};

/* Returns the run in which a task acts, or NONE. */
static uint32_t acting_run(const struct thrum__model *model, const struct known *known,
	uint32_t task, int64_t time)
{
	uint32_t run = task < model->tasks.count ? known[task].run : THRUM__NONE;

	if (run == THRUM__NONE || time < THRUM__RUN(model, run, start) ||
		(uint64_t)thrum__base_time_between(THRUM__RUN(model, run, start), time) >
			(uint64_t)thrum__stats_run_length(model, run))
		return THRUM__NONE;
	return run;
}

static void pass_edge(const struct walk *walk, uint32_t edge)
{
	const struct thrum__model *model = walk->export->model;
	struct known *known = walk->known;
	int64_t time = THRUM__EDGE(model, edge, time);
	uint8_t kind = THRUM__EDGE(model, edge, kind);
	uint32_t run = acting_run(model, known, THRUM__EDGE(model, edge, from), time);
	uint32_t to = THRUM__EDGE(model, edge, to);

	if (run == THRUM__NONE || !thrum__model_has_row(&model->tasks, to))
		return;
	to = thrum__model_heir(model, to);
	if (kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_FAIL || kind == THRUM__EDGE_CANCEL) {
		known[to].end_by = run;
		known[to].ended = time;
	} else if (kind == THRUM__EDGE_READ && known[to].end_by != THRUM__NONE &&
		known[to].end_by != run && known[to].ended <= time) {
		walk->take(walk->context,
			&(struct export_arrow){edge, known[to].end_by, run, known[to].ended, time});
	}
}

int export_arrows(struct export *export, export_take_arrow *take, void *context)
{
	const struct thrum__model *model = export->model;
	struct known *known = malloc(((size_t)model->tasks.count + 1) * sizeof(*known));
	const struct walk walk = {export, known, take, context};
	uint32_t run = model->runs.first;

	if (!known)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < model->tasks.count; i++)
		known[i] = (struct known){0, THRUM__NONE, THRUM__NONE};
	for (uint32_t i = model->edges.first; i < model->edges.count; i++) {
		if (!thrum__model_has_row(&model->edges, i))
			continue;
		for (; run < model->runs.count; run++) {
			if (!export_has_run(model, run))
				continue;
			if (THRUM__RUN(model, run, start) > THRUM__EDGE(model, i, time))
				break;
			known[THRUM__RUN(model, run, task)].run = run;
		}
		pass_edge(&walk, i);
		export_step(export);
	}
	free(known);
	return 0;
}
