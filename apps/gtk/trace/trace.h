/* SPDX-License-Identifier: ISC */
/*
 * trace/: a trace. A thread reads it, and it is followed while a program writes to it. Other threads find
 * causes, count, and make rows and bands. This folder shows nothing and uses no widgets.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <gio/gio.h>

#include "analyse/slow/answer.h"
#include "analyse/slow/flame.h"
#include "analyse/stats/stats.h"
#include "model/model.h"
#include "scene/coarse.h"
#include "scene/scene.h"

#define THRUM_TYPE_TRACE (app_trace_get_type())
G_DECLARE_FINAL_TYPE(AppTrace, app_trace, APP, TRACE, GObject)

enum app_trace_state {
	APP_TRACE_OPENING,
	APP_TRACE_SHOWN,  /* read completely; no program writes to it */
	APP_TRACE_LIVE,   /* followed */
	APP_TRACE_PAUSED, /* a program writes to it, but following is paused */
	APP_TRACE_ENDED,  /* was followed until its program ended */
	APP_TRACE_FAILED,
};

/*
 * Signals, all in the main thread: "progress" (double: 0 … 1 while reading, 1 … 2 while laying
 * out), "shown" (model and scene exist; app_trace_take_scene gives the scene to the stage), "grown"
 * (the model grew or forgot: update the scene), "worked" (findings or bands can be taken), "changed"
 * (the state or the message).
 */
AppTrace *app_trace_new(const char *file);   /* starts reading at once */
AppTrace *app_trace_new_of_process(int pid); /* the recording that this process writes */
/* Several recordings as one trace; NULL ends the files. */
AppTrace *app_trace_new_together(const char *const *files);
/* A file, as one trace with the others of its run (source/run/run.h). */
AppTrace *app_trace_new_of_run(const char *file);
AppTrace *app_trace_again(AppTrace *); /* reads a trace anew, from its files */
void app_trace_cancel(AppTrace *);
const char *app_trace_file(AppTrace *); /* NULL: unknown yet, or there are several */
const char *app_trace_name(AppTrace *); /* for display: valid UTF-8 */
enum app_trace_state app_trace_state(AppTrace *);
/* The failure, what is lost or damaged, how the program ended: one line each, or "". */
const char *app_trace_message(AppTrace *);
/* The progress of opening: "reading 12 MB of 1.2 GB". Free it with g_free. */
char *app_trace_progress_words(AppTrace *);
/* Copies a coarse picture of the events that were read so far, to show until there is a scene. */
void app_trace_coarse(AppTrace *, struct thrum__scene_coarse *to);
struct thrum__model *app_trace_model(AppTrace *); /* NULL until it is shown */
/* Gives the scene to the caller, once; then NULL. */
struct thrum__scene *app_trace_take_scene(AppTrace *);
const struct thrum_trace_info *app_trace_info(AppTrace *); /* NULL until it is shown */
/* The newest finished statistics, or NULL. Starts a new count in a thread if the model has changed;
 * "changed" tells its end. The result is valid until the next call. */
const struct thrum__stats *app_trace_stats(AppTrace *);
/* Whether a new count waits for a pause, since it would hold up following for too long. Sets *end
 * to the time up to which the present statistics count, or to INT64_MIN if there are none. */
bool app_trace_stats_wait(AppTrace *, int64_t *end);
/*
 * Look for findings, or make bands, of the model as it is, in a thread. They do nothing if that is being
 * done, or was done a moment ago, or, for findings, since the end. Following waits meanwhile. "worked"
 * tells the end; then what was made can be taken: false and NULL if there is nothing.
 */
void app_trace_look(AppTrace *);
void app_trace_arrange(AppTrace *);
bool app_trace_take_findings(AppTrace *, struct thrum__findings *);
struct thrum__bands *app_trace_take_bands(AppTrace *);
/* The same for the rows of a trace that doesn't grow: makes them once. *rows is NULL when there was no
 * memory for them. */
void app_trace_lay_out(AppTrace *);
int app_trace_percent_laid_out(AppTrace *);
bool app_trace_take_rows(AppTrace *, struct thrum__scene_rows **rows);
/* The same for its critical paths. */
void app_trace_make_paths(AppTrace *);
bool app_trace_take_paths(AppTrace *, struct thrum__paths **paths);
/* Why a task was slow, with the flame graph of its label if that can be made. */
struct app_slow {
	struct thrum__slow_answer answer;
	struct thrum__flame flame;
	bool has_flame;
};
/* Finds that in a thread, and calls `done`. _finish gives what was found, or NULL; free it with
 * app_slow_free (NULL is fine). */
void app_trace_ask_slow(AppTrace *, uint32_t task, GAsyncReadyCallback done, void *data);
struct app_slow *app_trace_slow_finish(GAsyncResult *);
void app_slow_free(struct app_slow *);
void app_trace_pause(AppTrace *, bool is_paused);
/* Whether bands of it are shown. Then it forgets when there are new ones that lack what goes. */
void app_trace_show_bands(AppTrace *, bool);
void app_trace_keep(AppTrace *, int64_t ns); /* forgets older events as it grows; 0: keeps all */
/* Copies the recording as it is now to a file, in a thread: a part of its time in ns, or from 0 to
 * INT64_MAX all of it. Then calls `done`, which gets the result from app_trace_snapshot_finish. */
void app_trace_snapshot(AppTrace *, const char *file, int64_t from, int64_t until,
	GAsyncReadyCallback done, void *data);
/* Whether a part of it can be copied: it is one recording. */
bool app_trace_has_parts(AppTrace *);
bool app_trace_snapshot_finish(GAsyncResult *, GError **);

#endif
