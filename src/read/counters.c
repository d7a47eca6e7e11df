/* SPDX-License-Identifier: ISC */
/* Reads the counters' pages and makes a tree of them. All bytes may be wrong: see format/counters.h. */
#include "read/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "format/counters.h"
#include "format/packet.h"

#define PAGES_MAX 4096u /* more than any recorder makes */
#define NOTHING UINT32_MAX

/* A NAME block. */
struct name {
	char path[sizeof((struct thrum__counters_name *)0)->path];
	uint32_t number;
	uint8_t kind;
};

/* A tree while it is made. */
struct loading {
	struct thrum__counters_page *pages; /* as copied first: the tags count */
	struct thrum__counters_page *later; /* as copied then: the words count */
	uint32_t page_count;
	struct name *names;
	uint32_t name_count, names_room;
	struct thrum__read_counter *items;
	uint32_t item_count, items_room;
	uint32_t *text_at; /* by item: the path's place in the text */
	uint32_t text_at_room;
	char *text;
	uint32_t text_size, text_room;
	uint32_t item_of[THRUM_COUNTERS_MAX]; /* by the counter's number */
	uint32_t *first_child, *next_sibling;
	struct thrum__base_sort_item *rows, *sorting; /* BUCKETS blocks by item */
	uint32_t row_count;
	struct thrum__read_bucket *buckets;
	uint32_t bucket_count, buckets_room;
	uint64_t dense[THRUM__ROWS * 16];
};

static void finish_loading(struct loading *l)
{
	free(l->pages);
	free(l->later);
	free(l->names);
	free(l->items);
	free(l->text_at);
	free(l->text);
	free(l->first_child);
	free(l->next_sibling);
	free(l->rows);
	free(l->sorting);
	free(l->buckets);
	free(l);
}

/* ---- Copying -------------------------------------------------------------------------------- */

/* A block was filled in before its tag, so the tags are read first. */
static int copy_pages(struct loading *l, const struct thrum__input *input,
	struct thrum__section section)
{
	uint64_t pages = section.size / THRUM__COUNTERS_PAGE;

	if (pages == 0)
		return 0;
	if (pages > PAGES_MAX)
		pages = PAGES_MAX;
	size_t size = (size_t)pages * THRUM__COUNTERS_PAGE;

	l->pages = malloc(size);
	l->later = malloc(size);
	if (!l->pages || !l->later)
		return -THRUM_E_MEMORY;
	int64_t got = thrum__format_input_read(input, section.offset, l->pages, size);

	/* Partner: the recorder's release store of the tag. */
	atomic_thread_fence(memory_order_acquire);
	if (got > 0)
		got = thrum__format_input_read(input, section.offset, l->later, (size_t)got);
	if (got < 0)
		return (int)got;
	l->page_count = (uint32_t)((uint64_t)got / THRUM__COUNTERS_PAGE);
	return 0;
}

static uint32_t tag_of(const struct loading *l, uint32_t block)
{
	const struct thrum__counters_page *page = &l->pages[block / THRUM__COUNTERS_BLOCKS];

	if (atomic_load_explicit(&page->version, memory_order_relaxed) != THRUM__COUNTERS_VERSION)
		return 0;
	return atomic_load_explicit(&page->tags[block % THRUM__COUNTERS_BLOCKS],
		memory_order_relaxed);
}

static const int64_t *words_of(const struct loading *l, uint32_t block)
{
	return l->later[block / THRUM__COUNTERS_BLOCKS].words[block % THRUM__COUNTERS_BLOCKS];
}

static uint32_t block_count(const struct loading *l)
{
	return l->page_count * THRUM__COUNTERS_BLOCKS;
}

