/* SPDX-License-Identifier: ISC */
/* Writes the document of a finding: the title, how certain it is, then the steps, the cause first.
 * words/finding.c makes the sentences. */
#include <string.h>

#include "report/document/parts.h"

#define SENTENCE 1000

/* Whether a gap lies between the finding's first step and its end. */
static bool is_near_gap(const struct thrum__model *model, const struct thrum__finding *finding)
{
	int64_t since = INT64_MAX;

	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].time < since)
			since = finding->steps[i].time;
	for (uint32_t i = model->gaps.first; i < model->gaps.count; i++)
		if (thrum__model_has_row(&model->gaps, i) && THRUM__GAP(model, i, end) >= since &&
			THRUM__GAP(model, i, start) <= finding->until)
			return true;
	for (uint32_t i = 0; i < model->unrecorded_count; i++)
		if (model->unrecorded[i].end >= since &&
			model->unrecorded[i].start <= finding->until)
			return true;
	return false;
}

/* Writes the sentence of a step, with links where it names tasks. */
static void write_sentence(struct thrum__document_writer *w, const struct thrum__finding *finding,
	unsigned i)
{
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX];
	char words[SENTENCE];
	unsigned count;
	size_t size = thrum__words_step_sentence(w->model, finding, i, words, sizeof words,
		mentions, &count);

	thrum__document_write_sentence(w, words, size, sizeof words, mentions, count, 0);
}

/* Whether a step lasts until the finding's end. Then its aside tells since when and how long. */
static bool goes_on(int kind)
{
	switch (kind) {
	case THRUM__STEP_NEVER_RESOLVED:
	case THRUM__STEP_WAITS_FOR:
	case THRUM__STEP_WAITS_IN_CYCLE:
	case THRUM__STEP_HOLDS:
	case THRUM__STEP_NEEDS_LANE:
	case THRUM__STEP_BLOCKS_SERVERS:
	case THRUM__STEP_BEHIND: return true;
	default: return false;
	}
}

static void write_when(struct thrum__document_writer *w, const struct thrum__finding *finding,
	const struct thrum__step *step)
{
	char words[160] = "";
	size_t at = 0;

	if (goes_on(step->kind)) {
		strcpy(words, "since ");
		at = strlen(words);
	}
	at += thrum__words_event_time(step->time, words + at, sizeof words - at);
	if (goes_on(step->kind)) {
		strcpy(words + at, ", ");
		at += strlen(", ");
		thrum__words_duration(thrum__base_time_between(step->time, finding->until), 4,
			words + at, sizeof words - at);
	}
	thrum__document_write_aside(w, words, THRUM__LINK_TO_TIME, step->time);
}

static void write_behind(struct thrum__document_writer *w, const struct thrum__finding *finding)
{
	char words[SENTENCE];

	if (thrum__words_finding_more(finding, words, sizeof words) == 0)
		return;
	thrum__document_write_paragraph(w, THRUM__ROLE_MORE, "");
	thrum__document_write_text(w, "and ");
	thrum__document_write_text(w, words);
}

int thrum__document_finding(const struct thrum__model *model, const struct thrum__finding *finding,
	struct thrum__document *document)
{
	struct thrum__document_writer w;
	char words[SENTENCE];

	thrum__document_write_begin(&w, model, document);
	thrum__words_finding_title(model, finding, words, sizeof words);
	thrum__document_write_paragraph(&w, THRUM__ROLE_TITLE, "");
	thrum__document_write_bad(&w, words);
	thrum__document_write_paragraph(&w, THRUM__ROLE_REMARK, "");
	thrum__document_write_text(&w, thrum__why_certainty_name(finding->certainty));
	thrum__document_write_text(&w,
		is_near_gap(model, finding) ? " · events were lost nearby"
					    : " · no events lost nearby");
	for (unsigned i = 0; i < finding->step_count; i++) {
		thrum__document_write_paragraph(&w, THRUM__ROLE_STEP, "")->number = (uint8_t)(i +
			1);
		write_sentence(&w, finding, i);
		write_when(&w, finding, &finding->steps[i]);
	}
	write_behind(&w, finding);
	return thrum__document_write_end(&w);
}
