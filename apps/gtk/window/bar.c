/* SPDX-License-Identifier: ISC */
/* The bar at the top: the trace's name and summary, search, and frequent commands. */
#include <string.h>

#include "base/utf8.h"
#include "desktop/theme.h"
#include "window/parts.h"
#include "window/shelf.h"

#define TITLE_LEAST 12     /* characters of the title that stay visible */
#define WORDS_LEAST 8      /* characters of the summary, or it is hidden */
#define SEARCH_MANY 100000 /* tasks; a search among them waits */
#define SEARCH_WAIT 150    /* ms without a key */

/* The order in which children are hidden where there is little room: the last first. */
enum {
	STAYS,
	GOES_COUNTERS,
	GOES_CATEGORIES,
	GOES_FOLD,
	GOES_AS,
	GOES_ZOOM,
	GOES_WORDS,
	GOES_NAME,
	GOES_EXPORT, /* also in the menu */
};

static void apply_change(AppWindow *window, int changed)
{
	app_picture_did(APP_PICTURE(window->picture), changed);
}

/* ---- The mark: woven threads --------------------------------------------------------------- */

static void draw_mark(GtkDrawingArea *area, cairo_t *cairo, int width, int height, void *unused)
{
	static const struct {
		int colour, x, y, width, height;
	} threads[] = {
		{THRUM__COLOUR_SEL, 10, 0, 2, 4},
		{THRUM__COLOUR_SEL, 4, 7, 2, 4},
		{THRUM__COLOUR_INK, 0, 3, 16, 2},
		{THRUM__COLOUR_INK, 0, 8, 16, 2},
		{THRUM__COLOUR_BAD, 0, 13, 9, 2},
		{THRUM__COLOUR_SEL, 4, 0, 2, 7},
		{THRUM__COLOUR_SEL, 10, 6, 2, 6},
		{THRUM__COLOUR_SEL, 4, 12, 2, 4},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(threads); i++) {
		uint32_t rgb = thrum__draw_theme_colour(theme_now(), threads[i].colour);

		cairo_set_source_rgb(cairo, (rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0,
			(rgb & 255) / 255.0);
		cairo_rectangle(cairo, threads[i].x, threads[i].y, threads[i].width,
			threads[i].height);
		cairo_fill(cairo);
	}
}

static GtkWidget *make_mark(void)
{
	GtkWidget *area = gtk_drawing_area_new();

	gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(area), 16);
	gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), 16);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_mark, NULL, NULL);
	gtk_widget_set_valign(area, GTK_ALIGN_CENTER);
	return area;
}

/* ---- Search -------------------------------------------------------------------------------- */

/* Searches for the text as it is now. */
static gboolean search_now(gpointer data)
{
	AppWindow *window = data;
	const char *text = gtk_editable_get_text(GTK_EDITABLE(window->search));

	window->search_wait = 0;
	/* The stage knows the text already if it came from there. */
	if (window->count > 0 && strcmp(text, window->stage->parts[0].scene->state.search) != 0)
		apply_change(window, thrum__stage_search(window->stage, text));
	return G_SOURCE_REMOVE;
}

/* Among many tasks, waits until nothing more is typed. */
static void on_search(GtkEditable *search, AppWindow *window)
{
	uint64_t tasks = 0;

	g_clear_handle_id(&window->search_wait, g_source_remove);
	for (uint32_t i = 0; i < window->count; i++)
		tasks += window->stage->parts[i].scene->model->tasks.count;
	if (tasks < SEARCH_MANY)
		search_now(window);
	else
		window->search_wait = g_timeout_add(SEARCH_WAIT, search_now, window);
}

static void on_search_done(GtkText *search, AppWindow *window)
{
	if (window->search_wait > 0) {
		g_clear_handle_id(&window->search_wait, g_source_remove);
		search_now(window);
	}
	app_picture_command(APP_PICTURE(window->picture), THRUM__COMMAND_NEXT_MATCH);
}

