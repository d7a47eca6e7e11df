/* SPDX-License-Identifier: ISC */
/* Writes the stage's address, and reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/state.h"
#include "stage/parts.h"

/* Gives the state from which the address says only the differences. A stage has the strip by
 * default, but not if it is_still. The theme is that of the user: an address never contains it when
 * printed, but may set it. */
static void plain_of(const struct thrum__stage *stage, uint32_t part,
	struct thrum__scene_state *state)
{
	thrum__scene_state_default(stage->parts[part].scene, state);
	state->strip = !stage->is_still;
	state->theme = stage->parts[0].scene->state.theme;
}

size_t thrum__stage_state_print(const struct thrum__stage *stage, char *to, size_t size)
{
	struct thrum__base_text line = thrum__base_text_in(to, size);
	struct thrum__scene_state plain;
	char prefix[16];

	if (size > 0)
		to[0] = 0;
	for (uint32_t i = 0; i < stage->count; i++) {
		plain_of(stage, i, &plain);
		prefix[0] = 0;
		if (i > 0)
			snprintf(prefix, sizeof prefix, "%u.", (unsigned)i + 1);
		if (i > 0)
			thrum__stage_inherit(stage, 0, i, &stage->parts[0].scene->state, &plain);
		thrum__scene_address_put(&line, prefix, &stage->parts[i].scene->state, &plain);
		/* Rounded down, so that the sum never exceeds 1000. */
		if (i > 0 && stage->own->has_own_heights)
			thrum__scene_address_number(&line, prefix, "share",
				(int64_t)(stage->parts[i].share * 1000 + 0.01f));
	}
	if (!stage->is_linked)
		thrum__scene_address_number(&line, "", "link", 0);
	if (stage->is_paired)
		thrum__scene_address_number(&line, "", "pair", 1);
	if (stage->panel[0])
		thrum__scene_address_text(&line, "", "panel", stage->panel);
	if (stage->order[0])
		thrum__scene_address_text(&line, "", "order", stage->order);
	if (stage->filter[0])
		thrum__scene_address_text(&line, "", "filter", stage->filter);
	return line.size;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* The text is read three times, since the meaning of a part's pairs depends on other pairs: first
 * those of the stage, then those of the first part, then those of further parts. */
enum reading_round {
	OF_STAGE,
	OF_FIRST,
	OF_OTHERS,
};

struct reading {
	struct thrum__stage *stage;
	struct thrum__scene_state states[THRUM__STAGE_MAX];
	char panel[THRUM__PANEL_MAX], order[THRUM__ORDER_MAX], filter[THRUM__SEARCH_MAX];
	int64_t shares[THRUM__STAGE_MAX]; /* thousandths; the first part has the rest */
	bool has_shares, is_linked, is_paired;
	int round; /* enum reading_round */
};

/* Returns the part, from 0, of a key such as "2.KEY", and moves *key behind the number; 0 for a key
 * without a number. */
static uint32_t part_of(const char **key)
{
	const char *digits = *key;
	uint32_t part = 0;

	while (*digits >= '0' && *digits <= '9' && part < 1000)
		part = part * 10 + (uint32_t)(*digits++ - '0');
	if (*digits != '.' || digits == *key || part < 2)
		return 0;
	*key = digits + 1;
	return part - 1;
}

static const char *take_share(struct reading *reading, uint32_t part, const char *value)
{
	int64_t sum = 0;

	if (!thrum__scene_address_small(value, 1000, &reading->shares[part]))
		return "share is a number from 0 to 1000";
	for (uint32_t i = 1; i < THRUM__STAGE_MAX; i++)
		sum += reading->shares[i];
	reading->has_shares = true;
	return sum > 1000 ? "all shares together are at most 1000" : NULL;
}

/* Takes a word of the front end's. Returns false if the key is none of theirs. */
static bool take_word(struct reading *reading, const char *key, const char *value,
	const char **refusal)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
		const char *refusal;
	} words[] = {
		{"panel", reading->panel, sizeof reading->panel,
			"panel is a word of at most 15 bytes"},
		{"order", reading->order, sizeof reading->order,
			"order is a word of at most 23 bytes"},
		{"filter", reading->filter, sizeof reading->filter,
			"filter is a text of at most 127 bytes"},
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(key, words[i].key) != 0)
			continue;
		*refusal = reading->round != OF_STAGE ||
				thrum__scene_address_unescape(value, words[i].to, words[i].size)
			? NULL
			: words[i].refusal;
		return true;
	}
	return false;
}

