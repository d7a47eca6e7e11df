/* SPDX-License-Identifier: ISC */
/* Times in which threads were off their processors: from switches to a recording, and out of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "recording.h"
#include "source/switches/switches.h"

/* The recordings' clock: 10 ns a tick, and these ticks at 5 s of CLOCK_MONOTONIC. */
#define START UINT64_C(1000000)
#define MONOTONIC UINT64_C(5000000000)

static char folder[] = "/tmp/thrum-switches-XXXXXX";
static char file[64];
static uint64_t ended; /* ticks: when the recording was stopped; 0: it wasn't */

static void begin_thread(struct packet_writer *writer, uint32_t tid, uint64_t own, uint64_t at)
{
	struct thrum__record lane = {.type = THRUM__R_LANE, .other = own, .tid = tid, .text = "t"};

	writer->packet->tid = tid;
	writer->packet->own = own;
	packet_writer_add(writer, &lane, START + at);
}

static void log_at(struct packet_writer *writer, uint64_t at)
{
	struct thrum__record record = {.type = THRUM__R_LOG, .text = "."};

	packet_writer_add(writer, &record, START + at);
}

/*
 * Lane 0 has the threads 10 (from 0 on) and 12 (from 500 on), lane 3 thread 11 (from 100 on). Lane 4
 * is that of signal handlers of thread 11.
 */
static void save(void)
{
	struct recording recording;

	recording_init(&recording, THRUM__SIZE_MIN);
	atomic_store(&recording.header->ended, ended);
	struct packet_writer a = packet_writer_begin(&recording, 0, 0, 0, START);
	struct packet_writer b = packet_writer_begin(&recording, 1, 3, 0, START + 100);

	begin_thread(&a, 10, 1, 0);
	begin_thread(&b, 11, 2, 100);
	struct packet_writer c = packet_writer_begin(&recording, 2, 4, 0, START + 200);

	c.packet->tid = 11;
	c.packet->own = 2;
	log_at(&c, 200);
	struct thrum__record lane = {.type = THRUM__R_LANE, .other = 3, .tid = 12, .text = "t"};

	packet_writer_add(&a, &lane, START + 500);
	log_at(&a, 1000);
	assert_true(recording_save(&recording, file));
	recording_finish(&recording);
}

/* A switch so many ticks after the start. */
static struct thrum__source_switch at(uint64_t ticks, uint32_t tid,
	enum thrum__source_switch_kind kind)
{
	return (struct thrum__source_switch){.time = MONOTONIC + ticks * 10,
		.tid = tid,
		.kind = kind};
}

/* The losses are pairs of ticks after the start, of 3 switches each. */
static void write_switches_with(const struct thrum__source_switch *all, size_t count,
	const uint64_t (*losses)[2], size_t loss_count)
{
	struct thrum__source_switches switches = {
		.all = calloc(count + 1, sizeof *all),
		.count = (uint32_t)count,
		.losses = calloc(loss_count + 1, sizeof *switches.losses),
		.loss_count = (uint32_t)loss_count,
	};

	assert_true(switches.all && switches.losses);
	for (size_t i = 0; i < count; i++)
		switches.all[i] = all[i];
	for (size_t i = 0; i < loss_count; i++)
		switches.losses[i] = (struct thrum__source_switch_loss){MONOTONIC +
				losses[i][0] * 10,
			MONOTONIC + losses[i][1] * 10, 3};
	assert_int_equal(thrum__source_switches_write(&switches, file, NULL), 0);
	thrum__source_switches_close(&switches);
}

static void write_switches(const struct thrum__source_switch *all, size_t count)
{
	write_switches_with(all, count, NULL, 0);
}

