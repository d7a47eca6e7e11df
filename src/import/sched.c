/* SPDX-License-Identifier: ISC */
/*
 * The events of the kernel's scheduler, as `perf script -F tid,cpu,time,event,trace` prints them, or
 * babeltrace2 --clock-seconds those of LTTng. A processor is a lane, and threads are the tasks that run
 * there. A thread is made ready by the one that wakes it. Interrupts are spans, page faults are marks. A
 * block device is a lane, too; its requests are tasks of the threads that issue them. Events of programs
 * go to user.c.
 *
 *     17090 [000] 73011.466252312: sched:sched_switch: prev_comm=perf prev_pid=17090 prev_prio=120 ...
 *     [73011.466252312] host sched_switch: { cpu_id = 0 }, { prev_comm = "perf", prev_tid = 17090, ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/lines.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE

struct thread {
	uint32_t task, label; /* task: NONE if it is gone */
	bool is_ready, is_ending;
};

struct device {
	uint32_t lane, work; /* work: the task that runs while there are requests */
	uint32_t request_count;
};

struct sched {
	struct thrum__import *import;
	struct thrum__base_keys tids;
	struct thread *threads;
	struct thrum__base_keys device_keys; /* by number */
	struct device *devices;
	struct thrum__base_keys request_keys; /* by sector and device */
	struct pending {
		uint32_t task; /* NONE: it is over */
		bool is_back;  /* the device had no room for it, so it will be issued again */
	} * requests;
	uint32_t room, device_room, request_room, part, lane;
	struct thrum__import_line *line;
};

/* ---- Threads -------------------------------------------------------------------------------- */

static void add(struct sched *s, enum thrum__import_type type, uint32_t task, uint32_t other,
	uint32_t text)
{
	thrum__import_add(s->import,
		&(struct thrum__import_item){.type = (uint8_t)type,
			.time = s->line->time,
			.lane = s->lane,
			.task = task,
			.other = other,
			.text = text,
			.kind = THRUM_KIND_TASK});
}

/* The thread's name and number, as a label. Names may hold spaces, and end before field `next`. */
static uint32_t label_of(struct sched *s, const char *name, const char *next, int64_t tid)
{
	const char *text = thrum__import_field(s->line, name), *end;
	char label[96];
	int size;

	if (!text)
		text = "thread";
	end = *text == '"' ? strchr(++text, '"') : strstr(text, next);
	if (!end)
		end = text + strcspn(text, " ,");
	size = snprintf(label, sizeof label, "%.*s %lld", end - text < 64 ? (int)(end - text) : 64,
		text, (long long)tid);
	return thrum__import_text(s->import, label, (size_t)size);
}

/* Finds or makes a thread. NULL: it is none, or there is no memory. */
static struct thread *find_thread(struct sched *s, int64_t tid, uint32_t label, uint32_t parent)
{
	struct thread *grown;
	uint32_t index = 0, known = s->tids.count;

	if (tid <= 0 || thrum__base_keys_add(&s->tids, (uint64_t)tid, "", 0, &index)) {
		s->import->failed |= tid > 0;
		return NULL;
	}
	grown = thrum__base_grow(s->threads, &s->room, index + UINT64_C(1), sizeof *grown);
	if (!grown) {
		s->import->failed = true;
		return NULL;
	}
	s->threads = grown;
	if (index == known)
		grown[index].task = NONE;
	if (grown[index].task == NONE) {
		grown[index] = (struct thread){s->import->tasks++, label, false, false};
		add(s, THRUM__IMPORT_TASK, grown[index].task, parent, label);
	} else if (grown[index].label != label) {
		grown[index].label = label;
		add(s, THRUM__IMPORT_LABEL, grown[index].task, NONE, label);
	}
	return &grown[index];
}

static struct thread *thread_of(struct sched *s, const char *comm, const char *pid, const char *tid)
{
	int64_t number = thrum__import_number(s->line, pid, tid);
	char next[32];

	snprintf(next, sizeof next, " %s=", pid);
	return number > 0
		? find_thread(s, number, label_of(s, comm, next, number), THRUM__IMPORT_NOBODY)
		: NULL;
}