static const char *take_pair(void *context, const char *key, const char *value)
{
	struct reading *reading = context;
	uint32_t part = part_of(&key);
	bool is_link = part == 0 && strcmp(key, "link") == 0;
	bool is_twin = part == 0 && strcmp(key, "pair") == 0;
	bool is_share = part > 0 && strcmp(key, "share") == 0;
	const char *refusal;
	int64_t number;

	if (part > 0 && part >= reading->stage->count)
		return "there is no such trace";
	if (part == 0 && take_word(reading, key, value, &refusal))
		return refusal;
	if (reading->round !=
		(is_link || is_twin || is_share ? OF_STAGE
				: part == 0     ? OF_FIRST
						: OF_OTHERS))
		return NULL;
	if (is_share)
		return take_share(reading, part, value);
	if (is_link || is_twin) {
		if (!thrum__scene_address_small(value, 1, &number))
			return is_link ? "link is 0 or 1" : "pair is 0 or 1";
		*(is_link ? &reading->is_linked : &reading->is_paired) = number != 0;
		return NULL;
	}
	return thrum__scene_address_take(&reading->states[part], key, value);
}

static int read_all(struct reading *reading, const char *text, struct thrum_error_info *error)
{
	struct thrum__stage *stage = reading->stage;
	int status = thrum__scene_address_pairs(text, take_pair, reading, error);

	if (status != 0)
		return status;
	stage->is_linked = reading->is_linked;
	stage->is_paired = reading->is_paired;
	thrum__stage_relate(stage);
	for (uint32_t i = 0; i < stage->count; i++)
		plain_of(stage, i, &reading->states[i]);
	reading->round = OF_FIRST;
	status = thrum__scene_address_pairs(text, take_pair, reading, error);
	for (uint32_t i = 1; i < stage->count; i++)
		thrum__stage_inherit(stage, 0, i, &reading->states[0], &reading->states[i]);
	reading->round = OF_OTHERS;
	return status != 0 ? status : thrum__scene_address_pairs(text, take_pair, reading, error);
}

static int put_states(struct thrum__stage *stage, const struct thrum__scene_state *states)
{
	int status = 0;

	for (uint32_t i = 0; i < stage->count && status == 0; i++) {
		stage->parts[i].scene->state = states[i];
		status = thrum__scene_settle(stage->parts[i].scene);
	}
	return status;
}

static void put_shares(struct thrum__stage *stage, const struct reading *reading)
{
	int64_t left = 1000;

	stage->own->has_own_heights = reading->has_shares;
	if (!reading->has_shares) {
		thrum__stage_share_height(stage);
		return;
	}
	for (uint32_t i = 1; i < stage->count; i++) {
		stage->parts[i].share = (float)reading->shares[i] / 1000;
		left -= reading->shares[i];
	}
	stage->parts[0].share = (float)left / 1000;
}

int thrum__stage_state_parse(struct thrum__stage *stage, const char *text,
	struct thrum_error_info *error)
{
	struct reading *reading = calloc(1, sizeof *reading);
	bool was_linked = stage->is_linked, was_paired = stage->is_paired;
	int status;

	if (!reading)
		return -THRUM_E_MEMORY;
	reading->stage = stage;
	reading->is_linked = true;
	status = read_all(reading, text, error);
	if (status == 0) {
		thrum__stage_motion_stop(stage);
		memcpy(stage->panel, reading->panel, sizeof stage->panel);
		memcpy(stage->order, reading->order, sizeof stage->order);
		memcpy(stage->filter, reading->filter, sizeof stage->filter);
		put_shares(stage, reading);
		status = put_states(stage, reading->states);
	} else {
		stage->is_linked = was_linked;
		stage->is_paired = was_paired;
		thrum__stage_relate(stage);
	}
	free(reading);
	thrum__stage_refresh(stage);
	return status < 0 ? status
			  : THRUM__MOVED | THRUM__CHANGED_SELECTION | THRUM__CHANGED_SEARCH;
}
