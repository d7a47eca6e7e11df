/* SPDX-License-Identifier: ISC */
/*
 * The events of the kernel's scheduler, as `perf script -F tid,cpu,time,event,trace` prints them, or
 * babeltrace2 --clock-seconds those of LTTng. A processor is a lane, and threads are the tasks that run
 * there. A thread is made ready by the one that wakes it. Interrupts are spans.
 *
 *     17090 [000] 73011.466252312: sched:sched_switch: prev_comm=perf prev_pid=17090 prev_prio=120 ...
 *     [73011.466252312] host sched_switch: { cpu_id = 0 }, { prev_comm = "perf", prev_tid = 17090, ...
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/parts.h"

#define NONE THRUM__IMPORT_NONE
#define LINE 1024 /* bytes of a line that are looked at */

struct thread {
	uint32_t task, label; /* task: NONE if it is gone */
	bool is_ready, is_ending;
};

struct line {
	char bytes[LINE];
	int64_t time;
	int64_t cpu;
	const char *event, *fields; /* the event's name, which ends in NUL, and the rest */
};

struct sched {
	struct thrum__import *import;
	struct thrum__base_keys tids;
	struct thread *threads;
	uint32_t room, part, lane;
	struct line *line;
};

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Reads seconds with digits behind the point. Returns their end, or NULL. */
static const char *take_time(const char *at, int64_t *ns)
{
	char *end;
	int64_t seconds, digit = 100000000;

	if (!isdigit((unsigned char)*at))
		return NULL;
	seconds = strtoll(at, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]) || seconds > INT64_MAX / 2000000000)
		return NULL;
	*ns = seconds * 1000000000;
	for (at = end + 1; isdigit((unsigned char)*at); at++, digit /= 10)
		*ns += (*at - '0') * digit;
	return at;
}

/* The value of a field; NULL if it is missing. */
static const char *field(const struct line *line, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = line->fields; (at = strstr(at, name)); at += size) {
		const char *value = at + size;

		if (at > line->fields && at[-1] != ' ' && at[-1] != '[')
			continue;
		if (*value == '=')
			return value + 1;
		if (strncmp(value, " = ", 3) == 0)
			return value + 3;
	}
	return NULL;
}

static int64_t number_of(const struct line *line, const char *name, const char *other)
{
	const char *value = field(line, name);

	if (!value)
		value = field(line, other);
	return value ? strtoll(value, NULL, 10) : -1;
}

/* Ends the event's name, and steps over the name of a group before it. */
static bool take_event(struct line *line, char *at)
{
	char *end;

	at += strspn(at, " ");
	end = strchr(at, ':');
	if (end && isalnum((unsigned char)end[1])) {
		at = end + 1;
		end = strchr(at, ':');
	}
	if (!end || end == at)
		return false;
	*end = '\0';
	line->event = at;
	line->fields = end + 1;
	return true;
}

/* "[SECONDS] HOST EVENT: { cpu_id = CPU }, ..." */
static bool take_babeltrace(struct line *line)
{
	const char *at = take_time(line->bytes + 1, &line->time);
	char *host = at && *at == ']' ? strchr(at, ' ') : NULL, *event;

	if (!host)
		return false;
	event = strchr(host + 1, ':');
	while (event && event > host && event[-1] != ' ')
		event--;
	if (!event || event <= host || !take_event(line, event))
		return false;
	line->cpu = number_of(line, "cpu_id", "cpu_id");
	return true;
}

/* "TID [CPU] SECONDS: EVENT: ...", perhaps with a name before it */
static bool take_perf(struct line *line)
{
	for (char *open = line->bytes; (open = strchr(open, '[')); open++) {
		char *close;
		const char *at;

		line->cpu = strtoll(open + 1, &close, 10);
		if (close == open + 1 || *close != ']')
			continue;
		at = take_time(close + 1 + strspn(close + 1, " "), &line->time);
		if (at && *at == ':')
			return take_event(line, line->bytes + (at + 1 - line->bytes));
	}
	return false;
}

