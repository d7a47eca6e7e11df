/* SPDX-License-Identifier: ISC */
/* A trace's own header, shared by its files. */
#ifndef TRACE_PARTS_H
#define TRACE_PARTS_H

#include "analyse/bands/bands.h"
#include "trace/trace.h"

struct _AppTrace {
	GObject parent;
	char *file, *name;
	char **files; /* several that are one trace; else NULL, and `file` is the trace */
	int pid;      /* 0: opened by its file's name */
	enum app_trace_state state;
	GString *message;
	GCancellable *cancellable;
	struct thrum_trace *trace, *read; /* read: the same, or read ahead by a thread of its own */
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__stats *stats, *measured; /* measured: newer, and not handed out yet */
	struct thrum_error_info error;
	bool is_behind; /* the last slice left events to be read */
	bool rests;     /* leaves out the next look, to leave time for frames */
	/* Work in threads (work.c). */
	unsigned working; /* threads that read the model; until they end it stays as it is */
	bool is_measuring, is_looking, is_arranging, is_laying_out, is_tracing;
	bool stats_wait;    /* a new count waits for a pause */
	double stats_us;    /* the processor time of the last count; written by its thread */
	double stats_us_mb; /* the same for a megabyte of the model */
	/* At the last count: the model's events, forgotten and end; its begin, and when the next
	 * may begin, in µs. */
	uint64_t stats_events;
	int64_t stats_forgotten, stats_end, stats_begin, stats_next;
	/* Findings and bands that nobody has taken yet; when the last began, and when the next may, in µs. */
	struct thrum__findings *findings;
	struct thrum__bands *bands;
	int64_t look_begin, look_next, arrange_begin, arrange_next;
	double arrange_us; /* the processor time of making the last bands; written by the thread */
	bool looked_at_end;
	bool has_rows;                  /* app_trace_take_rows can be called, */
	struct thrum__scene_rows *rows; /* and gives these; NULL: there was no memory */
	struct thrum__paths *paths;     /* that nobody has taken yet */
	bool has_paths;                 /* as has_rows */
	int64_t keep, forget_next;
	bool shows_bands;           /* then the old is forgotten once there are bands without it, */
	struct thrum__model *ahead; /* which are made from this; else NULL */
	/* When it was first shown: the model's end, and the bytes that were read. */
	int64_t shown_end;
	uint64_t shown_bytes;
	/* At the last "grown": the model's events and forgotten; when the next is due, in µs. */
	uint64_t told_events;
	int64_t told_forgotten, told_next;
	guint progress_timer, follow_timer, follow_idle;
	/* Shared with the reading thread: */
	GMutex coarse_lock;
	struct thrum__scene_coarse coarse; /* under the lock */
	/* Atomic. kib_all 0: not reading yet; kib_read > kib_all: laying out. */
	gint kib_read, kib_all;
	gint percent_laid_out; /* atomic; of rows that are made later, too */
};

#define FORGET_US G_USEC_PER_SEC

/* Whether the model and all else belong to the main thread. */
static inline bool trace_is_there(const AppTrace *self)
{
	return self->state != APP_TRACE_OPENING && self->state != APP_TRACE_FAILED;
}

/* Whether it is time to forget old events. */
bool trace_has_old(const AppTrace *);

/* Notes the part of the layout that is done, of the AppTrace `context`; false: the trace is cancelled. */
bool trace_note_laid_out(void *context, double part);

/* Frees what the threads have made. */
void trace_work_finish(AppTrace *);

#endif
