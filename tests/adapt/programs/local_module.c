/* SPDX-License-Identifier: ISC */
/* A module that needs GLib. It calls few functions of GLib itself. */
#include <gio/gio.h>
#include <stdio.h>

void run_module(void);

static gboolean local_tick(gpointer loop)
{
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void loaded(GObject *file, GAsyncResult *result, gpointer loop)
{
	GError *error = NULL;
	char *contents = NULL;

	g_file_load_contents_finish(G_FILE(file), result, &contents, NULL, NULL, &error);
	puts(error ? "there is no such file" : "loaded");
	g_clear_error(&error);
	g_free(contents);
	g_timeout_add(1, local_tick, loop);
}

void run_module(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GFile *file = g_file_new_for_path("/no/such/file");

	g_file_load_contents_async(file, NULL, loaded, loop);
	g_main_loop_run(loop);
	g_object_unref(file);
	g_main_loop_unref(loop);
}
