/* SPDX-License-Identifier: ISC */
/* Several recordings as one trace: its times, ids, names, ends and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "recording.h"
#include "world/world.h"

#define START 1000000u /* ticks; one is 10 ns */
#define LANES 600u
#define HOUR INT64_C(3600000000000)

/* ---- Recordings ---------------------------------------------------------------------------- */

static struct packet_writer begin(struct recording *recording, const char *program,
	const char *host, uint64_t boot)
{
	struct packet_writer writer;

	recording_init(recording, 1 << 20);
	strcpy(recording->header->program, program);
	strcpy(recording->header->host, host);
	recording->header->boot = boot;
	writer = packet_writer_begin(recording, 0, 0, 0, START);
	assert_true(packet_writer_add(&writer,
		&(struct thrum__record){.type = THRUM__R_CREATE_IN,
			.other = 1,
			.kind = THRUM_KIND_THREAD,
			.text = "main"},
		START));
	assert_true(packet_writer_add(&writer,
		&(struct thrum__record){.type = THRUM__R_SWITCH, .task = 1}, START));
	return writer;
}

static void link_at(struct packet_writer *writer, bool is_send, const char *key, uint64_t ticks)
{
	assert_true(packet_writer_add(writer,
		&(struct thrum__record){.type = is_send ? THRUM__R_LINK_SEND
							: THRUM__R_LINK_RECEIVE,
			.key = (const uint8_t *)key,
			.key_size = (uint8_t)strlen(key)},
		START + ticks));
}

static struct thrum_trace *open_recording(const struct recording *recording)
{
	struct thrum_trace *trace;

	assert_int_equal(thrum_trace_open_memory(recording->bytes, recording->header->size, &trace,
				 NULL),
		0);
	return trace;
}

static struct thrum_trace *join_with(const struct recording *recordings, size_t count,
	uint64_t messages, const struct thrum__ping *pings, uint32_t ping_count)
{
	static const char *const files[] = {"/tmp/one.thrum", "two.thrum", "three.thrum"};
	struct thrum__world_part parts[3];
	struct thrum_error_info info = {0};
	struct thrum_trace *trace;
	uint64_t found;

	for (size_t i = 0; i < count; i++)
		parts[i] = (struct thrum__world_part){open_recording(&recordings[i]),
			open_recording(&recordings[i]), files[i]};
	if (thrum__world_join(parts, count, pings, ping_count, &trace, &found, &info) != 0)
		fail_msg("%s", info.message);
	assert_int_equal(found, messages);
	return trace;
}

static struct thrum_trace *join(const struct recording *recordings, size_t count, uint64_t messages)
{
	return join_with(recordings, count, messages, NULL, 0);
}

/* Lists the events: "TIME LANE EVENT TASK OTHER TEXT". */
static void assert_events(struct thrum_trace *trace, const char *expected)
{
	const struct thrum_event *events;
	char got[4000];
	size_t count, used = 0;

	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			used += (size_t)snprintf(got + used, sizeof got - used,
				"%lld %u %s %llu %llu %s\n", (long long)events[i].time,
				events[i].lane, thrum_event_name(events[i].type),
				(unsigned long long)events[i].task,
				(unsigned long long)events[i].other, events[i].text);
	assert_string_equal(got, expected);
}

/* ---- One machine --------------------------------------------------------------------------- */

