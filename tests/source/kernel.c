/* SPDX-License-Identifier: ISC */
/* The machine and page faults: from the kernel's records to a recording, and out of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "recording.h"
#include "source/switches/switches.h"

/* The recordings' clock: 10 ns a tick, and these ticks at 5 s of CLOCK_MONOTONIC. */
#define START UINT64_C(1000000)
#define MONOTONIC UINT64_C(5000000000)
#define DISK (259u << 20 | 0xfffff) /* the last number there is: no device has it */

static char folder[] = "/tmp/thrum-kernel-XXXXXX";
static char file[64];

/* Lane 0 has thread 10, from 0 to 1000 ticks. The table of definitions has room for `room` more. */
static void save(unsigned room)
{
	struct recording recording;
	struct thrum__record lane = {.type = THRUM__R_LANE, .other = 1, .tid = 10, .text = "t"};
	struct thrum__record log = {.type = THRUM__R_LOG, .text = "."};

	recording_init(&recording, THRUM__SIZE_MIN);
	struct packet_writer a = packet_writer_begin(&recording, 0, 0, 0, START);

	a.packet->tid = 10;
	a.packet->own = 1;
	packet_writer_add(&a, &lane, START);
	packet_writer_add(&a, &log, START + 1000);
	unsigned cells = (unsigned)(recording.header->definitions.size /
		sizeof(struct thrum__definition));

	for (unsigned i = 1; i + room < cells; i++)
		recording_define(&recording, i, THRUM__DEFINES_TAG, 0, "x", 2);
	assert_true(recording_save(&recording, file));
	recording_finish(&recording);
}

static uint32_t name_of(struct thrum__source_switches *switches, const char *name)
{
	uint32_t index;

	assert_int_equal(thrum__base_keys_add(&switches->names, 0, name, strlen(name), &index), 0);
	return index;
}

/* Adds an event so many ticks after the start. */
static struct thrum__source_kernel_event *add(struct thrum__source_switches *switches,
	int64_t ticks, uint32_t cpu, enum thrum__source_kernel_type type, uint64_t key)
{
	struct thrum__source_kernel_event *event;
	size_t count = switches->event_count;

	/* A sanitizer's realloc copies each time: room for twice as many. */
	if ((count & (count - 1)) == 0)
		switches->events = realloc(switches->events,
			(count ? 2 * count : 1) * sizeof *switches->events);
	assert_non_null(switches->events);
	event = &switches->events[switches->event_count++];
	*event = (struct thrum__source_kernel_event){.time = (uint64_t)((int64_t)MONOTONIC +
							     ticks * 10),
		.cpu = cpu,
		.type = type,
		.key = key};
	return event;
}

static void begin(struct thrum__source_switches *switches, int64_t ticks, uint32_t cpu,
	const char *name, uint64_t key)
{
	uint32_t index = name_of(switches, name);

	add(switches, ticks, cpu, THRUM__KERNEL_BEGIN, key)->name = index;
}

static void end(struct thrum__source_switches *switches, int64_t ticks, uint32_t cpu, uint64_t key)
{
	add(switches, ticks, cpu, THRUM__KERNEL_END, key);
}

static void issue(struct thrum__source_switches *switches, int64_t ticks, uint32_t tid,
	uint64_t sector, uint32_t bytes)
{
	uint32_t index = name_of(switches, "read");
	struct thrum__source_kernel_event *event = add(switches, ticks, 0, THRUM__KERNEL_ISSUE,
		sector);

	event->name = index;
	event->tid = tid;
	event->bytes = bytes;
	event->device = DISK;
}

static void complete(struct thrum__source_switches *switches, int64_t ticks, uint64_t sector)
{
	add(switches, ticks, 1, THRUM__KERNEL_COMPLETE, sector)->device = DISK;
}

static void write_all(struct thrum__source_switches *switches)
{
	struct thrum_error_info error = {0};

	assert_int_equal(thrum__source_switches_write(switches, file, &error), 0);
	thrum__source_switches_close(switches);
}

