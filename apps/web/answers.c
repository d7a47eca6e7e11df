/* SPDX-License-Identifier: ISC */
/* Answers as JSON: the words of the page, the changes after input, documents. The types are in
 * src/messages.ts. */
#include <string.h>

#include "core.h"
#include "report/document/program.h"

#define LONGEST_RUNS 1000
#define COUNTERS_MAX 500 /* in the menu of counters */

/* The last outline that was answered. */
static struct {
	const struct thrum__scene *scene; /* NULL: it may be gone */
	uint32_t count;
	struct thrum__scene_item items[THRUM__OUTLINE_MAX];
} outline;

struct part *core_part(unsigned part)
{
	return core.stage && part < core.stage->count ? &core.parts[part] : NULL;
}

void part_forget(struct part *part)
{
	for (int i = 0; i < THRUM__TABLE_COUNT; i++)
		if (part->has_table[i])
			thrum__table_finish(&part->table[i]);
	thrum__stats_free(&part->stats);
	outline.scene = NULL;
}

/* Makes a step of the statistics. Returns whether there are more. */
static bool step_stats(unsigned number)
{
	struct part *part = core_part(number);
	int more;

	if (!part || part->has_stats)
		return false;
	if (!part->stats.model)
		thrum__stats_begin(&part->stats, part->model, true, LONGEST_RUNS);
	more = thrum__stats_go_on(&part->stats);
	part->has_stats = more == 0;
	return more > 0;
}

const struct thrum__stats *core_stats(unsigned number)
{
	struct part *part = core_part(number);

	while (step_stats(number))
		;
	return part && part->has_stats ? &part->stats : NULL;
}

/* ---- Words and tokens ---------------------------------------------------------------------- */

/* Answers the commands, for the page's keys and its help. */
EXPORT(core_commands) void core_commands(void)
{
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "[");
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++) {
		json_next(out);
		json_put(out, "{");
		json_key_string(out, "name", thrum__scene_command_name(i));
		json_key_string(out, "keys", thrum__scene_command_keys(i));
		json_key_string(out, "help", thrum__scene_command_help(i));
		json_key_string(out, "group", thrum__scene_command_group(i));
		json_put(out, "}");
	}
	json_put(out, "]");
}

#define WORD_OF(NAME, word) word,
#define PAIR_OF(word, help) {word, help},

/* Adds an array of pairs. */
static void put_pairs(struct thrum__base_text *out, const char *key, const char *const (*pairs)[2],
	size_t count)
{
	json_key(out, key);
	json_put(out, "[");
	for (size_t i = 0; i < count; i++) {
		json_next(out);
		json_put(out, "[");
		json_string(out, pairs[i][0]);
		json_next(out);
		json_string(out, pairs[i][1]);
		json_put(out, "]");
	}
	json_put(out, "]");
}

/* Answers the words around tables and histogram. */
EXPORT(core_words) void core_words(void)
{
	static const char *const measures[] = {THRUM__MEASURES(WORD_OF)};
	static const char *const gestures[][2] = {THRUM__GESTURES(PAIR_OF)};
	static const char *const reading[][2] = {THRUM__READING(PAIR_OF)};
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "{");
	json_key_string(out, "filter", THRUM__TABLE_FILTER);
	json_key_string(out, "whole", THRUM__TABLE_WHOLE);
	json_key_string(out, "all", THRUM__CHART_ALL);
	json_key_string(out, "hint", THRUM__CHART_HINT);
	json_key_string(out, "list", THRUM__CHART_LIST);
	json_key_string(out, "slow", THRUM__DOCUMENT_SLOW_NONE);
	json_key(out, "measures");
	json_put(out, "[");
	for (int i = 0; i < THRUM__MEASURE_COUNT; i++) {
		json_next(out);
		json_string(out, measures[i]);
	}
	json_put(out, "]");
	put_pairs(out, "gestures", gestures, sizeof gestures / sizeof *gestures);
	put_pairs(out, "reading", reading, sizeof reading / sizeof *reading);
	json_key(out, "tables");
	json_put(out, "{");
	for (int i = 0; i < THRUM__TABLE_COUNT; i++)
		if (thrum__table_is_in_panels(i))
			json_key_string(out, thrum__table_form(i)->name,
				thrum__table_form(i)->title);
	json_put(out, "}}");
}

