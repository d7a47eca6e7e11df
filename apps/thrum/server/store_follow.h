/* SPDX-License-Identifier: ISC */
/* `thrum store --follow`: finds the ten minutes of which a server has got something new. */
#ifndef SERVER_STORE_FOLLOW_H
#define SERVER_STORE_FOLLOW_H

#include <stdint.h>

#include "fleet/fleet.h"
#include "line/command.h"

#define STORE_SLOT INT64_C(600) /* s */

/* The ten minutes that have something new. */
struct store_state;

struct store_following {
	const char *name;   /* the address, as it was given */
	const char *folder; /* of the tables; the position is kept there, too */
	int64_t every;      /* ns between two queries of the server */
	/*
	 * Stores the ten minutes from a time on, s since 1970, of the recordings that the address names and
	 * that are due, in the place of those that are stored. Returns 0, a negative enum thrum_error if the
	 * server fails, or 1 after a message.
	 */
	int (*store)(void *context, const struct thrum__fleet_address *, int64_t slot,
		const struct store_state *);
	void *context;
};

/* Stores what is new, again and again, until it is interrupted. Returns an exit status. */
int store_follow(const struct command *, const struct store_following *);
/* Whether these ten minutes of a recording are to be stored: there is something new, or they are stored
 * already. */
bool store_is_due(const struct store_state *, int64_t slot, const char *host, const char *program);
/* Writes the name of the ten minutes. */
void store_name_slot(int64_t slot, char name[32]);

#endif
