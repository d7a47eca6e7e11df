/* SPDX-License-Identifier: ISC */
/* The trace that joins others: it gives the events of all parts in the order of time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "world/parts.h"

#define EVENTS 512         /* of a batch */
#define TEXTS (64 << 10)   /* bytes of a batch for texts that are changed */
#define TEXT_MAX 1024      /* a changed text is cut off there */
#define CATEGORIES 4       /* whose level the model follows */
#define OFF_ERROR 10000000 /* ns, by which a kernel's times may be wrong */

/* A part, and how far it is read. */
struct part {
	struct thrum_trace *trace;
	const struct thrum_trace_info *info;
	char name[THRUM__WORLD_NAME];
	const struct thrum_event *events; /* the rest of its batch */
	size_t count;
	int64_t time;    /* of its next event */
	bool has_ended;  /* all of its events are read */
	bool is_over;    /* and its lanes are suspended */
	uint32_t ended;  /* so many lanes are */
	uint32_t *lanes; /* by its lane: the trace's lane */
	uint32_t lane_count, lane_room;
	uint16_t *sites; /* by its site: the trace's */
	uint32_t site_room;
	int8_t levels[CATEGORIES];
};

/* A lane of the trace. */
struct lane {
	struct thrum_trace_lane shown;
	uint64_t own; /* the id of its own task; 0: not seen yet */
	/* Its thread was off its processor, as a kernel's trace tells. */
	int64_t off_from, off_until;
	uint32_t part, index;
};

struct world {
	struct thrum_trace trace; /* first: the public handle */
	struct part parts[THRUM__WORLD_PARTS_MAX];
	size_t part_count;
	struct thrum__world_links links;
	struct thrum__world_times times;
	struct thrum__world_off_cpu off_cpu;
	struct lane *lanes;
	uint32_t lane_count, lane_room;
	/* By site of the trace. */
	struct site {
		uint32_t part;
		uint16_t number;
	} * sites;
	uint32_t site_count, site_room;
	bool is_cut;  /* some event had to be left out */
	bool is_late; /* memory was short */
	char names[1000];
	struct thrum__world_more more; /* without `next`: none comes */
	struct thrum_event events[EVENTS];
	char texts[TEXTS];
	size_t text_size;
};

static struct world *world_of(struct thrum_trace *trace)
{
	return (struct world *)trace;
}

/* ---- Names --------------------------------------------------------------------------------- */

static bool is_alone(const struct world *w, size_t part)
{
	for (size_t i = 0; i < w->part_count; i++)
		if (i != part && strcmp(w->parts[i].name, w->parts[part].name) == 0)
			return false;
	return true;
}

/* Adds the process to a name if others share it, and the host if there are several. Adds it to the names of
 * all. */
static void finish_name(struct world *w, struct part *part, bool is_shared)
{
	size_t size = strlen(part->name), used = strlen(w->names);

	if (is_shared)
		size += (size_t)snprintf(part->name + size, sizeof part->name - size, "-%lld",
			(long long)part->info->pid);
	if (w->times.host_count > 1 && *part->info->host && size < sizeof part->name)
		snprintf(part->name + size, sizeof part->name - size, "@%.60s", part->info->host);
	snprintf(w->names + used, sizeof w->names - used, "%s%s", used > 0 ? ", " : "", part->name);
}

/* Names each part by its program; those of one program by their files; those of one file's name by
 * their processes. Adds the host if there are several. */
