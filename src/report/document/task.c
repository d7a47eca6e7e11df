/* SPDX-License-Identifier: ISC */
/*
 * Writes the document of a task. Tasks that became one another, a chain, are one thing to people,
 * so a document is about the whole chain.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "report/document/task.h"
#include "words/words.h"

#define WAIT_CHAIN_MAX 20 /* waits that are followed from one task to the next */
#define SLOW_LINK "why slow?"
#define KINDS_SHOWN 8      /* tasks of the chain whose kinds are shown */
#define KINDS_LOOKED_AT 32 /* kinds of tasks */

/* ---- The chain ----------------------------------------------------------------------------- */

static bool is_member(const struct thrum__document_task_writer *t, uint32_t task)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->tasks[i] == task)
			return true;
	return false;
}

static void find_chain(struct thrum__document_task_writer *t, uint32_t task)
{
	const struct thrum__model *model = t->w.model;

	/* Goes back from the task, turns the list round, then goes forth. */
	for (uint32_t at = task; t->count < THRUM__CHAIN_MAX / 2 &&
		thrum__model_has_row(&model->tasks, at) && !is_member(t, at);
		at = thrum__analyse_task_before(model, at))
		t->tasks[t->count++] = at;
	for (unsigned i = 0; i < t->count / 2; i++) {
		uint32_t other = t->tasks[i];

		t->tasks[i] = t->tasks[t->count - 1 - i];
		t->tasks[t->count - 1 - i] = other;
	}
	for (uint32_t at = THRUM__TASK(model, task, became); t->count < THRUM__CHAIN_MAX - 1 &&
		thrum__model_has_row(&model->tasks, at) && !is_member(t, at);
		at = THRUM__TASK(model, at, became))
		t->tasks[t->count++] = at;
	t->task = task;
	t->heir = thrum__model_heir(model, task);
	if (!is_member(t, t->heir))
		t->tasks[t->count++] = t->heir;
}

/* ---- Names --------------------------------------------------------------------------------- */

/* Whether other tasks have the same name: the same label, or as an unlabelled task the same call
 * site. A label with numbers isn't found, as tallies hold its pattern; the numbers tell it from
 * others. */
static bool is_one_of_many(const struct thrum__document_task_writer *t, uint32_t task)
{
	const struct thrum__tallies *labels = &t->stats->by[THRUM__BY_LABEL];
	size_t size;
	const char *name = thrum__model_task_name(t->w.model, task, &size);
	uint32_t many = 0;

	if (size == 0)
		return thrum__model_site(t->w.model, task) != NULL;
	for (unsigned kind = 0; kind < KINDS_LOOKED_AT && size <= THRUM__LABEL_PATTERN_MAX;
		kind++) {
		uint32_t tally = thrum__base_keys_find(&labels->keys, kind, name, size);

		many += tally == THRUM__NONE ? 0 : labels->tallies[tally].tasks;
	}
	return many > 1;
}

void thrum__document_tell_task(struct thrum__document_task_writer *t, uint32_t task)
{
	const struct thrum__model *model = t->w.model;
	char words[THRUM__DOCUMENT_TEXT];
	size_t size;

	if (!thrum__model_has_row(&model->tasks, task)) {
		thrum__document_write_text(&t->w,
			task == THRUM__NONE ? "nobody" : "a forgotten task");
		return;
	}
	size = thrum__words_task(model, task, words, sizeof words - 32);
	if (size >= sizeof words - 32)
		size = sizeof words - 33;
	if (is_one_of_many(t, task))
		size += (size_t)snprintf(words + size, sizeof words - size,
			model->signed_ids ? " %" PRId64 : " %" PRIu64,
			THRUM__TASK(model, task, id));
	thrum__document_write_link(&t->w, words, size, THRUM__LINK_TO_TASK, task);
}

void thrum__document_tell_for(struct thrum__document_task_writer *t, uint32_t task)
{
	uint32_t request = thrum__analyse_task_is_lock(t->w.model, t->task)
		? thrum__analyse_task_request(t->w.model, task)
		: THRUM__NONE;

	if (request != THRUM__NONE && request != task) {
		thrum__document_tell_task(t, request);
		thrum__document_write_text(&t->w, ", ");
	}
	thrum__document_tell_task(t, task);
}

void thrum__document_tell_part(struct thrum__document_task_writer *t, double part, int64_t time,
	bool is_cut)
{
	thrum__document_write_percent(&t->w, part / (double)time);
	thrum__document_write_text(&t->w, is_cut ? " of the " : " of the time");
	if (!is_cut)
		return;
	thrum__document_write_duration(&t->w, time);
	thrum__document_write_text(&t->w, " recorded");
}

