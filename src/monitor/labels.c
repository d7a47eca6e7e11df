/* SPDX-License-Identifier: ISC */
/* Counts tasks by their labels. */
#include "monitor/labels.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/keys.h"
#include "base/time.h"
#include "format/counters.h"

#define TASKS_MOST (1u << 20)     /* tasks that are pending at once; then all are forgotten */
#define ROWS THRUM__ROWS_NEGATIVE /* durations aren't negative */
#define NOTHING UINT32_MAX
#define ROOT "by label"

/* A pattern of labels. */
struct group {
	int64_t alive;
	uint64_t ended;
	int64_t sum, least, most;
	uint64_t buckets[ROWS * 16];
};

/* A pending task with a label. group: an index + 1; 0: the cell is free. */
struct pending {
	uint64_t id;
	int64_t created;
	uint32_t group;
};

struct thrum__monitor_labels {
	struct thrum__base_keys keys; /* numbered as the groups */
	struct group **groups;
	uint32_t group_room;
	struct pending *cells; /* a hash table with linear probing */
	uint32_t cell_count, used;
	uint64_t created; /* the task that was created last, and when */
	int64_t created_at;
};

int thrum__monitor_labels_create(struct thrum__monitor_labels **labels)
{
	struct thrum__monitor_labels *l = calloc(1, sizeof *l);

	if (!l)
		return -THRUM_E_MEMORY;
	*labels = l;
	return 0;
}

void thrum__monitor_labels_destroy(struct thrum__monitor_labels *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->keys.count && i < l->group_room; i++)
		free(l->groups[i]);
	free(l->groups);
	free(l->cells);
	thrum__base_keys_free(&l->keys);
	free(l);
}

/* ---- Pending tasks -------------------------------------------------------------------------- */

static uint32_t place_of(const struct thrum__monitor_labels *l, uint64_t id)
{
	return (uint32_t)thrum__base_hash_number(0, id) & (l->cell_count - 1);
}

/* Returns the task's cell, or the free one where it belongs. The table has free cells. */
static struct pending *find_cell(const struct thrum__monitor_labels *l, uint64_t id)
{
	uint32_t at = place_of(l, id);

	while (l->cells[at].group && l->cells[at].id != id)
		at = (at + 1) & (l->cell_count - 1);
	return &l->cells[at];
}

static struct pending *find_pending(const struct thrum__monitor_labels *l, uint64_t id)
{
	struct pending *cell = l->cell_count ? find_cell(l, id) : NULL;

	return cell && cell->group ? cell : NULL;
}

/* Frees a cell, and moves those behind it that would be found no longer. */
static void remove_pending(struct thrum__monitor_labels *l, struct pending *cell)
{
	uint32_t mask = l->cell_count - 1, hole = (uint32_t)(cell - l->cells), at = hole;

	for (;;) {
		at = (at + 1) & mask;
		if (!l->cells[at].group)
			break;
		if (((at - place_of(l, l->cells[at].id)) & mask) < ((at - hole) & mask))
			continue;
		l->cells[hole] = l->cells[at];
		hole = at;
	}
	l->cells[hole].group = 0;
	l->used--;
}

static int grow_table(struct thrum__monitor_labels *l)
{
	struct thrum__monitor_labels larger = *l;

	if (l->used < l->cell_count / 2)
		return 0;
	if (l->used >= TASKS_MOST) {
		memset(l->cells, 0, l->cell_count * sizeof *l->cells);
		l->used = 0;
		for (uint32_t i = 0; i < l->keys.count; i++)
			l->groups[i]->alive = 0;
		return 0;
	}
	larger.cell_count = l->cell_count ? 2 * l->cell_count : 64;
	larger.cells = calloc(larger.cell_count, sizeof *larger.cells);
	if (!larger.cells)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < l->cell_count; i++)
		if (l->cells[i].group)
			*find_cell(&larger, l->cells[i].id) = l->cells[i];
	free(l->cells);
	l->cells = larger.cells;
	l->cell_count = larger.cell_count;
	return 0;
}

/* ---- Events --------------------------------------------------------------------------------- */

