/* SPDX-License-Identifier: ISC */
/*
 * Work on a trace's model in threads: statistics, findings, bands, rows, and why a task was slow. The
 * model doesn't change until it is done.
 */
#define _GNU_SOURCE
#include <time.h>

#include "trace/parts.h"

#define LONGEST_RUNS 1000
/*
 * The cost of statistics grows with the trace, and nothing is read while they are made: events that
 * the program overwrites in that time are lost. So they take at most 1/STATS_PART of the time
 * altogether. One count takes at most a twentieth of the time in which the program fills its
 * recording, within the limits below; the first count may take a little longer.
 */
#define STATS_PART 20
#define STATS_LEAST_US 250000
#define STATS_MOST_US 2000000
#define FIRST_STATS_US 1500000
/* Making bands takes at most a tenth of a processor, and holds up following for a third of the time. */
#define ARRANGE_PART 9
#define ARRANGE_PAUSE 2
#define STATS_US_MB 1500 /* µs for a megabyte of the model, until the first count tells */

bool trace_has_old(const AppTrace *self)
{
	return self->keep > 0 && self->model->last - self->keep > self->model->forgotten &&
		g_get_monotonic_time() >= self->forget_next;
}

/* Forgets what the new bands lack, once no thread reads the model any more. */
static void forget_at_last(AppTrace *self)
{
	if (!self->ahead || self->is_arranging || self->working > 0)
		return;
	thrum__model_forget_end(self->model, g_steal_pointer(&self->ahead));
	if (self->bands)
		thrum__bands_rebase(self->bands, self->model);
	self->told_forgotten = self->model->forgotten;
	g_signal_emit_by_name(self, "worked");
	g_signal_emit_by_name(self, "grown");
}

/* Lets a thread work on the model, which stays as it is until `done` is called. */
static void start(AppTrace *self, bool *is_at_work, GTaskThreadFunc work, GAsyncReadyCallback done)
{
	GTask *task = g_task_new(self, NULL, done, NULL);

	*is_at_work = true;
	self->working++;
	g_task_run_in_thread(task, work);
	g_object_unref(task);
}

/* ---- Statistics, in a thread --------------------------------------------------------------- */

static void free_stats(void *data)
{
	struct thrum__stats *stats = data;

	if (stats)
		thrum__stats_free(stats);
	g_free(stats);
}

/* Returns the thread's processor time in µs, which doesn't depend on how busy the machine is. */
static double thread_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void measure_in_thread(GTask *task, gpointer source, gpointer data,
	GCancellable *cancellable)
{
	struct thrum__stats *stats = g_new0(struct thrum__stats, 1);
	double begin = thread_us();

	if (thrum__stats_make(APP_TRACE(source)->model, true, LONGEST_RUNS, stats) < 0)
		g_clear_pointer(&stats, g_free);
	APP_TRACE(source)->stats_us = thread_us() - begin;
	g_task_return_pointer(task, stats, free_stats);
}

static double model_mb(const AppTrace *self)
{
	return (double)thrum__model_memory(self->model) / 1e6 + 1;
}

static void was_measured(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);
	int64_t now = g_get_monotonic_time();

	self->is_measuring = false;
	self->working--;
	self->stats_us_mb = self->stats_us / model_mb(self);
	free_stats(self->measured);
	self->measured = g_task_propagate_pointer(G_TASK(task), NULL);
	self->stats_next = now + STATS_PART * (now - self->stats_begin);
	g_signal_emit_by_name(self, "changed");
	forget_at_last(self);
}

/* Returns how long following may stop, in µs. */
static double stats_most_us(const AppTrace *self)
{
	const struct thrum_trace_info *info = thrum_trace_info(self->trace);
	double us = (double)(self->model->end - self->shown_end) / 1e3;
	double bytes = (double)(info->content_bytes - self->shown_bytes);
	double least = self->stats ? STATS_LEAST_US : FIRST_STATS_US;

	/* In the first second the program's rate isn't known. */
	return us < 1e6 ? least
			: CLAMP(us / bytes * (double)info->file_size / 20, least, STATS_MOST_US);
}

static double us_of_mb(const AppTrace *self)
{
	return self->stats_us_mb > 0 ? self->stats_us_mb : STATS_US_MB;
}

/* Whether a count now would hold up following for too long. */
static bool stats_wait(const AppTrace *self)
{
	return self->state == APP_TRACE_LIVE &&
		us_of_mb(self) * model_mb(self) > stats_most_us(self);
}

/* Starts a count if the model has changed. While a program runs, the numbers are always a little
 * old. */
