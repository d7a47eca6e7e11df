/* SPDX-License-Identifier: ISC */
/* Tables of rows in blocks, and arrays that grow. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/parts.h"

int thrum__model_array_grow(void **array, uint32_t *room, uint32_t count, size_t size)
{
	if (count <= *room)
		return 0;
	void *grown = thrum__base_grow_zeroed(*array, room, count, size);

	if (!grown)
		return -THRUM_E_MEMORY;
	*array = grown;
	return 0;
}

int thrum__model_rows_grow(struct thrum__model_rows *rows, size_t block_size, unsigned shift)
{
	/* The highest index is NONE. */
	if (rows->count > UINT32_MAX - (2u << shift))
		return -THRUM_E_MEMORY;
	void *array = rows->block;
	int error = thrum__model_array_grow(&array, &rows->room, rows->blocks + 1,
		sizeof *rows->block);

	rows->block = array;
	if (error)
		return error;
	void *block = malloc(block_size);

	if (!block)
		return -THRUM_E_MEMORY;
	rows->block[rows->blocks++] = block;
	return 0;
}

void thrum__model_rows_finish(struct thrum__model_rows *rows)
{
	for (uint32_t i = 0; i < rows->blocks; i++)
		free(rows->block[i]);
	free(rows->block);
}

void thrum__model_rows_free_block(struct thrum__model_rows *rows, uint32_t i, unsigned shift)
{
	free(rows->block[i]);
	rows->block[i] = NULL;
	thrum__model_rows_trim(rows, shift);
}

void thrum__model_rows_trim(struct thrum__model_rows *rows, unsigned shift)
{
	for (uint32_t i = rows->first >> shift; i < rows->blocks && !rows->block[i]; i++)
		rows->first = (i + 1) << shift;
}

uint32_t thrum__model_rows_blocks(const struct thrum__model_rows *rows)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->blocks; i++)
		count += rows->block[i] != NULL;
	return count;
}