static void merges_by_the_common_clock(void **state)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "host", 5);
	struct packet_writer b = begin(&two[1], "db", "host", 5);
	struct thrum_trace *trace;

	(void)state;
	link_at(&a, true, "k1", 10);
	link_at(&b, false, "k1", 12);
	link_at(&b, true, "k2", 15);
	link_at(&a, false, "k2", 18);
	trace = join(two, 2, 2);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web/main\n"
		"0 0 switch 1 0 \n"
		"0 1 create 0 1000000000001 \n"
		"0 1 label 1000000000001 0 db/main\n"
		"0 1 switch 1000000000001 0 \n"
		"100 0 link-send 1 0 k1\n"
		"120 1 link-receive 1000000000001 0 k1\n"
		"150 1 link-send 1000000000001 0 k2\n"
		"150 1 suspend 0 0 no more is recorded\n"
		"180 0 link-receive 1 0 k2\n");
	assert_string_equal(thrum_trace_info(trace)->program, "web, db");
	assert_string_equal(thrum_trace_info(trace)->host, "host");
	assert_int_equal(thrum_trace_info(trace)->lanes, 2);
	assert_int_equal(thrum_trace_lane(trace, 1)->number, 1);
	assert_string_equal(thrum_trace_lane(trace, 1)->process, "db");
	assert_int_equal(thrum_trace_lane(trace, 1)->time_error, 0);
	assert_null(thrum_trace_lane(trace, 2));
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* Two clocks have one name, but ticks of 10 ns and of 1 ns. */
static void each_part_has_ticks_of_its_own(void **state)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "host", 5);
	struct packet_writer b = begin(&two[1], "db", "host", 5);
	struct thrum_trace *trace;

	(void)state;
	two[1].header->clock_frequency = 1000000000;
	link_at(&a, true, "k1", 10);
	link_at(&b, false, "k1", 120);
	link_at(&b, true, "k2", 150);
	link_at(&a, false, "k2", 18);
	trace = join(two, 2, 2);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web/main\n"
		"0 0 switch 1 0 \n"
		"0 1 create 0 1000000000001 \n"
		"0 1 label 1000000000001 0 db/main\n"
		"0 1 switch 1000000000001 0 \n"
		"100 0 link-send 1 0 k1\n"
		"120 1 link-receive 1000000000001 0 k1\n"
		"150 1 link-send 1000000000001 0 k2\n"
		"150 1 suspend 0 0 no more is recorded\n"
		"180 0 link-receive 1 0 k2\n");
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* Parts of one program have their files' names, and a part that ends suspends its lanes. */
static void a_part_may_end_early(void **state)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "host", 5);
	struct packet_writer b = begin(&two[1], "web", "host", 5);
	struct thrum_trace *trace;

	(void)state;
	link_at(&a, true, "k1", 10);
	link_at(&b, false, "k1", 12);
	link_at(&b, true, "k2", 15);
	trace = join(two, 2, 1);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 one/main\n"
		"0 0 switch 1 0 \n"
		"0 1 create 0 1000000000001 \n"
		"0 1 label 1000000000001 0 two/main\n"
		"0 1 switch 1000000000001 0 \n"
		"100 0 link-send 1 0 k1\n"
		"100 0 suspend 0 0 no more is recorded\n"
		"120 1 link-receive 1000000000001 0 k1\n"
		"150 1 link-send 1000000000001 0 k2\n");
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* How a run ended whose program ended so after 1 s, and another process of it so many ms later. */
static int ending_of_run(int ending, int other, uint32_t later_ms)
{
	struct recording two[2];
	struct thrum_trace *trace;
	int found;

	for (int i = 0; i < 2; i++) {
		struct packet_writer writer = begin(&two[i], "web", "host", 5);

		link_at(&writer, true, i == 0 ? "k1" : "k2", 10);
		two[i].header->state = THRUM__STOPPED;
		two[i].header->ended = START + 100000000 + (i == 1 ? later_ms * 100000 : 0);
		two[i].header->ending = (uint32_t)(i == 0 ? ending : other);
		two[i].header->ending_code = i == 0 ? 9 : 0;
	}
	trace = join(two, 2, 0);
	found = thrum_trace_info(trace)->ending;
	assert_int_equal(thrum_trace_info(trace)->ending_code,
		found == THRUM_ENDING_KILLED ? 9 : 0);
	assert_int_equal(thrum_trace_info(trace)->end, (1000 + later_ms) * INT64_C(1000000));
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
	return found;
}

static void a_run_is_killed_with_its_program(void **state)
{
	(void)state;
	assert_int_equal(ending_of_run(THRUM_ENDING_KILLED, THRUM_ENDING_EXITED, 100),
		THRUM_ENDING_KILLED);
	assert_int_equal(ending_of_run(THRUM_ENDING_KILLED, THRUM_ENDING_GONE, 100),
		THRUM_ENDING_KILLED);
	assert_int_equal(ending_of_run(THRUM_ENDING_KILLED, THRUM_ENDING_GONE, 900),
		THRUM_ENDING_GONE);
	/* The other one went on, or neither was killed. */
	assert_int_equal(ending_of_run(THRUM_ENDING_KILLED, THRUM_ENDING_EXITED, 900),
		THRUM_ENDING_EXITED);
	assert_int_equal(ending_of_run(THRUM_ENDING_EXITED, THRUM_ENDING_EXITED, 100),
		THRUM_ENDING_EXITED);
}

