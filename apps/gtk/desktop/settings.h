/* SPDX-License-Identifier: ISC */
/* The settings that the viewer remembers: thrum/viewer.ini in the user's configuration folder. */
#ifndef DESKTOP_SETTINGS_H
#define DESKTOP_SETTINGS_H

#include <stdbool.h>

int settings_get(const char *key, int otherwise);
void settings_set(const char *key, int value); /* written at once */

#endif
