/* SPDX-License-Identifier: ISC */
/* Histograms of how long the tasks of a label lived, waited and ran. */
#ifndef LIST_HISTOGRAM_H
#define LIST_HISTOGRAM_H

#include "analyse/stats/stats.h"
#include "line/output.h"

/*
 * Writes the three histograms of the labels that match `wanted`. text: bars, of block characters if
 * the locale is UTF-8; tsv, json: measure, from, to, count; from and to in ns. Returns the exit
 * status, after a message if no label matches.
 */
int histogram_write(struct output *, const struct thrum__stats *, const char *wanted, int format,
	bool color);

#endif