/* More lanes are suspended than a batch has room for. */
static void a_part_with_many_lanes_may_end_early(void **state)
{
	struct recording two[2];
	struct packet_writer writer = begin(&two[1], "db", "host", 5);
	const struct thrum_event *events;
	struct thrum_trace *trace;
	size_t count, suspended = 0;

	(void)state;
	link_at(&writer, true, "k1", 500);
	recording_init(&two[0], 16 << 20);
	strcpy(two[0].header->host, "host");
	two[0].header->boot = 5;
	assert_true(two[0].header->packets >= LANES);
	for (uint32_t i = 0; i < LANES; i++) {
		writer = packet_writer_begin(&two[0], i, i, 0, START);
		link_at(&writer, true, "k2", 10);
	}
	trace = join(two, 2, 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++)
			suspended += events[i].type == THRUM_EVENT_SUSPEND;
	assert_int_equal(suspended, LANES);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* A key that a program uses for messages to itself means nothing in another. */
static void knows_a_programs_own_keys(void **state)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "host", 5);
	struct packet_writer b = begin(&two[1], "db", "host", 5);
	struct thrum__model *model;
	struct thrum_trace *trace;

	(void)state;
	link_at(&a, true, "own", 10);
	link_at(&b, true, "own", 11);
	link_at(&b, false, "own", 12);
	link_at(&a, false, "own", 13);
	link_at(&a, true, "twice", 14);
	link_at(&a, true, "twice", 15);
	link_at(&b, false, "twice", 16);
	trace = join(two, 2, 0);
	assert_int_equal(thrum__model_create(trace, &model), 0);
	assert_int_equal(thrum__model_load(model, trace, NULL, NULL, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(THRUM__EDGE(model, i, kind), THRUM__EDGE_LINK);
		assert_int_equal(THRUM__EDGE(model, i, from), THRUM__EDGE(model, i, to));
	}
	assert_true(model->is_joined);
	assert_string_equal(thrum__model_process(model, thrum__model_find(model, 1)), "web");
	assert_string_equal(thrum__model_process(model, thrum__model_find(model, 1000000000001)),
		"db");
	thrum__model_destroy(model);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* ---- Several machines ---------------------------------------------------------------------- */

/* Two machines whose wall clocks differ by 0.3 s. Messages take 10 us. */
static void compares_the_clocks_of_machines(void **state)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "one", 5);
	struct packet_writer b = begin(&two[1], "web", "two", 6);
	struct thrum_trace *trace;
	const struct thrum_event *events;
	int64_t sent = 0, received = 0, error;
	size_t count;

	(void)state;
	two[1].header->start.monotonic += (uint64_t)HOUR;
	two[1].header->start.realtime += 300000000;
	for (unsigned i = 0; i < 10; i++) {
		char key[] = {'a', (char)('0' + i), '\0'}, answer[] = {'b', (char)('0' + i), '\0'};

		link_at(&a, true, key, 10000 * i + 1000);
		link_at(&b, false, key, 10000 * i + 2000);
		link_at(&b, true, answer, 10000 * i + 3000);
		link_at(&a, false, answer, 10000 * i + 4000);
	}
	trace = join(two, 2, 20);
	error = thrum_trace_lane(trace, 1)->time_error;
	assert_int_equal(thrum_trace_lane(trace, 0)->time_error, 0);
	/* The messages take 10 us, so the middle may be off by as much. */
	assert_in_range(error, 9000, 12000);
	assert_string_equal(thrum_trace_lane(trace, 0)->process, "one@one");
	assert_string_equal(thrum_trace_info(trace)->host, "");
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			const struct thrum_event *e = &events[i];

			if (strcmp(e->text, "a3") == 0 && e->type == THRUM_EVENT_LINK_SEND)
				sent = e->time;
			if (strcmp(e->text, "a3") == 0 && e->type == THRUM_EVENT_LINK_RECEIVE)
				received = e->time;
		}
	assert_in_range(received - sent, 9500, 10500);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* Without messages there are only the wall clocks. */
