/* SPDX-License-Identifier: ISC */
/*
 * A pile holds an AVL tree of units for each track, and a segment tree over the tracks. A track is
 * free for an interval that lies before all its units, behind all of them, or within a gap. A node
 * of the segment tree knows the best of each of the three among its tracks: so a search goes
 * straight to the first track that is free before or behind, or that has a gap wide enough. Whether
 * that gap lies at the right time is then looked up in the track.
 *
 * A unit put behind all others of a track, as in a trace that grows, only joins the track's list,
 * and so does one put between the last units. The list goes into the tree when a unit comes farther
 * to the front. But children of one task are placed latest first, each before all others of its track. So a
 * list may also grow at its front, as long as there is no tree; then units may come between the first ones.
 */
#include "timeline/layout/pile.h"

#include <stdlib.h>
#include <thrum.h>

/* How many tracks with wide gaps at other times a search tries; then only tracks that are surely
 * free count. */
#define TRIES 24
/* How many units of a list, from its end, are looked at before the list goes into the tree. */
#define LOOKS 32
#define FRONT_LOOKS 8 /* the same, from the front of one that grew there */

static const struct thrum__layout_pile_track NO_UNITS = {THRUM__NONE, THRUM__NONE, THRUM__NONE,
	false, false};
static const struct thrum__layout_slack EMPTY = {INT64_MAX, INT64_MIN, 0, INT64_MIN};

/* ---- A track's AVL tree: its height bounds all recursion to some 45 calls -------------------- */

