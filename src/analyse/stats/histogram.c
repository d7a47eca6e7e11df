/* SPDX-License-Identifier: ISC */
/* Histograms of measures, with logarithmic columns. */
#include "analyse/stats/stats.h"

int64_t thrum__stats_histogram_bound(unsigned column)
{
	static const int64_t steps[] = {1, 2, 5};
	int64_t bound;

	if (column == 0)
		return 0;
	if (column >= THRUM__HISTOGRAM_COLUMNS)
		return INT64_MAX;
	bound = steps[(column - 1) % 3];
	for (unsigned tens = (column - 1) / 3; tens > 0; tens--)
		bound *= 10;
	return bound;
}

static unsigned column_of(int64_t value)
{
	unsigned low = 0, high = THRUM__HISTOGRAM_COLUMNS;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (thrum__stats_histogram_bound(middle) <= value)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void thrum__stats_histogram_make(const struct thrum__stats *stats, const bool *wanted, int measure,
	struct thrum__histogram *histogram)
{
	const uint32_t *of = stats->by[THRUM__BY_LABEL].of;
	const int64_t *values = stats->measure[measure];

	*histogram = (struct thrum__histogram){.first = THRUM__HISTOGRAM_COLUMNS};
	for (uint32_t i = 0; i < stats->places; i++) {
		unsigned column;

		if (of[i] == THRUM__NONE || !wanted[of[i]] || values[i] < 0)
			continue;
		column = column_of(values[i]);
		histogram->count[column]++;
		if (column < histogram->first)
			histogram->first = column;
		if (column > histogram->last)
			histogram->last = column;
	}
}
