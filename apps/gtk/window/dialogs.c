/* SPDX-License-Identifier: ISC */
/* The dialogs: going to a time, keys, about, opening and saving files. */
#include <string.h>

#include "window/parts.h"

/* ---- Making a dialog ----------------------------------------------------------------------- */

static gboolean on_escape(GtkWidget *dialog, GVariant *arguments, void *data)
{
	gtk_window_close(GTK_WINDOW(dialog));
	return TRUE;
}

static GtkWindow *make_dialog(AppWindow *window, const char *title, const char *name,
	GtkWidget *child)
{
	GtkWindow *dialog = GTK_WINDOW(gtk_window_new());
	GtkEventController *keys = gtk_shortcut_controller_new();

	gtk_window_set_title(dialog, title);
	gtk_window_set_transient_for(dialog, GTK_WINDOW(window));
	gtk_window_set_modal(dialog, TRUE);
	gtk_window_set_destroy_with_parent(dialog, TRUE);
	gtk_window_set_resizable(dialog, FALSE);
	gtk_widget_set_name(GTK_WIDGET(dialog), name);
	gtk_widget_add_css_class(GTK_WIDGET(dialog), "thrum");
	gtk_widget_add_css_class(GTK_WIDGET(dialog), "dialog");
	gtk_window_set_child(dialog, child);
	gtk_shortcut_controller_add_shortcut(GTK_SHORTCUT_CONTROLLER(keys),
		gtk_shortcut_new(gtk_keyval_trigger_new(GDK_KEY_Escape, 0),
			gtk_callback_action_new(on_escape, NULL, NULL)));
	gtk_widget_add_controller(GTK_WIDGET(dialog), keys);
	return dialog;
}

static void set_margins(GtkWidget *widget, int margin)
{
	gtk_widget_set_margin_top(widget, margin);
	gtk_widget_set_margin_bottom(widget, margin);
	gtk_widget_set_margin_start(widget, margin);
	gtk_widget_set_margin_end(widget, margin);
}

/* ---- Asking for a text --------------------------------------------------------------------- */

typedef int ask_answer(struct thrum__stage *, const char *text, struct thrum_error_info *);

struct ask {
	AppWindow *window;
	GtkWindow *dialog;
	GtkWidget *entry, *reason;
	ask_answer *answer;
};

static void on_answer(GtkWidget *any, struct ask *ask)
{
	struct thrum_error_info error = {0};
	int changed = ask->answer(ask->window->stage,
		gtk_editable_get_text(GTK_EDITABLE(ask->entry)), &error);

	if (changed < 0) {
		gtk_label_set_text(GTK_LABEL(ask->reason), error.message);
		gtk_widget_add_css_class(ask->reason, "bad");
		return;
	}
	app_picture_did(APP_PICTURE(ask->window->picture), changed);
	gtk_window_close(ask->dialog);
}

/* Shows a dialog with an entry. The parts' names are the dialog's with "-text", "-reason", "-go". */
static struct ask *ask_text(AppWindow *window, const char *title, const char *name,
	const char *label, const char *hint, const char *go, ask_answer *answer)
{
	struct ask *ask = g_new0(struct ask, 1);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkWidget *button = gtk_button_new_with_label(go);
	g_autofree char *entry_name = g_strconcat(name, "-text", NULL);
	g_autofree char *reason_name = g_strconcat(name, "-reason", NULL);
	g_autofree char *button_name = g_strconcat(name, "-go", NULL);

	ask->window = window;
	ask->answer = answer;
	ask->entry = gtk_entry_new();
	ask->reason = window_label(hint, "muted");
	gtk_editable_set_width_chars(GTK_EDITABLE(ask->entry), 36);
	gtk_label_set_wrap(GTK_LABEL(ask->reason), TRUE);
	gtk_label_set_max_width_chars(GTK_LABEL(ask->reason), 44);
	gtk_widget_set_name(ask->entry, entry_name);
	app_call(ask->entry, label);
	gtk_widget_set_name(ask->reason, reason_name);
	gtk_widget_set_name(button, button_name);
	gtk_widget_add_css_class(button, "control");
	gtk_widget_set_halign(button, GTK_ALIGN_END);
	gtk_box_append(GTK_BOX(box), ask->entry);
	gtk_box_append(GTK_BOX(box), ask->reason);
	gtk_box_append(GTK_BOX(box), button);
	set_margins(box, 16);
	ask->dialog = make_dialog(window, title, name, box);
	g_object_set_data_full(G_OBJECT(ask->dialog), "ask", ask, g_free);
	g_signal_connect(ask->entry, "activate", G_CALLBACK(on_answer), ask);
	g_signal_connect(button, "clicked", G_CALLBACK(on_answer), ask);
	return ask;
}

