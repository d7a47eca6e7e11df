/* SPDX-License-Identifier: ISC */
/* Opening and closing traces: progress, reload, growth, messages. */
#include <stdarg.h>
#include <string.h>

#include "desktop/theme.h"
#include "picture/frames.h"
#include "picture/loading.h"
#include "source/input.h"
#include "trace/words.h"
#include "window/parts.h"

#define PATIENCE_MS 150
#define ROWS_MS 250    /* how often it is told how far rows are made */
#define PROGRESS_ALL 2 /* the value of "progress" for a trace that is read and laid out */

/* ---- Messages ------------------------------------------------------------------------------ */

static void add_message(GString *text, const char *name, const char *message)
{
	if (!message || !*message)
		return;
	if (text->len > 0)
		g_string_append_c(text, '\n');
	if (name)
		g_string_append_printf(text, "%s: ", name);
	g_string_append(text, message);
}

void window_update_messages(AppWindow *window)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *valid = NULL;
	bool is_shown;

	add_message(text, NULL, window->failure);
	for (unsigned i = 0; i < window->count; i++)
		add_message(text, window->count > 1 ? app_trace_name(window->traces[i]) : NULL,
			app_trace_message(window->traces[i]));
	/* Names of files and texts of traces may be invalid UTF-8. */
	valid = g_utf8_make_valid(text->str, (gssize)text->len);
	is_shown = *valid && g_strcmp0(valid, window->hidden_message) != 0;
	gtk_widget_set_visible(window->message, is_shown);
	gtk_label_set_text(GTK_LABEL(window->message_words), valid);
}

void window_fail(AppWindow *window, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_free(window->failure);
	window->failure = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_clear_pointer(&window->hidden_message, g_free);
	window_update_messages(window);
}

/* ---- Progress ------------------------------------------------------------------------------ */

static void show_loading(AppWindow *window, bool is_shown)
{
	gtk_widget_set_visible(window->loading, is_shown);
	gtk_widget_set_visible(window->progress, is_shown);
}

/* Shows the progress of one trace; texts that alternate between traces would be unreadable. */
static void say_progress(AppWindow *window, AppTrace *trace)
{
	g_autofree char *words = app_trace_progress_words(trace);
	g_autofree char *text = g_strdup_printf("%s: %s", app_trace_name(trace), words);

	gtk_label_set_text(GTK_LABEL(window->loading_words), text);
}

/* Returns the first trace that is still being opened, or NULL. */
static AppTrace *find_awaited(AppWindow *window)
{
	for (unsigned i = 0; i < window->coming_count; i++)
		if (app_trace_state(window->coming[i]) == APP_TRACE_OPENING)
			return window->coming[i];
	return NULL;
}

static void on_progress(AppTrace *trace, double part, AppWindow *window)
{
	double sum = 0;

	for (unsigned i = 0; i < window->coming_count; i++) {
		if (window->coming[i] == trace)
			window->coming_part[i] = part;
		else if (app_trace_state(window->coming[i]) != APP_TRACE_OPENING)
			window->coming_part[i] = PROGRESS_ALL;
		sum += window->coming_part[i];
	}
	if (trace != find_awaited(window))
		return;
	say_progress(window, trace);
	gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(window->progress),
		sum / PROGRESS_ALL / MAX(window->coming_count, 1));
	loading_show(window->coarse, window->coming, window->coming_part, window->coming_count);
}

/* Opening has taken PATIENCE_MS: shows its progress. */
static gboolean lose_patience(void *data)
{
	AppWindow *window = data;

	window->patience = 0;
	show_loading(window, true);
	return G_SOURCE_REMOVE;
}

static void set_page(AppWindow *window)
{
	const char *page = window->count > 0 ? "picture"
		: window->coming_count > 0   ? "loading"
					     : "empty";

	gtk_stack_set_visible_child_name(GTK_STACK(window->stack), page);
}

static void end_loading(AppWindow *window)
{
	g_clear_handle_id(&window->patience, g_source_remove);
	show_loading(window, false);
	gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(window->progress), 0);
	set_page(window);
	window_update_messages(window);
	window_update_actions(window);
}

/* ---- Shown traces -------------------------------------------------------------------------- */

static void drop_trace(AppWindow *window, AppTrace *trace)
{
	g_signal_handlers_disconnect_by_data(trace, window);
	app_trace_cancel(trace);
	g_object_unref(trace);
}

static void remove_all(AppWindow *window)
{
	app_pane_set_traces(APP_PANE(window->pane), NULL, window->stage, 0);
	while (window->stage->count > 0)
		thrum__stage_remove(window->stage, window->stage->count - 1);
	for (unsigned i = 0; i < window->count; i++)
		drop_trace(window, window->traces[i]);
	window->count = 0;
}