static int height(const struct thrum__layout_seat *seats, uint32_t unit)
{
	return unit == THRUM__NONE ? 0 : seats[unit].height;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Computes a node's height and summaries from its children. */
static void update_node(struct thrum__layout_seat *seats, uint32_t unit)
{
	struct thrum__layout_seat *seat = &seats[unit];
	int left = height(seats, seat->left), right = height(seats, seat->right);

	seat->height = (uint8_t)((left > right ? left : right) + 1);
	seat->first = seat->start;
	seat->last = seat->end;
	seat->gap = 0;
	if (seat->left != THRUM__NONE) {
		const struct thrum__layout_seat *other = &seats[seat->left];

		seat->first = other->first;
		seat->gap = greater(other->gap, seat->start - other->last);
	}
	if (seat->right != THRUM__NONE) {
		const struct thrum__layout_seat *other = &seats[seat->right];

		seat->last = other->last;
		seat->gap = greater(seat->gap, greater(other->gap, other->first - seat->end));
	}
}

static uint32_t rotate_right(struct thrum__layout_seat *seats, uint32_t unit)
{
	uint32_t top = seats[unit].left;

	seats[unit].left = seats[top].right;
	seats[top].right = unit;
	update_node(seats, unit);
	update_node(seats, top);
	return top;
}

static uint32_t rotate_left(struct thrum__layout_seat *seats, uint32_t unit)
{
	uint32_t top = seats[unit].right;

	seats[unit].right = seats[top].left;
	seats[top].left = unit;
	update_node(seats, unit);
	update_node(seats, top);
	return top;
}

/* Rebalances a subtree whose children's heights differ by two at most; returns its root. */
static uint32_t balance_node(struct thrum__layout_seat *seats, uint32_t unit)
{
	struct thrum__layout_seat *seat = &seats[unit];
	int lean = height(seats, seat->left) - height(seats, seat->right);

	if (lean > 1) {
		const struct thrum__layout_seat *left = &seats[seat->left];

		if (height(seats, left->left) < height(seats, left->right))
			seat->left = rotate_left(seats, seat->left);
		return rotate_right(seats, unit);
	}
	if (lean < -1) {
		const struct thrum__layout_seat *right = &seats[seat->right];

		if (height(seats, right->right) < height(seats, right->left))
			seat->right = rotate_right(seats, seat->right);
		return rotate_left(seats, unit);
	}
	update_node(seats, unit);
	return unit;
}

/* Inserts a unit into a subtree (NONE: an empty one); returns its root. */
static uint32_t insert_node(struct thrum__layout_seat *seats, uint32_t root, uint32_t unit)
{
	if (root == THRUM__NONE)
		return unit;
	if (seats[unit].start < seats[root].start)
		seats[root].left = insert_node(seats, seats[root].left, unit);
	else
		seats[root].right = insert_node(seats, seats[root].right, unit);
	return balance_node(seats, root);
}

/* Takes the first unit out of a subtree; returns its root. */
static uint32_t take_first_node(struct thrum__layout_seat *seats, uint32_t root, uint32_t *first)
{
	if (seats[root].left == THRUM__NONE) {
		*first = root;
		return seats[root].right;
	}
	seats[root].left = take_first_node(seats, seats[root].left, first);
	return balance_node(seats, root);
}

/* Takes a unit out of a subtree; returns its root, or NONE. */
static uint32_t take_node(struct thrum__layout_seat *seats, uint32_t root, uint32_t unit)
{
	if (root == unit) {
		uint32_t left = seats[unit].left, right = seats[unit].right, first;

		if (left == THRUM__NONE)
			return right;
		if (right == THRUM__NONE)
			return left;
		right = take_first_node(seats, right, &first);
		seats[first].left = left;
		seats[first].right = right;
		return balance_node(seats, first);
	}
	if (seats[unit].start < seats[root].start)
		seats[root].left = take_node(seats, seats[root].left, unit);
	else
		seats[root].right = take_node(seats, seats[root].right, unit);
	return balance_node(seats, root);
}

/* Joins the tree of all units before a unit, the unit, and the tree of all behind it; returns the
 * root. After Blelloch, Ferizovic, Sun, "Just Join for Parallel Ordered Sets", 2016. */
static uint32_t join_trees(struct thrum__layout_seat *seats, uint32_t left, uint32_t unit,
	uint32_t right)
{
	int lean = height(seats, left) - height(seats, right);

	if (lean > 1) {
		seats[left].right = join_trees(seats, seats[left].right, unit, right);
		return balance_node(seats, left);
	}
	if (lean < -1) {
		seats[right].left = join_trees(seats, left, unit, seats[right].left);
		return balance_node(seats, right);
	}
	seats[unit].left = left;
	seats[unit].right = right;
	update_node(seats, unit);
	return unit;
}

/* Drops the units of a subtree that are gone, up to the first one that isn't; returns the root. */
static uint32_t shed_nodes(struct thrum__layout_seat *seats, uint32_t root)
{
	uint32_t left;

	for (;;) {
		if (root == THRUM__NONE)
			return THRUM__NONE;
		left = shed_nodes(seats, seats[root].left);
		if (left != THRUM__NONE || !seats[root].is_gone)
			break;
		seats[root].is_gone = false;
		root = seats[root].right;
	}
	return left == seats[root].left ? root : join_trees(seats, left, root, seats[root].right);
}

/* Whether a tree has no unit in start … end. */
static bool fits_in_tree(const struct thrum__layout_seat *seats, uint32_t root, int64_t start,
	int64_t end)
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

/* ---- All tracks ------------------------------------------------------------------------------ */

static struct thrum__layout_slack best_of(const struct thrum__layout_slack *a,
	const struct thrum__layout_slack *b)
{
	return (struct thrum__layout_slack){
		.start = greater(a->start, b->start),
		.end = a->end < b->end ? a->end : b->end,
		.gap = greater(a->gap, b->gap),
		.late = greater(a->late, b->late),
	};
}

static bool are_same(const struct thrum__layout_slack *a, const struct thrum__layout_slack *b)
{
	return a->start == b->start && a->end == b->end && a->gap == b->gap && a->late == b->late;
}

/* Updates the nodes above one whose slack changed. */
static void update_ancestors(struct thrum__layout_slack *tree, uint32_t node)
{
	while (node > 1) {
		node /= 2;
		struct thrum__layout_slack best = best_of(&tree[2 * node], &tree[2 * node + 1]);

		if (are_same(&best, &tree[node]))
			return;
		tree[node] = best;
	}
}

/* Updates a track's slack after a unit left the track or came into its tree. While there is a list,
 * the widest gap may be too wide. */
static void update_slack(struct thrum__layout_pile *pile, const struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	const struct thrum__layout_pile_track *held = &pile->held[track];
	const struct thrum__layout_seat *root = held->root != THRUM__NONE ? &seats[held->root]
									  : NULL;
	uint32_t last = held->tail != THRUM__NONE ? held->tail : held->root;

	if (last == THRUM__NONE) {
		*slack = EMPTY;
	} else {
		while (held->tail == THRUM__NONE && seats[last].right != THRUM__NONE)
			last = seats[last].right;
		slack->start = root ? root->first : seats[held->head].start;
		slack->end = seats[last].end;
		slack->late = seats[last].start;
		if (held->tail == THRUM__NONE)
			slack->gap = root->gap;
		else if (root)
			slack->gap = greater(slack->gap,
				greater(root->gap, seats[held->head].start - root->last));
	}
	update_ancestors(pile->tree, pile->room + track);
}

/* Makes a tree of `count` units of a list, from *next on, which becomes the one behind them. */
static uint32_t tree_of_list(struct thrum__layout_seat *seats, uint32_t *next, uint32_t count)
{
	uint32_t left, unit;

	if (count == 0)
		return THRUM__NONE;
	left = tree_of_list(seats, next, count / 2);
	unit = *next;
	*next = seats[unit].right;
	seats[unit].left = left;
	seats[unit].right = tree_of_list(seats, next, count - count / 2 - 1);
	update_node(seats, unit);
	return unit;
}

/* Moves the units of a track's list into its tree. */
static void move_list_to_tree(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	uint32_t first = held->head, count = 0, next, root = held->root;

	if (first == THRUM__NONE)
		return;
	for (uint32_t unit = first; unit != THRUM__NONE; unit = seats[unit].right)
		count++;
	next = seats[first].right;
	*held = NO_UNITS;
	held->root = join_trees(seats, root, first, tree_of_list(seats, &next, count - 1));
}

/* Puts a unit behind all others of a track, at the end of its list. */
static void append_to_list(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	struct thrum__layout_seat *seat = &seats[unit];

	if (held->root == THRUM__NONE && held->tail == THRUM__NONE)
		*slack = (struct thrum__layout_slack){.start = seat->start};
	else
		slack->gap = greater(slack->gap, seat->start - slack->end);
	slack->end = seat->end;
	slack->late = seat->start;
	seat->left = held->tail;
	seat->right = THRUM__NONE;
	if (held->tail == THRUM__NONE)
		held->head = unit;
	else
		seats[held->tail].right = unit;
	held->tail = unit;
}

/* Finds the last unit of a track's list that starts at or before a time, and the one behind it; NONE: there
 * is none. Returns false if they lie elsewhere, or too far from the end at which the list grows. */
static bool find_in_list(const struct thrum__layout_pile_track *held,
	const struct thrum__layout_seat *seats, int64_t start, uint32_t *before, uint32_t *after)
{
	*before = held->is_stacked ? THRUM__NONE : held->tail;
	*after = held->is_stacked ? held->head : THRUM__NONE;
	for (unsigned i = 0; held->is_stacked; i++) {
		if (*after == THRUM__NONE || seats[*after].start > start)
			return true;
		if (i == FRONT_LOOKS)
			return false;
		*before = *after;
		*after = seats[*before].right;
	}
	for (unsigned i = 0; *before != THRUM__NONE && seats[*before].start > start; i++) {
		if (i == LOOKS)
			return false;
		*after = *before;
		*before = seats[*after].left;
	}
	return *before != THRUM__NONE;
}

/* Puts a unit before all others of a track, at the front of its list. */
static void put_in_front(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];

	slack->gap = greater(slack->gap, slack->start - seats[unit].end);
	slack->start = seats[unit].start;
	seats[unit].left = THRUM__NONE;
	seats[unit].right = held->head;
	seats[held->head].left = unit;
	held->head = unit;
	held->is_stacked = true;
}

