/* SPDX-License-Identifier: ISC */
/* The window: its layout, and the widgets that follow the stage. */
#include "window/parts.h"

#include <string.h>

#include "desktop/settings.h"
#include "desktop/theme.h"
#include "picture/loading.h"
#include "window/shelf.h"

#define PANE_WIDTH 341    /* pixels, with the border */
#define MESSAGE_HEIGHT 80 /* pixels, at most */
#define WORDS_WIDTH 70    /* characters of a line in an empty window */
#define SEEN_LEAST 20     /* characters of the status line's part on what is visible */

G_DEFINE_TYPE(AppWindow, app_window, GTK_TYPE_APPLICATION_WINDOW)

GtkWidget *window_label(const char *text, const char *class)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	if (class)
		gtk_widget_add_css_class(label, class);
	return label;
}

/* Returns the text of a function of the stage that works as snprintf. Free it with g_free. */
static char *print_stage(size_t (*print)(const struct thrum__stage *, char *, size_t),
	const struct thrum__stage *stage)
{
	size_t size = print(stage, NULL, 0) + 1;
	char *text = g_malloc0(size);

	print(stage, text, size);
	return text;
}

char *window_state(AppWindow *window)
{
	return print_stage(thrum__stage_state_print, window->stage);
}

/* Returns the status line's part on what is visible, with how far rows are made. */
static char *seen_words(AppWindow *window)
{
	char *seen = print_stage(thrum__stage_seen_words, window->stage), *more;
	unsigned focus = window->stage->focus;

	if (window->count == 0 || !thrum__scene_awaits_rows(window->stage->parts[focus].scene))
		return seen;
	more = g_strdup_printf("%s: %d %%", seen,
		app_trace_percent_laid_out(window->traces[focus]));
	g_free(seen);
	return more;
}

char *window_status(AppWindow *window)
{
	g_autofree char *pointer = print_stage(thrum__stage_pointer_words, window->stage);
	g_autofree char *seen = seen_words(window);

	return g_strconcat(pointer, *pointer && *seen ? " · " : "", seen, NULL);
}

/* ---- Following the stage ------------------------------------------------------------------- */

static void set_bar(GtkAdjustment *adjustment, GtkWidget *bar,
	const struct thrum__stage_scroll *scroll)
{
	gtk_adjustment_configure(adjustment, scroll->at, 0, scroll->all, scroll->page / 10,
		scroll->page * 0.9, scroll->page);
	gtk_widget_set_visible(bar, scroll->page < scroll->all);
}

/* Puts the vertical scroll bar beside the tracks of the focused part. */
static void place_bar(AppWindow *window)
{
	const struct thrum__stage *stage = window->stage;
	const struct thrum__stage_part *part = &stage->parts[stage->focus];
	int top = (int)part->top + THRUM__RULER + THRUM__STRIP;
	int bottom = gtk_widget_get_height(window->picture) - (int)(part->top + part->height);

	if (stage->count > 1)
		top += THRUM__HEAD;
	gtk_widget_set_margin_top(window->track_bar, top);
	gtk_widget_set_margin_bottom(window->track_bar, MAX(bottom, 0) + 10);
}

static void update_bars(AppWindow *window)
{
	struct thrum__stage_scroll tracks, time;

	thrum__stage_scroll_tracks(window->stage, &tracks);
	thrum__stage_scroll_time(window->stage, &time);
	window->is_updating = true;
	set_bar(window->tracks, window->track_bar, &tracks);
	set_bar(window->time, window->time_bar, &time);
	window->is_updating = false;
	place_bar(window);
}

static void update_selection(AppWindow *window)
{
	unsigned part = window->stage->focus;

	app_pane_show(APP_PANE(window->pane), part, window->stage->parts[part].scene->selected);
}

