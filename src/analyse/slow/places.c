/* SPDX-License-Identifier: ISC */
/* Finds a slow wait and a usual one among those that begin in a function, and compares their paths. */
#include <stdlib.h>
#include <string.h>

#include "analyse/slow/answer.h"
#include "base/array.h"
#include "base/time.h"

/* Whether a wait begins in a function of this name, or, if it is NULL, in one that is wanted. */
struct place {
	bool (*is_wanted)(const void *context, const char *function, size_t size);
	const void *context;
	const char *function;
};

static const char *function_of(const struct thrum__model *model, uint32_t wait)
{
	const struct thrum_trace_site *site = thrum__model_edge_site(model, wait);

	return site ? site->function : "";
}

static bool is_there(const struct thrum__model *model, const struct place *place, uint32_t wait)
{
	const char *function = function_of(model, wait);

	return place->function ? strcmp(function, place->function) == 0
			       : place->is_wanted(place->context, function, strlen(function));
}

/* Adds a wait that ends at a time. */
static int add_wait(const struct thrum__model *model, struct thrum__lives *lives, uint32_t *room,
	uint32_t wait, int64_t end)
{
	struct thrum__base_sort_item *grown = thrum__base_grow(lives->items, room,
		lives->count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	lives->items = grown;
	grown[lives->count++] =
		(struct thrum__base_sort_item){thrum__base_time_between(THRUM__EDGE(model, wait,
										time),
						       end),
			wait};
	return 0;
}

/* Whether an edge ends its task's latest wait. */
static bool ends_wait(const struct thrum__model *model, uint32_t edge, uint32_t wait)
{
	int kind = THRUM__EDGE(model, edge, kind);

	return wait != THRUM__NONE &&
		THRUM__EDGE(model, edge, to) == THRUM__EDGE(model, wait, to) &&
		(kind == THRUM__EDGE_READ ||
			(kind == THRUM__EDGE_LOCK && !thrum__model_was_taken_before(model, edge)));
}

/* Lists the waits that begin there and have ended. `latest` is each task's latest wait there, or NONE. */
static int list_waits(const struct thrum__model *model, const struct place *place, uint32_t *latest,
	struct thrum__lives *lives)
{
	uint32_t room = 0;

	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		uint32_t from = thrum__model_has_row(&model->edges, edge)
			? THRUM__EDGE(model, edge, from)
			: THRUM__NONE;

		if (!thrum__model_has_row(&model->tasks, from))
			continue;
		if (ends_wait(model, edge, latest[from])) {
			if (add_wait(model, lives, &room, latest[from],
				    THRUM__EDGE(model, edge, time)) < 0)
				return -THRUM_E_MEMORY;
			latest[from] = THRUM__NONE;
		} else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT) {
			latest[from] = is_there(model, place, edge) ? edge : THRUM__NONE;
		}
	}
	return 0;
}

/* Sorts the waits, the shortest first. */
static int sort_waits(struct thrum__lives *lives)
{
	struct thrum__base_sort_item *room = malloc((lives->count + UINT64_C(1)) * sizeof *room);

	if (!room)
		return -THRUM_E_MEMORY;
	thrum__base_sort(lives->items, room, lives->count, NULL, NULL);
	free(room);
	return 0;
}

static int make_lives(const struct thrum__model *model, const struct place *place,
	struct thrum__lives *lives)
{
	uint32_t *latest = malloc((model->tasks.count + UINT64_C(1)) * sizeof *latest);
	int error = latest ? 0 : -THRUM_E_MEMORY;

	thrum__slow_lives_free(lives);
	if (latest)
		memset(latest, UINT8_MAX, model->tasks.count * sizeof *latest); /* NONE */
	if (error == 0)
		error = list_waits(model, place, latest, lives);
	free(latest);
	return error < 0 ? error : sort_waits(lives);
}

/* Makes the path of a wait, which compares with that of a task. */
static int make_path(struct thrum__slow_answer *answer, const struct thrum__base_sort_item *wait,
	uint32_t like, struct thrum__path *path)
{
	int64_t from = THRUM__EDGE(answer->model, wait->item, time);

	from = from > 0 ? from : 0;
	return thrum__slow_path_make_between(&answer->paths,
		THRUM__EDGE(answer->model, wait->item, from), like, from, from + wait->key, path);
}

static int make_answer(struct thrum__slow_answer *answer)
{
	const struct thrum__model *model = answer->model;
	const struct thrum__base_sort_item *slow = thrum__slow_lives_at(&answer->lives,
		answer->percent);
	const struct thrum__base_sort_item *usual = thrum__slow_lives_at(&answer->lives, 50);

	answer->function = function_of(model, slow->item);
	answer->task = THRUM__EDGE(model, slow->item, from);
	answer->rank = (uint32_t)(slow - answer->lives.items) + 1;
	answer->usual = THRUM__NONE;
	if (make_path(answer, slow, answer->task, &answer->path) < 0)
		return -THRUM_E_MEMORY;
	if (answer->lives.count > 1) {
		answer->usual = THRUM__EDGE(model, usual->item, from);
		answer->usual_of = answer->lives.count;
		if (make_path(answer, usual, answer->task, &answer->usual_path) < 0)
			return -THRUM_E_MEMORY;
	}
	return thrum__slow_answer_compare(answer);
}

int thrum__slow_answer_at(const struct thrum__model *model,
	bool (*is_wanted)(const void *context, const char *function, size_t size),
	const void *context, unsigned percent, struct thrum__slow_answer *answer)
{
	struct place place = {.is_wanted = is_wanted, .context = context};
	int error;

	*answer = (struct thrum__slow_answer){.model = model, .percent = percent};
	error = thrum__slow_paths_init(&answer->paths, model);
	if (error == 0)
		error = make_lives(model, &place, &answer->lives);
	if (error == 0 && answer->lives.count > 0) {
		/* Several functions may be wanted. */
		place.function = function_of(model,
			thrum__slow_lives_at(&answer->lives, percent)->item);
		error = make_lives(model, &place, &answer->lives);
	}
	if (error == 0 && answer->lives.count > 0)
		error = make_answer(answer);
	if (error == 0 && answer->lives.count > 0)
		return 1;
	thrum__slow_answer_free(answer);
	return error;
}
