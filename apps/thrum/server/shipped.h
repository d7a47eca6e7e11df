/* SPDX-License-Identifier: ISC */
/* The recordings that an agent of `thrum ship` sends. */
#ifndef SERVER_SHIPPED_H
#define SERVER_SHIPPED_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "fleet/fleet.h"
#include "line/command.h"

/* A recording, or another file that a folder has. */
struct part {
	struct part *next;
	char path[PATH_MAX];
	struct stat file; /* as it was looked at last */
	bool is_missing;  /* its file was not in its place at the latest look */
	bool is_recording;
	struct thrum__input input; /* without an owner: all is stored, or it can't be sent */
	struct thrum__header header;
	struct thrum__fleet_sender *sender; /* NULL where the input has no owner */
	uint64_t over_since;                /* 0: its process lives */
	uint64_t overwritten;               /* packets, as far as that was told or explained */
	struct thrum__fleet_count saved;    /* the positions that are saved tell so much */
	uint64_t saved_at;                  /* monotonic ns; 0: none are */
	uint64_t streams; /* where it is stored: thrum__fleet_make_streams; 0: nowhere */
};

struct shipped {
	struct part *first;
	const struct command *command; /* for messages */
	const char *host;              /* the machine's name; NULL: its own */
	char **arguments;              /* files, folders and processes */
	int argument_count;
	char state[PATH_MAX]; /* the folder that positions.h writes to */
	bool watches;         /* a folder */
};

/* Adds what the arguments name. Returns STATUS_OK, or another status after a message. */
int shipped_add(struct shipped *);
/* Forgets files that are gone, and adds those that have come to the folders. */
void shipped_look(struct shipped *);
/* Begins again with all that isn't stored in these streams, but in others. Returns whether there is such a
 * recording. */
bool shipped_again(struct shipped *, uint64_t streams);
/* Sends no more of a recording, which stays known. */
void shipped_close(struct part *);
void shipped_finish(struct shipped *);

#endif
