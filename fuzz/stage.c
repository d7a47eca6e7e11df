/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the stage. Reads any bytes as a user's actions: traces grow and forget, pointers press and
 * move, windows move, states are typed, tables and documents are asked for. Fails unless windows
 * end after they begin, an address restores the state from which it was made, refused input changes
 * nothing, links lead to tasks that exist, and texts, the outline too, are UTF-8.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/chart.h"
#include "report/document/document.h"
#include "report/document/program.h"
#include "stage/stage.h"

#define PARTS 3
#define ACTIONS 60
#define WIDTH 600 /* of most frames, like HEIGHT in pixels: small ones are fast */
#define HEIGHT 400
#define EVENTS 80 /* at most so many are appended at once */
#define STATE_ROOM 16384
#define WORDS_ROOM 2048

struct play {
	const uint8_t *at, *end;
	struct thrum__stage *stage;
	struct thrum__model *models[PARTS]; /* of the parts */
	int64_t times[PARTS];               /* of each model's latest event */
	double now;
	char text[256]; /* the text typed last */
	struct thrum_event events[EVENTS];
	uint32_t event_count;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

/* ---- Values from the input ----------------------------------------------------------------- */

static uint32_t byte(struct play *p)
{
	return p->at < p->end ? *p->at++ : 0;
}

static uint64_t bytes(struct play *p, int count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | byte(p);
	return value;
}

/* Returns a time, mostly one at which the trace has events. */
static int64_t any_time(struct play *p)
{
	uint32_t form = byte(p);
	int64_t end = p->models[0] ? p->models[0]->end : 0;

	if (form < 200)
		return end / 200 * ((int)form - 20);
	return (int64_t)bytes(p, form < 230 ? 4 : 8);
}

/* Returns a place or a distance, mostly one on the stage. */
static float pixels(struct play *p, int most)
{
	uint32_t form = byte(p), bits;
	float value;

	if (form < 240)
		return (float)((int)(form << 8 | byte(p)) % (most + 20) - 10);
	bits = (uint32_t)bytes(p, 4);
	memcpy(&value, &bits, sizeof value);
	return value;
}

#define LONG "0123456789 µs 0123456 µs 0123456789 µs µ µ µ µ µ µ µ µ µ µ µ µ "

static const char *const words[] = {
	"e",
	"worker 1",
	"\xff\xfe\xc3",
	"\xe2\x80\xae\x01 control",
	LONG LONG LONG,
	"5 ms + 1 ms",
	"2..3",
	"t=0..1000000&fold=1&squeeze=1&sel=2&2.share=400",
	"t=-5..7&link=0&2.row=1.5&2.fisheye=1&panel=tasks&2.t=3..2000&3.strip=0",
	"fisheye=1&focus=0.25&row=3.125&find=e%20f&counter=net&related=1&findings=1&finding=1",
};

#define WORDS (sizeof words / sizeof *words)

/*
 * Returns one of the words, perhaps with a byte changed; or the bytes that follow, to the first 0.
 */
static const char *any_text(struct play *p)
{
	uint32_t form = byte(p);
	size_t n = 0;

	if (form < 200) {
		n = strlen(strcpy(p->text, words[form % WORDS]));
		if (form >= 100)
			p->text[byte(p) % n] = (char)byte(p);
		return p->text;
	}
	while (n + 1 < sizeof p->text && (p->text[n] = (char)byte(p)))
		n++;
	p->text[n] = 0;
	return p->text;
}

static uint32_t any_part(struct play *p)
{
	return byte(p) % (p->stage->count + 1);
}

/* Returns a task, perhaps one that doesn't exist. */
static uint32_t any_task(struct play *p, uint32_t part)
{
	uint32_t count = part < p->stage->count ? p->models[part]->tasks.count : 0;

	return byte(p) % (count + 2) - 1;
}

/* ---- Checks -------------------------------------------------------------------------------- */

static bool is_clean(const char *text, size_t size)
{
	uint32_t character;

	for (size_t i = 0, n; i < size; i += n) {
		n = thrum__base_utf8_decode(text + i, size - i, &character);
		if (n == 0 || character < 32)
			return false;
	}
	return true;
}

/*
 * Checks that a function returns and truncates as snprintf does, also when there is no room at all.
 */
#define CHECK_WORDS(call, ...) \
	do { \
		char all_[WORDS_ROOM], some_[8]; \
		size_t size_ = call(__VA_ARGS__, all_, sizeof all_); \
		require(size_ < sizeof all_ && (size_ == 0 || strlen(all_) == size_)); \
		require(is_clean(all_, size_)); \
		require(call(__VA_ARGS__, some_, sizeof some_) == size_); \
		require(size_ == 0 || memchr(some_, 0, sizeof some_)); \
		require(call(__VA_ARGS__, NULL, 0) == size_); \
	} while (0)

static void check_words(const struct thrum__stage *stage)
{
	CHECK_WORDS(thrum__stage_pointer_words, stage);
	CHECK_WORDS(thrum__stage_seen_words, stage);
	CHECK_WORDS(thrum__stage_window_words, stage);
	for (uint32_t i = 0; i <= stage->count; i++) {
		CHECK_WORDS(thrum__stage_part_words, stage, i);
		CHECK_WORDS(thrum__stage_finding_words, stage, i);
	}
}

static void check_outline(const struct thrum__scene *scene)
{
	static struct thrum__scene_item items[THRUM__OUTLINE_MAX];
	uint32_t count = thrum__scene_outline(scene, items);

	for (uint32_t i = 0; i < count; i++)
		require(is_clean(items[i].words, strlen(items[i].words)));
}

static void check_scroll(const struct thrum__stage_scroll *scroll)
{
	require(scroll->at >= 0 && scroll->page >= 0 &&
		scroll->at + scroll->page <= scroll->all * 1.000001);
}

static void check_stage(struct thrum__stage *stage)
{
	struct thrum__stage_scroll scroll;
	uint32_t at, part = 0;

	require(stage->count == 0 || stage->focus < stage->count);
	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene *scene = stage->parts[i].scene;

		require(scene->state.from < scene->state.to && scene->time.from <= scene->time.to);
		require(scene->state.track >= 0 && isfinite(scene->state.track));
		require(stage->parts[i].share >= 0 && stage->parts[i].share <= 1.001f);
		check_outline(scene);
	}
	thrum__stage_scroll_tracks(stage, &scroll);
	check_scroll(&scroll);
	thrum__stage_scroll_time(stage, &scroll);
	check_scroll(&scroll);
	require(thrum__stage_found(stage, &at) >= at);
	thrum__stage_pick(stage, WIDTH / 2.0f, HEIGHT / 2.0f, &part);
	require(part < stage->count || stage->count == 0);
	check_words(stage);
}

