/* SPDX-License-Identifier: ISC */
/*
 * apps/gtk/, the desktop viewer thrum-gtk: windows, input and painting. The stage (stage/stage.h)
 * decides what is visible, selected and found, and the rooms under src/ write nearly all sentences
 * about a trace. This folder forwards events to the stage and shows its answers; it never analyses.
 *
 * window/ uses all other folders. pane/ and picture/ use trace/ and desktop/, which use no other.
 * desktop/ has the user's theme, settings and editor. A folder's parts.h is for its own files.
 */
#ifndef APP_H
#define APP_H

#include <gtk/gtk.h>

/* Gives a widget without visible text an accessible name, for screen readers. */
static inline void app_call(GtkWidget *widget, const char *name)
{
	gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
		-1);
}

#endif
