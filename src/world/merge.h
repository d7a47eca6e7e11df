/* SPDX-License-Identifier: ISC */
/* A trace that joins others, and how its parts' events become its own: what join.c and merge.c share. Private
 * to the room. */
#ifndef WORLD_MERGE_H
#define WORLD_MERGE_H

#include "world/parts.h"
#include "world/shared.h"

#define EVENTS 512       /* of a batch */
#define TEXTS (64 << 10) /* bytes of a batch for texts that are changed */
#define CATEGORIES 4     /* whose level the model follows */

/* A part, and how far it is read. */
struct part {
	struct thrum_trace *trace;
	const struct thrum_trace_info *info;
	char name[THRUM__WORLD_NAME];
	const struct thrum_event *events; /* the rest of its batch */
	size_t count;
	int64_t time;    /* of its next event */
	bool has_ended;  /* all of its events are read */
	bool is_over;    /* and its lanes are suspended */
	uint32_t ended;  /* so many lanes are */
	uint32_t *lanes; /* by its lane: the trace's lane */
	uint32_t lane_count, lane_room;
	uint16_t *sites; /* by its site: the trace's */
	uint32_t site_room;
	int8_t levels[CATEGORIES];
};

/* A lane of the trace. */
struct lane {
	struct thrum_trace_lane shown;
	uint64_t own; /* the id of its own task; 0: not seen yet */
	/* Its thread was off its processor, as a kernel's trace tells. */
	int64_t off_from, off_until;
	uint32_t part, index;
	bool waits_for_shared; /* its latest wait is for an object that several parts know */
	bool rests_for_shared;
};

struct world {
	struct thrum_trace trace; /* first: the public handle */
	struct part parts[THRUM__WORLD_PARTS_MAX];
	size_t part_count;
	struct thrum__world_links links;
	struct thrum__world_times times;
	struct thrum__world_off_cpu off_cpu;
	struct thrum__world_shared shared;
	struct lane *lanes;
	uint32_t lane_count, lane_room;
	/* By site of the trace. */
	struct site {
		uint32_t part;
		uint16_t number;
	} * sites;
	uint32_t site_count, site_room;
	bool is_cut;  /* some event had to be left out */
	bool is_late; /* memory was short */
	char names[1000];
	struct thrum__world_more more; /* without `next`: none comes */
	struct thrum_event events[EVENTS];
	char texts[TEXTS];
	size_t text_size;
};

/* Returns the trace's lane for one of a part; -1 when memory is short. */
int64_t thrum__world_lane_of(struct world *, uint32_t part, uint32_t lane);
/* The time at which a part ends. */
int64_t thrum__world_end_of(const struct world *, size_t part);
/* Whether a part has ended, as is known, before others did, and its end is still to be told. */
bool thrum__world_outlives(const struct world *, size_t part);
/* Reads the next batches of the parts that need one. Returns 0 or a negative enum thrum_error. */
int thrum__world_fill(struct world *, struct thrum_error_info *);
/* Moves events to the batch until it is full or some part has no more of its own: that part's next batch
 * would overwrite the texts of this one. Returns how many. */
size_t thrum__world_merge(struct world *);

#endif
