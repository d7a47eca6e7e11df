/* SPDX-License-Identifier: ISC */
/*
 * The menu with the categories of the program that is followed, and a switch for each of their
 * levels: what `thrum ctl` does. It shows the first live trace from the focused one on.
 */
#include <string.h>

#include "base/utf8.h"
#include "format/control.h"
#include "source/control.h"
#include "window/parts.h"

#define LEVELS 5 /* from off, which is -1 */

/* ---- The program --------------------------------------------------------------------------- */

static bool is_live(AppTrace *trace)
{
	enum app_trace_state state = app_trace_state(trace);

	return state == APP_TRACE_LIVE || state == APP_TRACE_PAUSED;
}

/* Returns the trace whose categories are shown, or NULL. */
static AppTrace *find_live(const AppWindow *window)
{
	for (unsigned i = 0; i < window->count; i++) {
		AppTrace *trace = window->traces[(window->stage->focus + i) % window->count];

		/* Several recordings that are one trace have each their own. */
		if (is_live(trace) && app_trace_file(trace))
			return trace;
	}
	return NULL;
}

static void complain(AppWindow *window, AppTrace *trace, const struct thrum_error_info *error)
{
	window_fail(window, "The categories of %s can't be switched: %s", app_trace_name(trace),
		error->message);
}

/* Sets a category's level unless `name` is NULL, and lists all. Returns how many there are. It
 * tells why there are none, or why the level can't be set. */
static size_t control(AppWindow *window, const char *name, int level,
	struct thrum__source_category categories[THRUM__SOURCE_CATEGORIES_MAX])
{
	struct thrum__source_control *control;
	struct thrum_error_info error = {0};
	AppTrace *trace = find_live(window);
	size_t count;

	if (!trace)
		return 0;
	if (thrum__source_control_open(app_trace_file(trace), &control, &error) < 0) {
		complain(window, trace, &error);
		return 0;
	}
	if (name) {
		g_autofree char *list = g_strdup_printf("%s=%s", name,
			thrum__format_level_name(level));

		if (thrum__source_control_set(control, THRUM__CONTROL_ENABLE, list, &error) < 0)
			complain(window, trace, &error);
	}
	count = thrum__source_control_list(control, categories);
	thrum__source_control_close(control);
	return count;
}

/* ---- The menu ------------------------------------------------------------------------------ */

/* The switch of a level. Parts of the category task have only off and on. */
static int level_of(GtkWidget *button)
{
	return GPOINTER_TO_INT(g_object_get_data(G_OBJECT(button), "level"));
}

/* Shows the levels as they are now. A click has already changed the button's own state. */
static void update_levels(GtkWidget *grid, const struct thrum__source_category *categories,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		GtkWidget *box = gtk_grid_get_child_at(GTK_GRID(grid), 1, (int)i);
		GtkWidget *button = box ? gtk_widget_get_first_child(box) : NULL;

		for (; button; button = gtk_widget_get_next_sibling(button))
			gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(button),
				level_of(button) == categories[i].level);
	}
}

static void fill(AppWindow *window);

static void on_level(GtkWidget *button, AppWindow *window)
{
	struct thrum__source_category categories[THRUM__SOURCE_CATEGORIES_MAX];
	const char *name = g_object_get_data(G_OBJECT(button), "category");
	size_t count = control(window, name, level_of(button), categories);

	if (count == 0)
		gtk_menu_button_popdown(GTK_MENU_BUTTON(window->categories));
	else if (count != window->category_count)
		fill(window); /* the program has made another one meanwhile */
	else
		update_levels(window->category_list, categories, count);
}

static void add_level(AppWindow *window, GtkWidget *box,
	const struct thrum__source_category *category, int level, const char *words)
{
	GtkWidget *button = gtk_toggle_button_new_with_label(words);
	g_autofree char *name = g_utf8_make_valid(category->name, -1);
	g_autofree char *id = g_strdup_printf("category-%s-%s", name, words);

	/* A list of categories can't name this one. */
	gtk_widget_set_sensitive(button, !strpbrk(category->name, ",="));
	gtk_widget_set_name(button, id);
	gtk_widget_add_css_class(button, "control");
	g_object_set_data_full(G_OBJECT(button), "category", g_strdup(category->name), g_free);
	g_object_set_data(G_OBJECT(button), "level", GINT_TO_POINTER(level));
	g_signal_connect(button, "clicked", G_CALLBACK(on_level), window);
	gtk_box_append(GTK_BOX(box), button);
}

static void add_category(AppWindow *window, const struct thrum__source_category *category, int row)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0), *label;
	char name[2 * sizeof category->name];

	name[thrum__base_utf8_clean(category->name, strlen(category->name), name,
		sizeof name - 1)] = '\0';
	label = window_label(name, category->is_unknown ? "muted" : NULL);
	gtk_widget_set_margin_start(label, category->is_part ? 16 : 0);
	gtk_widget_add_css_class(box, "joined");
	if (category->is_unknown)
		gtk_widget_set_tooltip_text(label, "The program doesn't have it yet.");
	if (category->is_part) {
		add_level(window, box, category, -1, "off");
		add_level(window, box, category, LEVELS - 2, "on");
	}
	for (int level = -1; !category->is_part && level < LEVELS - 1; level++)
		add_level(window, box, category, level, thrum__format_level_name(level));
	gtk_grid_attach(GTK_GRID(window->category_list), label, 0, row, 1, 1);
	gtk_grid_attach(GTK_GRID(window->category_list), box, 1, row, 1, 1);
}

static void fill(AppWindow *window)
{
	struct thrum__source_category categories[THRUM__SOURCE_CATEGORIES_MAX];
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(window->category_list)))
		gtk_grid_remove(GTK_GRID(window->category_list), child);
	window->category_count = control(window, NULL, 0, categories);
	for (size_t i = 0; i < window->category_count; i++)
		add_category(window, &categories[i], (int)i);
	update_levels(window->category_list, categories, window->category_count);
}

static void on_map(GtkWidget *popover, AppWindow *window)
{
	fill(window);
	if (window->category_count == 0)
		gtk_menu_button_popdown(GTK_MENU_BUTTON(window->categories));
}

GtkWidget *window_make_categories(AppWindow *window)
{
	GtkWidget *popover = gtk_popover_new(), *scrolled = gtk_scrolled_window_new();

	window->categories = gtk_menu_button_new();
	window->category_list = gtk_grid_new();
	gtk_grid_set_column_spacing(GTK_GRID(window->category_list), 12);
	gtk_grid_set_row_spacing(GTK_GRID(window->category_list), 4);
	gtk_widget_add_css_class(window->category_list, "checks");
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), 400);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), window->category_list);
	gtk_popover_set_child(GTK_POPOVER(popover), scrolled);
	gtk_popover_set_has_arrow(GTK_POPOVER(popover), FALSE);
	gtk_menu_button_set_label(GTK_MENU_BUTTON(window->categories), "Categories");
	gtk_menu_button_set_popover(GTK_MENU_BUTTON(window->categories), popover);
	gtk_widget_set_tooltip_text(window->categories, "Which events the program records");
	g_signal_connect(popover, "map", G_CALLBACK(on_map), window);
	return window->categories;
}

void window_update_categories(AppWindow *window)
{
	gtk_widget_set_visible(window->categories, find_live(window) != NULL);
}
