/* SPDX-License-Identifier: ISC */
/*
 * Joins tasks that stand for a process with that process's own recording. The adapters name such a task
 * "process 4711", with more words behind, and a thread waits for it: for the end of the process, or for
 * something that the process should do. If the process has a recording here, of a single thread, that
 * thread should do so. So the task waits for the thread, which leads to whatever the thread waits for.
 */
#include <string.h>

#include "world/merge.h"

/* Reads the process of a label; 0: it is none. */
static int64_t read_process(const char *text, size_t size)
{
	static const char word[] = "process ";
	size_t at = sizeof word - 1;
	int64_t process = 0;

	if (size <= at || memcmp(text, word, at) != 0)
		return 0;
	for (; at < size && text[at] >= '0' && text[at] <= '9' && process < INT32_MAX; at++)
		process = process * 10 + (text[at] - '0');
	return at == size || text[at] == ' ' || text[at] == ',' ? process : 0;
}

/* The part that is the recording of a process of the same machine, with one thread, and goes on at a time.
 * Else the number of parts: there is none, or several. */
static uint32_t find_part(const struct world *w, uint32_t from, int64_t process, int64_t time)
{
	uint32_t found = (uint32_t)w->part_count;

	for (uint32_t i = 0; i < w->part_count; i++) {
		if (i == from || w->parts[i].info->pid != process ||
			w->times.clocks[i].host != w->times.clocks[from].host)
			continue;
		if (found < w->part_count)
			return (uint32_t)w->part_count;
		found = i;
	}
	return found < w->part_count && w->parts[found].info->lanes == 1 &&
			thrum__world_end_of(w, found) >= time
		? found
		: (uint32_t)w->part_count;
}

static void note_process(struct world *w, uint32_t number, const struct thrum_event *e)
{
	int64_t process = read_process(e->text, e->text_size);
	uint32_t part = process > 0 ? find_part(w, number, process, e->time)
				    : (uint32_t)w->part_count;

	if (part < w->part_count && w->named_count < NAMED)
		w->named[w->named_count++] = (struct named){.task = e->task,
			.part = part,
			.lane = e->lane};
}

static struct named *find_named(struct world *w, uint64_t task)
{
	for (uint32_t i = 0; i < w->named_count; i++)
		if (w->named[i].task == task)
			return &w->named[i];
	return NULL;
}

static void forget(struct world *w, struct named *named)
{
	if (named)
		*named = w->named[--w->named_count];
}

void thrum__world_note_process(struct world *w, uint32_t part, const struct thrum_event *e)
{
	struct named *named;

	switch (e->type) {
	case THRUM_EVENT_CREATE:
		if (e->kind == THRUM_KIND_THREAD && e->task == 0 && !w->parts[part].own)
			w->parts[part].own = e->other;
		w->parts[part].made = e->kind == THRUM_KIND_HANDLE || e->kind == THRUM_KIND_REQUEST
			? e->other
			: 0;
		return;
	case THRUM_EVENT_LABEL:
		/* A task of another kind tells that the process waits in vain, and for what. */
		if (e->task == w->parts[part].made)
			note_process(w, part, e);
		return;
	case THRUM_EVENT_RESOLVE: forget(w, find_named(w, e->other)); return;
	case THRUM_EVENT_WAIT:
		/* The program's own adapter knows better what the process waits for. */
		forget(w, find_named(w, e->task));
		named = find_named(w, e->other);
		if (named)
			named->is_awaited = true;
		return;
	default: return;
	}
}

bool thrum__world_give_process(struct world *w, int64_t time, struct thrum_event *e)
{
	for (uint32_t i = 0; i < w->named_count; i++) {
		struct named *named = &w->named[i];

		if (!named->is_awaited || !w->parts[named->part].own)
			continue;
		*e = (struct thrum_event){.type = THRUM_EVENT_WAIT,
			.time = time,
			.clock = time > 0 ? (uint64_t)time : 0,
			.lane = named->lane,
			.task = named->task,
			.other = w->parts[named->part].own,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER,
			.text = ""};
		forget(w, named);
		return true;
	}
	return false;
}
