/* SPDX-License-Identifier: ISC */
/* Actions of a window, their keys, and the menus. */
#include <string.h>

#include "base/utf8.h"
#include "desktop/settings.h"
#include "desktop/theme.h"
#include "window/parts.h"

#define KEEP_NS (10 * INT64_C(1000000000))

/* The keys beside those of the commands (scene/scene.h). */
const struct window_key window_keys[] = {
	{"win.open", "<Control>o", "open a trace"},
	{"win.open-stacked", "<Control><Shift>o", "open a trace below the others"},
	{"win.compare", "<Control>d", "compare with another trace"},
	{"win.attach", "<Control>l", "attach to a program that is recording"},
	{"win.reload", "F5", "reload"},
	{"win.export", "<Control>e", "export the picture"},
	{"win.find", "<Control>f", "find a task or log line"},
	{"win.pane", "F9", "show or hide the side panel"},
	{"win.copy-view", "<Control><Shift>c", "copy the view as a line of text"},
	{"win.paste-view", "<Control><Shift>v", "show the view from the clipboard"},
	{"win.new-window", "<Control>n", "open another window"},
	{"win.keys", "<Control>question F1", "all keys"},
	{"win.close", "<Control>w", "close the window"},
	{NULL, NULL, NULL},
};

static void apply_change(AppWindow *window, int changed)
{
	app_picture_did(APP_PICTURE(window->picture), changed);
}

static void set_state(AppWindow *window, const char *name, GVariant *state)
{
	GAction *action = g_action_map_lookup_action(G_ACTION_MAP(window), name);

	g_simple_action_set_state(G_SIMPLE_ACTION(action), state);
}

static void enable_action(AppWindow *window, const char *name, bool is_enabled)
{
	GAction *action = g_action_map_lookup_action(G_ACTION_MAP(window), name);

	g_simple_action_set_enabled(G_SIMPLE_ACTION(action), is_enabled);
}

#define ACTION(name) static void name(GSimpleAction *action, GVariant *value, void *data)

/* ---- Traces -------------------------------------------------------------------------------- */

ACTION(on_open)
{
	dialog_open(data, "open");
}

ACTION(on_open_stacked)
{
	dialog_open(data, "below");
}

static void attach_to(int pid, void *data)
{
	app_window_open(data, app_trace_new_of_process(pid), false);
}

ACTION(on_compare)
{
	dialog_open(data, "compare");
}

ACTION(on_attach)
{
	app_attach_choose(data, attach_to, data);
}

ACTION(on_recent)
{
	g_autoptr(GFile) file = g_file_new_for_uri(g_variant_get_string(value, NULL));
	g_autofree char *path = g_file_get_path(file);

	if (path)
		app_window_open(data, app_trace_new(path), false);
}

ACTION(on_reload)
{
	window_reload(data);
}

ACTION(on_export)
{
	dialog_export(data);
}

ACTION(on_snapshot)
{
	dialog_snapshot(data);
}

ACTION(on_save_range)
{
	dialog_save_range(data);
}

ACTION(on_pause)
{
	AppWindow *window = data;
	bool is_paused = g_variant_get_boolean(value);

	for (unsigned i = 0; i < window->count; i++)
		app_trace_pause(window->traces[i], is_paused);
	g_simple_action_set_state(action, value);
}

ACTION(on_keep)
{
	AppWindow *window = data;

	window->keep = g_variant_get_boolean(value) ? KEEP_NS : 0;
	for (unsigned i = 0; i < window->count; i++)
		app_trace_keep(window->traces[i], window->keep);
	g_simple_action_set_state(action, value);
}

ACTION(on_close_trace)
{
	AppWindow *window = data;

	window_close_trace(window, window->stage->focus);
}

ACTION(on_new_window)
{
	gtk_window_present(
		GTK_WINDOW(app_window_new(gtk_window_get_application(GTK_WINDOW(data)))));
}

ACTION(on_close)
{
	gtk_window_close(data);
}

/* ---- The view ------------------------------------------------------------------------------ */

ACTION(on_fit)
{
	app_picture_command(APP_PICTURE(((AppWindow *)data)->picture), THRUM__COMMAND_FIT);
}

/* A command of the picture that has no action of its own, by its name. */
ACTION(on_command)
{
	app_picture_command(APP_PICTURE(((AppWindow *)data)->picture),
		thrum__scene_command_find(g_variant_get_string(value, NULL)));
}

ACTION(on_find)
{
	gtk_widget_grab_focus(((AppWindow *)data)->search);
}

ACTION(on_go_to)
{
	dialog_go_to(data, false);
}

ACTION(on_duration)
{
	dialog_go_to(data, true);
}

ACTION(on_link)
{
	AppWindow *window = data;

	apply_change(window, thrum__stage_link(window->stage, g_variant_get_boolean(value)));
	g_simple_action_set_state(action, value);
}