static gboolean on_search_key(GtkEventController *keys, unsigned key, unsigned code,
	GdkModifierType state, AppWindow *window)
{
	if (key == GDK_KEY_Escape)
		gtk_editable_set_text(GTK_EDITABLE(window->search), "");
	else if (key != GDK_KEY_Down)
		return FALSE;
	gtk_widget_grab_focus(window->picture);
	return TRUE;
}

static GtkWidget *make_search(AppWindow *window)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
	GtkEventController *keys = gtk_event_controller_key_new();

	window->search = gtk_text_new();
	window->search_box = box;
	window->search_count = window_label("", "count");
	window->search_key = window_label(thrum__scene_command_keys(THRUM__COMMAND_SEARCH), "cap");
	gtk_widget_add_css_class(box, "search");
	gtk_widget_set_name(box, "search");
	gtk_widget_set_name(window->search, "search-text");
	gtk_widget_set_name(window->search_count, "search-count");
	gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
	gtk_widget_set_valign(window->search_key, GTK_ALIGN_CENTER);
	gtk_widget_set_size_request(box, 120, -1);
	gtk_text_set_placeholder_text(GTK_TEXT(window->search), "Find a task or log line");
	gtk_text_set_max_length(GTK_TEXT(window->search), THRUM__SEARCH_MAX / 4);
	app_call(window->search, "Find a task or log line");
	gtk_editable_set_width_chars(GTK_EDITABLE(window->search), 12);
	gtk_editable_set_max_width_chars(GTK_EDITABLE(window->search), 28);
	gtk_widget_set_hexpand(window->search, TRUE);
	gtk_widget_set_hexpand(box, FALSE);
	gtk_box_append(GTK_BOX(box), window->search);
	gtk_box_append(GTK_BOX(box), window->search_count);
	gtk_box_append(GTK_BOX(box), window->search_key);
	g_signal_connect(window->search, "changed", G_CALLBACK(on_search), window);
	g_signal_connect(window->search, "activate", G_CALLBACK(on_search_done), window);
	g_signal_connect(keys, "key-pressed", G_CALLBACK(on_search_key), window);
	gtk_widget_add_controller(window->search, keys);
	return box;
}

static void update_search(AppWindow *window)
{
	const char *text = window->stage->parts[0].scene->state.search;
	uint32_t at, found = thrum__stage_found(window->stage, &at);
	char count[40] = "";

	if (strcmp(text, gtk_editable_get_text(GTK_EDITABLE(window->search))) != 0)
		gtk_editable_set_text(GTK_EDITABLE(window->search), text);
	if (*text && at > 0)
		g_snprintf(count, sizeof count, "%u of %u", at, found);
	else if (*text)
		g_snprintf(count, sizeof count, "%u found", found);
	gtk_label_set_text(GTK_LABEL(window->search_count), count);
	gtk_widget_set_visible(window->search_key, !*text);
	if (*text && found == 0)
		gtk_widget_add_css_class(window->search_box, "missed");
	else
		gtk_widget_remove_css_class(window->search_box, "missed");
}

/* ---- Counters ------------------------------------------------------------------------------ */

/* Switches a counter. "which" holds the part in its upper 8 bits and the counter in the others. */
static void on_counter(GtkCheckButton *check, AppWindow *window)
{
	unsigned which = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(check), "which"));
	unsigned part = which >> 24, counter = which & 0xffffff;
	bool is_on = gtk_check_button_get_active(check);

	if (part < window->stage->count &&
		is_on != thrum__stage_has_counter(window->stage, part, counter))
		apply_change(window, thrum__stage_counter(window->stage, part, counter, is_on));
	/* The stage shows a limited number of counters and may have refused this one. */
	if (part < window->stage->count)
		gtk_check_button_set_active(check,
			thrum__stage_has_counter(window->stage, part, counter));
}

/* More make the menu too long. */
#define COUNTERS_MOST 200

/* From so many on, they stand in groups below the path that they share. */
#define COUNTERS_MANY 12

/* Returns the size of the path above a counter's name; 0: it has none. */
static size_t size_above(const char *name, size_t size)
{
	size_t above = size;

	while (above > 0 && name[above - 1] != '/')
		above--;
	return above > 0 && above < size ? above - 1 : 0;
}

