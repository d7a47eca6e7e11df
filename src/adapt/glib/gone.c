/* SPDX-License-Identifier: ISC */
/*
 * Sources that are gone. A task, or a thread that waits for a condition, may need a source that somebody
 * removed, or that isn't attached again as it was before. That is told only if nothing happens any more but
 * that timeouts come round: all other threads wait, and nothing comes from outside, nor a signal. A timeout
 * that did something once may do it again. One that never did may count its rounds, or wait for its time: so
 * it has to come often, and the finding is but possible.
 */
#define _GNU_SOURCE
#include <gio/gio.h>

#include "adapt/base/process.h"
#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#define LONG INT64_C(500000000) /* ns in which nothing happens */
#define KINDS 128u              /* callbacks; if there are more, nothing is told */
#define PARENTS 4               /* in whose runs others were attached */
#define HABIT 2                 /* so often a source was attached before */
#define LIMITS 3                /* so often one was removed before it came */
#define ROUNDS 20               /* so often each timeout came since anything else happened, */
#define ROUNDS_LATE 10          /* or so often while a task is far older than others became */
#define LATE 10                 /* so many times as old */
#define ENDED_MIN 4             /* so many tasks tell how old they become */
#define OPEN_MAX 32u            /* tasks; more are not noted */
#define VOICES 16u              /* conditions; more are not noted */
#define REFERS_MAX 16           /* words of a source's data that are searched for a task */

/* The sources with one callback. */
static struct kind {
	const void *_Atomic function; /* NULL: it is free */
	const void *_Atomic attacher; /* of the latest */
	const void *_Atomic remover;  /* of the one that ended last; NULL: it ended by itself */
	void *_Atomic data;
	_Atomic uint32_t made, live, came;
	_Atomic uint32_t timeouts, fresh; /* that are live, and of these, that never came */
	_Atomic uint32_t rounds, turn;    /* how often timeouts came in this turn */
	_Atomic uint32_t ended;           /* a number that grows with each end */
	_Atomic bool has_run;             /* the one that ended last ran before */
	_Atomic bool has_acted;           /* one did something in a run */
	_Atomic bool is_asked;            /* one was attached outside of all runs */
	struct kind *_Atomic parents[PARENTS];
} kinds[KINDS];

static struct open {
	GTask *_Atomic task; /* NULL: it is free */
	_Atomic uint64_t id;
	_Atomic int64_t since;
} open_tasks[OPEN_MAX];

/* How many tasks have ended, and how old they became at most, in ns. */
static _Atomic uint32_t tasks_ended;
static _Atomic int64_t longest;

/* Conditions that are signalled in runs of sources. */
static const void *_Atomic voices[VOICES];

static _Atomic bool are_more, is_strange;
static _Atomic uint32_t turn; /* grows with all that happens but timeouts that come round */
static _Atomic int64_t changed;
static _Atomic uint64_t told;

/* Grows with all that the calling thread does. */
static __thread uint32_t deeds __attribute__((tls_model("initial-exec")));

static void change(void)
{
	deeds++;
	atomic_fetch_add(&turn, 1);
	atomic_store_explicit(&changed, rough_time(), memory_order_relaxed);
	resolve_told(&told);
}

void thrum__adapt_glib_acts(void)
{
	change();
}

/* A timeout that asks for the time may wait for it. */
#define ASK(name) \
	REAL(name) \
	STAND_IN gint64 name(void) \
	{ \
		deeds++; \
		return real_##name(CALLER)(); \
	}
ASK(g_get_monotonic_time)
ASK(g_get_real_time)

void *thrum__adapt_glib_kind(const void *function)
{
	uint32_t at = (uint32_t)((uintptr_t)function >> 2 ^ (uintptr_t)function >> 9);

	for (uint32_t i = 0; function && i < KINDS; i++) {
		struct kind *kind = &kinds[(at + i) % KINDS];
		const void *known = NULL;

		if (atomic_load_explicit(&kind->function, memory_order_relaxed) == function ||
			atomic_compare_exchange_strong(&kind->function, &known, function) ||
			known == function)
			return kind;
	}
	if (function)
		atomic_store(&are_more, true);
	return NULL;
}

/* ---- Sources ----------------------------------------------------------------------------------- */