ACTION(on_pane)
{
	AppWindow *window = data;

	gtk_widget_set_visible(window->pane, !gtk_widget_get_visible(window->pane));
}

ACTION(on_theme)
{
	const char *name = g_variant_get_string(value, NULL);

	/* -1, for a name that is no theme's, is THEME_SYSTEM. */
	theme_choose(thrum__draw_theme_find(name));
	settings_set("theme", theme_chosen());
	/* The choice is new even if the theme stays: from the system's to the same one, say. */
	g_simple_action_set_state(action, value);
}

/* The commands that are switched on and off in the menu. */
static const int switches[] = {THRUM__COMMAND_FOLD, THRUM__COMMAND_SQUEEZE, THRUM__COMMAND_FISHEYE,
	THRUM__COMMAND_RELATED, THRUM__COMMAND_ALONE, THRUM__COMMAND_LEGEND};

static bool is_switched_on(const struct thrum__scene *scene, int command)
{
	switch (command) {
	case THRUM__COMMAND_FOLD: return thrum__scene_folds(scene);
	case THRUM__COMMAND_SQUEEZE: return thrum__scene_squeezes(scene);
	case THRUM__COMMAND_FISHEYE: return scene->state.fisheye;
	case THRUM__COMMAND_RELATED:
	case THRUM__COMMAND_ALONE: return scene->state.related_only;
	default: return scene->state.legend;
	}
}

void window_update_switches(AppWindow *window)
{
	const struct thrum__scene *scene = window->count > 0
		? window->stage->parts[window->stage->focus].scene
		: NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(switches); i++)
		set_state(window, thrum__scene_command_name(switches[i]),
			g_variant_new_boolean(scene && is_switched_on(scene, switches[i])));
	enable_action(window, "save-range",
		scene && scene->shows_bands &&
			scene->state.bands.range_from < scene->state.bands.range_to &&
			app_trace_has_parts(window->traces[window->stage->focus]));
}

ACTION(on_switch)
{
	app_picture_command(APP_PICTURE(((AppWindow *)data)->picture),
		thrum__scene_command_find(g_action_get_name(G_ACTION(action))));
}

/* A menu can't be held open with Shift, so it is the next drag that measures. */
ACTION(on_measure)
{
	app_picture_measure(APP_PICTURE(((AppWindow *)data)->picture), true);
}

ACTION(on_mark)
{
	dialog_mark(data);
}

ACTION(on_animations)
{
	((AppWindow *)data)->stage->is_animated = g_variant_get_boolean(value);
	settings_set("animations", g_variant_get_boolean(value));
	g_simple_action_set_state(action, value);
}

ACTION(on_copy_view)
{
	g_autofree char *state = window_state(data);

	gdk_clipboard_set_text(gtk_widget_get_clipboard(data), state);
}

/* Shows the view that a pasted text describes: a line of Copy View, or the address of a page. */
static void on_pasted(GObject *clipboard, GAsyncResult *result, void *data)
{
	g_autoptr(AppWindow) window = data;
	g_autofree char *text = gdk_clipboard_read_text_finish(GDK_CLIPBOARD(clipboard), result,
		NULL);
	const char *hash = text ? strrchr(text, '#') : NULL;

	if (text)
		app_window_set_state(window, g_strstrip(hash ? text + (hash + 1 - text) : text));
}

ACTION(on_paste_view)
{
	gdk_clipboard_read_text_async(gtk_widget_get_clipboard(data), NULL, on_pasted,
		g_object_ref(data));
}

ACTION(on_keys)
{
	dialog_keys(data);
}

ACTION(on_about)
{
	dialog_about(data);
}

/* ---- The picture's menu -------------------------------------------------------------------- */

/* Returns the model of the menu's task, or NULL: the trace was closed, or the task forgotten. */
static const struct thrum__model *menu_model(AppWindow *window)
{
	const struct thrum__model *model;

	if (window->menu_part >= window->stage->count)
		return NULL;
	model = window->stage->parts[window->menu_part].scene->model;
	return thrum__model_has_row(&model->tasks, window->menu_task) ? model : NULL;
}

ACTION(on_select)
{
	AppWindow *window = data;

	apply_change(window,
		thrum__stage_select(window->stage, window->menu_part, window->menu_task));
}

ACTION(on_slow)
{
	AppWindow *window = data;

	if (!menu_model(window))
		return;
	window_show_slow(window);
	apply_change(window,
		thrum__stage_select(window->stage, window->menu_part, window->menu_task));
}

ACTION(on_alone)
{
	AppWindow *window = data;

	if (menu_model(window))
		apply_change(window,
			thrum__stage_go_task(window->stage, window->menu_part, window->menu_task));
}

