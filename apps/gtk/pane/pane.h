/* SPDX-License-Identifier: ISC */
/*
 * pane/: the side panel with its pages: details, tasks, statistics, why a task was slow, differences.
 * Its signals tell where its links lead. This folder doesn't know the picture or the window.
 */
#ifndef PANE_PANE_H
#define PANE_PANE_H

#include <gtk/gtk.h>

#include "stage/stage.h"
#include "trace/trace.h"

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

#endif
