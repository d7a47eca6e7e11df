/* SPDX-License-Identifier: ISC */
/*
 * picture/: a widget that shows a stage and forwards the pointer, the wheel and fingers to it. While
 * traces are read, another widget in its place shows them coarsely. This folder doesn't know the panel
 * or the window.
 */
#ifndef PICTURE_PICTURE_H
#define PICTURE_PICTURE_H

#include <gtk/gtk.h>

#include "stage/stage.h"

#define APP_TYPE_PICTURE (app_picture_get_type())
G_DECLARE_FINAL_TYPE(AppPicture, app_picture, APP, PICTURE, GtkWidget)

/* Signals: "changed" (unsigned: bits of enum thrum__stage_changed), "command" (int: a command that
 * the stage leaves to the front end), "menu" (double x, y: where the context menu is wanted), "note" (a
 * finding was pressed, and chosen by that). */
GtkWidget *app_picture_new(struct thrum__stage *);
/* Takes the result of a stage call: asks for a frame if it has changed something. The next frame
 * emits "changed". */
void app_picture_did(AppPicture *, int changed);
void app_picture_command(AppPicture *, int command);
/* Whether the next drag measures, as one with Shift does. Escape ends that. */
void app_picture_measure(AppPicture *, bool measures);
/* Writes the picture to a file whose name ends in .svg, .png or .pdf. */
bool app_picture_export(AppPicture *, const char *file, GError **);

#endif
