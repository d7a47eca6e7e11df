/* SPDX-License-Identifier: ISC */
/*
 * source/control: changes from outside which events a program records. A change is a store to
 * memory that the program shares, and takes effect at the next event of every lane.
 */
#ifndef SOURCE_CONTROL_H
#define SOURCE_CONTROL_H

#include <thrum/trace.h>

struct thrum__source_control;

/*
 * Opens the control of a recording that its program still writes. The caller closes it. Returns 0
 * or a negative enum thrum_error: those of thrum_trace_open; -THRUM_E_ACCESS when the user may not
 * write to the file; _NOT_RECORDING when the recording has ended, is too old, or can't be
 * controlled since the program gave its own memory.
 */
THRUM__MUST_USE int thrum__source_control_open(const char *file, struct thrum__source_control **,
	struct thrum_error_info *);
/* NULL is allowed. */
void thrum__source_control_close(struct thrum__source_control *);

enum thrum__source_verb {
	THRUM__CONTROL_ENABLE,  /* sets the categories' levels, by default the highest */
	THRUM__CONTROL_DISABLE, /* turns them off */
	THRUM__CONTROL_ONLY,    /* the same as enable, and turns all others off */
	THRUM__CONTROL_RESET,   /* turns all on; the list is "" */
};

/*
 * Changes the levels of a list of categories: "net=debug,log". A level is 0 to 3, or off, always,
 * info, debug, all. A category that the program doesn't have yet gets its level when it comes to
 * be. Parts of the category task are life, wait and switch, which are either on or off; the task
 * itself never goes below level 0, once it is there, so that tasks keep their ids. Returns 0 or a
 * negative enum thrum_error: -THRUM_E_ARGUMENT for a bad list, and nothing is changed;
 * _NOT_RECORDING when the recording has ended meanwhile.
 */
THRUM__MUST_USE int thrum__source_control_set(struct thrum__source_control *,
	enum thrum__source_verb, const char *list, struct thrum_error_info *);

/*
 * Turns all off, ids too, since the recording is about to end. Returns the time in ns after which each
 * thread's next event would go the slow way, on which it sees requests, if all were on again: about a
 * second.
 */
int64_t thrum__source_control_silence(struct thrum__source_control *);

/* A category as it is now. */
struct thrum__source_category {
	char name[60];
	int level;       /* -1: off; of life, wait and switch only this or 3 */
	bool is_part;    /* of the category task */
	bool is_unknown; /* the program doesn't have it yet */
};
#define THRUM__SOURCE_CATEGORIES_MAX 40

/* Fills in `to`, which has room for THRUM__SOURCE_CATEGORIES_MAX. Returns how many there are. */
size_t thrum__source_control_list(const struct thrum__source_control *,
	struct thrum__source_category *to);

#endif
