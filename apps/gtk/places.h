/* SPDX-License-Identifier: ISC */
/* For tests: tells where the named widgets are. */
#ifndef PLACES_H
#define PLACES_H

#include <gtk/gtk.h>

/*
 * If the environment has THRUM_GTK_PLACES=FILE, writes FILE 50 times a second. It begins with the
 * line "turn NUMBER"; events handled before that turn have taken effect in the lines that follow.
 * Each visible window has the lines
 *	window TITLE
 *	NAME X Y WIDTH HEIGHT yes|no TEXT	each widget with a name: its place in the window,
 *						whether it is visible, its text
 *	active					if the window has the keyboard focus
 *	state ADDRESS				the view as a line of text
 *	status TEXT				the status line
 */
void places_init(void);

#endif
