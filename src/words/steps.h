/* SPDX-License-Identifier: ISC */
/*
 * The texts of findings' steps. In the texts, $ and a letter stand for
 *
 *	$t  the step's task                     $n  the finding's count
 *	$o  the step's other task               $p  the number of peers (tasks like it that ended)
 *	$w  the task that began to wait         $u  the median life of the peers
 *	$r  the reason of the failure           $m  the longest life of the peers
 *	$l  the time since the step before      $s  the time from the step to the finding's end
 *	$d  the duration of the step
 *	$i  the number of the step before        $x  further tasks of which the step is true
 *	$g  the step's log line                 $a  the number of further locks like it
 *
 * A text in brackets is left out if the step has no other task, or if that is the task itself.
 * Brackets don't nest.
 */
#ifndef WORDS_STEPS_H
#define WORDS_STEPS_H

#include <stdbool.h>

#include "analyse/why/finding.h"

/* The title and the line of a note in the picture, and a whole sentence; NULL: "$t", the title and the line
 * make one, without quotes. */
struct thrum__step_text {
	const char *title, *line, *sentence;
};

/* The texts of step i, which live as long as the program. */
const struct thrum__step_text *thrum__words_step_text(const struct thrum__finding *, unsigned i);
/* Whether these say that the step's task is overdue. */
bool thrum__words_step_is_due(const struct thrum__finding *, unsigned i);

#endif
