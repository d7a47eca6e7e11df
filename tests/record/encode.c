/* SPDX-License-Identifier: ISC */
/* Each call, fast or slow, writes the same bytes as the generic encoder does for the same
 * record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "record/record.h"
#include "record_helper.h"

#define SIZE (UINT64_C(64) << 20) /* packets of 64 KiB: one is enough */
#define FAR (UINT64_C(1) << 32)
#define LONG_GAP (UINT64_C(1) << (THRUM__TIME_BITS + 4))

THRUM_CATEGORY(net, "net");
THRUM_TAG(parse, &net, "net/parse", 1);

static struct thrum_counter *counter;
static uint16_t counter_def, tag_def; /* their numbers in the recording */
static char text_511[THRUM_TEXT_MAX + 1], text_600[601];

/* ---- Comparing the packet with the expected records ---------------------------------------- */

static const void *memory;
static struct thrum__packet *packet; /* the first one; it doesn't get full */
static size_t at;                    /* bytes of the packet that have been compared */
static uint64_t last;                /* ticks of the event before */
static bool by_hand;                 /* the clock is hand_clock */

static size_t content(void)
{
	return atomic_load(&packet->content_size) / 8;
}

/* Begins to compare with the next event. Records that are written only once are already there. */
static void mark(void)
{
	const struct thrum__header *header = memory;

	packet = (struct thrum__packet *)((uintptr_t)memory + (uintptr_t)header->packet.offset);
	at = content();
	last = thrum__record_thread.lane[0]->last >> TICK_BITS;
}

static uint16_t definition_at(size_t offset)
{
	uint16_t number;

	memcpy(&number, (uint8_t *)packet + offset, sizeof number);
	assert_int_not_equal(number, 0);
	return number;
}

/* Returns the time of the event at `at`. */
static uint64_t ticks_there(void)
{
	const uint64_t low = (UINT64_C(1) << THRUM__TIME_BITS) - 1;
	const uint8_t *event = (uint8_t *)packet + at;
	uint32_t compact;
	uint64_t ticks;

	memcpy(&compact, event, sizeof compact);
	memcpy(&ticks, event + 5, sizeof ticks);
	if ((compact & 31) == THRUM__EXTENDED)
		return ticks;
	return last + (((compact >> 5) - last) & low);
}