static int find_names(struct loading *l)
{
	bool is_known[THRUM_COUNTERS_MAX] = {false};

	for (uint32_t block = 0; block < block_count(l); block++) {
		uint32_t tag = tag_of(l, block), number = thrum__format_counters_number(tag);
		struct thrum__counters_name cell;

		if (thrum__format_counters_part(tag) != THRUM__COUNTERS_NAME ||
			number >= THRUM_COUNTERS_MAX || is_known[number])
			continue;
		memcpy(&cell, words_of(l, block), sizeof cell);
		if (cell.kind > THRUM_COUNTER_DISTRIBUTION || !cell.path[0])
			continue;
		struct name *names = thrum__base_grow(l->names, &l->names_room, l->name_count + 1,
			sizeof *names);

		if (!names)
			return -THRUM_E_MEMORY;
		l->names = names;
		struct name *name = &names[l->name_count++];

		memcpy(name->path, cell.path, sizeof name->path);
		name->path[sizeof name->path - 1] = '\0';
		name->number = number;
		name->kind = (uint8_t)cell.kind;
		is_known[number] = true;
	}
	return 0;
}

/* ---- The tree ------------------------------------------------------------------------------- */

/* A slash comes before all other characters, so that a path is followed by those below it. */
static int compare_names(const void *a, const void *b)
{
	const unsigned char *p = (const unsigned char *)((const struct name *)a)->path;
	const unsigned char *q = (const unsigned char *)((const struct name *)b)->path;

	while (*p && *p == *q) {
		p++;
		q++;
	}
	int left = *p == '/' ? 1 : *p ? *p + 1 : 0, right = *q == '/' ? 1 : *q ? *q + 1 : 0;

	if (left == right) {
		uint32_t m = ((const struct name *)a)->number;
		uint32_t n = ((const struct name *)b)->number;

		return m < n ? -1 : m > n;
	}
	return left - right;
}

/* Adds an item whose path is the first `size` bytes of `path`. */
static int add_item(struct loading *l, const char *path, uint32_t size, uint32_t parent)
{
	struct thrum__read_counter *items = thrum__base_grow(l->items, &l->items_room,
		l->item_count + 1, sizeof *items);
	uint32_t *text_at = thrum__base_grow(l->text_at, &l->text_at_room, l->item_count + 1,
		sizeof *text_at);
	char *text = thrum__base_grow(l->text, &l->text_room, l->text_size + size + 1, 1);

	l->items = items ? items : l->items;
	l->text_at = text_at ? text_at : l->text_at;
	l->text = text ? text : l->text;
	if (!items || !text_at || !text)
		return -THRUM_E_MEMORY;
	items[l->item_count] = (struct thrum__read_counter){
		.parent = parent,
		.depth = parent == NOTHING ? 0 : items[parent].depth + 1,
		.kind = THRUM__COUNTER_MIXED,
		.least = INT64_MAX,
		.most = INT64_MIN,
	};
	text_at[l->item_count++] = l->text_size;
	memcpy(text + l->text_size, path, size);
	text[l->text_size + size] = '\0';
	l->text_size += size + 1;
	return 0;
}

/* Tells whether an item's path is the first `size` bytes of `path`. */
static bool has_path(const struct loading *l, uint32_t item, const char *path, uint32_t size)
{
	const char *known = l->text + l->text_at[item];

	return strncmp(known, path, size) == 0 && !known[size];
}

/* Returns the deepest item, of the last one and its parents, that is above this path. */
static uint32_t find_parent(const struct loading *l, const char *path)
{
	uint32_t item = l->item_count ? l->item_count - 1 : NOTHING;

	for (; item != NOTHING; item = l->items[item].parent) {
		const char *known = l->text + l->text_at[item];
		size_t size = strlen(known);

		if (strncmp(known, path, size) == 0 && path[size] == '/')
			break;
	}
	return item;
}