static void present(struct ask *ask)
{
	gtk_window_present(ask->dialog);
	gtk_widget_grab_focus(ask->entry);
}

/* Selects the part of "5.1 ms + 20 µs" that is to be changed: the time or the duration. */
static void choose_text(GtkEditable *entry, bool duration)
{
	const char *text = gtk_editable_get_text(entry), *plus = strstr(text, " + ");
	int length = (int)g_utf8_strlen(text, -1);
	int at = plus ? (int)g_utf8_strlen(text, plus - text) : length;

	gtk_editable_select_region(entry, duration && plus ? at + 3 : 0, duration ? length : at);
}

void dialog_go_to(AppWindow *window, bool duration)
{
	struct ask *ask;
	char words[100];

	if (window->count == 0)
		return;
	ask = ask_text(window, duration ? "Visible Duration" : "Go to a Time", "go-to",
		duration ? "Duration" : "Time",
		"A time, a range, or a time and a duration:\n"
		"5.1 ms   5.1 ms..6 ms   5.1 ms + 20 µs",
		"Go", thrum__stage_go_text);
	thrum__stage_window_words(window->stage, words, sizeof words);
	gtk_editable_set_text(GTK_EDITABLE(ask->entry), words);
	present(ask);
	choose_text(GTK_EDITABLE(ask->entry), duration);
}

void dialog_mark(AppWindow *window)
{
	if (window->count > 0)
		present(ask_text(window, "Mark a Time", "mark", "Text",
			"An empty text removes the mark that is here.", "Mark",
			thrum__stage_set_mark));
}

/* ---- Keys ---------------------------------------------------------------------------------- */

static void add_key(GtkWidget *box, const char *text)
{
	GtkWidget *cap = window_label(text, "cap");

	gtk_widget_set_valign(cap, GTK_ALIGN_CENTER);
	gtk_box_append(GTK_BOX(box), cap);
}

/* Adds a row whose words break after so many characters. */
static void add_wide_row(GtkGrid *grid, GtkWidget *keys, const char *help, int chars)
{
	int row = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(grid), "rows"));
	GtkWidget *words = window_label(help, NULL);

	gtk_label_set_wrap(GTK_LABEL(words), TRUE);
	/* Else the dialog is as high as its narrowest labels would be. */
	gtk_label_set_width_chars(GTK_LABEL(words), MIN((int)strlen(help), chars));
	gtk_label_set_max_width_chars(GTK_LABEL(words), chars);
	gtk_widget_set_halign(keys, GTK_ALIGN_END);
	gtk_grid_attach(grid, keys, 0, row, 1, 1);
	gtk_grid_attach(grid, words, 1, row, 1, 1);
	g_object_set_data(G_OBJECT(grid), "rows", GINT_TO_POINTER(row + 1));
}

/* Lists of keys stand side by side; each is a grid with titles. */
static void add_row(GtkGrid *grid, GtkWidget *keys, const char *help)
{
	add_wide_row(grid, keys, help, 32);
}

