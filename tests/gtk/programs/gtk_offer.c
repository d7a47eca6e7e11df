/* SPDX-License-Identifier: ISC */
/* gtk_offer URI…: a small window from which files can be dragged, as from a file manager. */
#include <gtk/gtk.h>

static void end(GtkWindow *window, GMainLoop *loop)
{
	g_main_loop_quit(loop);
}

int main(int argc, char **argv)
{
	g_autofree char *uris = g_strjoinv("\r\n", argv + 1),
			*list = g_strconcat(uris, "\r\n", NULL);
	g_autoptr(GBytes) bytes = g_bytes_new(list, strlen(list));
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GtkDragSource *source = gtk_drag_source_new();
	GtkWidget *window;

	gtk_init();
	window = gtk_window_new();
	gtk_drag_source_set_content(source,
		gdk_content_provider_new_for_bytes("text/uri-list", bytes));
	gtk_widget_add_controller(window, GTK_EVENT_CONTROLLER(source));
	g_signal_connect(window, "destroy", G_CALLBACK(end), loop);
	gtk_window_set_title(GTK_WINDOW(window), "offer");
	gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
	gtk_window_set_default_size(GTK_WINDOW(window), 120, 80);
	gtk_window_present(GTK_WINDOW(window));
	g_main_loop_run(loop);
	return 0;
}