/* Adds a counter, and those places above it that have no counter. */
static int add_counter(struct loading *l, const struct name *name)
{
	uint32_t parent = find_parent(l, name->path), size = (uint32_t)strlen(name->path);
	uint32_t at = parent == NOTHING ? 0 : (uint32_t)strlen(l->text + l->text_at[parent]);
	int error = 0;

	for (at++; at < size && !error; at++) {
		if (name->path[at] != '/' ||
			(parent != NOTHING && has_path(l, parent, name->path, at)))
			continue;
		error = add_item(l, name->path, at, parent);
		parent = error ? parent : l->item_count - 1;
	}
	if (!error)
		error = add_item(l, name->path, size, parent);
	if (error)
		return error;
	struct thrum__read_counter *item = &l->items[l->item_count - 1];

	item->kind = name->kind;
	item->is_counter = true;
	l->item_of[name->number] = l->item_count - 1;
	return 0;
}

static int make_tree(struct loading *l)
{
	memset(l->item_of, 0xff, sizeof l->item_of);
	if (l->name_count > 0)
		qsort(l->names, l->name_count, sizeof *l->names, compare_names);
	for (uint32_t i = 0; i < l->name_count; i++) {
		int error = add_counter(l, &l->names[i]);

		if (error)
			return error;
	}
	uint32_t n = l->item_count + 1;

	l->first_child = malloc(n * sizeof *l->first_child);
	l->next_sibling = malloc(n * sizeof *l->next_sibling);
	l->rows = malloc((block_count(l) + 1) * sizeof *l->rows);
	l->sorting = malloc((block_count(l) + 1) * sizeof *l->sorting);
	if (!l->first_child || !l->next_sibling || !l->rows || !l->sorting)
		return -THRUM_E_MEMORY;
	memset(l->first_child, 0xff, n * sizeof *l->first_child);
	for (uint32_t i = l->item_count; i-- > 0;) {
		uint32_t parent = l->items[i].parent;

		l->next_sibling[i] = parent == NOTHING ? NOTHING : l->first_child[parent];
		if (parent != NOTHING)
			l->first_child[parent] = i;
	}
	return 0;
}

/* ---- Values --------------------------------------------------------------------------------- */

static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_sums(struct thrum__read_counter *item, int64_t sum, int64_t least, int64_t most,
	uint64_t loose)
{
	item->sum = add(item->sum, sum);
	item->least = least < item->least ? least : item->least;
	item->most = most > item->most ? most : item->most;
	item->loose += loose;
}

static void take_values(struct loading *l, uint32_t group, const int64_t *words)
{
	for (uint32_t i = 0; i < THRUM__COUNTERS_WORDS; i++) {
		uint32_t number = group * THRUM__COUNTERS_WORDS + i;
		uint32_t item = number < THRUM_COUNTERS_MAX ? l->item_of[number] : NOTHING;

		if (item != NOTHING && l->items[item].kind != THRUM_COUNTER_DISTRIBUTION)
			l->items[item].own = add(l->items[item].own, words[i]);
	}
}

static void take_blocks(struct loading *l)
{
	for (uint32_t block = 0; block < block_count(l); block++) {
		uint32_t tag = tag_of(l, block), number = thrum__format_counters_number(tag);
		unsigned part = thrum__format_counters_part(tag);
		const int64_t *words = words_of(l, block);

		if (part == THRUM__COUNTERS_VALUES)
			take_values(l, number, words);
		if (part < THRUM__COUNTERS_SUMS || number >= THRUM_COUNTERS_MAX ||
			l->item_of[number] == NOTHING)
			continue;
		struct thrum__read_counter *item = &l->items[l->item_of[number]];

		if (item->kind != THRUM_COUNTER_DISTRIBUTION)
			continue;
		if (part == THRUM__COUNTERS_SUMS)
			add_sums(item, words[THRUM__SUMS_SUM], words[THRUM__SUMS_LEAST],
				words[THRUM__SUMS_MOST], (uint64_t)words[THRUM__SUMS_LOOSE]);
		else if (thrum__format_counters_is_row(part - THRUM__COUNTERS_BUCKETS))
			l->rows[l->row_count++] = (struct thrum__base_sort_item){
				.key = l->item_of[number],
				.item = block,
			};
	}
	thrum__base_sort(l->rows, l->sorting, l->row_count, NULL, NULL);
}