static void add_title(GtkGrid *grid, const char *title)
{
	GtkWidget *label = window_label(title, "muted");

	gtk_widget_set_margin_top(label, 8);
	add_row(grid, label, "");
}

static void add_command(GtkGrid *grid, const char *keys, const char *help)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
	g_auto(GStrv) names = g_strsplit(keys, " ", -1);

	for (char **name = names; *name; name++)
		add_key(box, g_str_has_prefix(*name, "Arrow") ? *name + strlen("Arrow") : *name);
	add_row(grid, box, help);
}

static void add_accelerator(GtkGrid *grid, const struct window_key *entry)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
	g_auto(GStrv) names = g_strsplit(entry->accelerator, " ", -1);

	for (char **name = names; *name; name++) {
		g_autofree char *label = NULL;
		GdkModifierType modifiers;
		unsigned key;

		if (!gtk_accelerator_parse(*name, &key, &modifiers))
			continue;
		label = gtk_accelerator_get_label(key, modifiers);
		add_key(box, label);
	}
	add_row(grid, box, entry->help);
}

static GtkGrid *add_list(GtkWidget *box)
{
	GtkWidget *grid = gtk_grid_new();

	gtk_grid_set_row_spacing(GTK_GRID(grid), 4);
	gtk_grid_set_column_spacing(GTK_GRID(grid), 12);
	gtk_box_append(GTK_BOX(box), grid);
	return GTK_GRID(grid);
}

static void add_group(GtkGrid *grid, const char *group)
{
	add_title(grid, group);
	for (int command = 0; command < THRUM__COMMAND_COUNT; command++)
		if (strcmp(thrum__scene_command_group(command), group) == 0)
			add_command(grid, thrum__scene_command_keys(command),
				thrum__scene_command_help(command));
}

/* Lets a large dialog scroll, so that it is no higher than its window. */
static GtkWidget *make_scrolled(AppWindow *window, GtkWidget *child)
{
	GtkWidget *scrolled = gtk_scrolled_window_new();
	GtkScrolledWindow *self = GTK_SCROLLED_WINDOW(scrolled);

	gtk_scrolled_window_set_policy(self, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_width(self, TRUE);
	gtk_scrolled_window_set_propagate_natural_height(self, TRUE);
	gtk_scrolled_window_set_max_content_height(self,
		MAX(gtk_widget_get_height(GTK_WIDGET(window)) - 40, 300));
	gtk_scrolled_window_set_child(self, child);
	return scrolled;
}

#define PAIR_OF(word, help) {word, help},

void dialog_keys(AppWindow *window)
{
	static const char *const groups[] = {THRUM__COMMAND_GROUPS};
	static const char *const gestures[][2] = {THRUM__GESTURES(PAIR_OF)};
	static const char *const reading[][2] = {THRUM__READING(PAIR_OF)};
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 32);
	GtkWidget *all = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkGrid *lists[3], *words = add_list(all);

	set_margins(all, 20);
	add_title(words, "Reading the picture");
	for (size_t i = 0; i < G_N_ELEMENTS(reading); i++)
		add_wide_row(words, window_label(reading[i][0], NULL), reading[i][1], 90);
	gtk_box_append(GTK_BOX(all), box);
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
		lists[i] = add_list(box);
	for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
		add_group(lists[i < 2 ? 0 : 1], groups[i]);
	add_title(lists[2], "Window");
	add_command(lists[2], "G", "set the visible duration");
	for (const struct window_key *entry = window_keys; entry->action; entry++)
		add_accelerator(lists[2], entry);
	add_title(lists[2], "Pointer");
	for (size_t i = 0; i < G_N_ELEMENTS(gestures); i++)
		add_row(lists[2], window_label(gestures[i][0], NULL), gestures[i][1]);
	gtk_window_present(make_dialog(window, "Help", "keys", make_scrolled(window, all)));
}