static void add_counter(AppWindow *window, unsigned part, unsigned counter, const char *name,
	size_t size)
{
	char text[200];
	g_autofree char *id = g_strdup_printf("counter-%u-%u", part + 1, counter + 1);
	GtkWidget *check;

	text[thrum__base_utf8_clean(name, size, text, sizeof text - 1)] = '\0';
	check = gtk_check_button_new_with_label(text);
	gtk_widget_set_name(check, id);
	gtk_check_button_set_active(GTK_CHECK_BUTTON(check),
		thrum__stage_has_counter(window->stage, part, counter));
	g_object_set_data(G_OBJECT(check), "which", GUINT_TO_POINTER(part << 24 | counter));
	g_signal_connect(check, "toggled", G_CALLBACK(on_counter), window);
	gtk_box_append(GTK_BOX(window->counter_list), check);
}

/* Adds those counters from `first` on that have the same path above their names, with a title. */
static void add_group(AppWindow *window, unsigned part, unsigned first, bool *is_added)
{
	const struct thrum__model *model = window->stage->parts[part].scene->model;
	size_t size;
	const char *path = thrum__model_string(model, model->counters[first].name, &size);
	size_t above = size_above(path, size);

	if (above > 0) {
		char text[200];

		text[thrum__base_utf8_clean(path, above, text, sizeof text - 1)] = '\0';
		gtk_box_append(GTK_BOX(window->counter_list), window_label(text, "muted"));
	}
	for (unsigned i = first; i < model->counter_count && i < COUNTERS_MOST; i++) {
		const char *name = thrum__model_string(model, model->counters[i].name, &size);

		if (size_above(name, size) != above || memcmp(name, path, above) != 0)
			continue;
		is_added[i] = true;
		add_counter(window, part, i, above > 0 ? name + above + 1 : name,
			above > 0 ? size - above - 1 : size);
	}
}

static void add_counters(AppWindow *window, unsigned part)
{
	const struct thrum__model *model = window->stage->parts[part].scene->model;
	bool is_added[COUNTERS_MOST] = {false};

	for (unsigned i = 0; i < model->counter_count && i < COUNTERS_MOST; i++) {
		size_t size;
		const char *name = thrum__model_string(model, model->counters[i].name, &size);

		if (model->counter_count < COUNTERS_MANY)
			add_counter(window, part, i, name, size);
		else if (!is_added[i])
			add_group(window, part, i, is_added);
	}
}

static void on_counters(GtkWidget *popover, AppWindow *window)
{
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(window->counter_list)))
		gtk_box_remove(GTK_BOX(window->counter_list), child);
	for (unsigned i = 0; i < window->stage->count; i++) {
		if (window->stage->count > 1)
			gtk_box_append(GTK_BOX(window->counter_list),
				window_label(app_trace_name(window->traces[i]), "muted"));
		add_counters(window, i);
	}
}

static GtkWidget *make_counters(AppWindow *window)
{
	GtkWidget *made = gtk_menu_button_new(), *popover = gtk_popover_new();
	GtkWidget *scrolled = gtk_scrolled_window_new();

	window->counter_list = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), 400);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), window->counter_list);
	gtk_widget_add_css_class(window->counter_list, "checks");
	gtk_popover_set_child(GTK_POPOVER(popover), scrolled);
	gtk_popover_set_has_arrow(GTK_POPOVER(popover), FALSE);
	gtk_menu_button_set_label(GTK_MENU_BUTTON(made), "Counters");
	gtk_menu_button_set_popover(GTK_MENU_BUTTON(made), popover);
	g_signal_connect(popover, "map", G_CALLBACK(on_counters), window);
	return made;
}

/* ---- Buttons ------------------------------------------------------------------------------- */

static void add_child(GtkWidget *bar, GtkWidget *child, const char *name, const char *class)
{
	if (name)
		gtk_widget_set_name(child, name);
	if (class)
		gtk_widget_add_css_class(child, class);
	gtk_widget_set_valign(child, GTK_ALIGN_CENTER);
	gtk_box_append(GTK_BOX(bar), child);
}

