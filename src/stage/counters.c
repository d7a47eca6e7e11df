/* SPDX-License-Identifier: ISC */
/* Shows and hides single counters. */
#include <string.h>

#include "stage/parts.h"

static const char *name_of(const struct thrum__scene *scene, uint32_t counter, size_t *size)
{
	return thrum__model_string(scene->model, scene->model->counters[counter].name, size);
}

/* Returns the place of a counter among the chosen ones; counter_count if it isn't chosen. */
static uint32_t place_of(const struct thrum__scene *scene, uint32_t counter)
{
	const struct thrum__scene_state *state = &scene->state;
	const char *name = name_of(scene, counter, NULL);
	uint32_t i = 0;

	while (i < state->counter_count &&
		strncmp(name, state->counter_shown[i], sizeof state->counter_shown[i] - 1) != 0)
		i++;
	return i;
}

bool thrum__stage_has_counter(const struct thrum__stage *stage, uint32_t part, uint32_t counter)
{
	const struct thrum__scene *scene;

	if (part >= stage->count || counter >= stage->parts[part].scene->model->counter_count)
		return false;
	scene = stage->parts[part].scene;
	if (!scene->state.counters)
		return false;
	return scene->state.counter_count > 0
		? place_of(scene, counter) < scene->state.counter_count
		: counter < THRUM__COUNTERS_BY_DEFAULT;
}

/* Adds a counter to the chosen ones. Returns false if there is no room. */
static bool choose_counter(struct thrum__scene *scene, uint32_t counter)
{
	struct thrum__scene_state *state = &scene->state;
	size_t size;
	const char *name = name_of(scene, counter, &size);
	char *to;

	if (state->counter_count == THRUM__COUNTERS_SHOWN_MAX)
		return false;
	to = state->counter_shown[state->counter_count++];
	memset(to, 0, sizeof state->counter_shown[0]);
	memcpy(to, name,
		size < sizeof state->counter_shown[0] ? size : sizeof state->counter_shown[0] - 1);
	return true;
}

/* Chooses the counters that are shown when none is chosen. */
static void choose_default(struct thrum__scene *scene)
{
	for (uint32_t i = 0; i < scene->model->counter_count && i < THRUM__COUNTERS_BY_DEFAULT; i++)
		choose_counter(scene, i);
}

static void forget_counter(struct thrum__scene_state *state, uint32_t place)
{
	memmove(state->counter_shown[place], state->counter_shown[place + 1],
		(state->counter_count - place - 1u) * sizeof state->counter_shown[0]);
	state->counter_count--;
}

int thrum__stage_counter(struct thrum__stage *stage, uint32_t part, uint32_t counter, bool is_on)
{
	struct thrum__scene_state *state;
	struct thrum__scene *scene;

	if (part >= stage->count || counter >= stage->parts[part].scene->model->counter_count ||
		thrum__stage_has_counter(stage, part, counter) == is_on)
		return 0;
	scene = stage->parts[part].scene;
	state = &scene->state;
	if (!state->counters)
		state->counter_count = 0;
	else if (state->counter_count == 0)
		choose_default(scene);
	if (is_on && !choose_counter(scene, counter))
		return 0;
	if (!is_on)
		forget_counter(state, place_of(scene, counter));
	state->counters = state->counter_count > 0;
	return thrum__stage_share(stage, part) < 0 ? -THRUM_E_MEMORY : THRUM__MOVED;
}