/* ---- Events --------------------------------------------------------------------------------- */

/* The thread could have gone on. */
static bool was_preempted(const struct thrum__import_line *line)
{
	const char *state = thrum__import_field(line, "prev_state");

	return state &&
		(*state == 'R' || *state == '0' || strncmp(state, "( \"TASK_RUNNING\"", 16) == 0);
}

static void take_switch(struct sched *s)
{
	struct thread *thread = thread_of(s, "prev_comm", "prev_pid", "prev_tid");

	if (thread) {
		thread->is_ready = was_preempted(s->line);
		if (thread->is_ready)
			add(s, THRUM__IMPORT_READY, NONE, thread->task, NONE);
		if (thread->is_ending) {
			add(s, THRUM__IMPORT_RESOLVE, thread->task, NONE, NONE);
			thread->task = NONE;
		}
	}
	thread = thread_of(s, "next_comm", "next_pid", "next_tid");
	add(s, THRUM__IMPORT_SWITCH, thread ? thread->task : NONE, NONE, NONE);
	if (thread)
		thread->is_ready = true;
}

static void take_wakeup(struct sched *s)
{
	struct thread *thread = thread_of(s, "comm", "pid", "tid");

	if (thread && !thread->is_ready) {
		thread->is_ready = true;
		add(s, THRUM__IMPORT_READY, NONE, thread->task, NONE);
	}
}

static void take_fork(struct sched *s)
{
	/* LTTng tells the process as child_pid, too. */
	int64_t child = thrum__import_number(s->line, "child_tid", "child_pid");
	struct thread *parent = thrum__import_field(s->line, "parent_comm")
		? thread_of(s, "parent_comm", "parent_tid", "parent_pid")
		: thread_of(s, "comm", "pid", "tid");

	find_thread(s, child, label_of(s, "child_comm", " child_pid=", child),
		parent ? parent->task : THRUM__IMPORT_NOBODY);
}

static void take_exit(struct sched *s)
{
	struct thread *thread = thread_of(s, "comm", "pid", "tid");

	if (thread)
		thread->is_ending = true;
}

static void begin_span(struct sched *s, const char *kind, const char *name, size_t size)
{
	char label[96];
	int length = snprintf(label, sizeof label, "%s %.*s", kind, size < 64 ? (int)size : 64,
		name);

	add(s, THRUM__IMPORT_SPAN, NONE, NONE,
		thrum__import_text(s->import, label, (size_t)length));
}

static void take_interrupt(struct sched *s)
{
	const char *text = thrum__import_field(s->line, "name");
	char number[24];

	if (text) {
		text += *text == '"';
		begin_span(s, "irq", text, strcspn(text, " ,\""));
		return;
	}
	snprintf(number, sizeof number, "%lld",
		(long long)thrum__import_number(s->line, "irq", "irq"));
	begin_span(s, "irq", number, strlen(number));
}

/* LTTng tells a number where perf tells a name, too. */
static void take_softirq(struct sched *s)
{
	static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
		"TASKLET", "SCHED", "HRTIMER", "RCU"};
	const char *text = thrum__import_field(s->line, "action");
	int64_t vector = thrum__import_number(s->line, "vec", "vec");

	if (!text)
		text = vector >= 0 && vector < 10 ? names[vector] : "other";
	begin_span(s, "softirq", text, strcspn(text, " ]"));
}

/* Takes the beginning or the end of an interrupt of the processor itself. */
static bool take_vector(struct sched *s)
{
	static const char prefix[] = "x86_irq_vectors_";
	const char *name = s->line->event, *end = strrchr(name, '_');

	if (!end || !thrum__import_field(s->line, "vector"))
		return false;
	if (strncmp(name, prefix, sizeof prefix - 1) == 0)
		name += sizeof prefix - 1;
	if (strcmp(end, "_entry") == 0 && end > name)
		begin_span(s, "irq", name, (size_t)(end - name));
	else if (strcmp(end, "_exit") == 0)
		add(s, THRUM__IMPORT_END, NONE, NONE, NONE);
	else
		return false;
	return true;
}