static void write_pair(struct thrum__document_task_writer *t, const char *key)
{
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_PAIR, key);
}

/* ---- Name, kind, state --------------------------------------------------------------------- */

/* Writes the chain as "bind 6 » bind 15". Each is a link, except the task of the document. */
static void write_kinds(struct thrum__document_task_writer *t)
{
	unsigned from = 0, at = 0;

	while (t->tasks[at] != t->task)
		at++;
	if (t->count > KINDS_SHOWN)
		from = at < KINDS_SHOWN / 2 ? 0 : at - KINDS_SHOWN / 2;
	if (from > 0)
		thrum__document_write_text(&t->w, "… » ");
	for (unsigned i = from; i < t->count && i < from + KINDS_SHOWN; i++) {
		char words[128];
		size_t size = thrum__words_kind_and_id(t->w.model, t->tasks[i], words,
			sizeof words);

		if (i > from)
			thrum__document_write_text(&t->w, " » ");
		if (t->tasks[i] == t->task)
			thrum__document_write_bytes(&t->w, words, size);
		else
			thrum__document_write_link(&t->w, words, size, THRUM__LINK_TO_TASK,
				t->tasks[i]);
	}
	if (from + KINDS_SHOWN < t->count)
		thrum__document_write_text(&t->w, " » …");
}

static void write_head(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	bool should = false;
	char words[THRUM__DOCUMENT_TEXT], kind[128];
	size_t size = thrum__words_task(model, t->task, words, sizeof words);

	thrum__document_write_paragraph(&t->w,
		t->run == THRUM__NONE ? THRUM__ROLE_TITLE : THRUM__ROLE_SECTION, "");
	if (t->run != THRUM__NONE)
		thrum__document_write_text(&t->w, "Its task: ");
	thrum__document_write_bytes(&t->w, words, size < sizeof words ? size : sizeof words - 1);
	for (unsigned i = 0; i < t->count; i++)
		should |= THRUM__TASK(model, t->tasks[i], flags) & THRUM__TASK_SHOULD_RESOLVE;
	/* A task without a name has its kind as the title already. */
	thrum__words_kind_and_id(model, t->task, kind, sizeof kind);
	if (t->count == 1 && !should && strcmp(words, kind) == 0)
		return;
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_REMARK, "");
	write_kinds(t);
	if (should)
		thrum__document_write_text(&t->w, " · should resolve");
}

/* Whether the task runs while no other does: a lane's own, or mirage-profile's main context. */
static bool is_idle(const struct thrum__document_task_writer *t)
{
	return THRUM__TASK(t->w.model, t->heir, flags) & THRUM__TASK_LANE ||
		thrum__words_is_main_context(t->w.model, t->heir);
}

/* Writes whether a lock is free, or who holds it at the end. */
static void write_holders(struct thrum__document_task_writer *t)
{
	struct thrum__analyse_hold holds[THRUM__HOLDS_MAX];
	struct thrum__analyse_lock lock;

	write_pair(t, "State");
	thrum__analyse_lock_look(t->w.model, t->task, &lock, holds);
	thrum__document_write_text(&t->w,
		lock.count == 0 ? "free at the end" : "at the end held by ");
	for (uint32_t i = 0; i < lock.count; i++) {
		if (i > 0)
			thrum__document_write_text(&t->w, ", ");
		if (holds[i].task == THRUM__NONE)
			thrum__document_write_text(&t->w, "a task that isn't known");
		else
			thrum__document_tell_task(t,
				thrum__analyse_task_known_as(t->w.model, holds[i].task));
	}
}

static void write_state(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	int state = THRUM__TASK(model, t->heir, state);
	bool stuck = false;

	for (unsigned i = 0; i < t->count; i++)
		stuck |= thrum__model_is_stuck(model, t->tasks[i]);
	write_pair(t, "State");
	if (stuck)
		thrum__document_write_bad(&t->w, "never resolved");
	else if (state == THRUM__STATE_FAILED)
		thrum__document_write_bad(&t->w, "failed");
	else if (is_idle(t))
		thrum__document_write_text(&t->w, "runs when no other task does");
	else
		thrum__document_write_text(&t->w, thrum__model_state_name(state));
	if (thrum__model_has_row(&model->tasks, t->heir) &&
		*thrum__model_string(model, THRUM__TASK(model, t->heir, failure), NULL)) {
		thrum__document_write_text(&t->w, ": ");
		thrum__document_write_string(&t->w, THRUM__TASK(model, t->heir, failure));
	}
	if (thrum__model_is_unsure(model, t->heir))
		thrum__document_write_text(&t->w, "; events are missing, so this may be wrong");
}