/* Checks that the next event in the packet is this record, at this time. */
static void expect_at(struct thrum__record record, uint64_t ticks)
{
	uint8_t bytes[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
	bool wide = thrum__format_record_is_wide(&record, packet->id_base);
	size_t size = thrum__format_encode_header(bytes, record.type + (wide ? THRUM__WIDE : 0),
		ticks, last);

	size += thrum__format_encode_fields(bytes + size, &record, packet->id_base, wide);
	assert_in_range(at + size, 0, content());
	assert_memory_equal((uint8_t *)packet + at, bytes, size);
	at += size;
	last = ticks;
}

/* The same, for a record of the present time. */
static void expect(struct thrum__record record)
{
	uint64_t ticks = by_hand ? atomic_load(&hand_time) >> 4 : ticks_there();

	assert_in_range(ticks, last, by_hand ? ticks : now() >> TICK_BITS);
	expect_at(record, ticks);
}

static void expect_no_more(void)
{
	assert_int_equal(at, content());
}

#define CHECK(call, ...) \
	do { \
		call; \
		expect((struct thrum__record){__VA_ARGS__}); \
		expect_no_more(); \
	} while (0)

/* The next event says that the running task reads: the slow path may have written the longer form. */
static void expect_own_read(thrum_task own, uint64_t other)
{
	unsigned first = *((uint8_t *)packet + at);
	unsigned id = (first & 31) == THRUM__EXTENDED ? *((uint8_t *)packet + at + 1) : first & 31;

	if (id % THRUM__WIDE == THRUM__R_READ)
		expect((struct thrum__record){.type = THRUM__R_READ, .task = own, .other = other});
	else
		expect((struct thrum__record){.type = THRUM__R_READ_OWN, .other = other});
	expect_no_more();
}

static void check_own_read(thrum_task own, uint64_t other)
{
	thrum_task_read(own, other);
	expect_own_read(own, other);
}

/* One call with two records. */
static void check_enter_reading(thrum_task own, uint64_t task, uint64_t source)
{
	assert_int_equal(thrum__enter_reading(task, source), own);
	assert_int_equal(thrum_task_current(), task);
	/* The slow path reads the clock twice. */
	expect_at((struct thrum__record){.type = THRUM__R_SWITCH, .task = task}, ticks_there());
	expect_own_read(task, source);
	CHECK(thrum_task_leave(own), .type = THRUM__R_SWITCH, .task = own);
}

static int start(void **state)
{
	/* A clock with long seconds: readings of all clocks would be events in between. */
	static struct thrum_clock rare;

	(void)state;
	rare = hand_clock;
	rare.frequency = UINT64_C(100000000000);
	atomic_store(&hand_step, 16 * 5);
	memory = start_in_memory(SIZE, by_hand ? &rare : NULL);
	/* The first event of the thread. */
	thrum_log("");
	if (!counter)
		counter = thrum_counter_create("bytes", THRUM_COUNTER_GAUGE);
	thrum_counter_set(counter, 1);
	mark();
	counter_def = definition_at(at - 6);
	thrum_tag(&parse);
	mark();
	tag_def = definition_at(at - 2);
	return 0;
}

static int start_by_hand(void **state)
{
	by_hand = true;
	return start(state);
}

/* With the time stamp counter, for which the fastest path is made. */
static int start_by_default(void **state)
{
	by_hand = false;
	return start(state);
}

static int stop(void **state)
{
	(void)state;
	thrum_stop();
	return 0;
}

/* ---- One after the other ------------------------------------------------------------------- */

static void check_pairs(uint64_t a, uint64_t b)
{
	thrum_task own = thrum_task_current();

	CHECK(thrum_task_wait(a, b), .type = THRUM__R_WAIT, .task = a, .other = b);
	CHECK(thrum_task_read(a, b), .type = THRUM__R_READ, .task = a, .other = b);
	check_own_read(own, b);
	CHECK(thrum_task_resolve(b), .type = THRUM__R_RESOLVE, .other = b);
	CHECK(thrum_task_cancel(b), .type = THRUM__R_CANCEL, .other = b);
	CHECK(thrum_task_become(a, b), .type = THRUM__R_BECOME, .task = a, .other = b);
	CHECK(thrum_task_ready(b), .type = THRUM__R_READY, .other = b);
	CHECK(thrum_task_signal(b, 3), .type = THRUM__R_SIGNAL, .other = b, .value = 3);
	CHECK(thrum_lock_acquired(b), .type = THRUM__R_LOCK, .other = b);
	CHECK(thrum_lock_released(b), .type = THRUM__R_UNLOCK, .other = b);
	CHECK(thrum__wait_at(NULL, a, b), .type = THRUM__R_WAIT_AT, .task = a, .other = b);
	CHECK(thrum__signal_at(NULL, b, 3), .type = THRUM__R_SIGNAL_AT, .other = b, .value = 3);
	CHECK(thrum__lock_held(NULL, a, b), .type = THRUM__R_HELD, .task = a, .other = b);
	CHECK(thrum_task_due(a, -7), .type = THRUM__R_DUE, .task = a, .value = -7);
	CHECK(thrum_task_should_resolve(a), .type = THRUM__R_SHOULD_RESOLVE, .task = a);
	CHECK(thrum_task_switch(a), .type = THRUM__R_SWITCH, .task = a);
	CHECK(thrum_task_switch(own), .type = THRUM__R_SWITCH, .task = own);
	check_enter_reading(own, a, b);
	CHECK(thrum__enter_reading(b, 0), .type = THRUM__R_SWITCH, .task = b);
	CHECK(thrum_task_switch(own), .type = THRUM__R_SWITCH, .task = own);
}

static void the_short_forms_are_used(void **state)
{
	thrum_task own = thrum_task_current();

	(void)state;
	CHECK(thrum_task_read(own, 7), .type = THRUM__R_READ_OWN, .other = 7);
}

static void events_between_tasks(void **state)
{
	const uint64_t ids[] = {2, 63, 64, 70000, UINT32_MAX, FAR + 1, 2 * FAR + 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		for (size_t j = 0; j < sizeof ids / sizeof *ids; j++)
			check_pairs(ids[i], ids[j]);
}

static uint16_t site_of(struct thrum__record record)
{
	bool wide = thrum__format_record_is_wide(&record, packet->id_base);
	size_t ids = record.type == THRUM__R_CREATE_IN ? 2 : 1;

	return definition_at(
		at + (wide ? THRUM__EXTENDED_SIZE : THRUM__COMPACT_SIZE) + ids * (wide ? 8 : 4));
}

static void expect_created(struct thrum__record record)
{
	record.site = site_of(record);
	expect(record);
	expect_no_more();
}

static void check_creations(const char *label, uint64_t other)
{
	thrum_task id = thrum_task_create(THRUM_KIND_BIND, label);
	const char *text = label ? label : "";

	assert_true(id > 0);
	expect_created((struct thrum__record){.type = THRUM__R_CREATE,
		.other = id,
		.kind = THRUM_KIND_BIND,
		.text = text});
	id = thrum_task_create_in(other, THRUM_KIND_TIMER, label);
	expect_created((struct thrum__record){.type = THRUM__R_CREATE_IN,
		.task = other,
		.other = id,
		.kind = THRUM_KIND_TIMER,
		.text = text});
	id = thrum_task_create_waiting(THRUM_KIND_REQUEST, label, other);
	expect_created((struct thrum__record){.type = THRUM__R_CREATE_WAITING,
		.other = id,
		.kind = THRUM_KIND_REQUEST,
		.source = other,
		.text = text});
}

static void creations(void **state)
{
	const uint64_t others[] = {1, 5000, UINT32_MAX, FAR + 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		check_creations(NULL, others[i]);
		check_creations("", others[i]);
		check_creations("ten chars.", others[i]);
	}
	thrum_task id = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_TASK, "no parent");

	expect_created((struct thrum__record){.type = THRUM__R_CREATE_IN,
		.other = id,
		.kind = THRUM_KIND_TASK,
		.text = "no parent"});
	id = thrum_task_create_waiting(THRUM_KIND_TASK, "for nothing", THRUM_TASK_NONE);
	expect_created((struct thrum__record){.type = THRUM__R_CREATE,
		.other = id,
		.kind = THRUM_KIND_TASK,
		.text = "for nothing"});
	id = thrum_task_createf(THRUM_KIND_MAP, "%d of %s", 3, "four");
	expect_created((struct thrum__record){.type = THRUM__R_CREATE,
		.other = id,
		.kind = THRUM_KIND_MAP,
		.text = "3 of four"});
}

static void check_text(const char *text)
{
	check_creations(text, 9);
	CHECK(thrum_log(text), .type = THRUM__R_LOG, .text = text);
	CHECK(thrum_logf("%s", text), .type = THRUM__R_LOG, .text = text);
	CHECK(thrum_task_label(9, text), .type = THRUM__R_LABEL, .task = 9, .text = text);
	CHECK(thrum_task_fail(9, text), .type = THRUM__R_FAIL, .other = 9, .text = text);
}

/* Restarts with packets that have room for only a few long texts. */
static void restart_when_nearly_full(void)
{
	if (content() < packet->packet_size / 8 / 2)
		return;
	thrum_stop();
	start(NULL);
}

static void texts_of_every_length(void **state)
{
	char text[THRUM_TEXT_MAX + 32];

	(void)state;
	for (size_t length = 0; length < sizeof text; length += length < 70 ? 1 : 23) {
		restart_when_nearly_full();
		memset(text, 'y', length);
		text[length] = '\0';
		check_text(text);
	}
	restart_when_nearly_full();
	check_text(text_511);
	restart_when_nearly_full();
	check_text(text_600);
}

/* If a text ends at the end of a page and the next page isn't mapped, nothing beyond is read. */
static void texts_at_the_end_of_a_page(void **state)
{
	char *pages = shared_memory(8192);

	(void)state;
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	memset(pages, 'z', 4095);
	for (size_t length = 0; length < 100; length++) {
		restart_when_nearly_full();
		check_text(pages + 4095 - length);
	}
}

static void missing_texts_are_empty(void **state)
{
	(void)state;
	CHECK(thrum_log(NULL), .type = THRUM__R_LOG, .text = "");
	CHECK(thrum_task_label(9, NULL), .type = THRUM__R_LABEL, .task = 9, .text = "");
	CHECK(thrum_task_fail(9, NULL), .type = THRUM__R_FAIL, .other = 9, .text = "");
}

static void nobody_is_ignored(void **state)
{
	(void)state;
	thrum_task_wait(0, 1);
	thrum_task_wait(1, 0);
	thrum_task_read(0, 1);
	thrum_task_read(1, 0);
	thrum_task_resolve(0);
	thrum_task_fail(0, "x");
	thrum_task_cancel(0);
	thrum_task_become(0, 1);
	thrum_task_become(1, 0);
	thrum_task_signal(0, 1);
	thrum_task_label(0, "x");
	thrum_task_due(0, 1);
	thrum_task_should_resolve(0);
	thrum_lock_acquired(0);
	thrum_lock_released(0);
	thrum_link_send(NULL, 4);
	expect_no_more();
}

static void counters_and_tags(void **state)
{
	const int64_t values[] = {0, -1, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1,
		(int64_t)INT32_MIN - 1, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		CHECK(thrum_counter_set(counter, values[i]), .type = THRUM__R_COUNTER,
			.def = counter_def, .value = values[i]);
		CHECK(thrum_tag_value(&parse, values[i]), .type = THRUM__R_TAG_VALUE,
			.def = tag_def, .value = values[i]);
		CHECK(thrum_task_due(1, values[i]), .type = THRUM__R_DUE, .task = 1,
			.value = values[i]);
	}
	CHECK(thrum_task_signal(1, UINT32_MAX), .type = THRUM__R_SIGNAL, .other = 1,
		.value = UINT32_MAX);
	CHECK(thrum_tag(&parse), .type = THRUM__R_TAG, .def = tag_def);
	CHECK(thrum_span_begin(&parse), .type = THRUM__R_SPAN_BEGIN, .def = tag_def);
	CHECK(thrum_span_end(&parse), .type = THRUM__R_SPAN_END, .def = tag_def);
	CHECK(thrum_suspend(&parse), .type = THRUM__R_SUSPEND, .def = tag_def);
	CHECK(thrum_resume(), .type = THRUM__R_RESUME);
}

static void keys(void **state)
{
	uint8_t key[THRUM_KEY_MAX + 10];

	(void)state;
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = (uint8_t)(i * 37);
	for (size_t size = 0; size < sizeof key; size++) {
		uint8_t kept = (uint8_t)(size < THRUM_KEY_MAX ? size : THRUM_KEY_MAX);

		CHECK(thrum_link_send(key, size), .type = THRUM__R_LINK_SEND, .key = key,
			.key_size = kept);
		CHECK(thrum_link_receive(key, size), .type = THRUM__R_LINK_RECEIVE, .key = key,
			.key_size = kept);
	}
}

/* ---- Time ---------------------------------------------------------------------------------- */

/* Checks one event of each fast kind, each `gap` after the one before. */
static void check_after(uint64_t gap)
{
	thrum_task own = thrum_task_current();

	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_task_wait(5, 6), .type = THRUM__R_WAIT, .task = 5, .other = 6);
	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_task_read(5, 6), .type = THRUM__R_READ, .task = 5, .other = 6);
	atomic_fetch_add(&hand_time, gap);
	check_own_read(own, 6);
	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_task_resolve(6), .type = THRUM__R_RESOLVE, .other = 6);
	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_task_switch(own), .type = THRUM__R_SWITCH, .task = own);
	atomic_fetch_add(&hand_time, gap);
	check_enter_reading(own, 5, 6);
	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_log("late"), .type = THRUM__R_LOG, .text = "late");
	atomic_fetch_add(&hand_time, gap);
	CHECK(thrum_counter_set(counter, 3), .type = THRUM__R_COUNTER, .def = counter_def,
		.value = 3);
}

