/* SPDX-License-Identifier: ISC */
/*
 * A process is stopped, or killed, after each single instruction while a packet is begun. Each
 * event whose call had returned is in the recording by then, and none is wrong.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/format.h"
#include "numbers_helper.h"
#include "rounds.h"

#define SIZE THRUM__SIZE_MIN
#define STEPS_MAX 20000u

/* The orders of the process, and its progress. */
struct plan {
	enum thrum_full full;
	uint32_t stop_before, end; /* events: where the steps begin, and where the process ends */
	_Atomic uint32_t done;     /* calls that have returned */
};

static struct plan *plan;
static void *memory;
static struct thrum__header layout; /* the sizes in its header */

/* The tracer and the traced process take turns, which is faster on one processor than on two. */
static void stay_on_this_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
}

/* ---- The process --------------------------------------------------------------------------- */

static void run(void)
{
	struct thrum_config config = {.memory = memory,
		.size = SIZE,
		.full = plan->full,
		.clock = &hand_clock};

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || thrum_start(&config))
		_exit(1);
	for (uint32_t n = 1; n <= plan->end; n++) {
		if (n == plan->stop_before)
			raise(SIGSTOP);
		numbers_record(0, n);
		atomic_store(&plan->done, n);
	}
	_exit(0);
}

static pid_t begin(void)
{
	int status;

	memset(memory, 0, SIZE);
	atomic_store(&plan->done, 0);
	pid_t child = fork_child();

	if (child == 0)
		run();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	return child;
}

/* Makes one step. Returns false if the process has ended. */
static bool step(pid_t child)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSTOPPED(status);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(child_result(child), -SIGKILL);
}

/* ---- The recording meanwhile --------------------------------------------------------------- */

/* Returns the ticket of the packet that was begun last, or 0 if there is none. */
static uint32_t last_ticket(void)
{
	const struct thrum__header *header = memory;
	uint32_t last = 0;

	for (uint32_t i = 0; i < atomic_load(&header->packets_used); i++) {
		const struct thrum__packet *packet = (const void *)((const uint8_t *)memory +
			header->packet.offset + (size_t)i * header->packet_size);
		uint32_t ticket = atomic_load(&packet->ticket);

		last = ticket > last ? ticket : last;
	}
	return last;
}

static void check(void)
{
	struct numbers *numbers = numbers_create();
	struct events events = events_of_memory(memory, SIZE);
	uint32_t done = atomic_load(&plan->done);

	numbers_see(numbers, events.list, events.count);
	if (numbers_complaint(numbers))
		fail_msg("%s", numbers_complaint(numbers));
	uint32_t lost = (uint32_t)events.info.lost[THRUM__LOST_FULL];
	uint32_t last = numbers_last(numbers, 0);

	assert_int_equal(events.info.lost_total, lost);
	assert_in_range(last + lost, done, done + 1);
	events_free(&events);
	numbers_destroy(numbers);
}

/* Steps to the end of the plan and checks the recording after each step. Returns their number. */
static uint32_t look_at_each_step(void)
{
	pid_t child = begin();
	uint32_t steps = 0;

	while (atomic_load(&plan->done) < plan->end && steps < STEPS_MAX) {
		check();
		assert_true(step(child));
		steps++;
	}
	check();
	end(child);
	assert_in_range(steps, 50, STEPS_MAX - 1);
	return steps;
}

/* Returns the number of the first call, from `from` on, that begins another packet. */
static uint32_t find_switch(uint32_t from)
{
	*plan = (struct plan){.stop_before = from, .end = from + 1000};
	pid_t child = begin();
	uint32_t before = last_ticket();

	while (last_ticket() == before) {
		uint32_t done = atomic_load(&plan->done);

		while (atomic_load(&plan->done) == done)
			assert_true(step(child));
	}
	uint32_t found = atomic_load(&plan->done);

	end(child);
	return found;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static uint32_t events_a_packet(void)
{
	return (layout.packet_size - (uint32_t)sizeof(struct thrum__packet)) / 12;
}

static uint32_t wrapped(void)
{
	return layout.packets * events_a_packet() + events_a_packet() / 2;
}

static void the_first_call(void **state)
{
	(void)state;
	*plan = (struct plan){.stop_before = 1, .end = 1};
	look_at_each_step();
}

static void the_second_packet(void **state)
{
	uint32_t n = find_switch(events_a_packet() - 10);

	(void)state;
	*plan = (struct plan){.stop_before = n, .end = n + 1};
	look_at_each_step();
}

static void a_packet_that_overwrites_another(void **state)
{
	uint32_t n = find_switch(wrapped());

	(void)state;
	*plan = (struct plan){.stop_before = n, .end = n + 1};
	look_at_each_step();
}

static void the_end_of_a_recording_that_discards(void **state)
{
	const struct thrum__header *header = memory;
	int status;

	(void)state;
	/* Runs once without steps, to learn the number of events. */
	*plan = (struct plan){.full = THRUM_FULL_DISCARD, .stop_before = 1, .end = wrapped() * 2};
	pid_t child = begin();

	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	uint32_t lost = (uint32_t)atomic_load(&header->lost[THRUM__LOST_FULL]);
	uint32_t last = plan->end - lost;

	*plan = (struct plan){.full = THRUM_FULL_DISCARD, .stop_before = last, .end = last + 3};
	look_at_each_step();
}

/* The process dies after some of the steps; the recording should be the same as when it is stopped. */
static void killed_after_steps(void **state)
{
	uint32_t n = find_switch(wrapped());

	(void)state;
	*plan = (struct plan){.stop_before = n, .end = n};
	uint32_t steps = look_at_each_step();

	for (uint32_t i = 0; i <= steps; i += rounds(5, 23)) {
		pid_t child = begin();

		for (uint32_t k = 0; k < i; k++)
			assert_true(step(child));
		end(child);
		check();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_call),
		cmocka_unit_test(the_second_packet),
		cmocka_unit_test(a_packet_that_overwrites_another),
		cmocka_unit_test(the_end_of_a_recording_that_discards),
		cmocka_unit_test(killed_after_steps),
	};

	if (SANITIZED) {
		puts("skipped: a sanitizer's instructions are too many to step through");
		return 77;
	}
	pid_t child = fork_child();

	if (child == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	if (child_result(child) != 0) {
		puts("skipped: ptrace is not allowed here");
		return 77;
	}
	stay_on_this_processor();
	memory = shared_memory(SIZE);
	plan = shared_memory(sizeof *plan);
	if (thrum__format_lay_out(&layout, SIZE, 4096))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
