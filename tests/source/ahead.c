/* SPDX-License-Identifier: ISC */
/* A trace that a second thread reads ahead gives the same as one that is read in one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thrum/trace.h>
#include <cmocka.h>

#include "model/model.h"
#include "recording.h"
#include "source/ahead/ahead.h"

#define LANES 3
#define EACH 50 /* packets of a lane: more events than the two threads share */

static struct recording recording;

static void add_task(struct packet_writer *writer, uint64_t ticks, uint64_t id, bool *has_room)
{
	char label[400];

	/* Texts of all sizes, so that batches end by their texts or by the number of events. */
	snprintf(label, sizeof label, "task %u %0*u", (unsigned)id, (int)(id / 2000 % 2 * 300 + 1),
		(unsigned)id);
	const struct thrum__record records[] = {
		{.type = THRUM__R_CREATE,
			.other = id,
			.kind = THRUM_KIND_TASK,
			.site = 1,
			.text = label},
		{.type = THRUM__R_SWITCH, .task = id},
		{.type = THRUM__R_WAIT, .task = id, .other = id > LANES ? id - LANES : id},
		{.type = THRUM__R_COUNTER, .def = 2, .value = (int64_t)id},
		id % 3 ? (struct thrum__record){.type = THRUM__R_RESOLVE, .other = id}
		       : (struct thrum__record){.type = THRUM__R_FAIL, .other = id, .text = "no"},
	};

	for (size_t i = 0; i < sizeof records / sizeof *records && *has_room; i++)
		*has_room = packet_writer_add(writer, &records[i], ticks + i);
}

