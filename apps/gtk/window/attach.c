/* SPDX-License-Identifier: ISC */
/* The dialog with the processes that are recording. */
#include "window/parts.h"

#include <limits.h>
#include <stdlib.h>

#include "trace/words.h"

struct attach {
	GtkWindow *window;
	GtkWidget *list;
	void (*chosen)(int pid, void *data);
	void *data;
};

static GtkWidget *make_label(const char *text, const char *class)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_MIDDLE);
	gtk_widget_add_css_class(label, class);
	return label;
}

static void add_process(GtkWidget *list, int pid, const char *file)
{
	GtkWidget *row = gtk_list_box_row_new();
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	char *words = trace_words_process(pid), *shown = g_filename_display_name(file);
	char *name = g_strdup_printf("process-%d", pid);

	gtk_box_append(GTK_BOX(box), make_label(words, "line"));
	gtk_box_append(GTK_BOX(box), make_label(shown, "remark"));
	gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), box);
	gtk_widget_set_name(row, name);
	g_object_set_data(G_OBJECT(row), "pid", GINT_TO_POINTER(pid));
	gtk_list_box_append(GTK_LIST_BOX(list), row);
	g_free(name);
	g_free(shown);
	g_free(words);
}

static void list_processes(struct attach *attach)
{
	GDir *processes = g_dir_open("/proc", 0, NULL);
	const char *name;
	GtkListBoxRow *row;

	while ((row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(attach->list), 0)))
		gtk_list_box_remove(GTK_LIST_BOX(attach->list), GTK_WIDGET(row));
	while (processes && (name = g_dir_read_name(processes))) {
		char *end, file[PATH_MAX];
		long pid = strtol(name, &end, 10);

		if (*end == '\0' && pid > 0 && pid <= INT_MAX &&
			thrum_process_recording(pid, file, sizeof file, NULL) == 0)
			add_process(attach->list, (int)pid, file);
	}
	if (processes)
		g_dir_close(processes);
}

static void on_refresh(GtkButton *button, gpointer data)
{
	list_processes(data);
}

static void row_activated(GtkListBox *list, GtkListBoxRow *row, gpointer data)
{
	struct attach *attach = data;
	int pid = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(row), "pid"));

	attach->chosen(pid, attach->data);
	gtk_window_destroy(attach->window);
}

static void cancel(GtkButton *button, gpointer data)
{
	gtk_window_destroy(((struct attach *)data)->window);
}

static gboolean key_pressed(GtkEventControllerKey *keys, guint key, guint code,
	GdkModifierType state, gpointer data)
{
	if (key == GDK_KEY_Escape)
		gtk_window_destroy(((struct attach *)data)->window);
	return key == GDK_KEY_Escape;
}

static GtkWidget *make_list(struct attach *attach)
{
	GtkWidget *scroller = gtk_scrolled_window_new();
	GtkWidget *empty = gtk_label_new("No program is recording now.\n"
					 "Start one with: thrum record PROGRAM");

	attach->list = gtk_list_box_new();
	gtk_widget_set_name(attach->list, "attach-list");
	app_call(attach->list, "Programs that are recording");
	gtk_list_box_set_placeholder(GTK_LIST_BOX(attach->list), empty);
	gtk_list_box_set_activate_on_single_click(GTK_LIST_BOX(attach->list), TRUE);
	g_signal_connect(attach->list, "row-activated", G_CALLBACK(row_activated), attach);
	gtk_widget_set_name(scroller, "attach-scroller");
	gtk_widget_set_vexpand(scroller, TRUE);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), attach->list);
	return scroller;
}

static GtkWidget *make_buttons(struct attach *attach)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *refresh = gtk_button_new_with_label("Refresh");
	GtkWidget *close = gtk_button_new_with_label("Cancel");

	gtk_widget_add_css_class(box, "head");
	gtk_widget_set_halign(box, GTK_ALIGN_END);
	g_signal_connect(refresh, "clicked", G_CALLBACK(on_refresh), attach);
	g_signal_connect(close, "clicked", G_CALLBACK(cancel), attach);
	gtk_box_append(GTK_BOX(box), refresh);
	gtk_box_append(GTK_BOX(box), close);
	return box;
}

void app_attach_choose(GtkWindow *parent, void (*chosen)(int pid, void *data), void *data)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkEventController *keys = gtk_event_controller_key_new();
	struct attach *attach = g_new0(struct attach, 1);

	attach->window = GTK_WINDOW(gtk_window_new());
	attach->chosen = chosen;
	attach->data = data;
	gtk_window_set_title(attach->window, "Programs That Are Recording");
	gtk_window_set_transient_for(attach->window, parent);
	gtk_window_set_modal(attach->window, TRUE);
	gtk_window_set_destroy_with_parent(attach->window, TRUE);
	gtk_window_set_default_size(attach->window, 480, 320);
	gtk_widget_set_name(GTK_WIDGET(attach->window), "attach");
	gtk_widget_add_css_class(box, "pane");
	gtk_box_append(GTK_BOX(box), make_list(attach));
	gtk_box_append(GTK_BOX(box), make_buttons(attach));
	gtk_window_set_child(attach->window, box);
	gtk_widget_add_controller(GTK_WIDGET(attach->window), keys);
	g_signal_connect(keys, "key-pressed", G_CALLBACK(key_pressed), attach);
	g_object_set_data_full(G_OBJECT(attach->window), "attach", attach, g_free);
	list_processes(attach);
	gtk_window_present(attach->window);
}