static void update_status(AppWindow *window)
{
	g_autofree char *pointer = print_stage(thrum__stage_pointer_words, window->stage);
	g_autofree char *seen = seen_words(window), *name = NULL;
	char band[400] = "";

	if (window->count > 0)
		thrum__scene_focus_words(window->stage->parts[window->stage->focus].scene, band,
			sizeof band);
	gtk_label_set_text(GTK_LABEL(window->pointer_words), pointer);
	gtk_widget_set_visible(window->pointer_words, *pointer);
	gtk_label_set_text(GTK_LABEL(window->seen_words), seen);
	name = g_strconcat(window->told ? window->told : "", window->told ? "; " : "", band,
		*band ? ". " : "", seen, NULL);
	app_call(window->picture, name);
	g_object_set_data_full(G_OBJECT(window->picture), "words", g_steal_pointer(&name), g_free);
}

void window_update(AppWindow *window, unsigned changes)
{
	window_update_bar(window, changes);
	if (window->count == 0)
		return;
	for (unsigned i = 0; i < window->count; i++)
		app_trace_show_bands(window->traces[i], window->stage->parts[i].scene->shows_bands);
	window_ask_for_picture(window);
	update_bars(window);
	update_status(window);
	/* Going back leads to the page that was open then. */
	app_pane_show_page(APP_PANE(window->pane),
		window->stage->panel[0] ? window->stage->panel : "details");
	if (changes & THRUM__CHANGED_SELECTION)
		update_selection(window);
	app_pane_turn(APP_PANE(window->pane));
}

void window_theme_changed(AppWindow *window)
{
	gtk_widget_queue_draw(window->mark);
	window_update_actions(window);
	if (window->count > 0)
		app_picture_did(APP_PICTURE(window->picture),
			thrum__stage_theme(window->stage, theme_now()));
}

/* ---- Input --------------------------------------------------------------------------------- */

static void apply_change(AppWindow *window, int changed)
{
	app_picture_did(APP_PICTURE(window->picture), changed);
}

static void on_changed(AppPicture *picture, unsigned changes, AppWindow *window)
{
	window_update(window, changes);
}

static void show_details(AppWindow *window)
{
	gtk_widget_set_visible(window->pane, TRUE);
	app_pane_show_page(APP_PANE(window->pane), "details");
	gtk_widget_child_focus(window->pane, GTK_DIR_TAB_FORWARD);
}

void window_show_slow(AppWindow *window)
{
	gtk_widget_set_visible(window->pane, TRUE);
	app_pane_ask_slow(APP_PANE(window->pane));
}

static void on_command(AppPicture *picture, int command, AppWindow *window)
{
	switch (command) {
	case THRUM__COMMAND_SEARCH: gtk_widget_grab_focus(window->search); break;
	case THRUM__COMMAND_DETAILS: show_details(window); break;
	case THRUM__COMMAND_SLOW: window_show_slow(window); break;
	case THRUM__COMMAND_GO_TO_TIME: dialog_go_to(window, false); break;
	case THRUM__COMMAND_MARK: dialog_mark(window); break;
	case THRUM__COMMAND_HELP: dialog_keys(window); break;
	default: break;
	}
}

/* The pressed finding stands among the details. The keys are still those of the picture. */
static void on_note(AppPicture *picture, AppWindow *window)
{
	const struct thrum__stage *stage = window->stage;

	gtk_widget_set_visible(window->pane, TRUE);
	app_pane_show_finding(APP_PANE(window->pane),
		stage->parts[stage->focus].scene->state.finding);
}

static void on_menu(AppPicture *picture, double x, double y, AppWindow *window)
{
	window_popup(window, x, y);
}

/* Writes a key's name as browsers give it (KeyboardEvent.key), or "". */
static void key_name(unsigned key, char name[12])
{
	static const struct {
		unsigned key;
		const char *name;
	} named[] = {
		{GDK_KEY_Left, "ArrowLeft"},
		{GDK_KEY_Right, "ArrowRight"},
		{GDK_KEY_Up, "ArrowUp"},
		{GDK_KEY_Down, "ArrowDown"},
		{GDK_KEY_Page_Up, "PageUp"},
		{GDK_KEY_Page_Down, "PageDown"},
		{GDK_KEY_Home, "Home"},
		{GDK_KEY_End, "End"},
		{GDK_KEY_Return, "Enter"},
		{GDK_KEY_KP_Enter, "Enter"},
		{GDK_KEY_BackSpace, "Backspace"},
		{GDK_KEY_Escape, "Escape"},
	};
	uint32_t character = gdk_keyval_to_unicode(key);

	name[0] = '\0';
	for (size_t i = 0; i < G_N_ELEMENTS(named); i++)
		if (named[i].key == key)
			g_strlcpy(name, named[i].name, 12);
	if (!name[0] && character >= ' ')
		name[g_unichar_to_utf8(character, name)] = '\0';
}