static int find_trace(AppWindow *window, AppTrace *trace)
{
	for (unsigned i = 0; i < window->count; i++)
		if (window->traces[i] == trace)
			return (int)i;
	return -1;
}

static void run_out(AppWindow *window, AppTrace *trace)
{
	app_trace_pause(trace, true);
	window_fail(window, "%s: out of memory: choose Keep Last 10 s in the menu",
		app_trace_name(trace));
}

/* While rows are made, the status line tells how far that is. */
static gboolean tell_rows(void *data)
{
	AppWindow *window = data;

	for (unsigned i = 0; i < window->count; i++) {
		if (!thrum__scene_awaits_rows(window->stage->parts[i].scene))
			continue;
		app_picture_did(APP_PICTURE(window->picture), THRUM__CHANGED_STATUS);
		return G_SOURCE_CONTINUE;
	}
	window->rows_wait = 0;
	return G_SOURCE_REMOVE;
}

void window_ask_for_picture(AppWindow *window)
{
	for (unsigned i = 0; i < window->count; i++) {
		if (thrum__scene_awaits_bands(window->stage->parts[i].scene))
			app_trace_arrange(window->traces[i]);
		if (thrum__scene_awaits_paths(window->stage->parts[i].scene))
			app_trace_make_paths(window->traces[i]);
		if (!thrum__scene_awaits_rows(window->stage->parts[i].scene))
			continue;
		app_trace_lay_out(window->traces[i]);
		if (!window->rows_wait)
			window->rows_wait = g_timeout_add(ROWS_MS, tell_rows, window);
	}
}

/* Takes the rows that a thread has made. Without them the main thread makes them, or fails. */
static int take_rows(AppWindow *window, AppTrace *trace, unsigned part)
{
	struct thrum__scene_rows *rows;

	if (!app_trace_take_rows(trace, &rows))
		return 0;
	if (rows)
		return thrum__stage_take_rows(window->stage, part, rows);
	window->stage->parts[part].scene->rows_later = false;
	return 0;
}

/* The same for critical paths. */
static void take_paths(AppWindow *window, AppTrace *trace, unsigned part)
{
	struct thrum__paths *paths;

	if (app_trace_take_paths(trace, &paths))
		thrum__stage_take_paths(window->stage, part, paths);
}

/* Looks for findings, whose cost grows with the trace, now and then while it grows, and once more when the
 * program has ended. Bands that are shown are made anew. */
static void ask_for_work(AppWindow *window, unsigned part)
{
	const struct thrum__scene *scene = window->stage->parts[part].scene;
	enum app_trace_state state = app_trace_state(window->traces[part]);

	if (state != APP_TRACE_SHOWN || scene->lacks_findings)
		app_trace_look(window->traces[part]);
	app_trace_show_bands(window->traces[part], scene->shows_bands);
	if (thrum__scene_bands_lag(scene) || thrum__scene_awaits_bands(scene))
		app_trace_arrange(window->traces[part]);
}

static void on_worked(AppTrace *trace, AppWindow *window)
{
	int part = find_trace(window, trace);
	struct thrum__findings findings;
	struct thrum__bands *bands;
	int result = 0;

	if (part < 0)
		return;
	if (app_trace_take_findings(trace, &findings))
		result = thrum__stage_take_findings(window->stage, (unsigned)part, &findings);
	bands = app_trace_take_bands(trace);
	if (bands && result == 0)
		result = thrum__stage_take_bands(window->stage, (unsigned)part, bands);
	if (result == 0)
		result = take_rows(window, trace, (unsigned)part);
	if (result < 0) {
		run_out(window, trace);
		return;
	}
	take_paths(window, trace, (unsigned)part);
	app_picture_did(APP_PICTURE(window->picture),
		THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS);
	app_pane_trace_grew(APP_PANE(window->pane), (unsigned)part);
	ask_for_work(window, (unsigned)part);
}

static void note_frame(AppTrace *trace)
{
	const struct thrum__model *model = app_trace_model(trace);
	const struct thrum_trace_info *info = app_trace_info(trace);

	frames_note(info->start + model->end, model->events,
		info->lost_total + info->gaps + info->damaged);
}

static void on_grown(AppTrace *trace, AppWindow *window)
{
	int part = find_trace(window, trace);
	int changed;

	if (part < 0)
		return;
	changed = thrum__stage_update(window->stage, (unsigned)part,
		app_trace_state(trace) == APP_TRACE_LIVE, window->keep);
	if (changed < 0) {
		run_out(window, trace);
		return;
	}
	note_frame(trace);
	ask_for_work(window, (unsigned)part);
	app_pane_trace_grew(APP_PANE(window->pane), (unsigned)part);
	app_picture_did(APP_PICTURE(window->picture), changed | THRUM__CHANGED_STATUS);
}

