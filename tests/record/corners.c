/* SPDX-License-Identifier: ISC */
/* Rare cases on which the recorder relies: limits, wake-ups, what is given back, and what nobody
 * may take. Looks at the recorder's own memory, since such a fault shows late or never. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/futex.h"
#include "record/record.h"
#include "record_helper.h"

#define SIZE (256 << 10)

static struct recorder *recorder(void)
{
	return atomic_load(&thrum__record_process.recorder);
}

static void run_in_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
	pthread_join(thread, NULL);
}

/* ---- Fast events ----------------------------------------------------------------------------- */

static void a_fast_event_fits_behind_its_limit(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	for (int i = 0; i < 20000; i++) {
		thrum_log("a text as long as a fast event may have, nearly.");
		const struct lane *lane = thrum__record_thread.lane[0];
		const uint8_t *limit = atomic_load(&lane->limit);
		const uint8_t *end = (uint8_t *)lane->packet + recorder()->ready[lane->slot];

		assert_ptr_equal(limit, end - FAST_EVENT_MAX + 1);
		assert_true(lane->position <= end);
	}
	thrum_stop();
}

THRUM_TAG(step, NULL, "step", 1);

static void fast_events_keep_what_the_next_packet_tells(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	for (int i = 0; i < 2; i++) { /* the first time the tag is defined, which is slow */
		thrum_span_begin(&step);
		const struct lane *lane = thrum__record_thread.lane[0];

		assert_int_equal(lane->open, 1);
		assert_int_equal(lane->spans[0], (uint16_t)step.id);
		thrum_span_end(&step);
		assert_int_equal(lane->open, 0);
		assert_int_equal(lane->spans[0], 0);
		thrum_suspend(&step);
		assert_int_equal(lane->suspended, (uint16_t)step.id);
		thrum_resume();
		assert_int_equal(lane->suspended, 0);
	}
	thrum_stop();
}

/* Spans may be nested more deeply than a packet can tell. */
static void deep_spans_are_counted(void **state)
{
	const unsigned deep = THRUM__SPANS_MAX + 2;

	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_tag(&step);
	const struct lane *lane = thrum__record_thread.lane[0];

	for (unsigned i = 0; i < deep; i++)
		thrum_span_begin(&step);
	assert_int_equal(lane->open, deep);
	for (unsigned i = deep; i-- > 0;) {
		thrum_span_end(&step);
		assert_int_equal(lane->open, i);
		for (unsigned j = 0; j < THRUM__SPANS_MAX; j++)
			assert_int_equal(lane->spans[j], j < i ? (uint16_t)step.id : 0);
	}
	thrum_stop();
}

/* Other readers of the Common Trace Format know the losses from the packets. */
static void packets_count_losses(void **state)
{
	char text[200];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	start_in_memory(SIZE, NULL);
	thrum_log(text);
	const struct lane *lane = thrum__record_thread.lane[0];
	const struct thrum__packet *first = lane->packet;

	assert_int_equal(first->discarded, 0);
	for (uint64_t all = 5; all <= 10; all += 5) {
		const struct thrum__packet *packet = lane->packet;

		thrum__record_thread.lost = 5;
		thrum__record_thread.lost_cause = THRUM__LOST_NESTED;
		while (lane->packet == packet)
			thrum_log(text);
		assert_int_equal(lane->packet->discarded, all);
	}
	thrum_stop();
}

/* Makes another task the running one, and records no switch. */
static void run_unseen(thrum_task task)
{
	thrum_task_switch(task);
	assert_int_not_equal(thrum__record_thread.lane[0]->said, task);
}

static void fast_events_tell_first_who_runs(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_task a = thrum_task_create(THRUM_KIND_TASK, "a");
	thrum_task b = thrum_task_create(THRUM_KIND_TASK, "b");
	thrum_task lock = thrum_task_create(THRUM_KIND_TASK, "lock");
	const struct lane *lane = thrum__record_thread.lane[0];

	thrum_tag(&step);
	thrum_level("task", 2);
	run_unseen(a);
	thrum_lock_acquired(lock);
	assert_int_equal(lane->said, a);
	run_unseen(b);
	thrum_task_signal(lock, 1);
	assert_int_equal(lane->said, b);
	run_unseen(a);
	thrum_tag_value(&step, 1);
	assert_int_equal(lane->said, a);
	run_unseen(b);
	thrum_task_cancel(lock);
	assert_int_equal(lane->said, b);
	thrum_level("task", 3);
	thrum_stop();
}