/* ---- Block devices -------------------------------------------------------------------------- */

static bool is_event(const struct sched *s, const char *name)
{
	return strcmp(s->line->event, name) == 0;
}

struct request {
	unsigned long long device, sector, bytes;
	const char *name;
};

/* LTTng has a bit for each letter. NULL: it discards blocks, and the kernel doesn't tell the end of all that
 * do. */
static const char *request_name(const char *letters, int64_t bits)
{
	if (strchr(letters, 'D') || bits & 2)
		return NULL;
	if (strchr(letters, 'R') || bits & 4)
		return "read";
	if (strchr(letters, 'W') || bits & 1)
		return "write";
	return strchr(letters, 'F') || bits & 0x500 ? "flush" : "request";
}

/* "MAJOR,MINOR LETTERS BYTES (COMMAND) SECTOR + ...", without BYTES at its end; or fields. */
static bool take_request(const struct thrum__import_line *line, struct request *request)
{
	unsigned major, minor;
	char letters[16] = "";
	const char *command;

	*request = (struct request){0};
	if (thrum__import_field(line, "dev")) {
		request->device = (unsigned long long)thrum__import_number(line, "dev", "dev");
		request->sector = (unsigned long long)thrum__import_number(line, "sector",
			"sector");
		request->bytes = (unsigned long long)thrum__import_number(line, "bytes", "bytes");
		request->name = request_name("", thrum__import_number(line, "rwbs", "rwbs"));
		return request->device <= UINT32_MAX;
	}
	if (sscanf(line->fields, "%u,%u %15s %llu", &major, &minor, letters, &request->bytes) < 3)
		return false;
	command = strchr(line->fields, ')');
	if (!command || major > 0xfff || minor > 0xfffff)
		return false;
	request->device = (unsigned long long)major << 20 | minor;
	request->sector = strtoull(command + 1, NULL, 10);
	request->name = request_name(letters, 0);
	return true;
}

static void add_task(struct sched *s, uint32_t task, uint32_t parent, enum thrum_kind kind,
	const char *label, int size)
{
	thrum__import_add(s->import,
		&(struct thrum__import_item){.type = THRUM__IMPORT_TASK,
			.time = s->line->time,
			.lane = s->lane,
			.task = task,
			.other = parent,
			.text = thrum__import_text(s->import, label, (size_t)size),
			.kind = (uint8_t)kind});
}

/* Finds or makes a device and its lane, which becomes that of the event. NULL: there is no memory. */
static struct device *find_device(struct sched *s, unsigned long long number)
{
	struct device *grown;
	uint32_t index = 0, known = s->device_keys.count;
	char label[64];
	int size;

	if (thrum__base_keys_add(&s->device_keys, number, "", 0, &index) ||
		!(grown = thrum__base_grow(s->devices, &s->device_room, index + UINT64_C(1),
			  sizeof *grown))) {
		s->import->failed = true;
		return NULL;
	}
	s->devices = grown;
	s->lane = thrum__import_lane(s->import, s->part, -1 - (int64_t)index, "", 0);
	if (index < known || s->import->failed)
		return s->import->failed ? NULL : &grown[index];
	grown[index] = (struct device){s->lane, s->import->tasks++, 0};
	size = snprintf(label, sizeof label, "requests of %llu:%llu", number >> 20,
		number & 0xfffff);
	add_task(s, grown[index].work, NONE, THRUM_KIND_HANDLE, label, size);
	s->import->lanes[s->lane].name = thrum__import_text(s->import, label + 12,
		(size_t)size - 12);
	s->import->lanes[s->lane].is_processor = true;
	return &grown[index];
}

/* Where a request is kept. NULL: there is no memory. */
static struct pending *find_request(struct sched *s, const struct request *request)
{
	uint32_t index = 0, known = s->request_keys.count;
	struct pending *grown;