static void start_measuring(AppTrace *self)
{
	int64_t now = g_get_monotonic_time();

	if (self->is_measuring ||
		(self->stats_begin > 0 && self->stats_events == self->model->events &&
			self->stats_forgotten == self->model->forgotten))
		return;
	self->stats_wait = stats_wait(self);
	if (self->stats_wait || (self->state == APP_TRACE_LIVE && now < self->stats_next))
		return;
	self->stats_begin = now;
	self->stats_events = self->model->events;
	self->stats_forgotten = self->model->forgotten;
	self->stats_end = self->model->end;
	start(self, &self->is_measuring, measure_in_thread, was_measured);
}

/* The old statistics stay valid until a call returns newer ones, which have another address. */
const struct thrum__stats *app_trace_stats(AppTrace *self)
{
	if (!trace_is_there(self))
		return NULL;
	if (self->measured) {
		free_stats(self->stats);
		self->stats = g_steal_pointer(&self->measured);
	}
	start_measuring(self);
	return self->stats;
}

bool app_trace_stats_wait(AppTrace *self, int64_t *end)
{
	*end = self->stats ? self->stats_end : INT64_MIN;
	return self->stats_wait && self->state == APP_TRACE_LIVE;
}

/* ---- Findings, in a thread ----------------------------------------------------------------- */

static void free_findings(void *data)
{
	struct thrum__findings *findings = data;

	if (findings)
		thrum__why_free(findings);
	g_free(findings);
}

static void look_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct thrum__findings *findings = g_new0(struct thrum__findings, 1);

	if (thrum__why_make(APP_TRACE(source)->model, findings) < 0)
		g_clear_pointer(&findings, g_free);
	g_task_return_pointer(task, findings, free_findings);
}

static void has_looked(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);
	int64_t now = g_get_monotonic_time();

	self->is_looking = false;
	self->working--;
	free_findings(self->findings);
	self->findings = g_task_propagate_pointer(G_TASK(task), NULL);
	self->look_next = now + thrum__scene_findings_pause((now - self->look_begin) * 1000) / 1000;
	g_signal_emit_by_name(self, "worked");
	forget_at_last(self);
}

void app_trace_look(AppTrace *self)
{
	bool is_end = self->state == APP_TRACE_ENDED || self->state == APP_TRACE_SHOWN;
	int64_t now = g_get_monotonic_time();

	if (!trace_is_there(self) || self->is_looking || self->looked_at_end ||
		(now < self->look_next && !is_end))
		return;
	self->looked_at_end = is_end;
	self->look_begin = now;
	start(self, &self->is_looking, look_in_thread, has_looked);
}

bool app_trace_take_findings(AppTrace *self, struct thrum__findings *findings)
{
	g_autofree struct thrum__findings *made = g_steal_pointer(&self->findings);

	if (made)
		*findings = *made;
	return made != NULL;
}

/* ---- Bands, in a thread -------------------------------------------------------------------- */

static void free_bands(void *bands)
{
	thrum__bands_destroy(bands);
}

static void arrange_in_thread(GTask *task, gpointer source, gpointer data,
	GCancellable *cancellable)
{
	AppTrace *self = APP_TRACE(source);
	double begin = thread_us();
	struct thrum__bands *bands;

	if (thrum__bands_make(self->ahead ? self->ahead : self->model, NULL, NULL, &bands) < 0)
		bands = NULL;
	self->arrange_us = thread_us() - begin;
	g_task_return_pointer(task, bands, free_bands);
}

static void was_arranged(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);
	int64_t now = g_get_monotonic_time();

	self->is_arranging = false;
	self->working--;
	thrum__bands_destroy(self->bands);
	self->bands = g_task_propagate_pointer(G_TASK(task), NULL);
	self->arrange_next = now +
		MAX((int64_t)(ARRANGE_PART * self->arrange_us),
			ARRANGE_PAUSE * (now - self->arrange_begin));
	if (self->ahead)
		forget_at_last(self);
	else
		g_signal_emit_by_name(self, "worked");
}

static void start_arranging(AppTrace *self, int64_t now)
{
	self->arrange_begin = now;
	start(self, &self->is_arranging, arrange_in_thread, was_arranged);
}

void app_trace_arrange(AppTrace *self)
{
	int64_t now = g_get_monotonic_time();

	if (self->is_arranging || self->ahead ||
		(now < self->arrange_next && self->state == APP_TRACE_LIVE))
		return;
	if (trace_has_old(self)) {
		/* This changes the model, so no thread may read it. */
		if (self->working > 0)
			return;
		self->forget_next = now + FORGET_US;
		self->ahead = thrum__model_forget_begin(self->model,
			self->model->last - self->keep);
	}
	start_arranging(self, now);
}

struct thrum__bands *app_trace_take_bands(AppTrace *self)
{
	return self->ahead ? NULL : g_steal_pointer(&self->bands);
}

/* ---- Rows, in a thread --------------------------------------------------------------------- */

static void free_rows(void *rows)
{
	thrum__scene_free_rows(rows);
}

