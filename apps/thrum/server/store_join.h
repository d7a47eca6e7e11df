/* SPDX-License-Identifier: ISC */
/* Recordings with messages between them as one trace, for the rows of `thrum store` that tell of other
 * processes. */
#ifndef SERVER_STORE_JOIN_H
#define SERVER_STORE_JOIN_H

#include "line/command.h"
#include "source/input.h"
#include "store/store.h"
#include "trace/load.h"

struct store_join {
	struct load load;
	struct thrum__findings *findings;
	struct thrum__store_part parts[INPUTS_MAX];
	char hosts[INPUTS_MAX][64], programs[INPUTS_MAX][64];
	struct thrum__store_joined joined;
};

/* Writes a name that can be one of a folder or file. */
void store_put_name(char *to, size_t room, const char *from);
/*
 * Reads the recordings of a group as one trace, unless it is one recording, or no message goes from one to
 * another: then *join becomes NULL. The caller frees it. Returns STATUS_OK, or another status after a
 * message.
 */
int store_join(const struct command *, const struct thrum__source_group *,
	struct store_join **join);
void store_join_free(struct store_join *); /* NULL is allowed */

#endif