/* Handles keys that the focused widget hasn't used. */
static gboolean on_key(GtkEventController *keys, unsigned key, unsigned code, GdkModifierType state,
	AppWindow *window)
{
	char name[12];
	int command;

	if (state & (GDK_CONTROL_MASK | GDK_ALT_MASK | GDK_SUPER_MASK) || window->count == 0)
		return FALSE;
	if (key == GDK_KEY_Menu || (key == GDK_KEY_F10 && state & GDK_SHIFT_MASK)) {
		window_popup(window, -1, -1);
		return TRUE;
	}
	if (key == GDK_KEY_G) {
		dialog_go_to(window, true);
		return TRUE;
	}
	key_name(key, name);
	command = thrum__scene_command_of_key(name);
	if (command < 0)
		return FALSE;
	app_picture_command(APP_PICTURE(window->picture), command);
	return TRUE;
}

static void on_tracks(GtkAdjustment *tracks, AppWindow *window)
{
	if (!window->is_updating)
		apply_change(window,
			thrum__stage_set_track(window->stage, gtk_adjustment_get_value(tracks)));
}

static void on_time(GtkAdjustment *time, AppWindow *window)
{
	if (!window->is_updating)
		apply_change(window,
			thrum__stage_set_time(window->stage, gtk_adjustment_get_value(time)));
}

/* The name of the picture, which has the focus, is spoken when it changes. */
static void on_told(AppPane *pane, const char *words, AppWindow *window)
{
	g_free(window->told);
	window->told = *words ? g_strdup(words) : NULL;
	update_status(window);
}

static void on_go_task(AppPane *pane, unsigned part, unsigned task, AppWindow *window)
{
	apply_change(window, thrum__stage_go_task(window->stage, part, task));
}

static void on_go_time(AppPane *pane, unsigned part, int64_t time, int64_t until, AppWindow *window)
{
	apply_change(window,
		until > time ? thrum__stage_go_span(window->stage, part, time, until)
			     : thrum__stage_go_time(window->stage, part, time));
}

static void on_go_finding(AppPane *pane, unsigned part, unsigned finding, AppWindow *window)
{
	apply_change(window, thrum__stage_go_finding(window->stage, part, finding));
}

static void on_go_difference(AppPane *pane, const struct thrum__difference *difference,
	AppWindow *window)
{
	apply_change(window, thrum__stage_go_difference(window->stage, difference));
}

static void on_go_run(AppPane *pane, unsigned part, unsigned run, AppWindow *window)
{
	apply_change(window, thrum__stage_go_run(window->stage, part, run));
}

static void on_go_slow(AppPane *pane, unsigned part, unsigned task, AppWindow *window)
{
	apply_change(window, thrum__stage_go_slow(window->stage, part, task));
}

static void on_go_group(AppPane *pane, unsigned part, unsigned group, AppWindow *window)
{
	apply_change(window, thrum__stage_go_group(window->stage, part, group));
}

static void on_hover_task(AppPane *pane, unsigned part, unsigned task, AppWindow *window)
{
	apply_change(window, thrum__stage_hover_task(window->stage, part, task));
}

static void on_page(AppPane *pane, const char *word, AppWindow *window)
{
	g_strlcpy(window->stage->panel, word, sizeof window->stage->panel);
}

static void on_hide_message(GtkButton *make_button, AppWindow *window)
{
	g_clear_pointer(&window->failure, g_free);
	g_free(window->hidden_message);
	window->hidden_message = g_strdup(gtk_label_get_text(GTK_LABEL(window->message_words)));
	window_update_messages(window);
}