/* Lists the times off the processor as "TIME LANE TEXT NS", a line each, with the waker's own task. */
static void assert_listed(const char *expected)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count, used = 0;
	int64_t last = 0;
	char text[1000] = "";

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			assert_true(events[i].time >= last);
			last = events[i].time;
			if (events[i].type == THRUM_EVENT_OFF_CPU)
				used += (size_t)snprintf(text + used, sizeof text - used,
					events[i].flags & THRUM_EVENT_HAS_OTHER
						? "%d %d %s %d by %d\n"
						: "%d %d %s %d\n",
					(int)events[i].time,
					(int)thrum_trace_lane(trace, events[i].lane)->number,
					events[i].text, (int)events[i].value, (int)events[i].other);
		}
	thrum_trace_close(trace);
	assert_string_equal(text, expected);
}

static void pairs_switches_by_thread(void **state)
{
	struct thrum__source_switch all[] = {
		at(50, 10, THRUM__SWITCH_PREEMPTED),
		at(20, 11, THRUM__SWITCH_BLOCKED), /* the thread has no lane yet */
		at(30, 11, THRUM__SWITCH_IN), at(70, 10, THRUM__SWITCH_IN),
		at(60, 77, THRUM__SWITCH_BLOCKED), /* of another process */
		at(90, 77, THRUM__SWITCH_IN),
		at(300, 11, THRUM__SWITCH_BLOCKED), /* on its main lane, not that of handlers */
		at(900, 11, THRUM__SWITCH_IN), at(600, 12, THRUM__SWITCH_PREEMPTED),
		at(601, 12, THRUM__SWITCH_IN), at(700, 10, THRUM__SWITCH_BLOCKED), /* it ends */
	};

	(void)state;
	save();
	write_switches(all, sizeof all / sizeof *all);
	assert_listed("500 0 preempted 200\n"
		      "3000 3 blocked 6000\n"
		      "6000 0 preempted 10\n");
	/* A copy has them, too. */
	char copy[80];
	snprintf(copy, sizeof copy, "%s-copy", file);
	FILE *to = fopen(copy, "w+b");

	assert_non_null(to);
	assert_int_equal(thrum_trace_snapshot(file, fileno(to), NULL, NULL), 0);
	fclose(to);
	assert_int_equal(rename(copy, file), 0);
	assert_listed("500 0 preempted 200\n"
		      "3000 3 blocked 6000\n"
		      "6000 0 preempted 10\n");
}

static void losses_are_times_not_known(void **state)
{
	struct thrum__source_switch all[] = {
		at(50, 10, THRUM__SWITCH_BLOCKED), at(90, 10, THRUM__SWITCH_IN),
		at(100, 10, THRUM__SWITCH_BLOCKED), at(110, 10, THRUM__SWITCH_IN),
		at(150, 11, THRUM__SWITCH_ENDED), at(400, 10, THRUM__SWITCH_PREEMPTED),
		at(600, 12, THRUM__SWITCH_BLOCKED), /* it doesn't come back */
	};
	/* The second and third overlap; the first began before the recording. */
	const uint64_t losses[][2] = {{0, 60}, {310, 330}, {320, 350}, {700, 800}};
	struct thrum_trace *trace;

	(void)state;
	save();
	write_switches_with(all, sizeof all / sizeof *all, losses, 4);
	assert_listed("0 0 unknown 500\n"
		      "500 0 unknown 400\n"
		      "1000 0 blocked 100\n"
		      "3100 0 unknown 400\n"
		      "7000 0 unknown 1000\n");
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->lost[THRUM__LOST_SWITCHES], 12);
	assert_int_equal(thrum_trace_info(trace)->lost_total, 0); /* no event is missing */
	thrum_trace_close(trace);
}