/* Lists the events of a lane as "TIME EVENT TEXT", a line each. */
static void list(uint64_t lane, char *text, size_t room)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count, used = 0;

	text[0] = '\0';
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			const struct thrum_event *e = &events[i];

			if (thrum_trace_lane(trace, e->lane)->number != lane)
				continue;
			used += (size_t)snprintf(text + used, room - used, "%d %s", (int)e->time,
				thrum_event_name(e->type));
			if (e->flags & THRUM_EVENT_HAS_TEXT)
				used += (size_t)snprintf(text + used, room - used, " %s", e->text);
			if (e->type == THRUM_EVENT_OFF_CPU || e->type == THRUM_EVENT_LOST)
				used += (size_t)snprintf(text + used, room - used, " %d",
					(int)e->value);
			used += (size_t)snprintf(text + used, room - used, "\n");
			assert_true(used < room);
		}
	thrum_trace_close(trace);
}

static void assert_listed(uint64_t lane, const char *expected)
{
	char text[4000];

	list(lane, text, sizeof text);
	assert_string_equal(text, expected);
}

#define MACHINES 0x10000 /* the first lane of the machine */
#define LANE_BEGINS(name, what) \
	"0 create\n0 label " name "\n0 create\n0 label " what " of " name \
	"\n0 switch\n0 suspend wait for work\n"

static void interrupts_are_spans_of_processors(void **state)
{
	struct thrum__source_switches switches = {0};

	(void)state;
	save(100);
	begin(&switches, 100, 1, "softirq TIMER", THRUM__KERNEL_SOFT | 1);
	begin(&switches, 110, 1, "irq disk", 24);
	end(&switches, 120, 1, 24);
	end(&switches, 130, 1, THRUM__KERNEL_SOFT | 1);
	/* A ring's events come together; this one was before. */
	begin(&switches, 50, 2, "irq disk", 24);
	end(&switches, 60, 2, 24);
	end(&switches, 70, 2, 25); /* it never began */
	write_all(&switches);
	assert_listed(MACHINES + 1,
		LANE_BEGINS("CPU 1", "interrupts") "1000 resume wait for work\n"
						   "1000 switch\n"
						   "1000 span-begin softirq TIMER\n"
						   "1100 span-begin irq disk\n"
						   "1200 span-end irq disk\n"
						   "1300 span-end softirq TIMER\n"
						   "1300 switch\n"
						   "1300 suspend wait for work\n");
	assert_listed(MACHINES,
		LANE_BEGINS("CPU 2", "interrupts") "500 resume wait for work\n"
						   "500 switch\n"
						   "500 span-begin irq disk\n"
						   "600 span-end irq disk\n"
						   "600 switch\n"
						   "600 suspend wait for work\n");
}

/* An interrupt goes on when the recording begins. The end of another is never told: it is over before the
 * next one of its kind, though it isn't known since when. */
static void ends_may_be_missing(void **state)
{
	struct thrum__source_switches switches = {0};

	(void)state;
	save(100);
	begin(&switches, -70, 1, "irq gone", 23);
	begin(&switches, -50, 1, "irq disk", 24);
	end(&switches, 40, 1, 24);
	begin(&switches, 100, 1, "irq disk", 24);
	begin(&switches, 200, 1, "softirq TIMER", THRUM__KERNEL_SOFT | 1);
	end(&switches, 210, 1, THRUM__KERNEL_SOFT | 1);
	write_all(&switches);
	assert_listed(MACHINES,
		LANE_BEGINS("CPU 1", "interrupts") "0 resume wait for work\n"
						   "0 switch\n"
						   "0 span-begin irq disk\n"
						   "400 span-end irq disk\n"
						   "400 switch\n"
						   "400 suspend wait for work\n"
						   "1000 resume wait for work\n"
						   "1000 switch\n"
						   "1000 span-begin irq disk\n"
						   "1000 span-end irq disk\n"
						   "1000 switch\n"
						   "1000 suspend wait for work\n"
						   "2000 resume wait for work\n"
						   "2000 switch\n"
						   "2000 span-begin softirq TIMER\n"
						   "2100 span-end softirq TIMER\n"
						   "2100 switch\n"
						   "2100 suspend wait for work\n");
}