void dialog_about(AppWindow *window)
{
	GtkIconTheme *icons = gtk_icon_theme_get_for_display(gdk_display_get_default());
	const char *icon = gtk_window_get_default_icon_name(); /* may not be installed */

	gtk_show_about_dialog(GTK_WINDOW(window), "program-name", "thrum", "version", THRUM_VERSION,
		"comments", "Shows what the tasks of an asynchronous program did and why it hangs",
		"license-type", GTK_LICENSE_CUSTOM, "license", "ISC", "logo-icon-name",
		gtk_icon_theme_has_icon(icons, icon) ? icon : NULL, NULL);
}

/* ---- Files --------------------------------------------------------------------------------- */

static GtkFileChooserNative *make_chooser(AppWindow *window, const char *title,
	GtkFileChooserAction action, const char *accept)
{
	GtkFileChooserNative *chooser = gtk_file_chooser_native_new(title, GTK_WINDOW(window),
		action, accept, "_Cancel");

	gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(chooser), TRUE);
	gtk_native_dialog_set_transient_for(GTK_NATIVE_DIALOG(chooser), GTK_WINDOW(window));
	return chooser;
}

static void on_opened(GtkNativeDialog *chooser, int answer, AppWindow *window)
{
	if (answer == GTK_RESPONSE_ACCEPT) {
		g_autoptr(GListModel) files = gtk_file_chooser_get_files(GTK_FILE_CHOOSER(chooser));

		const char *how = g_object_get_data(G_OBJECT(chooser), "how");

		window->compares = strcmp(how, "compare") == 0;
		window_open_files(window, files, strcmp(how, "open") != 0);
	}
	g_object_unref(chooser);
}

void dialog_open(AppWindow *window, const char *how)
{
	const char *title = strcmp(how, "open") == 0 ? "Open"
		: strcmp(how, "below") == 0          ? "Open Below"
						     : "Compare With";
	GtkFileChooserNative *chooser = make_chooser(window, title, GTK_FILE_CHOOSER_ACTION_OPEN,
		"_Open");
	GtkFileFilter *traces = gtk_file_filter_new(), *all = gtk_file_filter_new();

	gtk_file_filter_set_name(traces, "Traces");
	gtk_file_filter_add_pattern(traces, "*.ctf");
	gtk_file_filter_add_pattern(traces, "*.thrum");
	gtk_file_filter_add_pattern(traces, "*.thrum.zst");
	gtk_file_filter_set_name(all, "All files");
	gtk_file_filter_add_pattern(all, "*");
	gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(chooser), traces);
	gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(chooser), all);
	g_object_unref(traces);
	g_object_unref(all);
	gtk_file_chooser_set_select_multiple(GTK_FILE_CHOOSER(chooser),
		strcmp(how, "compare") != 0);
	g_object_set_data(G_OBJECT(chooser), "how", (gpointer)how);
	g_signal_connect_object(chooser, "response", G_CALLBACK(on_opened), window, 0);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(chooser));
}

/* `choices` of a format may be NULL. */
static void choose_target(AppWindow *window, const char *title, const char *name,
	const char *const *choices, GCallback respond)
{
	static const char *const labels[] = {"SVG", "PNG", "PDF", NULL};
	GtkFileChooserNative *chooser = make_chooser(window, title, GTK_FILE_CHOOSER_ACTION_SAVE,
		"_Save");

	if (choices) {
		gtk_file_chooser_add_choice(GTK_FILE_CHOOSER(chooser), "format", "Format",
			(const char **)choices, (const char **)labels);
		gtk_file_chooser_set_choice(GTK_FILE_CHOOSER(chooser), "format", choices[0]);
	}
	gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(chooser), name);
	g_signal_connect_object(chooser, "response", respond, window, 0);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(chooser));
}

/* Returns the path of the chosen file, or NULL, and drops the dialog. Free the path with g_free. */
static char *chosen_path(GtkNativeDialog *chooser, int answer)
{
	char *path = NULL;

	if (answer == GTK_RESPONSE_ACCEPT) {
		g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(chooser));

		path = g_file_get_path(file);
	}
	g_object_unref(chooser);
	return path;
}