static void name_parts(struct world *w, const struct thrum__world_part *parts)
{
	bool is_shared[THRUM__WORLD_PARTS_MAX];

	for (size_t i = 0; i < w->part_count; i++)
		thrum__world_put_name(w->parts[i].info, NULL, w->parts[i].name);
	for (size_t i = 0; i < w->part_count; i++)
		is_shared[i] = !is_alone(w, i);
	for (size_t i = 0; i < w->part_count; i++)
		if (is_shared[i])
			thrum__world_put_name(w->parts[i].info, parts[i].file, w->parts[i].name);
	for (size_t i = 0; i < w->part_count; i++)
		is_shared[i] = !is_alone(w, i);
	for (size_t i = 0; i < w->part_count; i++)
		finish_name(w, &w->parts[i], is_shared[i]);
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Returns the trace's lane for one of a part; -1 when memory is short. */
static int64_t lane_of(struct world *w, uint32_t part, uint32_t lane)
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

/* Changes a part's event into one of the trace. Returns false if the trace can't have it. */
static bool change(struct world *w, uint32_t number, struct thrum_event *e)
{
	struct part *part = &w->parts[number];
	int64_t lane = lane_of(w, number, e->lane);

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
	e->task = thrum__world_id(number, e->task);
	e->other = thrum__world_id(number, e->other);
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

static int64_t end_of(const struct world *w, size_t part)
{
	const struct thrum_trace_info *info = w->parts[part].info;
	int64_t from = thrum__world_time(&w->times.clocks[part], info->clock_first);

	return info->end < THRUM__WORLD_TIME_MAX ? from + info->end : from;
}

/* Suspends the lanes of a part that has ended, as far as there is room. Returns how many events that
 * takes. */
static size_t end_part(struct world *w, uint32_t number, struct thrum_event *to, size_t room)
{
	static const char over[] = "no more is recorded";
	struct part *part = &w->parts[number];
	int64_t time = end_of(w, number);
	size_t count = 0;

	for (; part->ended < part->lane_count && count < room; part->ended++)
		to[count++] = (struct thrum_event){.type = THRUM_EVENT_SUSPEND,
			.time = time,
			.clock = time > 0 ? (uint64_t)time : 0,
			.lane = part->lanes[part->ended],
			.flags = THRUM_EVENT_HAS_TEXT,
			.text = over,
			.text_size = sizeof over - 1};
	part->is_over = part->ended == part->lane_count;
	return count;
}

/* ---- Merging ------------------------------------------------------------------------------- */

static void note_time(struct world *w, uint32_t number)
{
	struct part *part = &w->parts[number];

	if (part->count > 0)
		part->time = thrum__world_time(&w->times.clocks[number], part->events->clock);
}

/* Reads the next batches of the parts that need one. Returns 0 or a negative enum thrum_error. */
static int fill(struct world *w, struct thrum_error_info *info)
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

		goes_on |= part->count > 0;
		if (ends && (part->is_over || part->info->ending == THRUM_ENDING_RUNNING))
			continue;
		at = ends ? end_of(w, i) : part->time;
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

static void sum_up(struct world *w);

/* Gives the next time in which a thread was off its processor, if it is its turn. */
static bool give_off_cpu(struct world *w, int64_t time, struct thrum_event *e)
{
	struct thrum__world_off_cpu *off = &w->off_cpu;

	while (off->next < off->count && off->all[off->next].begin <= time) {
		const struct thrum__world_off *one = &off->all[off->next++];
		int64_t lane = lane_of(w, one->part, one->lane);

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

/* Moves events to the batch until it is full or some part has no more of its own: that part's next
 * batch would overwrite the texts of this one. Returns how many. */
static size_t merge(struct world *w)
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

static bool has_more(const struct world *w)
{
	for (size_t i = 0; i < w->part_count; i++)
		if (w->parts[i].count > 0)
			return true;
	return false;
}

static int next_events(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	struct world *w = world_of(trace);
	size_t n = 0;
	int error = fill(w, info);

	while (error == 0 && n == 0 && has_more(w)) {
		n = merge(w);
		error = n > 0 ? 0 : fill(w, info);
	}
	if (error)
		return error;
	if (w->is_late)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	sum_up(w);
	*events = w->events;
	*count = n;
	return n > 0;
}

/* ---- Its description ---------------------------------------------------------------------- */

/* The trace ends as the part does that goes on longest. */
static void set_ending(struct world *w)
{
	struct thrum_trace_info *info = &w->trace.info;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < w->part_count; i++) {
		const struct thrum_trace_info *part = w->parts[i].info;
		int64_t end = end_of(w, i);

		info->end = end > info->end ? end : info->end;
		if (end <= last && part->ending != THRUM_ENDING_RUNNING)
			continue;
		last = part->ending == THRUM_ENDING_RUNNING ? INT64_MAX : end;
		info->ending = part->ending;
		info->ending_code = part->ending_code;
		info->state = part->state;
	}
}

static void sum_up(struct world *w)
{
	struct thrum_trace_info *to = &w->trace.info;

	to->packets = to->records = to->content_bytes = to->damaged = to->gaps = 0;
	to->lost_total = to->lost_tasks = to->lanes = 0;
	memset(to->lost, 0, sizeof to->lost);
	for (size_t i = 0; i < w->part_count; i++) {
		const struct thrum_trace_info *from = w->parts[i].info;

		to->packets += from->packets;
		to->records += from->records;
		to->content_bytes += from->content_bytes;
		to->damaged += from->damaged;
		to->gaps += from->gaps;
		to->lost_total += from->lost_total;
		to->lost_tasks += from->lost_tasks;
		to->lanes += from->lanes;
		for (size_t k = 0; k < sizeof to->lost / sizeof *to->lost; k++)
			to->lost[k] += from->lost[k];
	}
	to->damaged += w->is_cut;
	set_ending(w);
}

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	const struct world *w = (const struct world *)trace;

	if (number == 0 || number > w->site_count)
		return NULL;
	return thrum_trace_site(w->parts[w->sites[number].part].trace, w->sites[number].number);
}

static const struct thrum_trace_lane *get_lane(const struct thrum_trace *trace, unsigned number)
{
	struct world *w = world_of((struct thrum_trace *)trace);

	if (number >= w->lane_count)
		return NULL;
	struct lane *lane = &w->lanes[number];
	const struct thrum_trace_lane *there = thrum_trace_lane(w->parts[lane->part].trace,
		lane->index);

	if (there)
		lane->shown = *there;
	lane->shown.number = number;
	lane->shown.process = w->parts[lane->part].name;
	lane->shown.host = w->times.clocks[lane->part].host;
	lane->shown.time_error = thrum__read_clock_worst(&w->trace.clocks, 0, lane->shown.host);
	return &lane->shown;
}

/* ---- Opening, following, closing ----------------------------------------------------------- */

static void close_world(struct thrum_trace *trace)
{
	struct world *w = world_of(trace);

	for (size_t i = 0; i < w->part_count; i++) {
		thrum_trace_close(w->parts[i].trace);
		free(w->parts[i].lanes);
		free(w->parts[i].sites);
	}
	if (w->more.close)
		w->more.close(w->more.owner);
	thrum__world_links_finish(&w->links);
	thrum__world_off_cpu_finish(&w->off_cpu);
	thrum__world_times_finish(&w->times);
	free(w->lanes);
	free(w->sites);
	free(w);
}

/* Adds a part that has come later. Those of its events that are older than given ones count as late. */
static void add_part(struct world *w, const struct thrum__world_part *from)
{
	const struct thrum_trace_info *infos[THRUM__WORLD_PARTS_MAX];
	size_t number = w->part_count;
	struct part *part = &w->parts[number];

	*part = (struct part){.trace = from->trace,
		.info = thrum_trace_info(from->trace),
		.levels = {3, 3, 3, 3}};
	for (size_t i = 0; i <= number; i++)
		infos[i] = w->parts[i].info;
	thrum__world_times_add(&w->times, infos, number);
	w->part_count++;
	thrum__world_put_name(part->info, from->file, part->name);
	finish_name(w, part, !is_alone(w, number));
	w->trace.info.file_size += part->info->file_size;
}

static void add_parts(struct world *w)
{
	struct thrum__world_part part;

	while (w->more.next && w->part_count < THRUM__WORLD_PARTS_MAX &&
		w->more.next(w->more.owner, &part) == 1)
		add_part(w, &part);
}

void thrum__world_take_more(struct thrum_trace *trace, const struct thrum__world_more *more)
{
	world_of(trace)->more = *more;
}

static int refresh_world(struct thrum_trace *trace, struct thrum_error_info *info)
{
	struct world *w = world_of(trace);
	bool goes_on = false;

	add_parts(w);
	for (size_t i = 0; i < w->part_count; i++) {
		int result = thrum_trace_refresh(w->parts[i].trace, 0, info);

		if (result < 0)
			return result;
		if (result > 0)
			w->parts[i].has_ended = false;
		goes_on |= result > 0;
	}
	int error = fill(w, info);

	if (error)
		return error;
	sum_up(w);
	return has_more(w) ? 1 : goes_on ? THRUM__NOTHING_NEW : 0;
}

/* Waits for the first part that still grows. */
static void wait_for_parts(void *owner, int ms)
{
	const struct world *w = owner;

	for (size_t i = 0; i < w->part_count && ms > 0; i++) {
		const struct thrum_trace *part = w->parts[i].trace;

		if (part->info.ending != THRUM_ENDING_RUNNING || !part->input_wait)
			continue;
		part->input_wait(part->input.owner, ms);
		return;
	}
}

static const struct thrum__read_format format = {
	.name = "world",
	.next = next_events,
	.refresh = refresh_world,
	.site = get_site,
	.lane = get_lane,
	.close = close_world,
};

/* Reads all parts once, those of kernels last. */
static int read_parts(struct world *w, const struct thrum__world_part *parts,
	struct thrum_error_info *info)
{
	int error = 0;

	for (size_t i = 0; i < w->part_count; i++) {
		if (strcmp(w->parts[i].info->format, "thrum") != 0)
			return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
				"only recordings of thrum can be joined");
		w->off_cpu.is_wanted |= thrum__world_is_kernel(w->parts[i].info);
	}
	for (uint32_t i = 0; i < 2 * w->part_count && error == 0; i++) {
		uint32_t part = i % (uint32_t)w->part_count;

		if (thrum__world_is_kernel(w->parts[part].info) == (i >= w->part_count))
			error = thrum__world_read(&w->off_cpu, &w->links, part, parts[part].again,
				info);
	}
	return error;
}

/* Reads the messages of all parts, and finds the common time. */
static int prepare(struct world *w, const struct thrum__world_part *parts,
	const struct thrum__ping *pings, uint32_t ping_count, struct thrum_error_info *info)
{
	int error = read_parts(w, parts, info);

	if (error)
		return error;
	error = thrum__world_links_match(&w->links);
	if (!error)
		error = thrum__world_times_make(&w->times, parts, w->part_count, &w->links, pings,
			ping_count);
	if (!error)
		thrum__world_off_cpu_place(&w->off_cpu, &w->times, parts);
	/* The lanes of a part lie together, as far as they are known. */
	for (uint32_t i = 0; i < w->part_count && !error; i++)
		if (w->parts[i].info->lanes > 0 && lane_of(w, i, w->parts[i].info->lanes - 1) < 0)
			error = -THRUM_E_MEMORY;
	return error ? thrum__read_error_set(info, error, 0, "out of memory") : 0;
}

static void describe(struct world *w, const struct thrum__world_part *parts)
{
	struct thrum_trace_info *info = &w->trace.info;
	const struct part *first = &w->parts[0];

	name_parts(w, parts);
	info->format = format.name;
	info->program = w->names;
	w->trace.clocks = w->times.apart;
	info->host = w->times.host_count > 1 ? "" : first->info->host;
	info->clock = "monotonic";
	info->clock_frequency = 1000000000;
	info->packet_size = first->info->packet_size;
	info->ending_code = -1;
	/* The first part's clock tells the wall time at the trace's beginning. */
	if (first->info->start > 0)
		info->start = first->info->start -
			thrum__world_time(&w->times.clocks[0], first->info->clock_first);
	for (size_t i = 0; i < w->part_count; i++)
		info->file_size += w->parts[i].info->file_size;
	sum_up(w);
}

/* Messages over connections count only if there are no bundles: their parts aren't known. */
static uint64_t count_messages(const struct world *w, const struct thrum__world_part *parts)
{
	const struct thrum__world_links *links = &w->links;
	uint64_t count = links->streamed;

	for (size_t i = 0; i < w->part_count; i++)
		if (parts[i].bundle)
			count = 0;
	for (uint32_t i = 0; i < links->message_count; i++) {
		uint32_t from = parts[links->all[links->messages[i].sent].part].bundle;

		count += from == 0 ||
			from != parts[links->all[links->messages[i].received].part].bundle;
	}
	return count;
}

static int make(const struct thrum__world_part *parts, size_t count, struct world **made,
	struct thrum_error_info *info)
{
	struct world *w;

	if (count > THRUM__WORLD_PARTS_MAX)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"more than %d traces can't be joined", THRUM__WORLD_PARTS_MAX);
	w = calloc(1, sizeof *w);
	if (!w)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	w->part_count = count;
	for (size_t i = 0; i < count; i++)
		w->parts[i] = (struct part){.trace = parts[i].trace,
			.info = thrum_trace_info(parts[i].trace),
			.levels = {3, 3, 3, 3}};
	*made = w;
	return 0;
}

int thrum__world_join(const struct thrum__world_part *parts, size_t count,
	const struct thrum__ping *pings, uint32_t ping_count, struct thrum_trace **trace,
	uint64_t *messages, struct thrum_error_info *info)
{
	struct world *w = NULL;
	int error = make(parts, count, &w, info);

	if (!error)
		error = prepare(w, parts, pings, ping_count, info);
	for (size_t i = 0; i < count; i++) {
		thrum_trace_close(parts[i].again);
		if (!w)
			thrum_trace_close(parts[i].trace);
	}
	if (error) {
		if (w)
			close_world(&w->trace);
		return error;
	}
	describe(w, parts);
	w->trace.format = &format;
	w->trace.input.owner = w;
	w->trace.input_wait = wait_for_parts;
	*messages = count_messages(w, parts);
	*trace = &w->trace;
	return 0;
}
