/* SPDX-License-Identifier: ISC */
/* Tables of rows in blocks, and arrays that grow. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/parts.h"

#define PAGE 4096        /* bytes of memory, at least, that the system makes present at once */
#define BEFORE (1 << 28) /* ns: events may come late by that, and their times need 32 bits only */

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

/* Takes memory that was made ready; NULL: there is none. Partner: put_spare. */
static void *take_spare(_Atomic(void *) *spares)
{
	void *memory = NULL;

	for (size_t i = 0; i < THRUM__SPARES && !memory; i++)
		memory = atomic_exchange_explicit(&spares[i], NULL, memory_order_acquire);
	return memory;
}

static void put_spare(_Atomic(void *) *spare, void *memory)
{
	atomic_store_explicit(spare, memory, memory_order_release);
}

int thrum__model_rows_grow(struct thrum__model_rows *rows, size_t block_size, unsigned shift,
	int64_t time)
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
	struct thrum__block *block = take_spare(rows->spare);

	if (!block)
		block = malloc(block_size);
	if (!block)
		return -THRUM_E_MEMORY;
	*block = (struct thrum__block){0};
	for (size_t i = 0; i < THRUM__NARROW_COLUMNS; i++) {
		block->narrow[i].base = time > BEFORE ? time - BEFORE : 0;
		block->narrow[i].reach = UINT32_MAX;
	}
	rows->block[rows->blocks++] = block;
	return 0;
}

void thrum__model_put_far(struct thrum__model *model, struct thrum__model_rows *rows,
	unsigned shift, size_t column, uint32_t row, int64_t value)
{
	struct thrum__block *block = rows->block[row >> shift];
	uint32_t *near = (uint32_t *)(block + 1) + column * THRUM__COLUMN;
	uint32_t size = 1u << shift, k = row & (size - 1), used = rows->count - (row - k);
	int64_t **far = &block->narrow[column].far;

	if (!*far && value == THRUM__OPEN) {
		near[k] = UINT32_MAX;
		return;
	}
	if (!*far) {
		*far = malloc(size * sizeof **far);
		if (!*far) {
			model->failed = true;
			return;
		}
		for (uint32_t i = 0; i < used && i < size; i++)
			(*far)[i] = i == k ? value : thrum__model_base_plus(block, column, near[i]);
		block->narrow[column].reach = 0;
	}
	(*far)[k] = value;
}

/* As many as a column has. */
const uint32_t thrum__model_nones[] = {[0 ... THRUM__COLUMN - 1] = THRUM__NONE};

/* Returns a rare column of NONEs; NULL when there is no memory. */
static uint32_t *make_column(void)
{
	uint32_t *column = malloc(sizeof thrum__model_nones);

	return column ? memcpy(column, thrum__model_nones, sizeof thrum__model_nones) : NULL;
}

bool thrum__model_part_column(struct thrum__model *model, struct thrum__block *block,
	const uint32_t **column)
{
	uint32_t *own = take_spare(model->columns), **last = block->own;

	if (!own)
		own = make_column();
	model->failed |= !own;
	if (!own)
		return false;
	while (*last)
		last++;
	*column = *last = own;
	return true;
}

static void free_block(struct thrum__block *block)
{
	for (size_t i = 0; block && i < THRUM__NARROW_COLUMNS; i++)
		free(block->narrow[i].far);
	for (size_t i = 0; block && i < THRUM__RARE_COLUMNS; i++)
		free(block->own[i]);
	free(block);
}

void thrum__model_rows_finish(struct thrum__model_rows *rows)
{
	for (uint32_t i = 0; i < rows->blocks; i++)
		free_block(rows->block[i]);
	free(rows->block);
	for (size_t i = 0; i < THRUM__SPARES; i++)
		free(rows->spare[i]);
}

/* Returns a block of memory that the system has made present; NULL when there is none. */
static void *make_block(size_t size)
{
	char *block = malloc(size);

	for (size_t at = 0; block && at < size; at += PAGE)
		*(volatile char *)(block + at) = 0;
	return block;
}

void thrum__model_prepare(void *model)
{
	struct thrum__model *m = model;
	const struct {
		struct thrum__model_rows *rows;
		size_t size;
	} tables[] = {
		{&m->tasks, sizeof(struct thrum__tasks)},
		{&m->runs, sizeof(struct thrum__runs)},
		{&m->edges, sizeof(struct thrum__edges)},
		{&m->notes, sizeof(struct thrum__notes)},
		{&m->spans, sizeof(struct thrum__intervals)},
		{&m->suspensions, sizeof(struct thrum__intervals)},
	};

	size_t count = sizeof tables / sizeof *tables;

	/* One spare block of each table comes before the second of any. */
	for (size_t i = 0; i < THRUM__SPARES * count; i++) {
		_Atomic(void *) *spare = &tables[i % count].rows->spare[i / count];

		if (atomic_load_explicit(spare, memory_order_relaxed))
			continue;
		put_spare(spare, make_block(tables[i % count].size));
		break;
	}
	for (size_t i = 0; i < THRUM__SPARES; i++)
		if (!atomic_load_explicit(&m->columns[i], memory_order_relaxed))
			put_spare(&m->columns[i], make_column());
}

void thrum__model_rows_free_block(struct thrum__model_rows *rows, uint32_t i, unsigned shift)
{
	free_block(rows->block[i]);
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
