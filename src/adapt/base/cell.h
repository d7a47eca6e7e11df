/* SPDX-License-Identifier: ISC */
/*
 * cell.c: the program's callbacks, for libraries whose objects have no room for more. A library gets
 * a callback of ours with a cell as its argument.
 */
#ifndef ADAPT_CELL_H
#define ADAPT_CELL_H

#include "adapt/base/base.h"

typedef void cell_function(void);

/* Objects of several sorts may have lived at one address. */
enum cell_sort {
	CELL_EVENT,
	CELL_BUFFEREVENT,
	CELL_LISTENER,
	CELL_SOURCE,
	CELL_GTASK
};

/* The program's callbacks and their argument. NULL: none. */
struct callbacks {
	cell_function *function[3];
	void *argument;
};

/* Its callbacks never change while the library may call them: the program may move an object, or
 * another thread may be about to call. */
struct cell {
	struct cell *next; /* of the same bucket */
	const void *key;
	enum cell_sort sort;
	struct callbacks given;
	_Atomic bool is_free; /* the object is no more; another at its place may take the cell */
	_Atomic uint64_t task;
	_Atomic uint64_t request; /* an operation of the object that is under way */
	cell_function *finalize;  /* the program's callback for its end */
	_Atomic bool is_limited;  /* it was started with a time limit */
	/* When a timer came last, and the time before, by rough_time. */
	_Atomic int64_t came[2];
	int number;         /* a descriptor or signal, or how many use the cell */
	int watched;        /* the descriptor whose data it waits for; -1: for others */
	uint32_t watch;     /* and its number: see look/removed.c */
	const void *reader; /* the callback of a read, for whose data a source waits; or NULL */
	const char *noun;   /* for labels */
	bool is_named;      /* the program named it */
	const void *from;   /* where an operation was asked for */
	/* For sources of GLib: see glib/gone.c. */
	void *kind, *data;
	const void *remover;
	bool is_attached, is_timeout, has_run;
	bool is_call; /* it handles a call over D-Bus */
};

/* Returns the cell of an object with these callbacks, and makes it if there is none. Ends the tasks
 * of the object's cells with others. NULL: there is no memory, or there are too many cells.
 * Lock-free. */
struct cell *thrum__adapt_cell(enum cell_sort, const void *key, const struct callbacks *);
/* Returns a cell of this object, whatever its callbacks are, or NULL. */
struct cell *thrum__adapt_cell_find(enum cell_sort, const void *key);
/* The object is about to be freed by its library: its tasks end. */
void thrum__adapt_cell_end(enum cell_sort, const void *key);

/* Makes a cell for one callback, which frees it. */
struct cell *thrum__adapt_cell_once(cell_function *, void *argument, thrum_task);

/* Creates a task with the label "NOUN function". Keeps errno. */
thrum_task thrum__adapt_create_for(const void *caller, enum thrum_kind kind, const char *noun,
	cell_function *);
/* Gives a cell another task, or none; the one before has ended. */
void thrum__adapt_cell_renew(struct cell *, thrum_task);

/* Code of a library, whose own calls of its functions are not recorded. */
struct code {
	_Atomic uintptr_t start, end; /* end 0: unknown yet; 1: not found */
};
/* Whether an address lies in the library that has this function; NULL: in none. */
bool thrum__adapt_is_within(struct code *, const void *function, const void *address);

#endif
