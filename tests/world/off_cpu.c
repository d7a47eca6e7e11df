/* SPDX-License-Identifier: ISC */
/* A trace of the kernel tells when the threads of a recording were off their processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "recording.h"
#include "world/world.h"

#define START 1000000u /* ticks; one is 10 ns */
#define MACHINE 5      /* was started as that */
#define MAIN 700       /* threads */
#define OTHER 701
#define MS 100000u /* ticks */

/* Tasks of the kernel's trace */
enum {
	PROCESSOR = 1,
	SECOND,
	WEB,
	WORKER,
	CRON
};

static void put(struct packet_writer *writer, uint64_t ticks, struct thrum__record record)
{
	assert_true(packet_writer_add(writer, &record, START + ticks));
}

static struct packet_writer begin(struct recording *recording, const char *program, uint32_t pid,
	uint64_t boot)
{
	recording_init(recording, 1 << 20);
	strcpy(recording->header->program, program);
	recording->header->boot = boot;
	recording->header->pid = pid;
	return packet_writer_begin(recording, 0, 0, 0, START);
}

static void begin_lane(struct packet_writer *writer, uint64_t task, uint32_t tid, const char *name)
{
	put(writer, 0,
		(struct thrum__record){.type = THRUM__R_LANE,
			.other = task,
			.tid = tid,
			.text = name});
}

/* A program of one thread, which says something at these times. */
static void make_program(struct recording *recording, uint32_t tid, uint64_t boot,
	const uint64_t *times, size_t count)
{
	struct packet_writer writer = begin(recording, "web", tid, boot);

	begin_lane(&writer, 1, tid, "web");
	for (size_t i = 0; i < count; i++)
		put(&writer, times[i],
			(struct thrum__record){.type = THRUM__R_LOG, .text = "here"});
}

static void add_thread(struct packet_writer *writer, uint64_t task, const char *label)
{
	put(writer, 0,
		(struct thrum__record){.type = THRUM__R_CREATE_IN,
			.other = task,
			.kind = THRUM_KIND_TASK,
			.text = label});
}

static void run(struct packet_writer *writer, uint64_t ticks, uint64_t task)
{
	put(writer, ticks, (struct thrum__record){.type = THRUM__R_SWITCH, .task = task});
}

static void wake(struct packet_writer *writer, uint64_t ticks, uint64_t task)
{
	put(writer, ticks, (struct thrum__record){.type = THRUM__R_READY, .other = task});
}

static struct packet_writer begin_kernel(struct recording *recording, bool tells_timers)
{
	struct packet_writer writer = begin(recording, "kernel", 0, MACHINE);

	recording_define(recording, 1, THRUM__DEFINES_TAG, 0, "irq local_timer",
		sizeof "irq local_timer");
	begin_lane(&writer, PROCESSOR, 0, "CPU 700"); /* that is no thread */
	if (tells_timers) {
		put(&writer, 0, (struct thrum__record){.type = THRUM__R_SPAN_BEGIN, .def = 1});
		put(&writer, 0, (struct thrum__record){.type = THRUM__R_SPAN_END, .def = 1});
	}
	add_thread(&writer, WEB, "web server 700");
	add_thread(&writer, WORKER, "worker 701");
	add_thread(&writer, CRON, "cron 800");
	return writer;
}

/* Joins them, and lists what is told of threads: "TIME LANE FOR OTHER TEXT". */
static void assert_told(struct recording *recordings, size_t count, const char *expected)
{
	struct thrum__world_part parts[3];
	const struct thrum_event *events;
	struct thrum_error_info info = {0};
	struct thrum_trace *trace;
	char got[2000] = "";
	size_t n, used = 0;
	int64_t last = 0;
	uint64_t messages;

	for (size_t i = 0; i < count; i++) {
		struct thrum_trace **both[] = {&parts[i].trace, &parts[i].again};

		parts[i] = (struct thrum__world_part){.file = "x"};
		for (int k = 0; k < 2; k++)
			assert_int_equal(thrum_trace_open_memory(recordings[i].bytes,
						 recordings[i].header->size, both[k], NULL),
				0);
	}
	if (thrum__world_join(parts, count, NULL, 0, &trace, &messages, &info) != 0)
		fail_msg("%s", info.message);
	while (thrum_trace_next(trace, &events, &n, NULL) == 1)
		for (size_t i = 0; i < n; i++) {
			const struct thrum_event *e = &events[i];

			assert_true(e->time >= last);
			last = e->time;
			if (e->type == THRUM_EVENT_OFF_CPU || e->type == THRUM_EVENT_DAMAGED)
				used += (size_t)snprintf(got + used, sizeof got - used,
					"%lld %u %lld %llu %s\n", (long long)e->time, e->lane,
					(long long)e->value, (unsigned long long)e->other, e->text);
		}
	assert_string_equal(got, expected);
	thrum_trace_close(trace);
	for (size_t i = 0; i < count; i++)
		recording_finish(&recordings[i]);
}

/* The thread of the kernel's trace: it is preempted, blocked until another one wakes it, and blocked when the
 * trace ends. */
static void make_kernel(struct recording *recording, bool tells_timers)
{
	struct packet_writer writer = begin_kernel(recording, tells_timers);

	run(&writer, 10, WEB);
	wake(&writer, 20, WEB);
	run(&writer, 20, CRON);
	run(&writer, 25, WEB);
	run(&writer, 30, WORKER);
	wake(&writer, 36, WEB);
	run(&writer, 40, WEB);
	run(&writer, 50, PROCESSOR);
	wake(&writer, 60, WEB);
	run(&writer, 61, WEB);
	run(&writer, 70, CRON);
	wake(&writer, 75, WEB);
	run(&writer, 78, WEB);
	run(&writer, 80, CRON);
	run(&writer, 95, PROCESSOR);
}