static gboolean on_drop(GtkDropTarget *target, const GValue *value, double x, double y,
	AppWindow *window)
{
	g_autoptr(GListStore) files = g_list_store_new(G_TYPE_FILE);

	for (GSList *file = g_value_get_boxed(value); file; file = file->next)
		g_list_store_append(files, file->data);
	window_open_files(window, G_LIST_MODEL(files), false);
	return TRUE;
}

/* ---- Layout -------------------------------------------------------------------------------- */

static GtkWidget *make_button(const char *text, const char *name, const char *action)
{
	GtkWidget *made = gtk_button_new_with_label(text);

	gtk_widget_add_css_class(made, "control");
	gtk_widget_set_name(made, name);
	gtk_widget_set_valign(made, GTK_ALIGN_CENTER);
	if (action)
		gtk_actionable_set_action_name(GTK_ACTIONABLE(made), action);
	return made;
}

/* Adds a paragraph, which is narrower in a narrow window. */
static void add_words(GtkWidget *box, const char *text)
{
	GtkWidget *label = window_label(text, "muted");

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_max_width_chars(GTK_LABEL(label), WORDS_WIDTH);
	gtk_box_append(GTK_BOX(box), label);
}

static GtkWidget *make_empty(void)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	GtkWidget *buttons = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *command = window_label("thrum record -o run.thrum -- ./program", "code");

	gtk_widget_add_css_class(box, "empty");
	gtk_widget_set_halign(box, GTK_ALIGN_CENTER);
	gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
	gtk_box_append(GTK_BOX(box), window_label("Open a recording", "title"));
	add_words(box,
		"thrum shows what the tasks of an asynchronous program did, what they waited for, "
		"and why one of them hangs. This command makes a recording:");
	gtk_label_set_selectable(GTK_LABEL(command), TRUE);
	gtk_label_set_ellipsize(GTK_LABEL(command), PANGO_ELLIPSIZE_END);
	gtk_widget_set_focusable(command, FALSE);
	gtk_box_append(GTK_BOX(box), command);
	add_words(box, "Drop it here, or attach to a program that is recording.");
	gtk_widget_set_margin_top(buttons, 8);
	gtk_box_append(GTK_BOX(buttons), make_button("Open…", "empty-open", "win.open"));
	gtk_box_append(GTK_BOX(buttons), make_button("Attach…", "empty-attach", "win.attach"));
	gtk_box_append(GTK_BOX(box), buttons);
	return box;
}

/* Adds a scroll bar over the picture, whose size doesn't depend on it. */
static GtkWidget *add_bar(GtkWidget *overlay, GtkOrientation orientation, GtkAdjustment *adjustment,
	const char *name)
{
	GtkWidget *bar = gtk_scrollbar_new(orientation, adjustment);

	gtk_widget_set_name(bar, name);
	gtk_widget_add_css_class(bar, "over");
	if (orientation == GTK_ORIENTATION_VERTICAL)
		gtk_widget_set_halign(bar, GTK_ALIGN_END);
	else
		gtk_widget_set_valign(bar, GTK_ALIGN_END);
	gtk_overlay_add_overlay(GTK_OVERLAY(overlay), bar);
	return bar;
}

static GtkWidget *make_picture(AppWindow *window)
{
	GtkWidget *overlay = gtk_overlay_new();

	window->picture = app_picture_new(window->stage);
	gtk_widget_set_name(window->picture, "picture");
	gtk_overlay_set_child(GTK_OVERLAY(overlay), window->picture);
	window->tracks = gtk_adjustment_new(0, 0, 1, 1, 1, 1);
	window->time = gtk_adjustment_new(0, 0, 1, 1, 1, 1);
	window->track_bar = add_bar(overlay, GTK_ORIENTATION_VERTICAL, window->tracks, "tracks");
	window->time_bar = add_bar(overlay, GTK_ORIENTATION_HORIZONTAL, window->time, "time");
	app_call(window->track_bar, "Tracks");
	app_call(window->time_bar, "Time");
	g_signal_connect(window->tracks, "value-changed", G_CALLBACK(on_tracks), window);
	g_signal_connect(window->time, "value-changed", G_CALLBACK(on_time), window);
	g_signal_connect(window->picture, "changed", G_CALLBACK(on_changed), window);
	g_signal_connect(window->picture, "command", G_CALLBACK(on_command), window);
	g_signal_connect(window->picture, "menu", G_CALLBACK(on_menu), window);
	g_signal_connect(window->picture, "note", G_CALLBACK(on_note), window);
	return overlay;
}

