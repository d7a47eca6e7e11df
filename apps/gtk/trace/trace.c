/* SPDX-License-Identifier: ISC */
/*
 * A trace that a window shows. A thread reads it, makes the model and lays it out; after the signal
 * "shown" everything belongs to the main thread. Events that a program still writes are appended in
 * small slices between frames. While threads work on the model (work.c) it doesn't change.
 */
#include "trace/parts.h"

#include <limits.h>
#include <string.h>

#include "port/port.h"
#include "source/ahead/ahead.h"
#include "source/input.h"
#include "source/run/run.h"
#include "trace/words.h"

#define PROGRESS_MS 200 /* each time the coarse picture is painted, which takes time from reading */
#define FOLLOW_MS 100
#define BEHIND_US 200000  /* how often new events are shown while more wait to be read */
#define REST_US 20000     /* if showing them takes longer, every second look is left out */
#define SLICE_US 6000     /* of the 16 ms of a frame */
#define AGE_NS 1000000000 /* an idle program's end is shown so often */
#define LIKELY_HEIGHT 800 /* px of the picture */

G_DEFINE_TYPE(AppTrace, app_trace, G_TYPE_OBJECT)

enum {
	SIGNAL_PROGRESS,
	SIGNAL_SHOWN,
	SIGNAL_GROWN,
	SIGNAL_WORKED,
	SIGNAL_CHANGED,
	SIGNALS,
};
static guint signals[SIGNALS];

static void set_state(AppTrace *self, enum app_trace_state state)
{
	self->state = state;
	g_signal_emit(self, signals[SIGNAL_CHANGED], 0);
}

/* ---- Following ----------------------------------------------------------------------------- */

static void stop_following(AppTrace *self)
{
	g_clear_handle_id(&self->follow_timer, g_source_remove);
	g_clear_handle_id(&self->follow_idle, g_source_remove);
}

/* Reads events for SLICE_US at most; returns as thrum_trace_next. */
static int read_slice(AppTrace *self)
{
	int64_t until = g_get_monotonic_time() + SLICE_US;
	const struct thrum_event *events;
	size_t count;
	int result;

	do {
		result = thrum_trace_next(self->trace, &events, &count, &self->error);
		if (result <= 0)
			return result;
		if (thrum__model_append_from(self->model, self->trace, events, count) < 0) {
			self->error = (struct thrum_error_info){-THRUM_E_MEMORY, 0,
				"out of memory: choose Keep Last 10 s in the menu"};
			return -THRUM_E_MEMORY;
		}
	} while (g_get_monotonic_time() < until);
	return 1;
}

/* Whether the program lives and has done nothing for a second since the model's end. */
static bool has_aged(const AppTrace *self)
{
	const struct thrum_trace_info *info = thrum_trace_info(self->trace);

	return info->ending == THRUM_ENDING_RUNNING && info->end - AGE_NS >= self->model->end;
}

/* Emits "grown" if the model has changed, or if it is a second older. Events that the model forgets
 * must disappear before the next frame; new events may appear later. So this is called when nothing
 * more is to be read, and before that once in BEHIND_US. */
static void tell_grown(AppTrace *self)
{
	int64_t now = g_get_monotonic_time();

	/* Bands must not outlive what they show, and take long to make. So what is old goes when there
	 * are new ones. */
	if (trace_has_old(self) && !self->shows_bands) {
		self->forget_next = now + FORGET_US;
		thrum__model_forget(self->model, self->model->last - self->keep);
	}
	if (self->model->events == self->told_events &&
		self->model->forgotten == self->told_forgotten && !has_aged(self))
		return;
	/* While more is to be read, the program only seems to be silent. */
	if (!self->is_behind)
		thrum__model_note_end(self->model, thrum_trace_info(self->trace));
	self->told_events = self->model->events;
	self->told_forgotten = self->model->forgotten;
	self->told_next = now + BEHIND_US;
	g_signal_emit(self, signals[SIGNAL_GROWN], 0);
	if (self->shows_bands && trace_has_old(self))
		app_trace_arrange(self);
	self->rests = g_get_monotonic_time() - now > REST_US;
}