/* Takes a line of text. Returns false if it is no event. */
static bool take_line(struct line *line, const char *from, size_t size)
{
	size = size < LINE - 1 ? size : LINE - 1;
	memcpy(line->bytes, from, size);
	line->bytes[size] = '\0';
	return line->bytes[0] == '[' ? take_babeltrace(line) : take_perf(line);
}

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
	const char *text = field(s->line, name), *end;
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
	int64_t number = number_of(s->line, pid, tid);
	char next[32];

	snprintf(next, sizeof next, " %s=", pid);
	return number > 0
		? find_thread(s, number, label_of(s, comm, next, number), THRUM__IMPORT_NOBODY)
		: NULL;
}

/* ---- Events --------------------------------------------------------------------------------- */

/* The thread could have gone on. */
static bool was_preempted(const struct line *line)
{
	const char *state = field(line, "prev_state");

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
	int64_t child = number_of(s->line, "child_tid", "child_pid");
	struct thread *parent = field(s->line, "parent_comm")
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

static void take_interrupt(struct sched *s, const char *kind, const char *name, const char *number)
{
	const char *text = field(s->line, name);
	char label[96];
	int size;

	if (text)
		size = snprintf(label, sizeof label, "%s %.*s", kind,
			(int)strcspn(text + (*text == '"'), " ],\""), text + (*text == '"'));
	else
		size = snprintf(label, sizeof label, "%s %lld", kind,
			(long long)number_of(s->line, number, number));
	add(s, THRUM__IMPORT_SPAN, NONE, NONE,
		thrum__import_text(s->import, label,
			(size_t)size < sizeof label ? (size_t)size : sizeof label - 1));
}

static bool is_event(const struct sched *s, const char *name)
{
	return strcmp(s->line->event, name) == 0;
}

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
		take_interrupt(s, "irq", "name", "irq");
	else if (is_event(s, "softirq_entry") || is_event(s, "irq_softirq_entry"))
		take_interrupt(s, "softirq", "action", "vec");
	else if (is_event(s, "irq_handler_exit") || is_event(s, "softirq_exit") ||
		is_event(s, "irq_softirq_exit"))
		add(s, THRUM__IMPORT_END, NONE, NONE, NONE);
	else
		return false;
	return true;
}

static void take_event_of(struct sched *s)
{
	char name[32];

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
	if (!s->import->failed && dispatch(s))
		s->import->events++;
	else
		s->import->left_out++;
}

/* ---- The file ------------------------------------------------------------------------------- */

bool thrum__import_is_sched(const char *bytes, size_t size)
{
	const char *end = memchr(bytes, '\n', size);
	struct line line;

	return take_line(&line, bytes, end ? (size_t)(end - bytes) : size);
}

int thrum__import_sched(struct thrum__import *im, const char *bytes, size_t size,
	struct thrum_error_info *info)
{
	struct line line;
	struct sched s = {.import = im, .line = &line};
	const char *end = bytes + size;
	int error = 0;

	s.part = thrum__import_part(im, 0, "", 0);
	if (!im->failed)
		im->parts[s.part].name = thrum__import_text(im, "kernel", 6);
	im->format = "the kernel's scheduler";
	for (const char *at = bytes; at < end && error == 0 && !im->failed;) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t length = next ? (size_t)(next - at) : (size_t)(end - at);

		if (take_line(&line, at, length))
			take_event_of(&s);
		else if (length > 0 && next)
			error = thrum__read_error_set(info, -THRUM_E_DAMAGED,
				(uint64_t)(at - bytes),
				"no event of perf script or babeltrace2 stands in this line");
		else
			im->is_cut |= length > 0;
		at += length + (next != NULL);
	}
	thrum__base_keys_free(&s.tids);
	free(s.threads);
	return error         ? error
		: im->failed ? thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory")
			     : 0;
}
