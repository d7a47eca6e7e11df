/* SPDX-License-Identifier: ISC */
/* For benchmarks: how long frames take, and how far they show what is recorded. */
#ifndef FRAMES_H
#define FRAMES_H

#include <gtk/gtk.h>

/* With THRUM_GTK_FRAMES=FILE in the environment that file gets a line a frame of this widget's
 * window, from now on: the µs of the whole of it, from the input
 * to the last pixel, and how many of them this thread ran; when it ended, and what was noted last
 * (at first 0 0 0). */
void frames_measure(GtkWidget *);
/* The next frames show a trace up to this moment, of the same clock (ns since 1970), with so many
 * events; so many places are told to be lost. */
void frames_note(int64_t until, uint64_t events, uint64_t lost);

#endif