/* Tells what the kind is. */
static void write_kind(struct thrum__document_task_writer *t)
{
	int kind = THRUM__TASK(t->w.model, t->task, kind);
	const char *help = thrum__words_kind_help(kind);

	if (!*help)
		return;
	write_pair(t, "Kind");
	thrum__document_write_text(&t->w, thrum_kind_name(kind));
	thrum__document_write_text(&t->w, ": ");
	thrum__document_write_text(&t->w, help);
}

static void write_site(struct thrum__document_task_writer *t)
{
	const struct thrum_trace_site *site = thrum__model_site(t->w.model, t->task);
	char place[400];
	int size;

	if (!site)
		return;
	write_pair(t, "Site");
	thrum__document_write_text(&t->w, site->function);
	thrum__document_write_text(&t->w, *site->function ? ", " : "");
	size = snprintf(place, sizeof place, site->line ? "%s:%" PRIu32 : "%s", site->file,
		site->line);
	thrum__document_write_link(&t->w, place,
		size < (int)sizeof place ? (size_t)size : sizeof place - 1, THRUM__LINK_TO_SITE,
		t->task);
}

/* ---- Times --------------------------------------------------------------------------------- */

static void write_beginning(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint32_t first = t->tasks[0];
	bool simplify = t->stats->simplify;
	int64_t created = THRUM__TASK(model, first, created);
	uint32_t parent = simplify ? THRUM__TASK(model, first, parent)
				   : THRUM__TASK(model, first, creator);

	write_pair(t, "Begins");
	if (THRUM__TASK(model, first, flags) & THRUM__TASK_PREEXISTING) {
		thrum__document_write_text(&t->w, "before the trace");
		return;
	}
	thrum__document_write_time(&t->w, t->start);
	if (parent != THRUM__NONE) {
		thrum__document_write_text(&t->w, ", from ");
		thrum__document_tell_task(t, parent);
	}
	if (t->start == created || THRUM__TASK(model, first, creator) == THRUM__NONE)
		return;
	write_pair(t, "Created at");
	thrum__document_write_time(&t->w, created);
	thrum__document_write_text(&t->w, " by ");
	thrum__document_tell_task(t, THRUM__TASK(model, first, creator));
}

/* The latest edge by which the chain's last task was resolved, failed or was cancelled, or NONE. */
static uint32_t ending_edge(const struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint32_t edge = THRUM__TASK(model, t->heir, edge_in);

	for (; thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in)) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_FAIL ||
			kind == THRUM__EDGE_CANCEL)
			return edge;
	}
	return THRUM__NONE;
}

static void write_end(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	int state = THRUM__TASK(model, t->heir, state);
	uint32_t edge = ending_edge(t), from;

	if (THRUM__TASK(model, t->heir, end) == THRUM__OPEN) {
		write_pair(t, "Last activity");
		thrum__document_write_time(&t->w, THRUM__TASK(model, t->heir, last));
		return;
	}
	write_pair(t, "Ends");
	thrum__document_write_time(&t->w, THRUM__TASK(model, t->heir, end));
	from = edge == THRUM__NONE ? edge : THRUM__EDGE(model, edge, from);
	if (from == THRUM__NONE || state == THRUM__STATE_BECAME)
		return;
	write_pair(t,
		state == THRUM__STATE_FAILED              ? "Failed by"
			: state == THRUM__STATE_CANCELLED ? "Cancelled by"
							  : "Resolved by");
	if (from == t->heir)
		thrum__document_write_text(&t->w, "itself");
	else
		thrum__document_tell_task(t, from);
}

/* How many ns of a run lie between two times. Unsigned, as a damaged trace may make sums wrap. */
static uint64_t run_between(const struct thrum__model *model, uint32_t run, int64_t from,
	int64_t to)
{
	int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

	start = start < from ? from : start;
	end = end > to ? to : end;
	return end > start ? (uint64_t)thrum__base_time_between(start, end) : 0;
}

/* Writes how long the chain took, or has been pending: the number that all front ends tell of it. */
static void write_took(struct thrum__document_task_writer *t)
{
	bool is_open = THRUM__TASK(t->w.model, t->heir, end) == THRUM__OPEN;
	char words[64];

	if (is_idle(t) || t->end < t->start)
		return;
	write_pair(t, "Life");
	thrum__words_duration(thrum__base_time_between(t->start, t->end), 3, words, sizeof words);
	thrum__document_write_text(&t->w, is_open ? "≥ " : "");
	thrum__document_write_text(&t->w, words);
}