/* The recording was stopped, or it is a segment, and its threads have gone on. */
static void a_part_ends_with_its_recording(void **state)
{
	struct thrum__source_switch all[] = {
		at(20, 11, THRUM__SWITCH_BLOCKED),
		at(150, 11, THRUM__SWITCH_IN), /* the lane begins at 100 */
		at(600, 12, THRUM__SWITCH_BLOCKED),
		at(900, 12, THRUM__SWITCH_IN),
		at(700, 11, THRUM__SWITCH_PREEMPTED),
		at(750, 10, THRUM__SWITCH_ENDED),
		at(850, 11, THRUM__SWITCH_IN),
		at(860, 11, THRUM__SWITCH_BLOCKED),
	};
	const uint64_t losses[][2] = {{820, 830}};
	struct thrum_trace *trace;

	(void)state;
	ended = START + 800;
	save();
	ended = 0;
	write_switches_with(all, sizeof all / sizeof *all, losses, 1);
	assert_listed("1000 3 blocked 500\n"
		      "6000 0 blocked 2000\n"
		      "7000 3 preempted 1000\n");
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->lost[THRUM__LOST_SWITCHES], 0);
	thrum_trace_close(trace);
}

static struct thrum__source_switch wake(uint64_t ticks, uint32_t tid, uint32_t by)
{
	struct thrum__source_switch one = at(ticks, tid, THRUM__SWITCH_WOKEN);

	one.by = by;
	return one;
}

static void knows_who_woke_whom(void **state)
{
	struct thrum__source_switch all[] = {
		at(200, 10, THRUM__SWITCH_BLOCKED),
		wake(250, 10, 11),
		wake(260, 10, 77), /* it could run already */
		at(300, 10, THRUM__SWITCH_IN),
		wake(310, 10, 11), /* it runs */
		at(320, 10, THRUM__SWITCH_PREEMPTED),
		at(330, 10, THRUM__SWITCH_IN),
		at(340, 10, THRUM__SWITCH_BLOCKED),
		wake(350, 10, 0),
		at(360, 10, THRUM__SWITCH_IN),
		at(370, 10, THRUM__SWITCH_BLOCKED),
		wake(380, 10, 77),
		at(390, 10, THRUM__SWITCH_IN),
	};

	(void)state;
	save();
	write_switches(all, sizeof all / sizeof *all);
	assert_listed("2000 0 blocked 500\n"
		      "2500 0 woken 500 by 2\n"
		      "3200 0 preempted 100\n"
		      "3400 0 blocked 100\n"
		      "3500 0 woken by an interrupt 100\n"
		      "3700 0 blocked 100\n"
		      "3800 0 woken by another program 100\n");
}

static void tells_losses_without_switches(void **state)
{
	const uint64_t losses[][2] = {{10, 60}};
	struct thrum_trace *trace;

	(void)state;
	save();
	write_switches_with(NULL, 0, losses, 1);
	assert_listed("100 0 unknown 500\n");
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->lost[THRUM__LOST_SWITCHES], 3);
	thrum_trace_close(trace);
}

/* If some switches could not be kept, others would be paired that don't belong together. */
static void writes_nothing_without_memory(void **state)
{
	struct thrum__source_switch all[] = {
		at(50, 10, THRUM__SWITCH_BLOCKED),
		at(90, 10, THRUM__SWITCH_IN),
	};
	struct thrum__source_switches switches = {.all = all, .count = 2, .failed = true};

	(void)state;
	save();
	assert_int_equal(thrum__source_switches_write(&switches, file, NULL), -THRUM_E_MEMORY);
	assert_listed("");
}

/* Writes a byte once the listener should wait. */
static void *write_later(void *data)
{
	usleep(100000);
	assert_int_equal(write(*(int *)data, "", 1), 1);
	return NULL;
}