/* Gaps around the longest one that the compact header can express. */
static void gaps(void **state)
{
	const uint64_t around = LONG_GAP - atomic_load(&hand_step);

	(void)state;
	check_after(0);
	for (int i = -36; i <= 40; i += 4) {
		thrum_stop();
		start(NULL);
		check_after(around + (uint64_t)(int64_t)i);
	}
	check_after(16 * LONG_GAP);
	check_after(4);
}

/* Even if the clock steps back a little, no event has an earlier time than the one before. */
static void a_clock_that_steps_back(void **state)
{
	(void)state;
	for (uint64_t step = 1; step < UINT64_C(1) << 23; step *= 3) {
		uint64_t before = atomic_load(&hand_time);

		atomic_store(&hand_step, 0);
		atomic_store(&hand_time, before - (step < before ? step : before));
		thrum_task_wait(5, 6);
		thrum_log("back");
		atomic_store(&hand_time, before);
		expect((struct thrum__record){.type = THRUM__R_WAIT, .task = 5, .other = 6});
		expect((struct thrum__record){.type = THRUM__R_LOG, .text = "back"});
		expect_no_more();
	}
}

int main(void)
{
#define BOTH(test) \
	cmocka_unit_test_setup_teardown(test, start_by_default, stop), \
	{ \
#test " (another clock)", test, start_by_hand, stop, NULL \
	}
#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, start_by_hand, stop)
	const struct CMUnitTest tests[] = {
		BOTH(the_short_forms_are_used),
		BOTH(events_between_tasks),
		BOTH(creations),
		BOTH(texts_of_every_length),
		BOTH(texts_at_the_end_of_a_page),
		BOTH(missing_texts_are_empty),
		BOTH(nobody_is_ignored),
		BOTH(counters_and_tags),
		BOTH(keys),
		BY_HAND(gaps),
		BY_HAND(a_clock_that_steps_back),
	};

	memset(text_511, 'a', sizeof text_511 - 1);
	memset(text_600, 'b', sizeof text_600 - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
