/* SPDX-License-Identifier: ISC */
/* Gives the events of all parts in the order of time, with the numbers of the trace that joins them. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "world/merge.h"

#define TEXT_MAX 1024      /* a changed text is cut off there */
#define OFF_ERROR 10000000 /* ns, by which a kernel's times may be wrong */

/* ---- Numbers ------------------------------------------------------------------------------- */

int64_t thrum__world_lane_of(struct world *w, uint32_t part, uint32_t lane)
{
	struct part *p = &w->parts[part];

	while (p->lane_count <= lane) {
		uint32_t *numbers = thrum__base_grow(p->lanes, &p->lane_room,
			p->lane_count + UINT64_C(1), sizeof *numbers);

		if (!numbers)
			return -1;
		p->lanes = numbers;
		struct lane *lanes = thrum__base_grow(w->lanes, &w->lane_room,
			w->lane_count + UINT64_C(1), sizeof *lanes);

		if (!lanes)
			return -1;
		w->lanes = lanes;
		lanes[w->lane_count] = (struct lane){.part = part, .index = p->lane_count};
		numbers[p->lane_count++] = w->lane_count++;
	}
	return p->lanes[lane];
}

/* Returns the trace's number for a site of a part; 0 when there is no room. */
static uint16_t site_of(struct world *w, uint32_t part, uint16_t number)
{
	struct part *p = &w->parts[part];
	uint16_t *sites = number ? thrum__base_grow_zeroed(p->sites, &p->site_room,
					   number + UINT64_C(1), sizeof *sites)
				 : NULL;

	if (!sites)
		return 0;
	p->sites = sites;
	if (sites[number] || w->site_count >= UINT16_MAX)
		return sites[number];
	struct site *all = thrum__base_grow(w->sites, &w->site_room, w->site_count + UINT64_C(2),
		sizeof *all);

	if (!all)
		return 0;
	w->sites = all;
	all[++w->site_count] = (struct site){part, number};
	return sites[number] = (uint16_t)w->site_count;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* Sets an event's text to a new one that lasts as long as the batch. */
static void set_text(struct world *w, struct thrum_event *e, const char *before, const char *text,
	size_t size)
{
	char *to = w->texts + w->text_size;
	size_t length = strlen(before);

	size = size < TEXT_MAX - THRUM__WORLD_NAME ? size : TEXT_MAX - THRUM__WORLD_NAME;
	memcpy(to, before, length);
	memcpy(to + length, text, size);
	to[length + size] = '\0';
	e->text = to;
	e->text_size = (uint32_t)(length + size);
	w->text_size += length + size + 1;
}

/* Puts the process's name before a text. */
static void put_process(struct world *w, struct thrum_event *e, const struct part *part)
{
	char name[THRUM__WORLD_NAME + 1];

	snprintf(name, sizeof name, "%s/", part->name);
	set_text(w, e, name, e->text, e->text_size);
}

/* A level is that of the part which records least: what one doesn't record is not known of all. */
static void put_level(struct world *w, struct thrum_event *e, struct part *part)
{
	static const char *const names[CATEGORIES] = {"task", "life", "wait", "switch"};

	for (size_t i = 0; i < CATEGORIES; i++) {
		if (strcmp(e->text, names[i]) != 0)
			continue;
		part->levels[i] = (int8_t)(e->value < -1 ? -1 : e->value > 3 ? 3 : e->value);
		for (size_t k = 0; k < w->part_count; k++)
			if (w->parts[k].levels[i] < e->value)
				e->value = w->parts[k].levels[i];
	}
}

/* A thread that does something runs. If the kernel's trace says otherwise, it tells of another thread with
 * that number: containers have numbers of their own. */
static bool is_off_cpu(const struct world *w, const struct part *part)
{
	const struct thrum_event *e = part->events;
	const struct lane *lane = e->lane < part->lane_count ? &w->lanes[part->lanes[e->lane]]
							     : NULL;

	return lane && part->time - lane->off_from > OFF_ERROR &&
		lane->off_until - part->time > OFF_ERROR && e->type != THRUM_EVENT_OFF_CPU &&
		!(e->flags & THRUM_EVENT_REMEMBERED);
}

/* Makes a note of a part's next event: from now on the kernel's trace doesn't count for the part. */
static struct thrum_event leave_out_off_cpu(struct world *w, uint32_t number)
{
	static const char why[] = "the kernel's trace tells of other threads by these numbers";
	const struct part *part = &w->parts[number];

	w->off_cpu.is_left_out[number] = w->is_cut = true;
	for (uint32_t i = 0; i < w->lane_count; i++)
		if (w->lanes[i].part == number)
			w->lanes[i].off_until = 0;
	return (struct thrum_event){.type = THRUM_EVENT_DAMAGED,
		.time = part->time,
		.clock = part->time > 0 ? (uint64_t)part->time : 0,
		.lane = part->lanes[part->events->lane],
		.flags = THRUM_EVENT_HAS_TEXT,
		.text = why,
		.text_size = sizeof why - 1};
}

/* Whether a part's event makes an object that another part knows. The part's next event is its label. */
static bool makes_shared(struct world *w, uint32_t number, const struct thrum_event *e)
{
	const struct part *part = &w->parts[number];
	const struct thrum_event *label = part->events;

	return e->kind == THRUM_KIND_CONDITION && part->count > 0 &&
		label->type == THRUM_EVENT_LABEL && label->task == e->other &&
		thrum__world_shares(&w->shared, w->times.clocks[number].host, number, label,
			thrum__world_id(number, e->other));
}

/* A thread that waits for an object that others of the trace know isn't blocked by the outside: they are
 * relatives, and all record. */
static void change_reason(struct lane *lane, struct thrum_event *e)
{
	static const char outside[] = THRUM__REASON_BLOCKED_OUTSIDE,
			  inside[] = THRUM__REASON_BLOCKED;

	if (e->text_size != sizeof outside - 1 || memcmp(e->text, outside, e->text_size) != 0)
		return;
	if (e->type == THRUM_EVENT_SUSPEND)
		lane->rests_for_shared = lane->waits_for_shared;
	if (!lane->rests_for_shared)
		return;
	e->text = inside;
	e->text_size = sizeof inside - 1;
}

/* Gives tasks the numbers of the trace. Returns false if it tells of an object that another part made. */
static bool renumber(struct world *w, uint32_t number, struct lane *lane, struct thrum_event *e)
{
	uint64_t task = thrum__world_id(number, e->task);
	bool is_made = e->type == THRUM_EVENT_CREATE && makes_shared(w, number, e);

	e->task = thrum__world_shared_task(&w->shared, task);
	e->other = thrum__world_shared_task(&w->shared, thrum__world_id(number, e->other));
	switch (e->type) {
	case THRUM_EVENT_CREATE: return !is_made;
	case THRUM_EVENT_LABEL: return e->task == task;
	case THRUM_EVENT_WAIT:
		lane->waits_for_shared = thrum__world_is_shared(&w->shared, e->other);
		break;
	case THRUM_EVENT_SUSPEND:
	case THRUM_EVENT_RESUME: change_reason(lane, e); break;
	case THRUM_EVENT_RESOLVE: thrum__world_shared_ends(&w->shared, e->other); break;
	default: break;
	}
	return true;
}

/* Changes a part's event into one of the trace. Returns false if the trace can't have it. */
static bool change(struct world *w, uint32_t number, struct thrum_event *e)
{
	struct part *part = &w->parts[number];
	int64_t lane = thrum__world_lane_of(w, number, e->lane);

	if (lane < 0) {
		w->is_late = true;
		return false;
	}
	if (e->task >= THRUM__WORLD_ID_STEP || e->other >= THRUM__WORLD_ID_STEP) {
		w->is_cut = true;
		return false;
	}
	e->time = part->time;
	e->clock = e->time > 0 ? (uint64_t)e->time : 0;
	e->lane = (uint32_t)lane;
	if (!renumber(w, number, &w->lanes[lane], e))
		return false;
	e->site = site_of(w, number, e->site);
	switch (e->type) {
	case THRUM_EVENT_CREATE:
		if (e->kind == THRUM_KIND_THREAD && e->task == 0)
			w->lanes[lane].own = e->other;
		break;
	case THRUM_EVENT_LABEL:
		if (e->task && e->task == w->lanes[lane].own)
			put_process(w, e, part);
		break;
	case THRUM_EVENT_COUNTER: put_process(w, e, part); break;
	case THRUM_EVENT_CATEGORY: put_level(w, e, part); break;
	case THRUM_EVENT_LINK_SEND:
	case THRUM_EVENT_LINK_RECEIVE:
		if (thrum__world_links_is_own(&w->links, thrum__world_key(e->text, e->text_size)))
			put_process(w, e, part);
		break;
	default: break;
	}
	return true;
}

/* ---- The end of a part --------------------------------------------------------------------- */

/* Whether it is known that a part's process ended then: all that it did is recorded. */
static bool is_end_known(const struct part *part)
{
	return part->info->ending == THRUM_ENDING_EXITED ||
		part->info->ending == THRUM_ENDING_KILLED;
}

int64_t thrum__world_end_of(const struct world *w, size_t part)
{
	const struct thrum_trace_info *info = w->parts[part].info;
	int64_t from = thrum__world_time(&w->times.clocks[part], info->clock_first);

	return info->end < THRUM__WORLD_TIME_MAX ? from + info->end : from;
}

/* Suspends the lanes of a part that has ended, as far as there is room. Returns how many events that
 * takes. */
static size_t end_part(struct world *w, uint32_t number, struct thrum_event *to, size_t room)
{
	struct part *part = &w->parts[number];
	const char *text = is_end_known(part) ? THRUM__REASON_ENDED : THRUM__REASON_UNRECORDED;
	int64_t time = thrum__world_end_of(w, number);
	size_t count = 0;

	for (; part->ended < part->lane_count && count < room; part->ended++)
		to[count++] = (struct thrum_event){.type = THRUM_EVENT_SUSPEND,
			.time = time,
			.clock = time > 0 ? (uint64_t)time : 0,
			.lane = part->lanes[part->ended],
			.flags = THRUM_EVENT_HAS_TEXT,
			.text = text,
			.text_size = (uint32_t)strlen(text)};
	part->is_over = part->ended == part->lane_count;
	return count;
}

bool thrum__world_outlives(const struct world *w, size_t part)
{
	const struct part *p = &w->parts[part];

	if (p->count > 0 || !p->has_ended || p->is_over || !is_end_known(p))
		return false;
	for (size_t i = 0; i < w->part_count; i++)
		if (thrum__world_end_of(w, i) > thrum__world_end_of(w, part))
			return true;
	return false;
}

/* ---- Merging ------------------------------------------------------------------------------- */

static void note_time(struct world *w, uint32_t number)
{
	struct part *part = &w->parts[number];

	if (part->count > 0)
		part->time = thrum__world_time(&w->times.clocks[number], part->events->clock);
}

int thrum__world_fill(struct world *w, struct thrum_error_info *info)
{
	for (uint32_t i = 0; i < w->part_count; i++) {
		struct part *part = &w->parts[i];

		if (part->count > 0 || part->has_ended)
			continue;
		int result = thrum_trace_next(part->trace, &part->events, &part->count, info);

		part->has_ended = result != 1;
		part->count = result == 1 ? part->count : 0;
		if (result < 0)
			return result;
		note_time(w, i);
	}
	return 0;
}

/* The part whose next event is the earliest, and its time; the number of parts: there is none. Also
 * the end of a part comes in its turn, if others go on. */
static uint32_t earliest(const struct world *w, int64_t *time, bool *is_end)
{
	uint32_t found = (uint32_t)w->part_count;
	bool goes_on = false;

	*time = INT64_MAX;
	for (uint32_t i = 0; i < w->part_count; i++) {
		const struct part *part = &w->parts[i];
		bool ends = part->count == 0 && part->has_ended;
		int64_t at;

		goes_on |= part->count > 0 || thrum__world_outlives(w, i);
		if (ends && (part->is_over || part->info->ending == THRUM_ENDING_RUNNING))
			continue;
		at = ends ? thrum__world_end_of(w, i) : part->time;
		if (at >= *time)
			continue;
		*time = at;
		*is_end = ends;
		found = i;
	}
	return goes_on ? found : (uint32_t)w->part_count;
}

/* Whether the batch has room for one more event and its text. */
static bool has_room(const struct world *w, size_t count)
{
	return count < EVENTS && w->text_size + TEXT_MAX + THRUM__WORLD_NAME < TEXTS;
}

/* Gives the next time in which a thread was off its processor, if it is its turn. */
static bool give_off_cpu(struct world *w, int64_t time, struct thrum_event *e)
{
	struct thrum__world_off_cpu *off = &w->off_cpu;

	while (off->next < off->count && off->all[off->next].begin <= time) {
		const struct thrum__world_off *one = &off->all[off->next++];
		int64_t lane = thrum__world_lane_of(w, one->part, one->lane);

		w->is_late |= lane < 0;
		if (lane < 0 || off->is_left_out[one->part])
			continue;
		thrum__world_off_cpu_give(one, e);
		e->clock = e->time > 0 ? (uint64_t)e->time : 0;
		e->lane = (uint32_t)lane;
		w->lanes[lane].off_from = one->begin;
		w->lanes[lane].off_until = one->end;
		return true;
	}
	return false;
}

size_t thrum__world_merge(struct world *w)
{
	size_t n = 0;
	int64_t time;
	bool is_end = false;

	w->text_size = 0;
	while (has_room(w, n)) {
		uint32_t i = earliest(w, &time, &is_end);
		struct part *part = &w->parts[i];

		if (i == w->part_count)
			break;
		if (give_off_cpu(w, time, &w->events[n])) {
			n++;
			continue;
		}
		if (is_end) {
			n += end_part(w, i, w->events + n, EVENTS - n);
			continue;
		}
		if (is_off_cpu(w, part)) {
			w->events[n++] = leave_out_off_cpu(w, i);
			continue;
		}
		w->events[n] = *part->events++;
		part->count--;
		n += change(w, i, &w->events[n]);
		note_time(w, i);
		if (part->count == 0)
			break;
	}
	return n;
}
