/* SPDX-License-Identifier: ISC */
/* In the picture's place while a trace is read: what can be seen of it already. */
#ifndef LOADING_H
#define LOADING_H

#include "app.h"

GtkWidget *loading_new(void);
/* `part` was read; negative: all, it is being laid out. */
void loading_show(GtkWidget *, AppTrace *, double part);

#endif
