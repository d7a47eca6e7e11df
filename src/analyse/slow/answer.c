/* SPDX-License-Identifier: ISC */
/* Finds the slow task and the usual one, and compares their paths. */
#include "analyse/slow/answer.h"

#include <string.h>

/* ---- The tasks ----------------------------------------------------------------------------- */

void thrum__slow_pattern_make(const struct thrum__model *model, uint32_t task,
	struct thrum__slow_pattern *pattern)
{
	size_t size;
	const char *label = thrum__model_task_name(model, task, &size);

	pattern->size = thrum__analyse_label_pattern(label, size, pattern->text);
}

bool thrum__slow_has_pattern(const void *context, const char *label, size_t size)
{
	const struct thrum__slow_pattern *pattern = context;
	char other[THRUM__LABEL_PATTERN_MAX];

	return size > 0 && thrum__analyse_label_pattern(label, size, other) == pattern->size &&
		memcmp(other, pattern->text, pattern->size) == 0;
}

/* Makes a step of a list of the tasks whose names have the pattern of this one's; none if it has no
 * name. */
static int list_alike(struct thrum__slow_answer *answer)
{
	struct thrum__slow_pattern pattern;

	thrum__slow_pattern_make(answer->model, answer->task, &pattern);
	return pattern.size == 0 ? 0
				 : thrum__slow_lives_list(answer->model, answer->paths.heads,
					   thrum__slow_has_pattern, &pattern, &answer->lives);
}

/* Chooses the life of the task, or of the one that became it. */
static void choose_life(struct thrum__slow_answer *answer)
{
	uint32_t task = answer->task, heir = thrum__model_heir(answer->model, task);

	for (uint32_t i = 0; i < answer->lives.count; i++) {
		uint32_t other = answer->lives.items[i].item;

		if (other != task && thrum__model_heir(answer->model, other) != heir)
			continue;
		answer->task = other;
		answer->rank = i + 1;
		if (other == task)
			return;
	}
}

/* ---- The paths ----------------------------------------------------------------------------- */

static bool has_failed(const struct thrum__slow_answer *answer, uint32_t task)
{
	const struct thrum__model *model = answer->model;

	return THRUM__TASK(model, thrum__model_heir(model, task), state) == THRUM__STATE_FAILED;
}

/* Chooses the median of those that did not fail, as the bands' stories do (thrum__bands_usual). If all
 * failed, that of all. */
static void choose_usual(struct thrum__slow_answer *answer)
{
	const struct thrum__lives *lives = &answer->lives;
	uint32_t others = lives->count - (answer->rank > 0), rank = 0;

	answer->usual = THRUM__NONE;
	if (others == 0 && answer->percent == 0)
		return;
	for (uint32_t i = 0; i < lives->count; i++)
		answer->usual_of += !has_failed(answer, lives->items[i].item);
	answer->usual = thrum__slow_lives_at(lives, 50)->item;
	for (uint32_t i = 0; i < lives->count && rank < (answer->usual_of + 1) / 2; i++)
		if (!has_failed(answer, lives->items[i].item)) {
			answer->usual = lives->items[i].item;
			rank++;
		}
}

int thrum__slow_answer_compare(struct thrum__slow_answer *answer)
{
	if (thrum__slow_cause_find(&answer->paths, &answer->path, &answer->usual_path,
		    &answer->cause) < 0 ||
		thrum__slow_permits_find(answer->model, &answer->cause, answer->path.to,
			&answer->permits) < 0)
		return -THRUM_E_MEMORY;
	return thrum__slow_shares_make(&answer->path, &answer->usual_path, &answer->shares);
}

static int make_paths(struct thrum__slow_answer *answer)
{
	choose_usual(answer);
	if (thrum__slow_path_make(&answer->paths, answer->task, &answer->path) < 0 ||
		(answer->usual != THRUM__NONE &&
			thrum__slow_path_make_like(&answer->paths, answer->usual, answer->task,
				&answer->usual_path) < 0))
		return -THRUM_E_MEMORY;
	return thrum__slow_answer_compare(answer);
}

int thrum__slow_answer_make(const struct thrum__model *model,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	unsigned percent, struct thrum__slow_answer *answer)
{
	const struct thrum__base_sort_item *life;

	*answer = (struct thrum__slow_answer){.model = model, .percent = percent};
	if (thrum__slow_paths_init(&answer->paths, model) < 0)
		return -THRUM_E_MEMORY;
	if (thrum__slow_lives_make(model, answer->paths.heads, is_wanted, context, &answer->lives) <
		0) {
		thrum__slow_answer_free(answer);
		return -THRUM_E_MEMORY;
	}
	if (answer->lives.count == 0) {
		thrum__slow_answer_free(answer);
		return 0;
	}
	life = thrum__slow_lives_at(&answer->lives, percent);
	thrum__slow_lives_keep_alike(model, &answer->lives, life->item);
	if (thrum__slow_lives_pace(model, answer->paths.heads, &answer->lives) < 0) {
		thrum__slow_answer_free(answer);
		return -THRUM_E_MEMORY;
	}
	life = thrum__slow_lives_at(&answer->lives, percent);
	answer->task = life->item;
	answer->rank = (uint32_t)(life - answer->lives.items) + 1;
	if (make_paths(answer) == 0)
		return 1;
	thrum__slow_answer_free(answer);
	return -THRUM_E_MEMORY;
}

static int make_rest(struct thrum__slow_answer *answer)
{
	if (thrum__slow_lives_pace(answer->model, answer->paths.heads, &answer->lives) < 0)
		return -THRUM_E_MEMORY;
	choose_life(answer);
	return make_paths(answer);
}

static int step_paths(struct thrum__slow_answer *answer)
{
	return thrum__slow_paths_step(&answer->paths);
}

void thrum__slow_answer_begin(const struct thrum__model *model, uint32_t task,
	struct thrum__slow_answer *answer)
{
	*answer = (struct thrum__slow_answer){.model = model, .task = task};
	thrum__slow_paths_begin(&answer->paths, model);
}

int thrum__slow_answer_go_on(struct thrum__slow_answer *answer)
{
	/* Each returns 1 as long as it is to be called again. */
	static int (*const steps[])(
		struct thrum__slow_answer *) = {step_paths, list_alike, make_rest};
	int more = steps[answer->step](answer);

	return more != 0 ? more : ++answer->step < sizeof steps / sizeof *steps;
}

int thrum__slow_answer_of(const struct thrum__model *model, uint32_t task,
	struct thrum__slow_answer *answer)
{
	int more;

	thrum__slow_answer_begin(model, task, answer);
	do
		more = thrum__slow_answer_go_on(answer);
	while (more > 0);
	if (more < 0)
		thrum__slow_answer_free(answer);
	return more;
}

void thrum__slow_answer_free(struct thrum__slow_answer *answer)
{
	thrum__slow_shares_free(&answer->shares);
	thrum__slow_path_free(&answer->path);
	thrum__slow_path_free(&answer->usual_path);
	thrum__slow_lives_free(&answer->lives);
	thrum__slow_paths_finish(&answer->paths);
	*answer = (struct thrum__slow_answer){0};
}
