/* SPDX-License-Identifier: ISC */
/* The live tasks, from the recording's table, and their groups by label. */
#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "base/array.h"
#include "base/utf8.h"
#include "format/packet.h"
#include "monitor/parts.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Writes the name of a task's group. */
static size_t name_group(const struct thrum__monitor_task *task, char *to)
{
	if (task->label[0])
		return thrum__analyse_label_pattern(task->label, strlen(task->label), to);
	const char *kind = thrum_kind_name(task->kind);
	size_t size = strlen(kind);

	to[0] = '(';
	memcpy(to + 1, kind, size);
	to[size + 1] = ')';
	return size + 2;
}

static struct thrum__monitor_group *add_group(struct thrum__monitor *m, uint32_t index,
	const char *name, size_t size)
{
	struct thrum__monitor_group *groups = thrum__base_grow(m->sample.groups, &m->group_room,
		index + 1, sizeof *groups);
	char text[THRUM__LABEL_PATTERN_MAX + 1];

	if (!groups)
		return NULL;
	m->sample.groups = groups;
	m->sample.group_count = index + 1;
	groups[index] = (struct thrum__monitor_group){0};
	memcpy(text, name, size);
	text[size] = '\0';
	thrum__format_copy_text(groups[index].label, text, sizeof groups[index].label - 1);
	return &groups[index];
}

/* Counts a task, which is the last one in the sample so far, to its group. */
static int group_task(struct thrum__monitor *m, struct thrum__monitor_task *task)
{
	char name[THRUM__LABEL_PATTERN_MAX];
	size_t size = name_group(task, name);
	bool is_labelled = task->label[0] != '\0';
	struct thrum__monitor_group *group;
	uint32_t index;

	/* A label may look like a kind in parentheses. */
	if (thrum__base_keys_add(&m->groups, is_labelled, name, size, &index) != 0)
		return -THRUM_E_MEMORY;
	if (index < m->sample.group_count)
		group = &m->sample.groups[index];
	else
		group = add_group(m, index, name, size);
	if (!group)
		return -THRUM_E_MEMORY;
	task->group = index;
	if (group->count == 0 || task->age > group->oldest) {
		group->oldest = task->age;
		group->oldest_task = m->sample.task_count;
	}
	if (group->count == 0 || task->age < group->youngest)
		group->youngest = task->age;
	group->is_labelled = is_labelled;
	group->kind = task->kind;
	group->count++;
	group->should_resolve += task->should_resolve;
	return 0;
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static int64_t age_of(const struct thrum__monitor *m, uint64_t ticks)
{
	if (m->sample.ticks == 0)
		return THRUM__MONITOR_UNKNOWN;
	return m->sample.ticks > ticks ? thrum__monitor_ns(m, m->sample.ticks - ticks) : 0;
}

static size_t label_size(const char *label, size_t room)
{
	const char *end = memchr(label, '\0', room - 1);

	return end ? (size_t)(end - label) : room - 1;
}

static void copy_label(struct thrum__monitor_task *task, const struct thrum__live_task *cell)
{
	size_t size = label_size(cell->label, sizeof cell->label);

	memcpy(task->label, cell->label, size);
	if (cell->flags & THRUM__LIVE_CUT) {
		/* The recorder cuts anywhere. */
		for (unsigned back = 1; back < 4 && back <= size; back++) {
			uint32_t character;
			const char *last = task->label + size - back;

			if (((uint8_t)*last & 0xc0) == 0x80)
				continue;
			if (thrum__base_utf8_decode(last, back, &character) != back)
				size -= back;
			break;
		}
		memcpy(task->label + size, THRUM__ELLIPSIS, strlen(THRUM__ELLIPSIS));
		size += strlen(THRUM__ELLIPSIS);
	}
	task->label[size] = '\0';
}

static int add_task(struct thrum__monitor *m, const struct thrum__live_task *cell, uint64_t place)
{
	uint32_t count = m->sample.task_count;
	struct thrum__monitor_task *tasks = thrum__base_grow(m->sample.tasks, &m->task_room,
		count + 1, sizeof *tasks);
	int error = 0;

	if (!tasks)
		return -THRUM_E_MEMORY;
	m->sample.tasks = tasks;
	struct thrum__monitor_task *task = &tasks[count];
	bool is_noted = cell->waiting & (THRUM__LIVE_HELD | THRUM__LIVE_DUE);

	*task = (struct thrum__monitor_task){
		.id = (uint64_t)cell->id_high << 32 | cell->tag,
		.parent = cell->parent,
		.waiting = is_noted ? 0 : cell->waiting,
		.age = age_of(m, cell->created),
		.waited = cell->waiting && !is_noted ? age_of(m, cell->waited)
						     : THRUM__MONITOR_UNKNOWN,
		.group = THRUM__MONITOR_NO_GROUP,
		.site = cell->site,
		.kind = cell->kind,
		.should_resolve = (cell->flags & THRUM__LIVE_SHOULD_RESOLVE) != 0,
	};
	copy_label(task, cell);
	if (!(cell->flags & THRUM__LIVE_LANE))
		error = group_task(m, task);
	m->places[place] = count + 1;
	m->sample.task_count += error == 0;
	return error;
}

/* Adds the task of a cell, if it belongs there. */
static int look_at_cell(struct thrum__monitor *m, const struct thrum__live_task *cell,
	uint64_t place)
{
	return cell->tag && (cell->tag & (m->cells - 1)) == place ? add_task(m, cell, place) : 0;
}

int thrum__monitor_sample_tasks(struct thrum__monitor *m)
{
	struct thrum__live_task cells[THRUM__LIVE_READ_MAX];
	int64_t read = 1;
	int error = 0;

	if (!m->places) {
		m->cells = m->header.live_tasks.size / sizeof *cells;
		m->places = calloc(m->cells + 1, sizeof *m->places);
		if (!m->places)
			return -THRUM_E_MEMORY;
	}
	memset(m->places, 0, m->cells * sizeof *m->places);
	thrum__base_keys_free(&m->groups);
	m->groups = (struct thrum__base_keys){0};
	for (uint64_t first = 0; first < m->cells && read > 0 && error == 0;
		first += (uint64_t)read) {
		read = thrum__format_live_read(&m->input, &m->header, first, cells,
			m->cells - first);
		for (int64_t i = 0; i < read && error == 0; i++)
			error = look_at_cell(m, &cells[i], first + (uint64_t)i);
	}
	return read < 0 ? (int)read : error;
}

const struct thrum__monitor_task *thrum__monitor_find(const struct thrum__monitor *m, uint64_t id)
{
	uint32_t place = m->cells > 0 && m->sample.task_count > 0 ? m->places[id & (m->cells - 1)]
								  : 0;

	return place && m->sample.tasks[place - 1].id == id ? &m->sample.tasks[place - 1] : NULL;
}