/* Checks that reading an address restores the state, which then has the same address. */
static void check_address(struct thrum__stage *stage)
{
	static char before[STATE_ROOM], after[STATE_ROOM];
	size_t size = thrum__stage_state_print(stage, before, sizeof before);

	require(size < sizeof before && strlen(before) == size);
	require(thrum__stage_state_parse(stage, before, NULL) >= 0);
	require(thrum__stage_state_print(stage, after, sizeof after) == size);
	require(strcmp(before, after) == 0);
}

static void check_list(const struct thrum__draw_list *list)
{
	require(!list->failed);
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_text *text = batch->items;

		for (uint32_t k = 0; batch->style.op == THRUM__OP_TEXT && k < batch->count; k++)
			require(isfinite(text[k].x) && text[k].offset <= list->text_size &&
				text[k].size <= list->text_size - text[k].offset &&
				is_clean(list->text + text[k].offset, text[k].size));
	}
}

static void check_piece(const struct thrum__document *document, const struct thrum__model *model,
	const struct thrum__document_piece *piece)
{
	require(piece->offset <= document->text_size &&
		piece->size <= document->text_size - piece->offset &&
		piece->size <= THRUM__DOCUMENT_TEXT);
	require(is_clean(document->text + piece->offset, piece->size));
	require(piece->link != THRUM__LINK_TO_TASK ||
		thrum__model_has_row(&model->tasks, (uint32_t)piece->target));
}

static void check_document(const struct thrum__document *document, const struct thrum__model *model)
{
	require(document->count > 0 && document->paragraphs[0].role == THRUM__ROLE_TITLE);
	for (uint32_t i = 0; i < document->count; i++) {
		const struct thrum__document_paragraph *paragraph = &document->paragraphs[i];

		require(paragraph->first <= document->piece_count &&
			paragraph->count <= document->piece_count - paragraph->first);
		require(is_clean(paragraph->key, strlen(paragraph->key)));
		check_piece(document, model, &paragraph->aside);
		for (uint32_t k = 0; k < paragraph->count; k++)
			check_piece(document, model, &document->pieces[paragraph->first + k]);
	}
}

/* ---- Actions: a trace ---------------------------------------------------------------------- */

