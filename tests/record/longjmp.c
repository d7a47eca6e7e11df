/* SPDX-License-Identifier: ISC */
/* A signal handler never returns to the call that it interrupted: the thread goes on recording. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "format/format.h"
#include "steps_helper.h"

#define SIZE (4 << 20)
#define EVENTS 200u

static sigjmp_buf out;
static uint32_t steps_left, jumps, logged;
static volatile sig_atomic_t is_in_call;

static void jump_out(int signal)
{
	(void)signal;
	if (steps_left-- == 0)
		siglongjmp(out, 1);
}

static void log_step(int signal)
{
	(void)signal;
	thrum_log("step");
	logged++;
}

/* Leaves a call after `steps` instructions. Returns false if it returned before that. */
static bool leave_after(uint32_t steps)
{
	steps_left = steps;
	if (sigsetjmp(out, 1)) {
		/* The flags are those of the handler, so there are no more steps. */
		return true;
	}
	STEP_ON();
	thrum_task_wait(1, 2);
	STEP_OFF();
	return false;
}

static void *jump_and_go_on(void *steps)
{
	bool jumped;

	thrum_task_switch(77);
	jumped = leave_after((uint32_t)(uintptr_t)steps);
	for (uint32_t i = 0; i < EVENTS; i++) {
		thrum_task_wait(1000, 2000 + i);
		thrum_log("goes on");
	}
	return (void *)(uintptr_t)jumped;
}

/* Checks that all events of the thread but the one that was left are there, with the right task. */
static void check(const void *memory)
{
	struct events events = events_of_memory(memory, SIZE);
	uint32_t next = 0, said = 0;

	assert_int_equal(events.info.damaged, 0);
	assert_int_equal(events.info.lost_total, 0);
	for (size_t i = 0; i < events.count; i++) {
		const struct thrum_event *e = &events.list[i];

		if (e->type == THRUM_EVENT_WAIT && e->task == 1000)
			assert_int_equal(e->other, 2000 + next++);
		if (e->type != THRUM_EVENT_LOG)
			continue;
		assert_int_equal(e->task, 77);
		said++;
	}
	assert_int_equal(next, EVENTS);
	assert_int_equal(said, EVENTS);
	events_free(&events);
}

static void after_every_instruction(void **state)
{
	void *jumped = (void *)1;
	uintptr_t steps;

	(void)state;
	for (steps = 1; jumped; steps++) {
		const void *memory = start_in_memory(SIZE, NULL);
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, jump_and_go_on, (void *)steps), 0);
		pthread_join(thread, &jumped);
		thrum_stop();
		check(memory);
	}
	assert_in_range(steps, 30, 1000);
}

/* Far more jumps than a thread has lanes. */
static void *jump_again_and_again(void *unused)
{
	bool jumped = true;

	(void)unused;
	thrum_task_switch(77);
	for (uint32_t steps = 1; jumped; steps++) {
		jumped = leave_after(steps);
		if (steps == 1)
			continue; /* the first event may begin anything */
		for (uint32_t i = 0; i < EVENTS / 20; i++)
			thrum_log("goes on");
		jumps = steps;
	}
	return NULL;
}

static void check_many(const void *memory)
{
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events.info.damaged, 0);
	assert_int_equal(events.info.lost_total, 0);
	/* A handler never records here. Only a call that was left between two packets costs a lane. */
	assert_in_range(events.info.lanes, 1, 3);
	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), (jumps - 1) * (EVENTS / 20));
	events_free(&events);
}

static void many_times_in_one_thread(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, jump_again_and_again, NULL), 0);
	pthread_join(thread, NULL);
	thrum_stop();
	assert_in_range(jumps, 30, 1000);
	check_many(memory);
}

/* A time that nearly needs the long header, and of which the left call may know more than a reader. */
#define LONG_STEP ((UINT64_C(1) << 31) - 64)

static void *jump_at_long_intervals(void *unused)
{
	bool jumped = true;

	(void)unused;
	thrum_log("first");
	for (uint32_t steps = 1; jumped; steps++) {
		hand_time += LONG_STEP;
		jumped = leave_after(steps);
		hand_time += LONG_STEP;
		thrum_log("goes on");
	}
	return NULL;
}

static void times_after_jumps(void **state)
{
	/* So fast that no reading of the clocks is due. */
	struct thrum_clock clock = {.read = hand_clock.read, .frequency = 4000000000};
	const void *memory = start_in_memory(SIZE, &clock);
	pthread_t thread;

	(void)state;
	hand_step = 0;
	assert_int_equal(pthread_create(&thread, NULL, jump_at_long_intervals, NULL), 0);
	pthread_join(thread, NULL);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	const struct thrum_event *event = events_find(&events, THRUM_EVENT_LOG, 0), *next;

	assert_int_equal(events.info.damaged, 0);
	for (size_t i = 1; (next = events_find(&events, THRUM_EVENT_LOG, i)) != NULL; i++) {
		assert_int_equal(next->time - event->time, 2 * (LONG_STEP / 16) / 4);
		event = next;
	}
	events_free(&events);
}

