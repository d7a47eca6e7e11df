/* SPDX-License-Identifier: ISC */
/* The trace that joins others: its parts, their names, and its description. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/merge.h"

#define GOING_DOWN \
	500000000 /* ns that the rest of a run takes to exit once its program is killed */

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

/* ---- Its description ---------------------------------------------------------------------- */

/* Whether the first part's program was killed, which is the run's own as far as anybody knows, and the last
 * of the others exits soon after that, or is killed, too: they go down with it. */
static bool is_run_killed(const struct world *w, int64_t last)
{
	int ending = w->trace.info.ending;

	return w->parts[0].info->ending == THRUM_ENDING_KILLED &&
		(ending == THRUM_ENDING_EXITED || ending == THRUM_ENDING_GONE) &&
		last - thrum__world_end_of(w, 0) <= GOING_DOWN;
}

static void take_ending(struct thrum_trace_info *info, const struct thrum_trace_info *part)
{
	info->ending = part->ending;
	info->ending_code = part->ending_code;
	info->state = part->state;
}

/* The trace ends as the part does that goes on longest, or as the first one that was killed. */
static void set_ending(struct world *w)
{
	struct thrum_trace_info *info = &w->trace.info;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < w->part_count; i++) {
		const struct thrum_trace_info *part = w->parts[i].info;
		int64_t end = thrum__world_end_of(w, i);

		info->end = end > info->end ? end : info->end;
		if (end <= last && part->ending != THRUM_ENDING_RUNNING)
			continue;
		last = part->ending == THRUM_ENDING_RUNNING ? INT64_MAX : end;
		take_ending(info, part);
	}
	if (is_run_killed(w, last))
		take_ending(info, w->parts[0].info);
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

/* ---- Reading ------------------------------------------------------------------------------- */

static bool has_more(const struct world *w)
{
	for (size_t i = 0; i < w->part_count; i++)
		if (w->parts[i].count > 0 || thrum__world_outlives(w, i))
			return true;
	return false;
}

static int next_events(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	struct world *w = world_of(trace);
	size_t n = 0;
	int error = thrum__world_fill(w, info);

	while (error == 0 && n == 0 && has_more(w)) {
		n = thrum__world_merge(w);
		error = n > 0 ? 0 : thrum__world_fill(w, info);
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
	thrum__world_shared_finish(&w->shared);
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
	int error = thrum__world_fill(w, info);

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
		if (w->parts[i].info->lanes > 0 &&
			thrum__world_lane_of(w, i, w->parts[i].info->lanes - 1) < 0)
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
