/* SPDX-License-Identifier: ISC */
/* Runs the searches in order, and keeps and sorts their findings. */
#include "analyse/why/finding.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/why/parts.h"

#define BUDGET (1u << 19) /* tasks that may be searched for those to blame, in all */
#define HOLDERS_MAX 3     /* tasks that hold a lock and have a step of their own */

/* words[i], or "unknown" for an index that has no word. */
static const char *word_of(const char *const *words, int count, int i)
{
	return i >= 0 && i < count ? words[i] : "unknown";
}

const char *thrum__why_class_name(int class)
{
#define THRUM__X(NAME, word_of) word_of,
	static const char *const words[] = {THRUM__FINDINGS(THRUM__X)};

	return word_of(words, THRUM__FINDING_CLASSES, class);
}

const char *thrum__why_step_name(int kind)
{
	static const char *const words[] = {THRUM__STEPS(THRUM__X)};
#undef THRUM__X

	return word_of(words, THRUM__STEP_KINDS, kind);
}

const char *thrum__why_unjudged_name(int reason)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) word,
		THRUM__UNJUDGED(THRUM__X)
#undef THRUM__X
	};

	return reason >= 0 && reason < (int)(sizeof names / sizeof *names) ? names[reason]
									   : "unknown";
}

const char *thrum__why_certainty_name(int certainty)
{
	static const char *const words[] = {"possible", "likely", "certain"};

	return word_of(words, THRUM__CERTAIN + 1, certainty);
}

/* ---- For the searches ---------------------------------------------------------------------- */

struct thrum__finding *thrum__why_add(struct thrum__search *search, int class, int certainty,
	uint32_t task)
{
	struct thrum__finding *finding;

	if (search->each[class] == THRUM__FINDINGS_EACH)
		return NULL;
	search->each[class]++;
	finding = &search->findings->findings[search->findings->count++];
	*finding = (struct thrum__finding){
		.class = (uint8_t) class,
		.certainty = (uint8_t)certainty,
		.task = task,
		.until = search->model->end,
	};
	return finding;
}

bool thrum__why_are_peers(const struct thrum__search *search, uint32_t a, uint32_t b)
{
	uint32_t key = a == b ? THRUM__NONE : thrum__why_peers_key(&search->peers, a);

	return a == b || (key != THRUM__NONE && key == thrum__why_peers_key(&search->peers, b));
}

bool thrum__why_is_alike(const struct thrum__search *search, uint32_t a, uint32_t b)
{
	const struct thrum__model *model = search->model;
	uint16_t site = THRUM__TASK(model, a, site);
	uint32_t key = thrum__why_peers_key(&search->peers, a);

	if (THRUM__TASK(model, a, kind) != THRUM__TASK(model, b, kind))
		return false;
	return site > 0 ? site == THRUM__TASK(model, b, site)
			: key != THRUM__NONE && key == thrum__why_peers_key(&search->peers, b);
}

bool thrum__why_are_named_alike(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	char patterns[2][THRUM__LABEL_PATTERN_MAX];
	size_t size, sizes[2];

	if (!thrum__model_has_row(&model->tasks, b))
		return false;
	for (int i = 0; i < 2; i++) {
		const char *name = thrum__model_task_name(model, i ? b : a, &size);

		sizes[i] = thrum__analyse_label_pattern(name, size, patterns[i]);
	}
	return sizes[0] == sizes[1] && memcmp(patterns[0], patterns[1], sizes[0]) == 0;
}

struct thrum__finding *thrum__why_find_alike(struct thrum__search *search, int class, uint32_t task)
{
	struct thrum__findings *findings = search->findings;

	for (uint32_t i = 0; i < findings->count; i++)
		if (findings->findings[i].class == class &&
			thrum__why_are_peers(search, findings->findings[i].task, task))
			return &findings->findings[i];
	return NULL;
}

struct thrum__step *thrum__why_add_step(struct thrum__finding *finding, int kind, uint32_t task,
	uint32_t other, int64_t time, uint32_t edge)
{
	struct thrum__step *step = &finding->steps[finding->step_count];

	if (finding->step_count == THRUM__STEPS_MAX)
		return NULL;
	finding->step_count++;
	*step = (struct thrum__step){
		.kind = (uint8_t)kind,
		.task = task,
		.other = other,
		.time = time,
		.edge = edge,
	};
	return step;
}

struct thrum__step *thrum__why_add_end(struct thrum__finding *finding,
	const struct thrum__model *model, int kind, uint32_t task, uint32_t other)
{
	return thrum__why_add_step(finding, kind, task, other, THRUM__TASK(model, task, end),
		THRUM__NONE);
}

void thrum__why_move_last(struct thrum__finding *finding, unsigned before)
{
	unsigned last = finding->step_count - 1u;
	struct thrum__step step = finding->steps[last];

	for (; last > before; last--)
		finding->steps[last] = finding->steps[last - 1];
	finding->steps[before] = step;
}

void thrum__why_set_more(struct thrum__step *step, uint32_t more)
{
	if (step)
		step->more = more;
}

