/* SPDX-License-Identifier: ISC */
/* The counters as a tree, with sums and percentiles. */
#include "report/table/tree.h"

#include <stdlib.h>
#include <string.h>

#define DEEPEST 15     /* names of what lies deeper have slashes */
#define LOOKED_AT 1024 /* observations for percentiles, at most, evenly spread */

struct path {
	const char *text;
	size_t size;
	uint32_t counter;
};

/* The tree while it is made. */
struct making {
	const struct thrum__model *model;
	struct thrum__table_tree *tree;
	uint32_t open[DEEPEST + 1]; /* the last item and those above it */
	uint32_t open_count;
};

/* ---- Items --------------------------------------------------------------------------------- */

/* A slash comes before all other characters, so that a path is followed by those below it. */
static int compare_paths(const void *a, const void *b)
{
	const struct path *p = a, *q = b;
	size_t size = p->size < q->size ? p->size : q->size, i = 0;

	while (i < size && p->text[i] == q->text[i])
		i++;
	if (i == size)
		return p->size != q->size         ? (p->size < q->size ? -1 : 1)
			: p->counter < q->counter ? -1
						  : p->counter > q->counter;
	int left = p->text[i] == '/' ? -1 : (unsigned char)p->text[i];
	int right = q->text[i] == '/' ? -1 : (unsigned char)q->text[i];

	return left - right;
}

static bool is_above(const struct making *m, uint32_t item, const struct path *path)
{
	const struct thrum__tree_item *above = &m->tree->items[item];

	return above->size < path->size && path->text[above->size] == '/' &&
		memcmp(thrum__model_string(m->model, above->string, NULL), path->text,
			above->size) == 0;
}

static void close_item(struct making *m)
{
	m->tree->items[m->open[--m->open_count]].end = m->tree->count;
}

static void add_item(struct making *m, const struct path *path, size_t size, uint32_t counter)
{
	uint32_t above = m->open_count > 0 ? m->tree->items[m->open[m->open_count - 1]].size + 1
					   : 0;

	m->tree->items[m->tree->count] = (struct thrum__tree_item){
		.string = m->model->counters[path->counter].name,
		.counter = counter,
		.size = (uint32_t)size,
		.name = above,
		.depth = (uint8_t)m->open_count,
	};
	m->open[m->open_count++] = m->tree->count++;
}

/* Adds a counter, and those places above it that have no counter. */
static void add_counter(struct making *m, const struct path *path)
{
	while (m->open_count > 0 &&
		(m->open_count > DEEPEST || !is_above(m, m->open[m->open_count - 1], path)))
		close_item(m);
	size_t at = m->open_count > 0 ? m->tree->items[m->open[m->open_count - 1]].size + 2 : 1;

	for (; at + 1 < path->size && m->open_count < DEEPEST; at++)
		if (path->text[at] == '/')
			add_item(m, path, at, THRUM__NONE);
	add_item(m, path, path->size, path->counter);
}

/* ---- Sums ---------------------------------------------------------------------------------- */

static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The kind of a place without a counter is that of all that is directly below it. */
static uint8_t kind_of_place(const struct thrum__tree_item *items, uint32_t at)
{
	uint8_t kind = items[at + 1].kind;

	for (uint32_t c = at + 1; c < items[at].end; c = items[c].end)
		kind = items[c].kind == kind ? kind : THRUM__TREE_MIXED;
	return kind;
}

static void add_range(struct thrum__tree_item *item, int64_t least, int64_t most)
{
	item->least = item->has_range && item->least < least ? item->least : least;
	item->most = item->has_range && item->most > most ? item->most : most;
	item->has_range = true;
}