static void add_event(struct play *p, uint32_t part, const struct thrum_event *event)
{
	struct thrum_event *added = &p->events[p->event_count++];

	require(p->event_count <= EVENTS);
	*added = *event;
	added->time = p->times[part];
	added->clock = (uint64_t)added->time;
}

/* Appends all events at once, because each append checks the whole model. */
static void append_events(struct play *p, uint32_t part)
{
	require(thrum__model_append(p->models[part], p->events, p->event_count) == 0);
	p->event_count = 0;
}

static void pass_time(struct play *p, uint32_t part, unsigned step)
{
	static const int64_t steps[] = {0, 1, 10, 1000, 50000, 3000000, 1000000000,
		1000000000000000000};
	int64_t step_ns = steps[step % 8];

	if (p->times[part] < THRUM__OPEN - 1 - step_ns)
		p->times[part] += step_ns;
}

static void any_event(struct play *p, uint32_t part)
{
	uint32_t type = byte(p), who = byte(p), how = byte(p);
	const char *text = words[(type ^ who) % WORDS];
	struct thrum_event event = {
		.type = (uint8_t)(type % THRUM_EVENT_TYPES),
		.task = who & 15,
		.other = who >> 4,
		.value = how & 64 ? (int64_t)bytes(p, 8) : who,
		.text = text,
		.text_size = (uint32_t)strlen(text),
		.lane = how >> 3 & 1,
		.kind = (uint8_t)(type / 32),
		.flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_HAS_VALUE | THRUM_EVENT_HAS_TEXT,
	};

	if (!(how & 128))
		event.flags |= THRUM_EVENT_HAS_TASK;
	pass_time(p, part, how & 7);
	add_event(p, part, &event);
}

/* Lets tasks run for a while, with pauses, which can be folded. */
static void any_rounds(struct play *p, uint32_t part)
{
	uint32_t how = byte(p), pause = byte(p);

	for (uint32_t i = 0; i < (how & 31); i++) {
		struct thrum_event run = {.type = THRUM_EVENT_SWITCH,
			.text = "",
			.task = i % (1 + (how >> 5)),
			.flags = THRUM_EVENT_HAS_TASK};
		struct thrum_event idle = {.type = THRUM_EVENT_SWITCH, .text = ""};

		add_event(p, part, &run);
		pass_time(p, part, pause & 7);
		add_event(p, part, &idle);
		pass_time(p, part, i % 5 == 4 ? pause >> 3 & 7 : 3);
	}
}

static void do_grow(struct play *p)
{
	uint32_t part = any_part(p), how = byte(p);

	if (part == p->stage->count)
		return;
	if (how & 128)
		any_rounds(p, part);
	for (uint32_t i = how & 15; i > 0; i--)
		any_event(p, part);
	append_events(p, part);
	require(thrum__stage_update(p->stage, part, how & 16, how & 32 ? any_time(p) : 0) == 0);
	if (how & 64)
		require(thrum__scene_update_findings(p->stage->parts[part].scene) == 0);
}

static void do_forget(struct play *p)
{
	uint32_t part = any_part(p);

	if (part == p->stage->count)
		return;
	thrum__model_forget(p->models[part], any_time(p));
	require(thrum__stage_update(p->stage, part, false, 0) == 0);
}

static void do_add(struct play *p)
{
	struct thrum__scene *scene;
	uint32_t part = p->stage->count;

	if (part == PARTS)
		return;
	require(thrum__model_create(NULL, &p->models[part]) == 0);
	p->times[part] = 0;
	any_rounds(p, part);
	append_events(p, part);
	require(thrum__scene_create(p->models[part], NULL, NULL, NULL, &scene) == 0);
	require(thrum__stage_add(p->stage, scene, words[byte(p) % WORDS]) == 0);
}

static void do_remove(struct play *p)
{
	uint32_t part = any_part(p);
	struct thrum__model *model = part < p->stage->count ? p->models[part] : NULL;

	thrum__stage_remove(p->stage, part);
	thrum__model_destroy(model);
	for (uint32_t i = part; model && i < PARTS; i++) {
		p->models[i] = i + 1 < PARTS ? p->models[i + 1] : NULL;
		p->times[i] = i + 1 < PARTS ? p->times[i + 1] : 0;
	}
}

/* ---- Actions: pointers and keys ------------------------------------------------------------ */