/* A read by the running task names its reader, where the lane hasn't told who runs. */
static void a_read_tells_who_reads(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);

	(void)state;
	thrum_task a = thrum_task_create(THRUM_KIND_TASK, "a");
	thrum_task b = thrum_task_create(THRUM_KIND_TASK, "b");

	thrum_level("task", 2);
	run_unseen(a);
	thrum_task_read(a, b);
	thrum_level("task", 3);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	const struct thrum_event *read = events_find(&events, THRUM_EVENT_READ, 0);

	assert_non_null(read);
	assert_int_equal(read->task, a);
	assert_int_equal(read->other, b);
	events_free(&events);
}

/* A handler that interrupts a call writes into another lane. */
static void a_switch_in_a_handler_is_told_in_both_lanes(void **state)
{
	struct thread *thread = &thrum__record_thread;

	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_task a = thrum_task_create(THRUM_KIND_TASK, "a");
	struct lane *lane = thread->lane[0];

	thrum_log("before");
	assert_int_equal(lane->said, thread->running);
	/* As in the middle of a call, with a signal's frame below. */
	thread->busy[0] = (uintptr_t)__builtin_frame_address(0) + 16384;
	thrum_task_switch(a);
	assert_null(atomic_load(&lane->tsc_limit));
	assert_int_equal(thread->lane[1]->said, a);
	/* The call goes on, and changes the packet. */
	assert_int_not_equal(lane->said, a);
	thrum__record_set_limit(lane);
	assert_null(atomic_load(&lane->tsc_limit));
	thread->busy[0] = 0;
	thrum_log("after");
	assert_int_equal(lane->said, a);
	assert_true(!recorder()->clock.read == !!atomic_load(&lane->tsc_limit));
	/* The handler puts the former task back, so nothing must be told. */
	thread->busy[0] = (uintptr_t)__builtin_frame_address(0) + 16384;
	THRUM_RUN (thread->own) {
		assert_null(atomic_load(&lane->tsc_limit));
	}
	assert_null(atomic_load(&lane->tsc_limit));
	thread->busy[0] = 0;
	thrum_task_wait(a, a);
	assert_true(!recorder()->clock.read == !!atomic_load(&lane->tsc_limit));
	thrum_stop();
}

static void ends_free_cells_also_when_they_are_not_recorded(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);

	(void)state;
	thrum_task a = thrum_task_create(THRUM_KIND_TASK, "a");
	thrum_task b = thrum_task_create(THRUM_KIND_TASK, "b");
	const struct lane *lane = thrum__record_thread.lane[0];

	thrum_level("task", 0);
	thrum_task_become(a, b);
	assert_false(live_is_in(live_cell(lane, a), a));
	thrum_task_cancel(b);
	assert_false(live_is_in(live_cell(lane, b), b));
	thrum_level("task", 3);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	for (size_t i = 0; i < events.count; i++) {
		assert_int_not_equal(events.list[i].type, THRUM_EVENT_CANCEL);
		assert_int_not_equal(events.list[i].type, THRUM_EVENT_BECOME);
	}
	events_free(&events);
}

static void no_fast_event_begins_after_the_stop(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	struct recorder *r = recorder();

	thrum_log("a lane");
	assert_true(has_limit(&r->lanes[0]));
	thrum_stop();
	for (uint32_t i = 0; i < r->packet_count; i++) {
		assert_null(atomic_load(&r->lanes[i].limit));
		assert_null(atomic_load(&r->lanes[i].tsc_limit));
	}
}

/* ---- Readers --------------------------------------------------------------------------------- */

/* A reader that sleeps. */
struct sleeper {
	_Atomic int tid;
	_Atomic bool is_awake;
};

static void *sleep_until_progress(void *argument)
{
	struct sleeper *sleeper = argument;
	struct thrum__header *h = recorder()->header;
	uint32_t seen = atomic_load(&h->progress);

	atomic_store(&sleeper->tid, (int)syscall(SYS_gettid));
	thrum__port_wait(&h->progress, seen, 600000);
	atomic_store(&sleeper->is_awake, true);
	return NULL;
}

/* Waits until the thread sleeps, and for nothing but the futex: it does nothing else. */
static void wait_until_asleep(const struct sleeper *sleeper)
{
	char path[64], state = '?';

	while (!atomic_load(&sleeper->tid))
		usleep(1000);
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&sleeper->tid));
	while (state != 'S') {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
		usleep(1000);
	}
}

