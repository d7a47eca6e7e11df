/* SPDX-License-Identifier: ISC */
/* Opens, closes and refreshes recordings of thrum; finds lanes and definitions by their numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/packet.h"
#include "read/thrum/reader.h"

#define ERROR_GROWTH 500e-6 /* Linux lets a clock's possible error grow so fast */

static struct reader *reader_of(struct thrum_trace *trace)
{
	return (struct reader *)trace; /* its first member */
}

static bool probe(const uint8_t *head, size_t size)
{
	return size >= 8 && memcmp(head, THRUM__MAGIC, 8) == 0;
}

/* ---- Definitions --------------------------------------------------------------------------- */

/* Copies a cell of the recording's definitions. False: it is empty or can't be read. */
static bool load_definition(const struct reader *r, uint32_t number, struct thrum__definition *cell)
{
	const struct thrum__input *input = &r->trace.input;
	uint64_t offset = r->header.definitions.offset + (uint64_t)number * sizeof *cell;
	uint32_t type[2];

	if (number == 0 || number >= r->definition_count)
		return false;
	if (thrum__format_input_read(input, offset, type, sizeof type) != sizeof type ||
		type[0] == 0)
		return false;
	/* Partner: the release store of the type, the last word of a cell that is written. */
	atomic_thread_fence(memory_order_acquire);
	return thrum__format_input_read(input, offset, cell, sizeof *cell) == sizeof *cell;
}

/* A reason to wait may end in a place. */
static void name_tag(struct reader *r, struct definition *d)
{
	const char *name = thrum__read_label(r, d->text, &d->text_size);

	if (name == d->text)
		return;
	d->text_size = (uint32_t)thrum__format_copy_text(d->text, name, sizeof d->text - 1);
}

/*
 * Returns a new definition, which has type 0 if the recording has none; NULL: there is no memory.
 */
static struct definition *make_definition(struct reader *r, uint32_t number)
{
	struct definition *d = calloc(1, sizeof *d);
	struct thrum__definition cell;

	if (!d)
		return NULL;
	snprintf(d->unknown, sizeof d->unknown, "?%u", (unsigned)number);
	if (!load_definition(r, number, &cell))
		return d;
	const char *nul = memchr(cell.text, '\0', sizeof cell.text);

	if (!nul)
		return d;
	memcpy(d->text, cell.text, sizeof d->text);
	d->text_size = (uint32_t)(nul - cell.text);
	d->type = cell.type;
	if (d->type == THRUM__DEFINES_COUNTER && cell.number <= THRUM_COUNTER_DISTRIBUTION)
		d->kind = (uint8_t)cell.number;
	if (d->type == THRUM__DEFINES_TAG && r->has_modules)
		name_tag(r, d);
	if (d->type == THRUM__DEFINES_ADDRESS)
		thrum__read_address_site(r, &cell, d);
	else if (d->type == THRUM__DEFINES_SITE) {
		size_t rest = sizeof cell.text - d->text_size - 1;

		d->site.function = d->text;
		d->site.file = d->text + d->text_size + 1;
		d->site.line = cell.number;
		if (!memchr(nul + 1, '\0', rest))
			d->type = 0;
	}
	return d;
}

/* Makes the table of definitions long enough for this number. False: there is no memory. */
static bool make_room_for_definition(struct reader *r, uint32_t number)
{
	struct definition **definitions = thrum__base_grow_zeroed(r->definitions,
		&r->definition_room, number + UINT64_C(1), sizeof *definitions);

	if (definitions)
		r->definitions = definitions;
	return definitions != NULL;
}

const struct definition *thrum__read_definition(struct reader *r, uint32_t number)
{
	if (number >= THRUM__DEFINITIONS_MAX ||
		(number >= r->definition_room && !make_room_for_definition(r, number)))
		return NULL;
	if (!r->definitions[number])
		r->definitions[number] = make_definition(r, number);
	return r->definitions[number];
}

static const struct thrum_trace_site *get_site(const struct thrum_trace *trace, unsigned number)
{
	struct reader *r = reader_of((struct thrum_trace *)trace);
	const struct definition *d = number ? thrum__read_definition(r, number) : NULL;

	return d && d->type == THRUM__DEFINES_SITE ? &d->site : NULL;
}

/* ---- Lanes --------------------------------------------------------------------------------- */

