/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "format/format.h"
#include "rounds.h"
#include "steps_helper.h"

#define CALLS_MAX 4000
#define TRAPS_MAX 2000000u
/* Handlers are stepped through until there were so many traps: their number grows with a power of the
 * instructions that a call has, which compilers make a few or many of. */
#define TRAPS_ENOUGH rounds(40000, 4000)
/* Ids that no task has, for the tasks in a handler's events. */
#define HANDLER 900000000u
#define NUMBERED 1000000000u

/* ---- The handler --------------------------------------------------------------------------- */

static uint32_t traps, depth, deepest, stride;
static bool may_run;     /* whether the handler may run tasks */
static uint32_t steps;   /* of this call */
static uint32_t only_at; /* the handler records after this step only; 0: after each */
static thrum_task *made; /* by number of trap: the task that it created */

static void hex(char text[9], uint32_t number)
{
	for (int i = 0; i < 8; i++)
		text[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
	text[8] = '\0';
}

/* Records one event of four kinds, from which its number can be read. */
static void record_trap(uint32_t number)
{
	char label[9];

	switch (number % 4) {
	case 0: thrum_task_wait(HANDLER, NUMBERED + number); break;
	case 1: thrum_task_resolve(NUMBERED + number); break;
	case 2:
		if (!may_run) {
			thrum_task_wait(HANDLER, NUMBERED + number);
			break;
		}
		THRUM_RUN (HANDLER) {
			thrum_task_resolve(NUMBERED + number);
		}
		break;
	default: hex(label, number); made[number] = thrum_task_create(THRUM_KIND_FIBER, label);
	}
}

/* Ends the steps once the handler returns to this context. */
static void stop_steps(void *context)
{
#if CAN_STEP
	ucontext_t *interrupted = context;

	interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100;
#else
	(void)context;
#endif
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	if (only_at && ++steps < only_at)
		return;
	if (only_at)
		stop_steps(context);
	uint32_t number = traps++;

	if (number >= TRAPS_MAX)
		abort();
	depth++;
	if (depth < deepest && number % stride == 0 && number < TRAPS_ENOUGH) {
		STEP_ON();
		record_trap(number);
		STEP_OFF();
	} else {
		record_trap(number);
	}
	depth--;
}

/* ---- The calls to step through --------------------------------------------------------------- */

static struct thrum_counter *counter;
THRUM_TAG(mark, NULL, "mark", 0);
static thrum_task created[CALLS_MAX];

static void call(enum step_kind kind, uint32_t i)
{
	uint64_t id = MAIN_NUMBERED + i;
	char text[16];

	hex(text, i);
	memcpy(text + 8, " thrums", 8);
	thrum_task own = thrum_task_current();
	STEP_ON();
	switch (kind) {
	case STEP_WAIT: thrum_task_wait(id, id + 1); break;
	case STEP_READ: thrum_task_read(id, id + 1); break;
	case STEP_READ_OWN: thrum_task_read(own, id); break;
	case STEP_RESOLVE: thrum_task_resolve(id); break;
	case STEP_SWITCH: thrum_task_switch(id); break;
	case STEP_ENTER_READING: thrum__enter_reading(id, id + 1); break;
	case STEP_CREATE: created[i] = thrum_task_create(THRUM_KIND_MAP, text); break;
	case STEP_CREATE_IN: created[i] = thrum_task_create_in(id, THRUM_KIND_MAP, text); break;
	case STEP_CREATE_WAITING:
		created[i] = thrum_task_create_waiting(THRUM_KIND_MAP, text, id);
		break;
	case STEP_LOG: thrum_log(text); break;
	case STEP_COUNTER: thrum_counter_set(counter, i); break;
	case STEP_TAG: thrum_tag_value(&mark, i); break;
	default: thrum_task_label(id, text);
	}
	STEP_OFF();
}

/* ---- The expected events -------------------------------------------------------------------- */

static bool is_text_of(const struct thrum_event *event, uint32_t i)
{
	char text[16];

	hex(text, i);
	memcpy(text + 8, " thrums", 8);
	return strcmp(event->text, text) == 0;
}

/* Whether an event is the one of call number i, or one of its several. */
static bool is_call(const struct thrum_event *e, enum step_kind kind, uint32_t i)
{
	uint64_t id = MAIN_NUMBERED + i;

	switch (kind) {
	case STEP_WAIT: return e->type == THRUM_EVENT_WAIT && e->task == id && e->other == id + 1;
	case STEP_READ:
	case STEP_ENTER_READING:
		return e->type == THRUM_EVENT_READ && e->task == id && e->other == id + 1;
	case STEP_READ_OWN:
		return e->type == THRUM_EVENT_READ && e->other == id && e->task < HANDLER;
	case STEP_RESOLVE:
		return e->type == THRUM_EVENT_RESOLVE && e->other == id && e->task < HANDLER;
	case STEP_SWITCH: return e->type == THRUM_EVENT_SWITCH && e->task == id;
	case STEP_CREATE: return e->type == THRUM_EVENT_LABEL && e->task == created[i];
	case STEP_CREATE_IN: return e->type == THRUM_EVENT_CREATE && e->task == id;
	case STEP_CREATE_WAITING: return e->type == THRUM_EVENT_WAIT && e->other == id;
	case STEP_LOG: return e->type == THRUM_EVENT_LOG && is_text_of(e, i) && e->task < HANDLER;
	case STEP_COUNTER: return e->type == THRUM_EVENT_COUNTER && e->value == i;
	case STEP_TAG: return e->type == THRUM_EVENT_TAG && e->value == i;
	default: return e->type == THRUM_EVENT_LABEL && e->task == id && is_text_of(e, i);
	}
}

/* Returns the number of the trap that recorded an event, or -1. */
static int64_t trap_of(const struct thrum_event *e)
{
	if (e->type == THRUM_EVENT_WAIT && e->task == HANDLER)
		return (int64_t)e->other - NUMBERED;
	if (e->type == THRUM_EVENT_RESOLVE && e->other >= NUMBERED)
		return (int64_t)e->other - NUMBERED;
	if (e->type != THRUM_EVENT_LABEL || e->text_size != 8)
		return -1;
	return (int64_t)strtoul(e->text, NULL, 16);
}

static void check_trap(const struct thrum_event *e, uint32_t number)
{
	if (number % 4 == 3)
		assert_int_equal(e->task, made[number]);
	if (number % 4 == 2)
		assert_int_equal(e->task, HANDLER);
	/* That is not so if it interrupted another trap in the middle. */
	if (number % 4 == 1 && deepest == 1)
		assert_int_not_equal(e->task, HANDLER);
}

/* Checks that each trap's event is there once, or lost, and none is damaged or goes back in
 * time. */
static void check_traps(const struct events *events, bool may_lose)
{
	uint8_t *seen = calloc(traps + 1, 1);
	int64_t last[64] = {0};
	uint64_t found = 0, lost = events->info.lost[THRUM__LOST_NESTED];

	assert_non_null(seen);
	assert_int_equal(events->info.damaged, 0);
	assert_int_equal(events->info.gaps, 0);
	assert_int_equal(events->info.lost_total, lost);
	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];
		int64_t number = trap_of(e);

		assert_in_range(e->lane, 0, 63);
		assert_true(e->time >= last[e->lane]);
		last[e->lane] = e->time;
		if (number < 0 || e->flags & THRUM_EVENT_REMEMBERED)
			continue;
		assert_in_range(number, 0, traps - 1);
		assert_int_equal(seen[number]++, 0);
		check_trap(e, (uint32_t)number);
		found++;
	}
	free(seen);
	if (!may_lose)
		assert_int_equal(lost, 0);
	/* A trap that runs a task may lose several events. */
	assert_in_range(traps - found, 0, lost);
	assert_in_range(lost, 0, 5 * (traps - found));
}

