/* SPDX-License-Identifier: ISC */
/*
 * format/control: the mask of all that is recorded, and the history of its changes.
 *
 * The first page of a recording's control section is mapped into the program, in the place of
 * thrum__control, and into those that control it. So a change takes effect at the next event of
 * every lane. Each change leaves an entry with the time before and the time after it. A bit counts
 * as off from the time before it was cleared until the time after it was set, so a reader never
 * takes a time for recorded that was not.
 *
 * All of it may be written by other programs of the same user. The recorder trusts none of it: the
 * mask only selects, and other members are compared and clamped.
 */
#ifndef FORMAT_CONTROL_H
#define FORMAT_CONTROL_H

#include "format/format.h"

#define THRUM__CATEGORIES 16u
#define THRUM__CATEGORY_NAME 60

/* The categories that every process has, in this order. */
#define THRUM__CATEGORY_TASK 0u
#define THRUM__CATEGORY_COUNTER 1u
#define THRUM__CATEGORY_LOG 2u

/* States of a named cell. A wish has its level + 1 in the second byte. */
enum {
	THRUM__CELL_FREE,
	THRUM__CELL_WRITING,
	THRUM__CELL_NAMED,
};

/* A name in the control page: of a category of the program, or of a wish. */
struct thrum__named_cell {
	_Atomic uint32_t state;
	char name[THRUM__CATEGORY_NAME]; /* ends in NUL */
};

struct thrum__control_page {
	_Atomic uint64_t mask;      /* level l of category c is bit c * 4 + l */
	_Atomic uint32_t changes;   /* entries of the history, also those overwritten since */
	_Atomic uint32_t is_shared; /* the program reads its mask here */
	_Atomic uint64_t cleared;   /* the bits that were off at any time */
	uint32_t reserved[2];
	/* The program's categories by number. */
	struct thrum__named_cell categories[THRUM__CATEGORIES];
	/* Levels for categories that the program doesn't have yet. */
	struct thrum__named_cell wishes[THRUM__CATEGORIES];
};
_Static_assert(sizeof(struct thrum__control_page) <= THRUM__CONTROL_PAGE, "it fits its page");

/* An entry of the history, a ring. Entry number n is in cell n mod its size. */
struct thrum__change {
	_Atomic uint32_t ticket; /* number + 1; 0: being written */
	uint32_t reserved;
	uint64_t before;        /* ticks */
	_Atomic uint64_t after; /* ticks; 0: the change is under way */
	uint64_t cleared, set;  /* bits of the mask */
};
_Static_assert(sizeof(struct thrum__change) == 40, "wire layout");

/* The control of one recording. */
struct thrum__controls {
	_Atomic uint64_t *mask;
	struct thrum__control_page *page;
	struct thrum__change *history;
	uint32_t room; /* entries */
	/* Returns the recording's clock. Where it isn't known exactly: a time that is no later than
	 * now, or if `is_after` no earlier. */
	uint64_t (*ticks)(void *owner, bool is_after);
	void *owner;
};

/* Sets the pointers for a control section in memory. Its mask is the page's. */
void thrum__format_controls_init(struct thrum__controls *, void *section, uint64_t size);

/*
 * Clears bits of the mask, then sets others, in one step, and adds an entry to the history if that
 * changes anything. Lock-free and async-signal-safe.
 */
void thrum__format_controls_change(const struct thrum__controls *, uint64_t clear, uint64_t set);

/* Finishes entries that a program which was killed has left half done. Only one program at a time
 * may call this. */
void thrum__format_controls_repair(const struct thrum__controls *);

/* Names cell `i` of a table unless it has a name, and sets its state's second byte. */
void thrum__format_cell_name(struct thrum__named_cell *, const char *name, int level);
/* Returns the number of the cell with this name, or THRUM__CATEGORIES. */
unsigned thrum__format_cell_find(const struct thrum__named_cell *cells, const char *name,
	size_t size);
/* Copies a cell's name to `name`. Returns its length; 0: the cell has none. */
size_t thrum__format_cell_read(const struct thrum__named_cell *, char name[THRUM__CATEGORY_NAME],
	int *level);

/* Returns the mask's bits for a category with this level, -1 to 3. */
static inline uint64_t thrum__format_level_bits(unsigned category, int level)
{
	return ((UINT64_C(1) << (level + 1)) - 1) << (category * 4);
}

/* Returns the level up to which a category's bits are set without a hole: -1 to 3. */
static inline int thrum__format_level_of(uint64_t mask, unsigned category)
{
	unsigned bits = (unsigned)(mask >> (category * 4)) & 15;

	return __builtin_ctz(~bits) - 1;
}

/* Reads a level: a number from 0 to 3, or off, always, info, debug, all. False: it is none. */
bool thrum__format_level_parse(const char *text, size_t size, int *level);
/* Returns the word for a level from -1 to 3. */
const char *thrum__format_level_name(int level);

/*
 * Reads the next item of a list like "net=debug,log=off,disk"; without a level it is `level`. *rest
 * moves behind it. Returns 1; 0 at the end; -THRUM_E_ARGUMENT: the item's name is empty or too
 * long, or its level is none. `name` then holds the item, cut.
 */
int thrum__format_level_next(const char **rest, char name[THRUM__CATEGORY_NAME], int *level);

#endif
