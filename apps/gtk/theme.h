/* SPDX-License-Identifier: ISC */
/* The theme: the system's, or what was chosen; and the style sheet made of its tokens. */
#ifndef THEME_H
#define THEME_H

#include <gtk/gtk.h>

#define THEME_SYSTEM (-1)

/* To be called once, before the first window; `changed` is called when the theme has changed. */
void theme_init(void (*changed)(void));
int theme_now(void);    /* enum thrum__draw_theme */
int theme_chosen(void); /* the same, or THEME_SYSTEM */
void theme_choose(int theme);

#endif