static void falls_back_on_wall_clocks(void **state)
{
	struct recording two[2];
	struct thrum_trace *trace;

	(void)state;
	(void)begin(&two[0], "web", "one", 5);
	(void)begin(&two[1], "db", "two", 6);
	two[1].header->start.realtime += 300000000;
	trace = join(two, 2, 0);
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 2000000000, 2000000100);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web@one/main\n"
		"0 0 switch 1 0 \n"
		"0 0 suspend 0 0 no more is recorded\n"
		"300000000 1 create 0 1000000000001 \n"
		"300000000 1 label 1000000000001 0 db@two/main\n"
		"300000000 1 switch 1000000000001 0 \n");
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* A machine begins with a time of day that is years off, and gets the right one later. */
static void takes_the_time_of_day_that_was_set(void **state)
{
	struct recording two[2];
	struct thrum__reading *start, *latest;
	struct thrum_trace *trace;

	(void)state;
	(void)begin(&two[0], "web", "one", 5);
	(void)begin(&two[1], "db", "two", 6);
	start = &two[1].header->start;
	latest = &two[1].header->latest[1];
	*latest = (struct thrum__reading){.ticket = 1,
		.ticks = start->ticks,
		.monotonic = start->monotonic,
		.realtime = start->realtime + 300000000};
	start->realtime -= 5 * 365 * 24 * (uint64_t)HOUR;
	/* The kernel thinks that it knows the time. */
	for (int i = 0; i < 2; i++)
		two[i].header->realtime_error = (struct thrum__realtime_error){2000, 500};
	trace = join(two, 2, 0);
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 2000000000, 2000000100);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web@one/main\n"
		"0 0 switch 1 0 \n"
		"0 0 suspend 0 0 no more is recorded\n"
		"300000000 1 create 0 1000000000001 \n"
		"300000000 1 label 1000000000001 0 db@two/main\n"
		"300000000 1 switch 1000000000001 0 \n");
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* Joins machines and closes them. Returns how long their only message took in the joined trace, and the
 * error of the last machine. */
static int64_t time_of_message(struct recording *recordings, size_t count, int64_t *error)
{
	struct thrum_trace *trace = join(recordings, count, 1);
	const struct thrum_event *events;
	int64_t between = 0;
	size_t got;

	*error = thrum_trace_lane(trace, (uint32_t)count - 1)->time_error;
	while (thrum_trace_next(trace, &events, &got, NULL) == 1)
		for (size_t i = 0; i < got; i++)
			between += events[i].type == THRUM_EVENT_LINK_RECEIVE ? events[i].time
				: events[i].type == THRUM_EVENT_LINK_SEND     ? -events[i].time
									      : 0;
	thrum_trace_close(trace);
	for (size_t i = 0; i < count; i++)
		recording_finish(&recordings[i]);
	return between;
}

/* One message, which one machine receives `took` ns after the other one sent it, by their wall clocks. */
static int64_t send_one(int64_t took, uint32_t most, uint32_t estimate, int64_t *error)
{
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "one", 5);
	struct packet_writer b = begin(&two[1], "db", "two", 6);

	two[1].header->start.monotonic += (uint64_t)HOUR;
	two[1].header->start.realtime += (uint64_t)took;
	for (int i = 0; i < 2; i++)
		two[i].header->realtime_error = (struct thrum__realtime_error){most, estimate};
	link_at(&a, true, "k", 1000);
	link_at(&b, false, "k", 1000);
	return time_of_message(two, 2, error);
}

/* It bounds the clocks from one side only, so the wall clocks tell the rest, as well as the kernel says that
 * they do. */
static void a_message_of_one_direction_moves_no_clock(void **state)
{
	int64_t error;

	(void)state;
	assert_in_range(send_one(300000000, 0, 0, &error), 299999990, 300000010);
	assert_in_range(error, 1999990000, 2000000100);
	/* One clock must be wrong: by no more than is needed. */
	assert_in_range(send_one(-300000000, 0, 0, &error), 1000, 70000);
	assert_in_range(error, 1699900000, 1700100000);
	assert_in_range(send_one(4000000, 3000, 1000, &error), 3999990, 4000010);
	assert_in_range(error, 6000000, 6010000);
	assert_in_range(send_one(-4000000, 3000, 1000, &error), 999000, 1001000);
	/* Programs that give no estimate may have told the kernel an error of 0. */
	assert_in_range(send_one(4000000, 3000, 0, &error), 3999990, 4000010);
	assert_in_range(error, 206000000, 206010000);
}

