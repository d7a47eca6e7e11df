/* SPDX-License-Identifier: ISC */
/* shared.c: objects that several parts know by the same name. Private to the room. */
#ifndef WORLD_SHARED_H
#define WORLD_SHARED_H

#include "base/keys.h"
#include "world/parts.h"

/* Tasks here are those of the trace. */
struct thrum__world_shared {
	struct thrum__base_keys names; /* each with the number of its host */
	struct thrum__world_object {
		uint64_t task;  /* 0: it has ended */
		uint32_t part;  /* that made it */
		bool is_shared; /* several parts know it */
	} * objects;            /* by name */
	uint32_t object_room;
	struct thrum__base_keys tasks;
	struct thrum__world_alias {
		uint64_t task;
		uint32_t object;
	} * aliases; /* by index in `tasks` */
	uint32_t alias_room;
};

/* A part has made a task with this label. Returns whether it is the object of another part, so that its task
 * becomes the other's. */
bool thrum__world_shares(struct thrum__world_shared *, uint32_t host, uint32_t part,
	const struct thrum_event *label, uint64_t task);
/* The task that stands for this one. */
uint64_t thrum__world_shared_task(const struct thrum__world_shared *, uint64_t task);
/* Whether several parts know an object. */
bool thrum__world_is_shared(const struct thrum__world_shared *, uint64_t task);
/* An object is no more: the next one of its name is another. */
void thrum__world_shared_ends(struct thrum__world_shared *, uint64_t task);
void thrum__world_shared_finish(struct thrum__world_shared *);

#endif