/* Adds a file to the recent ones. They have a group, since GTK adds saved files by itself. */
static void remember(const char *path)
{
	if (!path || thrum__source_is_place(path))
		return;

	static char group[] = RECENT_GROUP, type[] = "application/octet-stream",
		    command[] = "thrum-gtk %f";
	char *groups[] = {group, NULL};
	GtkRecentData data = {
		.mime_type = type,
		.app_name = (char *)g_get_application_name(),
		.app_exec = command,
		.groups = groups,
	};
	g_autoptr(GFile) file = g_file_new_for_path(path);
	g_autofree char *uri = g_file_get_uri(file);

	gtk_recent_manager_add_full(gtk_recent_manager_get_default(), uri, &data);
}

/* Tells the scene how the trace ends, which it shows at the end of the ruler. */
static void tell_ending(AppWindow *window, unsigned part)
{
	AppTrace *trace = window->traces[part];
	enum app_trace_state state = app_trace_state(trace);

	thrum__scene_set_ending(window->stage->parts[part].scene, app_trace_info(trace),
		state == APP_TRACE_LIVE             ? THRUM__FOLLOWED
			: state == APP_TRACE_PAUSED ? THRUM__PAUSED
						    : THRUM__NOT_FOLLOWED,
		trace_words_signal(app_trace_info(trace)));
	thrum__stage_refresh(window->stage);
}

static bool add_to_stage(AppWindow *window, AppTrace *trace)
{
	struct thrum__scene *scene = app_trace_take_scene(trace);

	if (!scene || thrum__stage_add(window->stage, scene, app_trace_name(trace)) < 0) {
		window_fail(window, "%s: %s", app_trace_name(trace),
			scene ? "the window has no room for more traces" : "out of memory");
		return false;
	}
	window->traces[window->count++] = trace;
	tell_ending(window, window->count - 1);
	app_trace_keep(trace, window->keep);
	remember(app_trace_file(trace));
	return true;
}

/* The theme stays as the user chose it, unless the text names one. */
void app_window_set_state(AppWindow *window, const char *state)
{
	struct thrum_error_info error = {0};
	int changed;

	if (window->coming_count > 0) {
		g_free(window->coming_state);
		window->coming_state = g_strdup(state);
		return;
	}
	if (window->count == 0)
		return;
	changed = thrum__stage_state_parse(window->stage, state, &error);
	if (changed < 0) {
		window_fail(window, "The view can't be shown: %s", error.message);
		return;
	}
	app_picture_did(APP_PICTURE(window->picture),
		changed | THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION |
			THRUM__CHANGED_SEARCH);
	if (strstr(state, "theme="))
		theme_choose(window->stage->parts[0].scene->state.theme);
	window_theme_changed(window);
	if (window->stage->panel[0]) {
		gtk_widget_set_visible(window->pane, TRUE);
		app_pane_show_page(APP_PANE(window->pane), window->stage->panel);
	}
}

static void show_coming(AppWindow *window)
{
	g_autofree char *state = g_steal_pointer(&window->coming_state);
	g_autoptr(GString) failures = g_string_new(NULL);
	unsigned before = window->count;
	bool compares = window->compares;

	window->compares = false;
	for (unsigned i = 0; i < window->coming_count; i++) {
		AppTrace *trace = window->coming[i];

		if (app_trace_state(trace) == APP_TRACE_FAILED) {
			add_message(failures, app_trace_name(trace), app_trace_message(trace));
			drop_trace(window, trace);
			continue;
		}
		if (window->replaces) {
			remove_all(window);
			before = 0;
		}
		window->replaces = false;
		if (!add_to_stage(window, trace))
			drop_trace(window, trace);
	}
	window->coming_count = 0;
	if (failures->len > 0)
		window_fail(window, "%s", failures->str);
	if (window->count == before && before > 0) {
		end_loading(window);
		return;
	}
	app_pane_set_traces(APP_PANE(window->pane), window->traces, window->stage, window->count);
	gtk_widget_set_visible(window->pane, window->count > 0);
	end_loading(window);
	if (state)
		app_window_set_state(window, state);
	if (compares)
		app_pane_show_page(APP_PANE(window->pane), "differences");
	window_theme_changed(window);
	app_picture_did(APP_PICTURE(window->picture),
		THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION | THRUM__CHANGED_STATUS);
	window_update_bar(window, THRUM__CHANGED_SEARCH);
	gtk_widget_grab_focus(window->picture);
}

static void show_when_ready(AppWindow *window)
{
	if (window->coming_count == 0)
		return;
	for (unsigned i = 0; i < window->coming_count; i++)
		if (app_trace_state(window->coming[i]) == APP_TRACE_OPENING)
			return;
	show_coming(window);
}

static void on_shown(AppTrace *trace, AppWindow *window)
{
	show_when_ready(window);
}