static void who_sleeps_is_woken(void **state)
{
	struct sleeper sleeper = {0};
	pthread_t thread;

	(void)state;
	start_in_memory(SIZE, NULL);
	struct thrum__header *h = recorder()->header;

	thrum_log("a lane");
	assert_int_equal(pthread_create(&thread, NULL, sleep_until_progress, &sleeper), 0);
	wait_until_asleep(&sleeper);
	atomic_store(&h->waiters, 1);
	uint32_t seen = atomic_load(&h->progress);

	while (atomic_load(&h->progress) == seen)
		thrum_log("filling a packet");
	for (int i = 0; i < 60000 && !atomic_load(&sleeper.is_awake); i++)
		usleep(1000);
	assert_true(atomic_load(&sleeper.is_awake));
	pthread_join(thread, NULL);
	thrum_stop();
}

static void who_waits_for_a_packet_is_told(void **state)
{
	(void)state;
	start_in_memory(SIZE, NULL);
	struct thrum__header *h = recorder()->header;

	thrum_log("a lane");
	uint32_t seen = atomic_load(&h->progress);

	atomic_store(&h->waiters, 1);
	for (int i = 0; i < 20000 && atomic_load(&h->progress) == seen; i++)
		thrum_log("filling a packet");
	assert_int_not_equal(atomic_load(&h->progress), seen);
	atomic_store(&h->waiters, 0);
	seen = atomic_load(&h->progress);
	thrum_stop();
	assert_int_not_equal(atomic_load(&h->progress), seen);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *log_once(void *own)
{
	thrum_log("a thread");
	*(uint64_t *)own = thrum__record_thread.own;
	return NULL;
}

static void *end_within_a_task(void *own)
{
	log_once(own);
	thrum_task_switch(thrum_task_create(THRUM_KIND_TASK, "never left"));
	return NULL;
}

static void a_thread_has_an_end(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);
	uint64_t own = 0;
	size_t ends = 0;

	(void)state;
	run_in_thread(end_within_a_task, &own);
	assert_false(live_is_in(&recorder()->live[own & recorder()->live_mask], own));
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	for (size_t i = 0; i < events.count; i++)
		if (events.list[i].type == THRUM_EVENT_RESOLVE && events.list[i].other == own) {
			assert_int_equal(events.list[i].task, own);
			ends++;
		}
	assert_int_equal(ends, 1);
	events_free(&events);
}

static void *leave_all_open(void *lane)
{
	thrum_span_begin(&step);
	thrum_suspend(&step);
	*(struct lane **)lane = thrum__record_thread.lane[0];
	return NULL;
}

static void *find_nothing_open(void *left)
{
	thrum_log("takes the lane");
	const struct lane *lane = thrum__record_thread.lane[0];

	assert_ptr_equal(lane, *(struct lane **)left);
	assert_int_equal(lane->open, 0);
	assert_int_equal(lane->suspended, 0);
	return NULL;
}

static void a_thread_leaves_nothing_open_for_the_next(void **state)
{
	struct lane *lane;

	(void)state;
	start_in_memory(SIZE, NULL);
	run_in_thread(leave_all_open, &lane);
	run_in_thread(find_nothing_open, &lane);
	thrum_stop();
}

static _Atomic bool is_armed;

static uint64_t read_and_signal(void *unused)
{
	(void)unused;
	if (atomic_exchange(&is_armed, false))
		raise(SIGUSR1);
	return hand_clock.read(NULL);
}

static void log_in_handler(int signal)
{
	(void)signal;
	thrum_log("nested");
}

/* Uses the lane for handlers, which a former thread may have left. */
static void *log_nested(void *own)
{
	thrum_log("before");
	atomic_store(&is_armed, true);
	thrum_log("interrupted");
	const struct lane *lane = thrum__record_thread.lane[1];

	assert_ptr_not_equal(lane, &thrum__record_no_lane);
	assert_int_equal(lane->packet->own, thrum__record_thread.own);
	assert_int_equal(lane->packet->tid, syscall(SYS_gettid));
	*(uint64_t *)own = thrum__record_thread.own;
	return NULL;
}

static void a_nested_lane_tells_its_new_thread(void **state)
{
	const struct thrum_clock clock = {.read = read_and_signal, .frequency = 100000000};
	const void *memory = start_in_memory(SIZE, &clock);
	uint64_t own[2];

	(void)state;
	signal(SIGUSR1, log_in_handler);
	for (int i = 0; i < 2; i++)
		run_in_thread(log_nested, &own[i]);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	uint32_t told = 0;

	for (size_t i = 0; i < events.count; i++) {
		const struct thrum_event *e = &events.list[i];

		if (e->type == THRUM_EVENT_LOG && strcmp(e->text, "nested") == 0)
			assert_int_equal(e->task, own[told++]);
	}
	assert_int_equal(told, 2);
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
	signal(SIGUSR1, SIG_DFL);
}

