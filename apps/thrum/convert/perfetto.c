/* SPDX-License-Identifier: ISC */
/*
 * Perfetto's protobuf trace format (https://perfetto.dev/docs/reference/synthetic-track-event), a
 * packet for each event. A lane is a thread with its runs and spans; a task is an asynchronous slice
 * on a track of its own, of which the viewer puts those with one name into one group; arrows are
 * flows between instants in runs. Times are ns since the first event.
 */
#include <string.h>

#include "analyse/label.h"
#include "analyse/stats/stats.h"
#include "convert/export.h"
#include "convert/wire.h"

#define FIELD static const struct wire_field

FIELD PACKET = {1, "packet"};
FIELD PACKET_CLOCKS = {6, "clockSnapshot"};
FIELD PACKET_TIME = {8, "timestamp"};
FIELD PACKET_SEQUENCE = {10, "trustedPacketSequenceId"};
FIELD PACKET_EVENT = {11, "trackEvent"};
FIELD PACKET_FLAGS = {13, "sequenceFlags"};
FIELD PACKET_TRACK = {60, "trackDescriptor"};

FIELD CLOCKS_CLOCK = {1, "clocks"};
FIELD CLOCK_ID = {1, "clockId"};
FIELD CLOCK_TIME = {2, "timestamp"};

FIELD TRACK_UUID = {1, "uuid"};
FIELD TRACK_NAME = {2, "name"};
FIELD TRACK_PROCESS = {3, "process"};
FIELD TRACK_THREAD = {4, "thread"};
FIELD TRACK_PARENT = {5, "parentUuid"};
FIELD TRACK_COUNTER = {8, "counter"};

FIELD PROCESS_PID = {1, "pid"};
FIELD PROCESS_NAME = {6, "processName"};
FIELD PROCESS_LABEL = {8, "processLabels"};
FIELD THREAD_PID = {1, "pid"};
FIELD THREAD_TID = {2, "tid"};
FIELD THREAD_NAME = {5, "threadName"};

FIELD EVENT_DETAIL = {4, "debugAnnotations"};
FIELD EVENT_TYPE = {9, "type"};
FIELD EVENT_TRACK = {11, "trackUuid"};
FIELD EVENT_CATEGORY = {22, "categories"};
FIELD EVENT_NAME = {23, "name"};
FIELD EVENT_VALUE = {30, "counterValue"};
FIELD EVENT_FLOW = {47, "flowIds"};
FIELD EVENT_FLOW_END = {48, "terminatingFlowIds"};

FIELD DETAIL_INT = {4, "intValue"};
FIELD DETAIL_UINT = {3, "uintValue"};
FIELD DETAIL_STRING = {6, "stringValue"};
FIELD DETAIL_NAME = {10, "name"};

enum {
	CLOCK_IS_REALTIME = 1,
	CLOCK_IS_BOOTTIME = 6, /* of times that name no clock */
	STATE_IS_CLEARED = 1,  /* of the sequence flags: the first packet */
};

enum event_type {
	SLICE_BEGIN = 1,
	SLICE_END,
	INSTANT,
	COUNTER,
};

/* The kinds of tracks: the high half of their ids. The low half is an index from 0 on. */
enum track_kind {
	PROCESS_TRACK = 1,
	LANE_TRACK,
	TASK_TRACK,
	COUNTER_TRACK,
	OFF_CPU_TRACK, /* by lane */
};

struct perfetto {
	struct export *export;
	struct wire wire;
	bool failed; /* out of memory */
};

static uint64_t track_id(enum track_kind kind, uint32_t index)
{
	return (uint64_t)kind << 32 | index;
}

/* ---- Packets --------------------------------------------------------------------------------- */

static struct wire *begin_packet(struct perfetto *to)
{
	wire_open(&to->wire, PACKET);
	wire_uint32(&to->wire, PACKET_SEQUENCE, 1);
	return &to->wire;
}

static void end_packet(struct perfetto *to)
{
	wire_close(&to->wire);
	to->failed |= export_wire(to->export, &to->wire);
}

static void put_clock(struct wire *wire, uint32_t id, uint64_t time)
{
	wire_open(wire, CLOCKS_CLOCK);
	wire_uint32(wire, CLOCK_ID, id);
	wire_uint64(wire, CLOCK_TIME, time);
	wire_close(wire);
}

