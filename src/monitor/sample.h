/* SPDX-License-Identifier: ISC */
/*
 * monitor/: the present state of a recording to which a program writes, and conditions on it.
 *
 *	sample.c   samples a recording: the time, its losses, and the parts
 *	tasks.c    the live tasks, by label
 *	lanes.c    the lanes, and what they did lately
 *	labels.c   counters of the tasks by label
 *	history.c  what counters were in the last 30 days
 *	window.c   the latest stretch of time of a number
 *	unit.c     the units of counters, by their paths
 *	metrics.c  all this as text for Prometheus
 *	rule/      conditions on these, as people write them; its face is rule/rule.h
 *
 * A sample costs the program nothing, as it only reads: the header, the table of live tasks, and
 * the latest packets of each lane. Nothing found there is trusted.
 */
#ifndef MONITOR_SAMPLE_H
#define MONITOR_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <thrum/trace.h>

#include "format/format.h"

#define THRUM__MONITOR_LABEL 52
#define THRUM__MONITOR_UNKNOWN (-1) /* an age that can't be told: the program gave the clock */
#define THRUM__MONITOR_NO_GROUP UINT32_MAX

/* A task that has not ended. */
struct thrum__monitor_task {
	uint64_t id, parent;
	uint64_t waiting; /* the task that it last waited for; 0: none */
	int64_t age;      /* ns, or UNKNOWN */
	int64_t waited;   /* ns since that wait began, or UNKNOWN */
	uint32_t group;   /* an index; NO_GROUP: a lane's own task */
	uint16_t site;    /* as in struct thrum_event */
	uint8_t kind;
	bool should_resolve;
	char label[THRUM__MONITOR_LABEL]; /* "": none; an ellipsis ends a label that is cut */
};

/* The live tasks whose labels have one pattern ("GET /user/#"), or that have no label and are of one
 * kind ("(promise)"). */
struct thrum__monitor_group {
	char label[THRUM__MONITOR_LABEL];
	uint32_t count;
	uint32_t should_resolve;  /* so many of them */
	uint32_t oldest_task;     /* an index */
	int64_t oldest, youngest; /* ages */
	bool is_labelled;
	uint8_t kind; /* of one of them; of all if they have no label */
};

struct thrum__monitor_lane {
	uint64_t number;
	uint32_t tid;
	char name[THRUM__MONITOR_LABEL]; /* of the thread; "" if it isn't known */
	bool is_alive;                   /* the lane's own task is live */
	bool is_suspended;               /* now */
	uint64_t own,
		running; /* tasks: the lane's own, and the one that runs now, which may be own */
	bool tells_suspension; /* it was seen suspended: else nobody knows when its thread sleeps */
	/* The latest stretch of time that the packets tell of, and its parts, in ns. */
	int64_t span, in_tasks, in_own, suspended;
	uint64_t records; /* in that stretch */
};

/* The share of the stretch in which the lane is known to have worked; NAN if there is no stretch. */
double thrum__monitor_load(const struct thrum__monitor_lane *);

/* An event that changed a counter while a task ran: of each counter that with the greatest value
 * since the last sample, or else an older one. */
struct thrum__monitor_exemplar {
	char path[116];
	int64_t value;
	uint64_t task;
};

struct thrum__monitor_sample {
	uint64_t time;     /* CLOCK_MONOTONIC, ns: of the sample */
	uint64_t ticks;    /* the recording's clock at that time; 0: it can't be told */
	bool is_recording; /* the recording was not stopped; its process may have died, though */
	uint64_t lost[THRUM__LOST_CAUSES];
	uint64_t lost_events; /* the events among them */
	struct thrum__monitor_task *tasks;
	struct thrum__monitor_group *groups;
	struct thrum__monitor_lane *lanes;         /* by number */
	struct thrum__monitor_exemplar *exemplars; /* with the lanes */
	uint32_t task_count, group_count, lane_count, exemplar_count;
};

/* The parts of a sample. */
enum {
	THRUM__MONITOR_TASKS = 1,
	THRUM__MONITOR_LANES = 2, /* their names need the tasks, too */
};

struct thrum__monitor;

/*
 * Makes a monitor of a recording, whose input must stay open, and whose header must have been
 * checked. The caller destroys *monitor. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__monitor_create(const struct thrum__input *, const struct thrum__header *,
	struct thrum__monitor **monitor);
/* NULL is allowed. */
void thrum__monitor_destroy(struct thrum__monitor *);

/*
 * Takes a sample with the parts that are wanted; the others are empty. `monotonic`: CLOCK_MONOTONIC
 * now, ns; 0: the process has ended, and the time stands still. *sample is valid until the next
 * sample. Returns 0 or a negative enum thrum_error.
 */
THRUM__MUST_USE int thrum__monitor_take_sample(struct thrum__monitor *, unsigned parts,
	uint64_t monotonic, const struct thrum__monitor_sample **sample);

/* Returns the task of this id in the last sample, or NULL. */
const struct thrum__monitor_task *thrum__monitor_find(const struct thrum__monitor *, uint64_t id);

#endif
