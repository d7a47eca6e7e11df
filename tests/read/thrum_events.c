/* SPDX-License-Identifier: ISC */
/* Every record, narrow, wide and with the extended header, as the events that it stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "thrum_helper.h"

#define START 1000000u /* ticks; one is 10 ns */
#define FAR (UINT64_C(1) << 40)
#define DEFINE(recording, number, type, value, text) \
	recording_define(recording, number, THRUM__DEFINES_##type, value, text, sizeof(text))

/* Four definitions, and a first packet of lane 0, whose own task 1 is running. */
static struct packet_writer set_up(struct recording *recording)
{
	recording_init(recording, THRUM__SIZE_MIN);
	DEFINE(recording, 1, CATEGORY, 0, "net");
	DEFINE(recording, 2, TAG, 1, "net/parse");
	DEFINE(recording, 3, COUNTER, 0, "net/bytes");
	DEFINE(recording, 4, SITE, 17, "main\0main.c");
	return packet_writer_begin(recording, 0, 0, 0, START);
}

#define ADD(writer, ticks, ...) \
	assert_true(packet_writer_add(&(writer), &(struct thrum__record){__VA_ARGS__}, \
		START + (ticks)))
#define R(NAME) .type = THRUM__R_##NAME

static void add_records_with_tasks(struct packet_writer *t, uint64_t far)
{
	ADD(*t, 0, R(CREATE), .other = far + 2, .kind = THRUM_KIND_PROMISE, .site = 4, .text = "p");
	ADD(*t, 1, R(CREATE), .other = far + 3, .kind = 200, .text = "");
	ADD(*t, 2, R(CREATE_WAITING), .other = far + 4, .source = far + 2, .text = "w");
	ADD(*t, 3, R(CREATE_IN), .task = far + 2, .other = far + 5, .kind = 3, .text = "in");
	ADD(*t, 3, R(CREATE_IN), .task = 0, .other = far + 6, .kind = 4, .text = "");
	ADD(*t, 4, R(SWITCH), .task = far + 4);
	ADD(*t, 5, R(WAIT), .task = far + 4, .other = far + 2);
	ADD(*t, 6, R(READ_OWN), .other = far + 2);
	ADD(*t, 7, R(READ), .task = far + 5, .other = far + 2);
	ADD(*t, 8, R(RESOLVE), .other = far + 4);
	ADD(*t, 9, R(FAIL), .other = far + 3, .text = "why");
	ADD(*t, 10, R(CANCEL), .other = far + 3);
	ADD(*t, 11, R(BECOME), .task = far + 3, .other = far + 5);
	ADD(*t, 12, R(SIGNAL), .other = far + 3, .value = -1);
	ADD(*t, 13, R(LOCK), .other = far + 3);
	ADD(*t, 14, R(UNLOCK), .other = far + 3);
	ADD(*t, 15, R(DUE), .task = far + 3, .value = -5);
	ADD(*t, 16, R(SHOULD_RESOLVE), .task = far + 3);
	ADD(*t, 17, R(LABEL), .task = far + 3, .text = "again");
	ADD(*t, 18, R(READY), .other = far + 5);
}

static const char with_tasks[] = "0 0 create 1 2 - promise at 4\n"
				 "0 0 label 2 - - p\n"
				 "10 0 create 1 3 - unknown\n"
				 "20 0 create 1 4 - wait\n"
				 "20 0 label 4 - - w\n"
				 "20 0 wait 4 2 - -\n"
				 "30 0 create 2 5 - try\n"
				 "30 0 label 5 - - in\n"
				 "30 0 create - 6 - choose\n"
				 "40 0 switch 4 - - -\n"
				 "50 0 wait 4 2 - -\n"
				 "60 0 read 4 2 - -\n"
				 "70 0 read 5 2 - -\n"
				 "80 0 resolve 4 4 - -\n"
				 "90 0 fail 4 3 - why\n"
				 "100 0 cancel 4 3 - -\n"
				 "110 0 become 3 5 - -\n"
				 "120 0 signal 4 3 -1 -\n"
				 "130 0 lock 4 3 - -\n"
				 "140 0 unlock 4 3 - -\n"
				 "150 0 due 3 - -5 -\n"
				 "160 0 should-resolve 3 - - -\n"
				 "170 0 label 3 - - again\n"
				 "180 0 ready 4 5 - -\n";

static void shows_tasks(void **state)
{
	struct recording recording;
	struct packet_writer writer = set_up(&recording);

	(void)state;
	add_records_with_tasks(&writer, 0);
	thrum_helper_assert_events(&recording, with_tasks);
	recording_finish(&recording);
}

/* Ids from this packet's base on are narrow, and mean what they meant. */
static void adds_the_base_of_ids(void **state)
{
	struct recording recording;
	struct packet_writer writer = set_up(&recording);

	(void)state;
	writer.packet->id_base = FAR;
	writer.packet->running = 1;
	size_t before = writer.at;

	ADD(writer, 0, R(SWITCH), .task = FAR + 2);
	assert_int_equal(writer.at - before, 8);
	ADD(writer, 1, R(WAIT), .task = FAR, .other = FAR + UINT32_MAX);
	thrum_helper_assert_events(&recording,
		"0 0 switch 1099511627778 - - -\n"
		"10 0 wait 1099511627776 1103806595071 - -\n");
	recording_finish(&recording);
}

/* The wide form of the same records: the same events, but for the ids. */
static void shows_wide_records(void **state)
{
	struct recording recording;
	struct packet_writer writer = set_up(&recording);
	const struct thrum_event *events;
	size_t count, seen = 0;

	(void)state;
	add_records_with_tasks(&writer, FAR);
	struct thrum_trace *trace = thrum_helper_open(&recording);

	while (thrum_trace_next(trace, &events, &count, NULL) == 1) {
		for (size_t i = 0; i < count; i++, seen++) {
			assert_true(!(events[i].flags & THRUM_EVENT_HAS_OTHER) ||
				events[i].other > FAR);
			assert_true(!(events[i].flags & THRUM_EVENT_HAS_TASK) ||
				events[i].task > FAR || events[i].task == 1);
		}
	}
	assert_int_equal(seen, 24);
	assert_int_equal(thrum_trace_info(trace)->records, 20);
	assert_int_equal(thrum_trace_info(trace)->damaged, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void shows_definitions(void **state)
{
	struct recording recording;
	struct packet_writer t = set_up(&recording);

	(void)state;
	ADD(t, 0, R(COUNTER), .def = 3, .value = -7);
	ADD(t, 1, R(COUNTER), .def = 3, .value = INT64_MIN);
	ADD(t, 2, R(TAG), .def = 2);
	ADD(t, 3, R(TAG_VALUE), .def = 2, .value = INT32_MIN);
	ADD(t, 4, R(SPAN_BEGIN), .def = 2);
	ADD(t, 5, R(SPAN_END), .def = 2);
	ADD(t, 6, R(SUSPEND), .def = 2);
	ADD(t, 7, R(RESUME));
	ADD(t, 8, R(CATEGORY), .def = 1, .value = -1);
	/* No such definition, one of another type, a number beyond the table. */
	ADD(t, 9, R(TAG), .def = 40);
	ADD(t, 10, R(TAG), .def = 3);
	ADD(t, 11, R(TAG), .def = 65535);
	/* No room for a definition: the text comes in a record before, and holds for one event. */
	ADD(t, 12, R(NAME), .text = "by name");
	ADD(t, 12, R(TAG), .def = 0);
	ADD(t, 13, R(TAG), .def = 0);
	ADD(t, 14, R(LOG), .text = "said");
	ADD(t, 15, R(LOG), .text = "");
	thrum_helper_assert_events(&recording,
		"0 0 damaged - - - definition 40 is missing or damaged, and perhaps others\n"
		"0 0 counter 1 - -7 net/bytes\n"
		"10 0 counter 1 - -9223372036854775808 net/bytes\n"
		"20 0 tag 1 - - net/parse\n"
		"30 0 tag 1 - -2147483648 net/parse\n"
		"40 0 span-begin - - - net/parse\n"
		"50 0 span-end - - - net/parse\n"
		"60 0 suspend - - - net/parse\n"
		"70 0 resume - - - net/parse\n"
		"80 0 category - - -1 net\n"
		"90 0 tag 1 - - ?40\n"
		"100 0 tag 1 - - ?3\n"
		"110 0 tag 1 - - ?65535\n"
		"120 0 tag 1 - - by name\n"
		"130 0 tag 1 - - .\n"
		"140 0 log 1 - - said\n"
		"150 0 log 1 - - .\n");
	recording_finish(&recording);
}

static void shows_the_rest(void **state)
{
	static const uint8_t key[] = {'k', 0, 'y'};
	struct recording recording;
	struct packet_writer t = set_up(&recording);

	(void)state;
	ADD(t, 0, R(LANE), .other = 9, .tid = 77, .text = "worker");
	ADD(t, 1, R(LOG), .text = "from 9");
	ADD(t, 2, R(CONTEXT), .task = 8);
	ADD(t, 3, R(LOG), .text = "from 8");
	ADD(t, 4, R(CLOCK), .monotonic = 1, .realtime = 2);
	ADD(t, 5, R(LINK_SEND), .key = key, .key_size = sizeof key);
	ADD(t, 6, R(LINK_RECEIVE), .key = key, .key_size = 0);
	ADD(t, 7, R(LOST), .cause = THRUM__LOST_FULL, .value = 12);
	ADD(t, 8, R(LOST), .cause = 99, .value = 1);
	ADD(t, 9, R(CONTEXT), .task = 0);
	ADD(t, 10, R(LOG), .text = "from nobody");
	thrum_helper_assert_events(&recording,
		"0 0 create - 9 - thread\n"
		"0 0 label 9 - - worker\n"
		"10 0 log 9 - - from 9\n"
		"30 0 log 8 - - from 8\n"
		"50 0 link-send 8 - - k\n"
		"60 0 link-receive 8 - - .\n"
		"70 0 lost - - 12 recording full\n"
		"80 0 lost - - 1 unknown cause\n"
		"100 0 log - - - from nobody\n");
	recording_finish(&recording);
}

static void gives_whole_keys(void **state)
{
	uint8_t key[THRUM_KEY_MAX];
	struct recording recording;
	struct packet_writer t = set_up(&recording);
	const struct thrum_event *events;
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = (uint8_t)(i * 5);
	ADD(t, 0, R(LINK_SEND), .key = key, .key_size = sizeof key);
	ADD(t, 1, R(LOG), .text = "behind it");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_int_equal(thrum_trace_next(trace, &events, &count, NULL), 1);
	assert_int_equal(count, 2);
	assert_int_equal(events[0].text_size, sizeof key);
	assert_memory_equal(events[0].text, key, sizeof key);
	assert_string_equal(events[1].text, "behind it");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Texts of each size, with bytes that are easily taken for a NUL where eight are tested at once. */
static void finds_the_ends_of_texts(void **state)
{
	enum {
		SIZES = 40
	};
	char texts[SIZES][SIZES + 1] = {0};
	struct recording recording;
	struct packet_writer t = set_up(&recording);
	const struct thrum_event *events;
	size_t count;

	(void)state;
	for (unsigned size = 0; size < SIZES; size++) {
		for (unsigned i = 0; i < size; i++)
			texts[size][i] = "\x01\x80\xff"[i % 3];
		ADD(t, size, R(LOG), .text = texts[size]);
	}
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_int_equal(thrum_trace_next(trace, &events, &count, NULL), 1);
	assert_int_equal(count, SIZES);
	for (unsigned size = 0; size < SIZES; size++) {
		assert_int_equal(events[size].text_size, size);
		assert_string_equal(events[size].text, texts[size]);
	}
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Any record may have an extended header, which long pauses need too. */
static void bridges_long_pauses(void **state)
{
	const uint64_t pause = UINT64_C(1) << THRUM__TIME_BITS;
	struct recording recording;
	struct packet_writer t = set_up(&recording);

	(void)state;
	ADD(t, 0, R(LOG), .text = "a");
	ADD(t, pause - 1, R(LOG), .text = "b");
	size_t before = t.at;

	ADD(t, 2 * pause - 1, R(LOG), .text = "c");
	assert_int_equal(t.at - before, THRUM__EXTENDED_SIZE + 2);
	ADD(t, 2 * pause - 1, R(LOG), .text = "d");
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - a\n"
		"1342177270 0 log 1 - - b\n"
		"2684354550 0 log 1 - - c\n"
		"2684354550 0 log 1 - - d\n");
	recording_finish(&recording);
}

/* With ticks of a second each, and at the end of all ticks. */
static void takes_no_time_that_fits_no_number(void **state)
{
	const uint64_t starts[] = {START, UINT64_MAX - 5 * (UINT64_C(1) << THRUM__TIME_BITS)};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct recording recording;

		set_up(&recording);
		recording.header->clock_frequency = i == 0 ? 1 : 1000000000;
		recording.header->start.ticks = starts[i];
		struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, starts[i]);

		for (uint64_t n = 0; n < 20; n++)
			ADD(t, starts[i] - START + n * ((UINT64_C(1) << THRUM__TIME_BITS) - 1),
				R(LOG), .text = "x");
		struct thrum_trace *trace = thrum_helper_open(&recording);
		const struct thrum_event *events;
		size_t count, logs = 0, last_type = 0;
		int64_t last = 0;

		while (thrum_trace_next(trace, &events, &count, NULL) > 0)
			for (size_t k = 0; k < count; k++) {
				assert_true(events[k].time >= last);
				last = events[k].time;
				last_type = events[k].type;
				logs += events[k].type == THRUM_EVENT_LOG;
				if (last_type == THRUM_EVENT_DAMAGED)
					assert_non_null(strstr(events[k].text,
						"time outside the recording"));
			}
		assert_in_range(logs, 3, 18);
		assert_int_equal(last_type, THRUM_EVENT_DAMAGED);
		thrum_trace_close(trace);
		recording_finish(&recording);
	}
}

static void tells_where_tasks_were_created(void **state)
{
	struct recording recording;

	(void)state;
	set_up(&recording);
	struct thrum_trace *trace = thrum_helper_open(&recording);
	const struct thrum_trace_site *site = thrum_trace_site(trace, 4);

	assert_non_null(site);
	assert_string_equal(site->file, "main.c");
	assert_string_equal(site->function, "main");
	assert_int_equal(site->line, 17);
	assert_null(thrum_trace_site(trace, 0));
	assert_null(thrum_trace_site(trace, 3));
	assert_null(thrum_trace_site(trace, 63));
	assert_null(thrum_trace_site(trace, 1000000));
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void tells_about_the_trace(void **state)
{
	struct recording recording;
	struct packet_writer t = set_up(&recording);

	(void)state;
	ADD(t, 25, R(LOG), .text = "first");
	recording.header->lost[THRUM__LOST_NESTED] = 3;
	recording.header->lost[THRUM__LOST_FULL] = 4;
	/* These are no events of the program's own. */
	recording.header->lost[THRUM__LOST_DEFINITIONS] = 5;
	recording.header->lost[THRUM__LOST_LIVE_TASKS] = 6;
	recording.header->lost[THRUM__LOST_SWITCHES] = 8;
	struct thrum_trace *trace = thrum_helper_open(&recording);
	const struct thrum_trace_info *info = thrum_trace_info(trace);
	const struct thrum_trace_lane *lane = thrum_trace_lane(trace, 0);

	free(thrum_helper_list(trace));
	assert_string_equal(info->format, "thrum");
	assert_string_equal(info->program, "made by hand");
	assert_string_equal(info->host, "test");
	assert_string_equal(info->clock, "tsc");
	assert_string_equal(info->state, "stopped");
	assert_int_equal(info->clock_frequency, 100000000);
	assert_int_equal(info->clock_first, START + 25);
	assert_int_equal(info->start, INT64_C(1700000000123456789) + 250);
	assert_int_equal(info->pid, 1);
	assert_int_equal(info->packet_size, recording.header->packet_size);
	assert_int_equal(info->packets, 1);
	assert_int_equal(info->lanes, 1);
	assert_int_equal(info->records, 1);
	assert_int_equal(info->content_bytes, t.at);
	assert_int_equal(info->lost[THRUM__LOST_NESTED], 3);
	assert_int_equal(info->lost_total, 7);
	assert_int_equal(lane->number, 0);
	assert_int_equal(lane->packets, 1);
	assert_int_equal(lane->tid, 1000);
	assert_null(thrum_trace_lane(trace, 1));
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void expect_end(struct recording *recording, enum thrum_ending ending, int code, int64_t end)
{
	struct thrum_trace *trace = thrum_helper_open(recording);
	const struct thrum_trace_info *info = thrum_trace_info(trace);

	free(thrum_helper_list(trace));
	assert_int_equal(info->ending, ending);
	assert_int_equal(info->ending_code, code);
	assert_int_equal(info->end, end);
	thrum_trace_close(trace);
}

static void knows_the_end(void **state)
{
	struct recording recording;
	struct packet_writer t = set_up(&recording);
	struct thrum__header *h = recording.header;

	(void)state;
	ADD(t, 0, R(LOG), .text = "first");
	ADD(t, 10, R(LOG), .text = "last");
	/* An older recorder noted nothing. */
	expect_end(&recording, THRUM_ENDING_STOPPED, -1, 100);
	h->state = THRUM__SNAPSHOT;
	expect_end(&recording, THRUM_ENDING_COPIED, -1, 100);
	h->state = THRUM__RECORDING;
	expect_end(&recording, THRUM_ENDING_UNKNOWN, -1, 100);
	h->ended = START + 1000;
	h->ending = THRUM__ENDED_KILLED;
	h->ending_code = 9;
	expect_end(&recording, THRUM_ENDING_KILLED, 9, 10000);
	h->state = THRUM__SNAPSHOT;
	expect_end(&recording, THRUM_ENDING_KILLED, 9, 10000);
	h->state = THRUM__STOPPED;
	h->ending = THRUM__ENDED_EXITED;
	h->ending_code = -1;
	expect_end(&recording, THRUM_ENDING_EXITED, -1, 10000);
	/* Before the last event, before the first one, absurd, unknown. */
	h->ended = START + 5;
	expect_end(&recording, THRUM_ENDING_EXITED, -1, 100);
	h->ended = START - 5;
	expect_end(&recording, THRUM_ENDING_EXITED, -1, 100);
	h->ended = UINT64_MAX;
	h->ending = 77;
	expect_end(&recording, THRUM_ENDING_STOPPED, -1, 100);
	recording_finish(&recording);
}

/* The clock readings at the start and the end give a better frequency than the header. */
static void refines_the_clock(void **state)
{
	struct recording recording;
	struct packet_writer t = set_up(&recording);
	struct thrum__reading *latest = &recording.header->latest[1];

	(void)state;
	latest->ticks = START + 100000000;
	latest->monotonic = recording.header->start.monotonic + 1010000000;
	/* Meanwhile the clock was set forward by 7 ns. */
	latest->realtime = recording.header->start.realtime + 1010000007;
	atomic_store(&latest->ticket, 2);
	ADD(t, 0, R(LOG), .text = "a");
	ADD(t, 100000000, R(LOG), .text = "b");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	thrum_helper_assert_more(trace,
		"0 0 log 1 - - a\n"
		"1010000000 0 log 1 - - b\n");
	assert_int_equal(thrum_trace_info(trace)->start_set, 7);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Two readings that are near together tell little, as each has an error. */
static void takes_the_header_s_frequency_at_first(void **state)
{
	struct recording recording;
	struct packet_writer t = set_up(&recording);
	struct thrum__reading *latest = &recording.header->latest[1];

	(void)state;
	latest->ticks = START + 1000000;
	latest->monotonic = recording.header->start.monotonic + 10100000;
	atomic_store(&latest->ticket, 2);
	ADD(t, 0, R(LOG), .text = "a");
	ADD(t, 1000000, R(LOG), .text = "b");
	thrum_helper_assert_events(&recording,
		"0 0 log 1 - - a\n"
		"10000000 0 log 1 - - b\n");
	recording_finish(&recording);
}

static void names_things(void **state)
{
	(void)state;
	assert_string_equal(thrum_event_name(THRUM_EVENT_WAIT), "wait");
	assert_string_equal(thrum_event_name(THRUM_EVENT_TYPES), "unknown");
	assert_string_equal(thrum_event_name(-1), "unknown");
	assert_string_equal(thrum_kind_name(THRUM_KIND_ON_SUCCESS), "on_success");
	assert_string_equal(thrum_kind_name(THRUM_KIND_UNKNOWN), "unknown");
	assert_string_equal(thrum_kind_name(-1), "unknown");
	assert_string_equal(thrum_lost_name(THRUM__LOST_FULL), "recording full");
	assert_null(thrum_lost_name(THRUM__LOST_CAUSES));
	assert_null(thrum_lost_name(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows_tasks),
		cmocka_unit_test(adds_the_base_of_ids),
		cmocka_unit_test(shows_wide_records),
		cmocka_unit_test(shows_definitions),
		cmocka_unit_test(shows_the_rest),
		cmocka_unit_test(gives_whole_keys),
		cmocka_unit_test(finds_the_ends_of_texts),
		cmocka_unit_test(bridges_long_pauses),
		cmocka_unit_test(takes_no_time_that_fits_no_number),
		cmocka_unit_test(tells_where_tasks_were_created),
		cmocka_unit_test(tells_about_the_trace),
		cmocka_unit_test(knows_the_end),
		cmocka_unit_test(refines_the_clock),
		cmocka_unit_test(takes_the_header_s_frequency_at_first),
		cmocka_unit_test(names_things),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