/* Its state belongs to no recording yet. */
static void a_handler_while_a_thread_changes_recordings(void **state)
{
	struct thread *thread = &thrum__record_thread;

	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_log("a lane");
	struct lane *lane = thread->lane[0];
	uint8_t *position = lane->position;
	uint32_t generation = thread->generation;
	uint64_t lost = atomic_load(&recorder()->header->lost[THRUM__LOST_NESTED]);

	thread->generation = UINT32_MAX;
	thread->lane[0] = &thrum__record_no_lane;
	thrum_log("lost");
	assert_ptr_equal(thread->lane[0], &thrum__record_no_lane);
	assert_int_equal(atomic_load(&recorder()->header->lost[THRUM__LOST_NESTED]), lost + 1);
	thread->generation = generation;
	thread->lane[0] = lane;
	assert_ptr_equal(lane->position, position);
	thrum_log("not lost");
	assert_ptr_not_equal(lane->position, position);
	thrum_stop();
}

/* ---- Given back, and taken over ------------------------------------------------------------- */

static void regions_of_ids_are_given_back(void **state)
{
	(void)state;
	start_in_memory(16 << 20, NULL);
	struct recorder *r = recorder();
	uint32_t regions = (uint32_t)((r->live_mask + 1) / r->id_block), taken = 0;

	for (uint32_t i = 0; i < 10 * ID_BLOCK; i++)
		thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, "task"));
	for (uint32_t i = 0; i < regions; i++)
		taken += atomic_load(&r->regions[i]) != 0;
	assert_int_equal(taken, 1);
	thrum_stop();
}

/* Only one of a small table's regions has a free cell: the first that is looked at, or the last. A lane
 * has one region, so it can't use the free cell of one that it has left. */
static void kept_cells_are_in_the_lane_s_region(void **state)
{
	for (unsigned last = 0; last < 2; last++) {
		(void)state;
		start_in_memory(SIZE, NULL);
		thrum_log("takes a lane");
		struct recorder *r = recorder();
		struct lane *lane = thrum__record_thread.lane[0];
		uint64_t regions = (r->live_mask + 1) / r->id_block;
		uint64_t region = (atomic_load(&r->id_blocks) + last * 15) % regions;

		assert_true(r->id_block < ID_BLOCK && regions > 1);
		for (uint64_t i = 0; i <= r->live_mask; i++)
			atomic_store(&r->live[i].tag, 1);
		atomic_store(&r->live[region * r->id_block].tag, 0);
		thrum__record_take_ids(lane);
		assert_int_equal(lane->is_scarce, last);
		if (last)
			assert_int_equal(lane->region, region + 1);
		thrum_stop();
	}
}

static void no_id_looks_like_a_free_cell(void **state)
{
	thrum_task task;

	(void)state;
	start_in_memory(SIZE, NULL);
	thrum_log("takes a lane");
	atomic_store(&recorder()->id_blocks, (UINT64_C(1) << 32) / recorder()->id_block);
	do {
		task = thrum_task_create(THRUM_KIND_TASK, "task");
		assert_int_not_equal((uint32_t)task, 0);
	} while (task >> 32 == 0);
	thrum_stop();
}

/* All are in one hash table, in which they meet. */
static void definitions_differ_by_what_they_belong_to(void **state)
{
	struct thrum__definition d = {.type = THRUM__DEFINES_TAG, .text = "same"};
	uint16_t last = 0;
	uint32_t id;

	(void)state;
	start_in_memory(16 << 20, NULL);
	for (d.parent = 1; d.parent < recorder()->definition_count; d.parent++) {
		uint16_t number = thrum__record_define(recorder(), &d, sizeof "same", &id);

		assert_true(number > last);
		last = number;
	}
	thrum_stop();
}

/* A thread that looked at the stack before notices that it was changed. */
static void a_lane_parked_again_is_not_the_same(void **state)
{
	uint64_t own;

	(void)state;
	start_in_memory(SIZE, NULL);
	struct recorder *r = recorder();

	run_in_thread(log_once, &own);
	uint64_t tag = atomic_load(&r->parked) >> 32;
	struct lane *lane = thrum__record_unpark(r);

	assert_non_null(lane);
	assert_int_equal(atomic_load(&r->parked) >> 32, tag + 1);
	thrum__record_park(r, lane);
	assert_int_equal(atomic_load(&r->parked) >> 32, tag + 2);
	thrum_stop();
}