static void do_point(struct play *p)
{
	static int (*const calls[])(struct thrum__stage *, float, float, unsigned) = {
		thrum__stage_press,
		thrum__stage_move,
		thrum__stage_release,
		thrum__stage_double_press,
	};
	uint32_t how = byte(p);
	float x = pixels(p, WIDTH), y = pixels(p, HEIGHT);

	require(calls[how % 4](p->stage, x, y, how >> 2 & 7) >= 0);
	thrum__stage_over(p->stage, x, y);
	if (how >= 240)
		require(thrum__stage_leave(p->stage) >= 0);
}

static void do_drag(struct play *p)
{
	unsigned with = byte(p) & 7;

	require(thrum__stage_press(p->stage, pixels(p, WIDTH), pixels(p, HEIGHT), with) >= 0);
	require(thrum__stage_move(p->stage, pixels(p, WIDTH), pixels(p, HEIGHT), with) >= 0);
	require(thrum__stage_release(p->stage, pixels(p, WIDTH), pixels(p, HEIGHT), with) >= 0);
}

static void do_wheel(struct play *p)
{
	uint32_t how = byte(p);
	float x = pixels(p, WIDTH), y = pixels(p, HEIGHT);
	float dx = pixels(p, 300) - 150, dy = pixels(p, 1000) - 500;

	if (how % 4 == 0)
		require(thrum__stage_pan(p->stage, x, y, dx, dy) >= 0);
	else if (how % 4 == 1)
		require(thrum__stage_pinch(p->stage, x, y, dx, dy, (double)pixels(p, 300) / 50) >=
			0);
	else
		require(thrum__stage_wheel(p->stage, x, y, dx, dy, how >> 2 & 7) >= 0);
}

static void do_command(struct play *p)
{
	require(thrum__stage_command(p->stage, (int)byte(p) % THRUM__COMMAND_COUNT) >= 0);
}

static void do_frame(struct play *p)
{
	float width = pixels(p, WIDTH), height = pixels(p, HEIGHT);
	int status;

	if (!(width >= 1 && width < 3000) || !(height >= 1 && height < 3000)) {
		width = WIDTH;
		height = HEIGHT;
	}
	p->now += byte(p);
	status = thrum__stage_frame(p->stage, width, height, &thrum__draw_metrics_plain, p->now);
	require(status == 0 || status == 1);
	for (uint32_t i = 0; i < p->stage->list_count; i++)
		check_list(&p->stage->lists[i]);
}

/* ---- Actions: links and words -------------------------------------------------------------- */

static void do_link(struct play *p)
{
	uint32_t how = byte(p), part = any_part(p);
	struct thrum__stage *stage = p->stage;
	int status = 0;

	switch (how % 10) {
	case 0: status = thrum__stage_go_task(stage, part, any_task(p, part)); break;
	case 1: status = thrum__stage_go_time(stage, part, any_time(p)); break;
	case 2: status = thrum__stage_go_finding(stage, part, byte(p) % 3); break;
	case 3: status = thrum__stage_hover_task(stage, part, any_task(p, part)); break;
	case 4: status = thrum__stage_set_track(stage, (double)pixels(p, 50)); break;
	case 5: status = thrum__stage_set_time(stage, (double)any_time(p)); break;
	case 6: status = thrum__stage_counter(stage, part, byte(p) % 5, how & 16); break;
	case 7: status = thrum__stage_link(stage, how & 16); break;
	case 8: status = thrum__stage_theme(stage, (int)byte(p) % 5 - 1); break;
	default: thrum__stage_align(stage, part, any_time(p)); stage->is_animated = how & 16;
	}
	require(status >= 0);
}

static void do_search(struct play *p)
{
	require(thrum__stage_search(p->stage, any_text(p)) >= 0);
}

static void do_type(struct play *p)
{
	static char before[STATE_ROOM], after[STATE_ROOM];
	bool is_state = byte(p) & 1;
	const char *text = any_text(p);
	struct thrum_error_info error = {0};
	int status;

	thrum__stage_state_print(p->stage, before, sizeof before);
	status = is_state ? thrum__stage_state_parse(p->stage, text, &error)
			  : thrum__stage_go_text(p->stage, text, &error);
	if (status >= 0)
		return;
	require(status == -THRUM_E_ARGUMENT && error.code == status);
	require(error.offset <= strlen(text) && is_clean(error.message, strlen(error.message)));
	thrum__stage_state_print(p->stage, after, sizeof after);
	require(strcmp(before, after) == 0);
}

/* ---- Actions: the panel -------------------------------------------------------------------- */

