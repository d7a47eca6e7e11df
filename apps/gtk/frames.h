/* SPDX-License-Identifier: ISC */
/* For benchmarks: how long frames take. */
#ifndef FRAMES_H
#define FRAMES_H

#include <gtk/gtk.h>

/* With THRUM_GTK_FRAMES=FILE in the environment that file gets a line a frame of this widget's
 * window, from now on: the µs of the whole of it, from the input
 * to the last pixel, and how many of them this thread ran. */
void frames_measure(GtkWidget *);

#endif