/* The first packet tells the time of day of the first event. */
static void write_clocks(struct perfetto *to)
{
	struct wire *wire = begin_packet(to);
	int64_t start = to->export->info->start;

	wire_uint32(wire, PACKET_FLAGS, STATE_IS_CLEARED);
	wire_open(wire, PACKET_CLOCKS);
	put_clock(wire, CLOCK_IS_BOOTTIME, 0);
	if (start > 0)
		put_clock(wire, CLOCK_IS_REALTIME, (uint64_t)start);
	wire_close(wire);
	end_packet(to);
}

static struct wire *begin_track(struct perfetto *to, enum track_kind kind, uint32_t index)
{
	struct wire *wire = begin_packet(to);

	wire_open(wire, PACKET_TRACK);
	wire_uint64(wire, TRACK_UUID, track_id(kind, index));
	return wire;
}

static void end_track(struct perfetto *to)
{
	wire_close(&to->wire);
	end_packet(to);
}

static struct wire *begin_event(struct perfetto *to, enum event_type type, int64_t time,
	enum track_kind kind, uint32_t index)
{
	struct wire *wire = begin_packet(to);

	wire_uint64(wire, PACKET_TIME, time > 0 ? (uint64_t)time : 0);
	wire_open(wire, PACKET_EVENT);
	wire_uint32(wire, EVENT_TYPE, type);
	wire_uint64(wire, EVENT_TRACK, track_id(kind, index));
	return wire;
}

static void end_event(struct perfetto *to)
{
	wire_close(&to->wire);
	end_packet(to);
}

static void put_detail(struct wire *wire, const char *name, const char *text, size_t size)
{
	wire_open(wire, EVENT_DETAIL);
	wire_string(wire, DETAIL_NAME, name);
	wire_text(wire, DETAIL_STRING, text, size);
	wire_close(wire);
}

static void put_detail_string(struct wire *wire, const char *name, const char *text)
{
	put_detail(wire, name, text, strlen(text));
}

static void put_detail_id(struct perfetto *to, const char *name, uint32_t task)
{
	uint64_t id = THRUM__TASK(to->export->model, task, id);

	wire_open(&to->wire, EVENT_DETAIL);
	wire_string(&to->wire, DETAIL_NAME, name);
	if (to->export->info->signed_ids)
		wire_int64(&to->wire, DETAIL_INT, (int64_t)id);
	else
		wire_uint64(&to->wire, DETAIL_UINT, id);
	wire_close(&to->wire);
}

/* ---- Processes and lanes --------------------------------------------------------------------- */

static void write_process(struct perfetto *to, uint32_t process)
{
	struct wire *wire = begin_track(to, PROCESS_TRACK, process);
	size_t size;
	const char *name = export_process_name(to->export, process, &size), *host;

	wire_open(wire, TRACK_PROCESS);
	wire_int64(wire, PROCESS_PID, export_process_pid(to->export, process));
	wire_text(wire, PROCESS_NAME, name, size);
	host = export_process_host(to->export, process, &size);
	if (size > 0)
		wire_text(wire, PROCESS_LABEL, host, size);
	wire_close(wire);
	end_track(to);
}

/* Perfetto takes a thread with the number of its process for the main thread: threads have others. */
static void write_lane(struct perfetto *to, uint32_t lane)
{
	const struct export_processes *processes = &to->export->processes;
	struct wire *wire = begin_track(to, LANE_TRACK, lane);
	struct thrum__base_text name = thrum__base_text_growing();

	export_thread_text(to->export, lane, &name);
	wire_open(wire, TRACK_THREAD);
	wire_int64(wire, THREAD_PID, export_process_pid(to->export, processes->of_lane[lane]));
	wire_uint64(wire, THREAD_TID, (uint64_t)processes->count + lane + 1);
	wire_text(wire, THREAD_NAME, name.bytes, name.size);
	wire_close(wire);
	to->failed = to->failed || name.failed;
	thrum__base_text_free(&name);
	end_track(to);
}

static void write_slice(void *context, const struct export_slice *slice, int64_t time, bool begins)
{
	struct perfetto *to = context;
	const struct thrum__model *model = to->export->model;
	uint32_t lane = slice->is_span ? THRUM__SPAN(model, slice->row, lane)
				       : THRUM__RUN(model, slice->row, lane);
	struct wire *wire = begin_event(to, begins ? SLICE_BEGIN : SLICE_END, time, LANE_TRACK,
		lane);

	if (begins) {
		size_t size;
		const char *name = export_slice_name(to->export, slice, &size);

		wire_string(wire, EVENT_CATEGORY, slice->is_span ? "span" : "run");
		wire_text(wire, EVENT_NAME, name, size);
		if (!slice->is_span)
			put_detail_id(to, "task", THRUM__RUN(model, slice->row, task));
	}
	end_event(to);
}

