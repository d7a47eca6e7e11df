/* SPDX-License-Identifier: ISC */
/* Tells whether a program rests. Private to losses/. */
#ifndef ANALYSE_WHY_REST_H
#define ANALYSE_WHY_REST_H

#include "analyse/why/parts.h"

/* Whether a whole program rests: each thread waits, no request is under way, and nobody outside may say
 * anything. Timers are left out. False if any of its events is lost or
 * forgotten. O(tasks + messages). */
bool thrum__why_is_at_rest(const struct thrum__model *);

#endif