	if (thrum__base_keys_add(&s->request_keys, request->sector, (const char *)&request->device,
		    sizeof request->device, &index) ||
		!(grown = thrum__base_grow(s->requests, &s->request_room, index + UINT64_C(1),
			  sizeof *grown))) {
		s->import->failed = true;
		return NULL;
	}
	s->requests = grown;
	if (index == known)
		grown[index] = (struct pending){.task = NONE};
	return &grown[index];
}

static void issue(struct sched *s, struct device *device, const struct request *request,
	uint32_t *task)
{
	int64_t tid = s->line->tid > 0 ? s->line->tid : thrum__import_number(s->line, "tid", "tid");
	uint32_t index = tid > 0 ? thrum__base_keys_find(&s->tids, (uint64_t)tid, "", 0)
				 : UINT32_MAX;
	char label[96];
	int size = snprintf(label, sizeof label, "%llu:%llu %s", request->device >> 20,
		request->device & 0xfffff, request->name);

	if (request->bytes > 0)
		size += snprintf(label + size, sizeof label - (size_t)size, " %llu KiB",
			request->bytes / 1024);
	*task = s->import->tasks++;
	add_task(s, *task, index != UINT32_MAX ? s->threads[index].task : THRUM__IMPORT_NOBODY,
		THRUM_KIND_HANDLE, label, size);
	if (device->request_count++ == 0)
		add(s, THRUM__IMPORT_SWITCH, device->work, NONE, NONE);
}

static void complete(struct sched *s, struct device *device, struct pending *pending)
{
	add(s, THRUM__IMPORT_RESOLVE, pending->task, NONE, NONE);
	*pending = (struct pending){.task = NONE};
	if (--device->request_count == 0)
		add(s, THRUM__IMPORT_SWITCH, NONE, NONE, NONE);
}

static bool take_block(struct sched *s)
{
	bool is_issue = is_event(s, "block_rq_issue");
	struct request request;
	struct device *device;
	struct pending *pending;

	if (!take_request(s->line, &request))
		return false;
	if (!request.name)
		return true;
	if (request.sector == UINT64_MAX)
		request.sector = 0; /* a flush ends with that */
	device = find_device(s, request.device);
	pending = device ? find_request(s, &request) : NULL;
	if (!pending)
		return false;
	if (is_event(s, "block_rq_requeue")) {
		pending->is_back = pending->task != NONE;
	} else if (is_issue && pending->is_back) {
		pending->is_back = false;
	} else {
		/* The end of some that were merged isn't told: it is before the next one. */
		if (pending->task != NONE)
			complete(s, device, pending);
		if (is_issue)
			issue(s, device, &request, &pending->task);
	}
	return true;
}

/* ---- Events of programs --------------------------------------------------------------------- */

/* Only babeltrace2 tells the thread in a field, if the trace has it. */
static bool is_of_program(const struct thrum__import_line *line)
{
	return line->host && line->group && thrum__import_field(line, "vtid");
}

static bool take_program(struct sched *s)
{
	const struct thrum__import_line *line = s->line;
	const char *process = thrum__import_field(line, "procname");
	const char *end = process && *process == '"' ? strchr(process + 1, '"') : NULL;

	s->import->is_realtime |= s->part == NONE;
	return thrum__import_user(s->import,
		&(struct thrum__import_user){.time = line->time,
			.pid = thrum__import_number(line, "vpid", "vtid"),
			.tid = thrum__import_number(line, "vtid", "vtid"),
			.host = line->host,
			.host_size = strcspn(line->host, " "),
			.process = end ? process + 1 : "",
			.process_size = end ? (size_t)(end - process - 1) : 0,
			.provider = line->group,
			.event = line->event,
			.fields = line->fields});
}

/* ---- All events ----------------------------------------------------------------------------- */

