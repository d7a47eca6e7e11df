/* SPDX-License-Identifier: ISC */
/* Opening traces, input and frames. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "draw/canvas.h"
#include "world/bundle.h"

struct core core = {.out = {.grows = true}};

/* ---- Functions of the worker --------------------------------------------------------------- */

/* Copies bytes of the file that is being opened to `to`; returns how many. */
IMPORT(read) int page_read(double offset, void *to, size_t size);
/* The size of that file, in bytes. */
IMPORT(size) double page_size(void);
/* Tells the progress of a step of opening, 0 … 1, and the step's name. */
IMPORT(progress) void page_progress(const char *step, double part);
/* Returns a text's width in pixels. */
IMPORT(measure) float page_measure(const char *text, size_t size, int font);

/* ---- Texts --------------------------------------------------------------------------------- */

char *core_text;
size_t core_text_size;

/* Returns room for a text of this size, which the next call takes, with a NUL behind it; NULL: no
 * memory. */
EXPORT(core_in) char *core_in(size_t size)
{
	char *text = realloc(core_text, size + 1);

	if (!text)
		return NULL;
	core_text = text;
	core_text_size = size;
	text[size] = '\0';
	return text;
}

EXPORT(core_out) const char *core_out(void)
{
	return core.out.bytes;
}

/* The size of the answer; -1: there was no memory for it. */
EXPORT(core_out_size) int core_out_size(void)
{
	return core.out.failed ? -1 : (int)core.out.size;
}

/* ---- Widths -------------------------------------------------------------------------------- */

#define ASCII_FIRST 32
#define ASCII_COUNT 95

/* The widths of ASCII characters; 0: not asked for yet. Nearly all texts need no others. */
static float widths[THRUM__FONT_COUNT][ASCII_COUNT];

static float width(void *context, const char *text, size_t size, int font)
{
	float sum = 0;

	for (size_t i = 0; i < size;) {
		unsigned c = (unsigned char)text[i] - ASCII_FIRST;
		size_t from = i;

		if (c < ASCII_COUNT) {
			if (widths[font][c] == 0)
				widths[font][c] = page_measure(text + i, 1, font);
			sum += widths[font][c];
			i++;
			continue;
		}
		while (i < size && (unsigned char)text[i] - ASCII_FIRST >= ASCII_COUNT)
			i++;
		sum += page_measure(text + from, i - from, font);
	}
	return sum;
}

/* ---- The stage ----------------------------------------------------------------------------- */

static void clear(void)
{
	compare_forget();
	thrum__stage_destroy(core.stage);
	for (size_t i = 0; i < THRUM__STAGE_MAX; i++) {
		part_forget(&core.parts[i]);
		thrum__model_destroy(core.parts[i].model);
		free(core.parts[i].texts);
		core.parts[i] = (struct part){0};
	}
}

/* Makes an empty stage: call it first, and to open other traces instead of those on the stage. */
EXPORT(core_clear) int core_clear(void)
{
	struct thrum__stage *stage;

	if (thrum__stage_create(&stage) < 0)
		return -THRUM_E_MEMORY;
	stage->is_animated = core.stage && core.stage->is_animated;
	clear();
	core.stage = stage;
	core.metrics.width = width;
	return 0;
}

EXPORT(core_animate) void core_animate(bool is_animated)
{
	core.stage->is_animated = is_animated;
}

/* Sets the theme that the text names. */
EXPORT(core_theme) int core_theme(void)
{
	int theme = thrum__draw_theme_find(core_text);

	core.theme = theme < 0 ? THRUM__THEME_LIGHT : theme;
	return thrum__stage_theme(core.stage, core.theme);
}

EXPORT(core_theme_now) int core_theme_now(void)
{
	return core.stage->count > 0 ? core.stage->parts[0].scene->state.theme : core.theme;
}

/* ---- Opening ------------------------------------------------------------------------------- */

static int64_t read_input(void *owner, uint64_t offset, void *to, size_t size)
{
	return page_read((double)offset, to, size);
}

static uint64_t input_size(void *owner)
{
	return (uint64_t)page_size();
}

static bool show_reading(void *context, const struct thrum__model *model)
{
	const struct thrum_trace_info *info = context;
	double all = info->file_size > 0 ? (double)info->file_size : 1;
	double part = (double)info->content_bytes / all;

	thrum__scene_coarse_note(&core.coarse, model);
	core.part_read = part < 1 ? part : 1;
	page_progress("Reading", core.part_read);
	return true;
}

