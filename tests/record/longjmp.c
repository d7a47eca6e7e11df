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
static uint32_t steps_left;

static void jump_out(int signal)
{
	(void)signal;
	if (steps_left-- == 0)
		siglongjmp(out, 1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_every_instruction),
	};
	struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_NODEFER};

	if (!CAN_STEP) {
		puts("skipped: single steps need x86-64 and no sanitizer");
		return 77;
	}
	sigaction(SIGTRAP, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