/* Both clocks are only known from the wall clock of a third machine, and yet the message arrives after it
 * is sent, whichever of both comes first. */
static void a_message_of_others_arrives_after_it_is_sent(void **state)
{
	int64_t error;

	(void)state;
	for (int sender = 1; sender <= 2; sender++) {
		struct recording three[3];
		struct packet_writer writers[3] = {begin(&three[0], "web", "one", 5),
			begin(&three[1], "stock", "two", 6), begin(&three[2], "db", "three", 7)};

		three[3 - sender].header->start.realtime -= 300000000;
		link_at(&writers[sender], true, "k", 1000);
		link_at(&writers[3 - sender], false, "k", 1000);
		assert_in_range(time_of_message(three, 3, &error), 1000, 70000);
		assert_in_range(error, 1999990000, 2300100000);
	}
}

/* Pings of two machines that send each other nothing, to a third one whose clock is 7 s ahead. Each way
 * takes 100 us. */
static void put_pings(struct thrum__ping *pings, size_t count, int64_t start)
{
	for (size_t i = 0; i < count; i++) {
		int64_t at = start + (int64_t)(i / 2) * 5000000000 - 20000000000;
		int64_t own = i % 2 ? at + HOUR : at, there = at + 7000000000;

		pings[i] = (struct thrum__ping){i % 2 ? 6 : 5, 9, own, there + 100000,
			there + 150000, own + 250000};
	}
}

static void compares_clocks_by_pings(void **state)
{
	enum {
		PINGS = 18
	};
	struct recording two[2];
	struct thrum__ping pings[PINGS + 5];
	struct thrum_trace *trace;
	int64_t start;

	(void)state;
	(void)begin(&two[0], "web", "one", 5);
	(void)begin(&two[1], "db", "two", 6);
	start = (int64_t)two[0].header->start.monotonic;
	/* It began a millisecond later, and its time of day is wrong by an hour. */
	two[1].header->start.monotonic += (uint64_t)HOUR + 1000000;
	two[1].header->start.realtime += (uint64_t)HOUR;
	put_pings(pings, PINGS, start);
	/* Others have nothing to do with it, or are damaged. */
	pings[PINGS] = (struct thrum__ping){77, 78, 1, 2, 3, 4};
	pings[PINGS + 1] = (struct thrum__ping){5, 0, start, start, start, start};
	pings[PINGS + 2] = (struct thrum__ping){5, 5, start, start, start, start};
	pings[PINGS + 3] = (struct thrum__ping){5, 11, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX};
	pings[PINGS + 4] = (struct thrum__ping){0, 5, start, start, start, start};
	trace = join_with(two, 2, 0, pings, PINGS + 5);
	assert_int_equal(thrum_trace_lane(trace, 0)->time_error, 0);
	/* Both comparisons may be wrong by 100 us. */
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 199000, 205000);
	assert_int_equal(thrum_trace_lane(trace, 1)->host, 1);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web@one/main\n"
		"0 0 switch 1 0 \n"
		"0 0 suspend 0 0 no more is recorded\n"
		"1000000 1 create 0 1000000000001 \n"
		"1000000 1 label 1000000000001 0 db@two/main\n"
		"1000000 1 switch 1000000000001 0 \n");
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* One of the machines stands still for a second, and so its clock: between two comparisons nobody
 * knows when. */