/* The formats of a picture. */
static const char *const formats[] = {"svg", "png", "pdf", NULL};

/* Returns the path with the suffix of the chosen format, unless it has one of a format. */
static char *with_suffix(const char *path, const char *format)
{
	for (size_t i = 0; formats[i]; i++) {
		size_t size = strlen(path), suffix = strlen(formats[i]);

		if (size > suffix + 1 && path[size - suffix - 1] == '.' &&
			g_ascii_strcasecmp(path + size - suffix, formats[i]) == 0)
			return g_strdup(path);
	}
	return g_strconcat(path, ".", format, NULL);
}

static void on_export(GtkNativeDialog *chooser, int answer, AppWindow *window)
{
	const char *choice = gtk_file_chooser_get_choice(GTK_FILE_CHOOSER(chooser), "format");
	g_autofree char *format = g_strdup(choice ? choice : formats[0]);
	g_autofree char *chosen = chosen_path(chooser, answer);
	g_autofree char *path = chosen ? with_suffix(chosen, format) : NULL;
	g_autofree char *done = NULL, *name = NULL;
	g_autoptr(GError) error = NULL;

	if (!path)
		return;
	if (!app_picture_export(APP_PICTURE(window->picture), path, &error)) {
		window_fail(window, "The picture can't be exported: %s", error->message);
		return;
	}
	done = g_strdup_printf("saved as %s", path);
	name = g_filename_display_name(done);
	/* In the status line, until the pointer moves. */
	gtk_label_set_text(GTK_LABEL(window->pointer_words), name);
}

static void on_saved(GObject *trace, GAsyncResult *result, void *data)
{
	g_autoptr(AppWindow) window = data;
	g_autoptr(GError) error = NULL;

	g_application_release(g_application_get_default());
	/* The window may have been closed meanwhile. */
	if (!app_trace_snapshot_finish(result, &error) && window->stage)
		window_fail(window, "The recording can't be saved: %s", error->message);
}

static void save_part(AppWindow *window, const char *path, int64_t from, int64_t until)
{
	g_application_hold(g_application_get_default());
	app_trace_snapshot(window->traces[window->stage->focus], path, from, until, on_saved,
		g_object_ref(window));
}

static void on_snapshot(GtkNativeDialog *chooser, int answer, AppWindow *window)
{
	g_autofree char *path = chosen_path(chooser, answer);

	if (!path || window->count == 0)
		return;
	save_part(window, path, 0, INT64_MAX);
}

static void on_range(GtkNativeDialog *chooser, int answer, AppWindow *window)
{
	g_autofree char *path = chosen_path(chooser, answer);
	const struct thrum__scene_bands_state *bands;

	if (!path || window->count == 0)
		return;
	bands = &window->stage->parts[window->stage->focus].scene->state.bands;
	if (bands->range_from < bands->range_to)
		save_part(window, path, bands->range_from, bands->range_to);
}

static char *stem(AppWindow *window)
{
	char name[256];

	thrum__stage_file_words(window->stage, window->stage->focus, name, sizeof name);
	return g_strdup(name);
}

void dialog_export(AppWindow *window)
{
	g_autofree char *name = stem(window);

	choose_target(window, "Export the Picture", name, formats, G_CALLBACK(on_export));
}

void dialog_snapshot(AppWindow *window)
{
	g_autofree char *name = stem(window);
	g_autofree char *file = g_strconcat(name, "-snapshot.thrum", NULL);

	choose_target(window, "Save a Snapshot", file, NULL, G_CALLBACK(on_snapshot));
}

void dialog_save_range(AppWindow *window)
{
	g_autofree char *name = stem(window);
	g_autofree char *file = g_strconcat(name, "-range.thrum", NULL);

	choose_target(window, "Save the Range", file, NULL, G_CALLBACK(on_range));
}
