/* SPDX-License-Identifier: ISC */
/*
 * apps/gtk/: windows, input and painting. What is seen, selected, found and said comes from the
 * stage (view/stage.h); this forwards events to it and shows what it gives.
 */
#ifndef APP_H
#define APP_H

#include <gtk/gtk.h>

#include "analyse/stats/stats.h"
#include "model/model.h"
#include "scene/coarse.h"
#include "stage/stage.h"

/* ---- A trace (trace.c): opened and read in a thread, followed while it is written
 * ---------------- */

#define THRUM_TYPE_TRACE (app_trace_get_type())
G_DECLARE_FINAL_TYPE(AppTrace, app_trace, APP, TRACE, GObject)

enum app_trace_state {
	APP_TRACE_OPENING,
	APP_TRACE_SHOWN,  /* all there is was read; nobody writes to it */
	APP_TRACE_LIVE,   /* followed */
	APP_TRACE_PAUSED, /* written to, but not followed for now */
	APP_TRACE_ENDED,  /* was followed; its program has ended */
	APP_TRACE_FAILED,
};

/* Signals: "progress" (double: 0 … 1 is read, 1 … 2 laid out), "shown" (model and view are there;
 * the view is taken by the stage with app_trace_take_view), "grown" (the model grew: update the
 * view), "changed" (state or message), all in the main thread. */
AppTrace *app_trace_new(const char *file); /* begins to read at once */
AppTrace *app_trace_new_of_process(int pid);
void app_trace_cancel(AppTrace *);
const char *app_trace_file(AppTrace *);
const char *app_trace_name(AppTrace *); /* for people */
enum app_trace_state app_trace_state(AppTrace *);
/* What failed, what is lost or damaged, "ended by SIGKILL": one line each, or "". */
const char *app_trace_message(AppTrace *);
/* How far reading is: "12 MB of 1.2 GB". To be freed with g_free. */
char *app_trace_progress_words(AppTrace *);
/* What was read so far, until there is a view. */
void app_trace_coarse(AppTrace *, struct thrum__scene_coarse *to);
struct thrum__model *app_trace_model(AppTrace *);     /* NULL until it is shown */
struct thrum__scene *app_trace_take_view(AppTrace *); /* once */
const struct thrum_trace_info *app_trace_info(AppTrace *);
const struct thrum__stats *app_trace_stats(AppTrace *); /* made anew when the model grew; or NULL */
/* Whether newer ones wait for a pause, since they would hold up following. *end: up to when there
 * are some, or INT64_MIN. */
bool app_trace_stats_wait(AppTrace *, int64_t *end);
void app_trace_pause(AppTrace *, bool is_paused);
void app_trace_keep(AppTrace *, int64_t ns); /* forget what is older; 0: keep all */
/* Copies what is recorded now, in a thread; then calls `done`, which calls the second. */
void app_trace_snapshot(AppTrace *, const char *file, GAsyncReadyCallback done, void *data);
bool app_trace_snapshot_finish(GAsyncResult *, GError **);

/* Lets people choose among the processes that record now (attach.c); `chosen` isn't called when
 * they don't. */
void app_attach_choose(GtkWindow *parent, void (*chosen)(int pid, void *data), void *data);

/* What a control without words of its own is called by those who can't see it. */
static inline void app_call(GtkWidget *widget, const char *name)
{
	gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
		-1);
}

/* ---- The picture (picture.c): a widget that shows a stage ---------------------------------------
 */

#define APP_TYPE_PICTURE (app_picture_get_type())
G_DECLARE_FINAL_TYPE(AppPicture, app_picture, APP, PICTURE, GtkWidget)

/* Signal "changed" (unsigned bits of enum thrum__stage_changed), "command" (int: the front end's own),
 * "menu" (double x, y). */
GtkWidget *app_picture_new(struct thrum__stage *);
/* What a stage call returned: asks for a frame, and emits "changed". */
void app_picture_did(AppPicture *, int changed);
void app_picture_command(AppPicture *, int command);
bool app_picture_export(AppPicture *, const char *file, GError **); /* by ending: svg png pdf */

/* ---- The side pane (pane.c): details, tasks, statistics, findings -------------------------------
 */

#define APP_TYPE_PANE (app_pane_get_type())
G_DECLARE_FINAL_TYPE(AppPane, app_pane, APP, PANE, GtkWidget)

/* Signal "go-task" (unsigned part, unsigned task), "go-time" (part, gint64), "go-finding"
 * (part, unsigned finding), "hover-task" (part, task), "page" (const char * word: it shows
 * another). */
GtkWidget *app_pane_new(void);
/* The traces of a window, in the stage's order. The pane keeps references. */
void app_pane_set_traces(AppPane *, AppTrace **traces, struct thrum__stage *, unsigned count);
void app_pane_show(AppPane *, unsigned part, uint32_t task); /* the selection; NONE: none */
void app_pane_trace_grew(AppPane *, unsigned part);
void app_pane_show_page(AppPane *, const char *word); /* "details", "tasks", "statistics" */

/* ---- The window (window.c) ------------------------------------------------------------------- */

#define APP_TYPE_WINDOW (app_window_get_type())
G_DECLARE_FINAL_TYPE(AppWindow, app_window, APP, WINDOW, GtkApplicationWindow)

GtkWidget *app_window_new(GtkApplication *);
void app_window_open(AppWindow *, AppTrace *, bool add); /* takes the reference; add: stacked */
void app_window_set_state(AppWindow *, const char *state);

#endif
