/* SPDX-License-Identifier: ISC */
/*
 * Tells which log line is unlike the others: as nobody looks into the program's text, it may tell why a task
 * hangs. Lines that differ only in numbers are of one sort.
 */
#include "analyse/why/unusual/unusual.h"

#include "analyse/label.h"
#include "base/hash.h"

#include <string.h>

#define NOTES_BACK 8192 /* notes that are searched for log lines, from the latest back */
#define LOGS_MAX 3      /* more log lines while a task hangs are usual, and so is a sort of more */
#define SORTS_MAX 32    /* a program that writes more sorts of lines tells nothing by one of them */

struct sort {
	uint32_t hash;        /* of the pattern */
	uint32_t count, told; /* told: of those that may have to do with the wait */
	uint32_t first;       /* of these */
};

/* Whether a note is a log line, or a point of the program's own: those have paths for names, the
 * adapters' have words. */
static bool is_line(const struct thrum__model *model, uint32_t note)
{
	int kind = THRUM__NOTE(model, note, kind);

	return kind == THRUM__NOTE_LOG ||
		((kind == THRUM__NOTE_TAG || kind == THRUM__NOTE_TAG_VALUE) &&
			strchr(thrum__model_string(model, THRUM__NOTE(model, note, text), NULL),
				'/'));
}

/* The sort of a line; NULL: there are too many. */
static struct sort *sort_of(const struct thrum__model *model, struct sort sorts[SORTS_MAX],
	uint32_t note)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	const char *text = thrum__model_string(model, THRUM__NOTE(model, note, text), &size);
	uint32_t hash = THRUM__HASH_START;

	size = thrum__analyse_label_pattern(text, size, pattern);
	for (size_t i = 0; i < size; i++)
		hash = thrum__base_hash_byte(hash, (unsigned char)pattern[i]);
	for (unsigned i = 0; i < SORTS_MAX; i++) {
		if (sorts[i].count > 0 && sorts[i].hash != hash)
			continue;
		sorts[i].hash = hash;
		sorts[i].count++;
		return &sorts[i];
	}
	return NULL;
}

/* The line to tell of, or NONE. */
static uint32_t find_line(const struct thrum__search *search, int64_t since, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	struct sort sorts[SORTS_MAX] = {0}, *sort;
	uint32_t at = model->notes.count, first = THRUM__NONE, count = 0;

	for (int i = 0; i < NOTES_BACK && at-- > model->notes.first; i++) {
		if (!thrum__model_has_row(&model->notes, at) || !is_line(model, at))
			continue;
		if (lane == THRUM__NONE && THRUM__NOTE(model, at, time) >= since &&
			thrum__why_is_on_path(search, THRUM__NOTE(model, at, task)))
			return at;
		sort = sort_of(model, sorts, at);
		if (!sort)
			return THRUM__NONE;
		if (THRUM__NOTE(model, at, time) < since ||
			THRUM__NOTE(model, at, time) > thrum__why_middle(model, since) ||
			!thrum__model_has_row(&model->tasks, THRUM__NOTE(model, at, task)) ||
			(lane != THRUM__NONE &&
				thrum__why_last_lane(model, THRUM__NOTE(model, at, task)) != lane))
			continue;
		sort->told++;
		sort->first = at;
	}
	for (unsigned i = 0; i < SORTS_MAX; i++)
		if (sorts[i].told > 0 && sorts[i].count <= LOGS_MAX) {
			count += sorts[i].told;
			first = sorts[i].first < first ? sorts[i].first : first;
		}
	/* Programs that log all the time tell nothing by it. */
	return count <= LOGS_MAX ? first : THRUM__NONE;
}

bool thrum__why_add_logged(struct thrum__finding *finding, const struct thrum__search *search,
	int64_t since, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	uint32_t note = find_line(search, since, lane);

	if (note == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_LOGGED,
				    THRUM__NOTE(model, note, task), THRUM__NONE,
				    THRUM__NOTE(model, note, time), THRUM__NONE),
		note);
	return true;
}

void thrum__why_add_logged_there(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, path->leaf);
	uint32_t edge = THRUM__NONE, lane;

	if (path->handle != THRUM__NONE)
		edge = thrum__why_edge_to(model, path->handle, THRUM__EDGE_READ);
	else if (peer && thrum__model_has_row(&model->tasks, peer->sample))
		edge = thrum__why_edge_to(model, peer->sample, THRUM__EDGE_RESOLVE);
	lane = thrum__why_last_lane(model, thrum__why_actor(model, edge));
	if (lane != THRUM__NONE)
		(void)thrum__why_add_logged(finding, search,
			THRUM__TASK(model, path->leaf, created), lane);
}
