/* SPDX-License-Identifier: ISC */
/* forked.c: locks that a child got by fork, and that nobody there releases. As process.h. */
#ifndef ADAPT_FORKED_H
#define ADAPT_FORKED_H

#include "adapt/base/base.h"
#include "adapt/base/process.h"

struct forked_wait {
	const void *lock, *caller; /* who took it; NULL: not known */
	uint32_t tid;              /* the thread of this process that held it at the fork */
};
/* Whether a process that was forked from this one waits for such a lock. It never gets it. */
bool thrum__adapt_forked_wait(pid_t self, pid_t process, struct forked_wait *);

#define FORKED_TEXT (PLACE_MAX + PROCESS_TEXT + 80)
/* Names the lock and the thread that held it. */
void thrum__adapt_forked_label(char label[FORKED_TEXT], pid_t self, const struct forked_wait *);

/* In a fork's child: returns the object of such a lock, or NULL if it is none. tid: as for
 * thrum__adapt_tell_holders. */
struct object *thrum__adapt_forked_lock(const void *lock, const char *noun, uint32_t tid);

/* Whether several processes share a lock: then a child has no copy of it. */
bool thrum__adapt_is_shared(const void *lock, const char *noun);

/* Whether any thread holds a lock now. */
bool thrum__adapt_has_held(void);

#endif