/* Checks that each call's event is there once, in order. */
void steps_check(const struct events *events, enum step_kind kind, uint32_t calls)
{
	uint32_t next = 0;

	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];

		if (e->flags & THRUM_EVENT_REMEMBERED)
			continue;
		if (next < calls && is_call(e, kind, next))
			next++;
		else if (next > 0)
			assert_false(is_call(e, kind, next - 1));
	}
	assert_int_equal(next, calls);
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static const void *memory;
static uint64_t memory_size;

bool steps_init(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_NODEFER | SA_SIGINFO};

	if (!CAN_STEP) {
		puts("skipped: single steps need x86-64 and no sanitizer");
		return false;
	}
	made = calloc(TRAPS_MAX, sizeof *made);
	counter = thrum_counter_create("steps", THRUM_COUNTER_GAUGE);
	if (!made || !counter || sigaction(SIGTRAP, &action, NULL))
		abort();
	return true;
}

uint32_t steps_traps(void)
{
	return traps;
}

void steps_begin(uint64_t size, uint32_t levels, uint32_t every)
{
	memory = start_in_memory(size, NULL);
	memory_size = size;
	thrum_log("attached");
	traps = depth = 0;
	deepest = levels;
	stride = every;
	may_run = true;
	only_at = 0;
}

struct events steps_end(bool may_lose)
{
	thrum_stop();
	struct events events = events_of_memory(memory, memory_size);
	const struct thrum__header *header = memory;

	/* Nothing is overwritten: there are packets that no lane has used. */
	assert_in_range(header->packets_used, 1, header->packets - 1);
	check_traps(&events, may_lose);
	return events;
}

void step_through(uint64_t size, uint32_t levels, uint32_t every, enum step_kind kind,
	uint32_t calls)
{
	steps_begin(size, levels, every);
	/* A handler that runs a task and switches back would repeat the call's switch. */
	may_run = kind != STEP_SWITCH && kind != STEP_ENTER_READING;
	for (uint32_t i = 0; i < calls; i++)
		call(kind, i);
	/* Three levels have lanes. */
	struct events events = steps_end(levels > 2);

	/* A trap did happen after each instruction. */
	assert_true(traps > calls * 10);
	steps_check(&events, kind, calls);
	events_free(&events);
}

void step_to_each(uint64_t size, enum step_kind kind)
{
	uint32_t calls = 0;

	steps_begin(size, 1, 1);
	may_run = kind != STEP_SWITCH && kind != STEP_ENTER_READING;
	for (only_at = 1; traps == calls && calls < CALLS_MAX; only_at++) {
		steps = 0;
		call(kind, calls++);
	}
	/* The last call ended before step `only_at`, so it has no trap. */
	assert_in_range(calls, 20, CALLS_MAX - 1);
	assert_int_equal(traps, calls - 1);
	struct events events = steps_end(false);

	steps_check(&events, kind, calls);
	events_free(&events);
}
