/* SPDX-License-Identifier: ISC */
/* Writes the document of a group: how fast its tasks were, how many failed, where their time goes, and to
 * which groups it belongs. */
#include "analyse/graph.h"
#include "report/document/about.h"
#include "words/bands.h"

static void begin_pair(struct thrum__document_about *a, const char *key)
{
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_PAIR, key);
}

static void write_head(struct thrum__document_about *a, uint32_t group)
{
	char name[THRUM__WORDS_GROUP_ROOM];

	thrum__words_group(&a->bands->family, group, name, sizeof name);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&a->w, name);
	thrum__document_write_paragraph(&a->w, THRUM__ROLE_REMARK, "");
	thrum__document_write_number(&a->w, a->bands->family.groups[group].lines);
	thrum__document_write_text(&a->w, " tasks in ");
	thrum__document_about_duration(a, a->time.to[0] - a->time.from[0]);
}

static void write_pace(struct thrum__document_about *a, uint32_t group,
	const struct thrum__bands_numbers *numbers)
{
	char rate[THRUM__NUMBER_ROOM];

	begin_pair(a, "Ended");
	thrum__document_write_number(&a->w, numbers->ended);
	if (numbers->ended == 0)
		return;
	if (numbers->rate >= 10)
		thrum__words_number((uint64_t)(numbers->rate + 0.5), rate);
	else
		thrum__words_decimal(numbers->rate, 1, rate, sizeof rate);
	thrum__document_write_text(&a->w, ", ");
	thrum__document_write_text(&a->w, rate);
	thrum__document_write_text(&a->w, " a second");
	begin_pair(a, "Took");
	thrum__document_write_text(&a->w, "half within ");
	thrum__document_about_duration(a, numbers->half);
	thrum__document_write_text(&a->w, ", 1 in 100 over ");
	thrum__document_about_duration(a, numbers->slow);
	thrum__document_about_slowest(a, group);
}

static void write_ends(struct thrum__document_about *a, uint32_t group,
	const struct thrum__bands_numbers *numbers)
{
	const struct thrum__group *it = &a->bands->family.groups[group];

	if (numbers->failed > 0) {
		begin_pair(a, "Failed");
		thrum__document_about_failing(a, group, numbers);
		thrum__document_about_reasons(a, group, numbers->failed);
	}
	if (it->pending > 0) {
		begin_pair(a, "Pending");
		thrum__document_write_number(&a->w, it->pending);
		thrum__document_write_text(&a->w, " at the end");
	}
	if (it->parent != THRUM__NONE) {
		begin_pair(a, "Part of");
		thrum__document_about_group(a, it->parent);
	}
}

/* Writes the groups that work for it. */
static void write_parts(struct thrum__document_about *a, uint32_t group)
{
	const struct thrum__family *family = &a->bands->family;
	const char *key = "Its parts";

	for (uint32_t i = 0; i < family->shown_count; i++) {
		if (family->groups[family->shown[i]].parent != group)
			continue;
		begin_pair(a, key);
		thrum__document_about_group(a, family->shown[i]);
		key = "";
	}
}

int thrum__document_group(const struct thrum__document_program *program, uint32_t group,
	const struct thrum__story_where *where, struct thrum__document *document)
{
	struct thrum__document_about a = {.program = program, .bands = program->bands};
	struct thrum__bands_numbers numbers;

	a.time = (struct thrum__bands_time){{program->from, 0}, {program->to, 0}};
	thrum__document_write_begin(&a.w, program->bands->model, document);
	if (group >= a.bands->family.group_count)
		return 0;
	thrum__bands_numbers(a.bands, group, &a.time, &numbers);
	write_head(&a, group);
	write_pace(&a, group, &numbers);
	write_ends(&a, group, &numbers);
	write_parts(&a, group);
	if (where->count > 0) {
		thrum__document_write_section(&a.w, "Where its time goes");
		thrum__document_write_since(&a.w, where);
	}
	for (uint32_t i = 0; i < where->count; i++)
		if (where->parts[i].share >= 0.005)
			thrum__document_about_part(&a, group, &where->parts[i]);
	return thrum__document_write_end(&a.w);
}