/* Where there is little room, earlier commands disappear first. */
static void add_key(GtkWidget *shelf, int command, const char *words)
{
	g_autofree char *key = g_strdup(thrum__scene_command_keys(command));
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 4);
	GtkWidget *cap = window_label(strtok(key, " "), "cap");

	gtk_widget_set_valign(cap, GTK_ALIGN_CENTER);
	gtk_widget_set_margin_start(box, 12);
	gtk_box_append(GTK_BOX(box), cap);
	gtk_box_append(GTK_BOX(box), window_label(words, NULL));
	shelf_rank(box, THRUM__COMMAND_COUNT - (unsigned)command);
	gtk_box_append(GTK_BOX(shelf), box);
}

static GtkWidget *make_status(AppWindow *window)
{
	GtkWidget *box = shelf_new(4);

	gtk_widget_add_css_class(box, "status");
	window->pointer_words = window_label("", NULL);
	window->seen_words = window_label("", NULL);
	gtk_widget_set_name(window->pointer_words, "pointer-words");
	gtk_widget_set_name(window->seen_words, "seen-words");
	gtk_label_set_ellipsize(GTK_LABEL(window->pointer_words), PANGO_ELLIPSIZE_END);
	gtk_label_set_ellipsize(GTK_LABEL(window->seen_words), PANGO_ELLIPSIZE_END);
	gtk_label_set_width_chars(GTK_LABEL(window->seen_words), SEEN_LEAST);
	gtk_widget_set_margin_end(window->pointer_words, 12);
	gtk_widget_set_hexpand(window->seen_words, TRUE);
	gtk_box_append(GTK_BOX(box), window->pointer_words);
	gtk_box_append(GTK_BOX(box), window->seen_words);
	add_key(box, THRUM__COMMAND_FIT, "fit");
	add_key(box, THRUM__COMMAND_FOLD, "fold idle");
	add_key(box, THRUM__COMMAND_BANDS, "rows or bands");
	add_key(box, THRUM__COMMAND_DETAILS, "details");
	add_key(box, THRUM__COMMAND_HELP, "all keys");
	return box;
}

static gboolean fit_message(gpointer words)
{
	GtkWidget *scrolled = gtk_widget_get_ancestor(words, GTK_TYPE_SCROLLED_WINDOW);
	int width = gtk_widget_get_width(words), height;

	if (scrolled != NULL && width > 0) {
		gtk_widget_measure(words, GTK_ORIENTATION_VERTICAL, width, NULL, &height, NULL,
			NULL);
		gtk_scrolled_window_set_min_content_height(GTK_SCROLLED_WINDOW(scrolled),
			MIN(height, MESSAGE_HEIGHT));
	}
	return G_SOURCE_REMOVE;
}

/* A scrolled window takes the height of its words on one line. Whenever they or their width change,
 * it is told the height that they need. A widget can't ask for another size within its layout. */
static void on_message_shape(GObject *changed, GParamSpec *property, GtkWidget *words)
{
	g_idle_add_full(G_PRIORITY_DEFAULT, fit_message, g_object_ref(words), g_object_unref);
}