static void losses_are_counted(void **state)
{
	struct thrum__source_switches switches = {.forgotten_events = 2};
	struct thrum_trace *trace;

	(void)state;
	save(100);
	begin(&switches, 100, 1, "irq disk", 24);
	add(&switches, 300, 1, THRUM__KERNEL_LOST, 5);
	begin(&switches, 310, 2, "irq disk", 24);
	write_all(&switches);
	assert_listed(MACHINES + 1,
		LANE_BEGINS("CPU 2",
			"interrupts") "1000 lost the kernel told too fast of interrupts and devices 0\n"
				      "3100 resume wait for work\n"
				      "3100 switch\n"
				      "3100 span-begin irq disk\n");
	assert_listed(MACHINES,
		LANE_BEGINS("CPU 1",
			"interrupts") "1000 lost the kernel told too fast of interrupts and devices 2\n"
				      "1000 resume wait for work\n"
				      "1000 switch\n"
				      "1000 span-begin irq disk\n"
				      "1000 span-end irq disk\n"
				      "1000 switch\n"
				      "1000 suspend wait for work\n"
				      "3000 lost the kernel told too fast of interrupts and devices 5\n");
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->lost[THRUM__LOST_KERNEL], 7);
	assert_int_equal(thrum_trace_info(trace)->lost_total, 7);
	thrum_trace_close(trace);
}

static void requests_are_tasks_of_devices(void **state)
{
	struct thrum__source_switches switches = {0};
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	uint64_t parents[2] = {0}, work = 0;
	unsigned created = 0;

	(void)state;
	save(100);
	issue(&switches, -10, 10, 1, 512); /* before the recording: its end says nothing */
	issue(&switches, 100, 10, 8, 4096);
	issue(&switches, 110, 77, 16, 0); /* of another program */
	add(&switches, 112, 0, THRUM__KERNEL_REQUEUE, 16)->device = DISK;
	issue(&switches, 115, 77, 16, 0); /* again, as the device had no room */
	complete(&switches, 120, 8);
	complete(&switches, 130, 1);
	complete(&switches, 140, 16);
	complete(&switches, 150, 16);
	write_all(&switches);
	assert_listed(MACHINES,
		LANE_BEGINS("259:1048575", "requests") "1000 resume wait for work\n"
						       "1000 switch\n"
						       "1000 create\n"
						       "1000 label 259:1048575 read 4 KiB\n"
						       "1100 create\n"
						       "1100 label 259:1048575 read\n"
						       "1200 resolve\n"
						       "1400 resolve\n"
						       "1400 switch\n"
						       "1400 suspend wait for work\n");
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			if (events[i].type == THRUM_EVENT_CREATE && events[i].time >= 1000)
				parents[created++ % 2] = events[i].task;
			else if (events[i].type == THRUM_EVENT_SWITCH && events[i].time == 1000)
				work = events[i].task;
	assert_int_equal(created, 2);
	assert_int_equal(parents[0], 1); /* the thread that issued it */
	assert_int_equal(parents[1], work);
	assert_true(work > UINT32_MAX);
	thrum_trace_close(trace);
}

/* The kernel doesn't tell the end of all requests: at the latest it is before the next one of the sector. */
static void requests_end_before_others(void **state)
{
	struct thrum__source_switches switches = {0};
	static char text[200000];
	char *at = text;
	unsigned resolved = 0;

	(void)state;
	save(100);
	issue(&switches, 100, 10, 8, 4096);
	issue(&switches, 150, 10, 8, 8192);
	complete(&switches, 200, 8);
	write_all(&switches);
	assert_listed(MACHINES,
		LANE_BEGINS("259:1048575", "requests") "1000 resume wait for work\n"
						       "1000 switch\n"
						       "1000 create\n"
						       "1000 label 259:1048575 read 4 KiB\n"
						       "1500 resolve\n"
						       "1500 switch\n"
						       "1500 suspend wait for work\n"
						       "1500 resume wait for work\n"
						       "1500 switch\n"
						       "1500 create\n"
						       "1500 label 259:1048575 read 8 KiB\n"
						       "2000 resolve\n"
						       "2000 switch\n"
						       "2000 suspend wait for work\n");
	/* Many at once, which end in another order. */
	save(100);
	for (uint64_t i = 0; i < 700; i++)
		issue(&switches, 100, 10, 4096 * i, 0);
	for (uint64_t i = 0; i < 700; i++)
		complete(&switches, 101, 4096 * (i * 3 % 700));
	complete(&switches, 102, 4096);
	write_all(&switches);
	list(MACHINES, text, sizeof text);
	while ((at = strstr(at, "resolve")))
		resolved++, at++;
	assert_int_equal(resolved, 700);
}