/* A lane is taken again by a call that records nothing, at a time that is no whole tick, and so long after
 * what was published that the next record must tell its whole time. */
static void *ask_after_jumps(void *unused)
{
	bool jumped = true;

	(void)unused;
	for (uint32_t steps = 1; jumped; steps++) {
		thrum_task_wait(1000, 2000);
		jumped = leave_after(steps);
		hand_time += 4 * LONG_STEP;
		if (jumped)
			thrum__own();
		thrum_task_wait(1000, 2001);
	}
	return NULL;
}

static void times_after_calls_that_record_nothing(void **state)
{
	struct thrum_clock clock = {.read = hand_clock.read, .frequency = 4000000000};
	const void *memory = start_in_memory(SIZE, &clock);
	pthread_t thread;

	(void)state;
	hand_step = 0;
	hand_time |= 15;
	assert_int_equal(pthread_create(&thread, NULL, ask_after_jumps, NULL), 0);
	pthread_join(thread, NULL);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);
	int64_t time = 0;

	assert_int_equal(events.info.damaged, 0);
	for (size_t i = 0; i < events.count; i++) {
		const struct thrum_event *e = &events.list[i];

		if (e->type != THRUM_EVENT_WAIT || e->task != 1000)
			continue;
		if (e->other == 2001)
			assert_int_equal(e->time - time, LONG_STEP / 16);
		time = e->time;
	}
	events_free(&events);
}

/* The handler has a stack of its own, which here lies above the call that it interrupts. */
static void *record_on_another_stack(void *jumps_out)
{
	_Alignas(64) uint8_t other[65536]; /* above all frames of the call */
	struct sigaction before, action = {.sa_flags = SA_NODEFER | SA_ONSTACK};

	action.sa_handler = jumps_out ? jump_out : log_step;
	sigaltstack(&(stack_t){.ss_sp = other, .ss_size = sizeof other}, NULL);
	sigaction(SIGTRAP, &action, &before);
	if (jumps_out) {
		jump_again_and_again(NULL);
	} else {
		thrum_log("goes on");
		STEP_ON();
		thrum_task_wait(1000, 2000);
		STEP_OFF();
	}
	sigaction(SIGTRAP, &before, NULL);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	return NULL;
}

static void handlers_on_another_stack(void **state)
{
	pthread_t thread;

	(void)state;
	for (uintptr_t jumps_out = 0; jumps_out < 2; jumps_out++) {
		const void *memory = start_in_memory(SIZE, NULL);

		logged = 0;
		assert_int_equal(pthread_create(&thread, NULL, record_on_another_stack,
					 (void *)jumps_out),
			0);
		pthread_join(thread, NULL);
		thrum_stop();
		if (jumps_out) {
			check_many(memory);
			continue;
		}
		struct events events = events_of_memory(memory, SIZE);

		assert_int_equal(events.info.damaged, 0);
		assert_int_equal(events.info.lost_total, 0);
		assert_in_range(logged, 30, 1000);
		assert_int_equal(events_count(&events, THRUM_EVENT_LOG), logged + 1);
		assert_int_equal(events_count(&events, THRUM_EVENT_WAIT), 1);
		events_free(&events);
	}
}

/* As an asynchronous cancellation does it. Not within STEP_OFF, whose stack nobody can unwind. */
static void end_thread(int signal)
{
	(void)signal;
	if (is_in_call && steps_left-- == 0)
		pthread_exit(NULL);
}

static void *end_in_a_call(void *steps)
{
	thrum_task_switch(77);
	steps_left = (uint32_t)(uintptr_t)steps;
	is_in_call = true;
	STEP_ON();
	thrum_task_wait(1, 2);
	is_in_call = false;
	STEP_OFF();
	return (void *)1;
}

static void threads_that_end_in_a_call(void **state)
{
	const void *memory = start_in_memory(SIZE, NULL);
	void *has_returned = NULL;
	uintptr_t steps;

	(void)state;
	signal(SIGTRAP, end_thread);
	for (steps = 0; !has_returned; steps++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, end_in_a_call, (void *)steps), 0);
		pthread_join(thread, &has_returned);
	}
	assert_in_range(steps, 30, 1000);
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events.info.damaged, 0);
	assert_int_equal(events.info.lost_total, 0);
	assert_in_range(events.info.lanes, 1, 2);
	/* Each thread's own task has its end. */
	assert_int_equal(events_count(&events, THRUM_EVENT_RESOLVE), steps);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_every_instruction),
		cmocka_unit_test(many_times_in_one_thread),
		cmocka_unit_test(times_after_jumps),
		cmocka_unit_test(times_after_calls_that_record_nothing),
		cmocka_unit_test(handlers_on_another_stack),
		cmocka_unit_test(threads_that_end_in_a_call),
	};
	struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_NODEFER};

	if (!CAN_STEP) {
		puts("skipped: single steps need x86-64 and no sanitizer");
		return 77;
	}
	sigaction(SIGTRAP, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
