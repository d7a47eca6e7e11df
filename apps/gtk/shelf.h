/* SPDX-License-Identifier: ISC */
/* A row of widgets that leaves out what there is no room for. */
#ifndef SHELF_H
#define SHELF_H

#include <gtk/gtk.h>

/* A GtkBox, to be filled as any. What room is left goes to a child that expands. */
GtkWidget *shelf_new(int spacing);
/* Where there is too little room the child with the greatest rank goes first; those of rank 0, as
 * all are at first, stay. */
void shelf_rank(GtkWidget *child, unsigned rank);

#endif
