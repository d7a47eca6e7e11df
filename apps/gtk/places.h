/* SPDX-License-Identifier: ISC */
/* For tests: where the named widgets are. */
#ifndef PLACES_H
#define PLACES_H

#include <gtk/gtk.h>

/* With THRUM_GTK_PLACES=FILE in the environment that file says, 20 times a second: "turn NUMBER",
 * all that happened before which is in it; then of each window of the application "window TITLE";
 * "NAME X Y WIDTH HEIGHT yes|no WORDS" of each widget with a name: where it is on the window,
 * whether it is seen, what it says; "active", if it has the keyboard; "state ADDRESS"; "status
 * WORDS". */
void places_init(void);

#endif