static void add_parent(struct kind *kind, struct kind *parent)
{
	for (int i = 0; i < PARENTS; i++) {
		struct kind *known = NULL;

		if (atomic_load(&kind->parents[i]) == parent ||
			atomic_compare_exchange_strong(&kind->parents[i], &known, parent) ||
			known == parent)
			return;
	}
}

void thrum__adapt_glib_came_in(struct cell *cell, void *data, void *parent, const void *caller)
{
	struct kind *kind = cell->kind;

	change();
	if (!kind || cell->is_attached)
		return;
	cell->is_attached = true;
	atomic_store(&kind->attacher, caller);
	atomic_store(&kind->data, data);
	atomic_fetch_add(&kind->made, 1);
	atomic_fetch_add(&kind->live, 1);
	if (cell->is_timeout) {
		atomic_fetch_add(&kind->timeouts, 1);
		atomic_fetch_add(&kind->fresh, 1);
	}
	if (parent)
		add_parent(kind, parent);
	else
		atomic_store(&kind->is_asked, true);
}

uint32_t thrum__adapt_glib_runs_source(struct cell *cell)
{
	struct kind *kind = cell->kind;
	bool is_first = !cell->has_run;
	uint32_t now = atomic_load(&turn);

	cell->has_run = true;
	if (is_first || !cell->is_timeout)
		change();
	if (!kind || !cell->is_attached)
		return deeds;
	atomic_fetch_add(&kind->came, 1);
	if (is_first && cell->is_timeout)
		atomic_fetch_sub(&kind->fresh, 1);
	if (atomic_exchange(&kind->turn, now) != now)
		atomic_store(&kind->rounds, 0);
	atomic_fetch_add(&kind->rounds, 1);
	return deeds;
}

void thrum__adapt_glib_ran_source(const struct cell *cell, uint32_t before)
{
	struct kind *kind = cell->kind;

	if (kind && deeds != before)
		atomic_store(&kind->has_acted, true);
}

void thrum__adapt_glib_source_ends(struct cell *cell)
{
	struct kind *kind = cell->kind;

	change();
	if (!kind || !cell->is_attached)
		return;
	if (cell->is_timeout) {
		atomic_fetch_sub(&kind->timeouts, 1);
		if (!cell->has_run)
			atomic_fetch_sub(&kind->fresh, 1);
	}
	atomic_store(&kind->remover, cell->remover);
	atomic_store(&kind->has_run, cell->has_run);
	atomic_store(&kind->ended, atomic_load(&turn));
	atomic_fetch_sub(&kind->live, 1);
	cell->is_attached = false;
}

void thrum__adapt_glib_strange(void)
{
	atomic_store(&is_strange, true);
}

/* ---- Those that wait --------------------------------------------------------------------------- */

static void look(const struct looking *);

void thrum__adapt_glib_looks(void)
{
	atomic_store(&thrum__adapt_looks_gone, look);
}

void thrum__adapt_glib_opened(void *task, thrum_task id)
{
	change();
	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		GTask *none = NULL;

		if (!atomic_compare_exchange_strong(&open_tasks[i].task, &none, task))
			continue;
		atomic_store(&open_tasks[i].since, rough_time());
		atomic_store(&open_tasks[i].id, id);
		atomic_store(&thrum__adapt_looks_gone, look);
		return;
	}
}

static int64_t age_of(const struct open *open)
{
	return rough_time() - atomic_load(&open->since);
}

void thrum__adapt_glib_closed(const void *task)
{
	change();
	for (uint32_t i = 0; i < OPEN_MAX; i++)
		if (atomic_load_explicit(&open_tasks[i].task, memory_order_relaxed) == task) {
			if (age_of(&open_tasks[i]) > atomic_load(&longest))
				atomic_store(&longest, age_of(&open_tasks[i]));
			atomic_fetch_add(&tasks_ended, 1);
			atomic_store(&open_tasks[i].id, 0);
			atomic_store(&open_tasks[i].task, NULL);
		}
}

thrum_task thrum__adapt_glib_open(void)
{
	thrum_task only = THRUM_TASK_NONE;

	for (uint32_t i = 0; i < OPEN_MAX; i++) {
		thrum_task id = atomic_load(&open_tasks[i].id);

		if (id && only)
			return THRUM_TASK_NONE;
		only = id ? id : only;
	}
	return only;
}

