/* SPDX-License-Identifier: ISC */
/* Recordings are started and stopped while threads go on recording. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"
#include "record_helper.h"
#include "rounds.h"

#define THREADS 4
#define ROUNDS rounds(100, 20)
#define SIZE (256 << 10)

/*
 * The stop replaces the recording's memory while threads may be in the middle of an event.
 * ThreadSanitizer takes mmap() for a write to that memory. In fact each access finds either the old
 * memory or the new, and nobody reads the new one.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return "race:thrum__port_detach\n";
}

static _Atomic bool enough;
static _Atomic uint64_t calls;
THRUM_TAG(mark, NULL, "mark", 0);

/* Each event names its thread: in each recording, a lane belongs to one thread. */
static void *record(void *number)
{
	uint64_t self = 1000000 + (uintptr_t)number, n = 0;

	while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
		n++;
		thrum_task_wait(self, 1000000000 + n);
		thrum_task_resolve(1000000000 + n);
		thrum_tag_value(&mark, (int64_t)n);
		thrum_log("a line of text");
		THRUM_RUN (self) {
			thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, "task"));
		}
		atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	}
	return NULL;
}

/* Checks the order of the events that a thread records in a round of its loop. */
static void check(const struct events *events)
{
	uint64_t last[64] = {0}, who[64] = {0};

	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];

		if (e->type == THRUM_EVENT_DAMAGED)
			fail_msg("%s", e->text);
		assert_in_range(e->lane, 0, 63);
		/* Packets may be missing, so any event may come next. */
		if (e->type == THRUM_EVENT_LOST)
			last[e->lane] = 0;
		if (e->flags & THRUM_EVENT_REMEMBERED)
			continue;
		if (e->type == THRUM_EVENT_WAIT) {
			assert_in_range(e->task, 1000000, 1000000 + THREADS - 1);
			assert_true(!who[e->lane] || who[e->lane] == e->task);
			assert_true(!last[e->lane] || e->other == last[e->lane] + 1);
			who[e->lane] = e->task;
			last[e->lane] = e->other;
		} else if (e->type == THRUM_EVENT_TAG) {
			assert_string_equal(e->text, "mark");
			assert_true(
				!last[e->lane] || (uint64_t)e->value == last[e->lane] - 1000000000);
		} else if (e->type == THRUM_EVENT_LOG) {
			assert_string_equal(e->text, "a line of text");
		}
	}
	assert_int_equal(events->info.damaged, 0);
	assert_int_equal(events->info.lost_total, 0);
}

static void wait_for_calls(uint64_t more)
{
	uint64_t until = atomic_load(&calls) + more;

	while (atomic_load(&calls) < until)
		usleep(50);
}

static void a_hundred_times(void **state)
{
	pthread_t threads[THREADS];
	const char *file = scratch("restart.thrum");
	size_t found = 0;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record, (void *)i), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = SIZE}),
			0);
		wait_for_calls((uint64_t)i % 10 * 100);
		thrum_stop();
		wait_for_calls((uint64_t)i % 3);
		struct events events = events_of_file(file);

		assert_string_equal(events.info.state, "stopped");
		check(&events);
		found += events.count;
		events_free(&events);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(found > 1000);
}

static uint8_t *recording, *as_stopped;
static size_t packets_at;

/* Stops the recording, and keeps it as it is then. */
static void on_fault(int signal)
{
	(void)signal;
	thrum_stop();
	memcpy(as_stopped, recording, packets_at);
	mprotect(recording, SIZE, PROT_READ | PROT_WRITE);
}

/* The packet counts as used, but nothing is in it: its event is lost, and nothing is damaged. */
static void a_stop_while_the_first_packet_is_prepared(void **state)
{
	struct sigaction old, fault = {.sa_handler = on_fault};
	struct thrum__header *h;
	struct events events;

	(void)state;
	recording = shared_memory(SIZE);
	as_stopped = shared_memory(SIZE);
	assert_int_equal(thrum_start(&(struct thrum_config){.memory = recording, .size = SIZE}), 0);
	h = (struct thrum__header *)(void *)recording;
	packets_at = (size_t)h->packet.offset;
	assert_int_equal(mprotect(recording + packets_at, SIZE - packets_at, PROT_READ), 0);
	sigaction(SIGSEGV, &fault, &old);
	thrum_log("nowhere");
	sigaction(SIGSEGV, &old, NULL);
	h = (struct thrum__header *)(void *)as_stopped;
	assert_int_equal(h->packets_used, 1);
	events = events_of_memory(as_stopped, SIZE);
	assert_string_equal(events.info.state, "stopped");
	assert_int_equal(events.info.damaged, 0);
	events_free(&events);
	/* No other thread prepared one. */
	h->packets_used = 2;
	events = events_of_memory(as_stopped, SIZE);
	assert_int_equal(events.info.damaged, 1);
	events_free(&events);
}