static void on_trace_changed(AppTrace *trace, AppWindow *window)
{
	int part;

	show_when_ready(window);
	window_update_messages(window);
	window_update_actions(window);
	part = find_trace(window, trace);
	if (part >= 0)
		tell_ending(window, (unsigned)part);
	if (part >= 0)
		ask_for_work(window, (unsigned)part);
	if (window->count > 0)
		app_picture_did(APP_PICTURE(window->picture),
			THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS);
}

/* ---- Opening ------------------------------------------------------------------------------- */

void window_cancel(AppWindow *window)
{
	for (unsigned i = 0; i < window->coming_count; i++)
		drop_trace(window, window->coming[i]);
	window->coming_count = 0;
	g_clear_pointer(&window->coming_state, g_free);
	end_loading(window);
}

void app_window_open(AppWindow *window, AppTrace *trace, bool add)
{
	if (!add) {
		window_cancel(window);
		window->replaces = true;
	} else if (window->coming_count == 0) {
		window->replaces = false;
	}
	if (window->coming_count + (window->replaces ? 0 : window->count) == THRUM__STAGE_MAX) {
		window_fail(window, "%s: a window shows at most %d traces", app_trace_name(trace),
			THRUM__STAGE_MAX);
		app_trace_cancel(trace);
		g_object_unref(trace);
		return;
	}
	g_clear_pointer(&window->failure, g_free);
	g_signal_connect(trace, "progress", G_CALLBACK(on_progress), window);
	g_signal_connect(trace, "shown", G_CALLBACK(on_shown), window);
	g_signal_connect(trace, "grown", G_CALLBACK(on_grown), window);
	g_signal_connect(trace, "worked", G_CALLBACK(on_worked), window);
	g_signal_connect(trace, "changed", G_CALLBACK(on_trace_changed), window);
	window->coming_part[window->coming_count] = 0;
	window->coming[window->coming_count++] = trace;
	if (window->patience == 0)
		window->patience = g_timeout_add(PATIENCE_MS, lose_patience, window);
	loading_show(window->coarse, NULL, NULL, 0);
	set_page(window);
	window_update_messages(window);
}

void window_open_files(AppWindow *window, GListModel *files, bool add)
{
	bool is_alone = g_list_model_get_n_items(files) == 1;

	/* One too many shows the message about the limit. Thousands need not all be started. */
	for (unsigned i = 0; i < MIN(g_list_model_get_n_items(files), THRUM__STAGE_MAX + 1); i++) {
		g_autoptr(GFile) file = g_list_model_get_item(files, i);
		g_autofree char *path = g_file_get_path(file);

		if (!path) {
			window_fail(window, "Only local files can be opened.");
			continue;
		}
		app_window_open(window, is_alone ? app_trace_new_of_run(path) : app_trace_new(path),
			add);
		add = true;
	}
}

void window_reload(AppWindow *window)
{
	AppTrace *traces[THRUM__STAGE_MAX];
	char *state;
	unsigned count = window->count;

	if (count == 0 || window->coming_count > 0)
		return;
	state = window_state(window);
	for (unsigned i = 0; i < count; i++)
		traces[i] = app_trace_again(window->traces[i]);
	for (unsigned i = 0; i < count; i++)
		app_window_open(window, traces[i], i > 0);
	window->coming_state = state;
}

void window_close_trace(AppWindow *window, unsigned part)
{
	AppTrace *trace;

	if (part >= window->count || window->count == 1)
		return;
	trace = window->traces[part];
	app_pane_set_traces(APP_PANE(window->pane), NULL, window->stage, 0);
	thrum__stage_remove(window->stage, part);
	window->count--;
	memmove(&window->traces[part], &window->traces[part + 1],
		(window->count - part) * sizeof *window->traces);
	app_pane_set_traces(APP_PANE(window->pane), window->traces, window->stage, window->count);
	drop_trace(window, trace);
	window_update_messages(window);
	window_update_actions(window);
	app_picture_did(APP_PICTURE(window->picture),
		THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION | THRUM__CHANGED_SEARCH |
			THRUM__CHANGED_STATUS);
	window_update(window, 0);
}

void window_close_all(AppWindow *window)
{
	for (unsigned i = 0; i < window->coming_count; i++)
		drop_trace(window, window->coming[i]);
	window->coming_count = 0;
	g_clear_handle_id(&window->patience, g_source_remove);
	g_clear_handle_id(&window->rows_wait, g_source_remove);
	for (unsigned i = 0; i < window->count; i++) {
		g_signal_handlers_disconnect_by_data(window->traces[i], window);
		app_trace_cancel(window->traces[i]);
	}
	g_clear_pointer(&window->failure, g_free);
	g_clear_pointer(&window->hidden_message, g_free);
	g_clear_pointer(&window->coming_state, g_free);
}
