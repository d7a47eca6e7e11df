/* SPDX-License-Identifier: ISC */
/*
 * Tracks as AVL trees of what they hold, and a segment tree over the tracks. A track is free for a
 * stretch when that lies before all, behind all, or within a gap. The segment tree knows for any
 * tracks the best of each of the three: so it goes straight to the first track that is free before or
 * behind, or that has a gap wide enough; only whether that gap lies at the right time has to be
 * looked up.
 * What is put behind all of a track, as in a trace that grows, only joins a list, and so does what is
 * put between its last ones; the list comes into the tree when something lies farther back.
 */
#include "timeline/layout/pile.h"

#include <stdlib.h>
#include <thrum.h>

/* How many tracks with wide gaps at other times are tried until only sure ones count. */
#define TRIES 24
/* How much of a list, from its end, is looked at until it joins the tree. */
#define LOOKS 32

static const struct thrum__layout_slack EMPTY = {INT64_MAX, INT64_MIN, 0, INT64_MIN};

/* ---- One track: an AVL tree, whose height bounds all recursion to some 45 calls -----------------
 */

static int height(const struct thrum__layout_seat *seats, uint32_t unit)
{
	return unit == THRUM__NONE ? 0 : seats[unit].height;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void pull(struct thrum__layout_seat *seats, uint32_t unit)
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
	pull(seats, unit);
	pull(seats, top);
	return top;
}

static uint32_t rotate_left(struct thrum__layout_seat *seats, uint32_t unit)
{
	uint32_t top = seats[unit].right;

	seats[unit].right = seats[top].left;
	seats[top].left = unit;
	pull(seats, unit);
	pull(seats, top);
	return top;
}

static uint32_t balance(struct thrum__layout_seat *seats, uint32_t unit)
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
	pull(seats, unit);
	return unit;
}

static uint32_t insert(struct thrum__layout_seat *seats, uint32_t root, uint32_t unit)
{
	if (root == THRUM__NONE)
		return unit;
	if (seats[unit].start < seats[root].start)
		seats[root].left = insert(seats, seats[root].left, unit);
	else
		seats[root].right = insert(seats, seats[root].right, unit);
	return balance(seats, root);
}

static uint32_t take_first(struct thrum__layout_seat *seats, uint32_t root, uint32_t *first)
{
	if (seats[root].left == THRUM__NONE) {
		*first = root;
		return seats[root].right;
	}
	seats[root].left = take_first(seats, seats[root].left, first);
	return balance(seats, root);
}

static uint32_t take(struct thrum__layout_seat *seats, uint32_t root, uint32_t unit)
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

/* One tree of all before a unit, the unit, and all behind it. Blelloch, Ferizovic, Sun, "Just Join
 * for Parallel Ordered Sets", 2016. */
static uint32_t join(struct thrum__layout_seat *seats, uint32_t left, uint32_t unit, uint32_t right)
{
	int lean = height(seats, left) - height(seats, right);

	if (lean > 1) {
		seats[left].right = join(seats, seats[left].right, unit, right);
		return balance(seats, left);
	}
	if (lean < -1) {
		seats[right].left = join(seats, left, unit, seats[right].left);
		return balance(seats, right);
	}
	seats[unit].left = left;
	seats[unit].right = right;
	pull(seats, unit);
	return unit;
}

/* Drops what is gone, up to the first that isn't. */
static uint32_t shed(struct thrum__layout_seat *seats, uint32_t root)
{
	uint32_t left;

	for (;;) {
		if (root == THRUM__NONE)
			return THRUM__NONE;
		left = shed(seats, seats[root].left);
		if (left != THRUM__NONE || !seats[root].is_gone)
			break;
		seats[root].is_gone = false;
		root = seats[root].right;
	}
	return left == seats[root].left ? root : join(seats, left, root, seats[root].right);
}

static bool fits(const struct thrum__layout_seat *seats, uint32_t root, int64_t start, int64_t end)
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

/* ---- All tracks -------------------------------------------------------------------------------- */

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

/* A track's slack changed. */
static void climb(struct thrum__layout_slack *tree, uint32_t node)
{
	while (node > 1) {
		node /= 2;
		struct thrum__layout_slack best = best_of(&tree[2 * node], &tree[2 * node + 1]);

		if (are_same(&best, &tree[node]))
			return;
		tree[node] = best;
	}
}

/* To be called when something was taken out of a track, or put into its tree. The widest gap may be
 * told too wide while there is a list. */
static void update(struct thrum__layout_pile *pile, const struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	const struct thrum__layout_pile_track *line = &pile->line[track];
	const struct thrum__layout_seat *root = line->root != THRUM__NONE ? &seats[line->root]
									  : NULL;
	uint32_t last = line->tail != THRUM__NONE ? line->tail : line->root;

	if (last == THRUM__NONE) {
		*slack = EMPTY;
	} else {
		while (line->tail == THRUM__NONE && seats[last].right != THRUM__NONE)
			last = seats[last].right;
		slack->start = root ? root->first : seats[line->head].start;
		slack->end = seats[last].end;
		slack->late = seats[last].start;
		if (line->tail == THRUM__NONE)
			slack->gap = root->gap;
		else if (root)
			slack->gap = greater(slack->gap,
				greater(root->gap, seats[line->head].start - root->last));
	}
	climb(pile->tree, pile->room + track);
}