/* While it is written, others listen. */
static void events_come_while_it_is_written(void **state)
{
	struct thrum__source_switches switches = {0}, kept;
	struct thrum_error_info error;

	(void)state;
	save(100);
	begin(&switches, 100, 1, "irq disk", 24);
	end(&switches, 110, 1, 24);
	assert_int_equal(thrum__source_switches_split(&switches, &kept), 0);
	assert_true(switches.event_count == 0 && kept.event_count == 2);
	begin(&switches, 200, 1, "irq net", 25);
	end(&switches, 210, 1, 25);
	begin(&switches, 220, 1, "irq disk", 24);
	switches.forgotten = 7;
	assert_int_equal(thrum__source_switches_write(&kept, file, &error), 0);
	thrum__source_switches_join(&switches, &kept);
	assert_true(switches.event_count == 5 && switches.names.count == 2);
	assert_int_equal(switches.forgotten, 7);
	assert_int_equal(switches.events[4].name, switches.events[0].name);
	save(100);
	write_all(&switches);
	assert_listed(MACHINES,
		LANE_BEGINS("CPU 1", "interrupts") "1000 resume wait for work\n"
						   "1000 switch\n"
						   "1000 span-begin irq disk\n"
						   "1100 span-end irq disk\n"
						   "1100 switch\n"
						   "1100 suspend wait for work\n"
						   "2000 resume wait for work\n"
						   "2000 switch\n"
						   "2000 span-begin irq net\n"
						   "2100 span-end irq net\n"
						   "2100 switch\n"
						   "2100 suspend wait for work\n"
						   "2200 resume wait for work\n"
						   "2200 switch\n"
						   "2200 span-begin irq disk\n");
}

/* The end of a request may be among the events that are lost. */
static void losses_are_gaps_of_devices(void **state)
{
	struct thrum__source_switches switches = {0};

	(void)state;
	save(100);
	issue(&switches, 100, 10, 8, 4096);
	add(&switches, 200, 0, THRUM__KERNEL_LOST, 3);
	complete(&switches, 300, 8);
	add(&switches, 400, 0, THRUM__KERNEL_LOST, 3);
	write_all(&switches);
	assert_listed(MACHINES,
		LANE_BEGINS("259:1048575",
			"requests") "1000 resume wait for work\n"
				    "1000 switch\n"
				    "1000 create\n"
				    "1000 label 259:1048575 read 4 KiB\n"
				    "2000 lost the kernel told too fast of interrupts and devices 0\n"
				    "3000 resolve\n"
				    "3000 switch\n"
				    "3000 suspend wait for work\n");
}

/* More packets than the recording had, with and without room in its table of definitions. */
static void many_events_have_many_packets(void **state)
{
	(void)state;
	for (unsigned room = 0; room < 100; room += 99) {
		struct thrum__source_switches switches = {0};
		struct thrum_trace *trace;
		const struct thrum_event *events;
		size_t count;
		unsigned begins = 0, ends = 0;

		save(room);
		for (int i = 0; i < 20000; i++) {
			begin(&switches, 100 + 2 * i, (uint32_t)i % 3,
				i % 2 ? "irq disk" : "irq network", 24);
			end(&switches, 101 + 2 * i, (uint32_t)i % 3, 24);
		}
		write_all(&switches);
		assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
		assert_true(thrum_trace_info(trace)->packets > 64);
		while (thrum_trace_next(trace, &events, &count, NULL) == 1)
			for (size_t i = 0; i < count; i++) {
				const char *text = events[i].text;

				assert_int_not_equal(events[i].type, THRUM_EVENT_DAMAGED);
				begins += events[i].type == THRUM_EVENT_SPAN_BEGIN;
				ends += events[i].type == THRUM_EVENT_SPAN_END &&
					(strcmp(text, "irq disk") == 0 ||
						strcmp(text, "irq network") == 0);
			}
		thrum_trace_close(trace);
		assert_int_equal(begins, 20000);
		assert_int_equal(ends, 20000);
	}
}

