/* SPDX-License-Identifier: ISC */
/* Private to the folder. */
#ifndef ANALYSE_FAMILY_PARTS_H
#define ANALYSE_FAMILY_PARTS_H

#include "analyse/family/family.h"

/* Counts the groups' lines, makes the tree of the groups, and chooses those that are shown. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__family_arrange(struct thrum__family *);

#endif
