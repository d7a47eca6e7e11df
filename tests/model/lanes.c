/* SPDX-License-Identifier: ISC */
/* The rows of lanes and counters: spans, gaps, values, links. And forgetting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model_helper.h"
#include "recording.h"
#include "story.h"

#define OF(m, number, member) THRUM__TASK(m, thrum__model_find(m, number), member)

static void assert_span(const struct thrum__model *m, uint32_t i, const char *name, int64_t start,
	int64_t end, uint64_t depth)
{
	assert_string_equal(thrum__model_string(m, THRUM__SPAN(m, i, text), NULL), name);
	assert_int_equal(THRUM__SPAN(m, i, start), start);
	assert_int_equal(THRUM__SPAN(m, i, end), end);
	assert_int_equal(THRUM__SPAN(m, i, count), depth);
}

static void spans_nest(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(SPAN_BEGIN, 1, TEXT("a")),
		EVENT(SPAN_BEGIN, 2, TEXT("b")), EVENT(SPAN_BEGIN, 3, TEXT("c")),
		EVENT(SPAN_END, 4, TEXT("never")), EVENT(SPAN_BEGIN, 4, TEXT("d"), .lane = 1),
		EVENT(SPAN_END, 5, TEXT("b")), EVENT(SPAN_END, 6, TEXT("c")),
		EVENT(SPAN_BEGIN, 7, TEXT("b")), EVENT(SPAN_END, 8, TEXT("b")),
		EVENT(SPAN_END, 9, TEXT("a")), EVENT(SPAN_END, 10, TEXT("a")));

	assert_int_equal(m->spans.count, 5);
	assert_span(m, 0, "a", 1, 9, 0);
	assert_span(m, 1, "b", 2, 5, 1);
	assert_span(m, 2, "c", 3, 5, 2);
	assert_span(m, 3, "d", 4, THRUM__OPEN, 0);
	assert_span(m, 4, "b", 7, 8, 1);
	thrum__model_destroy(m);
}

static void gc_is_a_span_before_its_event(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(GC, 100, .value = 30),
		EVENT(GC, 200, .value = 1000), EVENT(GC, 300, .value = INT64_MIN));

	assert_span(m, 0, "GC", 70, 100, 0);
	assert_span(m, 1, "GC", 0, 200, 0);
	assert_span(m, 2, "GC", 300, 300, 0);
	thrum__model_destroy(m);
}

static void gaps_leave_no_run_and_make_unsure(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_THREAD),
		EVENT(CREATE, 1, PAIR(1, 2), .kind = THRUM_KIND_TASK),
		EVENT(CREATE, 1, PAIR(1, 3), .kind = THRUM_KIND_TASK),
		EVENT(RESOLVE, 2, PAIR(1, 3)), EVENT(SWITCH, 5, TASK(2)),
		EVENT(LOST, 20, TEXT("overwritten"), .value = 7, .flags = THRUM_EVENT_HAS_VALUE),
		EVENT(CREATE, 22, PAIR(1, 4), .kind = THRUM_KIND_TASK),
		EVENT(RESOLVE, 25, PAIR(4, 9)), EVENT(SWITCH, 30, TASK(1)),
		EVENT(DAMAGED, 40, TEXT("cut")));

	assert_int_equal(m->gaps.count, 2);
	assert_int_equal(THRUM__GAP(m, 0, start), 5);
	assert_int_equal(THRUM__GAP(m, 0, end), 20);
	assert_int_equal(THRUM__GAP(m, 0, count), 7);
	assert_int_equal(m->lost, 7);
	assert_int_equal(m->damaged, 1);
	/* 2 ran when the gap began. The first event behind it that names an acting task names 4. */
	assert_int_equal(THRUM__RUN(m, 1, end), 5);
	assert_int_equal(THRUM__TASK(m, THRUM__RUN(m, 2, task), id), 4);
	assert_int_equal(THRUM__RUN(m, 2, start), 25);
	assert_true(thrum__model_is_unsure(m, thrum__model_find(m, 2)));
	assert_false(thrum__model_is_unsure(m, thrum__model_find(m, 3)));
	assert_true(thrum__model_is_unsure(m, thrum__model_find(m, 4)));
	thrum__model_destroy(m);
}

