/* SPDX-License-Identifier: ISC */
/* A table of the view as a list of GTK, whose rows are made when they are looked at. */
#ifndef PANE_TABLE_H
#define PANE_TABLE_H

#include <gtk/gtk.h>

#include "report/chart.h"

#define PANE_TYPE_TABLE (pane_table_get_type())
G_DECLARE_FINAL_TYPE(PaneTable, pane_table, PANE, TABLE, GObject)

PaneTable *pane_table_new(void);

/*
 * Makes the table anew, with the order of before if it is of the same kind, and narrows it as
 * below. Stats must stay until the next call; NULL: empty. Rows that a view has stay and say what
 * is there now: of a trace that grows one goes on reading where one was. What is selected stays a
 * place, too.
 */
void pane_table_set(PaneTable *, int kind, const struct thrum__stats *,
	const struct thrum__report_chart *, const char *text);

/* Lets go of the stats; views go on showing what they show, until the next call of the above. */
void pane_table_let_go(PaneTable *);

/* The rows that a chart and a text leave; NULL: all. */
void pane_table_narrow(PaneTable *, const struct thrum__report_chart *, const char *text);

/* NULL when it is empty, or has let go. */
const struct thrum__table *pane_table_get(PaneTable *);

/* A view of it with a sortable column for each that is shown; to be made anew for another kind.
 * Takes no reference. */
GtkWidget *pane_table_view(PaneTable *);

#endif