static void tells_of_a_step(void **state)
{
	enum {
		PINGS = 72
	};
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "one", 5);
	struct packet_writer b = begin(&two[1], "db", "two", 6);
	struct thrum__ping pings[PINGS];
	struct thrum_trace *trace;

	(void)state;
	two[1].header->start.monotonic += (uint64_t)HOUR;
	for (int i = 0; i < 2; i++) {
		struct thrum__reading *latest = &two[i].header->latest[0];

		*latest = two[i].header->start;
		latest->ticks += 15000000000;
		latest->monotonic += 150000000000;
		latest->realtime += 150000000000;
	}
	link_at(&a, true, "a", 15000000000);
	link_at(&b, true, "b", 15000000000);
	put_pings(pings, PINGS, (int64_t)two[0].header->start.monotonic);
	for (size_t i = 1; i < PINGS; i += 2)
		if (i > PINGS / 2) {
			pings[i].asked -= 1000000000;
			pings[i].back -= 1000000000;
		}
	trace = join_with(two, 2, 0, pings, PINGS);
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 990000000, 1010000000);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

/* Makes it the recording of a virtual machine with a clock of its own, which the host has compared. */
static void put_guest(struct recording *guest, int64_t ahead, uint64_t error)
{
	guest->header->clock_kind = THRUM__CLOCK_GIVEN;
	guest->header->host_clock = (struct thrum__host_clock){.boot = 5,
		.monotonic = guest->header->start.monotonic,
		.ahead = ahead,
		.error = error};
}

/* The host has compared the guest's clock with its own: that counts more than the wall clocks. */
static void knows_the_clocks_of_guests(void **state)
{
	struct recording three[3];
	struct thrum_trace *trace;

	(void)state;
	(void)begin(&three[0], "web", "host", 5);
	(void)begin(&three[1], "kernel", "", 0);
	(void)begin(&three[2], "linux", "guest", 7);
	three[1].header->start.monotonic += (uint64_t)HOUR;
	three[1].header->start.realtime += 300000000;
	put_guest(&three[1], 2000000 - HOUR, 40000);
	put_guest(&three[2], 1000000, 30000);
	trace = join(three, 3, 0);
	assert_int_equal(thrum_trace_lane(trace, 0)->time_error, 0);
	/* Clocks drift by 200 ppm at most, and the trace is 2 ms long. */
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 40000, 40400);
	assert_in_range(thrum_trace_lane(trace, 2)->time_error, 30000, 30400);
	assert_events(trace,
		"0 0 create 0 1 \n"
		"0 0 label 1 0 web@host/main\n"
		"0 0 switch 1 0 \n"
		"0 0 suspend 0 0 no more is recorded\n"
		"1000000 2 create 0 2000000000001 \n"
		"1000000 2 label 2000000000001 0 linux@guest/main\n"
		"1000000 2 switch 2000000000001 0 \n"
		"1000000 2 suspend 0 0 no more is recorded\n"
		"2000000 1 create 0 1000000000001 \n"
		"2000000 1 label 1000000000001 0 kernel/main\n"
		"2000000 1 switch 1000000000001 0 \n");
	thrum_trace_close(trace);
	/* Two guests without their host. */
	trace = join(three + 1, 2, 0);
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 70000, 70800);
	thrum_trace_close(trace);
	/* A second away from the comparison. */
	three[2].header->host_clock.monotonic += 10000000000;
	three[2].header->host_clock.ahead = INT64_MIN;
	three[1].header->host_clock.monotonic += 1000000000;
	trace = join(three, 3, 0);
	assert_in_range(thrum_trace_lane(trace, 1)->time_error, 240000, 240400);
	thrum_trace_close(trace);
	for (int i = 0; i < 3; i++)
		recording_finish(&three[i]);
}

/* Messages that took less time than the clocks may be wrong by are doubtful. */
static void tells_doubtful_messages(void **state)
{
	static const char *const keys[] = {"short", "long"};
	struct recording two[2];
	struct packet_writer a = begin(&two[0], "web", "one", 5);
	struct packet_writer b = begin(&two[1], "db", "two", 6);
	struct thrum__model *model;
	struct thrum_trace *trace;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		link_at(&a, true, keys[i], 1000 + i);
		link_at(&b, false, keys[i], 2000 + i * 300000000); /* 3 s */
	}
	trace = join(two, 2, 2);
	assert_int_equal(thrum_trace_lane(trace, 0)->host, 0);
	assert_int_equal(thrum_trace_lane(trace, 1)->host, 1);
	assert_int_equal(thrum__model_create(trace, &model), 0);
	assert_int_equal(thrum__model_load(model, trace, NULL, NULL, NULL), 0);
	assert_int_equal(model->edges.count, 2);
	assert_int_equal(THRUM__EDGE(model, 0, value), 1);
	assert_int_equal(THRUM__EDGE(model, 1, value), 0);
	assert_true(model->has_doubtful);
	thrum__model_destroy(model);
	thrum_trace_close(trace);
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

