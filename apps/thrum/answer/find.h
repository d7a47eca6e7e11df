/* SPDX-License-Identifier: ISC */
/* Finds the faults in a trace, by two threads where a processor is idle. */
#ifndef ANSWER_FIND_H
#define ANSWER_FIND_H

#include "analyse/why/finding.h"

/* Does as thrum__why_make. A second thread may read the model until thrum__why_free. */
THRUM__MUST_USE int find_faults(const struct thrum__model *, struct thrum__findings *);

#endif
