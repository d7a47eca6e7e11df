/* SPDX-License-Identifier: ISC */
/* The option --as, as part of the state that a page or a window shows first. */
#ifndef APPS_THRUM_AS_H
#define APPS_THRUM_AS_H

#define AS_CHOICES "auto|rows|bands" /* in the order of enum thrum__scene_as */

/* Returns the text of a state (NULL: none) with this choice before it; the caller frees it. NULL: no
 * memory. */
char *as_state(int as, const char *state);

#endif
