/* SPDX-License-Identifier: ISC */
#include "places.h"

#include <glib/gstdio.h>
#include <string.h>

#include "window/window.h"

struct places {
	char *file, *made;
	unsigned turn;
};

/* Adds the offset of a widget's surface on its window: of the popover, if it is in one. */
static void add_offset(GtkWidget *widget, double *x, double *y)
{
	GtkNative *native = gtk_widget_get_native(widget);
	double dx, dy;

	gtk_native_get_surface_transform(native, &dx, &dy);
	*x += dx;
	*y += dy;
	if (GTK_IS_POPOVER(native)) {
		GdkPopup *popup = GDK_POPUP(gtk_native_get_surface(native));

		*x += gdk_popup_get_position_x(popup);
		*y += gdk_popup_get_position_y(popup);
		add_offset(gtk_widget_get_parent(GTK_WIDGET(native)), x, y);
		gtk_native_get_surface_transform(gtk_widget_get_native(
							 gtk_widget_get_parent(GTK_WIDGET(native))),
			&dx, &dy);
		*x -= dx;
		*y -= dy;
	}
}

/* Returns the text of a widget on one line, or "". Free it with g_free. */
static char *words_of(GtkWidget *widget)
{
	const char *words = NULL;

	if (GTK_IS_LABEL(widget))
		words = gtk_label_get_text(GTK_LABEL(widget));
	else if (GTK_IS_EDITABLE(widget))
		words = gtk_editable_get_text(GTK_EDITABLE(widget));
	else if (GTK_IS_BUTTON(widget))
		words = gtk_button_get_label(GTK_BUTTON(widget));
	else
		words = g_object_get_data(G_OBJECT(widget), "words");
	return g_strdelimit(g_strdup(words ? words : ""), "\n", ' ');
}

/* Returns the name of a widget, "menu-ENTRY" for an entry of a menu, or NULL for others. Free it
 * with g_free. */
static char *name_of(GtkWidget *widget)
{
	const char *name = gtk_widget_get_name(widget), *type = G_OBJECT_TYPE_NAME(widget);
	g_autofree char *text = NULL;

	if (strcmp(name, type) != 0) /* unnamed widgets have the name of their class */
		return g_strdup(name);
	if (strcmp(type, "GtkModelButton") != 0)
		return NULL;
	g_object_get(widget, "text", &text, NULL);
	return text ? g_strdelimit(g_strconcat("menu-", text, NULL), " ", '-') : NULL;
}

static void write_widget(GString *text, GtkWidget *widget, const char *name)
{
	bool is_seen = gtk_widget_get_mapped(widget);
	g_autofree char *words = words_of(widget);
	graphene_rect_t bounds = GRAPHENE_RECT_INIT(0, 0, 0, 0);
	double x = 0, y = 0;

	if (is_seen &&
		gtk_widget_compute_bounds(widget, GTK_WIDGET(gtk_widget_get_native(widget)),
			&bounds))
		add_offset(widget, &x, &y);
	g_string_append_printf(text, "%s %.0f %.0f %.0f %.0f %s%s%s\n", name, x + bounds.origin.x,
		y + bounds.origin.y, bounds.size.width, bounds.size.height, is_seen ? "yes" : "no",
		*words ? " " : "", words);
}

static void write_tree(GString *text, GtkWidget *widget)
{
	g_autofree char *name = name_of(widget);

	if (name)
		write_widget(text, widget, name);
	for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
		child = gtk_widget_get_next_sibling(child))
		write_tree(text, child);
}

static void write_window(GString *text, GtkWindow *window)
{
	g_string_append_printf(text, "window %s\n", gtk_window_get_title(window));
	write_tree(text, GTK_WIDGET(window));
	if (gtk_window_is_active(window))
		g_string_append(text, "active\n");
	if (APP_IS_WINDOW(window)) {
		g_autofree char *state = window_state(APP_WINDOW(window));
		g_autofree char *status = window_status(APP_WINDOW(window));

		g_string_append_printf(text, "state %s\nstatus %s\n", state, status);
	}
}

static gboolean write_places(void *data)
{
	struct places *places = data;
	GListModel *windows = gtk_window_get_toplevels();
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "turn %u\n", ++places->turn);
	for (unsigned i = 0; i < g_list_model_get_n_items(windows); i++) {
		g_autoptr(GtkWindow) window = g_list_model_get_item(windows, i);

		if (gtk_widget_get_mapped(GTK_WIDGET(window)))
			write_window(text, window);
	}
	/* Replaced at once, so that readers never see half a file, and without fsync. */
	if (g_file_set_contents_full(places->made, text->str, (gssize)text->len,
		    G_FILE_SET_CONTENTS_NONE, 0600, NULL))
		g_rename(places->made, places->file);
	return G_SOURCE_CONTINUE;
}

void places_init(void)
{
	static struct places places;
	const char *file = g_getenv("THRUM_GTK_PLACES");

	if (!file)
		return;
	places.file = g_strdup(file);
	places.made = g_strconcat(file, ".new", NULL);
	/* The lowest priority: everything before a turn has been painted. */
	g_timeout_add_full(G_PRIORITY_LOW, 20, write_places, &places, NULL);
}