static GtkWidget *add_button(GtkWidget *bar, const char *text, const char *name, const char *action)
{
	GtkWidget *button = gtk_button_new_with_label(text);

	gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
	add_child(bar, button, name, "control");
	return button;
}

/* Returns a command's help with a capital letter: "Zoom in". Free it with g_free. */
static char *words_of(int command)
{
	const char *help = thrum__scene_command_help(command);

	return g_strdup_printf("%c%s", g_ascii_toupper(*help), help + 1);
}

/* Sets the tooltip of a command's button: its help and its first key. */
static void explain(GtkWidget *button, int command)
{
	g_autofree char *words = words_of(command);
	g_auto(GStrv) keys = g_strsplit(thrum__scene_command_keys(command), " ", 2);
	g_autofree char *tooltip = g_strdup_printf("%s (%s)", words, keys[0]);

	gtk_widget_set_tooltip_text(button, tooltip);
}

/* ---- Zooming while a button is held -------------------------------------------------------- */

#define HELD_MS 400 /* until it repeats: longer than GTK shows a button as pressed by a key */
#define REPEAT_MS 170

struct hold {
	AppWindow *window;
	int command;
	unsigned timer;
};

static void do_held(struct hold *hold)
{
	app_picture_command(APP_PICTURE(hold->window->picture), hold->command);
}

static gboolean repeat_held(void *data)
{
	do_held(data);
	return G_SOURCE_CONTINUE;
}

static gboolean begin_repeating(void *data)
{
	struct hold *hold = data;

	do_held(hold);
	hold->timer = g_timeout_add(REPEAT_MS, repeat_held, hold);
	return G_SOURCE_REMOVE;
}

/* Called for pointer, finger and key alike. */
static void on_held(GtkWidget *button, GtkStateFlags before, struct hold *hold)
{
	bool is_held = gtk_widget_get_state_flags(button) & GTK_STATE_FLAG_ACTIVE;

	if (is_held == ((before & GTK_STATE_FLAG_ACTIVE) != 0))
		return;
	g_clear_handle_id(&hold->timer, g_source_remove);
	if (!is_held)
		return;
	do_held(hold);
	hold->timer = g_timeout_add(HELD_MS, begin_repeating, hold);
}

static void free_hold(void *data, GClosure *closure)
{
	struct hold *hold = data;

	g_clear_handle_id(&hold->timer, g_source_remove);
	g_free(hold);
}

static void add_zoom(AppWindow *window, const char *sign, const char *name, int command)
{
	GtkWidget *button = add_button(window->zoom, sign, name, NULL);
	struct hold *hold = g_new0(struct hold, 1);
	g_autofree char *words = words_of(command);

	*hold = (struct hold){window, command, 0};
	explain(button, command);
	app_call(button, words);
	g_signal_connect_data(button, "state-flags-changed", G_CALLBACK(on_held), hold, free_hold,
		0);
}

static void make_zoom(AppWindow *window)
{
	window->zoom = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
	add_zoom(window, "−", "zoom-out", THRUM__COMMAND_ZOOM_OUT);
	add_zoom(window, "+", "zoom-in", THRUM__COMMAND_ZOOM_IN);
	explain(add_button(window->zoom, "Fit", "fit", "win.fit"), THRUM__COMMAND_FIT);
}

/* ---- The bar ------------------------------------------------------------------------------- */

static void on_fold(GtkToggleButton *fold, AppWindow *window)
{
	app_picture_command(APP_PICTURE(window->picture), THRUM__COMMAND_FOLD);
}

/* Whether bands are chosen: they are also seen until rows are made. */
static bool has_chosen_bands(AppWindow *window)
{
	const struct thrum__scene *scene = window->count > 0
		? window->stage->parts[window->stage->focus].scene
		: NULL;

	return scene && thrum__scene_wants_bands(scene);
}