/* The task as which people know a holder. */
static uint32_t shown_as(const struct thrum__model *model, uint32_t task)
{
	return thrum__analyse_task_is_pending(model, task)
		? thrum__analyse_task_known_as(model, task)
		: task;
}

/* Adds a step for a hold, if its task is known. Returns whether it is. */
static bool add_holder(const struct thrum__model *model, struct thrum__finding *finding,
	const struct thrum__analyse_hold *hold, uint32_t lock)
{
	uint32_t task = hold->task;

	if (!thrum__model_has_row(&model->tasks, task))
		return false;
	if (thrum__analyse_task_is_pending(model, task))
		thrum__why_add_at(finding, model, THRUM__STEP_HOLDS, shown_as(model, task), lock,
			hold->edge);
	else
		thrum__why_add_step(finding, THRUM__STEP_STILL_HOLDS, task, lock,
			thrum__model_task_end_time(model, task), hold->edge);
	return true;
}

bool thrum__why_has_step(const struct thrum__finding *finding, unsigned from, uint32_t task)
{
	for (unsigned i = from; i < finding->step_count; i++)
		if (finding->steps[i].task == task)
			return true;
	return false;
}

void thrum__why_add_holders(const struct thrum__search *search, struct thrum__finding *finding,
	uint32_t task, uint32_t first)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph, task);
	uint32_t added = 0, again = 0, before = finding->step_count;

	/* Those that ended first, then the others: one that ended is the cause. */
	for (int turn = 0; lock && turn < 3; turn++) {
		for (uint32_t i = 0; i < lock->count && added < HOLDERS_MAX; i++) {
			const struct thrum__analyse_hold *hold = &lock->holds[i];
			bool is_first = hold->task == first;
			bool is_pending = thrum__analyse_task_is_pending(model, hold->task);

			if (turn != (is_first ? 0 : is_pending ? 2 : 1))
				continue;
			if (thrum__why_has_step(finding, before, shown_as(model, hold->task)))
				again++;
			else
				added += add_holder(model, finding, hold, task);
		}
	}
	if (added > 0 && finding->step_count > before)
		finding->steps[finding->step_count - 1].more = lock->count - added - again;
}

int thrum__why_certainty(const struct thrum__search *search, int certainty, int64_t since)
{
	return search->gap > since ? THRUM__POSSIBLE : certainty;
}

bool thrum__why_is_unsure(const struct thrum__search *search, uint32_t task)
{
	return !(THRUM__TASK(search->model, task, flags) & THRUM__TASK_REMEMBERED) &&
		thrum__model_is_unsure(search->model, task);
}

void thrum__why_mark(struct thrum__search *search, uint32_t task, int mark)
{
	const struct thrum__model *model = search->model;

	while (thrum__model_has_row(&model->tasks, task)) {
		uint8_t *old =
			&search->findings->mark[thrum__place(&search->findings->places, task)];

		if (*old >= mark)
			return;
		*old = (uint8_t)mark;
		task = THRUM__TASK(model, task, became);
	}
}

/* ---- All findings -------------------------------------------------------------------------- */

/* The task with whose peers a finding is compared. */
static uint32_t compared_with(const struct thrum__finding *finding)
{
	for (unsigned i = 0; i < finding->step_count; i++)
		if (finding->steps[i].kind == THRUM__STEP_PENDING ||
			finding->steps[i].kind == THRUM__STEP_DUE_LATE)
			return finding->steps[i].task;
	return finding->task;
}

/* Sets each finding's peers, and the median and the longest of their lives. */
static int compare_with_peers(struct thrum__search *search)
{
	struct thrum__findings *findings = search->findings;
	int error = 0;

	for (uint32_t i = 0; i < findings->count && error == 0; i++) {
		struct thrum__finding *finding = &findings->findings[i];
		uint32_t task = compared_with(finding);
		const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

		if (!peer || peer->ended == 0)
			continue;
		finding->peers = peer->ended;
		finding->longest = peer->longest;
		error = thrum__why_peers_usual(&search->peers, task, &finding->usual);
	}
	return error;
}

/* How many steps explain something: that the victim never resolves explains nothing. */
static unsigned explaining_steps(const struct thrum__finding *finding)
{
	unsigned count = 0;

	for (unsigned i = 0; i < finding->step_count; i++)
		count += finding->steps[i].kind != THRUM__STEP_NEVER_RESOLVED;
	return count;
}