/* Makes a coarse picture of the trace that is being read, as core_chart_list. `page_progress` may call
 * this. Returns 0 if there is one. */
EXPORT(core_coarse) int core_coarse(float width, float height)
{
	if (core.coarse.count == 0)
		return -1;
	return thrum__scene_coarse_frame(&core.coarse, core.part_read, width, height, &core.metrics,
		&core.chart);
}

static bool show_laying_out(void *context, double part)
{
	page_progress("Laying out", part);
	return true;
}

/* Copies the texts, too: the trace is closed after reading. */
static int keep_info(struct part *part, const struct thrum_trace_info *info)
{
	const char *texts[] = {info->program, info->host, info->clock, info->state};
	const char **to[] = {&part->info.program, &part->info.host, &part->info.clock,
		&part->info.state};
	size_t size = 0, at = 0;

	for (size_t i = 0; i < 4; i++)
		size += strlen(texts[i]) + 1;
	part->texts = malloc(size);
	if (!part->texts)
		return -THRUM_E_MEMORY;
	part->info = *info;
	for (size_t i = 0; i < 4; i++) {
		*to[i] = strcpy(part->texts + at, texts[i]);
		at += strlen(texts[i]) + 1;
	}
	return 0;
}

static int open_part(struct part *part, struct thrum_trace *trace, struct thrum_error_info *error)
{
	struct thrum__scene_options options = {.by_lane = true};
	struct thrum__scene *scene;
	int result = thrum__model_create(trace, &part->model);

	if (result == 0)
		result = thrum__model_load(part->model, trace, show_reading,
			(void *)thrum_trace_info(trace), error);
	if (result == 0)
		result = keep_info(part, thrum_trace_info(trace));
	options.no_findings = result == 0 && part->model->events > THRUM__LATER_FINDINGS;
	if (result == 0)
		result = thrum__scene_create(part->model, &options, show_laying_out, NULL, &scene);
	if (result == 0)
		result = thrum__stage_add(core.stage, scene, core_text);
	if (result == 0) {
		scene->rows_later = scene->bands_later = true;
		thrum__scene_set_ending(scene, &part->info, THRUM__NOT_FOLLOWED, NULL);
	}
	return result;
}

static void tell_failure(int result, const struct thrum_error_info *error)
{
	bool is_memory = result == -THRUM_E_MEMORY;

	thrum__base_text_clear(&core.out);
	json_put(&core.out, "{");
	json_key_string(&core.out, "message",
		is_memory                 ? "This trace is too large for a browser's memory."
			: *error->message ? error->message
					  : thrum_error_message(result));
	json_key_string(&core.out, "hint",
		is_memory ? "Open it on the desktop with \"thrum view\", or draw a part of it "
			    "with \"thrum render --start --duration\"."
			: result == -THRUM_E_FORMAT
			? "Recordings of thrum and .ctf files of mirage-profile can be "
			  "opened, also gzipped."
			: result == -THRUM_E_SIZE ? "Open them in several windows."
						  : "");
	json_put(&core.out, "}");
}

static int add_part(struct thrum_trace *trace, struct thrum_error_info *error)
{
	struct part *part = &core.parts[core.stage->count];
	int result;

	if (core.stage->count == THRUM__STAGE_MAX)
		return -THRUM_E_SIZE;
	result = open_part(part, trace, error);
	if (result < 0) {
		thrum__model_destroy(part->model);
		free(part->texts);
		*part = (struct part){0};
		return result;
	}
	return thrum__stage_theme(core.stage, core.theme) < 0 ? -THRUM_E_MEMORY : 0;
}

/*
 * Opens the trace that page_read gives, under the name that is the text. `adds`: puts it below the
 * traces on the stage, else in their place; they stay if opening fails. Returns 0; or an error, and then the
 * answer is {message, hint}.
 */
EXPORT(core_open) int core_open(bool adds)
{
	struct thrum__input input = {NULL, read_input, input_size};
	struct thrum_error_info error = {0};
	struct thrum_trace *trace;
	int result = thrum__world_open(&input, NULL, &trace, &error);

	core.coarse = (struct thrum__scene_coarse){0};
	if (result == 0) {
		if (!adds)
			result = core_clear();
		if (result == 0)
			result = add_part(trace, &error);
		thrum_trace_close(trace);
	}
	if (result < 0)
		tell_failure(result, &error);
	return result;
}