static void put_colours(struct thrum__base_text *out, int theme)
{
	json_key(out, thrum__draw_theme_name(theme));
	json_put(out, "[");
	for (int i = 0; i < THRUM__COLOUR_COUNT; i++) {
		json_next(out);
		json_integer(out, thrum__draw_theme_colour(theme, i));
	}
	json_put(out, "]");
}

/* Answers colours, fonts and dashes, for the painter and the page's style sheet. */
EXPORT(core_tokens) void core_tokens(void)
{
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "{");
	json_key_string(out, "face", THRUM__FACE);
	json_key(out, "colours");
	json_put(out, "[");
	for (int i = 0; i < THRUM__COLOUR_COUNT; i++) {
		json_next(out);
		json_string(out, thrum__draw_colour_name(i));
	}
	json_put(out, "]");
	json_key(out, "themes");
	json_put(out, "{");
	for (int i = 0; i < THRUM__THEME_COUNT; i++)
		put_colours(out, i);
	json_put(out, "}");
	json_key(out, "fonts");
	json_put(out, "[");
	for (int i = 0; i < THRUM__FONT_COUNT; i++) {
		json_next(out);
		json_put(out, "{");
		json_key_integer(out, "size", thrum__draw_font_size(i));
		json_key_integer(out, "weight", thrum__draw_font_weight(i));
		json_put(out, "}");
	}
	json_put(out, "]");
	json_key(out, "dashes");
	json_put(out, "[");
	for (int i = 0; i < THRUM__DASH_COUNT; i++) {
		float lengths[4];
		size_t count = thrum__draw_dash_lengths(i, lengths);

		json_next(out);
		json_put(out, "[");
		for (size_t j = 0; j < count; j++) {
			json_next(out);
			json_integer(out, (int64_t)lengths[j]);
		}
		json_put(out, "]");
	}
	json_put(out, "]}");
}

/* ---- Changes ------------------------------------------------------------------------------- */

static void put_counters(struct thrum__base_text *out, unsigned number)
{
	const struct thrum__model *model = core.parts[number].model;

	json_key(out, "counters");
	json_put(out, "[");
	for (uint32_t i = 0; i < model->counter_count && i < COUNTERS_MAX; i++) {
		size_t size;
		const char *name = thrum__model_string(model, model->counters[i].name, &size);

		json_next(out);
		json_put(out, "{");
		json_key(out, "name");
		json_text(out, name, size);
		json_key_bool(out, "shown", thrum__stage_has_counter(core.stage, number, i));
		json_put(out, "}");
	}
	json_put(out, "]");
}

static void put_parts(struct thrum__base_text *out)
{
	char words[400];

	json_key(out, "parts");
	json_put(out, "[");
	for (unsigned i = 0; i < core.stage->count; i++) {
		const struct thrum__stage_part *part = &core.stage->parts[i];
		const struct thrum__model *model = core.parts[i].model;

		json_next(out);
		json_put(out, "{");
		json_key_string(out, "name", part->name);
		thrum__stage_part_words(core.stage, i, words, sizeof words);
		json_key_string(out, "words", words);
		thrum__stage_finding_words(core.stage, i, words, sizeof words);
		json_key_string(out, "findingWords", words);
		json_key_integer(out, "tasks", model->tasks.count - model->tasks.first);
		json_key_integer(out, "findings", part->scene->findings.count);
		put_counters(out, i);
		json_put(out, "}");
	}
	json_put(out, "]");
	thrum__stage_finding_words(core.stage, THRUM__NONE, words, sizeof words);
	json_key_string(out, "findingWords", words);
}

/* Selects the task at a place and answers its part and name for a menu; task -1: nothing is there. */
EXPORT(core_menu) int core_menu(float x, float y)
{
	struct thrum__base_text *out = &core.out;
	uint32_t part, task = thrum__stage_pick(core.stage, x, y, &part);
	char name[300] = "";

	thrum__base_text_clear(out);
	if (task != THRUM__NONE)
		thrum__words_task(core.stage->parts[part].scene->model, task, name, sizeof name);
	json_put(out, "{");
	json_key_integer(out, "part", part);
	json_key_integer(out, "task", task == THRUM__NONE ? -1 : (int64_t)task);
	json_key_string(out, "name", name);
	json_put(out, "}");
	return task == THRUM__NONE ? 0 : thrum__stage_select(core.stage, part, task);
}