/* Lanes that are whole don't make up for one whose beginning is overwritten. */
static void a_cut_lane_makes_a_cut_model(void **state)
{
	struct recording recording;
	struct thrum_trace *trace;
	struct thrum__model *m;

	recording_init(&recording, THRUM__SIZE_MIN);
	for (uint64_t lane = 0; lane < 2; lane++) {
		uint64_t ticks = lane ? 1000000 : 1000020; /* of 10 ns */
		struct packet_writer t = packet_writer_begin(&recording, (uint32_t)lane, lane,
			lane ? 0 : 7, ticks);

		packet_writer_log(&t, ticks, "said");
		packet_writer_log(&t, 1000030, "said");
	}
	assert_int_equal(thrum_trace_open_memory(recording.bytes, recording.header->size, &trace,
				 NULL),
		0);
	assert_int_equal(thrum__model_create(trace, &m), 0);
	assert_int_equal(thrum__model_load(m, trace, NULL, NULL, NULL), 0);
	assert_int_equal(m->lane_count, 2);
	assert_true(m->is_cut);
	assert_int_equal(m->whole, 200);
	assert_int_equal(m->gaps.count, 1);
	thrum__model_destroy(m);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void counters_keep_their_values(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(COUNTER, 1, TASK(1), TEXT("c"), .value = 5),
		EVENT(INCREASE, 2, TASK(1), TEXT("c"), .value = -7),
		EVENT(INCREASE, 3, TEXT("c"), .value = INT64_MIN),
		EVENT(COUNTER, 4, TEXT("d"), .value = INT64_MAX),
		EVENT(INCREASE, 5, TEXT("d"), .value = 1));
	const struct thrum__counter *c = &m->counters[0], *d = &m->counters[1];

	assert_int_equal(m->counter_count, 2);
	assert_string_equal(thrum__model_string(m, c->name, NULL), "c");
	assert_int_equal(THRUM__VALUE(c, 1, value), -2);
	assert_int_equal(THRUM__VALUE(c, 1, task), thrum__model_find(m, 1));
	assert_int_equal(THRUM__VALUE(c, 2, task), THRUM__NONE);
	assert_true(c->min == INT64_MIN && c->max == 5 && c->last == INT64_MIN && c->start == 0);
	assert_true(d->last == INT64_MAX && d->min == INT64_MAX);
	thrum__model_destroy(m);
}

/* Where the beginning is overwritten, nothing tells a counter's first value but the next one. */
static void counters_of_a_cut_model(void **state)
{
	const struct thrum_event events[] = {
		EVENT(COUNTER, 1, TEXT("set"), .value = 5, .flags = THRUM_EVENT_HAS_VALUE),
		EVENT(INCREASE, 2, TEXT("raised"), .value = 6, .flags = THRUM_EVENT_HAS_VALUE),
	};

	for (int is_cut = 0; is_cut < 2; is_cut++) {
		struct thrum__model *m = MODEL(false, EVENT(LOG, 0, TEXT("")));

		m->is_cut = is_cut;
		assert_int_equal(thrum__model_append(m, events, 2), 0);
		assert_int_equal(m->counters[0].start, is_cut ? 5 : 0);
		assert_false(m->counters[0].is_relative);
		assert_int_equal(m->counters[1].start, 0);
		assert_int_equal(m->counters[1].is_relative, is_cut);
		thrum__model_destroy(m);
	}
}

static void links_meet_in_either_order(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(LINK_SEND, 1, TASK(1), TEXT("k\0y")),
		EVENT(LINK_RECEIVE, 2, TASK(2), TEXT("k\0y"), .lane = 1),
		EVENT(LINK_RECEIVE, 3, TASK(3), TEXT("k\0z"), .lane = 1),
		EVENT(LINK_SEND, 4, TASK(4), TEXT("k\0z")),
		EVENT(LINK_RECEIVE, 5, TASK(5), TEXT("k"), .lane = 1));

	assert_int_equal(m->edges.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(THRUM__EDGE(m, i, kind), THRUM__EDGE_LINK);
		assert_int_equal(THRUM__TASK(m, THRUM__EDGE(m, i, from), id), i ? 4 : 1);
		assert_int_equal(THRUM__TASK(m, THRUM__EDGE(m, i, to), id), i ? 3 : 2);
	}
	thrum__model_destroy(m);
}