static void end_following(AppTrace *self, bool has_failed)
{
	stop_following(self);
	g_string_truncate(self->message, 0);
	trace_words_lost(thrum_trace_info(self->trace), self->message);
	if (has_failed)
		trace_words_error(&self->error, self->message);
	else
		trace_words_end(thrum_trace_info(self->trace), self->message);
	set_state(self, APP_TRACE_ENDED);
}

static gboolean catch_up(gpointer data);

/* Reads one slice: the rest of the last look, or else the events written since. */
static void follow_once(AppTrace *self)
{
	int result = self->is_behind ? 1 : thrum_trace_refresh(self->trace, 0, &self->error);
	bool is_end = result <= 0;

	if (!is_end) {
		result = read_slice(self);
		self->is_behind = result > 0;
		is_end = result < 0;
	}
	if (is_end || !self->is_behind || g_get_monotonic_time() >= self->told_next)
		tell_grown(self);
	if (is_end)
		end_following(self, result < 0);
	/* A handler of "grown" may have paused it. */
	else if (self->is_behind && self->follow_timer && !self->follow_idle)
		self->follow_idle = g_idle_add(catch_up, self);
}

static gboolean catch_up(gpointer data)
{
	AppTrace *self = data;

	self->follow_idle = 0;
	if (self->working == 0)
		follow_once(self);
	return G_SOURCE_REMOVE;
}

static gboolean on_follow_timer(gpointer data)
{
	AppTrace *self = data;

	if (!self->rests && !self->follow_idle && self->working == 0)
		follow_once(self);
	else
		self->rests = false;
	return G_SOURCE_CONTINUE;
}

static void start_following(AppTrace *self)
{
	if (!self->follow_timer)
		self->follow_timer = g_timeout_add(FOLLOW_MS, on_follow_timer, self);
}

/* ---- Reading, in a thread ------------------------------------------------------------------ */

static bool note_progress(void *context, const struct thrum__model *model)
{
	AppTrace *self = context;
	const struct thrum_trace_info *info = thrum_trace_info(self->read);

	g_atomic_int_set(&self->kib_read, (gint)MIN(info->content_bytes >> 10, G_MAXINT));
	g_atomic_int_set(&self->kib_all, (gint)MIN((info->file_size >> 10) + 1, G_MAXINT));
	g_mutex_lock(&self->coarse_lock);
	thrum__scene_coarse_note(&self->coarse, model);
	g_mutex_unlock(&self->coarse_lock);
	return !g_cancellable_is_cancelled(self->cancellable);
}

bool trace_note_laid_out(void *context, double part)
{
	AppTrace *self = context;

	g_atomic_int_set(&self->percent_laid_out, (gint)(part * 100));
	return !g_cancellable_is_cancelled(self->cancellable);
}

static bool is_wanted(void *context, double part)
{
	return !g_cancellable_is_cancelled(((AppTrace *)context)->cancellable);
}

static bool is_recording(const AppTrace *self)
{
	return strcmp(thrum_trace_info(self->trace)->state, "recording") == 0;
}

struct first_bands {
	AppTrace *trace;
	struct thrum__bands *made; /* or NULL */
	int result;
};

static void *make_bands(void *data)
{
	struct first_bands *bands = data;

	bands->result = thrum__bands_make(bands->trace->model, is_wanted, bands->trace,
		&bands->made);
	return NULL;
}