static int find_group(struct thrum__monitor_labels *l, const struct thrum_event *e, uint32_t *index)
{
	static const char others[] = "(others)";
	char name[THRUM__LABEL_PATTERN_MAX];
	size_t size = thrum__analyse_label_pattern(e->text, e->text_size, name);
	uint32_t known = thrum__base_keys_find(&l->keys, 0, name, size);

	if (known == NOTHING && l->keys.count >= THRUM__MONITOR_LABELS_MAX) {
		size = strlen(others);
		memcpy(name, others, size);
	}
	if (thrum__base_keys_add(&l->keys, 0, name, size, index))
		return -THRUM_E_MEMORY;
	struct group **groups = thrum__base_grow_zeroed(l->groups, &l->group_room,
		*index + UINT64_C(1), sizeof *groups);

	if (!groups)
		return -THRUM_E_MEMORY;
	l->groups = groups;
	if (!groups[*index] && !(groups[*index] = calloc(1, sizeof **groups)))
		return -THRUM_E_MEMORY;
	return 0;
}

static int begin_task(struct thrum__monitor_labels *l, const struct thrum_event *e)
{
	uint32_t group;

	if (find_pending(l, e->task))
		return 0;
	if (find_group(l, e, &group) || grow_table(l))
		return -THRUM_E_MEMORY;
	*find_cell(l, e->task) = (struct pending){e->task,
		l->created == e->task ? l->created_at : e->time, group + 1};
	l->used++;
	l->groups[group]->alive++;
	return 0;
}

/* Times of damaged traces may be too far from each other for a number. */
static int64_t duration_of(int64_t begin, int64_t end)
{
	int64_t duration = thrum__base_time_between(begin, end);

	return end <= begin ? 0 : duration < 0 ? INT64_MAX : duration;
}

static void end_task(struct thrum__monitor_labels *l, const struct thrum_event *e)
{
	struct pending *cell = find_pending(l, e->other);

	if (!cell)
		return;
	struct group *group = l->groups[cell->group - 1];
	int64_t duration = duration_of(cell->created, e->time);
	struct thrum__bucket bucket = thrum__format_counters_bucket(duration);

	group->buckets[bucket.row * 16 + bucket.place]++;
	group->least = group->ended == 0 || duration < group->least ? duration : group->least;
	group->most = duration > group->most ? duration : group->most;
	group->sum = (int64_t)((uint64_t)group->sum + (uint64_t)duration);
	group->ended++;
	group->alive--;
	remove_pending(l, cell);
}

/* A task goes on as another one: the label stays, unless that has one. */
static void pass_on(struct thrum__monitor_labels *l, const struct thrum_event *e)
{
	struct pending *cell = find_pending(l, e->task), task;

	if (!cell)
		return;
	task = *cell;
	remove_pending(l, cell);
	if (find_pending(l, e->other)) {
		l->groups[task.group - 1]->alive--;
		return;
	}
	task.id = e->other;
	*find_cell(l, e->other) = task;
	l->used++;
}

int thrum__monitor_labels_add(struct thrum__monitor_labels *l, const struct thrum_event *e,
	size_t count)
{
	int error = 0;

	for (const struct thrum_event *end = e + count; e < end && !error; e++) {
		switch (e->type) {
		case THRUM_EVENT_CREATE:
			l->created = e->other;
			l->created_at = e->time;
			break;
		case THRUM_EVENT_LABEL: error = begin_task(l, e); break;
		case THRUM_EVENT_RESOLVE:
		case THRUM_EVENT_FAIL:
		case THRUM_EVENT_CANCEL: end_task(l, e); break;
		case THRUM_EVENT_BECOME: pass_on(l, e); break;
		default: break;
		}
	}
	return error;
}

/* ---- The tree ------------------------------------------------------------------------------- */

#define PATH_ROOM (sizeof ROOT + THRUM__LABEL_PATTERN_MAX + 16)
#define ITEMS_EACH 4 /* of a group: itself, and three counters */

/* A group with its name. */
struct named {
	const struct group *group;
	const char *name;
	size_t size;
};

/* The tree with the new counters behind the old ones, in memory of its own. */
struct growing {
	struct thrum__read_counters to;
	uint32_t bucket_count;
	size_t text_size;
};

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Adds an item below the one with this index, or at the top. */
static struct thrum__read_counter *add_item(struct growing *g, uint32_t parent, const char *name,
	size_t size)
{
	struct thrum__read_counter *item = &g->to.items[g->to.count++];
	char *path = g->to.text + g->text_size;
	size_t above = 0;

	*item = (struct thrum__read_counter){.parent = parent, .kind = THRUM__COUNTER_MIXED};
	if (parent != NOTHING) {
		item->depth = g->to.items[parent].depth + 1;
		above = strlen(g->to.items[parent].path) + 1;
		memcpy(path, g->to.items[parent].path, above - 1);
		path[above - 1] = '/';
	}
	memcpy(path + above, name, size);
	path[above + size] = '\0';
	item->path = path;
	item->name = path + above;
	g->text_size += above + size + 1;
	return item;
}