/* Adds one bucket behind the others, if anything is in it. */
static int put_bucket(struct loading *l, struct thrum__read_counter *item, unsigned row,
	unsigned place)
{
	uint64_t count = l->dense[row * 16 + place];

	if (count == 0)
		return 0;
	struct thrum__read_bucket *buckets = thrum__base_grow(l->buckets, &l->buckets_room,
		l->bucket_count + 1, sizeof *buckets);

	if (!buckets)
		return -THRUM_E_MEMORY;
	l->buckets = buckets;
	struct thrum__read_bucket *bucket = &buckets[l->bucket_count++];

	bucket->count = count;
	thrum__format_counters_bounds((struct thrum__bucket){(uint8_t)row, (uint8_t)place},
		&bucket->low, &bucket->high);
	item->count += count;
	item->bucket_count++;
	return 0;
}

/* Adds the buckets of `dense` in the order of their values. */
static int put_buckets(struct loading *l, struct thrum__read_counter *item)
{
	int error = 0;

	item->loose = item->loose > INT64_MAX ? 0 : item->loose;
	item->count = item->loose;
	for (unsigned i = 16 * THRUM__ROWS_NEGATIVE; i-- > 0 && !error;)
		error = put_bucket(l, item, THRUM__ROWS_NEGATIVE + i / 16, i % 16);
	for (unsigned i = 0; i < 16 * THRUM__ROWS_NEGATIVE && !error; i++)
		error = put_bucket(l, item, i / 16, i % 16);
	item->value = (int64_t)item->count;
	if (item->count == 0 || item->least > item->most)
		item->least = item->most = 0;
	return error;
}

/* Sums up a distribution, with those of its children that are finished. *row: its last BUCKETS
 * block, + 1. first_bucket: by item, the place of its first bucket. */
static int sum_distribution(struct loading *l, uint32_t at, const uint32_t *first_bucket,
	uint32_t *row)
{
	struct thrum__read_counter *item = &l->items[at];

	memset(l->dense, 0, sizeof l->dense);
	for (; *row > 0 && l->rows[*row - 1].key == (int64_t)at; --*row) {
		uint32_t block = l->rows[*row - 1].item;
		unsigned part = thrum__format_counters_part(tag_of(l, block));

		for (unsigned i = 0; i < THRUM__COUNTERS_WORDS; i++)
			l->dense[(part - THRUM__COUNTERS_BUCKETS) * 16 + i] += (uint64_t)words_of(l,
				block)[i];
	}
	for (uint32_t c = l->first_child[at]; c != NOTHING; c = l->next_sibling[c]) {
		const struct thrum__read_counter *child = &l->items[c];

		if (child->kind != THRUM_COUNTER_DISTRIBUTION || child->count == 0)
			continue;
		add_sums(item, child->sum, child->least, child->most, child->loose);
		for (uint32_t i = 0; i < child->bucket_count; i++) {
			const struct thrum__read_bucket *b = &l->buckets[first_bucket[c] + i];
			struct thrum__bucket to = thrum__format_counters_bucket(b->low);

			l->dense[to.row * 16 + to.place] += b->count;
		}
	}
	return put_buckets(l, item);
}

/* The kind of a place without a counter is that of all that is directly below it. */
static void find_kind(struct loading *l, uint32_t at)
{
	uint32_t first = l->first_child[at];
	uint8_t kind = first == NOTHING ? THRUM__COUNTER_MIXED : l->items[first].kind;

	for (uint32_t c = first; c != NOTHING; c = l->next_sibling[c])
		kind = l->items[c].kind == kind ? kind : THRUM__COUNTER_MIXED;
	l->items[at].kind = kind;
}