static GtkWidget *make_message(AppWindow *window)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
	GtkWidget *hide = make_button("Close", "message-hide", NULL);
	GtkWidget *scrolled = gtk_scrolled_window_new();

	window->message = box;
	window->message_words = window_label("", NULL);
	gtk_widget_add_css_class(box, "message");
	gtk_widget_set_name(box, "message");
	gtk_widget_set_name(window->message_words, "message-words");
	gtk_label_set_wrap(GTK_LABEL(window->message_words), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(window->message_words), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_selectable(GTK_LABEL(window->message_words), TRUE);
	gtk_widget_set_focusable(window->message_words, FALSE);
	gtk_widget_set_hexpand(scrolled, TRUE);
	/* There may be a line for each trace. Without a scrolled window, a box takes seconds to
	 * find the width of a long text for a given height. */
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), MESSAGE_HEIGHT);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), window->message_words);
	g_signal_connect(gtk_scrolled_window_get_hadjustment(GTK_SCROLLED_WINDOW(scrolled)),
		"notify::page-size", G_CALLBACK(on_message_shape), window->message_words);
	g_signal_connect(window->message_words, "notify::label", G_CALLBACK(on_message_shape),
		window->message_words);
	gtk_box_append(GTK_BOX(box), scrolled);
	gtk_box_append(GTK_BOX(box), hide);
	g_signal_connect(hide, "clicked", G_CALLBACK(on_hide_message), window);
	gtk_widget_set_visible(box, FALSE);
	return box;
}

static void on_cancel(GtkButton *cancel, AppWindow *window)
{
	window_cancel(window);
}

static GtkWidget *make_loading(AppWindow *window)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
	GtkWidget *cancel = make_button("Cancel", "cancel", NULL);

	window->loading = box;
	window->loading_words = window_label("", "muted");
	gtk_widget_add_css_class(box, "notice");
	gtk_widget_set_name(box, "loading");
	gtk_widget_set_name(window->loading_words, "loading-words");
	gtk_widget_set_hexpand(window->loading_words, TRUE);
	gtk_label_set_ellipsize(GTK_LABEL(window->loading_words), PANGO_ELLIPSIZE_MIDDLE);
	gtk_box_append(GTK_BOX(box), window->loading_words);
	gtk_box_append(GTK_BOX(box), cancel);
	g_signal_connect(cancel, "clicked", G_CALLBACK(on_cancel), window);
	gtk_widget_set_visible(box, FALSE);
	return box;
}

static GtkWidget *make_left(AppWindow *window)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkStack *stack = GTK_STACK(gtk_stack_new());

	window->stack = GTK_WIDGET(stack);
	window->coarse = loading_new();
	gtk_widget_set_name(window->coarse, "coarse");
	/* The picture may be narrower than the words in an empty window. */
	gtk_stack_set_hhomogeneous(stack, FALSE);
	gtk_stack_add_named(stack, make_empty(), "empty");
	gtk_stack_add_named(stack, window->coarse, "loading");
	gtk_stack_add_named(stack, make_picture(window), "picture");
	gtk_widget_add_css_class(window->stack, "ground");
	gtk_widget_set_name(window->stack, "ground");
	gtk_widget_set_vexpand(window->stack, TRUE);
	gtk_box_append(GTK_BOX(box), make_message(window));
	gtk_box_append(GTK_BOX(box), window->stack);
	gtk_box_append(GTK_BOX(box), make_status(window));
	return box;
}

/* Sets the width of the panel at the first layout. From then on only the picture is resized. */
static void on_first_width(GtkPaned *paned, GParamSpec *property, AppWindow *window)
{
	int width = gtk_widget_get_width(GTK_WIDGET(paned));

	if (width <= 0 || !gtk_widget_get_visible(window->pane))
		return;
	g_signal_handlers_disconnect_by_func(paned, on_first_width, window);
	gtk_paned_set_position(paned,
		width - CLAMP(settings_get("pane-width", PANE_WIDTH), 0, width));
}

