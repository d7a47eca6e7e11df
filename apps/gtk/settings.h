/* SPDX-License-Identifier: ISC */
/* What the viewer remembers from one time to the next: thrum/viewer.ini where settings lie. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>

int settings_get(const char *key, int otherwise);
void settings_set(const char *key, int value); /* written at once */

#endif