static bool dispatch(struct sched *s)
{
	if (is_event(s, "sched_switch"))
		take_switch(s);
	else if (is_event(s, "sched_waking") || is_event(s, "sched_wakeup") ||
		is_event(s, "sched_wakeup_new"))
		take_wakeup(s);
	else if (is_event(s, "sched_process_fork"))
		take_fork(s);
	else if (is_event(s, "sched_process_exit"))
		take_exit(s);
	else if (is_event(s, "irq_handler_entry"))
		take_interrupt(s);
	else if (is_event(s, "softirq_entry") || is_event(s, "irq_softirq_entry"))
		take_softirq(s);
	else if (is_event(s, "irq_handler_exit") || is_event(s, "softirq_exit") ||
		is_event(s, "irq_softirq_exit"))
		add(s, THRUM__IMPORT_END, NONE, NONE, NONE);
	else if (is_event(s, "page_fault_user") || is_event(s, "x86_exceptions_page_fault_user") ||
		is_event(s, "page-faults"))
		add(s, THRUM__IMPORT_LOG, NONE, NONE,
			thrum__import_text(s->import, "page fault", 10));
	else if (is_event(s, "block_rq_issue") || is_event(s, "block_rq_requeue") ||
		is_event(s, "block_rq_complete"))
		return take_block(s);
	else
		return take_vector(s);
	return true;
}

static void count(struct sched *s, bool is_taken)
{
	if (!s->import->failed && is_taken)
		s->import->events++;
	else
		s->import->left_out++;
}

static void find_part(struct sched *s)
{
	struct thrum__import *im = s->import;

	if (s->part != NONE)
		return;
	s->part = thrum__import_part(im, 0, "", 0);
	im->format = "the kernel's scheduler";
	im->is_kernel = true;
	im->is_realtime = false;
	if (!im->failed)
		im->parts[s->part].name = thrum__import_text(im, "kernel", 6);
}

static void take_event_of(struct sched *s)
{
	char name[32];

	if (is_of_program(s->line)) {
		count(s, take_program(s));
		return;
	}
	find_part(s);
	if (s->line->host && !s->import->failed && s->import->parts[s->part].host == NONE)
		s->import->parts[s->part].host = thrum__import_text(s->import, s->line->host,
			strcspn(s->line->host, " "));
	if (s->line->cpu < 0 || s->line->cpu > INT32_MAX) {
		s->import->left_out++;
		return;
	}
	s->lane = thrum__import_lane(s->import, s->part, s->line->cpu, "", 0);
	if (!s->import->failed && s->import->lanes[s->lane].name == NONE) {
		int size = snprintf(name, sizeof name, "CPU %d", (int)s->line->cpu);

		s->import->lanes[s->lane].name = thrum__import_text(s->import, name, (size_t)size);
		s->import->lanes[s->lane].tid = 0;
		s->import->lanes[s->lane].is_processor = true;
	}
	count(s, !s->import->failed && dispatch(s));
}

/* ---- The file ------------------------------------------------------------------------------- */

bool thrum__import_is_sched(const char *bytes, size_t size)
{
	const char *end = memchr(bytes, '\n', size);
	struct thrum__import_line line;

	return thrum__import_line(&line, bytes, end ? (size_t)(end - bytes) : size);
}

int thrum__import_sched(struct thrum__import *im, const char *bytes, size_t size,
	struct thrum_error_info *info)
{
	struct thrum__import_line line;
	struct sched s = {.import = im, .part = NONE, .line = &line};
	const char *end = bytes + size;
	int error = 0;

	im->format = "LTTng's tracepoints";
	for (const char *at = bytes; at < end && error == 0 && !im->failed;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t length = next ? (size_t)(next - at) : (size_t)(end - at);

		if (thrum__import_line(&line, at, length)) {
			take_event_of(&s);
		} else if (length > 0 && next)
			error = thrum__read_error_set(info, -THRUM_E_DAMAGED,
				(uint64_t)(at - bytes),
				"no event of perf script or babeltrace2 stands in this line");
		else
			im->is_cut |= length > 0;
		at += length + (next != NULL);
	}
	thrum__base_keys_free(&s.tids);
	thrum__base_keys_free(&s.device_keys);
	thrum__base_keys_free(&s.request_keys);
	free(s.devices);
	free(s.requests);
	free(s.threads);
	return error         ? error
		: im->failed ? thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory")
			     : 0;
}
