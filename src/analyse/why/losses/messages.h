/* SPDX-License-Identifier: ISC */
/* The messages of a loop, in the order of its turns. Private to analyse/why. */
#ifndef ANALYSE_WHY_MESSAGES_H
#define ANALYSE_WHY_MESSAGES_H

#include "analyse/why/blame/blame.h"

struct thrum__why_message {
	uint32_t edge;
	uint32_t peer; /* the lane on the other side */
	uint32_t turn; /* of the loop, that took it or sent it */
	bool is_sent;  /* by the loop */
};

/* In a turn, those that it took come first. */
struct thrum__why_messages {
	struct thrum__why_turns turns;
	struct thrum__why_message *all;
	uint32_t count;
};

/* The wait in which a lane's thread has been blocked since before a time. It may have told that anew. NULL:
 * it isn't. */
const struct thrum__analyse_wait *thrum__why_waits_since_then(const struct thrum__search *,
	uint32_t lane, int64_t time);

/* Adds a finding for the thread of a lane that waits for the loop's answer: the turn that took a message left
 * it out, though so many others like it gave one. */
void thrum__why_tell_unsent(struct thrum__search *, const struct thrum__why_message *taken,
	uint32_t asker, uint32_t answers, uint32_t behind);

/* Adds such a finding for a loop that gave nobody what came back to it (returned.c), or that passed one of
 * the answers on to nobody, or to the wrong one (relayed.c). O(messages + lanes). */
void thrum__why_add_returned(struct thrum__search *, const struct thrum__why_messages *);
void thrum__why_add_relayed(struct thrum__search *, const struct thrum__why_messages *);

#endif