/* Ends the thread without telling the C library. */
static void *vanish(void *own)
{
	log_once(own);
	syscall(SYS_exit, 0);
	return NULL;
}

static void lanes_between_two_packets_stay_alone(void **state)
{
	uint64_t own = 0;

	(void)state;
	skip_unless_threads_vanish();
	start_in_memory(SIZE, NULL);
	struct recorder *r = recorder();

	for (uint32_t i = 0; i < r->packet_count; i++)
		run_in_thread(vanish, &own);
	for (uint32_t i = 0; i < r->packet_count; i++)
		atomic_store(&r->lanes[i].switching, 1);
	atomic_store(&r->next_reclaim, 0);
	run_in_thread(log_once, &own);
	assert_int_equal(own, 0);
	atomic_store(&r->lanes[1].switching, 0);
	atomic_store(&r->next_reclaim, 0);
	run_in_thread(log_once, &own);
	assert_int_not_equal(own, 0);
	thrum_stop();
}

static void *add_and_tell_seat(void *counter)
{
	thrum_counter_add(counter, 1);
	return (void *)(uintptr_t)atomic_load(&thrum__record_thread.seat);
}

/* Two threads with one seat would lose what both add. */
static void threads_of_a_child_have_seats_of_their_own(void **state)
{
	struct thrum_counter *counter = thrum_counter_create("of a child",
		THRUM_COUNTER_CUMULATIVE);
	pthread_t thread;
	void *seat;

	(void)state;
	thrum_counter_add(counter, 1);
	int child = fork_child();

	if (child == 0) {
		thrum_counter_add(counter, 1);
		uintptr_t own = atomic_load(&thrum__record_thread.seat);

		if (!own || pthread_create(&thread, NULL, add_and_tell_seat, counter) != 0)
			_exit(1);
		pthread_join(thread, &seat);
		_exit(!seat || (uintptr_t)seat == own ? 2 : 0);
	}
	assert_int_equal(child_result(child), 0);
}

/* ---- Live tasks ------------------------------------------------------------------------------ */

static void a_short_label_has_no_ellipsis(void **state)
{
	char text[300];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	start_in_memory(SIZE, NULL);
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, text);
	const struct thrum__live_task *cell = live_cell(thrum__record_thread.lane[0], task);

	assert_true(live_is_in(cell, task));
	assert_true(cell->flags & THRUM__LIVE_CUT);
	thrum_task_label(task, "short");
	assert_false(cell->flags & THRUM__LIVE_CUT);
	assert_true(cell->flags & THRUM__LIVE_LABELLED);
	thrum_task_label(task, text);
	assert_true(cell->flags & THRUM__LIVE_CUT);
	thrum_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fast_event_fits_behind_its_limit),
		cmocka_unit_test(fast_events_keep_what_the_next_packet_tells),
		cmocka_unit_test(deep_spans_are_counted),
		cmocka_unit_test(packets_count_losses),
		cmocka_unit_test(fast_events_tell_first_who_runs),
		cmocka_unit_test(a_read_tells_who_reads),
		cmocka_unit_test(a_switch_in_a_handler_is_told_in_both_lanes),
		cmocka_unit_test(ends_free_cells_also_when_they_are_not_recorded),
		cmocka_unit_test(no_fast_event_begins_after_the_stop),
		cmocka_unit_test(who_waits_for_a_packet_is_told),
		cmocka_unit_test(who_sleeps_is_woken),
		cmocka_unit_test(a_thread_has_an_end),
		cmocka_unit_test(a_thread_leaves_nothing_open_for_the_next),
		cmocka_unit_test(a_nested_lane_tells_its_new_thread),
		cmocka_unit_test(a_handler_while_a_thread_changes_recordings),
		cmocka_unit_test(regions_of_ids_are_given_back),
		cmocka_unit_test(kept_cells_are_in_the_lane_s_region),
		cmocka_unit_test(no_id_looks_like_a_free_cell),
		cmocka_unit_test(definitions_differ_by_what_they_belong_to),
		cmocka_unit_test(a_lane_parked_again_is_not_the_same),
		cmocka_unit_test(lanes_between_two_packets_stay_alone),
		cmocka_unit_test(threads_of_a_child_have_seats_of_their_own),
		cmocka_unit_test(a_short_label_has_no_ellipsis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
