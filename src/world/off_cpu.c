/* SPDX-License-Identifier: ISC */
/*
 * The times in which threads were off their processors, as an imported trace of their machine's kernel
 * tells. There the processors are the lanes, and threads are tasks labelled "NAME NUMBER". The events are as
 * those of `thrum record --sched`.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/keys.h"
#include "world/parts.h"

/* Numbers in the place of that of the thread that woke one: nobody knows it, or it is none of a recording. */
#define BY_NOBODY 0u
#define BY_INTERRUPT UINT32_MAX
#define BY_OTHER (UINT32_MAX - 1)

bool thrum__world_is_kernel(const struct thrum_trace_info *info)
{
	return info->pid == 0 && strcmp(info->program, "kernel") == 0;
}

/* ---- Threads of recordings ------------------------------------------------------------------ */

static int add_thread(struct thrum__world_off_cpu *off, const struct thrum__world_thread *thread)
{
	struct thrum__world_thread *grown = thrum__base_grow(off->threads, &off->thread_room,
		off->thread_count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	off->threads = grown;
	grown[off->thread_count++] = *thread;
	return 0;
}

/* The main lane is the last one of several that begin at once: others are those of signal handlers. */
static int compare_threads(const void *a, const void *b)
{
	const struct thrum__world_thread *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->lane < y->lane) - (x->lane > y->lane);
}

static void sort_threads(struct thrum__world_off_cpu *off)
{
	if (off->thread_count > 0)
		qsort(off->threads, off->thread_count, sizeof *off->threads, compare_threads);
}