static void messages_are_received_or_not(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(LINK_SEND, 1, TASK(1), TEXT("a")),
		EVENT(LINK_RECEIVE, 2, TASK(2), TEXT("a"), .lane = 1),
		EVENT(LINK_RECEIVE, 3, TASK(3), TEXT("b"), .lane = 1),
		EVENT(LINK_SEND, 4, TASK(4), TEXT("b")), EVENT(LINK_SEND, 5, TASK(5), TEXT("c")),
		EVENT(LINK_RECEIVE, 6, TASK(6), TEXT("d"), .lane = 1));
	struct thrum__message message;

	assert_int_equal(thrum__model_message_count(m), 4);
	assert_true(thrum__model_message(m, 0, &message));
	assert_true(message.sent == 1 && message.received == 2);
	assert_int_equal(THRUM__TASK(m, message.receiver, id), 2);
	assert_true(thrum__model_message(m, 1, &message));
	assert_int_equal(message.received, 4);
	assert_int_equal(THRUM__TASK(m, message.receiver, id), 3);
	assert_true(thrum__model_message(m, 2, &message));
	assert_int_equal(THRUM__TASK(m, message.sender, id), 5);
	assert_true(message.receiver == THRUM__NONE && message.received == THRUM__OPEN);
	assert_false(thrum__model_message(m, 3, &message));
	thrum__model_destroy(m);
}

/* Keys may be any bytes: here numbers of 8 bytes, and a UUID. */
static void binary_keys_are_no_connections(void **state)
{
	struct thrum__model *m = MODEL(false,
		EVENT(LINK_SEND, 1, TASK(1), TEXT("\0\0\0\0\0\0\0\xff")),
		EVENT(LINK_SEND, 2, TASK(2), TEXT("\0\0\0\0\0\0\1\xff")),
		EVENT(LINK_SEND, 3, TASK(3), TEXT("0123456789abcd\1\xff")),
		EVENT(LINK_SEND, 4, TASK(4), TEXT("12345678\2\xff")),
		EVENT(LINK_SEND, 5, TASK(5), TEXT("12345678\1\xff")));
	struct thrum__message message;

	assert_int_equal(thrum__model_message_count(m), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(thrum__model_message(m, i, &message), i < 4);
	thrum__model_destroy(m);
}

#define TO_SERVER TEXT("proc/12345678\0\xff")
#define TO_CLIENT TEXT("proc/12345678\1\xff")

/* Task 1 of lane 0 asks task 2 of lane 1, and waits for task 3 that stands for the answer. */
static void connections_tell_who_should_answer(void **state)
{
	struct thrum_event events[] = {EVENT(LINK_SEND, 1, TASK(1), TO_SERVER),
		EVENT(WAIT, 2, PAIR(1, 3)), EVENT(SUSPEND, 2, TEXT("")),
		EVENT(LINK_RECEIVE, 3, TASK(2), TO_SERVER, .lane = 1),
		EVENT(LINK_RECEIVE, 3, TASK(2), TO_SERVER, .lane = 1),
		EVENT(LINK_RECEIVE, 4, TASK(1), TO_CLIENT),
		EVENT(LINK_SEND, 5, TASK(2), TO_CLIENT, .lane = 1), EVENT(RESUME, 6, TEXT("")),
		EVENT(LINK_RECEIVE, 6, TASK(1), TO_CLIENT), EVENT(WAIT, 7, PAIR(1, 4)),
		EVENT(SUSPEND, 7, TEXT("")), EVENT(LINK_RECEIVE, 7, TASK(1), TO_CLIENT)};
	struct thrum__model *m = MODEL(false, EVENT(LOG, 0, TEXT("")));
	struct thrum__awaited awaited = {0};
	struct thrum__message message;

	assert_int_equal(thrum__model_append(m, events, 6), 0);
	assert_int_equal(thrum__model_message_count(m), 2);
	assert_false(thrum__model_message(m, 0, &message));
	assert_false(thrum__model_awaited(m, 0, &awaited));
	assert_true(thrum__model_awaited(m, 1, &awaited));
	assert_int_equal(THRUM__TASK(m, awaited.waiter, id), 3);
	assert_int_equal(THRUM__TASK(m, awaited.server, id), 2);
	assert_int_equal(awaited.waits, THRUM__NONE);
	assert_int_equal(thrum__model_next_awaited(m, awaited.waiter, THRUM__NONE), 1);
	assert_int_equal(thrum__model_next_awaited(m, awaited.waiter, 1), THRUM__NONE);
	assert_int_equal(thrum__model_next_awaited(m, awaited.server, THRUM__NONE), THRUM__NONE);
	/* The server received it later, but the client did nothing more. */
	assert_int_equal(THRUM__EDGE(m, thrum__model_last_edge(m, thrum__model_find(m, 1)), kind),
		THRUM__EDGE_WAIT);
	/* An answer is awaited no more once it has come, and each message is one edge. */
	assert_int_equal(thrum__model_append(m, events + 6, 6), 0);
	assert_false(thrum__model_awaited(m, 1, &awaited));
	assert_int_equal(thrum__model_next_awaited(m, awaited.waiter, THRUM__NONE), THRUM__NONE);
	uint32_t messages = 0;

	for (uint32_t i = 0; i < m->edges.count; i++)
		messages += THRUM__EDGE(m, i, kind) == THRUM__EDGE_LINK &&
			(THRUM__EDGE(m, i, value) & THRUM__LINK_CONNECTION);
	assert_int_equal(messages, 2);
	thrum__model_forget(m, 100);
	assert_false(thrum__model_awaited(m, 1, &awaited));
	thrum__model_destroy(m);
}

/* A task of lane 0 waits for the next message of 100 connections, then that for the last 90 comes; then all
 * are forgotten. */
static void a_task_awaits_many_messages(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(WAIT, 0, PAIR(1, 3)),
		EVENT(SUSPEND, 0, TEXT("")));
	uint32_t waiter = thrum__model_find(m, 3), number = THRUM__NONE;
	char key[] = "1234567-\1\xff";
	unsigned found = 0;

	for (int i = 0; i < 190; i++) {
		struct thrum_event receives = EVENT(LINK_RECEIVE, 1, TASK(1)),
				   sends = EVENT(LINK_SEND, 2, TASK(2), .lane = 1);
		struct thrum_event *event = i < 100 ? &receives : &sends;

		key[7] = (char)(i < 100 ? i : i - 90);
		event->text = key;
		event->text_size = sizeof key - 1;
		assert_int_equal(thrum__model_append(m, event, 1), 0);
	}
	while ((number = thrum__model_next_awaited(m, waiter, number)) != THRUM__NONE) {
		assert_int_equal(number, 2 * found);
		found++;
	}
	assert_int_equal(found, 10);
	thrum__model_forget(m, 1000);
	assert_int_equal(thrum__model_next_awaited(m, waiter, THRUM__NONE), THRUM__NONE);
	thrum__model_destroy(m);
}

