/* SPDX-License-Identifier: ISC */
/* Objects that several processes share are one in the trace that joins their recordings. */
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
#define NAME "condition 0x28 in shared memory 00:01:7"

/* A process whose thread 1 makes the condition 2 and signals it, waits for it, and rests for others. */
static void record(struct recording *recording, uint64_t boot, const char *label, uint64_t ticks)
{
	static const char outside[] = "blocked by the outside";
	struct thrum__record records[] = {
		{.type = THRUM__R_CREATE_IN, .other = 1, .kind = THRUM_KIND_THREAD, .text = "main"},
		{.type = THRUM__R_SWITCH, .task = 1},
		{.type = THRUM__R_CREATE, .other = 2, .kind = THRUM_KIND_CONDITION, .text = label},
		{.type = THRUM__R_SIGNAL, .task = 1, .other = 2},
		{.type = THRUM__R_WAIT, .task = 1, .other = 2},
		{.type = THRUM__R_SUSPEND, .def = 1},
	};
	struct packet_writer writer;

	recording_init(recording, 1 << 20);
	strcpy(recording->header->program, ticks ? "late" : "soon");
	strcpy(recording->header->host, "host");
	recording->header->boot = boot;
	recording_define(recording, 1, THRUM__DEFINES_TAG, 0, outside, sizeof outside - 1);
	writer = packet_writer_begin(recording, 0, 0, 0, START);
	for (size_t i = 0; i < sizeof records / sizeof *records; i++)
		assert_true(packet_writer_add(&writer, &records[i], START + ticks));
}

static struct thrum_trace *open_recording(const struct recording *recording)
{
	struct thrum_trace *trace;

	assert_int_equal(thrum_trace_open_memory(recording->bytes, recording->header->size, &trace,
				 NULL),
		0);
	return trace;
}

/* Lists what the second process does: "EVENT TASK OTHER TEXT". */
static void assert_second(struct recording two[2], const char *expected)
{
	struct thrum__world_part parts[2];
	struct thrum_error_info info = {0};
	const struct thrum_event *events;
	struct thrum_trace *trace;
	uint64_t messages;
	char got[2000] = "";
	size_t count, used = 0;

	for (size_t i = 0; i < 2; i++)
		parts[i] = (struct thrum__world_part){open_recording(&two[i]),
			open_recording(&two[i]), i ? "late.thrum" : "soon.thrum"};
	assert_int_equal(thrum__world_join(parts, 2, NULL, 0, &trace, &messages, &info), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			if (events[i].lane == 1)
				used += (size_t)snprintf(got + used, sizeof got - used,
					"%s %llu %llu %s\n", thrum_event_name(events[i].type),
					(unsigned long long)events[i].task,
					(unsigned long long)events[i].other, events[i].text);
	assert_string_equal(got, expected);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

#define THREAD(NAME) \
	"create 0 1000000000001 \n" \
	"label 1000000000001 0 " NAME "/main\n" \
	"switch 1000000000001 0 \n"

static void a_condition_in_shared_memory_is_one(void **state)
{
	struct recording two[2];

	(void)state;
	record(&two[0], 5, NAME, 0);
	record(&two[1], 5, NAME, 10);
	assert_second(two,
		THREAD("late") "signal 1000000000001 2 \n"
			       "wait 1000000000001 2 \n"
			       "suspend 0 0 blocked\n");
}

static void assert_apart(struct recording two[2], const char *process, const char *label)
{
	char expected[1000];

	snprintf(expected, sizeof expected,
		THREAD("%s") "create 1000000000001 1000000000002 \n"
			     "label 1000000000002 0 %s\n"
			     "signal 1000000000001 1000000000002 \n"
			     "wait 1000000000001 1000000000002 \n"
			     "suspend 0 0 blocked by the outside\n",
		process, label);
	assert_second(two, expected);
}

/* The same address tells nothing, and other memory or another machine has other conditions. */
static void others_are_apart(void **state)
{
	struct recording two[2];

	(void)state;
	record(&two[0], 5, "condition 0x28", 0);
	record(&two[1], 5, "condition 0x28", 10);
	assert_apart(two, "late", "condition 0x28");
	record(&two[0], 5, NAME, 0);
	record(&two[1], 5, NAME "1", 10);
	assert_apart(two, "late", NAME "1");
	record(&two[0], 5, NAME, 0);
	record(&two[1], 6, NAME, 10);
	assert_apart(two, "late@host", NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_in_shared_memory_is_one),
		cmocka_unit_test(others_are_apart),
	};

	return cmocka_run_group_tests_name("world/shared", tests, NULL, NULL);
}
