/* SPDX-License-Identifier: ISC */
/* thrum-gtk [--stacked|--together] [--state TEXT] [TRACE|PID]...: the desktop viewer. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "desktop/theme.h"
#include "places.h"
#include "window/window.h"

static void on_theme(void)
{
	GListModel *windows = gtk_window_get_toplevels();

	for (unsigned i = 0; i < g_list_model_get_n_items(windows); i++) {
		g_autoptr(GtkWindow) window = g_list_model_get_item(windows, i);

		if (APP_IS_WINDOW(window))
			window_theme_changed(APP_WINDOW(window));
	}
}

static void on_startup(GApplication *application, void *unused)
{
	for (const struct window_key *key = window_keys; key->action; key++) {
		g_auto(GStrv) accelerators = g_strsplit(key->accelerator, " ", -1);

		gtk_application_set_accels_for_action(GTK_APPLICATION(application), key->action,
			(const char *const *)accelerators);
	}
	gtk_window_set_default_icon_name("io.github.thrum.Thrum");
	theme_init(on_theme);
	places_init();
}

/* Returns the process whose id the argument is, unless a file has that name; else 0. */
static int pid_of(const char *argument)
{
	char *end;
	long pid = strtol(argument, &end, 10);
	bool is = pid > 0 && pid <= G_MAXINT32 && !*end &&
		!g_file_test(argument, G_FILE_TEST_EXISTS);

	return is ? (int)pid : 0;
}

/* Free it with g_free. */
static char *path_of(GApplicationCommandLine *line, const char *argument)
{
	g_autoptr(GFile) file = g_application_command_line_create_file_for_arg(line, argument);
	char *path = g_file_get_path(file);

	return path ? path : g_strdup(argument);
}

static AppTrace *open_trace(GApplicationCommandLine *line, const char *argument, bool is_alone)
{
	g_autofree char *path = path_of(line, argument);
	int pid = pid_of(argument);

	if (pid)
		return app_trace_new_of_process(pid);
	return is_alone ? app_trace_new_of_run(path) : app_trace_new(path);
}

/* Opens all as one trace. */
static AppTrace *open_together(GApplicationCommandLine *line, char *const *arguments)
{
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);

	for (; *arguments; arguments++) {
		char recording[PATH_MAX];
		int pid = pid_of(*arguments);
		bool is = pid &&
			thrum_process_recording(pid, recording, sizeof recording, NULL) == 0;

		g_ptr_array_add(files, is ? g_strdup(recording) : path_of(line, *arguments));
	}
	g_ptr_array_add(files, NULL);
	return app_trace_new_together((const char *const *)files->pdata);
}

static int on_command_line(GApplication *application, GApplicationCommandLine *line, void *unused)
{
	GVariantDict *options = g_application_command_line_get_options_dict(line);
	g_autofree char **files = NULL;
	const char *state = NULL;
	AppWindow *window = NULL;

	g_variant_dict_lookup(options, G_OPTION_REMAINING, "^a&ay", &files);
	g_variant_dict_lookup(options, "state", "&s", &state);
	bool is_alone = files && !files[1] && !g_variant_dict_contains(options, "stacked");
	bool is_one = files && g_variant_dict_contains(options, "together");

	for (char **file = files; file && *file && !(is_one && window); file++) {
		bool add = window && g_variant_dict_contains(options, "stacked");

		if (!add)
			window = APP_WINDOW(app_window_new(GTK_APPLICATION(application)));
		app_window_open(window,
			is_one ? open_together(line, files) : open_trace(line, *file, is_alone),
			add);
		if (state)
			app_window_set_state(window, state);
		gtk_window_present(GTK_WINDOW(window));
	}
	if (!window)
		gtk_window_present(GTK_WINDOW(app_window_new(GTK_APPLICATION(application))));
	return 0;
}

int main(int argc, char **argv)
{
	static const GOptionEntry options[] = {
		{"stacked", 0, 0, G_OPTION_ARG_NONE, NULL,
			"Show all traces in one window, one below the other", NULL},
		{"together", 0, 0, G_OPTION_ARG_NONE, NULL, "Show all traces as one", NULL},
		{"state", 0, 0, G_OPTION_ARG_STRING, NULL, "Show this view: the text of Copy View",
			"TEXT"},
		{G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, NULL, NULL,
			"[TRACE|PID]..."},
		{0},
	};
	GtkApplication *application;
	int status;

	g_set_application_name("thrum");
	/* Each call is a process of its own: one that hangs or ends harms no other window. */
	application = gtk_application_new("io.github.thrum.Thrum",
		G_APPLICATION_HANDLES_COMMAND_LINE | G_APPLICATION_NON_UNIQUE);
	g_application_add_main_option_entries(G_APPLICATION(application), options);
	g_signal_connect(application, "startup", G_CALLBACK(on_startup), NULL);
	g_signal_connect(application, "command-line", G_CALLBACK(on_command_line), NULL);
	status = g_application_run(G_APPLICATION(application), argc, argv);
	g_object_unref(application);
	return status;
}
