/* SPDX-License-Identifier: ISC */
/* Notes how much of each recording `thrum ship` has sent, in a file UUID.position each. */
#ifndef SERVER_POSITIONS_H
#define SERVER_POSITIONS_H

#include "fleet/fleet.h"

/* Chooses and makes the folder. Returns STATUS_OK, or STATUS_FAILED after a message. */
int positions_folder(const char *wanted, char *folder, size_t size);
/* Takes over what is known of a recording. Without a file all of it counts as new. */
void positions_load(const char *folder, struct thrum__fleet_sender *, const struct thrum__header *,
	uint64_t *streams);
/* Replaces the file. A failure is reported only: an agent that starts again then sends some of the
 * recording twice. */
void positions_save(const char *folder, struct thrum__fleet_sender *, const struct thrum__header *,
	uint64_t streams);

/* Deletes the file of a recording that is gone. */
void positions_forget(const char *folder, const struct thrum__header *);
/* Deletes the files that no agent has used for a month: their recordings are gone, and no agent saw
 * it. */
void positions_tidy(const char *folder);

#endif