ACTION(on_related)
{
	AppWindow *window = data;

	if (!menu_model(window))
		return;
	if (!window->stage->parts[window->menu_part].scene->state.related_only)
		app_picture_command(APP_PICTURE(window->picture), THRUM__COMMAND_RELATED);
	apply_change(window,
		thrum__stage_select(window->stage, window->menu_part, window->menu_task));
}

/* Returns the task whose result the menu's task read last, as the details do, or THRUM__NONE. */
static uint32_t waker(AppWindow *window)
{
	const struct thrum__model *model = menu_model(window);
	uint32_t edge = model ? THRUM__TASK(model, window->menu_task, edge_out) : THRUM__NONE;

	if (!model)
		return THRUM__NONE;
	while (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ)
		edge = THRUM__EDGE(model, edge, prev_out);
	return thrum__model_has_row(&model->edges, edge) ? THRUM__EDGE(model, edge, to)
							 : THRUM__NONE;
}

ACTION(on_go_waker)
{
	AppWindow *window = data;
	uint32_t task = waker(window);

	if (task != THRUM__NONE)
		apply_change(window, thrum__stage_go_task(window->stage, window->menu_part, task));
}

ACTION(on_copy_name)
{
	AppWindow *window = data;
	const struct thrum__model *model = menu_model(window);
	char words[400], text[400];
	size_t size;

	if (!model)
		return;
	size = thrum__words_task(model, window->menu_task, words, sizeof words);
	size = MIN(size, sizeof words - 1);
	text[thrum__base_utf8_clean(words, size, text, sizeof text - 1)] = '\0';
	gdk_clipboard_set_text(gtk_widget_get_clipboard(data), text);
}

void window_popup(AppWindow *window, double x, double y)
{
	const struct thrum__stage *stage = window->stage;
	bool is_task;

	if (window->count == 0)
		return;
	window->menu_part = stage->focus;
	window->menu_task = stage->parts[stage->focus].scene->selected;
	if (x >= 0) {
		uint32_t part;

		window->menu_task = thrum__stage_pick(stage, (float)x, (float)y, &part);
		window->menu_part = part;
	} else {
		x = gtk_widget_get_width(window->picture) / 2.0;
		y = gtk_widget_get_height(window->picture) / 2.0;
	}
	is_task = menu_model(window) != NULL;
	enable_action(window, "select", is_task);
	enable_action(window, "show-related", is_task);
	enable_action(window, "show-alone", is_task);
	enable_action(window, "slow", is_task);
	enable_action(window, "copy-name", is_task);
	enable_action(window, "go-waker", waker(window) != THRUM__NONE);
	gtk_popover_set_pointing_to(GTK_POPOVER(window->menu),
		&(GdkRectangle){(int)x, (int)y, 1, 1});
	gtk_popover_popup(GTK_POPOVER(window->menu));
}

static GMenuModel *make_popup(void)
{
	GMenu *menu = g_menu_new(), *go = g_menu_new(), *copy = g_menu_new();

	g_menu_append(go, "Select", "win.select");
	g_menu_append(go, "Show Related", "win.show-related");
	g_menu_append(go, "Show Alone", "win.show-alone");
	g_menu_append(go, "Go to Who Woke It", "win.go-waker");
	g_menu_append(go, "Why Slow", "win.slow");
	g_menu_append(go, "Fit", "win.fit");
	g_menu_append(go, "Measure", "win.measure");
	g_menu_append(copy, "Copy Name", "win.copy-name");
	g_menu_append(copy, "Copy View", "win.copy-view");
	g_menu_append(copy, "Export…", "win.export");
	g_menu_append_section(menu, NULL, G_MENU_MODEL(go));
	g_menu_append_section(menu, NULL, G_MENU_MODEL(copy));
	g_object_unref(go);
	g_object_unref(copy);
	return G_MENU_MODEL(menu);
}

/* ---- All actions --------------------------------------------------------------------------- */

static GVariant *theme_name(void)
{
	int chosen = theme_chosen();

	return g_variant_new_string(
		chosen == THEME_SYSTEM ? "system" : thrum__draw_theme_name(chosen));
}

void window_update_actions(AppWindow *window)
{
	static const char *const shown[] = {"export", "fit", "go-to", "duration", "pane",
		"copy-view", "paste-view", "mark", "measure", "command"};
	bool is_live = false, is_followed = false;

	for (unsigned i = 0; i < window->count; i++) {
		enum app_trace_state state = app_trace_state(window->traces[i]);

		is_followed |= state == APP_TRACE_LIVE;
		is_live |= state == APP_TRACE_LIVE || state == APP_TRACE_PAUSED;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(shown); i++)
		enable_action(window, shown[i], window->count > 0);
	/* A followed trace is always up to date. */
	enable_action(window, "reload", window->count > 0 && !is_followed);
	enable_action(window, "pause", is_live);
	enable_action(window, "snapshot", window->count > 0);
	enable_action(window, "link", window->count > 1);
	enable_action(window, "compare", window->count == 1);
	enable_action(window, "close-trace", window->count > 1);
	for (size_t i = 0; i < G_N_ELEMENTS(switches); i++)
		enable_action(window, thrum__scene_command_name(switches[i]), window->count > 0);
	set_state(window, "pause", g_variant_new_boolean(is_live && !is_followed));
	set_state(window, "link", g_variant_new_boolean(window->stage->is_linked));
	set_state(window, "theme", theme_name());
	gtk_widget_set_visible(window->pause, is_live);
}

