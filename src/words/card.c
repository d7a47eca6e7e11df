/* SPDX-License-Identifier: ISC */
/* Says the most important of a task in few lines, for a card beside the pointer. */
#include "analyse/graph.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "words/words.h"

#define CHAIN_MAX 64 /* tasks that became one another */

static void put_words(struct thrum__base_text *card, const char *words, size_t size, size_t room)
{
	char clean[400];

	size = thrum__base_utf8_clean(words, size < room ? size : room - 1, clean, sizeof clean);
	thrum__base_text_bytes(card, clean, size);
}

static void put_name(struct thrum__base_text *card, const struct thrum__model *model, uint32_t task)
{
	char name[300];
	size_t size = thrum__words_task(model, task, name, sizeof name);

	put_words(card, name, size, sizeof name);
}

static void put_state(struct thrum__base_text *card, const struct thrum__model *model,
	uint32_t task, uint32_t heir)
{
	int state = THRUM__TASK(model, heir, state);
	bool has_ended = state != THRUM__STATE_PENDING;
	int64_t end = has_ended ? THRUM__TASK(model, heir, end) : model->end;
	int most = CHAIN_MAX;
	char words[64];

	/* The whole chain counts, as in the details. */
	for (uint32_t before = task; thrum__model_has_row(&model->tasks, before) && most > 0;
		most--) {
		task = before;
		before = thrum__analyse_task_before(model, task);
	}
	thrum__base_text_format(card, "%s %s ",
		thrum__model_is_stuck(model, heir) ? "never resolved"
						   : thrum__model_state_name(state),
		has_ended ? "after" : "for");
	put_words(card, words,
		thrum__words_duration(thrum__base_time_between(THRUM__TASK(model, task, start),
					      end),
			3, words, sizeof words),
		sizeof words);
}

static void put_failure(struct thrum__base_text *card, const struct thrum__model *model,
	uint32_t heir)
{
	size_t size;
	const char *failure = thrum__model_string(model, THRUM__TASK(model, heir, failure), &size);

	if (size == 0)
		return;
	thrum__base_text_format(card, "\n");
	put_words(card, failure, size, 200);
}

/* The latest wait of a pending task, if nothing was read since. */
static void put_wait(struct thrum__base_text *card, const struct thrum__model *model, uint32_t heir)
{
	uint32_t edge = THRUM__TASK(model, heir, edge_out);

	if (THRUM__TASK(model, heir, state) != THRUM__STATE_PENDING ||
		!thrum__model_has_row(&model->edges, edge) ||
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
		return;
	thrum__base_text_format(card, "\nwaits for ");
	put_name(card, model, THRUM__EDGE(model, edge, to));
}

size_t thrum__words_card(const struct thrum__model *model, uint32_t task, char *to, size_t size)
{
	struct thrum__base_text card = thrum__base_text_in(to, size);
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t heir = thrum__model_heir(model, task);
	char words[300];

	if (!thrum__model_has_row(&model->tasks, heir))
		heir = task;
	put_name(&card, model, task);
	thrum__base_text_format(&card, "\n");
	if (THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) {
		thrum__base_text_format(&card, "runs when no other task does");
		return card.size;
	}
	put_state(&card, model, task, heir);
	put_failure(&card, model, heir);
	put_wait(&card, model, heir);
	if (site) {
		size_t length = thrum__words_site(site, words, sizeof words);

		thrum__base_text_format(&card, "\n");
		put_words(&card, words, length, sizeof words);
	}
	return card.size;
}

size_t thrum__words_run(const struct thrum__model *model, uint32_t run, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	uint32_t lane = THRUM__RUN(model, run, lane);
	int64_t start = THRUM__RUN(model, run, start);
	int64_t end = THRUM__RUN(model, run, end);
	char words[64];

	if (end == THRUM__OPEN)
		end = model->end;
	thrum__words_duration(thrum__base_time_between(start, end), 3, words, sizeof words);
	thrum__base_text_format(&text, "runs %s from ", words);
	thrum__words_event_time(start, words, sizeof words);
	thrum__base_text_put(&text, words);
	if (model->lane_count > 1 && thrum__model_has_row(&model->tasks, model->lanes[lane].task)) {
		thrum__base_text_put(&text, " on ");
		put_name(&text, model, model->lanes[lane].task);
	}
	return text.size;
}
