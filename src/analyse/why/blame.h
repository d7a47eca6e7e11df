/* SPDX-License-Identifier: ISC */
/* Tells who should have ended a task that waits for nothing. Private to analyse/why. */
#ifndef ANALYSE_WHY_BLAME_H
#define ANALYSE_WHY_BLAME_H

#include "analyse/why/parts.h"

/* Adds a step about the task that should have ended this one, if one is known and did not do it. */
void thrum__why_add_blame(struct thrum__finding *, const struct thrum__search *, uint32_t task);

#endif
