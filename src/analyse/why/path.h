/* SPDX-License-Identifier: ISC */
/* The waits from a task that should have resolved to the leaf, which waits for nothing. Private to
 * analyse/why. */
#ifndef ANALYSE_WHY_PATH_H
#define ANALYSE_WHY_PATH_H

#include "analyse/why/parts.h"

/* One wait of a path. */
struct thrum__why_link {
	uint32_t task;
	struct thrum__analyse_wait wait;
	/* `task` is an object, and wait.on alone serves it. wait.edge is by which it did so last;
	 * NONE: it is to do so. Or `task` waits for nothing, and wait.on should end it, as its like
	 * did with the peers. */
	bool is_served;
	unsigned also;   /* `task` is an object: so many more serve it, which all wait, too */
	bool is_steady;  /* wait.on itself ended those like `task` */
	bool is_child;   /* wait.on is a child of `task` that should end first */
	bool is_carried; /* `task` is run by a loop's thread, which wait.on keeps */
};

struct thrum__why_path {
	uint32_t victim;  /* the first of the tasks that became one another */
	uint32_t leaf;    /* waits for nothing, as far as is known */
	uint32_t reached; /* the cause (thrum__cause) of a task on the path that has one, or NONE */
	uint32_t length, room;
	struct thrum__why_link *links; /* from the victim on */
	uint32_t circle; /* the path leads back to the task of this link; NONE: it doesn't */
	uint32_t handle; /* on which the leaf, a request, waits; NONE if it waits for none */
	uint32_t tries;  /* failed tries of the victim without a success; 0 if few or not counted */
	uint32_t tried;  /* the last of them */
	int unjudged;    /* if all seems well: why that isn't known, or -1 */
	bool is_unknown; /* the path passes a choice whose other waits aren't all known */
	bool is_marked;  /* the victim should resolve */
	bool is_soon;    /* its last wait is so young that its age tells nothing */
	bool is_closed; /* all that could serve an object wait for tasks that the path's are to end */
	bool is_guessed; /* only names or messages tell who is to serve one of its objects */
};

/* The path's wait for its leaf; NULL if the path has no wait. */
static inline const struct thrum__why_link *thrum__why_path_last(const struct thrum__why_path *path)
{
	return path->length > 0 ? &path->links[path->length - 1] : NULL;
}

/* Whether the wait is for a lock that wait->next holds. */
static inline bool thrum__why_is_held(const struct thrum__analyse_wait *wait)
{
	return wait->next != wait->on && wait->next != THRUM__NONE && !wait->is_link;
}

/* Whether a task is on the path that is followed now, or became one that is. Threads create tasks for many
 * others, so they don't count. (stuck/path.c) */
bool thrum__why_is_on_path(const struct thrum__search *, uint32_t task);

/* ---- Steps (stuck/steps.c) ----------------------------------------------------------------- */

/* Adds a finding that explains the path, about the subject. Returns its index, or HEALTHY if there
 * are enough of its class. */
uint32_t thrum__why_tell(struct thrum__search *, const struct thrum__why_path *, uint32_t subject,
	int certainty);

/* Adds steps for the path's tasks from the wait with index `from` - 1 back to the victim: those
 * near the leaf that have a name of their own, holders of locks, and those that serve objects. */
void thrum__why_tell_between(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *, uint32_t from);

/* Whether a step tells that the task waits until the end, or isn't resolved. */
bool thrum__why_is_told(const struct thrum__model *, const struct thrum__finding *, uint32_t task);

/* Adds the path's victim to a finding as its last step, unless a step tells of it. */
void thrum__why_tell_victim(struct thrum__finding *, const struct thrum__search *,
	const struct thrum__why_path *);

#endif