/* Gives the scene the bands that the first picture will probably show, if it shows any. */
static int take_first_bands(AppTrace *self, struct first_bands *bands)
{
	self->scene->bands_later = self->scene->rows_later = true;
	/* While a model grows, stories stay as they are, and are made anew with the bands. */
	self->scene->paths_later = !is_recording(self);
	if (!thrum__scene_is_crowded(self->scene, LIKELY_HEIGHT, true)) {
		thrum__bands_destroy(bands->made);
		return 0;
	}
	if (!bands->made && bands->result == 0)
		make_bands(bands);
	return bands->result == 0 ? thrum__scene_take_bands(self->scene, bands->made)
				  : bands->result;
}

/* Lays the model out. The bands of a big one are made at the same time: they don't need the layout. */
static int lay_out(AppTrace *self)
{
	bool is_big = self->model->events > THRUM__LATER_FINDINGS;
	/* Tracks are grouped by lane, but not while lanes may grow: each growth would
	 * lay out again all that lies below. */
	bool by_lane = !is_recording(self);
	struct thrum__scene_options options = {.by_lane = by_lane,
		.rows_at_once = !by_lane, /* following needs them, and this is a thread */
		.no_findings = is_big};
	struct first_bands bands = {.trace = self};
	GThread *thread = is_big ? g_thread_try_new("bands", make_bands, &bands, NULL) : NULL;
	int result = thrum__scene_create(self->model, &options, trace_note_laid_out, self,
		&self->scene);

	if (thread)
		g_thread_join(thread);
	if (result == 0)
		return take_first_bands(self, &bands);
	thrum__bands_destroy(bands.made);
	return result;
}

/* Returns as thrum__model_load does. */
static int load_model(AppTrace *self)
{
	self->read = self->trace;
	if (thrum__source_may_read_ahead(self->trace))
		self->read = thrum__source_read_ahead(self->trace, thrum__model_prepare,
			self->model);
	int result = thrum__model_load(self->model, self->read, note_progress, self, &self->error);

	thrum__source_end_ahead(self->read, self->trace);
	return result;
}

static int read_all(AppTrace *self)
{
	char file[PATH_MAX];
	uint64_t messages;
	size_t which;
	int result;

	if (self->pid) {
		result = thrum_process_recording(self->pid, file, sizeof file, &self->error);
		if (result < 0)
			return result;
		self->file = g_strdup(file);
	}
	if (self->files)
		result = thrum__source_open_together((const char *const *)self->files,
			g_strv_length(self->files), &self->trace, &messages, &which, &self->error);
	else
		result = thrum_trace_open(self->file, &self->trace, &self->error);
	if (result < 0)
		return result;
	/* Bands that are made again and again would leave holes of all sizes. */
	if (is_recording(self))
		thrum__port_return_blocks();
	result = thrum__model_create(self->trace, &self->model);
	if (result == 0)
		result = load_model(self);
	if (result != 0)
		return result;
	g_atomic_int_set(&self->kib_read, G_MAXINT);
	return lay_out(self);
}

static void read_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	g_task_return_int(task, read_all(source));
}

static void show_trace(AppTrace *self)
{
	const struct thrum_trace_info *info = thrum_trace_info(self->trace);
	bool is_live = is_recording(self);

	self->shown_end = self->model->end;
	self->shown_bytes = info->content_bytes;
	trace_words_lost(info, self->message);
	if (strcmp(info->state, "killed") == 0)
		trace_words_end(info, self->message);
	self->state = is_live ? APP_TRACE_LIVE : APP_TRACE_SHOWN;
	g_signal_emit(self, signals[SIGNAL_SHOWN], 0);
	g_signal_emit(self, signals[SIGNAL_CHANGED], 0);
	if (is_live)
		start_following(self);
}

static void was_read(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);
	int result = (int)g_task_propagate_int(G_TASK(task), NULL);

	g_clear_handle_id(&self->progress_timer, g_source_remove);
	if (result == 0 && !g_cancellable_is_cancelled(self->cancellable)) {
		show_trace(self);
		return;
	}
	if (result < 0 && !self->error.message[0])
		self->error = (struct thrum_error_info){result, 0,
			"out of memory: the trace is too large for this machine"};
	if (result < 0)
		trace_words_error(&self->error, self->message);
	else
		g_string_assign(self->message, "Opening was cancelled.");
	set_state(self, APP_TRACE_FAILED);
}