static void any_document(struct play *p, uint32_t part, const struct thrum__stats *stats)
{
	const struct thrum__scene *scene = p->stage->parts[part].scene;
	const struct thrum__bands *bands = thrum__scene_bands_of(scene);
	const struct thrum_trace_info info = {.format = "thrum",
		.program = words[2],
		.host = "",
		.clock = "",
		.state = "",
		.lost = {1, 0, 3}};
	uint32_t task = any_task(p, part), how = byte(p);
	struct thrum__document document;

	thrum__document_init(&document);
	if (how % 4 == 0)
		require(thrum__document_trace(stats, &info, words[how / 4 % WORDS],
				how / 4 % 2 == 0, &document) == 0);
	else if (how % 4 == 1 && scene->findings.count > 0)
		require(thrum__document_finding(stats->model,
				&scene->findings.findings[how / 4 % scene->findings.count],
				&document) == 0);
	else if (how % 8 == 2 && bands)
		require(thrum__document_group(&(struct thrum__document_program){.bands = bands,
						      .from = bands->from,
						      .to = bands->to},
				how / 8 % (bands->family.group_count + 1),
				&(struct thrum__story_where){0}, &document) == 0);
	else if (thrum__model_has_row(&stats->model->tasks, task))
		require(thrum__document_task(stats, task,
				how % 8 == 3 ? THRUM__TASK(stats->model, task, run) : THRUM__NONE,
				&document) == 0);
	if (document.count > 0)
		check_document(&document, stats->model);
	thrum__document_finish(&document);
}

static void check_rows(const struct thrum__table *table)
{
	struct thrum__table_cell cell;

	require(table->count <= table->all);
	for (uint32_t row = 0; row < table->count && row < 5; row++) {
		uint32_t task = thrum__table_task(table, row);

		require(task == THRUM__NONE || thrum__model_has_row(&table->model->tasks, task));
		for (unsigned i = 0; i < table->form->count; i++) {
			thrum__table_words(table, row, i, &cell);
			thrum__table_print(table, &cell);
		}
	}
}

static void any_table(struct play *p, const struct thrum__stats *stats)
{
	uint32_t how = byte(p), tallies = stats->by[THRUM__BY_LABEL].count;
	uint32_t tally = tallies > 0 && how & 1 ? how / 2 % tallies : THRUM__NONE;
	struct thrum__draw_list list;
	struct thrum__report_chart chart;
	struct thrum__table table;
	uint32_t all;

	thrum__draw_list_init(&list);
	require(thrum__report_chart_init(&chart, stats, tally, (int)(how % THRUM__MEASURE_COUNT)) ==
		0);
	if (how & 64)
		thrum__report_chart_choose(&chart, 300, pixels(p, 300), pixels(p, 300));
	CHECK_WORDS(thrum__report_chart_words, &chart);
	thrum__report_chart_frame(&chart, pixels(p, 300), THRUM__CHART_HEIGHT,
		&thrum__draw_metrics_plain, &list);
	check_list(&list);
	require(thrum__table_init(&table, (int)byte(p) % THRUM__TABLE_COUNT, stats) == 0);
	all = table.count;
	require(thrum__table_sort(&table, byte(p) % table.form->count, how & 32) == 0);
	require(thrum__table_narrow(&table, how & 128 ? &chart : NULL, any_text(p)) == 0);
	check_rows(&table);
	require(thrum__table_narrow(&table, NULL, "") == 0 && table.count == all);
	thrum__table_finish(&table);
	thrum__draw_list_finish(&list);
}

static void do_panel(struct play *p)
{
	uint32_t part = any_part(p), how = byte(p);
	struct thrum__stats stats;

	if (part == p->stage->count)
		return;
	require(thrum__stats_make(p->models[part], how & 1, 5, &stats) == 0);
	if (how & 2)
		any_document(p, part, &stats);
	else
		any_table(p, &stats);
	thrum__stats_free(&stats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const actions[])(struct play *) = {do_frame, do_grow, do_forget, do_add,
		do_remove, do_point, do_drag, do_wheel, do_command, do_link, do_search, do_type,
		do_panel};
	struct play play = {.at = data, .end = data + size};

	require(thrum__stage_create(&play.stage) == 0);
	do_add(&play);
	for (int i = 0; i < ACTIONS && play.at < play.end; i++) {
		actions[byte(&play) % (sizeof actions / sizeof *actions)](&play);
		check_stage(play.stage);
	}
	check_address(play.stage);
	do_frame(&play);
	thrum__stage_destroy(play.stage);
	for (int i = 0; i < PARTS; i++)
		thrum__model_destroy(play.models[i]);
	return 0;
}