static void a_second_start_changes_nothing(void **state)
{
	const char *first = scratch("first.thrum"), *second = scratch("second.thrum");

	(void)state;
	assert_int_equal(thrum_start(&(struct thrum_config){.file = first, .size = SIZE}), 0);
	assert_int_equal(thrum_start(&(struct thrum_config){.file = second, .size = SIZE}), 0);
	assert_int_equal(thrum_start(NULL), 0);
	assert_string_equal(thrum_file(), first);
	assert_int_equal(access(second, F_OK), -1);
	thrum_log("here");
	thrum_stop();
	thrum_stop();
	thrum_log("nowhere");
	assert_false(thrum_enabled());
	assert_int_equal(thrum_task_create(THRUM_KIND_TASK, "none"), THRUM_TASK_NONE);
	struct events events = events_of_file(first);

	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), 1);
	events_free(&events);
}

/* The program's memory may hold a recording that is over. */
static void memory_may_be_used_again(void **state)
{
	static const struct thrum__packet none;
	void *memory = shared_memory(SIZE);
	struct thrum_config config = {.memory = memory, .size = SIZE};
	const struct thrum__header *h = memory;

	(void)state;
	assert_int_equal(thrum_start(&config), 0);
	for (int i = 0; i < 50000; i++)
		thrum_log("of the first recording");
	thrum_stop();
	assert_int_equal(thrum_start(&config), 0);
	for (uint32_t i = 0; i < h->packets; i++)
		assert_memory_equal((uint8_t *)memory + h->packet.offset + i * h->packet_size,
			&none, sizeof none);
	thrum_log("of the second one");
	thrum_stop();
	struct events events = events_of_memory(memory, SIZE);

	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), 1);
	assert_int_equal(events_count(&events, THRUM_EVENT_DAMAGED), 0);
	events_free(&events);
}

static void what_start_refuses(void **state)
{
	static const struct thrum_clock no_clock = {0};
	static char memory[8192];
	const struct thrum_config wrong[] = {
		{.size = 1},
		{.size = (UINT64_C(256) << 10) - 1},
		{.size = (UINT64_C(64) << 30) + 4096},
		{.size = UINT64_MAX},
		{.full = (enum thrum_full)2},
		{.memory = memory + 1 + (4096 - (uintptr_t)memory % 4096) % 4096},
		{.clock = &no_clock},
		{.file = ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		int error = thrum_start(&wrong[i]);

		assert_int_equal(error, i < 4 ? -THRUM_E_SIZE : -THRUM_E_ARGUMENT);
		assert_false(thrum_enabled());
		assert_true(strlen(thrum_error_message(error)) > 3);
		assert_ptr_equal(thrum_error_message(error), thrum_error_message(-error));
	}
	assert_null(thrum_file());
}

/* Records with the name that this thread was given, if any. Returns whether its own task has that name. */
static bool own_task_is(const char *given, const char *label)
{
	const char *file = scratch("named.thrum");
	struct events events;
	bool found;

	if (given)
		thrum_lane_name(given);
	assert_int_equal(thrum_start(&(struct thrum_config){.file = file, .size = SIZE}), 0);
	thrum_log("a line of text");
	thrum_stop();
	events = events_of_file(file);
	found = events_find_text(&events, THRUM_EVENT_LABEL, label) != NULL;
	events_free(&events);
	return found;
}

static void a_name_from_before_the_start(void **state)
{
	char usual[16];

	assert_int_equal(pthread_getname_np(pthread_self(), usual, sizeof usual), 0);
	assert_true(own_task_is("early", "early"));
	/* It is for one recording. */
	assert_true(own_task_is(NULL, usual));
	assert_true(own_task_is("", usual));
	assert_false(own_task_is("early", usual));
	assert_true(own_task_is("123456789 123456789 123456789 123456789 123456789 123456789 1234",
		"123456789 123456789 123456789 123456789 123456789 123456789 …"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_start_refuses),
		cmocka_unit_test(a_second_start_changes_nothing),
		cmocka_unit_test(memory_may_be_used_again),
		cmocka_unit_test(a_stop_while_the_first_packet_is_prepared),
		cmocka_unit_test(a_name_from_before_the_start),
		cmocka_unit_test(a_hundred_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
