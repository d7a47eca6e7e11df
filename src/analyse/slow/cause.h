/* SPDX-License-Identifier: ISC */
/* The main cause of a path's length: the way from the slow task to whoever kept it, by name. */
#ifndef ANALYSE_SLOW_CAUSE_H
#define ANALYSE_SLOW_CAUSE_H

#include "analyse/slow/slow.h"

#define THRUM__CAUSE_LINKS 8
#define THRUM__CAUSE_NAMES 3

/* How a link continues the one before it. */
enum thrum__cause_link_kind {
	THRUM__CAUSE_AWAITED, /* it waits for these tasks */
	THRUM__CAUSE_HELD,    /* these held the lock or semaphore before */
	THRUM__CAUSE_ENDED,   /* these signalled the condition before */
	THRUM__CAUSE_SERVED,  /* these put into the mailbox or stream, or took out of it, before */
	THRUM__CAUSE_WOKEN,   /* it is blocked in the kernel until these wake it */
	THRUM__CAUSE_DOING,   /* the last link: what it did, or these had the lane */
};

/* One link: tasks that come together, as all tasks that had the lane do. */
struct thrum__cause_link {
	uint8_t kind;  /* enum thrum__cause_link_kind */
	uint8_t doing; /* DOING: enum thrum__doing */
	/* The frames with most of the time, the greatest first. The last link may have none. */
	uint32_t frames[THRUM__CAUSE_NAMES], frame_count;
	uint32_t others;           /* further frames */
	uint32_t task;             /* of the longest part: the task in the first frame, or NONE */
	uint32_t tasks;            /* how many different tasks in a row were in the first frame */
	int64_t time;              /* ns */
	struct thrum__doubt doubt; /* NETWORK: of `time` */
	/* HELD: ns for which `task` had the lock, more than the others; 0: it isn't known. */
	int64_t longest;
};

struct thrum__cause {
	struct thrum__cause_link links[THRUM__CAUSE_LINKS];
	uint32_t count; /* of links; 0: the path is empty */
	bool is_more;   /* it is the cause of the time beyond the usual one, else of all */
	int64_t time,
		usual; /* ns of the path that belong to the first link, and in the usual path */
	uint32_t times, usual_times; /* how often the task waited for the first link's frames */
	/* One of the awaited tasks whose name most of them have, or NONE; and how many have it. */
	uint32_t namesake, namesakes;
	uint32_t chief; /* if there is none: the task that was awaited most of the time, or NONE */
};

/* Finds the cause. `usual` may be empty. Returns 0 or -THRUM_E_MEMORY. O(parts + frames). */
THRUM__MUST_USE int thrum__slow_cause_find(const struct thrum__paths *, const struct thrum__path *,
	const struct thrum__path *usual, struct thrum__cause *);

/* If a timer was a timeout: a task for which its waiter waited, too, and which hadn't ended when it
 * came. Else NONE. O(waits). */
uint32_t thrum__slow_unanswered(const struct thrum__model *, uint32_t timer);

#endif
