/* SPDX-License-Identifier: ISC */
/* Internal to view/: moving the window. */
#ifndef VIEW_MOVE_H
#define VIEW_MOVE_H

#include "view/view.h"

/* Sets the window; keeps it within the trace (and a tenth of itself beyond) and not too narrow. */
void thrum__view_window(struct thrum__view *, int64_t from, int64_t to);

/* The same of any times, with a margin at either side. */
void thrum__view_window_around(struct thrum__view *, int64_t from, int64_t to, int64_t margin);

/* Scrolls so that a row is seen, when it isn't. */
void thrum__view_show_row(struct thrum__view *, uint32_t row);

/* Remembers the state for BACK. */
void thrum__view_remember(struct thrum__view *);

#endif