/* Makes the findings that core_open left out, and finds out where the time of bands goes, a step at a time.
 * Call it once bands or a trace are shown. Returns 0 while there is more to do, CORE_CHANGED_PARTS when the
 * findings of a part are made, THRUM__CHANGED_PICTURE when all is done; or an error. */
EXPORT(core_find) int core_find(void)
{
	for (uint32_t i = 0; i < core.stage->count; i++) {
		struct thrum__scene *scene = core.stage->parts[i].scene;
		bool is_finding = scene->lacks_findings;
		int more = is_finding ? thrum__stage_find(core.stage, i)
				      : thrum__scene_bands_look_on(scene);

		if (more != 0)
			return more < 0 ? more : 0;
		if (is_finding)
			return CORE_CHANGED_PARTS;
	}
	thrum__stage_refresh(core.stage);
	return THRUM__CHANGED_PICTURE;
}

/* Sets the state of the last opened trace to the text, if that is "killed" and the file says that
 * its program is recording, or that it is a copy: only the machine that recorded it can tell that the
 * program was killed. */
EXPORT(core_found_state) void core_found_state(void)
{
	struct part *part = core_part(core.stage->count - 1);

	if (!part || strcmp(core_text, "killed") != 0 ||
		(strcmp(part->info.state, "recording") != 0 &&
			strcmp(part->info.state, "snapshot") != 0))
		return;
	part->info.state = "killed";
	thrum__scene_set_ending(core.stage->parts[core.stage->count - 1].scene, &part->info,
		THRUM__NOT_FOLLOWED, NULL);
}

/* ---- Input: results are those of thrum__stage_… -------------------------------------------- */

EXPORT(core_press) int core_press(float x, float y, unsigned with)
{
	core.x = x;
	core.y = y;
	return thrum__stage_press(core.stage, x, y, with);
}

EXPORT(core_move) int core_move(float x, float y, unsigned with)
{
	core.x = x;
	core.y = y;
	return thrum__stage_move(core.stage, x, y, with);
}

EXPORT(core_release) int core_release(float x, float y, unsigned with)
{
	return thrum__stage_release(core.stage, x, y, with);
}

EXPORT(core_double) int core_double(float x, float y, unsigned with)
{
	return thrum__stage_double_press(core.stage, x, y, with);
}

EXPORT(core_leave) int core_leave(void)
{
	return thrum__stage_leave(core.stage);
}

EXPORT(core_wheel) int core_wheel(float x, float y, float dx, float dy, unsigned with)
{
	return thrum__stage_wheel(core.stage, x, y, dx, dy, with);
}

EXPORT(core_pinch) int core_pinch(float x, float y, float dx, float dy, double factor)
{
	return thrum__stage_pinch(core.stage, x, y, dx, dy, factor);
}

/* Runs the command that the text names. */
EXPORT(core_command) int core_command(void)
{
	int command = thrum__scene_command_find(core_text);

	return command < 0 ? 0 : thrum__stage_command(core.stage, command);
}

EXPORT(core_go_task) int core_go_task(unsigned part, uint32_t task)
{
	return part < core.stage->count ? thrum__stage_go_task(core.stage, part, task) : 0;
}

EXPORT(core_go_run) int core_go_run(unsigned part, uint32_t run)
{
	return thrum__stage_go_run(core.stage, part, run);
}

EXPORT(core_go_slow) int core_go_slow(unsigned part, uint32_t task)
{
	return thrum__stage_go_slow(core.stage, part, task);
}

EXPORT(core_go_group) int core_go_group(unsigned part, uint32_t group)
{
	return thrum__stage_go_group(core.stage, part, group);
}

/* The text is a time in ns, or two with ".." between them. */
EXPORT(core_go_time) int core_go_time(unsigned part)
{
	char *end;
	int64_t time = strtoll(core_text, &end, 10);

	if (strncmp(end, "..", 2) == 0)
		return thrum__stage_go_span(core.stage, part, time, strtoll(end + 2, NULL, 10));
	return part < core.stage->count ? thrum__stage_go_time(core.stage, part, time) : 0;
}

EXPORT(core_go_finding) int core_go_finding(unsigned part, uint32_t finding)
{
	return part < core.stage->count ? thrum__stage_go_finding(core.stage, part, finding) : 0;
}