static const uint64_t often[] = {1, 15, 28, 45, 65, 79, 100};

static void tells_when_and_why(void **state)
{
	struct recording all[3];

	(void)state;
	make_kernel(&all[0], true);
	make_program(&all[1], MAIN, MACHINE, often, 7);
	make_program(&all[2], OTHER, MACHINE, often, 1); /* ends before anything is told of it */
	assert_told(all, 3,
		"200 1 50 0 preempted\n"
		"300 1 60 0 blocked\n"
		"360 1 40 2000000000001 woken\n"
		"500 1 100 0 blocked\n"
		"600 1 10 0 woken by an interrupt\n"
		"700 1 50 0 blocked\n"
		"750 1 30 0 woken by another program\n"
		"800 1 150 0 blocked\n");
}

/* A timer's interrupt that isn't told looks like the thread that it interrupts. */
static void knows_who_woke_only_with_timers(void **state)
{
	struct recording all[3];

	(void)state;
	make_program(&all[0], MAIN, MACHINE, often, 7);
	make_kernel(&all[1], false);
	make_program(&all[2], OTHER, MACHINE, often, 7);
	assert_told(all, 3,
		"200 0 50 0 preempted\n"
		"300 0 60 0 blocked\n"
		"360 0 40 0 woken\n"
		"400 2 550 0 blocked\n"
		"500 0 100 0 blocked\n"
		"600 0 10 0 woken by an interrupt\n"
		"700 0 50 0 blocked\n"
		"750 0 30 0 woken\n"
		"800 0 150 0 blocked\n");
}

static void stays_on_its_machine(void **state)
{
	struct recording all[2];

	(void)state;
	make_kernel(&all[0], true);
	make_program(&all[1], MAIN, MACHINE + 1, often, 7);
	assert_told(all, 2, "");
	make_kernel(&all[0], true);
	strcpy(all[0].header->program, "cron");
	make_program(&all[1], MAIN, MACHINE, often, 7);
	assert_told(all, 2, "");
}

/* Only while it is recorded is anything told of a thread. */
static void stays_in_the_recording(void **state)
{
	struct recording all[2];
	struct packet_writer writer;

	(void)state;
	make_program(&all[0], MAIN, MACHINE, often, 3);
	writer = begin_kernel(&all[1], true);
	run(&writer, 1, WEB);
	run(&writer, 2, CRON);
	run(&writer, 10, WEB);
	run(&writer, 20, CRON);
	run(&writer, 90, WEB);
	assert_told(all, 2, "20 0 80 0 blocked\n200 0 80 0 blocked\n");
}

/* A thread that has ended isn't blocked, and another one may have its number. */
static void ends_with_the_thread(void **state)
{
	struct recording all[2];
	struct packet_writer writer;

	(void)state;
	make_program(&all[0], MAIN, MACHINE, often, 7);
	writer = begin_kernel(&all[1], true);
	run(&writer, 10, WEB);
	put(&writer, 20, (struct thrum__record){.type = THRUM__R_RESOLVE, .other = WEB});
	run(&writer, 20, CRON);
	put(&writer, 30,
		(struct thrum__record){.type = THRUM__R_LABEL, .task = CRON, .text = "web 700"});
	run(&writer, 40, PROCESSOR);
	run(&writer, 50, CRON);
	assert_told(all, 2, "400 0 100 0 blocked\n");
}

/* In another container a number means another thread: this one acts while it is said to be blocked. */
static void notices_other_numbers(void **state)
{
	static const uint64_t late[] = {1, 3 * MS, 5 * MS, 6 * MS};
	struct recording all[2];
	struct packet_writer writer;

	(void)state;
	make_program(&all[0], MAIN, MACHINE, late, 4);
	writer = begin_kernel(&all[1], true);
	run(&writer, MS / 2, WEB);
	run(&writer, MS, CRON);
	run(&writer, 4 * MS, WEB);
	run(&writer, 5 * MS, CRON);
	run(&writer, 6 * MS, WEB);
	assert_told(all, 2,
		"1000000 0 3000000 0 blocked\n"
		"5000000 0 1000000 0 blocked\n");
	for (int i = 0; i < 4; i++) {
		uint64_t times[] = {1, (uint64_t)(30 + 10 * i) * MS, 100 * MS};

		make_program(&all[0], MAIN, MACHINE, times, 3);
		writer = begin_kernel(&all[1], true);
		run(&writer, MS / 2, WEB);
		run(&writer, MS, CRON);
		run(&writer, 80 * MS, WEB);
		run(&writer, 90 * MS, CRON);
		run(&writer, 95 * MS, WEB);
		char told[300];

		snprintf(told, sizeof told,
			"1000000 0 79000000 0 blocked\n"
			"%d000000 0 0 0 the kernel's trace tells of other threads by these numbers\n",
			30 + 10 * i);
		assert_told(all, 2, told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_when_and_why),
		cmocka_unit_test(knows_who_woke_only_with_timers),
		cmocka_unit_test(stays_on_its_machine),
		cmocka_unit_test(stays_in_the_recording),
		cmocka_unit_test(ends_with_the_thread),
		cmocka_unit_test(notices_other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