static void write_times(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint64_t running = 0, inside = 0, after = 0;
	bool has_life = !is_idle(t);
	uint32_t stretches = 0;

	for (unsigned i = 0; i < t->count; i++) {
		uint32_t run = THRUM__TASK(model, t->tasks[i], run);

		for (; thrum__model_has_row(&model->runs, run);
			run = THRUM__RUN(model, run, prev)) {
			running += (uint64_t)thrum__stats_run_length(model, run);
			inside += run_between(model, run, t->start, t->end);
			/* A task may resolve and then run on. */
			after += has_life ? run_between(model, run, t->end, INT64_MAX) : 0;
			stretches++;
		}
	}
	write_pair(t, thrum__analyse_task_is_lane(model, t->heir) ? "Between tasks" : "Running");
	if (stretches == 0)
		thrum__document_write_text(&t->w, "no run is recorded");
	else
		thrum__document_write_duration(&t->w, (int64_t)(running - after));
	if (stretches > 1) {
		thrum__document_write_text(&t->w, " in ");
		thrum__document_write_number(&t->w, stretches);
		thrum__document_write_text(&t->w, " stretches");
	}
	if (after > 0) {
		thrum__document_write_text(&t->w, "; ran on for ");
		thrum__document_write_duration(&t->w, (int64_t)after);
		thrum__document_write_text(&t->w, " after its end");
	}
	if (is_idle(t) || t->end < t->start)
		return;
	write_pair(t, "Waiting");
	thrum__document_write_duration(&t->w,
		(int64_t)((uint64_t)thrum__base_time_between(t->start, t->end) - inside));
	thrum__document_write_text(&t->w, " · ");
	thrum__document_write_link(&t->w, SLOW_LINK, strlen(SLOW_LINK), THRUM__LINK_TO_SLOW,
		t->task);
}

/* ---- Waits --------------------------------------------------------------------------------- */

/* Writes the task that a wait is for, the task that it became, and the holder of a lock. */
static void write_awaited(struct thrum__document_task_writer *t,
	const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = t->w.model;
	uint32_t to = wait->is_link ? wait->on : THRUM__EDGE(model, wait->edge, to);

	if (to != wait->on && thrum__model_has_row(&model->tasks, to)) {
		thrum__document_tell_task(t, to);
		thrum__document_write_text(&t->w, " » ");
	}
	thrum__document_tell_task(t, wait->on);
	if (wait->next != wait->on && wait->next != THRUM__NONE) {
		thrum__document_write_text(&t->w, ", held by ");
		thrum__document_tell_task(t, wait->next);
	}
}

/* Writes a wait, and the waits of the task that could end it, and so on to a task that waits for
 * nothing, or to a task that came before. */
static void write_chain_of_waits(struct thrum__document_task_writer *t,
	const struct thrum__analyse_wait *first)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX] = {*first};
	uint32_t seen[WAIT_CHAIN_MAX] = {t->heir}, at = t->heir;

	for (unsigned count = 1; count < WAIT_CHAIN_MAX; count++) {
		if (count > 1)
			thrum__document_write_text(&t->w, " › ");
		write_awaited(t, &waits[0]);
		at = waits[0].next;
		for (unsigned i = 0; i < count; i++) {
			if (seen[i] == at) {
				thrum__document_write_bad(&t->w, ": a cycle");
				return;
			}
		}
		if (at == THRUM__NONE || thrum__analyse_waits_of(t->w.model, at, waits) == 0)
			return;
		seen[count] = at;
	}
	thrum__document_write_text(&t->w, " › …");
}

static void write_waits(struct thrum__document_task_writer *t)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	unsigned count = 0;

	if (THRUM__TASK(t->w.model, t->heir, state) == THRUM__STATE_PENDING)
		count = thrum__analyse_waits_of(t->w.model, t->heir, waits);
	for (unsigned i = 0; i < count; i++) {
		write_pair(t, i == 0 ? "Waits for" : "");
		write_chain_of_waits(t, &waits[i]);
	}
}

/* Writes the task that works on the message for whose answer this one stands. */
static void write_server(struct thrum__document_task_writer *t)
{
	uint32_t server = thrum__analyse_task_server(t->w.model, t->tasks[0]);

	if (server == THRUM__NONE)
		return;
	write_pair(t, "Served by");
	thrum__document_tell_task(t, server);
}