/* Makes room for one more lane in all arrays of lanes. Returns 0 or -THRUM_E_MEMORY. */
static int make_room_for_lane(struct reader *r)
{
	uint64_t wanted = r->lane_count + UINT64_C(1);
	uint32_t room = r->lane_room, by_number_room = room, heap_room = room;
	struct lane *lanes = thrum__base_grow(r->lanes, &room, wanted, sizeof *lanes);

	if (!lanes)
		return -THRUM_E_MEMORY;
	r->lanes = lanes;
	uint32_t *by_number = thrum__base_grow(r->lanes_by_number, &by_number_room, wanted,
		sizeof *by_number);

	if (!by_number)
		return -THRUM_E_MEMORY;
	r->lanes_by_number = by_number;
	struct heap_entry *heap = thrum__base_grow(r->heap, &heap_room, wanted, sizeof *heap);

	if (!heap)
		return -THRUM_E_MEMORY;
	r->heap = heap;
	r->lane_room = room;
	return 0;
}

/* The place of a lane's number among all numbers: that of the next higher one if there is no such. */
static uint32_t place_of(const struct reader *r, uint64_t number)
{
	uint32_t low = 0, high = r->lane_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (r->lanes[r->lanes_by_number[middle]].shown.number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t thrum__read_find_lane(const struct reader *r, uint64_t number)
{
	uint32_t place = place_of(r, number);

	return place < r->lane_count && r->lanes[r->lanes_by_number[place]].shown.number == number
		? (int64_t)r->lanes_by_number[place]
		: -1;
}

int64_t thrum__read_lane_index(struct reader *r, uint64_t number)
{
	int64_t found = thrum__read_find_lane(r, number);

	if (found >= 0)
		return found;
	uint32_t low = place_of(r, number);
	int error = make_room_for_lane(r);

	if (error)
		return error;
	uint32_t index = r->lane_count++;
	struct lane *lane = &r->lanes[index];

	memset(lane, 0, sizeof *lane);
	lane->shown.number = number;
	lane->shown.process = "";
	lane->number = index;
	lane->name = lane->reason = (struct span_of_text){"", 0};
	memmove(r->lanes_by_number + low + 1, r->lanes_by_number + low,
		(index - low) * sizeof *r->lanes_by_number);
	r->lanes_by_number[low] = index;
	r->trace.info.lanes = r->lane_count;
	return index;
}

/* Puts the lanes in the order of their numbers. Called before any packet is read. */
static int sort_lanes(struct reader *r)
{
	struct lane *sorted = malloc((r->lane_count + 1) * sizeof *sorted);

	if (!sorted)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < r->lane_count; i++) {
		sorted[i] = r->lanes[r->lanes_by_number[i]];
		sorted[i].number = r->lanes_by_number[i] = i;
	}
	if (r->lane_count > 0)
		memcpy(r->lanes, sorted, r->lane_count * sizeof *sorted);
	free(sorted);
	return 0;
}

static const struct thrum_trace_lane *get_lane(const struct thrum_trace *trace, unsigned lane)
{
	const struct reader *r = (const struct reader *)trace;

	return lane < r->lane_count ? &r->lanes[lane].shown : NULL;
}

/* ---- Closing and opening ------------------------------------------------------------------- */

static void close_reader(struct thrum_trace *trace)
{
	struct reader *r = reader_of(trace);

	for (uint32_t i = 0; i < r->lane_count; i++)
		free(r->lanes[i].slot);
	while (r->free_slots) {
		struct slot *slot = r->free_slots;

		r->free_slots = slot->next_free;
		free(slot);
	}
	for (uint32_t i = 0; i < r->definition_room; i++)
		free(r->definitions[i]);
	thrum__read_addresses_free(r);
	thrum__read_live_finish(r);
	thrum__read_changes_finish(r);
	free(r->notes);
	free(r->definitions);
	free(r->packets);
	free(r->order);
	free(r->lanes);
	free(r->lanes_by_number);
	free(r->heap);
	free(r);
}

/* Loads and checks the recording's header. Returns 0 or a negative enum thrum_error. */
static int load_header(struct reader *r, struct thrum_error_info *info)
{
	const char *what;
	uint64_t offset;
	int64_t got = thrum__format_input_read(&r->trace.input, 0, &r->header, sizeof r->header);

	if (got < 0)
		return thrum__read_error_set(info, (int)got, 0, "its header can't be read");
	if (got < (int64_t)sizeof r->header)
		return thrum__read_error_set(info, -THRUM_E_TRUNCATED, (uint64_t)got,
			"truncated at byte %llu, in the header", (unsigned long long)got);
	int error = thrum__format_check_header(&r->header, &what, &offset);

	if (error == -THRUM_E_VERSION)
		return thrum__read_error_set(info, error, offset,
			"written by a newer thrum: format version %u, this one reads up to %u",
			(unsigned)r->header.version, THRUM__VERSION);
	if (error)
		return thrum__read_error_set(info, error, offset, "damaged header: %s at byte %llu",
			what, (unsigned long long)offset);
	/* These texts may lack their NULs. */
	r->header.program[sizeof r->header.program - 1] = '\0';
	r->header.host[sizeof r->header.host - 1] = '\0';
	return 0;
}

static const char *state_name(uint32_t state)
{
	switch (state) {
	case THRUM__RECORDING: return "recording";
	case THRUM__STOPPED: return "stopped";
	case THRUM__SNAPSHOT: return "snapshot";
	}
	return "";
}

static const char *clock_name(uint32_t kind)
{
	switch (kind) {
	case THRUM__CLOCK_TSC: return "tsc";
	case THRUM__CLOCK_MONOTONIC: return "monotonic";
	case THRUM__CLOCK_GIVEN: return "given";
	}
	return "";
}

/* ---- The end ------------------------------------------------------------------------------- */

#define AGE_MAX (INT64_C(1) << 60) /* ns, 36 years: a later end is damage */

_Static_assert((int)THRUM__ENDED_STOPPED == (int)THRUM_ENDING_STOPPED &&
		(int)THRUM__ENDED_EXITED == (int)THRUM_ENDING_EXITED &&
		(int)THRUM__ENDED_KILLED == (int)THRUM_ENDING_KILLED &&
		(int)THRUM__ENDED_GONE == (int)THRUM_ENDING_GONE &&
		THRUM__STOPPED_LIMITED == THRUM_STOPPED_LIMITED,
	"the header has the public numbers");

/* See still in struct thrum__read_format. */
static void still_reader(struct thrum_trace *trace, uint64_t ticks)
{
	struct reader *r = reader_of(trace);
	int64_t ns = clock_ns(&r->clock, ticks);

	if (ticks > r->clock.base && ns > trace->info.end && ns < AGE_MAX)
		trace->info.end = ns;
}

/* Sets how and when the recording ended, as far as its header tells. */
static void set_ending(struct reader *r)
{
	struct thrum_trace_info *info = &r->trace.info;
	const struct thrum__header *h = &r->header;
	uint32_t state = h->state, ending = h->ending;
	bool is_known = ending >= THRUM__ENDED_STOPPED && ending <= THRUM__ENDED_GONE;

	info->ending = is_known            ? (enum thrum_ending)ending
		: state == THRUM__STOPPED  ? THRUM_ENDING_STOPPED
		: state == THRUM__SNAPSHOT ? THRUM_ENDING_COPIED
					   : THRUM_ENDING_UNKNOWN;
	info->ending_code = is_known ? h->ending_code : -1;
	if (h->ended)
		still_reader(&r->trace, h->ended);
	/* The recorder reads the clock when it stops, and before a snapshot. */
	else if (state != THRUM__RECORDING)
		still_reader(&r->trace, r->clock.latest);
}

/* Sets time 0, the time of the earliest event of all, and the wall time at it. */
static void set_base(struct reader *r)
{
	struct thrum_trace_info *info = &r->trace.info;
	const struct thrum__reading *start = &r->header.start;
	const struct thrum__realtime_error *error = &r->header.realtime_error;
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < r->packet_count; i++) {
		const struct packet_ref *ref = &r->packets[i];

		if (ref->state == PACKET_GOOD && ref->content > sizeof(struct thrum__packet) &&
			ref->first < base)
			base = ref->first;
	}
	base = thrum__read_live_earliest(r, base);
	if (base == UINT64_MAX)
		base = start->ticks;
	r->clock.base = base;
	info->clock_first = base;
	double ns = (double)(int64_t)(base - start->ticks) * r->clock.ns_per_tick;

	info->start = info->monotonic = info->start_error = info->start_estimate = info->start_set =
		0;
	if (start->ticket == 0 || start->realtime == 0 || ns <= -0x1p62 || ns >= 0x1p62)
		return;
	info->start = (int64_t)(start->realtime + (uint64_t)(int64_t)ns);
	info->monotonic = (int64_t)(start->monotonic + (uint64_t)(int64_t)ns);
	if (error->most)
		info->start_error = (int64_t)(error->most * 1e3 +
			(ns < 0 ? -ns : ns) * ERROR_GROWTH);
	info->start_estimate = INT64_C(1000) * error->estimate;
	info->start_set = r->clock.set;
}

