/* SPDX-License-Identifier: ISC */
/* A row of widgets that hides those for which there is no room. */
#ifndef WINDOW_SHELF_H
#define WINDOW_SHELF_H

#include <gtk/gtk.h>

/* Makes a GtkBox to be filled as usual. Remaining room goes to the first child that expands. */
GtkWidget *shelf_new(int spacing);
/* Where there is too little room, the child with the greatest rank is hidden first. Children of
 * rank 0, the default, stay. */
void shelf_rank(GtkWidget *child, unsigned rank);

#endif