/* Returns the progress: 0 … 1 while reading, 1 … 2 while laying out. */
static double part_done(AppTrace *self)
{
	double read = g_atomic_int_get(&self->kib_read), all = g_atomic_int_get(&self->kib_all);

	return read > all ? 1 + g_atomic_int_get(&self->percent_laid_out) / 100.0
		: all > 0 ? read / all
			  : 0;
}

static gboolean tell_progress(gpointer data)
{
	AppTrace *self = data;

	g_signal_emit(self, signals[SIGNAL_PROGRESS], 0, part_done(self));
	return G_SOURCE_CONTINUE;
}

static void start_reading(AppTrace *self)
{
	/* Without the cancellable: the result is always wanted, to know that the thread ends. */
	GTask *task = g_task_new(self, NULL, was_read, NULL);

	self->progress_timer = g_timeout_add(PROGRESS_MS, tell_progress, self);
	g_task_run_in_thread(task, read_in_thread);
	g_object_unref(task);
}

/* ---- The object ---------------------------------------------------------------------------- */

static void app_trace_finalize(GObject *object)
{
	AppTrace *self = APP_TRACE(object);

	stop_following(self);
	g_clear_handle_id(&self->progress_timer, g_source_remove);
	trace_work_finish(self);
	thrum__scene_destroy(self->scene);
	thrum__model_destroy(self->model);
	thrum_trace_close(self->trace);
	g_object_unref(self->cancellable);
	g_string_free(self->message, TRUE);
	g_mutex_clear(&self->coarse_lock);
	g_free(self->file);
	g_strfreev(self->files);
	g_free(self->name);
	G_OBJECT_CLASS(app_trace_parent_class)->finalize(object);
}

