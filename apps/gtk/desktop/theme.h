/* SPDX-License-Identifier: ISC */
/* The theme of all windows, the system's or the chosen one, and the style sheet. */
#ifndef DESKTOP_THEME_H
#define DESKTOP_THEME_H

#include <gtk/gtk.h>

#define THEME_SYSTEM (-1)

/* Call it once, before the first window. It calls `changed` whenever the theme has changed. */
void theme_init(void (*changed)(void));
int theme_now(void);    /* enum thrum__draw_theme */
int theme_chosen(void); /* the same, or THEME_SYSTEM */
void theme_choose(int theme);

#endif