static void add_stateful(AppWindow *window, const char *name, bool is_on,
	void (*change)(GSimpleAction *, GVariant *, void *))
{
	GSimpleAction *action = g_simple_action_new_stateful(name, NULL,
		g_variant_new_boolean(is_on));

	g_signal_connect(action, "change-state", G_CALLBACK(change), window);
	g_action_map_add_action(G_ACTION_MAP(window), G_ACTION(action));
	g_object_unref(action);
}

static void add_theme(AppWindow *window)
{
	GSimpleAction *action = g_simple_action_new_stateful("theme", G_VARIANT_TYPE_STRING,
		theme_name());

	g_signal_connect(action, "change-state", G_CALLBACK(on_theme), window);
	g_action_map_add_action(G_ACTION_MAP(window), G_ACTION(action));
	g_object_unref(action);
}

void window_add_actions(AppWindow *window)
{
	static const GActionEntry entries[] = {
		{"open", on_open, NULL, NULL, NULL, {0}},
		{"open-stacked", on_open_stacked, NULL, NULL, NULL, {0}},
		{"compare", on_compare, NULL, NULL, NULL, {0}},
		{"attach", on_attach, NULL, NULL, NULL, {0}},
		{"recent", on_recent, "s", NULL, NULL, {0}},
		{"reload", on_reload, NULL, NULL, NULL, {0}},
		{"export", on_export, NULL, NULL, NULL, {0}},
		{"snapshot", on_snapshot, NULL, NULL, NULL, {0}},
		{"new-window", on_new_window, NULL, NULL, NULL, {0}},
		{"close", on_close, NULL, NULL, NULL, {0}},
		{"fit", on_fit, NULL, NULL, NULL, {0}},
		{"command", on_command, "s", NULL, NULL, {0}},
		{"save-range", on_save_range, NULL, NULL, NULL, {0}},
		{"find", on_find, NULL, NULL, NULL, {0}},
		{"go-to", on_go_to, NULL, NULL, NULL, {0}},
		{"duration", on_duration, NULL, NULL, NULL, {0}},
		{"pane", on_pane, NULL, NULL, NULL, {0}},
		{"copy-view", on_copy_view, NULL, NULL, NULL, {0}},
		{"paste-view", on_paste_view, NULL, NULL, NULL, {0}},
		{"keys", on_keys, NULL, NULL, NULL, {0}},
		{"about", on_about, NULL, NULL, NULL, {0}},
		{"select", on_select, NULL, NULL, NULL, {0}},
		{"show-related", on_related, NULL, NULL, NULL, {0}},
		{"show-alone", on_alone, NULL, NULL, NULL, {0}},
		{"mark", on_mark, NULL, NULL, NULL, {0}},
		{"measure", on_measure, NULL, NULL, NULL, {0}},
		{"close-trace", on_close_trace, NULL, NULL, NULL, {0}},
		{"slow", on_slow, NULL, NULL, NULL, {0}},
		{"go-waker", on_go_waker, NULL, NULL, NULL, {0}},
		{"copy-name", on_copy_name, NULL, NULL, NULL, {0}},
	};

	g_action_map_add_action_entries(G_ACTION_MAP(window), entries, G_N_ELEMENTS(entries),
		window);
	add_stateful(window, "pause", false, on_pause);
	add_stateful(window, "keep", false, on_keep);
	add_stateful(window, "link", true, on_link);
	for (size_t i = 0; i < G_N_ELEMENTS(switches); i++)
		add_stateful(window, thrum__scene_command_name(switches[i]), false, on_switch);
	add_stateful(window, "animations", window->stage->is_animated, on_animations);
	add_theme(window);
}

void window_add_popup(AppWindow *window)
{
	GMenuModel *model = make_popup();

	window->menu = gtk_popover_menu_new_from_model(model);
	g_object_unref(model);
	gtk_widget_set_name(window->menu, "popup");
	gtk_popover_set_has_arrow(GTK_POPOVER(window->menu), FALSE);
	gtk_widget_set_halign(window->menu, GTK_ALIGN_START);
	/* The picture fills its overlay, so places are the same in both. */
	gtk_widget_set_parent(window->menu, gtk_widget_get_parent(window->picture));
}