EXPORT(core_hover) int core_hover(unsigned part, uint32_t task)
{
	return part < core.stage->count ? thrum__stage_hover_task(core.stage, part, task) : 0;
}

/* Makes the reason of a failure the answer, as plain text. */
static int tell_error(int result, const struct thrum_error_info *error)
{
	thrum__base_text_clear(&core.out);
	if (result < 0)
		json_put(&core.out, *error->message ? error->message : thrum_error_message(result));
	return result;
}

EXPORT(core_go_text) int core_go_text(void)
{
	struct thrum_error_info error = {0};

	return tell_error(thrum__stage_go_text(core.stage, core_text, &error), &error);
}

EXPORT(core_mark) int core_mark(void)
{
	struct thrum_error_info error = {0};

	return tell_error(thrum__stage_set_mark(core.stage, core_text, &error), &error);
}

EXPORT(core_state) int core_state(void)
{
	struct thrum_error_info error = {0};

	return tell_error(thrum__stage_state_parse(core.stage, core_text, &error), &error);
}

EXPORT(core_search) int core_search(void)
{
	return thrum__stage_search(core.stage, core_text);
}

EXPORT(core_counter) int core_counter(unsigned part, uint32_t counter, bool is_on)
{
	if (part >= core.stage->count || counter >= core.parts[part].model->counter_count)
		return 0;
	return thrum__stage_counter(core.stage, part, counter, is_on);
}

/* Closes a trace, unless it is the only one. */
EXPORT(core_close) int core_close(unsigned part)
{
	if (part >= core.stage->count || core.stage->count == 1)
		return 0;
	compare_forget();
	part_forget(&core.parts[part]);
	thrum__stage_remove(core.stage, part);
	thrum__model_destroy(core.parts[part].model);
	free(core.parts[part].texts);
	memmove(&core.parts[part], &core.parts[part + 1],
		(core.stage->count - part) * sizeof *core.parts);
	core.parts[core.stage->count] = (struct part){0};
	return CORE_CHANGED_ALL;
}

EXPORT(core_link) int core_link(bool is_linked)
{
	return thrum__stage_link(core.stage, is_linked);
}

EXPORT(core_scroll) int core_scroll(double track)
{
	return thrum__stage_set_track(core.stage, track);
}

/* The text is a word of the page's, which is part of the address: the panel's page (`which` 0), the
 * column that sorts the list of tasks (1), the text that narrows it (2). */
EXPORT(core_panel) int core_panel(int which)
{
	char *to[] = {core.stage->panel, core.stage->order, core.stage->filter};
	size_t room[] = {THRUM__PANEL_MAX, THRUM__ORDER_MAX, THRUM__SEARCH_MAX};

	if (which < 0 || which > 2 || core_text_size >= room[which])
		return 0;
	strcpy(to[which], core_text);
	return THRUM__CHANGED_ADDRESS;
}

/* ---- Frames -------------------------------------------------------------------------------- */

/* Makes the rows or bands of the next frame, a step at a time. Returns 1 when it has made a step, 0 if there
 * was nothing to do. */
EXPORT(core_step_view) int core_step_view(float w, float h)
{
	return core.stage->count == 0 ? 0 : thrum__stage_step_view(core.stage, w, h);
}

/* Makes the display lists; `now` in ms. Returns 1 while something moves, else 0. */
EXPORT(core_frame) int core_frame(float w, float h, double now)
{
	return core.stage->count == 0 ? 0
				      : thrum__stage_frame(core.stage, w, h, &core.metrics, now);
}

EXPORT(core_lists) const struct thrum__draw_list *core_lists(void)
{
	return core.stage->lists;
}

EXPORT(core_list_count) uint32_t core_list_count(void)
{
	return core.stage->list_count;
}

static int take_bytes(void *context, const void *bytes, size_t size)
{
	thrum__base_text_bytes(&core.out, bytes, size);
	return core.out.failed ? -THRUM_E_MEMORY : 0;
}

/* Answers the last frame as SVG. */
EXPORT(core_svg) int core_svg(void)
{
	thrum__base_text_clear(&core.out);
	return thrum__draw_svg(core.stage->lists, core.stage->list_count, core_theme_now(),
		core.stage->count > 0 ? core.stage->parts[0].name : "", take_bytes, NULL);
}
