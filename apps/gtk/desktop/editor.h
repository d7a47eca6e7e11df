/* SPDX-License-Identifier: ISC */
/* Opens places of source code in the editor that the user has chosen. */
#ifndef DESKTOP_EDITOR_H
#define DESKTOP_EDITOR_H

#include <gtk/gtk.h>

/* Returns the path of a source file as a trace names it: absolute, or relative to the working directory or
 * to the folder of the trace (NULL: unknown). NULL if there is no such file. Free it with g_free. */
char *editor_find(const char *file, const char *trace);
/*
 * Opens a file that editor_find has found, at a line if the editor is known: $VISUAL or $EDITOR if that has a
 * window of its own, else what the desktop opens such files with.
 */
void editor_open(GtkWindow *, const char *path, unsigned line);

#endif