/* Sums up the tree, children before parents. */
static int sum_up(struct loading *l)
{
	uint32_t row = l->row_count;
	uint32_t *first_bucket = malloc((l->item_count + 1) * sizeof *first_bucket);
	int error = first_bucket ? 0 : -THRUM_E_MEMORY;

	for (uint32_t at = l->item_count; at-- > 0 && !error;) {
		struct thrum__read_counter *item = &l->items[at];

		if (!item->is_counter)
			find_kind(l, at);
		first_bucket[at] = l->bucket_count;
		if (item->kind == THRUM_COUNTER_DISTRIBUTION) {
			error = sum_distribution(l, at, first_bucket, &row);
			continue;
		}
		item->least = item->most = 0;
		item->value = item->own;
		for (uint32_t c = l->first_child[at]; c != NOTHING; c = l->next_sibling[c])
			if (l->items[c].kind == item->kind && item->kind != THRUM__COUNTER_MIXED)
				item->value = add(item->value, l->items[c].value);
	}
	for (uint32_t at = 0; at < l->item_count && !error; at++) {
		struct thrum__read_counter *item = &l->items[at];
		uint32_t parent = item->parent;

		item->path = l->text + l->text_at[at];
		item->name = parent == NOTHING ? item->path
					       : item->path + strlen(l->items[parent].path) + 1;
		item->buckets = item->bucket_count ? l->buckets + first_bucket[at] : NULL;
	}
	free(first_bucket);
	return error;
}

/* ---- The calls ------------------------------------------------------------------------------ */

int thrum__read_counters(const struct thrum__input *input, const struct thrum__header *header,
	struct thrum__read_counters *counters)
{
	struct loading *l = calloc(1, sizeof *l);

	if (!l)
		return -THRUM_E_MEMORY;
	int error = copy_pages(l, input, header->counters);

	if (!error)
		error = find_names(l);
	if (!error)
		error = make_tree(l);
	if (!error) {
		take_blocks(l);
		error = sum_up(l);
	}
	if (!error) {
		*counters = (struct thrum__read_counters){l->items, l->item_count, l->text,
			l->buckets};
		l->items = NULL;
		l->text = NULL;
		l->buckets = NULL;
	}
	finish_loading(l);
	return error;
}

void thrum__read_counters_free(struct thrum__read_counters *counters)
{
	free(counters->items);
	free(counters->text);
	free(counters->buckets);
	*counters = (struct thrum__read_counters){0};
}

const struct thrum__read_counter *thrum__read_counters_find(const struct thrum__read_counters
								    *counters,
	const char *path)
{
	for (uint32_t i = 0; i < counters->count; i++)
		if (strcmp(counters->items[i].path, path) == 0)
			return &counters->items[i];
	return NULL;
}

int64_t thrum__read_counters_quantile(const struct thrum__read_bucket *buckets, uint32_t count,
	int64_t least, int64_t most, double share)
{
	double total = 0, seen = 0;

	for (uint32_t i = 0; i < count; i++)
		total += (double)buckets[i].count;
	for (uint32_t i = 0; i < count; i++) {
		seen += (double)buckets[i].count;
		if (seen >= total * share || i + 1 == count) {
			uint64_t width = (uint64_t)buckets[i].high - (uint64_t)buckets[i].low;

			int64_t middle = add(buckets[i].low, (int64_t)(width / 2));

			return middle < least ? least : middle > most ? most : middle;
		}
	}
	return 0;
}

uint32_t thrum__read_counters_since(struct thrum__read_bucket *to,
	const struct thrum__read_bucket *later, uint32_t count,
	const struct thrum__read_bucket *earlier, uint32_t earlier_count)
{
	uint32_t left = 0, e = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct thrum__read_bucket bucket = later[i];

		while (e < earlier_count && earlier[e].low < bucket.low)
			e++;
		uint64_t before = e < earlier_count && earlier[e].low == bucket.low
			? earlier[e].count
			: 0;

		if (bucket.count > before) {
			bucket.count -= before;
			to[left++] = bucket;
		}
	}
	return left;
}