/* One message is received once, whichever of its events comes first. */
static void a_receiver_gets_one_message(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(LINK_RECEIVE, 1, TASK(1), TEXT("k"), .lane = 1),
		EVENT(LINK_SEND, 2, TASK(2), TEXT("k")), EVENT(LINK_SEND, 3, TASK(3), TEXT("k")));

	assert_int_equal(m->edges.count, 1);
	assert_int_equal(THRUM__TASK(m, THRUM__EDGE(m, 0, from), id), 2);
	thrum__model_destroy(m);
}

/* A message is doubtful if it took less time than two hosts' clocks may differ, whichever event
 * comes first. */
static void messages_between_clocks(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct thrum__model *m = MODEL(false, EVENT(LOG, 0, TEXT("")),
			EVENT(LOG, 0, TEXT(""), .lane = 1));
		const struct thrum_event events[] = {
			EVENT(LINK_RECEIVE, 100, TASK(1), TEXT("k"), .lane = 1),
			EVENT(LINK_SEND, i % 2 ? 96 : 90, TASK(2), TEXT("k")),
		};

		m->lanes[1].host = 1;
		story_clocks(m, 6, 6);
		assert_int_equal(thrum__model_append(m, events + i / 2, 1), 0);
		assert_int_equal(thrum__model_append(m, events + !(i / 2), 1), 0);
		assert_int_equal(THRUM__EDGE(m, 0, value), i % 2);
		assert_int_equal(m->has_doubtful, i % 2);
		thrum__model_destroy(m);
	}
}