/* Puts a unit between two of a track's list. Returns false if the widest gap of a list that grew at its front
 * would not be known then. */
static bool put_between(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit, uint32_t before, uint32_t after)
{
	struct thrum__layout_pile_track *held = &pile->held[track];

	if (held->is_stacked &&
		seats[after].start - seats[before].end >= pile->tree[pile->room + track].gap)
		return false;
	held->is_mixed = !held->is_stacked;
	seats[unit].left = before;
	seats[unit].right = after;
	seats[before].right = seats[after].left = unit;
	return true;
}

/* Takes a unit out of a track's list. */
static void take_off_list(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	uint32_t before = seats[unit].left, after = seats[unit].right;

	if (before == THRUM__NONE)
		held->head = after;
	else
		seats[before].right = after;
	if (after == THRUM__NONE)
		held->tail = before;
	else
		seats[after].left = before;
	if (before != THRUM__NONE && after != THRUM__NONE)
		slack->gap = greater(slack->gap, seats[after].start - seats[before].end);
	held->is_mixed = held->head != THRUM__NONE;
	held->is_stacked = held->is_stacked && held->is_mixed;
}

void thrum__layout_pile_finish(struct thrum__layout_pile *pile)
{
	free(pile->held);
	free(pile->tree);
	*pile = (struct thrum__layout_pile){0};
}

int thrum__layout_pile_reserve(struct thrum__layout_pile *pile, uint32_t track)
{
	uint32_t room = pile->room ? pile->room : 16;

	while (room <= track && room < 1u << 30)
		room *= 2;
	if (room <= track || 2 * (uint64_t)room * sizeof(*pile->tree) > SIZE_MAX / 2)
		return -THRUM_E_MEMORY;
	if (room > pile->room) {
		struct thrum__layout_slack *tree = malloc((size_t)2 * room * sizeof(*tree));
		struct thrum__layout_pile_track *held = tree
			? realloc(pile->held, room * sizeof(*held))
			: NULL;

		if (!held) {
			free(tree);
			return -THRUM_E_MEMORY;
		}
		for (uint32_t i = 0; i < room; i++) {
			tree[room + i] = i < pile->room ? pile->tree[pile->room + i] : EMPTY;
			if (i >= pile->room)
				held[i] = NO_UNITS;
		}
		free(pile->tree);
		pile->held = held;
		pile->tree = tree;
		pile->room = room;
		for (uint32_t node = room - 1; node > 0; node--)
			tree[node] = best_of(&tree[2 * node], &tree[2 * node + 1]);
	}
	if (track >= pile->tracks)
		pile->tracks = track + 1;
	return 0;
}