/* A click has already changed the button's own state: the answer sets both anew. */
static void on_as(GtkToggleButton *choice, AppWindow *window)
{
	if (has_chosen_bands(window) != (GTK_WIDGET(choice) == window->bands))
		app_picture_command(APP_PICTURE(window->picture), THRUM__COMMAND_BANDS);
	window_update_bar(window, 0);
}

static GtkWidget *add_as(AppWindow *window, const char *label, const char *name)
{
	GtkWidget *choice = gtk_toggle_button_new_with_label(label);

	explain(choice, THRUM__COMMAND_BANDS);
	g_signal_connect(choice, "clicked", G_CALLBACK(on_as), window);
	add_child(window->as, choice, name, "control");
	return choice;
}

static void add_words(AppWindow *window, GtkWidget *bar)
{
	GtkWidget *name = window_label("thrum", NULL);
	GtkWidget *space = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);

	window->mark = make_mark();
	window->title = window_label("", NULL);
	window->words = window_label("", NULL);
	window->findings = window_label("", NULL);
	window->live = window_label("live", NULL);
	gtk_label_set_ellipsize(GTK_LABEL(window->words), PANGO_ELLIPSIZE_END);
	gtk_label_set_width_chars(GTK_LABEL(window->words), WORDS_LEAST);
	gtk_widget_set_hexpand(space, TRUE);
	shelf_rank(name, GOES_NAME);
	shelf_rank(window->words, GOES_WORDS);
	add_child(bar, window->mark, NULL, NULL);
	add_child(bar, name, NULL, "name");
	add_child(bar, window->title, "title", NULL);
	add_child(bar, window->words, "words", "words");
	add_child(bar, window->findings, "findings", "findings");
	add_child(bar, window->live, "live", "live");
	gtk_box_append(GTK_BOX(bar), space);
}

static gboolean focus_again(void *data)
{
	g_autoptr(AppWindow) window = data;
	GtkWidget *focus = gtk_window_get_focus(GTK_WINDOW(window));

	if (window->stage && (!focus || !gtk_widget_get_mapped(focus)))
		gtk_widget_grab_focus(window->picture);
	return G_SOURCE_REMOVE;
}

/* GTK leaves the focus on the chosen entry of a submenu, which isn't visible any more. */
static void on_menu_closed(GtkPopover *popover, AppWindow *window)
{
	g_idle_add(focus_again, g_object_ref(window));
}

static GtkWidget *make_menu(AppWindow *window)
{
	GtkWidget *menu = gtk_menu_button_new();
	GMenuModel *model = window_make_menu();
	GtkPopover *popover;

	gtk_menu_button_set_label(GTK_MENU_BUTTON(menu), "Menu");
	gtk_menu_button_set_primary(GTK_MENU_BUTTON(menu), TRUE);
	gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(menu), model);
	g_object_unref(model);
	popover = gtk_menu_button_get_popover(GTK_MENU_BUTTON(menu));
	gtk_popover_set_has_arrow(popover, FALSE);
	g_signal_connect(popover, "closed", G_CALLBACK(on_menu_closed), window);
	return menu;
}

static void add_controls(AppWindow *window, GtkWidget *bar)
{
	gtk_box_append(GTK_BOX(bar), make_search(window));
	window->pause = gtk_toggle_button_new_with_label("Pause");
	gtk_actionable_set_action_name(GTK_ACTIONABLE(window->pause), "win.pause");
	add_child(bar, window->pause, "pause", "control");
	make_zoom(window);
	shelf_rank(window->zoom, GOES_ZOOM);
	add_child(bar, window->zoom, NULL, "joined");
	window->as = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
	window->rows = add_as(window, "Rows", "rows");
	window->bands = add_as(window, "Bands", "bands");
	shelf_rank(window->as, GOES_AS);
	add_child(bar, window->as, NULL, "joined");
	window->fold = gtk_toggle_button_new_with_label("Fold idle");
	explain(window->fold, THRUM__COMMAND_FOLD);
	g_signal_connect(window->fold, "clicked", G_CALLBACK(on_fold), window);
	shelf_rank(window->fold, GOES_FOLD);
	add_child(bar, window->fold, "fold", "control");
	window->counters = make_counters(window);
	shelf_rank(window->counters, GOES_COUNTERS);
	add_child(bar, window->counters, "counters", "control");
	shelf_rank(window_make_categories(window), GOES_CATEGORIES);
	add_child(bar, window->categories, "categories", "control");
	shelf_rank(add_button(bar, "Export", "export", "win.export"), GOES_EXPORT);
	add_child(bar, make_menu(window), "menu", "control");
	add_child(bar, gtk_window_controls_new(GTK_PACK_END), NULL, NULL);
}