static void texts_may_be_anything(void **state)
{
	static char text[100000];
	struct thrum__model *m;
	size_t size;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	memset(text, '\xff', sizeof text);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t length = i < 300 ? i : sizeof text - i;
		struct thrum_event event = EVENT(LABEL, i, TASK(i + 1), .text = text,
			.text_size = length);

		/* Texts of one length differ in their last byte only. */
		text[length ? length - 1 : 0] = (char)i;
		assert_int_equal(thrum__model_append(m, &event, 1), 0);
		const char *name = thrum__model_task_name(m, i, &size);

		assert_int_equal(size, length);
		assert_memory_equal(name, text, size);
		assert_int_equal(name[size], '\0');
	}
	assert_string_equal(thrum__model_string(m, THRUM__NONE, &size), "");
	assert_int_equal(size, 0);
	thrum__model_destroy(m);
}

/* ---- Forgetting ---------------------------------------------------------------------------- */

#define ROUNDS 40000

/* One round of a server: a request with a name of its own is created, runs, waits, is resolved. */
static void append_round(struct thrum__model *m, uint64_t round, const char *name)
{
	uint64_t id = 2 + round;
	int64_t time = (int64_t)round * 10;
	const struct thrum_event events[] = {
		EVENT(CREATE, time, PAIR(1, id), .kind = THRUM_KIND_REQUEST),
		EVENT(LABEL, time, TASK(id), .text = name, .text_size = (uint32_t)strlen(name)),
		EVENT(SWITCH, time + 1, TASK(id)),
		EVENT(WAIT, time + 2, PAIR(id, 1)),
		EVENT(COUNTER, time + 3, TEXT("requests"), .value = (int64_t)round),
		EVENT(SWITCH, time + 4, TASK(1)),
		EVENT(RESOLVE, time + 5, PAIR(1, id)),
	};

	assert_int_equal(thrum__model_append(m, events, sizeof events / sizeof *events), 0);
}

static void forgetting_bounds_memory_and_keeps_what_is_pending(void **state)
{
	const struct thrum_event begin[] = {
		EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_THREAD),
		EVENT(CREATE, 0, PAIR(1, 1 << 30), .kind = THRUM_KIND_TASK),
		EVENT(LABEL, 0, TASK(1 << 30), TEXT("for ever")),
		EVENT(OFF_CPU, 0, TEXT("preempted"), .value = 1),
	};
	struct thrum__model *m;
	size_t most = 0;
	char name[64];

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	assert_int_equal(thrum__model_append(m, begin, sizeof begin / sizeof *begin), 0);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		snprintf(name, sizeof name, "request number %llu", (unsigned long long)round);
		append_round(m, round, name);
		if (round % 1000 != 999)
			continue;
		thrum__model_forget(m, m->end - 20000);
		if (round < ROUNDS / 2 && most < thrum__model_memory(m))
			most = thrum__model_memory(m);
	}
	assert_true(thrum__model_is_valid(m));
	assert_true(thrum__model_memory(m) <= most + most / 10);
	assert_int_equal(m->forgotten, m->end - 20000);
	assert_string_equal(thrum__model_task_name(m, thrum__model_find(m, 1 << 30), NULL),
		"for ever");
	assert_string_equal(thrum__model_string(m, THRUM__OFF_CPU(m, 0, text), NULL), "preempted");
	assert_int_equal(thrum__model_find(m, 2 + ROUNDS / 2), THRUM__NONE);
	/* The latest ones are all there. */
	for (uint64_t round = ROUNDS - 2000; round < ROUNDS; round++) {
		uint32_t task = thrum__model_find(m, 2 + round);

		snprintf(name, sizeof name, "request number %llu", (unsigned long long)round);
		assert_string_equal(thrum__model_task_name(m, task, NULL), name);
		assert_true(thrum__model_has_row(&m->runs, THRUM__TASK(m, task, run)));
		assert_true(thrum__model_has_row(&m->edges, THRUM__TASK(m, task, edge_out)));
	}
	const struct thrum__counter *c = &m->counters[0];

	assert_true(c->values.first > 0);
	assert_int_equal(c->start, THRUM__VALUE(c, c->values.first, value) - 1);
	thrum__model_destroy(m);
}

