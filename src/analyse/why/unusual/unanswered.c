/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a thread that left its answer out, where little else is known. The threads that serve an
 * object signal it, or others, in one place, after they went on from waits for things of one name: an answer
 * to each question, or a new state after each change. Since the object was signalled last, a turn ended
 * without that. Unlike odd.c, which sorts turns by the objects that they signal, this sorts them by the
 * place: each one that asks may have a condition of its own.
 */

#include "analyse/graph.h"
#include "analyse/why/unusual/unusual.h"

#define HELD_BACK 64 /* edges of a task that are searched for the wait after which it signalled */
#define TURNS_BACK 8192 /* edges of each thread, from the latest back */
#define WITH_MIN 4      /* so many turns with a signal show that each should give one, */
#define WITH_TIMES 2    /* or so many times as many as lack it */
#define SILENT_MAX 3

/* How threads of one sort serve an object. */
struct service {
	const struct thrum__model *model;
	uint32_t on, like; /* like: a task that signalled it */
	uint32_t source;   /* for which that had waited */
	const struct thrum_trace_site *place;
	int64_t last; /* when the object was signalled last */
	uint32_t with, silent;
	uint32_t task; /* the first that was silent since then */
	int64_t time;
};

/* Whether two tasks for which threads wait begin turns of one sort. Sleeps in different places don't. */
static bool begins_alike(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	return thrum__model_has_row(&model->tasks, a) && thrum__model_has_row(&model->tasks, b) &&
		THRUM__TASK(model, a, kind) == THRUM__TASK(model, b, kind) &&
		(THRUM__TASK(model, a, kind) != THRUM_KIND_TIMER ||
			THRUM__TASK(model, a, site) == THRUM__TASK(model, b, site)) &&
		thrum__why_are_named_alike(model, a, b);
}

/* Finds the latest signal of the object, and what its task had waited for. */
static bool find_service(struct service *service)
{
	const struct thrum__model *model = service->model;
	uint32_t edge = thrum__why_edge_to(model, service->on, THRUM__EDGE_SIGNAL);

	if (edge == THRUM__NONE ||
		!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, from)))
		return false;
	service->like = THRUM__EDGE(model, edge, from);
	service->place = thrum__model_edge_site(model, edge);
	service->last = THRUM__EDGE(model, edge, time);
	service->source = THRUM__NONE;
	THRUM__EDGES_BACK (model, edge, prev_out, HELD_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ) {
			service->source = THRUM__EDGE(model, edge, to);
			break;
		}
	return service->place && service->source != THRUM__NONE &&
		THRUM__TASK(model, service->like, kind) == THRUM_KIND_THREAD;
}

/* Whether a thread ended its latest turn: it has ended, or waits for what begins the next. */
static bool is_over(const struct service *service, uint32_t task)
{
	const struct thrum__model *model = service->model;
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	return !thrum__analyse_task_is_pending(model, task) ||
		(thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			begins_alike(model, service->source, THRUM__EDGE(model, edge, to)));
}

/* Counts the turns of a thread. */
static void count_turns(struct service *service, uint32_t task)
{
	const struct thrum__model *model = service->model;
	bool has_signalled = false, is_known = is_over(service, task);

	THRUM__EDGES_FROM (model, task, edge, TURNS_BACK) {
		uint32_t before = THRUM__EDGE(model, edge, prev_out);
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			has_signalled |= thrum__model_edge_site(model, edge) == service->place;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ ||
			!begins_alike(model, service->source, THRUM__EDGE(model, edge, to)))
			continue;
		/* Some waits are over twice. */
		if (thrum__model_has_row(&model->edges, before) &&
			THRUM__EDGE(model, before, kind) == THRUM__EDGE_READ)
			continue;
		service->with += has_signalled;
		if (!has_signalled && is_known && time > service->last) {
			service->silent++;
			if (service->task == THRUM__NONE || time < service->time) {
				service->task = task;
				service->time = time;
			}
		}
		has_signalled = false;
		is_known = true;
	}
}

static bool find_unanswered(const struct thrum__model *model, uint32_t waiter, uint32_t on,
	struct thrum__step *step)
{
	struct service service = {.model = model, .on = on, .task = THRUM__NONE};

	if (!thrum__model_has_row(&model->tasks, on) || !find_service(&service))
		return false;
	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
			THRUM__TASK(model, task, creator) ==
				THRUM__TASK(model, service.like, creator) &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, service.like, site) &&
			(task == service.like ||
				thrum__why_are_named_alike(model, task, service.like)))
			count_turns(&service, task);
	if (service.with < WITH_MIN || service.silent == 0 || service.silent > SILENT_MAX ||
		service.with / WITH_TIMES < service.silent || service.task == waiter)
		return false;
	*step = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = service.task,
		.other = on,
		.time = service.time,
		.edge = THRUM__NONE,
		.more = service.with};
	return true;
}

/* ---- Findings ------------------------------------------------------------------------------- */

/* Whether a finding but guesses, or tells no more than who waits for whom. */
static bool is_guess(const struct thrum__finding *finding)
{
	if (finding->class == THRUM__FINDING_LOST_WAKE_UP)
		return finding->certainty == THRUM__POSSIBLE;
	for (unsigned i = 0; i < finding->step_count; i++)
		switch (finding->steps[i].kind) {
		case THRUM__STEP_WAITS_FOR:
		case THRUM__STEP_WAITS_IN_CYCLE:
		case THRUM__STEP_MISSES_ROUND:
		case THRUM__STEP_SERVES:
		case THRUM__STEP_SILENT:
		case THRUM__STEP_BEHIND:
		case THRUM__STEP_NEVER_RESOLVED: break;
		case THRUM__STEP_TAKES_LOCK:
			if (finding->steps[i].more > 0)
				return false;
			break;
		default: return false;
		}
	return true;
}

/* Takes the guesses out, and puts a step before all others. */
static void put_first(struct thrum__finding *finding, const struct thrum__step *step)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < finding->step_count; i++)
		switch (finding->steps[i].kind) {
		case THRUM__STEP_SIGNAL_LOST:
		case THRUM__STEP_TAKES_LOCK:
		case THRUM__STEP_MISSES_ROUND: break;
		case THRUM__STEP_WAITS_LATE:
			finding->steps[i].kind = THRUM__STEP_WAITS_FOR; /* fall through */
		default: finding->steps[kept++] = finding->steps[i];
		}
	kept = kept < THRUM__STEPS_MAX ? kept : kept - 1;
	finding->steps[kept] = *step;
	finding->step_count = (uint8_t)(kept + 1);
	thrum__why_move_last(finding, 0);
	if (finding->class == THRUM__FINDING_LOST_WAKE_UP)
		finding->class = THRUM__FINDING_NEVER_RESOLVED;
}

/* Looks for it where a task waits. */
static bool find_for(const struct thrum__model *model, uint32_t task, struct thrum__step *step)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	if (!thrum__model_has_row(&model->tasks, task))
		return false;
	task = thrum__model_heir(model, task);
	return thrum__analyse_waits_of(model, task, waits) > 0 &&
		thrum__analyse_task_is_object(model, waits[0].on) &&
		find_unanswered(model, task, waits[0].on, step);
}

bool thrum__why_add_unanswered(const struct thrum__model *model, struct thrum__finding *finding)
{
	struct thrum__step step;
	bool is_found;

	if (!is_guess(finding))
		return false;
	is_found = find_for(model, finding->task, &step);
	for (unsigned i = 0; i < finding->step_count && !is_found; i++)
		is_found = find_for(model, finding->steps[i].task, &step);
	if (is_found)
		put_first(finding, &step);
	return is_found;
}