/* The latest edge by which the chain read a result, or NONE. */
static uint32_t waking_edge(const struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint32_t latest = THRUM__NONE;

	for (unsigned i = 0; i < t->count; i++) {
		uint32_t edge = THRUM__TASK(model, t->tasks[i], edge_out);

		while (thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ)
			edge = THRUM__EDGE(model, edge, prev_out);
		if (thrum__model_has_row(&model->edges, edge) &&
			(latest == THRUM__NONE || edge > latest))
			latest = edge;
	}
	return latest;
}

static void write_waker(struct thrum__document_task_writer *t)
{
	uint32_t edge = waking_edge(t);

	if (edge == THRUM__NONE || THRUM__EDGE(t->w.model, edge, to) == t->heir)
		return;
	write_pair(t, "Woken by");
	thrum__document_tell_task(t, THRUM__EDGE(t->w.model, edge, to));
	thrum__document_write_text(&t->w, ", ");
	thrum__document_write_time(&t->w, THRUM__EDGE(t->w.model, edge, time));
}

/* ---- A run ---------------------------------------------------------------------------------- */

/* Writes about the run with which the document begins. */
static void write_run(struct thrum__document_task_writer *t)
{
	const struct thrum__model *model = t->w.model;
	uint32_t request, known = thrum__analyse_task_known_as(model, t->task), lane, own;

	if (t->run == THRUM__NONE)
		return;
	lane = THRUM__RUN(model, t->run, lane);
	own = lane < model->lane_count ? model->lanes[lane].task : THRUM__NONE;
	request = thrum__analyse_run_request(model, t->run);
	thrum__document_write_paragraph(&t->w, THRUM__ROLE_TITLE, "");
	thrum__document_write_text(&t->w, "A run of ");
	thrum__document_write_duration(&t->w, t->to - t->from);
	write_pair(t, "From");
	thrum__document_write_time(&t->w, t->from);
	thrum__document_write_until(&t->w, t->to);
	write_pair(t, "Thread");
	if (thrum__model_has_row(&model->tasks, own))
		thrum__document_tell_task(t, own);
	else
		thrum__document_tell_lane(t, lane);
	if (request != THRUM__NONE && request != t->task) {
		write_pair(t, "Request");
		thrum__document_tell_task(t, request);
	}
	if (known != t->task && known != request) {
		write_pair(t, "Part of");
		thrum__document_tell_task(t, known);
	}
	thrum__document_tell_done(t);
}

/* ---- The document -------------------------------------------------------------------------- */

/* Finds the chain, its start and its end. */
static void begin_chain(struct thrum__document_task_writer *t, uint32_t task)
{
	const struct thrum__model *model = t->w.model;
	uint32_t first;

	find_chain(t, task);
	first = t->tasks[0];
	t->start = t->stats->simplify || THRUM__TASK(model, first, flags) & THRUM__TASK_PREEXISTING
		? THRUM__TASK(model, first, start)
		: THRUM__TASK(model, first, created);
	t->end = THRUM__TASK(model, t->heir, end);
	if (t->end == THRUM__OPEN)
		t->end = model->end;
}

static void begin_run(struct thrum__document_task_writer *t, uint32_t run)
{
	const struct thrum__model *model = t->w.model;

	t->run = thrum__model_has_row(&model->runs, run) ? run : THRUM__NONE;
	t->from = 0;
	t->to = -1;
	if (t->run == THRUM__NONE)
		return;
	t->from = THRUM__RUN(model, run, start);
	t->to = t->from + thrum__stats_run_length(model, run);
}

int thrum__document_task(const struct thrum__stats *stats, uint32_t task, uint32_t run,
	struct thrum__document *document)
{
	struct thrum__document_task_writer t = {.stats = stats};

	thrum__document_write_begin(&t.w, stats->model, document);
	if (!thrum__model_has_row(&stats->model->tasks, task))
		return 0;
	begin_chain(&t, task);
	begin_run(&t, run);
	write_run(&t);
	write_head(&t);
	if (thrum__analyse_task_is_lock(stats->model, task))
		write_holders(&t);
	else
		write_state(&t);
	write_beginning(&t);
	write_end(&t);
	/* A lock neither runs nor waits. */
	if (!thrum__analyse_task_is_lock(stats->model, task)) {
		write_took(&t);
		write_times(&t);
	}
	write_waits(&t);
	write_server(&t);
	write_waker(&t);
	write_kind(&t);
	write_site(&t);
	thrum__document_tell_lock(&t);
	thrum__document_tell_lane_times(&t);
	thrum__document_tell_lists(&t);
	return thrum__document_write_end(&t.w);
}