static void keep_wait(const char *story)
{
	struct thrum__model *m = story_model(story, false);
	uint32_t wait;

	for (int64_t time = 10; time < 100000; time++) {
		struct thrum_event event = {.time = time,
			.task = 3,
			.other = 4,
			.text = "",
			.type = THRUM_EVENT_READ,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER};

		assert_int_equal(thrum__model_append(m, &event, 1), 0);
		if (time % 1000 == 0)
			thrum__model_forget(m, time - 500);
	}
	wait = THRUM__TASK(m, thrum__model_find(m, 1), edge_out);
	assert_true(thrum__model_has_row(&m->edges, wait));
	assert_int_equal(THRUM__EDGE(m, wait, to), thrum__model_find(m, 2));
	assert_false(thrum__model_has_row(&m->edges, 5000));
	thrum__model_destroy(m);
}

static void what_is_waited_for_is_not_forgotten(void **state)
{
	keep_wait("0 create - 1 promise\n"
		  "0 create - 2 promise\n"
		  "1 wait 1 2\n");
	/* The same for a task that became another one. */
	keep_wait("0 create - 1 promise\n"
		  "0 create - 2 promise\n"
		  "0 create - 5 promise\n"
		  "1 wait 1 2\n"
		  "2 become 2 5\n");
}

static void chains_survive_the_forgetting_of_their_beginning(void **state)
{
	struct thrum__model *m;
	uint64_t id = 1;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	/* A loop: each round becomes the next one. */
	for (; id < 3 * THRUM__BLOCK; id++) {
		const struct thrum_event events[] = {
			EVENT(CREATE, (int64_t)id, PAIR(id, id + 1), .kind = THRUM_KIND_BIND),
			EVENT(BECOME, (int64_t)id, PAIR(id, id + 1)),
		};

		assert_int_equal(thrum__model_append(m, events, 2), 0);
		if (id % 1000 == 0)
			thrum__model_forget(m, (int64_t)id - 500);
	}
	assert_true(thrum__model_is_valid(m));
	assert_true(m->tasks.first > 0);
	assert_int_equal(thrum__model_find(m, 1), THRUM__NONE);
	for (uint32_t i = m->tasks.first; i < m->tasks.count; i++)
		assert_int_equal(THRUM__TASK(m, thrum__model_heir(m, i), id), id);
	thrum__model_destroy(m);
}

/* Appends tasks, of which each resolves itself at once; a thread ends among them on lane 1. */
static void append_ended(struct thrum__model *m, uint64_t first, uint64_t count)
{
	for (uint64_t id = first; id < first + count; id++) {
		struct thrum_event events[] = {
			EVENT(CREATE, (int64_t)id, PAIR(1, id), .kind = THRUM_KIND_TASK),
			EVENT(RESOLVE, (int64_t)id, PAIR(1, id)),
		};

		if (id == first + count / 2)
			events[0] = EVENT(CREATE, (int64_t)id, OTHER(id), .kind = THRUM_KIND_THREAD,
				.lane = 1);
		events[1].lane = events[0].lane;
		assert_int_equal(thrum__model_append(m, events, 2), 0);
	}
}

static void what_is_left_knows_nothing_of_the_forgotten(void **state)
{
	/* The first block stays, as its thread runs. */
	struct thrum__model *m = MODEL(false, EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_THREAD),
		EVENT(CREATE, 1, PAIR(1, 2), .kind = THRUM_KIND_TASK),
		EVENT(CREATE, 1, PAIR(1, 3), .kind = THRUM_KIND_TASK),
		EVENT(CREATE, 1, PAIR(1, 4), .kind = THRUM_KIND_TASK), EVENT(BECOME, 2, PAIR(4, 3)),
		EVENT(FAIL, 2, PAIR(1, 2), TEXT("no route")));
	uint64_t end = 4 * THRUM__BLOCK + 1;
	struct thrum_event event = EVENT(BECOME, end, PAIR(3, end - 2));

	append_ended(m, 5, end - 5);
	assert_int_equal(thrum__model_append(m, &event, 1), 0);
	thrum__model_forget(m, 2 * (int64_t)end);
	assert_true(thrum__model_is_valid(m));
	assert_null(m->tasks.block[3]);
	assert_string_equal(thrum__model_string(m, THRUM__TASK(m, thrum__model_find(m, 2), failure),
				    NULL),
		"no route");
	/* Its heir is gone. */
	assert_int_equal(thrum__model_heir(m, thrum__model_find(m, 3)), thrum__model_find(m, 3));
	assert_int_equal(thrum__model_heir(m, thrum__model_find(m, 4)), thrum__model_find(m, 3));
	/* The thread ended, but its lane may go on to name it. */
	assert_true(thrum__model_has_row(&m->tasks, m->lanes[1].task));
	/* The id of a forgotten task, the last that was named, is that of a new one. */
	event = EVENT(SHOULD_RESOLVE, 3 * (int64_t)end, TASK(end - 2));
	assert_int_equal(thrum__model_append(m, &event, 1), 0);
	assert_int_not_equal(thrum__model_find(m, end - 2), THRUM__NONE);
	assert_true(thrum__model_is_valid(m));
	thrum__model_destroy(m);
}

