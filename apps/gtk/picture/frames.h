/* SPDX-License-Identifier: ISC */
/* For benchmarks: measures how long frames take and how up to date they are. */
#ifndef PICTURE_FRAMES_H
#define PICTURE_FRAMES_H

#include <gtk/gtk.h>

/*
 * If the environment has THRUM_GTK_FRAMES=FILE, appends a line to FILE for each frame of this
 * widget's window from now on: the frame's duration in µs, from its input to its last pixel; the
 * processor time of this thread in it, in µs; the time when it ended, in ns since 1970; and the
 * three numbers of the last frames_note (0 0 0 before the first).
 */
void frames_measure(GtkWidget *);
/* Notes what the next frames show: a trace up to the time `until` (ns since 1970) with so many
 * events, and the sum of its lost events, gaps and damaged places. */
void frames_note(int64_t until, uint64_t events, uint64_t lost);

#endif
