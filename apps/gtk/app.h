/* SPDX-License-Identifier: ISC */
/*
 * apps/gtk/, the desktop viewer thrum-gtk: windows, input and painting. The stage (stage/stage.h)
 * decides what is visible, selected and found, and the rooms under src/ write nearly all sentences
 * about a trace. This folder forwards events to the stage and shows its answers; it never analyses.
 */
#ifndef APP_H
#define APP_H

#include <gtk/gtk.h>

#include "analyse/slow/answer.h"
#include "analyse/slow/flame.h"
#include "analyse/stats/stats.h"
#include "model/model.h"
#include "scene/coarse.h"
#include "stage/stage.h"

/* ---- A trace (trace/trace.c): read in a thread, followed while a program writes to it ------ */

#define THRUM_TYPE_TRACE (app_trace_get_type())
G_DECLARE_FINAL_TYPE(AppTrace, app_trace, APP, TRACE, GObject)

enum app_trace_state {
	APP_TRACE_OPENING,
	APP_TRACE_SHOWN,  /* read completely; no program writes to it */
	APP_TRACE_LIVE,   /* followed */
	APP_TRACE_PAUSED, /* a program writes to it, but following is paused */
	APP_TRACE_ENDED,  /* was followed until its program ended */
	APP_TRACE_FAILED,
};

/*
 * Signals, all in the main thread: "progress" (double: 0 … 1 while reading, 1 … 2 while laying
 * out), "shown" (model and scene exist; app_trace_take_scene gives the scene to the stage), "grown"
 * (the model grew or forgot: update the scene), "worked" (findings or bands can be taken), "changed"
 * (the state or the message).
 */
AppTrace *app_trace_new(const char *file);   /* starts reading at once */
AppTrace *app_trace_new_of_process(int pid); /* the recording that this process writes */
/* Several recordings as one trace; NULL ends the files. */
AppTrace *app_trace_new_together(const char *const *files);
AppTrace *app_trace_again(AppTrace *); /* reads a trace anew, from its files */
void app_trace_cancel(AppTrace *);
const char *app_trace_file(AppTrace *); /* NULL: unknown yet, or there are several */
const char *app_trace_name(AppTrace *); /* for display: valid UTF-8 */
enum app_trace_state app_trace_state(AppTrace *);
/* The failure, what is lost or damaged, how the program ended: one line each, or "". */
const char *app_trace_message(AppTrace *);
/* The progress of opening: "reading 12 MB of 1.2 GB". Free it with g_free. */
char *app_trace_progress_words(AppTrace *);
/* Copies a coarse picture of the events that were read so far, to show until there is a scene. */
void app_trace_coarse(AppTrace *, struct thrum__scene_coarse *to);
struct thrum__model *app_trace_model(AppTrace *); /* NULL until it is shown */
/* Gives the scene to the caller, once; then NULL. */
struct thrum__scene *app_trace_take_scene(AppTrace *);
const struct thrum_trace_info *app_trace_info(AppTrace *); /* NULL until it is shown */
/* The newest finished statistics, or NULL. Starts a new count in a thread if the model has changed;
 * "changed" tells its end. The result is valid until the next call. */
const struct thrum__stats *app_trace_stats(AppTrace *);
/* Whether a new count waits for a pause, since it would hold up following for too long. Sets *end
 * to the time up to which the present statistics count, or to INT64_MIN if there are none. */
bool app_trace_stats_wait(AppTrace *, int64_t *end);
/*
 * Look for findings, or make bands, of the model as it is, in a thread. They do nothing if that is being
 * done, or was done a moment ago, or, for findings, since the end. Following waits meanwhile. "worked"
 * tells the end; then what was made can be taken: false and NULL if there is nothing.
 */
void app_trace_look(AppTrace *);
void app_trace_arrange(AppTrace *);
bool app_trace_take_findings(AppTrace *, struct thrum__findings *);
struct thrum__bands *app_trace_take_bands(AppTrace *);
/* The same for the rows of a trace that doesn't grow: makes them once. *rows is NULL when there was no
 * memory for them. */
void app_trace_lay_out(AppTrace *);
int app_trace_percent_laid_out(AppTrace *);
bool app_trace_take_rows(AppTrace *, struct thrum__scene_rows **rows);
/* The same for its critical paths. */
void app_trace_make_paths(AppTrace *);
bool app_trace_take_paths(AppTrace *, struct thrum__paths **paths);
/* Why a task was slow, with the flame graph of its label if that can be made. */
struct app_slow {
	struct thrum__slow_answer answer;
	struct thrum__flame flame;
	bool has_flame;
};
/* Finds that in a thread, and calls `done`. _finish gives what was found, or NULL; free it with
 * app_slow_free (NULL is fine). */
