/* SPDX-License-Identifier: ISC */
/* The parts of a monitor. Internal to monitor/. */
#ifndef MONITOR_PARTS_H
#define MONITOR_PARTS_H

#include "base/keys.h"
#include "monitor/sample.h"

/* How far a lane has been read, and how it has spent its time since the last sample. */
struct lane_state {
	uint64_t number, seq;
	uint64_t own, running; /* tasks */
	uint64_t last;         /* ticks: of the last record; decoding the next one needs it */
	uint64_t begin, until; /* ticks: the stretch of which the members below tell */
	uint64_t in_tasks, in_own, suspended; /* ticks */
	uint64_t records;
	uint32_t ticket; /* of the packet that was read last */
	uint32_t at;     /* it was read up to here, bytes */
	uint32_t tid;
	bool is_suspended, was_suspended; /* now; ever */
	bool is_read;                     /* the members above are valid */
	bool was_seen;                    /* in this sample */
};

/* A packet, as one read of its header finds it. */
struct packet_place {
	uint64_t lane, seq;
	uint32_t index, ticket, content; /* content: bytes */
};

#define EXEMPLARS_MAX 64

/* The definition of an exemplar's counter, and whether the exemplar is of this sample. */
struct exemplar_state {
	uint16_t definition;
	bool is_new;
};

struct thrum__monitor {
	struct thrum__input input;
	struct thrum__header header; /* as it is at this sample */
	uint64_t frequency;          /* ticks a second */
	struct thrum__monitor_sample sample;

	uint32_t task_room, group_room, lane_room, state_room, packet_room;
	uint32_t *places; /* of tasks by the cells of the table: an index + 1, or 0 */
	uint64_t cells;
	struct thrum__base_keys groups; /* numbered as sample.groups */

	struct lane_state *states; /* by number */
	struct packet_place *packets;
	uint32_t state_count, packet_count;
	struct exemplar_state exemplars[EXEMPLARS_MAX]; /* as in sample.exemplars */
	uint8_t *bytes; /* of a part of a packet, behind a packet's header */
};

/* Returns ns for a number of ticks, at most INT64_MAX. */
int64_t thrum__monitor_ns(const struct thrum__monitor *, uint64_t ticks);

/* Fill in the parts of the sample. Return 0 or a negative enum thrum_error. */
int thrum__monitor_sample_tasks(struct thrum__monitor *);
int thrum__monitor_sample_lanes(struct thrum__monitor *);

/* Takes a counter's event as an exemplar, if it is worth it. Fails silently: nobody needs exemplars. */
void thrum__monitor_take_exemplar(struct thrum__monitor *, uint16_t definition, int64_t value,
	uint64_t task);

#endif
