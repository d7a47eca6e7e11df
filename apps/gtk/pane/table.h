/* SPDX-License-Identifier: ISC */
/* A table (report/table) as a list model of GTK, whose rows are made when they become visible. */
#ifndef PANE_TABLE_H
#define PANE_TABLE_H

#include <gtk/gtk.h>

#include "report/chart.h"

#define PANE_TYPE_TABLE (pane_table_get_type())
G_DECLARE_FINAL_TYPE(PaneTable, pane_table, PANE, TABLE, GObject)

PaneTable *pane_table_new(void);

/*
 * Makes the table of this kind from `stats` and narrows it like pane_table_narrow. A table of the
 * same kind keeps its order. `stats` must stay valid until the next call or pane_table_let_go; NULL
 * makes an empty table. Rows that a widget shows stay in place and get new texts, so that the user
 * can go on reading while a trace grows. The selection keeps its place too, not its task.
 */
void pane_table_set(PaneTable *, int kind, const struct thrum__stats *,
	const struct thrum__report_chart *, const char *text);

/* Forgets the statistics. Widgets keep their texts until the next pane_table_set. */
void pane_table_let_go(PaneTable *);

/* Leaves the rows in the chart's range (NULL: all) that contain the text ("": all). */
void pane_table_narrow(PaneTable *, const struct thrum__report_chart *, const char *text);

/* The table, or NULL if it is empty or the statistics are forgotten. */
const struct thrum__table *pane_table_get(PaneTable *);

/* Makes a GtkColumnView with a sortable column for each visible one of the table. Another kind of
 * table needs a new widget. Takes no reference. */
GtkWidget *pane_table_view(PaneTable *);

#endif