static const struct thrum__scene *focused_scene(void)
{
	return core.stage->count > 0 ? core.stage->parts[core.stage->focus].scene : NULL;
}

/* Answers the outline of the part with the focus. */
EXPORT(core_outline) void core_outline(void)
{
	struct thrum__base_text *out = &core.out;

	outline.scene = focused_scene();
	outline.count = outline.scene ? thrum__scene_outline(outline.scene, outline.items) : 0;
	thrum__base_text_clear(out);
	json_put(out, "[");
	for (uint32_t i = 0; i < outline.count; i++) {
		const struct thrum__scene_item *item = &outline.items[i];

		json_next(out);
		json_put(out, "{");
		json_key_string(out, "words", item->words);
		json_key_integer(out, "level", item->level);
		json_key_bool(out, "chosen", item->is_chosen);
		if (item->can_open)
			json_key_bool(out, "open", item->is_open);
		json_put(out, "}");
	}
	json_put(out, "]");
}

/* Follows an item of the last outline that was answered, if it is still that of the part with the
 * focus. */
EXPORT(core_follow) int core_follow(unsigned index)
{
	return index < outline.count && outline.scene && outline.scene == focused_scene()
		? thrum__stage_follow(core.stage, &outline.items[index])
		: 0;
}

static void put_search(struct thrum__base_text *out)
{
	uint32_t at, found = thrum__stage_found(core.stage, &at);

	json_key(out, "search");
	json_put(out, "{");
	json_key_string(out, "text", core.stage->parts[core.stage->focus].scene->state.search);
	json_key_integer(out, "found", found);
	json_key_integer(out, "at", at);
	json_put(out, "}");
}

static void put_status(struct thrum__base_text *out)
{
	char pointer[400], seen[400], card[1200];

	thrum__stage_card_words(core.stage, card, sizeof card);
	thrum__stage_pointer_words(core.stage, pointer, sizeof pointer);
	thrum__stage_seen_words(core.stage, seen, sizeof seen);
	json_key(out, "status");
	json_put(out, "{");
	json_key_string(out, "pointer", pointer);
	json_key_string(out, "seen", seen);
	json_key(out, "card");
	json_put(out, "[");
	for (const char *line = card; *line;) {
		size_t size = strcspn(line, "\n");

		json_next(out);
		json_text(out, line, size);
		line += size + (line[size] != '\0');
	}
	json_put(out, "]");
	json_put(out, "}");
}

/* Returns how often the stage went somewhere from where one may want to come back. */
static uint32_t jumps(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < core.stage->count; i++)
		count += core.stage->parts[i].scene->jumps;
	return count;
}

/* An address is plain ASCII without quotes, of any length. */
static void put_address(struct thrum__base_text *out)
{
	size_t size = thrum__stage_state_print(core.stage, NULL, 0);
	char *to;

	json_key(out, "address");
	json_put(out, "\"");
	to = thrum__base_text_reserve(out, size);
	if (!to)
		return;
	thrum__stage_state_print(core.stage, to, size + 1);
	out->size += size;
	json_put(out, "\"");
	json_key_integer(out, "jumps", jumps());
}

static void put_on(struct thrum__base_text *out)
{
	const struct thrum__scene *scene = core.stage->parts[core.stage->focus].scene;
	const struct thrum__scene_state *state = &scene->state;
	const struct {
		int command;
		bool is_on;
	} all[] = {{THRUM__COMMAND_BANDS, scene->shows_bands},
		{THRUM__COMMAND_FOLD, thrum__scene_folds(scene)},
		{THRUM__COMMAND_SQUEEZE, thrum__scene_squeezes(scene)},
		{THRUM__COMMAND_FISHEYE, state->fisheye},
		{THRUM__COMMAND_RELATED, state->related_only},
		{THRUM__COMMAND_COUNTERS, state->counters}, {THRUM__COMMAND_LEGEND, state->legend}};

	json_key(out, "on");
	json_put(out, "[");
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (!all[i].is_on)
			continue;
		json_next(out);
		json_string(out, thrum__scene_command_name(all[i].command));
	}
	json_put(out, "]");
}

static void put_tracks(struct thrum__base_text *out)
{
	struct thrum__stage_scroll scroll;

	thrum__stage_scroll_tracks(core.stage, &scroll);
	json_key(out, "tracks");
	json_put(out, "{");
	json_key(out, "all");
	json_number(out, scroll.all);
	json_key(out, "at");
	json_number(out, scroll.at);
	json_key(out, "page");
	json_number(out, scroll.page);
	json_put(out, "}");
}

