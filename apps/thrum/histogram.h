/* SPDX-License-Identifier: ISC */
/* How long the tasks of a label lived, waited and ran, as bars. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "analyse/stats/stats.h"
#include "output.h"

/*
 * The three histograms of the labels that `wanted` means. text: bars, of block characters where the
 * locale is UTF-8; tsv, json: measure, from, to, count. Returns the exit status, after a message
 * when there is no such label.
 */
int histogram_write(struct output *, const struct thrum__stats *, const char *wanted, int format,
	bool color);

#endif