static struct thrum__source_switch at(uint64_t ticks, enum thrum__source_switch_kind kind)
{
	return (struct thrum__source_switch){.time = MONOTONIC + ticks * 10,
		.tid = 10,
		.kind = kind,
		.cpu = kind < THRUM__SWITCH_FAULT ? 1 : THRUM__NO_CPU};
}

static void keep(struct thrum__source_switches *switches, const struct thrum__source_switch *all,
	uint32_t count)
{
	switches->all = malloc(count * sizeof *all);
	assert_non_null(switches->all);
	memcpy(switches->all, all, count * sizeof *all);
	switches->count = count;
}

static void faults_are_not_the_threads_own_time(void **state)
{
	struct thrum__source_switch all[] = {
		at(10, THRUM__SWITCH_BLOCKED),
		at(20, THRUM__SWITCH_IN),
		at(30, THRUM__SWITCH_FAULT),
		at(40, THRUM__SWITCH_MINOR),
		at(50, THRUM__SWITCH_FAULT), /* it fails: the kernel tells no end */
		at(60, THRUM__SWITCH_FAULT),
		at(70, THRUM__SWITCH_BLOCKED),
		at(80, THRUM__SWITCH_WOKEN),
		at(90, THRUM__SWITCH_IN),
		at(100, THRUM__SWITCH_MAJOR),
		at(110, THRUM__SWITCH_MINOR), /* without its beginning */
		at(200, THRUM__SWITCH_FAULT),
		at(300, THRUM__SWITCH_MINOR), /* maybe of another fault: some are lost */
		at(400, THRUM__SWITCH_BLOCKED),
		at(500, THRUM__SWITCH_IN),
	};
	struct thrum__source_switches switches = {.losses = malloc(sizeof *switches.losses),
		.loss_count = 1};

	(void)state;
	assert_non_null(switches.losses);
	switches.losses[0] = (struct thrum__source_switch_loss){MONOTONIC + 2500, MONOTONIC + 2600,
		3};
	save(100);
	keep(&switches, all, sizeof all / sizeof *all);
	write_all(&switches);
	assert_listed(0,
		"0 create\n0 label t\n"
		"100 off-cpu blocked 100\n"
		"300 off-cpu page fault 100\n"
		"600 off-cpu page fault 100\n"
		"700 off-cpu blocked in a page fault 100\n"
		"800 off-cpu woken by an interrupt 100\n"
		"900 off-cpu page fault 100\n"
		"2500 off-cpu unknown 500\n"
		"4000 off-cpu blocked 1000\n"
		"10000 log .\n");
}

