/* SPDX-License-Identifier: ISC */
/* In the picture's place while traces are read: what can be seen of them already, one above the
 * other as they will be. */
#ifndef LOADING_H
#define LOADING_H

#include "app.h"

GtkWidget *loading_new(void);
/* `parts`: of each, what "progress" told last. */
void loading_show(GtkWidget *, AppTrace *const *, const double *parts, unsigned count);

#endif