static GtkWidget *make_pane(AppWindow *window)
{
	GtkPaned *paned = GTK_PANED(gtk_paned_new(GTK_ORIENTATION_HORIZONTAL));

	window->paned = GTK_WIDGET(paned);
	window->pane = app_pane_new();
	gtk_widget_set_name(window->pane, "pane");
	gtk_widget_set_visible(window->pane, FALSE);
	gtk_paned_set_start_child(paned, make_left(window));
	gtk_paned_set_end_child(paned, window->pane);
	gtk_paned_set_resize_start_child(paned, TRUE);
	gtk_paned_set_resize_end_child(paned, FALSE);
	gtk_paned_set_shrink_start_child(paned, FALSE);
	gtk_paned_set_shrink_end_child(paned, FALSE);
	g_signal_connect(paned, "notify::max-position", G_CALLBACK(on_first_width), window);
	g_signal_connect(window->pane, "go-task", G_CALLBACK(on_go_task), window);
	g_signal_connect(window->pane, "go-time", G_CALLBACK(on_go_time), window);
	g_signal_connect(window->pane, "go-finding", G_CALLBACK(on_go_finding), window);
	g_signal_connect(window->pane, "go-difference", G_CALLBACK(on_go_difference), window);
	g_signal_connect(window->pane, "go-run", G_CALLBACK(on_go_run), window);
	g_signal_connect(window->pane, "go-slow", G_CALLBACK(on_go_slow), window);
	g_signal_connect(window->pane, "told", G_CALLBACK(on_told), window);
	g_signal_connect(window->pane, "go-group", G_CALLBACK(on_go_group), window);
	g_signal_connect(window->pane, "hover-task", G_CALLBACK(on_hover_task), window);
	g_signal_connect(window->pane, "page", G_CALLBACK(on_page), window);
	return window->paned;
}

/* ---- The object ---------------------------------------------------------------------------- */

static void dispose(GObject *object)
{
	AppWindow *window = APP_WINDOW(object);

	if (window->pane && gtk_widget_get_visible(window->pane))
		settings_set("pane-width",
			gtk_widget_get_width(window->paned) -
				gtk_paned_get_position(GTK_PANED(window->paned)));
	g_clear_handle_id(&window->search_wait, g_source_remove);
	if (window->stage)
		window_close_all(window);
	window->pane = NULL;
	g_clear_pointer(&window->menu, gtk_widget_unparent);
	g_clear_pointer(&window->told, g_free);
	G_OBJECT_CLASS(app_window_parent_class)->dispose(object);
	/* After the widgets, which show it. */
	g_clear_pointer(&window->stage, thrum__stage_destroy);
	for (; window->count > 0; window->count--)
		g_object_unref(window->traces[window->count - 1]);
}

/* Whether motion is animated: neither the desktop nor the settings forbid it. */
static bool is_animated(void)
{
	gboolean is_wanted = TRUE;

	g_object_get(gtk_settings_get_default(), "gtk-enable-animations", &is_wanted, NULL);
	return is_wanted && settings_get("animations", 1);
}

static void app_window_class_init(AppWindowClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
}

static void app_window_init(AppWindow *window)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkEventController *keys = gtk_event_controller_key_new();
	GtkDropTarget *drop = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);

	if (thrum__stage_create(&window->stage) < 0)
		g_error("out of memory");
	window->stage->is_animated = is_animated();
	window_add_actions(window);
	gtk_widget_add_css_class(GTK_WIDGET(window), "thrum");
	gtk_window_set_titlebar(GTK_WINDOW(window), window_make_bar(window));
	window->progress = gtk_progress_bar_new();
	gtk_widget_add_css_class(window->progress, "loading");
	app_call(window->progress, "Opening");
	gtk_widget_set_visible(window->progress, FALSE);
	gtk_box_append(GTK_BOX(box), window->progress);
	gtk_box_append(GTK_BOX(box), make_loading(window));
	gtk_box_append(GTK_BOX(box), make_pane(window));
	gtk_widget_set_vexpand(window->paned, TRUE);
	gtk_window_set_child(GTK_WINDOW(window), box);
	gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
	g_signal_connect(keys, "key-pressed", G_CALLBACK(on_key), window);
	gtk_widget_add_controller(GTK_WIDGET(window), keys);
	g_signal_connect(drop, "drop", G_CALLBACK(on_drop), window);
	gtk_widget_add_controller(GTK_WIDGET(window), GTK_EVENT_CONTROLLER(drop));
	window_add_popup(window);
	window_update_messages(window);
	window_update_bar(window, 0);
	window_update_actions(window);
}

GtkWidget *app_window_new(GtkApplication *application)
{
	return g_object_new(APP_TYPE_WINDOW, "application", application, NULL);
}