static void interrupts_take_a_threads_processor(void **state)
{
	struct thrum__source_switch all[] = {
		at(10, THRUM__SWITCH_BLOCKED),
		at(100, THRUM__SWITCH_IN),
		at(200, THRUM__SWITCH_FAULT),
		at(300, THRUM__SWITCH_MINOR),
		at(400, THRUM__SWITCH_PREEMPTED),
		at(500, THRUM__SWITCH_IN),
	};
	struct thrum__source_switches switches = {0};

	(void)state;
	save(100);
	all[5].cpu = 2;
	keep(&switches, all, sizeof all / sizeof *all);
	for (int i = 5; i < 40; i += 5) { /* one every 50 ticks, 10 long */
		begin(&switches, i * 10, 1, "irq a", 1);
		end(&switches, i * 10 + 10, 1, 1);
	}
	begin(&switches, 395, 1, "irq b", 2); /* until after it was preempted */
	end(&switches, 410, 1, 2);
	begin(&switches, 900, 2, "irq c", 3);
	end(&switches, 905, 2, 3);
	write_all(&switches);
	assert_listed(0,
		"0 create\n0 label t\n"
		"100 off-cpu blocked 900\n"
		"1000 off-cpu interrupted 100\n"
		"1500 off-cpu interrupted 100\n"
		"2000 off-cpu interrupted 100\n"
		"2100 off-cpu page fault 400\n"
		"2500 off-cpu interrupted 100\n"
		"2600 off-cpu page fault 400\n"
		"3000 off-cpu interrupted 100\n"
		"3500 off-cpu interrupted 100\n"
		"3950 off-cpu interrupted 50\n"
		"4000 off-cpu preempted 1000\n"
		"9000 off-cpu interrupted 50\n"
		"10000 log .\n");
}

/* ---- Records ------------------------------------------------------------------------------- */

struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved, size;
	uint8_t raw[80];
};

static struct thrum__source_point point(uint32_t id, enum thrum__source_point_use use,
	const char *format)
{
	struct thrum__source_point made = {.id = id, .use = use, .name = "local_timer"};

	assert_true(thrum__source_switches_describe(&made, format));
	return made;
}

static const char issue_format[] =
	"\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
	"\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";
static const char irq_format[] = "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
				 "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\n";

static void assert_named(struct thrum__source_switches *switches, uint32_t i, const char *name)
{
	size_t size;
	const char *text = thrum__base_keys_text(&switches->names, switches->events[i].name, &size);

	assert_int_equal(size, strlen(name));
	assert_memory_equal(text, name, size);
}

static void understands_tracepoints(void **state)
{
	struct sample sample = {
		.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof sample},
		.tid = 5,
		.time = 400,
		.cpu = 3,
		.size = sizeof sample.raw,
	};
	struct thrum__source_switches switches = {
		.has_events = true,
		.points = {point(1, THRUM__POINT_IRQ, irq_format),
			point(2, THRUM__POINT_SOFTIRQ_END,
				"field:unsigned int vec; offset:8; size:4;"),
			point(3, THRUM__POINT_VECTOR, ""),
			point(4, THRUM__POINT_ISSUE, issue_format),
			point(6, THRUM__POINT_COMPLETE, issue_format)},
		.point_count = 5,
	};
	uint8_t *bytes = (uint8_t *)&sample;
	static const uint32_t place = 4 << 16 | 20;

	(void)state;
	assert_false(thrum__source_switches_describe(&switches.points[3], irq_format));
	sample.raw[0] = 1;
	sample.raw[8] = 24;
	memcpy(&sample.raw[12], &place, sizeof place);
	memcpy(&sample.raw[20], "disk", 4); /* no NUL lies within its 4 bytes */
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[15] = 0x7f; /* longer than the data */
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[0] = 2;
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[0] = 3;
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[0] = 4;
	sample.raw[28] = 7;
	memcpy(&sample.raw[34], "WS", 3);
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	memcpy(&sample.raw[34], "DS", 3); /* ends of these aren't all told */
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	memcpy(&sample.raw[34], "WS", 3);
	memset(&sample.raw[16], 0xff, 8); /* the end of a flush tells no sector */
	sample.raw[0] = 6;
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	sample.raw[0] = 5; /* nobody asked for it */
	thrum__source_switches_machine_record(&switches, bytes, sizeof sample);
	assert_int_equal(switches.event_count, 6);
	assert_int_equal(switches.events[0].type, THRUM__KERNEL_BEGIN);
	assert_int_equal(switches.events[0].key, 24);
	assert_int_equal(switches.events[0].cpu, 3);
	assert_named(&switches, 0, "irq disk");
	assert_named(&switches, 1, "irq ");
	assert_int_equal(switches.events[2].type, THRUM__KERNEL_END);
	assert_int_equal(switches.events[2].key, THRUM__KERNEL_SOFT | 24);
	assert_named(&switches, 3, "irq local_timer");
	assert_int_equal(switches.events[4].type, THRUM__KERNEL_ISSUE);
	assert_int_equal(switches.events[4].bytes, 7);
	assert_int_equal(switches.events[4].tid, 5);
	assert_named(&switches, 4, "write");
	assert_int_equal(switches.events[5].type, THRUM__KERNEL_COMPLETE);
	assert_int_equal(switches.events[5].key, 0);
	/* Cut anywhere, it tells less, or nothing. */
	for (size_t size = 0; size < sizeof sample; size++) {
		uint8_t *cut = malloc(size + 1);

		assert_non_null(cut);
		for (uint8_t id = 1; id <= 4; id++) {
			sample.raw[0] = id;
			memcpy(cut, &sample, size);
			thrum__source_switches_machine_record(&switches, cut, size);
		}
		free(cut);
	}
	thrum__source_switches_close(&switches);
}