/* So many threads have lower numbers, or began before this one. */
static uint32_t count_before(const struct thrum__world_off_cpu *off,
	const struct thrum__world_thread *thread)
{
	uint32_t low = 0, high = off->thread_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_threads(&off->threads[middle], thread) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_known(const struct thrum__world_off_cpu *off, uint32_t tid)
{
	uint32_t i = count_before(off,
		&(struct thrum__world_thread){.tid = tid, .lane = UINT32_MAX});

	return tid > 0 && i < off->thread_count && off->threads[i].tid == tid;
}

static int take_of_recording(struct thrum__world_off_cpu *off, uint32_t part,
	const struct thrum_event *e)
{
	off->is_left_out[part] |= e->type == THRUM_EVENT_OFF_CPU;
	if (e->type != THRUM_EVENT_CREATE || e->kind != THRUM_KIND_THREAD || e->value <= 0)
		return 0;
	return add_thread(off,
		&(struct thrum__world_thread){.tid = (uint32_t)e->value,
			.part = part,
			.lane = e->lane,
			.from = e->clock,
			.own = e->other});
}

/* Only the last thread of a lane is known where the records that tell of threads are overwritten. */
static int add_lanes(struct thrum__world_off_cpu *off, uint32_t part, struct thrum_trace *trace)
{
	const struct thrum_trace_lane *lane;
	uint32_t room = 0, count = off->thread_count;
	bool *is_told = thrum__base_grow_zeroed(NULL, &room, thrum_trace_info(trace)->lanes + 1,
		sizeof *is_told);
	int error = is_told ? 0 : -THRUM_E_MEMORY;

	for (uint32_t i = 0; i < count && is_told; i++)
		if (off->threads[i].part == part && off->threads[i].lane < room)
			is_told[off->threads[i].lane] = true;
	for (uint32_t i = 0; i < room && error == 0 && (lane = thrum_trace_lane(trace, i)); i++)
		if (!is_told[i] && lane->tid > 0)
			error = add_thread(off,
				&(struct thrum__world_thread){.tid = lane->tid,
					.part = part,
					.lane = i});
	free(is_told);
	return error;
}

/* ---- The kernel's trace ---------------------------------------------------------------------- */

/* A thread, as the kernel's trace goes on. */
struct worker {
	uint32_t tid, woken_by;
	bool is_off, could_run;
	uint64_t since, woken; /* ticks; woken: 0: not yet */
};

struct kernel {
	struct thrum__world_off_cpu *off;
	uint32_t part;
	bool tells_timers; /* else an interrupt counts as the thread that it interrupts */
	uint64_t now;
	struct thrum__base_keys ids; /* of its tasks */
	struct worker *workers;      /* by id */
	uint32_t room;
	uint32_t *running; /* by lane: a worker + 1 */
	uint32_t lane_room;
};

static struct worker *worker_of(struct kernel *k, uint64_t task)
{
	uint32_t index = thrum__base_keys_find(&k->ids, task, "", 0);

	return index == UINT32_MAX ? NULL : &k->workers[index];
}

static int add_worker(struct kernel *k, uint64_t task)
{
	struct worker *grown;
	uint32_t index;
	int error = thrum__base_keys_add(&k->ids, task, "", 0, &index);

	if (error)
		return error;
	grown = thrum__base_grow_zeroed(k->workers, &k->room, index + UINT64_C(1), sizeof *grown);
	k->workers = grown ? grown : k->workers;
	return grown ? 0 : -THRUM_E_MEMORY;
}

/* "NAME NUMBER": a name may hold spaces. */
static void name_worker(const struct kernel *k, struct worker *worker, const char *label)
{
	const char *number = strrchr(label, ' ');
	uint64_t tid = 0;

	for (number = number ? number + 1 : ""; *number >= '0' && *number <= '9'; number++)
		if (tid < UINT32_MAX)
			tid = tid * 10 + (uint64_t)(*number - '0');
	worker->tid = tid < UINT32_MAX && is_known(k->off, (uint32_t)tid) ? (uint32_t)tid : 0;
}

static int add_time(struct kernel *k, const struct worker *worker, uint64_t begin, uint64_t end,
	enum thrum__off_cpu_state state)
{
	struct thrum__world_off_cpu *off = k->off;
	struct thrum__world_off *grown;

	if (worker->tid == 0 || end <= begin)
		return 0;
	grown = thrum__base_grow(off->all, &off->room, off->count + UINT64_C(1), sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	off->all = grown;
	grown[off->count++] = (struct thrum__world_off){.begin = (int64_t)begin,
		.end = (int64_t)end,
		.tid = worker->tid,
		.waker = state == THRUM__OFF_CPU_WOKEN ? worker->woken_by : BY_NOBODY,
		.part = k->part,
		.state = state};
	return 0;
}

/* The thread runs again, or the trace ends. */
static int end_off(struct kernel *k, struct worker *worker)
{
	uint64_t woken = worker->woken ? worker->woken : k->now;
	int error = 0;

	if (worker->is_off)
		error = add_time(k, worker, worker->since, woken,
			worker->could_run ? THRUM__OFF_CPU_PREEMPTED : THRUM__OFF_CPU_BLOCKED);
	if (worker->is_off && !error)
		error = add_time(k, worker, woken, k->now, THRUM__OFF_CPU_WOKEN);
	worker->is_off = false;
	return error;
}

static int take_switch(struct kernel *k, const struct thrum_event *e)
{
	uint32_t *grown = thrum__base_grow_zeroed(k->running, &k->lane_room, e->lane + UINT64_C(1),
		sizeof *grown);
	struct worker *to = worker_of(k, e->task), *from;

	if (!grown)
		return -THRUM_E_MEMORY;
	k->running = grown;
	from = grown[e->lane] ? &k->workers[grown[e->lane] - 1] : NULL;
	if (from && from != to && !from->is_off) {
		from->is_off = true;
		from->since = k->now;
		from->woken = 0;
		from->woken_by = BY_NOBODY;
	}
	grown[e->lane] = to ? (uint32_t)(to - k->workers) + 1 : 0;
	if (!to)
		return 0;
	int error = end_off(k, to);

	to->could_run = false;
	return error;
}

/* A thread that still runs becomes ready as it is preempted. */
static void take_ready(struct kernel *k, const struct thrum_event *e)
{
	struct worker *worker = worker_of(k, e->other), *waker = worker_of(k, e->task);

	if (!worker)
		return;
	if (!worker->is_off) {
		worker->could_run = true;
		return;
	}
	worker->woken = k->now;
	worker->woken_by = !waker  ? BY_INTERRUPT
		: !k->tells_timers ? BY_NOBODY
		: waker->tid       ? waker->tid
				   : BY_OTHER;
}

static int take_of_kernel(struct kernel *k, const struct thrum_event *e)
{
	struct worker *worker;

	k->now = e->clock;
	switch (e->type) {
	case THRUM_EVENT_CREATE: return e->kind == THRUM_KIND_TASK ? add_worker(k, e->other) : 0;
	case THRUM_EVENT_SWITCH: return take_switch(k, e);
	case THRUM_EVENT_READY: take_ready(k, e); break;
	case THRUM_EVENT_SPAN_BEGIN:
		k->tells_timers |= strcmp(e->text, "irq local_timer") == 0;
		break;
	case THRUM_EVENT_LABEL:
		worker = worker_of(k, e->task);
		if (worker)
			name_worker(k, worker, e->text);
		break;
	case THRUM_EVENT_RESOLVE:
		worker = worker_of(k, e->other);
		if (worker)
			worker->tid = 0;
		break;
	default: break;
	}
	return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int take_events(struct kernel *k, bool is_kernel, const struct thrum_event *events,
	size_t count, struct thrum__world_links *links)
{
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++) {
		error = thrum__world_links_take(links, k->part, &events[i]);
		if (error == 0 && k->off->is_wanted)
			error = is_kernel ? take_of_kernel(k, &events[i])
					  : take_of_recording(k->off, k->part, &events[i]);
	}
	return error;
}

int thrum__world_read(struct thrum__world_off_cpu *off, struct thrum__world_links *links,
	uint32_t part, struct thrum_trace *trace, struct thrum_error_info *info)
{
	struct kernel k = {.off = off, .part = part};
	bool is_kernel = thrum__world_is_kernel(thrum_trace_info(trace));
	const struct thrum_event *events;
	size_t count;
	int result = 1, error = 0;

	if (is_kernel)
		sort_threads(off);
	while (error == 0 && (result = thrum_trace_next(trace, &events, &count, info)) == 1)
		error = take_events(&k, is_kernel, events, count, links);
	for (uint32_t i = 0; i < k.ids.count && error == 0; i++)
		error = end_off(&k, &k.workers[i]);
	if (error == 0 && off->is_wanted && !is_kernel)
		error = add_lanes(off, part, trace);
	thrum__base_keys_free(&k.ids);
	free(k.workers);
	free(k.running);
	return error ? thrum__read_error_set(info, error, 0, "out of memory") : result;
}

/* ---- Placing --------------------------------------------------------------------------------- */

struct placing {
	struct thrum__world_off_cpu *off;
	const struct thrum__world_times *times;
	const struct thrum__world_part *parts;
};

/* Finds the common time at which each thread began. */
static void place_threads(const struct placing *p)
{
	for (uint32_t i = 0; i < p->off->thread_count; i++) {
		struct thrum__world_thread *thread = &p->off->threads[i];
		uint64_t first = thrum_trace_info(p->parts[thread->part].trace)->clock_first;
		const struct thrum__world_clock *clock = &p->times->clocks[thread->part];

		thread->host = clock->host;
		thread->begin = thrum__world_time(clock,
			thread->from > first ? thread->from : first);
	}
	sort_threads(p->off);
}

/* The thread that had this number on a machine, and began last before a time. */
static const struct thrum__world_thread *find_thread(const struct placing *p, uint32_t tid,
	uint32_t host, int64_t time)
{
	uint32_t i = count_before(p->off,
		&(struct thrum__world_thread){.tid = tid,
			.host = host,
			.begin = time,
			.lane = UINT32_MAX});
	const struct thrum__world_thread *thread = i > 0 ? &p->off->threads[i - 1] : NULL;

	return thread && thread->tid == tid && thread->host == host ? thread : NULL;
}

/* Cuts a time off where its recording begins and ends. Returns whether anything is left. */
static bool place(const struct placing *p, struct thrum__world_off *one)
{
	const struct thrum__world_clock *clock = &p->times->clocks[one->part];
	int64_t begin = thrum__world_time(clock, (uint64_t)one->begin), last;
	int64_t end = thrum__world_time(clock, (uint64_t)one->end);
	const struct thrum__world_thread *thread = find_thread(p, one->tid, clock->host, end),
					 *waker;

	if (!thread || p->off->is_left_out[thread->part])
		return false;
	/* Only one that was read knows its last event. */
	const struct thrum_trace_info *info = thrum_trace_info(p->parts[thread->part].again);

	last = thrum__world_time(&p->times->clocks[thread->part], info->clock_first);
	last = info->end < THRUM__WORLD_TIME_MAX ? last + info->end : THRUM__WORLD_TIME_MAX;
	waker = find_thread(p, one->waker, clock->host, begin);
	one->begin = begin > thread->begin ? begin : thread->begin;
	one->end = end < last ? end : last;
	one->part = thread->part;
	one->lane = thread->lane;
	one->other = waker ? thrum__world_id(waker->part, waker->own) : 0;
	return one->begin < one->end;
}

static int compare_times(const void *a, const void *b)
{
	const struct thrum__world_off *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

void thrum__world_off_cpu_place(struct thrum__world_off_cpu *off,
	const struct thrum__world_times *times, const struct thrum__world_part *parts)
{
	struct placing p = {off, times, parts};
	uint32_t count = 0;

	place_threads(&p);
	for (uint32_t i = 0; i < off->count; i++)
		if (place(&p, &off->all[i]))
			off->all[count++] = off->all[i];
	off->count = count;
	if (count > 0)
		qsort(off->all, count, sizeof *off->all, compare_times);
}

static const char *text_of(const struct thrum__world_off *one)
{
	return thrum__read_off_cpu_text(one->state,
		one->waker == BY_INTERRUPT                      ? THRUM__OFF_CPU_BY_INTERRUPT
			: one->waker == BY_NOBODY || one->other ? THRUM__OFF_CPU_BY_TASK
								: THRUM__OFF_CPU_BY_PROGRAM);
}

void thrum__world_off_cpu_give(const struct thrum__world_off *one, struct thrum_event *e)
{
	const char *text = text_of(one);

	*e = (struct thrum_event){.type = THRUM_EVENT_OFF_CPU,
		.time = one->begin,
		.other = one->other,
		.value = one->end - one->begin,
		.text = text,
		.text_size = (uint32_t)strlen(text),
		.flags = THRUM_EVENT_HAS_TEXT | THRUM_EVENT_HAS_VALUE};
	if (e->other)
		e->flags |= THRUM_EVENT_HAS_OTHER;
}

void thrum__world_off_cpu_finish(struct thrum__world_off_cpu *off)
{
	free(off->threads);
	free(off->all);
}