static void write_gaps(struct perfetto *to)
{
	const struct thrum__model *model = to->export->model;

	for (uint32_t i = model->gaps.first; i < model->gaps.count; i++) {
		size_t size;
		const char *cause;

		if (!thrum__model_has_row(&model->gaps, i))
			continue;
		begin_event(to, INSTANT, THRUM__GAP(model, i, start), LANE_TRACK,
			THRUM__GAP(model, i, lane));
		wire_string(&to->wire, EVENT_CATEGORY, "gap");
		wire_string(&to->wire, EVENT_NAME, "events are lost");
		cause = thrum__model_string(model, THRUM__GAP(model, i, text), &size);
		put_detail(&to->wire, "cause", cause, size);
		end_event(to);
	}
}

/* The times in which a lane's thread was off its processor lie on a track below the lane's. */
static void write_off_cpu(struct perfetto *to)
{
	const struct thrum__model *model = to->export->model;

	if (model->off_cpu.count == 0)
		return;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		wire_string(begin_track(to, OFF_CPU_TRACK, i), TRACK_NAME, "off the CPU");
		wire_uint64(&to->wire, TRACK_PARENT, track_id(LANE_TRACK, i));
		end_track(to);
	}
	for (uint32_t i = model->off_cpu.first; i < model->off_cpu.count; i++) {
		uint32_t lane;
		const char *kind;
		size_t size;

		if (!thrum__model_has_row(&model->off_cpu, i))
			continue;
		lane = THRUM__OFF_CPU(model, i, lane);
		kind = thrum__model_string(model, THRUM__OFF_CPU(model, i, text), &size);
		begin_event(to, SLICE_BEGIN, THRUM__OFF_CPU(model, i, start), OFF_CPU_TRACK, lane);
		wire_string(&to->wire, EVENT_CATEGORY, "sched");
		wire_text(&to->wire, EVENT_NAME, kind, size);
		end_event(to);
		begin_event(to, SLICE_END, THRUM__OFF_CPU(model, i, end), OFF_CPU_TRACK, lane);
		end_event(to);
	}
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

static void write_task_track(struct perfetto *to, uint32_t task)
{
	struct wire *wire = begin_track(to, TASK_TRACK, task);
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	const char *name = export_task_name(to->export, task, &size);

	wire_uint64(wire, TRACK_PARENT, track_id(PROCESS_TRACK, export_process(to->export, task)));
	wire_text(wire, TRACK_NAME, pattern, thrum__analyse_label_pattern(name, size, pattern));
	end_track(to);
}

static void put_task_details(struct perfetto *to, uint32_t task)
{
	const struct thrum__model *model = to->export->model;
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t parent = THRUM__TASK(model, task, parent);
	struct wire *wire = &to->wire;
	const char *failure;
	size_t size;

	put_detail_id(to, "task", task);
	put_detail_string(wire, "kind", thrum__stats_task_kind(model, task));
	put_detail_string(wire, "state", thrum__model_state_name(THRUM__TASK(model, task, state)));
	if (thrum__model_has_row(&model->tasks, parent))
		put_detail_id(to, "parent", parent);
	failure = thrum__model_string(model, THRUM__TASK(model, task, failure), &size);
	if (size > 0)
		put_detail(wire, "failure", failure, size);
	if (!site)
		return;
	put_detail_string(wire, "file", site->file);
	wire_open(wire, EVENT_DETAIL);
	wire_string(wire, DETAIL_NAME, "line");
	wire_uint64(wire, DETAIL_UINT, site->line);
	wire_close(wire);
}

static void write_task(struct perfetto *to, uint32_t task)
{
	int64_t start = THRUM__TASK(to->export->model, task, start);
	struct wire *wire;
	const char *name;
	size_t size;

	write_task_track(to, task);
	wire = begin_event(to, SLICE_BEGIN, start, TASK_TRACK, task);
	wire_string(wire, EVENT_CATEGORY, "task");
	name = export_task_name(to->export, task, &size);
	wire_text(wire, EVENT_NAME, name, size);
	put_task_details(to, task);
	end_event(to);
	begin_event(to, SLICE_END, export_task_end(to->export, task), TASK_TRACK, task);
	end_event(to);
}