/* Samples of page faults differ in their size. */
static void understands_faults(void **state)
{
	uint64_t record[6] = {0, 7 | (uint64_t)8 << 32, 400};
	static const int kinds[] = {THRUM__SWITCH_FAULT, THRUM__SWITCH_MINOR, THRUM__SWITCH_MAJOR};
	struct thrum__source_switches switches = {0};
	uint64_t last = 0;

	(void)state;
	for (uint16_t size = 8; size <= sizeof record; size += 4) {
		struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = size};

		memcpy(record, &header, sizeof header);
		thrum__source_switches_record(&switches, &last, (uint8_t *)record, size);
	}
	assert_int_equal(switches.count, 3);
	assert_int_equal(last, 400);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(switches.all[i].kind, kinds[i]);
		assert_int_equal(switches.all[i].tid, 8);
		assert_int_equal(switches.all[i].time, 400);
	}
	thrum__source_switches_close(&switches);
}

/* ---- The kernel ---------------------------------------------------------------------------- */

#define PAGES 500

/* In a child: waits for a byte, and executes itself to touch so many pages. */
static void touch_later(int go)
{
	char byte, program[] = "/proc/self/exe", word[] = "touch";
	char *arguments[] = {program, word, NULL};

	if (read(go, &byte, 1) == 1)
		execv(program, arguments);
	_exit(1);
}

static int touch(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)(PAGES * page), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, (size_t)(PAGES * page), MADV_NOHUGEPAGE) != 0)
		return 1;
	for (long i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	return 0;
}

static void hears_of_page_faults(void **state)
{
	struct thrum__source_switches switches;
	unsigned begins = 0, ends = 0;
	int pipes[2], error, status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0)
		touch_later(pipes[0]);
	assert_true(child > 0);
	error = thrum__source_switches_open(&switches, child, true);
	assert_int_equal(write(pipes[1], "", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(pipes[0]);
	close(pipes[1]);
	if (error != 0) {
		print_message("skipped: perf_event_open: %s\n", strerror(-error));
		skip();
	}
	assert_int_equal(status, 0);
	thrum__source_switches_take(&switches);
	for (uint32_t i = 0; i < switches.count; i++) {
		begins += switches.all[i].kind == THRUM__SWITCH_FAULT;
		ends += switches.all[i].kind > THRUM__SWITCH_FAULT;
	}
	assert_true(begins >= PAGES);
	assert_true(ends >= PAGES && ends <= begins);
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_are_spans_of_processors),
		cmocka_unit_test(ends_may_be_missing),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(requests_are_tasks_of_devices),
		cmocka_unit_test(losses_are_gaps_of_devices),
		cmocka_unit_test(requests_end_before_others),
		cmocka_unit_test(events_come_while_it_is_written),
		cmocka_unit_test(many_events_have_many_packets),
		cmocka_unit_test(faults_are_not_the_threads_own_time),
		cmocka_unit_test(interrupts_take_a_threads_processor),
		cmocka_unit_test(understands_tracepoints),
		cmocka_unit_test(understands_faults),
		cmocka_unit_test(hears_of_page_faults),
	};

	if (argc > 1 && strcmp(argv[1], "touch") == 0)
		return touch();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