static void add_counter(struct growing *g, uint32_t parent, const char *name, uint8_t kind,
	int64_t value)
{
	struct thrum__read_counter *item = add_item(g, parent, name, strlen(name));

	item->kind = kind;
	item->is_counter = true;
	item->label = g->to.items[parent].name;
	item->value = item->own = value;
}

static void add_group(struct growing *g, uint32_t root, const struct named *named)
{
	const struct group *group = named->group;
	uint32_t parent = g->to.count;

	add_item(g, root, named->name, named->size);
	add_counter(g, parent, "alive", THRUM_COUNTER_GAUGE, group->alive);
	add_counter(g, parent, "duration-ns", THRUM_COUNTER_DISTRIBUTION, (int64_t)group->ended);
	struct thrum__read_counter *item = &g->to.items[g->to.count - 1];

	item->count = group->ended;
	item->sum = group->sum;
	item->least = group->least;
	item->most = group->most;
	item->buckets = g->to.buckets + g->bucket_count;
	for (unsigned i = 0; i < ROWS * 16; i++) {
		struct thrum__read_bucket *bucket = &g->to.buckets[g->bucket_count];

		if (group->buckets[i] == 0)
			continue;
		thrum__format_counters_bounds((struct thrum__bucket){(uint8_t)(i / 16),
						      (uint8_t)(i % 16)},
			&bucket->low, &bucket->high);
		bucket->count = group->buckets[i];
		g->bucket_count++;
		item->bucket_count++;
	}
	add_counter(g, parent, "ended", THRUM_COUNTER_CUMULATIVE, (int64_t)group->ended);
}

/* Copies the old tree. */
static void copy_tree(struct growing *g, const struct thrum__read_counters *from)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct thrum__read_counter *old = &from->items[i];
		struct thrum__read_counter *item = &g->to.items[i];

		*item = *old;
		item->path = g->to.text + (old->path - from->text);
		item->name = g->to.text + (old->name - from->text);
		if (old->label)
			item->label = g->to.text + (old->label - from->text);
		if (old->buckets)
			item->buckets = g->to.buckets + (old->buckets - from->buckets);
	}
	g->to.count = from->count;
	if (g->text_size > 0)
		memcpy(g->to.text, from->text, g->text_size);
	if (g->bucket_count > 0)
		memcpy(g->to.buckets, from->buckets, g->bucket_count * sizeof *from->buckets);
}

/* Finds the sizes of the old tree, and makes room for both. */
static int make_room(struct growing *g, const struct thrum__read_counters *from, uint32_t groups,
	uint64_t new_buckets)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct thrum__read_counter *item = &from->items[i];
		size_t end = (size_t)(item->path - from->text) + strlen(item->path) + 1;
		size_t last = item->buckets ? (size_t)(item->buckets - from->buckets) : 0;

		g->text_size = end > g->text_size ? end : g->text_size;
		if (last + item->bucket_count > g->bucket_count)
			g->bucket_count = (uint32_t)last + item->bucket_count;
	}
	size_t items = from->count + (size_t)groups * ITEMS_EACH + 1;

	g->to.items = malloc(items * sizeof *g->to.items);
	g->to.text = malloc(g->text_size + ((size_t)groups * ITEMS_EACH + 1) * PATH_ROOM);
	g->to.buckets = malloc((g->bucket_count + new_buckets + 1) * sizeof *g->to.buckets);
	if (g->to.items && g->to.text && g->to.buckets)
		return 0;
	thrum__read_counters_free(&g->to);
	return -THRUM_E_MEMORY;
}

int thrum__monitor_labels_put(const struct thrum__monitor_labels *l,
	struct thrum__read_counters *counters)
{
	struct named named[THRUM__MONITOR_LABELS_MAX + 1];
	struct growing g = {.bucket_count = 0};
	uint32_t count = l->keys.count, root;
	uint64_t buckets = 0;

	if (count == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		named[i].group = l->groups[i];
		named[i].name = thrum__base_keys_text(&l->keys, i, &named[i].size);
		for (unsigned b = 0; b < ROWS * 16; b++)
			buckets += l->groups[i]->buckets[b] > 0;
	}
	if (make_room(&g, counters, count, buckets))
		return -THRUM_E_MEMORY;
	copy_tree(&g, counters);
	qsort(named, count, sizeof *named, compare_named);
	root = g.to.count;
	add_item(&g, NOTHING, ROOT, strlen(ROOT));
	for (uint32_t i = 0; i < count; i++)
		add_group(&g, root, &named[i]);
	thrum__read_counters_free(counters);
	*counters = g.to;
	return 0;
}