/* Lets all that is in the list be in the tree. */
static void settle(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_pile_track *line = &pile->line[track];

	for (uint32_t unit = line->head, next; unit != THRUM__NONE; unit = next) {
		next = seats[unit].right;
		seats[unit].left = seats[unit].right = THRUM__NONE;
		pull(seats, unit);
		line->root = insert(seats, line->root, unit);
	}
	line->head = line->tail = THRUM__NONE;
}

/* Puts a unit behind all of a track. */
static void append(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *line = &pile->line[track];
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	struct thrum__layout_seat *seat = &seats[unit];

	if (line->root == THRUM__NONE && line->tail == THRUM__NONE)
		*slack = (struct thrum__layout_slack){.start = seat->start};
	else
		slack->gap = greater(slack->gap, seat->start - slack->end);
	slack->end = seat->end;
	slack->late = seat->start;
	seat->left = line->tail;
	seat->right = THRUM__NONE;
	if (line->tail == THRUM__NONE)
		line->head = unit;
	else
		seats[line->tail].right = unit;
	line->tail = unit;
}

/* The last of a track's list that starts at a time or before, and what is behind it; or NONE: it may
 * be anywhere. */
static uint32_t in_list(const struct thrum__layout_pile_track *line,
	const struct thrum__layout_seat *seats, int64_t start, uint32_t *after)
{
	uint32_t at = line->tail;

	*after = THRUM__NONE;
	for (unsigned i = 0; at != THRUM__NONE && seats[at].start > start; i++) {
		if (i == LOOKS)
			return THRUM__NONE;
		*after = at;
		at = seats[at].left;
	}
	return at;
}

/* Takes a unit out of a track's list. */
static void take_off(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *line = &pile->line[track];
	struct thrum__layout_slack *slack = &pile->tree[pile->room + track];
	uint32_t before = seats[unit].left, after = seats[unit].right;

	if (before == THRUM__NONE)
		line->head = after;
	else
		seats[before].right = after;
	if (after == THRUM__NONE)
		line->tail = before;
	else
		seats[after].left = before;
	if (before != THRUM__NONE && after != THRUM__NONE)
		slack->gap = greater(slack->gap, seats[after].start - seats[before].end);
}

void thrum__layout_pile_finish(struct thrum__layout_pile *pile)
{
	free(pile->line);
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
		struct thrum__layout_pile_track *line = tree
			? realloc(pile->line, room * sizeof(*line))
			: NULL;

		if (!line) {
			free(tree);
			return -THRUM_E_MEMORY;
		}
		for (uint32_t i = 0; i < room; i++) {
			tree[room + i] = i < pile->room ? pile->tree[pile->room + i] : EMPTY;
			if (i >= pile->room)
				line[i] = (struct thrum__layout_pile_track){THRUM__NONE,
					THRUM__NONE, THRUM__NONE};
		}
		free(pile->tree);
		pile->line = line;
		pile->tree = tree;
		pile->room = room;
		for (uint32_t node = room - 1; node > 0; node--)
			tree[node] = best_of(&tree[2 * node], &tree[2 * node + 1]);
	}
	if (track >= pile->tracks)
		pile->tracks = track + 1;
	return 0;
}

static bool is_free(const struct thrum__layout_slack *slack, int64_t start, int64_t end)
{
	return slack->start >= end || slack->end <= start;
}

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
	before = in_list(&pile->line[track], seats, start, &after);
	if (before != THRUM__NONE)
		return seats[before].end <= start &&
			(after == THRUM__NONE || seats[after].start >= end);
	settle(pile, seats, track);
	return fits(seats, pile->line[track].root, start, end);
}

static uint32_t find(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
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
		/* On to the subtree at the right. */
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
	uint32_t track = find(pile, seats, from, start, end);

	return track == skip ? find(pile, seats, skip + 1, start, end) : track;
}

void thrum__layout_pile_insert(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *line = &pile->line[track];
	uint32_t before, after;

	seats[unit].is_gone = false;
	if (pile->tree[pile->room + track].end <= seats[unit].start) {
		append(pile, seats, track, unit);
		climb(pile->tree, pile->room + track);
		return;
	}
	before = in_list(line, seats, seats[unit].start, &after);
	/* The widest gap may be told too wide. */
	if (before != THRUM__NONE && after != THRUM__NONE) {
		seats[unit].left = before;
		seats[unit].right = after;
		seats[before].right = seats[after].left = unit;
		return;
	}
	settle(pile, seats, track);
	seats[unit].left = seats[unit].right = THRUM__NONE;
	pull(seats, unit);
	line->root = insert(seats, line->root, unit);
	update(pile, seats, track);
}

bool thrum__layout_pile_stretch(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit, int64_t end)
{
	if (pile->line[track].tail != unit)
		return false;
	seats[unit].end = end;
	pile->tree[pile->room + track].end = end;
	climb(pile->tree, pile->room + track);
	return true;
}

void thrum__layout_pile_remove(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit)
{
	struct thrum__layout_pile_track *line = &pile->line[track];

	if (line->root == THRUM__NONE || seats[unit].start >= seats[line->root].last)
		take_off(pile, seats, track, unit);
	else
		line->root = take(seats, line->root, unit);
	update(pile, seats, track);
}

void thrum__layout_pile_shed(struct thrum__layout_pile *pile, struct thrum__layout_seat *seats,
	uint32_t track)
{
	struct thrum__layout_pile_track *line = &pile->line[track];
	uint32_t unit;

	line->root = shed(seats, line->root);
	while (unit = line->head,
		line->root == THRUM__NONE && unit != THRUM__NONE && seats[unit].is_gone) {
		take_off(pile, seats, track, unit);
		seats[unit].is_gone = false;
	}
	update(pile, seats, track);
}