static void survives_damaged_clocks(void **state)
{
	static const uint64_t strange[] = {1, UINT64_MAX, UINT64_C(1) << 63, INT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
		struct recording two[2];
		struct thrum_trace *trace;
		const struct thrum_event *events;
		size_t count;
		struct packet_writer a = begin(&two[0], "web", "one", 5);
		struct packet_writer b = begin(&two[1], "db", "two", 6);

		link_at(&a, true, "k", 1);
		link_at(&b, false, "k", 2);
		two[1].header->start.monotonic = strange[i];
		two[1].header->start.realtime = strange[(i + 1) % 4];
		two[1].header->ended = strange[i];
		two[i % 2].header->clock_frequency = i < 2 ? 1 : two[0].header->clock_frequency;
		trace = join(two, 2, 1);
		while (thrum_trace_next(trace, &events, &count, NULL) == 1)
			assert_true(count > 0);
		thrum_trace_close(trace);
		recording_finish(&two[0]);
		recording_finish(&two[1]);
	}
}

/* As far apart as can be: CLOCK_REALTIME, and how somebody set it. */
static void survives_clocks_that_were_set_far(void **state)
{
	const uint64_t far = INT64_MAX / 2 - 1;
	struct recording two[2];
	struct packet_writer writers[] = {begin(&two[0], "web", "one", 5),
		begin(&two[1], "db", "two", 6)};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct thrum__reading *start = &two[i].header->start,
				      *latest = &two[i].header->latest[0];

		link_at(&writers[i], i == 0, "k", 1);
		start->monotonic = i ? far : 1;
		start->realtime = i ? 1 : far;
		*latest = *start;
		latest->ticks += 15000000000;
		latest->monotonic += 150000000000 + (i ? far : 0);
		latest->realtime += 150000000000 + (i ? 0 : far);
	}
	thrum_trace_close(join(two, 2, 1));
	recording_finish(&two[0]);
	recording_finish(&two[1]);
}

static void refuses_too_many(void **state)
{
	struct thrum__world_part parts[THRUM__WORLD_PARTS_MAX + 1];
	struct thrum_error_info info = {0};
	struct recording recording;
	struct thrum_trace *trace;
	uint64_t messages;

	(void)state;
	(void)begin(&recording, "web", "one", 5);
	for (size_t i = 0; i <= THRUM__WORLD_PARTS_MAX; i++)
		parts[i] = (struct thrum__world_part){open_recording(&recording),
			open_recording(&recording), NULL};
	assert_int_equal(thrum__world_join(parts, THRUM__WORLD_PARTS_MAX + 1, NULL, 0, &trace,
				 &messages, &info),
		-THRUM_E_ARGUMENT);
	assert_string_equal(info.message, "more than 64 traces can't be joined");
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_by_the_common_clock),
		cmocka_unit_test(each_part_has_ticks_of_its_own),
		cmocka_unit_test(a_part_may_end_early),
		cmocka_unit_test(a_run_is_killed_with_its_program),
		cmocka_unit_test(a_part_with_many_lanes_may_end_early),
		cmocka_unit_test(knows_a_programs_own_keys),
		cmocka_unit_test(compares_the_clocks_of_machines),
		cmocka_unit_test(knows_the_clocks_of_guests),
		cmocka_unit_test(falls_back_on_wall_clocks),
		cmocka_unit_test(takes_the_time_of_day_that_was_set),
		cmocka_unit_test(a_message_of_one_direction_moves_no_clock),
		cmocka_unit_test(a_message_of_others_arrives_after_it_is_sent),
		cmocka_unit_test(compares_clocks_by_pings),
		cmocka_unit_test(tells_of_a_step),
		cmocka_unit_test(tells_doubtful_messages),
		cmocka_unit_test(survives_damaged_clocks),
		cmocka_unit_test(survives_clocks_that_were_set_far),
		cmocka_unit_test(refuses_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