static int set_up(void **state)
{
	static const char site[] = "function\0file.c";
	uint64_t id = 1;

	(void)state;
	recording_init(&recording, UINT64_C(4) << 20);
	recording_define(&recording, 1, THRUM__DEFINES_SITE, 7, site, sizeof site);
	recording_define(&recording, 2, THRUM__DEFINES_COUNTER, 0, "count", sizeof "count");
	for (uint32_t i = 0; i < LANES * EACH; i++) {
		uint64_t begin = 1000000 + i / LANES * 10000;
		/* The first lane lacks a packet. */
		uint64_t seq = i / LANES + (i % LANES == 0 && i / LANES > EACH / 2);
		struct packet_writer writer = packet_writer_begin(&recording, i, i % LANES, seq,
			begin);
		bool has_room = true;

		for (uint64_t k = 0; has_room; k++)
			add_task(&writer, begin + 10 * k, id++, &has_room);
		if (i == LANES * EACH / 3)
			memset((uint8_t *)writer.packet + writer.at - 12, 0xff, 12);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	recording_finish(&recording);
	return 0;
}

static struct thrum_trace *open_recording(void)
{
	struct thrum_trace *trace = NULL;

	assert_int_equal(thrum_trace_open_memory(recording.bytes, recording.header->size, &trace,
				 NULL),
		0);
	return trace;
}

static struct thrum_trace *read_ahead(struct thrum_trace *from, void (*meanwhile)(void *),
	void *context)
{
	struct thrum_trace *ahead = thrum__source_read_ahead(from, meanwhile, context);

	assert_ptr_not_equal(ahead, from);
	return ahead;
}

/* ---- Events --------------------------------------------------------------------------------- */

struct reading {
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
};

static const struct thrum_event *next(struct reading *reading)
{
	if (reading->count == 0) {
		int result = thrum_trace_next(reading->trace, &reading->events, &reading->count,
			NULL);

		assert_in_range(result, 0, 1);
		if (result == 0)
			return NULL;
		assert_int_not_equal(reading->count, 0);
	}
	reading->count--;
	return reading->events++;
}

static void assert_same_event(const struct thrum_event *a, const struct thrum_event *b)
{
	struct thrum_event x = *a, y = *b;

	assert_int_equal(x.text_size, y.text_size);
	assert_string_equal(x.text, y.text);
	x.text = y.text = NULL;
	assert_memory_equal(&x, &y, offsetof(struct thrum_event, flags) + 1);
}

static void assert_same_info(const struct thrum_trace *a, const struct thrum_trace *b)
{
	const struct thrum_trace_info *x = thrum_trace_info(a), *y = thrum_trace_info(b);

	assert_string_equal(x->format, y->format);
	assert_int_equal(x->records, y->records);
	assert_int_equal(x->content_bytes, y->content_bytes);
	assert_int_equal(x->damaged, y->damaged);
	assert_int_equal(x->gaps, y->gaps);
	assert_int_equal(x->end, y->end);
}

static void test_events(void **state)
{
	struct thrum_trace *from = open_recording();
	struct reading one = {open_recording(), NULL, 0},
		       two = {read_ahead(from, NULL, NULL), NULL, 0};
	const struct thrum_event *event;
	size_t count = 0;

	(void)state;
	while ((event = next(&one))) {
		const struct thrum_event *same = next(&two);

		assert_non_null(same);
		assert_same_event(event, same);
		assert_int_equal(thrum_trace_lane(one.trace, event->lane)->number,
			thrum_trace_lane(two.trace, event->lane)->number);
		if (event->site)
			assert_string_equal(thrum_trace_site(two.trace, event->site)->file,
				"file.c");
		count++;
	}
	assert_null(next(&two));
	assert_null(next(&two));
	assert_in_range(count, 10000, 1000000); /* more than the threads share */
	assert_int_equal(thrum_trace_info(two.trace)->gaps, 1);
	assert_int_equal(thrum_trace_info(two.trace)->damaged, 1);
	assert_same_info(one.trace, two.trace);
	thrum__source_end_ahead(two.trace, from);
	assert_same_info(one.trace, from);
	thrum_trace_close(one.trace);
	thrum_trace_close(from);
}

/* The reader may leave before the end, also while the thread waits for room. */
static void test_early_end(void **state)
{
	(void)state;
	for (int reads = 0; reads < 40; reads++) {
		struct thrum_trace *from = open_recording(), *ahead = read_ahead(from, NULL, NULL);
		const struct thrum_event *events;
		size_t count;

		for (int i = 0; i < reads; i++)
			assert_int_equal(thrum_trace_next(ahead, &events, &count, NULL), 1);
		thrum__source_end_ahead(ahead, from);
		thrum_trace_close(from);
	}
}

/* A small trace isn't worth a thread. */
static void test_size(void **state)
{
	struct recording small;
	struct thrum_trace *trace;

	(void)state;
	recording_init(&small, THRUM__SIZE_MIN);
	assert_int_equal(thrum_trace_open_memory(small.bytes, small.header->size, &trace, NULL), 0);
	assert_false(thrum__source_may_read_ahead(trace));
	thrum__source_end_ahead(trace, trace);
	thrum_trace_close(trace);
	recording_finish(&small);
}

/* ---- Models --------------------------------------------------------------------------------- */

static void assert_same_models(const struct thrum__model *a, const struct thrum__model *b)
{
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->tasks.count, b->tasks.count);
	assert_int_equal(a->runs.count, b->runs.count);
	assert_int_equal(a->edges.count, b->edges.count);
	assert_int_equal(a->notes.count, b->notes.count);
	for (uint32_t i = 0; i < a->tasks.count; i++) {
		assert_int_equal(THRUM__TASK(a, i, id), THRUM__TASK(b, i, id));
		assert_int_equal(THRUM__TASK(a, i, start), THRUM__TASK(b, i, start));
		assert_int_equal(THRUM__TASK(a, i, end), THRUM__TASK(b, i, end));
		assert_int_equal(THRUM__TASK(a, i, edge_in), THRUM__TASK(b, i, edge_in));
		assert_string_equal(thrum__model_task_name(a, i, NULL),
			thrum__model_task_name(b, i, NULL));
		assert_string_equal(thrum__model_string(a, THRUM__TASK(a, i, failure), NULL),
			thrum__model_string(b, THRUM__TASK(b, i, failure), NULL));
		assert_int_equal(thrum__model_site(a, i) != NULL, thrum__model_site(b, i) != NULL);
	}
}

static void test_models(void **state)
{
	struct thrum_trace *one = open_recording(), *from = open_recording(), *two;
	struct thrum__model *a, *b;

	(void)state;
	assert_int_equal(thrum__model_create(one, &a), 0);
	assert_int_equal(thrum__model_create(from, &b), 0);
	two = read_ahead(from, thrum__model_prepare, b);
	assert_int_equal(thrum__model_load(a, one, NULL, NULL, NULL), 0);
	assert_int_equal(thrum__model_load(b, two, NULL, NULL, NULL), 0);
	thrum__source_end_ahead(two, from);
	assert_in_range(a->tasks.count, 2 * THRUM__BLOCK, 1000000);
	assert_same_models(a, b);
	thrum__model_destroy(a);
	thrum__model_destroy(b);
	thrum_trace_close(one);
	thrum_trace_close(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_models),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