/* The order of the findings, for qsort. */
static int compare_findings(const void *a, const void *b)
{
	const struct thrum__finding *x = a, *y = b;
	unsigned of_x = explaining_steps(x), of_y = explaining_steps(y);

	if (x->certainty != y->certainty)
		return x->certainty > y->certainty ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	if (x->steps[0].time != y->steps[0].time)
		return x->steps[0].time < y->steps[0].time ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* ---- Steps --------------------------------------------------------------------------------- */

static int make_room(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct thrum__findings *findings = search->findings;
	int error = thrum__analyse_places_make(model, &findings->places);

	if (error < 0)
		return error;
	findings->mark = calloc(findings->places.count, 1);
	findings->findings = calloc(THRUM__FINDINGS_EACH * THRUM__FINDING_CLASSES,
		sizeof *findings->findings);
	search->cause = malloc(findings->places.count * sizeof *search->cause);
	search->sorts = calloc(findings->places.count, 1);
	if (!findings->mark || !findings->findings || !search->cause || !search->sorts)
		return -THRUM_E_MEMORY;
	memset(search->cause, UINT8_MAX, findings->places.count * sizeof *search->cause); /* NONE */
	THRUM__EACH_LANE (model, lane)
		if (lane->lost_until > search->gap)
			search->gap = lane->lost_until;
	/* Events that were not recorded are missing, too. */
	for (int part = THRUM__PART_LIFE; part <= THRUM__PART_SWITCH; part++)
		if (thrum__model_unrecorded_until(model, part) > search->gap)
			search->gap = thrum__model_unrecorded_until(model, part);
	return 0;
}

static int make_peers(struct thrum__search *search)
{
	return thrum__why_peers_make(search->model, &search->findings->places, &search->peers);
}

static int make_graph(struct thrum__search *search)
{
	return thrum__analyse_graph_make(search->model, &search->findings->places, &search->graph);
}

static int sort_tasks(struct thrum__search *search)
{
	thrum__why_sort_tasks(&search->peers, &search->graph, search->sorts);
	return 0;
}

static int sort_findings(struct thrum__search *search)
{
	struct thrum__findings *findings = search->findings;

	qsort(findings->findings, findings->count, sizeof *findings->findings,
		compare_findings); /* few */
	return 0;
}

/* Adds what others like a task tell, and what a search through all turns tells of signals that were left out,
 * slots of loops that were lost, and tasks that weren't ended. The search is made only where a finding, a
 * program at rest, or an old task asks. */
static int add_losses(struct thrum__search *search)
{
	struct thrum__odd_search *odd = &search->findings->odd;

	thrum__why_add_ways(search);
	thrum__why_add_left_out(odd, search->findings);
	thrum__why_add_drained(odd, search->findings);
	thrum__why_add_slots(odd, search->findings);
	thrum__why_add_unended(odd, search->findings);
	thrum__why_add_one_each(search->model, search->findings);
	thrum__why_add_in_vain(search);
	thrum__why_add_unsent(search);
	return 0;
}

static int (*const steps[])(struct thrum__search *) = {
	make_room,
	make_peers,
	make_graph,
	sort_tasks,
	thrum__why_find_cycles,
	thrum__why_find_openings,
	thrum__why_find_torn,
	thrum__why_find_ended,
	thrum__why_find_starved,
	thrum__why_find_endless,
	thrum__why_find_unwoken,
	thrum__why_find_unserved_pools,
	thrum__why_find_own_jobs,
	thrum__why_find_stuck,
	thrum__why_find_unclosed,
	thrum__why_find_full_pools,
	thrum__why_find_contended,
	thrum__why_find_leaks,
	thrum__why_find_inside,
	compare_with_peers,
	sort_findings,
	add_losses,
};

struct thrum__why_work {
	struct thrum__search search;
	struct thrum__findings made;
	size_t step;
};

struct thrum__why_work *thrum__why_begin(const struct thrum__model *model)
{
	struct thrum__why_work *work = calloc(1, sizeof *work);

	if (!work)
		return NULL;
	work->made.odd.model = model;
	work->search = (struct thrum__search){.model = model,
		.findings = &work->made,
		.gap = -1,
		.endless = THRUM__NONE,
		.budget = BUDGET};
	return work;
}

struct thrum__odd_search *thrum__why_odd(struct thrum__why_work *work)
{
	return &work->made.odd;
}

bool thrum__why_is_explained(const struct thrum__why_work *work)
{
	for (uint32_t i = 0; i < work->made.count; i++)
		if (work->made.findings[i].certainty != THRUM__POSSIBLE)
			return true;
	return false;
}

int thrum__why_go_on(struct thrum__why_work *work)
{
	int more = steps[work->step](&work->search);

	return more != 0 ? more : ++work->step < sizeof steps / sizeof *steps;
}

void thrum__why_end(struct thrum__why_work *work, struct thrum__findings *findings)
{
	if (!work)
		return;
	if (findings)
		*findings = work->made;
	else
		thrum__why_free(&work->made);
	thrum__why_peers_free(&work->search.peers);
	thrum__analyse_graph_free(&work->search.graph);
	free(work->search.cause);
	free(work->search.sorts);
	free(work->search.process);
	free(work->search.sites);
	free(work);
}

int thrum__why_make(const struct thrum__model *model, struct thrum__findings *findings)
{
	struct thrum__why_work *work = thrum__why_begin(model);
	int more = work ? 1 : -THRUM_E_MEMORY;

	while (more > 0)
		more = thrum__why_go_on(work);
	thrum__why_end(work, more < 0 ? NULL : findings);
	return more;
}

void thrum__why_free(struct thrum__findings *findings)
{
	free(findings->findings);
	free(findings->mark);
	thrum__analyse_odd_free(&findings->odd);
	thrum__analyse_places_free(&findings->places);
	*findings = (struct thrum__findings){0};
}
