/* SPDX-License-Identifier: ISC */
/*
 * Rows as AVL trees of what they hold, and a segment tree over the rows. A row is free for a
 * stretch when that lies before all, behind all, or within a gap. The segment tree knows for any
 * rows the best of each of the three: so it goes straight to the first row that is free before or
 * behind, or that has a gap wide enough; only whether that gap lies at the right time has to be
 * looked up.
 */
#include "view/layout_rows.h"

#include <stdlib.h>
#include <thrum.h>

/* How many rows with wide gaps at other times are tried until only sure ones count. */
#define TRIES 24

static const struct thrum__slack EMPTY = {INT64_MAX, INT64_MIN, 0};

/* ---- One row: an AVL tree, whose height bounds all recursion to some 45 calls -----------------
 */

static int height(const struct thrum__seat *seats, uint32_t unit)
{
	return unit == THRUM__NONE ? 0 : seats[unit].height;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void pull(struct thrum__seat *seats, uint32_t unit)
{
	struct thrum__seat *seat = &seats[unit];
	int left = height(seats, seat->left), right = height(seats, seat->right);

	seat->height = (uint8_t)((left > right ? left : right) + 1);
	seat->first = seat->start;
	seat->last = seat->end;
	seat->gap = 0;
	if (seat->left != THRUM__NONE) {
		const struct thrum__seat *other = &seats[seat->left];

		seat->first = other->first;
		seat->gap = greater(other->gap, seat->start - other->last);
	}
	if (seat->right != THRUM__NONE) {
		const struct thrum__seat *other = &seats[seat->right];

		seat->last = other->last;
		seat->gap = greater(seat->gap, greater(other->gap, other->first - seat->end));
	}
}

static uint32_t rotate_right(struct thrum__seat *seats, uint32_t unit)
{
	uint32_t top = seats[unit].left;

	seats[unit].left = seats[top].right;
	seats[top].right = unit;
	pull(seats, unit);
	pull(seats, top);
	return top;
}

static uint32_t rotate_left(struct thrum__seat *seats, uint32_t unit)
{
	uint32_t top = seats[unit].right;

	seats[unit].right = seats[top].left;
	seats[top].left = unit;
	pull(seats, unit);
	pull(seats, top);
	return top;
}

static uint32_t balance(struct thrum__seat *seats, uint32_t unit)
{
	struct thrum__seat *seat = &seats[unit];
	int lean = height(seats, seat->left) - height(seats, seat->right);

	if (lean > 1) {
		const struct thrum__seat *left = &seats[seat->left];

		if (height(seats, left->left) < height(seats, left->right))
			seat->left = rotate_left(seats, seat->left);
		return rotate_right(seats, unit);
	}
	if (lean < -1) {
		const struct thrum__seat *right = &seats[seat->right];

		if (height(seats, right->right) < height(seats, right->left))
			seat->right = rotate_right(seats, seat->right);
		return rotate_left(seats, unit);
	}
	pull(seats, unit);
	return unit;
}

static uint32_t insert(struct thrum__seat *seats, uint32_t root, uint32_t unit)
{
	if (root == THRUM__NONE)
		return unit;
	if (seats[unit].start < seats[root].start)
		seats[root].left = insert(seats, seats[root].left, unit);
	else
		seats[root].right = insert(seats, seats[root].right, unit);
	return balance(seats, root);
}

static uint32_t take_first(struct thrum__seat *seats, uint32_t root, uint32_t *first)
{
	if (seats[root].left == THRUM__NONE) {
		*first = root;
		return seats[root].right;
	}
	seats[root].left = take_first(seats, seats[root].left, first);
	return balance(seats, root);
}

static uint32_t take(struct thrum__seat *seats, uint32_t root, uint32_t unit)
{
	if (root == unit) {
		uint32_t left = seats[unit].left, right = seats[unit].right, first;

		if (left == THRUM__NONE)
			return right;
		if (right == THRUM__NONE)
			return left;
		right = take_first(seats, right, &first);
		seats[first].left = left;
		seats[first].right = right;
		return balance(seats, first);
	}
	if (seats[unit].start < seats[root].start)
		seats[root].left = take(seats, seats[root].left, unit);
	else
		seats[root].right = take(seats, seats[root].right, unit);
	return balance(seats, root);
}

static bool fits(const struct thrum__seat *seats, uint32_t root, int64_t start, int64_t end)
{
	int64_t before = INT64_MIN, after = INT64_MAX;

	while (root != THRUM__NONE) {
		if (seats[root].start <= start) {
			before = seats[root].end;
			root = seats[root].right;
		} else {
			after = seats[root].start;
			root = seats[root].left;
		}
	}
	return before <= start && after >= end;
}

/* ---- All rows -------------------------------------------------------------------------------- */

static void best_of(struct thrum__slack *tree, uint32_t node)
{
	const struct thrum__slack *a = &tree[2 * node], *b = &tree[2 * node + 1];

	tree[node].start = greater(a->start, b->start);
	tree[node].end = a->end < b->end ? a->end : b->end;
	tree[node].gap = greater(a->gap, b->gap);
}

static void update(struct thrum__pile *pile, const struct thrum__seat *seats, uint32_t row)
{
	uint32_t node = pile->room + row, root = pile->root[row];

	pile->tree[node] = EMPTY;
	if (root != THRUM__NONE) {
		const struct thrum__seat *seat = &seats[root];

		pile->tree[node] = (struct thrum__slack){seat->first, seat->last, seat->gap};
	}
	while (node > 1) {
		node /= 2;
		best_of(pile->tree, node);
	}
}

void thrum__pile_finish(struct thrum__pile *pile)
{
	free(pile->root);
	free(pile->tree);
	*pile = (struct thrum__pile){0};
}

int thrum__pile_reserve(struct thrum__pile *pile, uint32_t row)
{
	uint32_t room = pile->room ? pile->room : 16;

	while (room <= row && room < 1u << 30)
		room *= 2;
	if (room <= row || 2 * (uint64_t)room * sizeof(*pile->tree) > SIZE_MAX / 2)
		return -THRUM_E_MEMORY;
	if (room > pile->room) {
		struct thrum__slack *tree = malloc((size_t)2 * room * sizeof(*tree));
		uint32_t *root = tree ? realloc(pile->root, room * sizeof(*root)) : NULL;

		if (!root) {
			free(tree);
			return -THRUM_E_MEMORY;
		}
		for (uint32_t i = 0; i < room; i++) {
			tree[room + i] = i < pile->room ? pile->tree[pile->room + i] : EMPTY;
			if (i >= pile->room)
				root[i] = THRUM__NONE;
		}
		free(pile->tree);
		pile->root = root;
		pile->tree = tree;
		pile->room = room;
		for (uint32_t node = room - 1; node > 0; node--)
			best_of(tree, node);
	}
	if (row >= pile->rows)
		pile->rows = row + 1;
	return 0;
}

bool thrum__pile_fits(const struct thrum__pile *pile, const struct thrum__seat *seats, uint32_t row,
	int64_t start, int64_t end)
{
	return row >= pile->room || fits(seats, pile->root[row], start, end);
}

static bool is_free(const struct thrum__slack *slack, int64_t start, int64_t end)
{
	return slack->start >= end || slack->end <= start;
}

static uint32_t find(const struct thrum__pile *pile, const struct thrum__seat *seats, uint32_t from,
	int64_t start, int64_t end)
{
	const struct thrum__slack *tree = pile->tree;
	int64_t length = end - start;
	unsigned tries = TRIES;

	if (from >= pile->room)
		return from;
	for (uint32_t node = pile->room + from; node; node++) {
		while (is_free(&tree[node], start, end) || (tries && tree[node].gap >= length)) {
			if (node < pile->room) {
				node *= 2;
				if (!is_free(&tree[node], start, end) &&
					!(tries && tree[node].gap >= length))
					node++;
				continue;
			}
			uint32_t row = node - pile->room;

			if (is_free(&tree[node], start, end) ||
				fits(seats, pile->root[row], start, end))
				return row;
			tries--;
			break;
		}
		/* On to the subtree at the right. */
		while (node & 1)
			node /= 2;
		if (node == 0)
			break;
	}
	return pile->room;
}

uint32_t thrum__pile_find(const struct thrum__pile *pile, const struct thrum__seat *seats,
	uint32_t from, uint32_t skip, int64_t start, int64_t end)
{
	uint32_t row = find(pile, seats, from, start, end);

	return row == skip ? find(pile, seats, skip + 1, start, end) : row;
}

void thrum__pile_insert(struct thrum__pile *pile, struct thrum__seat *seats, uint32_t row,
	uint32_t unit)
{
	seats[unit].left = seats[unit].right = THRUM__NONE;
	pull(seats, unit);
	pile->root[row] = insert(seats, pile->root[row], unit);
	update(pile, seats, row);
}

void thrum__pile_remove(struct thrum__pile *pile, struct thrum__seat *seats, uint32_t row,
	uint32_t unit)
{
	pile->root[row] = take(seats, pile->root[row], unit);
	update(pile, seats, row);
}