/* Sums up an item whose children are summed up. */
static void sum_item(const struct thrum__model *model, struct thrum__tree_item *items, uint32_t at)
{
	struct thrum__tree_item *item = &items[at];

	if (item->counter == THRUM__NONE) {
		item->kind = kind_of_place(items, at);
	} else {
		const struct thrum__counter *counter = &model->counters[item->counter];

		item->kind = counter->kind < THRUM__TREE_MIXED ? counter->kind
							       : (uint8_t)THRUM_COUNTER_GAUGE;
		item->value = item->kind == THRUM_COUNTER_DISTRIBUTION
			? counter->values.count - counter->values.first
			: counter->last;
		if (counter->min <= counter->max)
			add_range(item, counter->min, counter->max);
	}
	for (uint32_t c = at + 1; c < item->end && item->kind != THRUM__TREE_MIXED;
		c = items[c].end) {
		if (items[c].kind != item->kind)
			continue;
		item->value = add(item->value, items[c].value);
		if (item->kind != THRUM_COUNTER_DISTRIBUTION)
			item->has_range = false; /* the sum's is unknown */
		else if (items[c].has_range)
			add_range(item, items[c].least, items[c].most);
	}
}

/* ---- Percentiles --------------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Finds a distribution's percentiles, with the observations of those below it. */
static void find_percentiles(const struct thrum__model *model, struct thrum__tree_item *items,
	uint32_t at)
{
	struct thrum__tree_item *item = &items[at];
	uint64_t step = ((uint64_t)item->value + LOOKED_AT - 1) / LOOKED_AT, skipped = 0;
	int64_t values[LOOKED_AT];
	size_t count = 0;

	if (item->value <= 0)
		return;
	for (uint32_t i = at; i < item->end;) {
		const struct thrum__model_rows *rows;
		uint64_t row;

		if (items[i].kind != THRUM_COUNTER_DISTRIBUTION) {
			i = items[i].end;
			continue;
		}
		if (items[i].counter != THRUM__NONE) {
			const struct thrum__counter *counter = &model->counters[items[i].counter];

			rows = &counter->values;
			for (row = rows->first + skipped; row < rows->count && count < LOOKED_AT;
				row += step)
				values[count++] = THRUM__VALUE(counter, (uint32_t)row, value);
			skipped = row < rows->count ? 0 : row - rows->count;
		}
		i++;
	}
	if (count == 0)
		return;
	qsort(values, count, sizeof *values, compare_values);
	item->p50 = values[count / 2];
	item->p99 = values[count * 99 / 100];
	item->has_percentiles = true;
}

/* ---- The tree ------------------------------------------------------------------------------ */

/* Returns how many items the counters may need at most. */
static size_t most_items(const struct path *paths, uint32_t count)
{
	size_t most = count;

	for (uint32_t i = 0; i < count; i++) {
		size_t slashes = 0;

		for (size_t k = 1; k < paths[i].size && slashes < DEEPEST; k++)
			slashes += paths[i].text[k] == '/';
		most += slashes;
	}
	return most;
}

static struct thrum__table_tree *make(const struct thrum__model *model, struct path *paths)
{
	uint32_t count = model->counter_count;
	struct making m = {.model = model};

	for (uint32_t i = 0; i < count; i++) {
		paths[i].text = thrum__model_string(model, model->counters[i].name, &paths[i].size);
		paths[i].counter = i;
	}
	if (count > 0)
		qsort(paths, count, sizeof *paths, compare_paths);
	m.tree = malloc(sizeof *m.tree + most_items(paths, count) * sizeof *m.tree->items);
	if (!m.tree)
		return NULL;
	m.tree->count = 0;
	for (uint32_t i = 0; i < count; i++)
		add_counter(&m, &paths[i]);
	while (m.open_count > 0)
		close_item(&m);
	for (uint32_t i = m.tree->count; i-- > 0;) {
		sum_item(model, m.tree->items, i);
		if (m.tree->items[i].kind == THRUM_COUNTER_DISTRIBUTION)
			find_percentiles(model, m.tree->items, i);
	}
	return m.tree;
}

struct thrum__table_tree *thrum__table_tree_make(const struct thrum__model *model)
{
	struct path *paths = calloc((size_t)model->counter_count + 1, sizeof *paths);
	struct thrum__table_tree *tree = paths ? make(model, paths) : NULL;

	free(paths);
	return tree;
}