/* Whether a track is surely free from start to end. */
static bool is_free(const struct thrum__layout_slack *slack, int64_t start, int64_t end)
{
	return slack->start >= end || slack->end <= start;
}

/* Whether a track may have a gap that holds start … end. */
static bool may_have_gap(const struct thrum__layout_slack *slack, int64_t start, int64_t end)
{
	return slack->gap >= end - start && slack->late >= end;
}

bool thrum__layout_pile_fits(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, int64_t start, int64_t end)
{
	uint32_t before, after;

	if (track >= pile->room || is_free(&pile->tree[pile->room + track], start, end))
		return true;
	if (find_in_list(&pile->held[track], seats, start, &before, &after))
		return (before == THRUM__NONE || seats[before].end <= start) &&
			(after == THRUM__NONE || seats[after].start >= end);
	move_list_to_tree(pile, seats, track);
	return fits_in_tree(seats, pile->held[track].root, start, end);
}

/* Does the work of thrum__layout_pile_find, without a track to skip. */
static uint32_t find_free_track(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t from, int64_t start, int64_t end)
{
	const struct thrum__layout_slack *tree = pile->tree;
	unsigned tries = TRIES;

	if (from >= pile->room)
		return from;
	for (uint32_t node = pile->room + from; node; node++) {
		while (is_free(&tree[node], start, end) ||
			(tries && may_have_gap(&tree[node], start, end))) {
			if (node < pile->room) {
				node *= 2;
				if (!is_free(&tree[node], start, end) &&
					!(tries && may_have_gap(&tree[node], start, end)))
					node++;
				continue;
			}
			if (thrum__layout_pile_fits(pile, seats, node - pile->room, start, end))
				return node - pile->room;
			tries--;
			break;
		}
		/* Goes on to the subtree at the right. */
		while (node & 1)
			node /= 2;
		if (node == 0)
			break;
	}
	return pile->room;
}

uint32_t thrum__layout_pile_find(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t from, uint32_t skip, int64_t start, int64_t end)
{
	uint32_t track = find_free_track(pile, seats, from, start, end);

	return track == skip ? find_free_track(pile, seats, skip + 1, start, end) : track;
}

void thrum__layout_pile_insert(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	const struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	uint32_t before, after;

	seats[unit].is_gone = false;
	if (slack->end <= seats[unit].start) {
		append_to_list(pile, seats, track, unit);
		update_ancestors(pile->tree, pile->room + track);
		return;
	}
	if (held->root == THRUM__NONE && !held->is_mixed && slack->start >= seats[unit].end) {
		put_in_front(pile, seats, track, unit);
		update_ancestors(pile->tree, pile->room + track);
		return;
	}
	if (find_in_list(held, seats, seats[unit].start, &before, &after) &&
		before != THRUM__NONE && after != THRUM__NONE &&
		put_between(pile, seats, track, unit, before, after))
		return;
	move_list_to_tree(pile, seats, track);
	seats[unit].left = seats[unit].right = THRUM__NONE;
	update_node(seats, unit);
	held->root = insert_node(seats, held->root, unit);
	update_slack(pile, seats, track);
}

bool thrum__layout_pile_stretch(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit, int64_t end)
{
	if (pile->held[track].tail != unit)
		return false;
	seats[unit].end = end;
	pile->tree[pile->room + track].end = end;
	update_ancestors(pile->tree, pile->room + track);
	return true;
}

void thrum__layout_pile_remove(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *held = &pile->held[track];

	if (held->root == THRUM__NONE || seats[unit].start >= seats[held->root].last)
		take_off_list(pile, seats, track, unit);
	else
		held->root = take_node(seats, held->root, unit);
	update_slack(pile, seats, track);
}

void thrum__layout_pile_shed(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_pile_track *held = &pile->held[track];
	uint32_t unit;

	held->root = shed_nodes(seats, held->root);
	while (unit = held->head,
		held->root == THRUM__NONE && unit != THRUM__NONE && seats[unit].is_gone) {
		take_off_list(pile, seats, track, unit);
		seats[unit].is_gone = false;
	}
	update_slack(pile, seats, track);
}