static void app_trace_class_init(AppTraceClass *class)
{
	G_OBJECT_CLASS(class)->finalize = app_trace_finalize;
	signals[SIGNAL_PROGRESS] = g_signal_new("progress", THRUM_TYPE_TRACE, G_SIGNAL_RUN_LAST, 0,
		NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_DOUBLE);
	signals[SIGNAL_SHOWN] = g_signal_new("shown", THRUM_TYPE_TRACE, G_SIGNAL_RUN_LAST, 0, NULL,
		NULL, NULL, G_TYPE_NONE, 0);
	signals[SIGNAL_GROWN] = g_signal_new("grown", THRUM_TYPE_TRACE, G_SIGNAL_RUN_LAST, 0, NULL,
		NULL, NULL, G_TYPE_NONE, 0);
	signals[SIGNAL_WORKED] = g_signal_new("worked", THRUM_TYPE_TRACE, G_SIGNAL_RUN_LAST, 0,
		NULL, NULL, NULL, G_TYPE_NONE, 0);
	signals[SIGNAL_CHANGED] = g_signal_new("changed", THRUM_TYPE_TRACE, G_SIGNAL_RUN_LAST, 0,
		NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void app_trace_init(AppTrace *self)
{
	self->cancellable = g_cancellable_new();
	self->message = g_string_new(NULL);
	g_mutex_init(&self->coarse_lock);
}

AppTrace *app_trace_new(const char *file)
{
	AppTrace *self = g_object_new(THRUM_TYPE_TRACE, NULL);

	self->file = g_strdup(file);
	self->name = g_filename_display_basename(file);
	start_reading(self);
	return self;
}

/* The names of files that are one trace, as `thrum html` writes them. Where the first is FILE and all others
 * are FILE.PID, these are only counted. Free it with g_free. */
static char *name_together(const char *const *files)
{
	g_autoptr(GString) name = g_string_new(NULL);
	g_autofree char *first = g_filename_display_basename(files[0]);
	guint count = g_strv_length((char **)files);

	if (count > 2 && thrum__source_are_named_as_run(files, count))
		return g_strdup_printf("%s + %u more", first, count - 1);
	for (; *files; files++) {
		g_autofree char *part = g_filename_display_basename(*files);

		g_string_append_printf(name, "%s%s", name->len ? " + " : "", part);
	}
	return g_strdup(name->str);
}

AppTrace *app_trace_new_together(const char *const *files)
{
	AppTrace *self = g_object_new(THRUM_TYPE_TRACE, NULL);

	self->files = g_strdupv((char **)files);
	self->name = name_together(files);
	start_reading(self);
	return self;
}

AppTrace *app_trace_new_of_run(const char *file)
{
	struct thrum__source_run run = {NULL, 0, 0};
	g_autoptr(GPtrArray) files = g_ptr_array_new();
	AppTrace *trace;

	/* Without memory for that, the file alone is opened. */
	if (thrum__source_run_find(file, &run) < 0 || run.count < 2) {
		trace = app_trace_new(file);
	} else {
		for (int i = 0; i < run.count; i++)
			g_ptr_array_add(files, run.paths[i]);
		g_ptr_array_add(files, NULL);
		trace = app_trace_new_together((const char *const *)files->pdata);
	}
	thrum__source_run_free(&run);
	return trace;
}

AppTrace *app_trace_again(AppTrace *self)
{
	return self->files ? app_trace_new_together((const char *const *)self->files)
			   : app_trace_new(self->file);
}

AppTrace *app_trace_new_of_process(int pid)
{
	AppTrace *self = g_object_new(THRUM_TYPE_TRACE, NULL);

	self->pid = pid;
	self->name = trace_words_process(pid);
	start_reading(self);
	return self;
}

void app_trace_cancel(AppTrace *self)
{
	stop_following(self);
	g_cancellable_cancel(self->cancellable);
}

const char *app_trace_file(AppTrace *self)
{
	return self->state == APP_TRACE_OPENING && self->pid ? NULL : self->file;
}

const char *app_trace_name(AppTrace *self)
{
	return self->name;
}

enum app_trace_state app_trace_state(AppTrace *self)
{
	return self->state;
}

const char *app_trace_message(AppTrace *self)
{
	return self->message->str;
}

char *app_trace_progress_words(AppTrace *self)
{
	gint read = g_atomic_int_get(&self->kib_read), all = g_atomic_int_get(&self->kib_all);

	return trace_words_progress(read, all);
}

void app_trace_coarse(AppTrace *self, struct thrum__scene_coarse *to)
{
	g_mutex_lock(&self->coarse_lock);
	*to = self->coarse;
	g_mutex_unlock(&self->coarse_lock);
}

struct thrum__model *app_trace_model(AppTrace *self)
{
	return trace_is_there(self) ? self->model : NULL;
}

struct thrum__scene *app_trace_take_scene(AppTrace *self)
{
	return trace_is_there(self) ? g_steal_pointer(&self->scene) : NULL;
}

const struct thrum_trace_info *app_trace_info(AppTrace *self)
{
	return trace_is_there(self) ? thrum_trace_info(self->trace) : NULL;
}

/* ---- The recording of a running program ---------------------------------------------------- */

void app_trace_pause(AppTrace *self, bool is_paused)
{
	if (self->state == APP_TRACE_LIVE && is_paused) {
		stop_following(self);
		set_state(self, APP_TRACE_PAUSED);
	} else if (self->state == APP_TRACE_PAUSED && !is_paused) {
		start_following(self);
		set_state(self, APP_TRACE_LIVE);
	}
}

void app_trace_show_bands(AppTrace *self, bool shows_bands)
{
	self->shows_bands = shows_bands;
}

void app_trace_keep(AppTrace *self, int64_t ns)
{
	self->keep = ns;
	self->forget_next = 0;
}
