/* SPDX-License-Identifier: ISC */
/*
 * The stretches in which parts of the category "task" were not recorded: when tasks begin and end,
 * waits, who runs. While nobody knows who runs, no lane has a run. The next event that tells it
 * begins one again.
 */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "read/read.h"

/* ---- The events ----------------------------------------------------------------------------- */

/* Several events of one time tell which parts are on. They take effect together. */
void thrum__model_take_category(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	const struct thrum_event *e = s->event;
	unsigned part = 0;

	while (part < 4 && strcmp(thrum__read_task_parts[part], e->text) != 0)
		part++;
	if (part == 4)
		return;
	m->off_next = m->has_off_next ? m->off_next : m->off;
	for (unsigned i = part ? part : 1; i < (part ? part + 1 : 4); i++) {
		bool is_off = e->value < (int64_t)i;

		m->off_next = (uint8_t)((m->off_next & ~(1u << i)) | (unsigned)is_off << i);
	}
	m->has_off_next = true;
	m->off_time = s->time;
}

/* ---- The stretches -------------------------------------------------------------------------- */

static void begin_stretch(struct thrum__model *m, enum thrum__task_part part)
{
	void *all = m->unrecorded;
	int error = thrum__model_array_grow(&all, &m->unrecorded_room, m->unrecorded_count + 1,
		sizeof *m->unrecorded);

	m->unrecorded = all;
	if (error) {
		m->failed = true;
		return;
	}
	m->unrecorded[m->unrecorded_count++] = (struct thrum__unrecorded){m->off_time, THRUM__OPEN,
		part};
}

static void end_stretch(struct thrum__model *m, enum thrum__task_part part)
{
	for (uint32_t i = m->unrecorded_count; i-- > 0;)
		if (m->unrecorded[i].part == part) {
			m->unrecorded[i].end = m->off_time;
			return;
		}
}

/* From now on nobody knows who runs. */
static void hide_runs(struct thrum__model *m)
{
	struct thrum_event none = {0};

	for (uint32_t i = 0; i < m->lane_count; i++) {
		struct thrum__model_input s = {.model = m, .event = &none, .lane = &m->lanes[i]};

		none.lane = i;
		s.time = m->off_time;
		s.now = m->off_time > m->lanes[i].last ? m->off_time : m->lanes[i].last;
		thrum__model_lane_hide(&s);
	}
}

void thrum__model_apply_categories(struct thrum__model *m)
{
	uint8_t old = m->off, new = m->off_next;

	m->has_off_next = false;
	m->off = new;
	for (unsigned part = THRUM__PART_LIFE; part <= THRUM__PART_SWITCH; part++) {
		if (new & ~old & 1u << part)
			begin_stretch(m, part);
		if (old & ~new & 1u << part)
			end_stretch(m, part);
	}
	if (new & ~old & 1u << THRUM__PART_SWITCH)
		hide_runs(m);
	for (uint32_t i = 0; i < m->lane_count && old & ~new & 1u << THRUM__PART_SWITCH; i++) {
		m->lanes[i].is_unknown = m->lanes[i].is_hidden;
		m->lanes[i].is_hidden = false;
		m->lanes[i].hidden_until = m->off_time;
	}
}

int64_t thrum__model_unrecorded_until(const struct thrum__model *m, enum thrum__task_part part)
{
	int64_t until = -1;

	for (uint32_t i = 0; i < m->unrecorded_count; i++)
		if (m->unrecorded[i].part == part && m->unrecorded[i].end > until)
			until = m->unrecorded[i].end;
	return until;
}