void thrum__adapt_glib_signals(const void *condition)
{
	const void *none = NULL;
	const void *_Atomic *voice = &voices[(uintptr_t)condition / 16 % VOICES];

	change();
	if (LIKELY(atomic_load_explicit(voice, memory_order_relaxed) == condition))
		return;
	atomic_compare_exchange_strong(voice, &none, condition);
	atomic_store(&thrum__adapt_looks_gone, look);
}

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Whether a task is far older than others became. Then nothing happens for far longer than it ever took, and
 * fewer rounds tell that timeouts don't help. */
static bool is_any_late(void)
{
	for (uint32_t i = 0; atomic_load(&tasks_ended) >= ENDED_MIN && i < OPEN_MAX; i++)
		if (atomic_load(&open_tasks[i].id) &&
			age_of(&open_tasks[i]) / LATE > atomic_load(&longest))
			return true;
	return false;
}

/* Whether a timeout may be about to go on. Those that never came, and of which many were removed before they
 * came, are time limits. */
static bool may_go_on(const struct kind *kind, uint32_t now, uint32_t rounds)
{
	uint32_t timeouts = atomic_load(&kind->timeouts), fresh = atomic_load(&kind->fresh);

	if (timeouts == 0)
		return false;
	if (atomic_load(&kind->came) == 0)
		return atomic_load(&kind->made) - atomic_load(&kind->live) < LIMITS;
	return fresh > 0 || atomic_load(&kind->has_acted) || atomic_load(&kind->turn) != now ||
		atomic_load(&kind->rounds) < rounds * timeouts;
}

static bool do_timeouts_rest(void)
{
	uint32_t now = atomic_load(&turn);
	int64_t rest = rough_time() - atomic_load(&changed);
	uint32_t rounds = rest >= 2 * LONG && is_any_late() ? ROUNDS_LATE : ROUNDS;

	if (atomic_load(&are_more) || atomic_load(&is_strange) || thrum__adapt_had_handlers() ||
		rest < LONG)
		return false;
	for (uint32_t i = 0; i < KINDS; i++)
		if (atomic_load(&kinds[i].function) && may_go_on(&kinds[i], now, rounds))
			return false;
	return true;
}

static bool do_all_rest(const struct looking *looking)
{
	uint32_t now = atomic_load(&turn);

	return do_timeouts_rest() && thrum__adapt_others_rest(looking) && atomic_load(&turn) == now;
}

/* The same, but for children. */
static bool do_all_but_children_rest(const struct looking *looking)
{
	uint32_t now = atomic_load(&turn);
	return thrum__adapt_glib_has_watched() && do_timeouts_rest() &&
		thrum__adapt_others_rest_beside(looking) && atomic_load(&turn) == now;
}

/* Whether a source's data is a task, or has its address in its first words. */
static bool refers(const struct kind *kind, const GTask *task)
{
	const char *data = atomic_load(&kind->data);
	uintptr_t word;

	if (data == (const char *)task)
		return true;
	for (size_t i = 0; data && i < REFERS_MAX; i++)
		if (!thrum__adapt_process_copy(own_pid(), (uintptr_t)data + i * sizeof word, &word,
			    sizeof word))
			return false;
		else if (word == (uintptr_t)task)
			return true;
	return false;
}

/* Whether sources of a kind were attached again and again in runs, and none is left. */
static bool is_habit(const struct kind *kind)
{
	return atomic_load(&kind->function) && atomic_load(&kind->live) == 0 &&
		atomic_load(&kind->made) >= HABIT && !atomic_load(&kind->is_asked) &&
		!thrum__adapt_glib_is_own(atomic_load(&kind->function));
}

/* Those of another kind that is gone, too, may have attached it. */
static bool has_gone_parent(const struct kind *kind)
{
	for (int i = 0; i < PARENTS; i++) {
		const struct kind *parent = atomic_load(&kind->parents[i]);

		if (parent && parent != kind && is_habit(parent))
			return true;
	}
	return false;
}

/* Returns the kind of which the next source is missing, if there is one alone; else NULL. */
static const struct kind *find_habit(void)
{
	const struct kind *only = NULL;

	for (uint32_t i = 0; i < KINDS; i++) {
		if (!is_habit(&kinds[i]) || has_gone_parent(&kinds[i]))
			continue;
		if (only)
			return NULL;
		only = &kinds[i];
	}
	return only;
}

