/* SPDX-License-Identifier: ISC */
/*
 * window/: the window around the picture and the panel: its bar, menus, actions, dialogs and messages. It
 * opens and closes traces. Only this folder uses all others.
 */
#ifndef WINDOW_WINDOW_H
#define WINDOW_WINDOW_H

#include <gtk/gtk.h>

#include "trace/trace.h"

#define APP_TYPE_WINDOW (app_window_get_type())
G_DECLARE_FINAL_TYPE(AppWindow, app_window, APP, WINDOW, GtkApplicationWindow)

GtkWidget *app_window_new(GtkApplication *);
/* Opens a trace and takes its reference. `add`: below the others, else in their place. */
void app_window_open(AppWindow *, AppTrace *, bool add);
/* Shows the view that a line of text describes (thrum__stage_state_parse). While traces are being
 * opened it waits for them. */
void app_window_set_state(AppWindow *, const char *state);

char *window_state(AppWindow *);  /* the view as a line of text; free it with g_free */
char *window_status(AppWindow *); /* the status line; free it with g_free */
void window_theme_changed(AppWindow *);

/* The keys of the actions. */
extern const struct window_key {
	const char *action, *accelerator, *help;
} window_keys[]; /* ends with NULL */

#endif