static void set_info(struct reader *r)
{
	struct thrum_trace_info *info = &r->trace.info;
	const struct thrum__header *h = &r->header;

	info->program = h->program;
	info->host = h->host;
	info->boot = h->boot;
	info->clock = clock_name(h->clock_kind);
	info->state = state_name(h->state);
	info->pid = h->pid;
	info->packet_size = h->packet_size;
	info->host_boot = h->host_clock.boot;
	info->host_monotonic = (int64_t)h->host_clock.monotonic;
	info->host_ahead = h->host_clock.ahead;
	info->host_error = (int64_t)h->host_clock.error;
}

/* Loads all but the events. Returns 0 or a negative enum thrum_error. */
static int load_recording(struct reader *r)
{
	r->definition_count = (uint32_t)(r->header.definitions.size /
		sizeof(struct thrum__definition));
	r->notes = malloc(sizeof *r->notes);
	if (!r->notes)
		return -THRUM_E_MEMORY;
	thrum__read_addresses_update(r);
	thrum__read_clock_init(r);
	/* The table first: tasks that are created later are in packets that will be overwritten
	 * last. */
	int error = thrum__read_live_init(r);

	if (!error)
		error = thrum__read_scan(r);
	/* A second scan frees the packets that the first one held back. */
	if (error >= 0 && r->holds_back)
		error = thrum__read_scan(r);
	if (error < 0)
		return error;
	r->has_ended = r->header.state != THRUM__RECORDING;
	error = thrum__read_live_find_lanes(r);
	if (!error)
		error = thrum__read_changes_update(r);
	if (!error)
		error = sort_lanes(r);
	if (!error)
		error = thrum__read_live_find_lanes(r);
	set_base(r);
	set_ending(r);
	thrum__read_off_cpu_init(r);
	thrum__read_merge_restart(r);
	return error;
}