static void write_tasks(struct perfetto *to)
{
	for (uint32_t i = export_next_task(to->export, 0); i != THRUM__NONE;
		i = export_next_task(to->export, i + 1)) {
		export_step(to->export);
		write_task(to, i);
	}
}

/* Log lines and tags lie on the tracks of their tasks. */
static void write_note(struct perfetto *to, uint32_t note)
{
	const struct thrum__model *model = to->export->model;
	uint8_t kind = THRUM__NOTE(model, note, kind);
	uint32_t task = THRUM__NOTE(model, note, task);
	struct wire *wire;
	const char *text;
	size_t size;

	if (!export_is_event(model, note) || !thrum__model_has_row(&model->tasks, task) ||
		THRUM__TASK(model, task, flags) & THRUM__TASK_LANE)
		return;
	wire = begin_event(to, INSTANT, THRUM__NOTE(model, note, time), TASK_TRACK, task);
	text = thrum__model_string(model, THRUM__NOTE(model, note, text), &size);
	wire_string(wire, EVENT_CATEGORY, kind == THRUM__NOTE_LOG ? "log" : "tag");
	wire_text(wire, EVENT_NAME, text, size);
	if (kind == THRUM__NOTE_TAG_VALUE) {
		wire_open(wire, EVENT_DETAIL);
		wire_string(wire, DETAIL_NAME, "value");
		wire_int64(wire, DETAIL_INT, THRUM__NOTE(model, note, value));
		wire_close(wire);
	}
	end_event(to);
}

static void write_notes(struct perfetto *to)
{
	const struct thrum__model *model = to->export->model;

	for (uint32_t i = model->notes.first; i < model->notes.count; i++)
		if (thrum__model_has_row(&model->notes, i))
			write_note(to, i);
}

static void write_arrow_end(struct perfetto *to, struct wire_field field,
	const struct export_arrow *arrow, const struct export_arrow_end *end)
{
	struct wire *wire = begin_event(to, INSTANT, end->time, LANE_TRACK,
		THRUM__RUN(to->export->model, end->run, lane));

	wire_string(wire, EVENT_CATEGORY, export_arrow_category(arrow));
	wire_string(wire, EVENT_NAME, end->name);
	wire_fixed64(wire, field, arrow->number);
	end_event(to);
}

static void write_arrow(void *context, const struct export_arrow *arrow)
{
	write_arrow_end(context, EVENT_FLOW, arrow, &arrow->from);
	write_arrow_end(context, EVENT_FLOW_END, arrow, &arrow->to);
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void write_counter(struct perfetto *to, uint32_t number)
{
	const struct thrum__counter *counter = &to->export->model->counters[number];
	struct wire *wire = begin_track(to, COUNTER_TRACK, number);
	size_t size;
	const char *name = thrum__model_string(to->export->model, counter->name, &size);
	uint32_t process = export_counter_process(to->export, &name, &size);

	wire_text(wire, TRACK_NAME, name, size);
	wire_uint64(wire, TRACK_PARENT, track_id(PROCESS_TRACK, process));
	wire_open(wire, TRACK_COUNTER);
	wire_close(wire);
	end_track(to);
	for (uint32_t i = counter->values.first; i < counter->values.count; i++) {
		if (!thrum__model_has_value(&counter->values, i))
			continue;
		begin_event(to, COUNTER, THRUM__VALUE(counter, i, time), COUNTER_TRACK, number);
		wire_int64(wire, EVENT_VALUE, THRUM__VALUE(counter, i, value));
		end_event(to);
		export_step(to->export);
	}
}

int export_perfetto(struct export *export)
{
	struct perfetto to = {.export = export, .wire = wire_init(false)};
	int result = 0;

	write_clocks(&to);
	for (uint32_t i = 0; i < export->processes.count; i++)
		write_process(&to, i);
	for (uint32_t i = 0; i < export->model->lane_count; i++)
		write_lane(&to, i);
	for (uint32_t i = 0; result == 0 && i < export->model->lane_count; i++)
		result = export_lane(export, i, write_slice, &to);
	write_gaps(&to);
	write_off_cpu(&to);
	write_tasks(&to);
	write_notes(&to);
	if (result == 0)
		result = export_arrows(export, write_arrow, &to);
	for (uint32_t i = 0; i < export->model->counter_count; i++)
		write_counter(&to, i);
	thrum__base_text_free(&to.wire.text);
	return result == 0 && to.failed ? -THRUM_E_MEMORY : result;
}