static void lay_out_in_thread(GTask *task, gpointer source, gpointer data,
	GCancellable *cancellable)
{
	const struct thrum__scene_options options = {.by_lane = true};
	struct thrum__scene_rows *rows;

	if (thrum__scene_rows_make(APP_TRACE(source)->model, &options, trace_note_laid_out, source,
		    &rows) != 0)
		rows = NULL;
	g_task_return_pointer(task, rows, free_rows);
}

static void was_laid_out(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);

	self->is_laying_out = false;
	self->working--;
	self->rows = g_task_propagate_pointer(G_TASK(task), NULL);
	self->has_rows = true;
	g_signal_emit_by_name(self, "worked");
}

void app_trace_lay_out(AppTrace *self)
{
	if (self->is_laying_out || self->has_rows)
		return;
	g_atomic_int_set(&self->percent_laid_out, 0);
	start(self, &self->is_laying_out, lay_out_in_thread, was_laid_out);
}

int app_trace_percent_laid_out(AppTrace *self)
{
	return g_atomic_int_get(&self->percent_laid_out);
}

bool app_trace_take_rows(AppTrace *self, struct thrum__scene_rows **rows)
{
	bool has_rows = self->has_rows;

	*rows = g_steal_pointer(&self->rows);
	self->has_rows = false;
	return has_rows;
}

/* ---- Critical paths, in a thread ----------------------------------------------------------- */

static void free_paths(void *paths)
{
	thrum__scene_free_paths(paths);
}

static void trace_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct thrum__paths *paths;

	if (thrum__scene_paths_make(APP_TRACE(source)->model, &paths) < 0)
		paths = NULL;
	g_task_return_pointer(task, paths, free_paths);
}

static void were_traced(GObject *source, GAsyncResult *task, gpointer data)
{
	AppTrace *self = APP_TRACE(source);

	self->is_tracing = false;
	self->working--;
	self->paths = g_task_propagate_pointer(G_TASK(task), NULL);
	self->has_paths = true;
	g_signal_emit_by_name(self, "worked");
	g_signal_emit_by_name(self, "changed");
	forget_at_last(self);
}

void app_trace_make_paths(AppTrace *self)
{
	if (self->is_tracing || self->has_paths || !trace_is_there(self))
		return;
	start(self, &self->is_tracing, trace_in_thread, were_traced);
}

bool app_trace_take_paths(AppTrace *self, struct thrum__paths **paths)
{
	bool has_paths = self->has_paths;

	*paths = g_steal_pointer(&self->paths);
	self->has_paths = false;
	return has_paths;
}

/* ---- Why a task was slow, in a thread ------------------------------------------------------ */

void app_slow_free(struct app_slow *slow)
{
	if (slow && slow->has_flame)
		thrum__slow_flame_free(&slow->flame);
	if (slow)
		thrum__slow_answer_free(&slow->answer);
	g_free(slow);
}

static void free_slow(void *slow)
{
	app_slow_free(slow);
}

static void answer_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct app_slow *slow = g_new0(struct app_slow, 1);

	if (thrum__slow_answer_of(APP_TRACE(source)->model, GPOINTER_TO_UINT(data), &slow->answer) <
		0)
		g_clear_pointer(&slow, g_free);
	else
		slow->has_flame = slow->answer.lives.count > 0 &&
			thrum__slow_flame_make(&slow->answer.paths, &slow->answer.lives,
				&slow->flame) == 0;
	g_task_return_pointer(task, slow, free_slow);
}

/* The one who asked for an answer. */
struct asker {
	GAsyncReadyCallback done;
	void *data;
};

/* The answer is used before anything of the model can go. */
static void was_answered(GObject *source, GAsyncResult *task, gpointer data)
{
	g_autofree struct asker *asker = data;
	AppTrace *self = APP_TRACE(source);

	asker->done(source, task, asker->data);
	self->working--;
	forget_at_last(self);
}

void app_trace_ask_slow(AppTrace *self, uint32_t row, GAsyncReadyCallback done, void *data)
{
	struct asker *asker = g_new(struct asker, 1);
	GTask *task = g_task_new(self, NULL, was_answered, asker);

	*asker = (struct asker){done, data};
	self->working++;
	g_task_set_task_data(task, GUINT_TO_POINTER(row), NULL);
	g_task_run_in_thread(task, answer_in_thread);
	g_object_unref(task);
}

struct app_slow *app_trace_slow_finish(GAsyncResult *task)
{
	return g_task_propagate_pointer(G_TASK(task), NULL);
}

/* ---- The end ------------------------------------------------------------------------------- */

void trace_work_finish(AppTrace *self)
{
	free_stats(self->stats);
	free_stats(self->measured);
	free_findings(self->findings);
	thrum__bands_destroy(self->bands);
	thrum__model_ahead_free(self->ahead);
	thrum__scene_free_rows(self->rows);
	thrum__scene_free_paths(self->paths);
}
