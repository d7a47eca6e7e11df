/* SPDX-License-Identifier: ISC */
#include "analyse/slices.h"

#include <stdlib.h>

/* A counting sort. */
int thrum__analyse_slices_count(const struct thrum__model *model,
	const struct thrum__model_rows *rows, uint32_t owners, thrum__slices_owner *owner,
	struct thrum__slices *slices)
{
	*slices = (struct thrum__slices){0};
	slices->first = calloc((size_t)owners + 2, sizeof(*slices->first));
	if (!slices->first)
		return -THRUM_E_MEMORY;
	for (uint32_t row = rows->first; row < rows->count; row++) {
		uint32_t of = thrum__model_has_row(rows, row) ? owner(model, row) : THRUM__NONE;

		if (of < owners)
			slices->first[of + 2]++;
	}
	for (uint32_t i = 2; i < owners + 2; i++)
		slices->first[i] += slices->first[i - 1];
	return 0;
}

int thrum__analyse_slices_fill(const struct thrum__model *model,
	const struct thrum__model_rows *rows, uint32_t owners, thrum__slices_owner *owner,
	struct thrum__slices *slices)
{
	slices->rows = calloc((size_t)slices->first[owners + 1] + 1, sizeof(*slices->rows));
	if (!slices->rows)
		return -THRUM_E_MEMORY;
	/* first[i + 1] is where the next row of i goes, so it ends as the beginning of i + 1's. */
	for (uint32_t row = rows->first; row < rows->count; row++) {
		uint32_t of = thrum__model_has_row(rows, row) ? owner(model, row) : THRUM__NONE;

		if (of < owners)
			slices->rows[slices->first[of + 1]++] = row;
	}
	return 0;
}

int thrum__analyse_slices_make(const struct thrum__model *model,
	const struct thrum__model_rows *rows, uint32_t owners, thrum__slices_owner *owner,
	struct thrum__slices *slices)
{
	return thrum__analyse_slices_count(model, rows, owners, owner, slices) < 0
		? -THRUM_E_MEMORY
		: thrum__analyse_slices_fill(model, rows, owners, owner, slices);
}

void thrum__analyse_slices_free(struct thrum__slices *slices)
{
	free(slices->first);
	free(slices->rows);
}