static void a_forgotten_key_has_no_sender(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(LINK_SEND, 1, TASK(1), TEXT("old")));
	struct thrum_event event = EVENT(LINK_RECEIVE, 200, TASK(2), TEXT("new"));

	thrum__model_forget(m, 100);
	assert_int_equal(thrum__model_append(m, &event, 1), 0);
	assert_int_equal(thrum__model_message_count(m), 1);
	assert_int_equal(m->edges.count, 0);
	thrum__model_destroy(m);
}

/* Blocks of old waits are kept for pending tasks, but not any number of them. */
static void waits_that_are_kept_are_bounded(void **state)
{
	struct thrum__model *m = MODEL(false, EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_TASK));
	struct thrum_event event = EVENT(WAIT, 1, PAIR(1, 2), .text = "");
	uint32_t blocks = 0;

	for (uint32_t i = 0; i < 300 * THRUM__BLOCK; i++)
		assert_int_equal(thrum__model_append(m, &event, 1), 0);
	thrum__model_forget(m, 100);
	for (uint32_t i = 0; i < m->edges.blocks; i++)
		blocks += m->edges.block[i] != NULL;
	assert_int_equal(blocks, 256);
	thrum__model_destroy(m);
}

/* A task that ended long ago is kept if something was told of it lately. */
static void who_was_heard_of_lately_is_kept(void **state)
{
	struct thrum__model *m = MODEL(false,
		EVENT(CREATE, 0, OTHER(1), .kind = THRUM_KIND_THREAD));
	uint64_t end = 4 * THRUM__BLOCK + 1, late = THRUM__BLOCK + 7;
	struct thrum_event event = EVENT(READY, 3 * (int64_t)end, PAIR(1, late), .text = "");

	append_ended(m, 2, end - 2);
	assert_int_equal(thrum__model_append(m, &event, 1), 0);
	thrum__model_forget(m, 2 * (int64_t)end);
	assert_int_not_equal(thrum__model_find(m, late), THRUM__NONE);
	assert_int_equal(thrum__model_find(m, late + 2 * THRUM__BLOCK), THRUM__NONE);
	thrum__model_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_nest),
		cmocka_unit_test(gc_is_a_span_before_its_event),
		cmocka_unit_test(gaps_leave_no_run_and_make_unsure),
		cmocka_unit_test(counters_keep_their_values),
		cmocka_unit_test(counters_of_a_cut_model),
		cmocka_unit_test(links_meet_in_either_order),
		cmocka_unit_test(binary_keys_are_no_connections),
		cmocka_unit_test(connections_tell_who_should_answer),
		cmocka_unit_test(a_task_awaits_many_messages),
		cmocka_unit_test(messages_are_received_or_not),
		cmocka_unit_test(a_receiver_gets_one_message),
		cmocka_unit_test(messages_between_clocks),
		cmocka_unit_test(a_cut_lane_makes_a_cut_model),
		cmocka_unit_test(texts_may_be_anything),
		cmocka_unit_test(forgetting_bounds_memory_and_keeps_what_is_pending),
		cmocka_unit_test(what_is_waited_for_is_not_forgotten),
		cmocka_unit_test(what_is_left_knows_nothing_of_the_forgotten),
		cmocka_unit_test(a_forgotten_key_has_no_sender),
		cmocka_unit_test(waits_that_are_kept_are_bounded),
		cmocka_unit_test(who_was_heard_of_lately_is_kept),
		cmocka_unit_test(chains_survive_the_forgetting_of_their_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