GtkWidget *window_make_bar(AppWindow *window)
{
	GtkWidget *handle = gtk_window_handle_new();
	GtkWidget *bar = shelf_new(8);

	gtk_widget_add_css_class(handle, "bar");
	add_words(window, bar);
	add_controls(window, bar);
	gtk_window_handle_set_child(GTK_WINDOW_HANDLE(handle), bar);
	return handle;
}

/* ---- Updating ------------------------------------------------------------------------------ */

static void update_words(AppWindow *window)
{
	g_autoptr(GString) title = g_string_new(NULL);
	char text[200] = "", findings[80] = "", live[80];
	bool is_short;

	for (unsigned i = 0; i < window->count; i++)
		g_string_append_printf(title, "%s%s", i > 0 ? ", " : "",
			app_trace_name(window->traces[i]));
	gtk_label_set_text(GTK_LABEL(window->title), title->str);
	/* GTK overestimates the width of most characters. */
	is_short = g_utf8_strlen(title->str, -1) <= TITLE_LEAST;
	gtk_label_set_width_chars(GTK_LABEL(window->title), is_short ? -1 : TITLE_LEAST);
	gtk_label_set_ellipsize(GTK_LABEL(window->title),
		is_short ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_MIDDLE);
	if (window->count > 0) {
		thrum__stage_part_words(window->stage, window->stage->focus, text, sizeof text);
		thrum__stage_finding_words(window->stage, THRUM__NONE, findings, sizeof findings);
		if (text[0] && findings[0])
			g_strlcat(text, " ·", sizeof text);
		g_string_append(title, " – ");
	}
	g_string_append(title, "thrum");
	gtk_window_set_title(GTK_WINDOW(window), title->str);
	gtk_label_set_text(GTK_LABEL(window->words), text);
	gtk_label_set_text(GTK_LABEL(window->findings), findings);
	gtk_widget_set_visible(window->findings, findings[0]);
	gtk_widget_set_visible(window->live,
		thrum__stage_live_words(window->stage, live, sizeof live) > 0);
	gtk_label_set_text(GTK_LABEL(window->live), live);
}

static bool has_counters(const AppWindow *window)
{
	for (unsigned i = 0; i < window->stage->count; i++)
		if (window->stage->parts[i].scene->model->counter_count > 0)
			return true;
	return false;
}

void window_update_bar(AppWindow *window, unsigned changes)
{
	bool is_shown = window->count > 0, shows_bands;

	if (changes == 0 || changes & (THRUM__CHANGED_STATUS | THRUM__CHANGED_SELECTION))
		update_words(window);
	gtk_widget_set_sensitive(window->zoom, is_shown);
	gtk_widget_set_sensitive(window->as, is_shown);
	gtk_widget_set_sensitive(window->fold, is_shown);
	gtk_widget_set_visible(window->counters, has_counters(window));
	window_update_categories(window);
	window_update_switches(window);
	gtk_widget_set_sensitive(window->search_box, is_shown);
	if (!is_shown)
		return;
	shows_bands = has_chosen_bands(window);
	gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(window->rows), !shows_bands);
	gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(window->bands), shows_bands);
	gtk_widget_set_sensitive(window->counters, !shows_bands);
	gtk_widget_set_tooltip_text(window->counters,
		shows_bands ? "Only rows show counters" : NULL);
	gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(window->fold),
		thrum__scene_folds(window->stage->parts[window->stage->focus].scene));
	if (changes & (THRUM__CHANGED_SEARCH | THRUM__CHANGED_SELECTION))
		update_search(window);
}