static int open_reader(const struct thrum__input *input, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct reader *r = calloc(1, sizeof *r);

	if (!r)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	r->trace.input = *input;
	int error = load_header(r, info);

	if (!error) {
		set_info(r);
		error = load_recording(r);
		if (error < 0)
			thrum__read_error_set(info, error, 0, "reading failed");
	}
	if (error) {
		close_reader(&r->trace);
		return error;
	}
	*trace = &r->trace;
	return 0;
}

/* ---- Following ----------------------------------------------------------------------------- */

/* See refresh in struct thrum__read_format. */
static int refresh_reader(struct thrum_trace *trace, struct thrum_error_info *info)
{
	struct reader *r = reader_of(trace);

	if (r->has_ended)
		return 0;
	/* Must be known before the scan: a process that is dead by then adds nothing after it. */
	r->is_dead = strcmp(trace->info.state, "killed") == 0;
	thrum__read_addresses_update(r);
	thrum__read_clock_update(r);
	int result = thrum__read_scan(r);

	if (result >= 0 && thrum__read_changes_update(r))
		result = -THRUM_E_MEMORY;
	if (result < 0)
		return thrum__read_error_set(info, result, 0, "reading failed");
	if (!r->is_dead || r->header.state != THRUM__RECORDING)
		trace->info.state = state_name(r->header.state);
	r->has_ended = r->is_dead || r->header.state != THRUM__RECORDING;
	if (r->has_ended) {
		thrum__read_clock_update(r);
		set_ending(r);
	}
	if (r->is_dead && trace->info.ending == THRUM_ENDING_UNKNOWN)
		trace->info.ending = THRUM_ENDING_GONE;
	thrum__read_merge_restart(r);
	return result || r->has_ended ? 1 : THRUM__NOTHING_NEW;
}

const struct thrum__read_format thrum__read_thrum_format = {
	.name = "thrum",
	.probe = probe,
	.open = open_reader,
	.next = thrum__read_merge_next,
	.refresh = refresh_reader,
	.follow = thrum__read_follow,
	.still = still_reader,
	.site = get_site,
	.lane = get_lane,
	.close = close_reader,
};
