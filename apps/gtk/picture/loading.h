/* SPDX-License-Identifier: ISC */
/* Shows coarse pictures of traces while they are read, in the place of the picture and stacked as
 * the traces will be. */
#ifndef PICTURE_LOADING_H
#define PICTURE_LOADING_H

#include <gtk/gtk.h>

#include "trace/trace.h"

GtkWidget *loading_new(void);
/* Shows `count` traces; parts[i] is the last value of traces[i]'s signal "progress". */
void loading_show(GtkWidget *, AppTrace *const *, const double *parts, unsigned count);

#endif
