/* SPDX-License-Identifier: ISC */
/* Writes, for a lane's own task, how much the lane runs, and its longest runs. */
#include "analyse/graph.h"
#include "report/document/task.h"

#define RUNS_MOST 8 /* the longest ones */

static const struct thrum__lane_use *use_of(const struct thrum__stats *stats, uint32_t lane,
	int kind)
{
	for (uint32_t i = 0; i < stats->use_count; i++)
		if (stats->uses[i].lane == lane && stats->uses[i].kind == kind)
			return &stats->uses[i];
	return NULL;
}

/* Writes how long a lane ran, and which part this is of the time whose events it has. */
static void write_running(struct thrum__document_task_writer *t, uint32_t lane,
	const struct thrum__lane_use *use)
{
	const struct thrum__model *model = t->w.model;
	int64_t from = model->forgotten > 0 ? model->forgotten : 0;
	bool is_cut = model->is_cut && model->lanes[lane].first > from;

	if (is_cut)
		from = model->lanes[lane].first;
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_PAIR, "Runs");
	if (!use || model->end <= from) {
		thrum__document_write_text(&t->w, "nothing");
		return;
	}
	thrum__document_tell_part(t, (double)use->total, model->end - from, is_cut);
	thrum__document_write_text(&t->w, ": ");
	thrum__document_write_duration(&t->w, use->total);
	thrum__document_write_text(&t->w, " in ");
	thrum__document_write_number(&t->w, use->count);
	thrum__document_write_text(&t->w, use->count == 1 ? " run" : " runs");
}

void thrum__document_tell_lane_times(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint32_t lane = 0, told = 0;

	while (lane < model->lane_count && model->lanes[lane].task != t->task)
		lane++;
	if (lane == model->lane_count)
		return;
	write_running(t, lane, use_of(t->stats, lane, THRUM__LANE_RUNNING));
	for (uint32_t i = 0; i < t->stats->longest_count && told < RUNS_MOST; i++) {
		uint32_t run = t->stats->longest[i], request;
		char words[64];

		if (!thrum__model_has_row(&model->runs, run) ||
			THRUM__RUN(model, run, lane) != lane)
			continue;
		if (told++ == 0)
			thrum__document_write_section(&t->w, "Its longest runs");
		thrum__document_write_paragraph(&t->w, THRUM__ROLE_LINE, "");
		thrum__document_write_link(&t->w, words,
			thrum__words_duration(thrum__stats_run_length(model, run), 4, words,
				sizeof words),
			THRUM__LINK_TO_RUN, run);
		thrum__document_write_text(&t->w, " ");
		request = thrum__analyse_run_request(model, run);
		thrum__document_tell_task(t,
			request == THRUM__NONE ? THRUM__RUN(model, run, task) : request);
		thrum__words_event_time(THRUM__RUN(model, run, start), words, sizeof words);
		thrum__document_write_aside(&t->w, words, THRUM__LINK_TO_TIME,
			THRUM__RUN(model, run, start));
	}
}