void app_trace_ask_slow(AppTrace *, uint32_t task, GAsyncReadyCallback done, void *data);
struct app_slow *app_trace_slow_finish(GAsyncResult *);
void app_slow_free(struct app_slow *);
void app_trace_pause(AppTrace *, bool is_paused);
/* Whether bands of it are shown. Then it forgets when there are new ones that lack what goes. */
void app_trace_show_bands(AppTrace *, bool);
void app_trace_keep(AppTrace *, int64_t ns); /* forgets older events as it grows; 0: keeps all */
/* Copies the recording as it is now to a file, in a thread: a part of its time in ns, or from 0 to
 * INT64_MAX all of it. Then calls `done`, which gets the result from app_trace_snapshot_finish. */
void app_trace_snapshot(AppTrace *, const char *file, int64_t from, int64_t until,
	GAsyncReadyCallback done, void *data);
/* Whether a part of it can be copied: it is one recording. */
bool app_trace_has_parts(AppTrace *);
bool app_trace_snapshot_finish(GAsyncResult *, GError **);

/* Shows a dialog with the processes that are recording (window/attach.c). Calls `chosen` with the selected
 * one; doesn't call it if the dialog is cancelled. */
void app_attach_choose(GtkWindow *parent, void (*chosen)(int pid, void *data), void *data);

/* Gives a widget without visible text an accessible name, for screen readers. */
static inline void app_call(GtkWidget *widget, const char *name)
{
	gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
		-1);
}

/* ---- The picture (picture/picture.c): a widget that shows a stage -------------------------- */

#define APP_TYPE_PICTURE (app_picture_get_type())
G_DECLARE_FINAL_TYPE(AppPicture, app_picture, APP, PICTURE, GtkWidget)

/* Signals: "changed" (unsigned: bits of enum thrum__stage_changed), "command" (int: a command that
 * the stage leaves to the front end), "menu" (double x, y: where the context menu is wanted), "note" (a
 * finding was pressed, and chosen by that). */
GtkWidget *app_picture_new(struct thrum__stage *);
/* Takes the result of a stage call: asks for a frame if it has changed something. The next frame
 * emits "changed". */
void app_picture_did(AppPicture *, int changed);
void app_picture_command(AppPicture *, int command);
/* Whether the next drag measures, as one with Shift does. Escape ends that. */
void app_picture_measure(AppPicture *, bool measures);
/* Writes the picture to a file whose name ends in .svg, .png or .pdf. */
bool app_picture_export(AppPicture *, const char *file, GError **);

/* ---- The side panel (pane/pane.c): details, tasks, statistics, findings -------------------- */

#define APP_TYPE_PANE (app_pane_get_type())
G_DECLARE_FINAL_TYPE(AppPane, app_pane, APP, PANE, GtkWidget)

/* Signals: "go-task" (unsigned part, unsigned task), "go-time" (part, gint64 ns, gint64 until),
 * "go-finding" (part, unsigned finding), "go-difference" (const struct thrum__difference *),
 * "go-group" (part, unsigned group), "go-slow" (part, task), "hover-task" (part, task), "page" (const
 * char *: the word of the page that is now visible). */
GtkWidget *app_pane_new(void);
/* Sets the traces of the window, in the stage's order. The panel keeps references. */
void app_pane_set_traces(AppPane *, AppTrace **traces, struct thrum__stage *, unsigned count);
/* Shows the details of a part's task, or of its trace for THRUM__NONE. */
void app_pane_show(AppPane *, unsigned part, uint32_t task);
void app_pane_trace_grew(AppPane *, unsigned part);
/* The picture has changed: what is told about the trace may be told of another part of it. */
void app_pane_turn(AppPane *);
/* "details", "tasks", "statistics", "slow", "differences" */
void app_pane_show_page(AppPane *, const char *word);
/* Shows a finding among the details. The keyboard stays where it is. */
void app_pane_show_finding(AppPane *, uint32_t finding);
/* Shows why the task that the panel is about was slow. */
void app_pane_ask_slow(AppPane *);

/* ---- The window (window/window.c) ---------------------------------------------------------- */

#define APP_TYPE_WINDOW (app_window_get_type())
G_DECLARE_FINAL_TYPE(AppWindow, app_window, APP, WINDOW, GtkApplicationWindow)

GtkWidget *app_window_new(GtkApplication *);
/* Opens a trace and takes its reference. `add`: below the others, else in their place. */
void app_window_open(AppWindow *, AppTrace *, bool add);
/* Shows the view that a line of text describes (thrum__stage_state_parse). While traces are being
 * opened it waits for them. */
void app_window_set_state(AppWindow *, const char *state);

#endif
