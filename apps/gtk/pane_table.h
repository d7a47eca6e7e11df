/* SPDX-License-Identifier: ISC */
/* A table of the view as a list of GTK, whose rows are made when they are looked at. */
#ifndef PANE_TABLE_H
#define PANE_TABLE_H

#include <gtk/gtk.h>

#include "view/chart.h"

#define PANE_TYPE_TABLE (pane_table_get_type())
G_DECLARE_FINAL_TYPE(PaneTable, pane_table, PANE, TABLE, GObject)

PaneTable *pane_table_new(void);

/* Makes the table anew, with the order of before if it is of the same kind. Stats must stay until
 * the next call; NULL: empty. */
void pane_table_set(PaneTable *, int kind, const struct thrum__stats *);

/* The rows that a chart and a text leave. */
void pane_table_narrow(PaneTable *, const struct thrum__chart *, const char *text);

/* NULL when it is empty. */
const struct thrum__table *pane_table_get(PaneTable *);

/* A view of it with a sortable column for each that is shown; to be made anew for another kind.
 * Takes no reference. */
GtkWidget *pane_table_view(PaneTable *);

#endif
