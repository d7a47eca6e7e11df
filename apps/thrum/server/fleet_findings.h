/* SPDX-License-Identifier: ISC */
/* The findings in the recordings of a server. */
#ifndef SERVER_FLEET_FINDINGS_H
#define SERVER_FLEET_FINDINGS_H

#include "fleet/fleet.h"
#include "line/command.h"

/* The findings of each recording that was looked at. */
struct fleet_findings {
	struct fleet_found {
		char key[THRUM__FLEET_KEY]; /* HOST.PROGRAM.UUID */
		uint32_t count;             /* those that it causes */
		char worst[600];            /* the sentence of the worst one; "": there is none */
		int64_t clock_error;        /* ns; -1: it isn't compared with others */
	} all[THRUM__FLEET_PARTS_MAX];
	size_t count;
};

/*
 * Reads the recordings of an address as one trace, or as many as can be one, and finds what is wrong in them.
 * Writes it for people to a file, unless `fd` is -1. Returns STATUS_OK, or another status after a message.
 */
int fleet_find(const struct command *, const char *name, const struct thrum__fleet_address *,
	int fd, struct fleet_findings *);
/* Returns the findings of a recording, or NULL if it wasn't looked at. */
const struct fleet_found *fleet_found(const struct fleet_findings *, const char *key);

#endif