static void put_picture(struct thrum__base_text *out)
{
	static const char *const over[] = {[THRUM__OVER_GROUND] = "ground",
		[THRUM__OVER_TASK] = "task",
		[THRUM__OVER_STRIP] = "strip",
		[THRUM__OVER_EDGE] = "edge",
		[THRUM__OVER_RULER] = "ruler",
		[THRUM__OVER_DIVIDER] = "divider"};
	const struct thrum__scene *scene = core.stage->parts[core.stage->focus].scene;

	json_key_integer(out, "focus", core.stage->focus);
	json_key_integer(out, "selected",
		scene->selected == THRUM__NONE ? -1 : (int64_t)scene->selected);
	json_key_integer(out, "finding", scene->state.finding);
	json_key_integer(out, "subject", thrum__scene_bands_subject(scene));
	json_key_bool(out, "linked", core.stage->is_linked);
	json_key_string(out, "theme", thrum__draw_theme_name(scene->state.theme));
	json_key_string(out, "over", over[thrum__stage_over(core.stage, core.x, core.y)]);
	json_key_string(out, "panel", core.stage->panel);
	json_key(out, "list");
	json_put(out, "{");
	json_key_string(out, "order", core.stage->order);
	json_key_string(out, "filter", core.stage->filter);
	json_put(out, "}");
	put_on(out);
	put_tracks(out);
}

/* Answers the present values that may have changed, by bits of enum thrum__stage_changed and
 * CORE_CHANGED_PARTS. The worker tells the page those that differ from the last time. */
EXPORT(core_changes) void core_changes(int bits)
{
	struct thrum__base_text *out = &core.out;

	thrum__base_text_clear(out);
	json_put(out, "{");
	if (bits & CORE_CHANGED_PARTS)
		put_parts(out);
	if (core.stage->count > 0) {
		put_picture(out);
		if (bits & (THRUM__CHANGED_SEARCH | THRUM__CHANGED_SELECTION))
			put_search(out);
		if (bits & (THRUM__CHANGED_STATUS | THRUM__CHANGED_PICTURE))
			put_status(out);
		if (bits & THRUM__CHANGED_ADDRESS)
			put_address(out);
	}
	json_put(out, "}");
}

/* Answers the visible time as text, as thrum__stage_window_words. */
EXPORT(core_window) void core_window(void)
{
	char words[200] = "";

	if (core.stage->count > 0)
		thrum__stage_window_words(core.stage, words, sizeof words);
	thrum__base_text_clear(&core.out);
	json_put(&core.out, words);
}

/* Answers the name for files made from a part, without an ending, as plain text. */
EXPORT(core_name) void core_name(unsigned part)
{
	char name[200];

	thrum__base_text_clear(&core.out);
	thrum__stage_file_words(core.stage, part, name, sizeof name);
	json_put(&core.out, name);
}

/* Answers as plain text the missing parts of the last opened trace, or "". */
EXPORT(core_warning) void core_warning(void)
{
	const struct thrum_trace_info *info = &core.parts[core.stage->count - 1].info;
	char words[1000];

	thrum__base_text_clear(&core.out);
	thrum__words_missing(info, words, sizeof words);
	json_put(&core.out, words);
}

/* ---- Documents ----------------------------------------------------------------------------- */

static void put_piece(struct thrum__base_text *out, const struct thrum__document *document,
	const struct thrum__document_piece *piece)
{
	json_put(out, "{");
	json_key(out, "text");
	json_text(out, document->text + piece->offset, piece->size);
	if (piece->link == THRUM__LINK_TO_TASK)
		json_key_integer(out, "task", piece->target);
	if (piece->link == THRUM__LINK_TO_RUN)
		json_key_integer(out, "run", piece->target);
	if (piece->link == THRUM__LINK_TO_SLOW)
		json_key_integer(out, "slow", piece->target);
	if (piece->link == THRUM__LINK_TO_DIFFERENCE)
		json_key_integer(out, "difference", piece->target);
	if (piece->link == THRUM__LINK_TO_GROUP)
		json_key_integer(out, "group", piece->target);
	if (piece->link == THRUM__LINK_TO_FILTER) {
		json_key(out, "filter");
		json_text(out, document->text + piece->target, (size_t)piece->until);
	}
	if (piece->side > 0)
		json_key_integer(out, "side", piece->side);
	if (piece->link == THRUM__LINK_TO_TIME) {
		json_key(out, "time");
		json_put(out, "\"");
		json_integer(out, piece->target);
		if (piece->until > piece->target) {
			json_put(out, "..");
			json_integer(out, piece->until);
		}
		json_put(out, "\"");
	}
	if (piece->is_bad)
		json_key_bool(out, "bad", true);
	json_put(out, "}");
}