/* The kernel tells again and again that there will be no more switches. */
static void waits_after_the_last_thread(void **state)
{
	struct thrum__source_switches switches;
	struct pollfd told;
	pthread_t writer;
	int pipes[2], error;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		char byte;

		_exit(read(pipes[0], &byte, 1) == 1 ? 0 : 1);
	}
	assert_true(child > 0);
	error = thrum__source_switches_open(&switches, child, false);
	assert_int_equal(write(pipes[1], "", 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	if (error != 0) {
		print_message("skipped: perf_event_open: %s\n", strerror(-error));
		skip();
	}
	thrum__source_switches_wait(&switches, -1, 0);
	assert_int_equal(pthread_create(&writer, NULL, write_later, &pipes[1]), 0);
	thrum__source_switches_wait(&switches, pipes[0], -1);
	told = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	assert_int_equal(poll(&told, 1, 0), 1);
	pthread_join(writer, NULL);
	thrum__source_switches_close(&switches);
	close(pipes[0]);
	close(pipes[1]);
}

/* Entries that no writer makes are left out, and a file that ends early has fewer. */
static void survives_bad_entries(void **state)
{
	struct thrum__source_switch all[100];
	struct thrum__header header;
	struct thrum__off_cpu entry;
	FILE *recording;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		all[i] = at(10 + i, 10, i % 2 ? THRUM__SWITCH_IN : THRUM__SWITCH_BLOCKED);
	save();
	write_switches(all, 100);
	recording = fopen(file, "r+b");
	assert_non_null(recording);
	assert_int_equal(fread(&header, sizeof header, 1, recording), 1);
	assert_int_equal(header.off_cpu.size, 50 * sizeof entry);
	for (unsigned i = 0; i < 48; i++) {
		fseek(recording, (long)(header.off_cpu.offset + i * sizeof entry), SEEK_SET);
		assert_int_equal(fread(&entry, sizeof entry, 1, recording), 1);
		switch (i % 6) {
		case 0: entry.begin = 0; break;
		case 1: entry.end = UINT64_MAX; break;
		case 2: entry.end = entry.begin - 1; break;
		case 3: entry.lane = 2; break;
		case 4: entry.kind = THRUM__OFF_INTERRUPTED + 1; break;
		default: entry.lane = UINT32_MAX; break;
		}
		fseek(recording, (long)(header.off_cpu.offset + i * sizeof entry), SEEK_SET);
		fwrite(&entry, sizeof entry, 1, recording);
	}
	fclose(recording);
	assert_listed("1060 0 blocked 10\n1080 0 blocked 10\n");
	assert_int_equal(truncate(file, (off_t)header.size - 24), 0);
	assert_listed("1060 0 blocked 10\n");
	assert_int_equal(truncate(file, (off_t)header.size - 47), 0);
	assert_listed("");
}

/* The second entry gets the time of the first, and the first that of the second. */
static void leaves_out_what_is_in_the_wrong_order(void **state)
{
	struct thrum__source_switch all[] = {
		at(10, 10, THRUM__SWITCH_BLOCKED),
		at(11, 10, THRUM__SWITCH_IN),
		at(20, 10, THRUM__SWITCH_BLOCKED),
		at(22, 10, THRUM__SWITCH_IN),
	};
	struct thrum__header header;
	struct thrum__off_cpu entries[2], swapped[2];
	FILE *recording;

	(void)state;
	save();
	write_switches(all, 4);
	assert_listed("100 0 blocked 10\n200 0 blocked 20\n");
	recording = fopen(file, "r+b");
	assert_non_null(recording);
	assert_int_equal(fread(&header, sizeof header, 1, recording), 1);
	fseek(recording, (long)header.off_cpu.offset, SEEK_SET);
	assert_int_equal(fread(entries, sizeof entries, 1, recording), 1);
	swapped[0] = entries[1];
	swapped[1] = entries[0];
	fseek(recording, (long)header.off_cpu.offset, SEEK_SET);
	fwrite(swapped, sizeof swapped, 1, recording);
	fclose(recording);
	assert_listed("200 0 blocked 20\n");
}

/* A record as the kernel writes it, with its sample_id. */
struct recorded {
	struct perf_event_header header;
	uint64_t body[3];
	struct {
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} id;
};

static void take(struct thrum__source_switches *switches, uint64_t *last, uint32_t type,
	uint16_t misc, uint64_t time)
{
	struct recorded record = {
		.header = {.type = type, .misc = misc, .size = sizeof record},
		.body = {1, 9 | (uint64_t)8 << 32},
		.id = {.tid = 7, .time = time},
	};

	if (type == PERF_RECORD_LOST)
		record.body[1] = 3;
	thrum__source_switches_record(switches, last, (uint8_t *)&record, sizeof record);
}

static void understands_records(void **state)
{
	static const struct {
		int kind;
		uint32_t tid;
	} expected[] = {
		{THRUM__SWITCH_BLOCKED, 7},
		{THRUM__SWITCH_PREEMPTED, 7},
		{THRUM__SWITCH_IN, 7},
		{THRUM__SWITCH_ENDED, 9},
	};
	struct thrum__source_switches switches = {0};
	uint64_t last = 0;
	uint8_t rest[sizeof(struct recorded)] = {PERF_RECORD_SWITCH};

	(void)state;
	take(&switches, &last, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 100);
	take(&switches, &last, PERF_RECORD_SWITCH,
		PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 200);
	take(&switches, &last, PERF_RECORD_COMM, 0, 250);
	take(&switches, &last, PERF_RECORD_LOST, 0, 300);
	take(&switches, &last, PERF_RECORD_SWITCH, 0, 400);
	take(&switches, &last, PERF_RECORD_EXIT, 0, 500);
	for (size_t size = 0; size < sizeof(struct perf_event_header) + 24; size++)
		thrum__source_switches_record(&switches, &last, rest, size);
	assert_int_equal(switches.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(switches.all[i].kind, expected[i].kind);
		assert_int_equal(switches.all[i].tid, expected[i].tid);
	}
	assert_int_equal(switches.all[3].time, 500);
	assert_int_equal(switches.loss_count, 1);
	assert_int_equal(switches.losses[0].from, 250);
	assert_int_equal(switches.losses[0].to, 300);
	assert_int_equal(switches.losses[0].count, 3);
	thrum__source_switches_close(&switches);
}

static void understands_wakes(void **state)
{
	static const char format[] = "name: sched_waking\nID: 375\nformat:\n"
				     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
				     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved, size;
		uint8_t raw[36];
	} sample = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof sample},
		.tid = 5,
		.time = 400,
		.size = sizeof sample.raw,
		.raw = {375 & 0xff, 375 >> 8, [24] = 7},
	};
	struct thrum__source_switches switches = {
		.points = {{.id = 375, .use = THRUM__POINT_WAKE}},
		.point_count = 1,
	};
	struct thrum__source_point *point = &switches.points[0];
	uint64_t last = 0;
	uint8_t *bytes = (uint8_t *)&sample;

	(void)state;
	assert_false(thrum__source_switches_describe(point, "field:pid_t pid;\toffset:x;"));
	assert_false(thrum__source_switches_describe(point, "field:char comm[16];"));
	assert_true(thrum__source_switches_describe(point, format));
	assert_int_equal(point->fields[0].at, 24);
	assert_int_equal(point->fields[0].size, 4);
	/* Thread 7 is of the process once it was switched. */
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	assert_int_equal(switches.count, 0);
	take(&switches, &last, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 100);
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[2] = 8;
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[24] = 8;
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	for (size_t size = 0; size < sizeof sample - 12; size++)
		thrum__source_switches_machine_record(&switches, bytes, size);
	assert_int_equal(switches.count, 3);
	assert_int_equal(switches.all[1].kind, THRUM__SWITCH_WOKEN);
	assert_int_equal(switches.all[1].tid, 7);
	assert_int_equal(switches.all[1].by, 5);
	assert_int_equal(switches.all[1].time, 400);
	assert_int_equal(switches.all[2].by, 0);
	thrum__source_switches_close(&switches);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof file, "%s/a.thrum", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_switches_by_thread),
		cmocka_unit_test(losses_are_times_not_known),
		cmocka_unit_test(a_part_ends_with_its_recording),
		cmocka_unit_test(knows_who_woke_whom),
		cmocka_unit_test(tells_losses_without_switches),
		cmocka_unit_test(writes_nothing_without_memory),
		cmocka_unit_test(waits_after_the_last_thread),
		cmocka_unit_test(survives_bad_entries),
		cmocka_unit_test(leaves_out_what_is_in_the_wrong_order),
		cmocka_unit_test(understands_records),
		cmocka_unit_test(understands_wakes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