/* Whether the source was removed before it ran. */
static bool is_removed(const struct kind *kind)
{
	return atomic_load(&kind->remover) && !atomic_load(&kind->has_run);
}

/* Returns the kind that ended last of those that know a task; NULL: there is none. One that is left may count
 * its rounds, and then return the task: so if there is one, the other has to be removed. */
static const struct kind *find_ended(const GTask *task)
{
	const struct kind *last = NULL;
	bool is_any_left = false;

	for (uint32_t i = 0; task && i < KINDS; i++) {
		const struct kind *kind = &kinds[i];

		if (!atomic_load(&kind->function) || atomic_load(&kind->made) == 0 ||
			thrum__adapt_glib_is_own(atomic_load(&kind->function)) ||
			!refers(kind, task))
			continue;
		if (atomic_load(&kind->live) > 0)
			is_any_left = true;
		else if (!last || atomic_load(&kind->ended) > atomic_load(&last->ended))
			last = kind;
	}
	return last && (!is_any_left || is_removed(last)) ? last : NULL;
}

/* Whether timeouts go on. */
static bool are_ticking(void)
{
	for (uint32_t i = 0; i < KINDS; i++)
		if (atomic_load(&kinds[i].timeouts) > 0)
			return true;
	return false;
}

/* Makes the task of the missing source. If timeouts go on, it is a "gone source", which why tells as
 * possible. */
static thrum_task tell(const struct kind *kind)
{
	const void *remover = atomic_load(&kind->remover), *attacher = atomic_load(&kind->attacher);
	char label[2 * PLACE_MAX + 40];

	thrum__adapt_label(label, are_ticking() ? "gone source" : "source",
		atomic_load(&kind->function));
	if (is_removed(kind))
		thrum__adapt_label(label + strlen(label), ", removed by", remover);
	else
		thrum__adapt_label(label + strlen(label), ", which has ended, attached by",
			attacher);
	return thrum__adapt_missing(label, is_removed(kind) ? remover : attacher);
}

/* Records that a waiter waits for a source of this kind. */
static void wait_for(thrum_task waiter, const struct kind *kind)
{
	if (!kind || !waiter)
		return;
	if (!atomic_load(&told))
		atomic_store(&told, tell(kind));
	thrum_task_wait(waiter, atomic_load(&told));
}

/* The first thread, if it waits for a condition which runs of sources signal. Others may be workers, which
 * wait for their next job. */
static void tell_first_thread(const struct kind *kind)
{
	for (uint32_t i = 0; i < VOICES && kind; i++) {
		const void *condition = atomic_load(&voices[i]);
		struct object *object = condition ? thrum__adapt_object((uintptr_t)condition)
						  : NULL;
		thrum_task waited = object ? atomic_load(&object->task) : THRUM_TASK_NONE;

		for (struct thread *t = thrum__adapt_threads(); t && waited; t = t->next)
			if (atomic_load(&t->tid) == (uint32_t)own_pid() && t != thrum__adapt_self &&
				atomic_load(&t->waited) == waited)
				wait_for(atomic_load(&t->task), kind);
	}
}

/* The only GTask may wait for a source whose loop has returned. */
static void tell_unrun(thrum_task open)
{
	thrum_task task = thrum__adapt_glib_tell_unrun();

	if (task) {
		atomic_store(&told, task);
		thrum_task_wait(open, task);
	}
}

static void look(const struct looking *looking)
{
	const struct kind *habit;

	if (atomic_load(&told) || thrum__adapt_glib_look_covered(looking))
		return;
	if (do_all_but_children_rest(looking))
		atomic_store(&told, thrum__adapt_glib_tell_child());
	if (atomic_load(&told) || !do_all_rest(looking))
		return;
	habit = find_habit();
	for (uint32_t i = 0; i < OPEN_MAX && !atomic_load(&told); i++) {
		const struct kind *ended = habit ? habit
						 : find_ended(atomic_load(&open_tasks[i].task));

		wait_for(atomic_load(&open_tasks[i].id), ended);
	}
	if (!atomic_load(&told) && thrum__adapt_glib_open())
		tell_unrun(thrum__adapt_glib_open());
	/* A condition tells less than a task about who is awaited. */
	if (!atomic_load(&told) && rough_time() - atomic_load(&changed) >= 2 * LONG)
		tell_first_thread(habit);
}
