/* SPDX-License-Identifier: ISC */
/*
 * The form of a model's tables: rows in blocks, and columns of times in 32 bits. The tables themselves stand
 * in model/model.h, which includes this header.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THRUM__NONE UINT32_MAX
#define THRUM__OPEN INT64_MAX /* the end of a run, a span and so on that has not ended yet */

/*
 * Rows of a block. A new row writes to about as many pages as a block has, so blocks are small.
 */
#define THRUM__BLOCK_SHIFT 10
#define THRUM__BLOCK (1u << THRUM__BLOCK_SHIFT)
#define THRUM__BLOCK_MASK (THRUM__BLOCK - 1)
/*
 * Cells of a column. A few more than a block has rows: otherwise all cells of a row would compete
 * for the same few lines of the processor's cache.
 */
#define THRUM__COLUMN (THRUM__BLOCK + 8)

/* Blocks of a table, and rare columns, that may be made before they are needed. */
#define THRUM__SPARES 4

/*
 * A table. It has the rows from `first` to count - 1, but for those of blocks that are NULL: these
 * are forgotten.
 */
struct thrum__model_rows {
	void **block;
	uint32_t first, count;
	uint32_t blocks, room;                /* used and allocated elements of `block` */
	_Atomic(void *) spare[THRUM__SPARES]; /* blocks for later, or NULL: thrum__model_prepare */
};

/* Elements of narrow columns: times and ids less the column's `base`, or UINT32_MAX for OPEN. */
struct thrum__near_time {
	uint32_t distance;
};
struct thrum__near_id {
	uint32_t distance;
};

#define THRUM__NARROW_COLUMNS 5 /* the most narrow columns in a block */
#define THRUM__RARE_COLUMNS 4   /* the most rare columns in a block */

/*
 * The beginning of each block. The narrow columns come next, as THRUM__TASK and the others rely on.
 * If a column has a value that lies too far from its base, `far` has all of its values.
 */
struct thrum__block {
	struct {
		int64_t base;
		int64_t *far;   /* NULL: 32 bits are enough */
		uint64_t reach; /* distances below this one fit 32 bits; 0: `far` has all */
	} narrow[THRUM__NARROW_COLUMNS];
	/* Memory of the rare columns that have a value other than NONE, the first ones; else NULL. */
	uint32_t *own[THRUM__RARE_COLUMNS];
};

static inline bool thrum__model_has_row(const struct thrum__model_rows *rows, uint32_t i)
{
	return i >= rows->first && i < rows->count && rows->block[i >> THRUM__BLOCK_SHIFT];
}

/* Returns the value that a narrow column has as a distance. */
static inline int64_t thrum__model_base_plus(const struct thrum__block *block, size_t column,
	uint32_t distance)
{
	return distance == UINT32_MAX ? THRUM__OPEN : block->narrow[column].base + distance;
}

/*
 * Returns element k of a narrow column, by the number of the column. `rows` is a block, which begins
 * with struct thrum__block.
 */
static inline int64_t thrum__model_near(const void *rows, size_t column, uint32_t k)
{
	const struct thrum__block *block = rows;
	const uint32_t *near = (const uint32_t *)(block + 1) + column * THRUM__COLUMN;

	return block->narrow[column].far ? block->narrow[column].far[k]
					 : thrum__model_base_plus(block, column, near[k]);
}

/* The same for a table, by row. */
static inline int64_t thrum__model_near_of(const struct thrum__model_rows *rows, size_t column,
	uint32_t row)
{
	return thrum__model_near(rows->block[row >> THRUM__BLOCK_SHIFT], column,
		row & THRUM__BLOCK_MASK);
}

/* The number of a narrow column in the blocks of a table, as struct thrum__tasks. */
#define THRUM__NUMBER_OF(type, member) \
	((offsetof(struct thrum__##type, member) - sizeof(struct thrum__block)) / \
		sizeof(((struct thrum__##type *)0)->member))

#endif