static void put_paragraph(struct thrum__base_text *out, const struct thrum__document *document,
	const struct thrum__document_paragraph *paragraph)
{
	json_next(out);
	json_put(out, "{");
	json_key_string(out, "role", thrum__document_role_name(paragraph->role));
	if (paragraph->is_marked)
		json_key_bool(out, "marked", true);
	if (paragraph->key && *paragraph->key)
		json_key_string(out, "key", paragraph->key);
	if (paragraph->number > 0)
		json_key_integer(out, "number", paragraph->number);
	if (paragraph->bar > 0) {
		json_key_integer(out, "bar", paragraph->bar);
		json_key_string(out, "colour", thrum__draw_colour_name(paragraph->bar_colour));
	}
	json_key(out, "pieces");
	json_put(out, "[");
	for (uint32_t i = 0; i < paragraph->count; i++) {
		json_next(out);
		put_piece(out, document, &document->pieces[paragraph->first + i]);
	}
	json_put(out, "]");
	if (paragraph->aside.size > 0) {
		json_key(out, "aside");
		put_piece(out, document, &paragraph->aside);
	}
	json_put(out, "}");
}

static int make_document(int what, unsigned number, uint32_t index,
	struct thrum__document *document)
{
	const struct thrum__stats *stats;
	struct thrum__scene *scene;

	if (what == CORE_DOCUMENT_SLOW)
		return compare_slow(number, index, document);
	if (what == CORE_DOCUMENT_DIFF)
		return compare_traces(document);
	if (number >= core.stage->count)
		return 0;
	scene = core.stage->parts[number].scene;
	if (what == CORE_DOCUMENT_FINDING)
		return index < scene->findings.count
			? thrum__document_finding(core.parts[number].model,
				  &scene->findings.findings[index], document)
			: 0;
	stats = core_stats(number);
	if (!stats)
		return -THRUM_E_MEMORY;
	if (what == CORE_DOCUMENT_TRACE ||
		(what == CORE_DOCUMENT_TASK && index == scene->selected &&
			thrum__scene_bands_tells_range(scene)))
		return thrum__stage_document(core.stage, number, stats, &core.parts[number].info,
			document);
	return thrum__model_has_row(&stats->model->tasks, index)
		? thrum__document_task(stats, index,
			  index == scene->selected ? scene->run : THRUM__NONE, document)
		: 0;
}

/* Makes a step towards a document (enum core_document), or any other answer that needs statistics as that of
 * a trace does. Returns whether there are more. */
EXPORT(core_step) bool core_step(int what, unsigned number, uint32_t index)
{
	struct thrum__scene *scene;

	if (number >= core.stage->count || what == CORE_DOCUMENT_FINDING ||
		what == CORE_DOCUMENT_DIFF)
		return false;
	if (what == CORE_DOCUMENT_SLOW)
		return compare_step(number, index) > 0;
	/* The text about a trace comes after its findings, of which it tells. */
	if (what == CORE_DOCUMENT_TRACE && core_step_findings(number) > 0)
		return true;
	if (step_stats(number))
		return true;
	scene = core.stage->parts[number].scene;
	return (what == CORE_DOCUMENT_TRACE || thrum__scene_bands_tells_range(scene)) &&
		thrum__scene_bands_look_on(scene) > 0;
}

/* Answers a document (enum core_document); empty if there is nothing that it could be about. */
EXPORT(core_document) void core_document(int what, unsigned part, uint32_t index)
{
	struct thrum__document document;
	struct thrum__base_text *out = &core.out;

	thrum__document_init(&document);
	thrum__base_text_clear(out);
	json_put(out, "[");
	if (make_document(what, part, index, &document) == 0)
		for (uint32_t i = 0; i < document.count; i++)
			put_paragraph(out, &document, &document.paragraphs[i]);
	json_put(out, "]");
	thrum__document_finish(&document);
}
