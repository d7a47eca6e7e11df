/* SPDX-License-Identifier: ISC */
/* The table of live tasks: a task created before the oldest packet is still known, with its label,
 * its parent and the task that it waits for, a lock with its holder, and a timer with its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "record_helper.h"

#define SIZE (256 << 10)

static const void *memory;

static int start(void **state)
{
	(void)state;
	memory = start_in_memory(SIZE, NULL);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	thrum_stop();
	return 0;
}

/* Records until no earlier event is in a packet any more. */
static void wrap(void)
{
	for (int i = 0; i < 60000; i++)
		thrum_log("something to fill the ring with");
}

static struct events finish(void)
{
	thrum_stop();
	return events_of_memory(memory, SIZE);
}

/* Returns a task's event of this type; for CREATE, that of the created task. */
static const struct thrum_event *find(const struct events *events, enum thrum_event_type type,
	thrum_task task)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];

		if (e->type == type && (type == THRUM_EVENT_CREATE ? e->other : e->task) == task)
			return e;
	}
	return NULL;
}

static const struct thrum_event *find_remembered(const struct events *events,
	enum thrum_event_type type, thrum_task task)
{
	const struct thrum_event *e = find(events, type, task);

	assert_non_null(e);
	assert_true(e->flags & THRUM_EVENT_REMEMBERED);
	return e;
}

static void who_waits_is_remembered(void **state)
{
	(void)state;
	thrum_task own = thrum_task_current();
	thrum_task parent = thrum_task_create(THRUM_KIND_FIBER, "a parent");
	thrum_task source = thrum_task_create_in(parent, THRUM_KIND_REQUEST, "reply");
	thrum_task waiter = thrum_task_create_in(parent, THRUM_KIND_BIND, "first name");
	thrum_task other = thrum_task_create_waiting(THRUM_KIND_MAP, "from the start", source);

	thrum_task_label(waiter, "last name");
	thrum_task_should_resolve(waiter);
	thrum_task_wait(waiter, parent);
	thrum_task_wait(waiter, source);
	wrap();
	struct events events = finish();

	assert_true(events.info.packets * 4096 < 60000 * 10);
	assert_int_equal(find_remembered(&events, THRUM_EVENT_CREATE, parent)->task, own);
	assert_int_equal(find_remembered(&events, THRUM_EVENT_CREATE, source)->task, parent);
	assert_int_equal(find(&events, THRUM_EVENT_CREATE, source)->kind, THRUM_KIND_REQUEST);
	assert_int_equal(find_remembered(&events, THRUM_EVENT_CREATE, waiter)->task, parent);
	assert_string_equal(find_remembered(&events, THRUM_EVENT_LABEL, waiter)->text, "last name");
	assert_non_null(find_remembered(&events, THRUM_EVENT_SHOULD_RESOLVE, waiter));
	assert_null(find(&events, THRUM_EVENT_SHOULD_RESOLVE, parent));
	assert_int_equal(find_remembered(&events, THRUM_EVENT_WAIT, waiter)->other, source);
	assert_int_equal(find_remembered(&events, THRUM_EVENT_WAIT, other)->other, source);
	assert_int_equal(find(&events, THRUM_EVENT_CREATE, other)->kind, THRUM_KIND_MAP);
	assert_null(find(&events, THRUM_EVENT_WAIT, parent));
	events_free(&events);
}

static void who_is_done_is_forgotten(void **state)
{
	(void)state;
	thrum_task resolved = thrum_task_create(THRUM_KIND_TASK, "resolved");
	thrum_task failed = thrum_task_create(THRUM_KIND_TASK, "failed");
	thrum_task cancelled = thrum_task_create(THRUM_KIND_TASK, "cancelled");
	thrum_task became = thrum_task_create(THRUM_KIND_TASK, "became");
	thrum_task kept = thrum_task_create(THRUM_KIND_TASK, "kept");

	thrum_task_resolve(resolved);
	thrum_task_fail(failed, "why not");
	thrum_task_cancel(cancelled);
	thrum_task_become(became, kept);
	wrap();
	struct events events = finish();

	assert_null(find(&events, THRUM_EVENT_CREATE, resolved));
	assert_null(find(&events, THRUM_EVENT_CREATE, failed));
	assert_null(find(&events, THRUM_EVENT_CREATE, cancelled));
	assert_null(find(&events, THRUM_EVENT_CREATE, became));
	assert_non_null(find_remembered(&events, THRUM_EVENT_CREATE, kept));
	events_free(&events);
}

static thrum_task take_in(const char *label, enum thrum_kind kind, thrum_task lock)
{
	thrum_task task = thrum_task_create(kind, label);

	THRUM_RUN (task)
		thrum_lock_acquired(lock);
	return task;
}

/* Returns the task that took a lock, or NONE. */
static thrum_task holder_of(const struct events *events, thrum_task lock)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct thrum_event *e = &events->list[i];

		if (e->type == THRUM_EVENT_LOCK && e->other == lock) {
			assert_true(e->flags & THRUM_EVENT_REMEMBERED);
			return e->task;
		}
	}
	return THRUM_TASK_NONE;
}

static void who_holds_a_lock_is_remembered(void **state)
{
	thrum_task held = thrum_task_create(THRUM_KIND_LOCK, "held");
	thrum_task passed = thrum_task_create(THRUM_KIND_LOCK, "passed on");
	thrum_task freed = thrum_task_create(THRUM_KIND_LOCK, "free");
	thrum_task waits = thrum_task_create(THRUM_KIND_LOCK, "waits itself");
	thrum_task holder = take_in("holder", THRUM_KIND_PROMISE, held);

	(void)state;
	take_in("before", THRUM_KIND_FIBER, passed);
	thrum_lock_released(passed);
	thrum__lock_held(NULL, take_in("unlucky", THRUM_KIND_FIBER, waits), passed);
	take_in("before", THRUM_KIND_FIBER, freed);
	thrum_lock_released(freed);
	thrum_task_wait(waits, held);
	take_in("after", THRUM_KIND_FIBER, waits);
	wrap();
	struct events events = finish();

	assert_int_equal(holder_of(&events, held), holder);
	assert_string_equal(find_remembered(&events, THRUM_EVENT_LABEL, holder_of(&events, passed))
				    ->text,
		"unlucky");
	assert_int_equal(holder_of(&events, freed), THRUM_TASK_NONE);
	assert_int_equal(holder_of(&events, waits), THRUM_TASK_NONE);
	assert_int_equal(find_remembered(&events, THRUM_EVENT_WAIT, waits)->other, held);
	events_free(&events);
}

/* Takes a lock in the name of a task that ends at once. */
static thrum_task take_and_end(const char *label, enum thrum_kind kind, thrum_task lock)
{
	thrum_task task = take_in(label, kind, lock);

	thrum_task_resolve(task);
	return task;
}

static void assert_ended_holder(const struct events *events, thrum_task task, const char *label)
{
	assert_false(find_remembered(events, THRUM_EVENT_CREATE, task)->flags & THRUM_EVENT_LIVE);
	assert_string_equal(find_remembered(events, THRUM_EVENT_LABEL, task)->text, label);
}

static void holders_that_ended_are_remembered(void **state)
{
	thrum_task lock = thrum_task_create(THRUM_KIND_LOCK, "a lease");
	thrum_task second = thrum_task_create(THRUM_KIND_LOCK, "twenty-three letters...");
	thrum_task third = thrum_task_create(THRUM_KIND_SEMAPHORE, NULL);
	thrum_task crowded = thrum_task_create(THRUM_KIND_LOCK,
		"its label takes all the room that there is");
	thrum_task cut = thrum_task_create(THRUM_KIND_LOCK, "cut");
	thrum_task fits = thrum_task_create(THRUM_KIND_LOCK, "fits");
	thrum_task passes = thrum_task_create(THRUM_KIND_LOCK, "of a promise");
	thrum_task both = take_in("both", THRUM_KIND_FIBER, lock);

	(void)state;
	THRUM_RUN (both)
		thrum_lock_acquired(second);
	thrum_task_resolve(both);
	thrum_task nameless = take_and_end("with a permit", THRUM_KIND_REQUEST, third);
	take_and_end("lost", THRUM_KIND_FIBER, crowded);
	thrum_task longer = take_and_end("twenty-two letters and \xc3\xa4 more", THRUM_KIND_TASK,
		cut);
	thrum_task whole = take_and_end("twenty-four letters here", THRUM_KIND_TASK, fits);
	/* Another one may go on for a promise that has ended. */
	take_and_end("a promise", THRUM_KIND_PROMISE, passes);
	wrap();
	struct events events = finish();

	assert_int_equal(holder_of(&events, lock), both);
	assert_int_equal(holder_of(&events, second), both);
	assert_ended_holder(&events, both, "both");
	assert_int_equal(holder_of(&events, third), nameless);
	assert_ended_holder(&events, nameless, "with a permit");
	assert_int_equal(holder_of(&events, crowded), THRUM_TASK_NONE);
	assert_int_equal(holder_of(&events, cut), longer);
	assert_ended_holder(&events, longer, "twenty-two letters and \xe2\x80\xa6");
	assert_int_equal(holder_of(&events, fits), whole);
	assert_ended_holder(&events, whole, "twenty-four letters here");
	assert_int_equal(holder_of(&events, passes), THRUM_TASK_NONE);
	events_free(&events);
}

static void when_a_timer_is_due_is_remembered(void **state)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "timer");
	thrum_task past = thrum_task_create(THRUM_KIND_TIMER, "due before");
	thrum_task waits = thrum_task_create_waiting(THRUM_KIND_REQUEST, "waits", timer);
	thrum_task stopped = thrum_task_create(THRUM_KIND_TIMER, "stopped");

	(void)state;
	thrum_task_due(stopped, 1000);
	thrum_task_due(stopped, INT64_MAX);
	thrum_task_due(timer, 1000);
	thrum_task_due(timer, INT64_C(5000000000));
	thrum_task_due(past, -7);
	thrum_task_due(waits, 1000);
	wrap();
	struct events events = finish();

	assert_int_equal(find_remembered(&events, THRUM_EVENT_DUE, timer)->value,
		INT64_C(5000000000));
	assert_int_equal(find_remembered(&events, THRUM_EVENT_DUE, past)->value, 0);
	assert_null(find(&events, THRUM_EVENT_DUE, waits));
	assert_null(find(&events, THRUM_EVENT_DUE, stopped));
	assert_int_equal(find_remembered(&events, THRUM_EVENT_WAIT, waits)->other, timer);
	events_free(&events);
}

/* Nothing is told twice, neither of the slow way of the calls nor of the fast one. */
static void notes_are_told_once(void **state)
{
	thrum_task lock = thrum_task_create(THRUM_KIND_LOCK, "lock");
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "timer");
	unsigned counts[2] = {0};

	(void)state;
	take_and_end("holder", THRUM_KIND_FIBER, lock);
	thrum_task_due(timer, 1000);
	struct events events = finish();

	for (size_t i = 0; i < events.count; i++) {
		counts[0] += events.list[i].type == THRUM_EVENT_LOCK;
		counts[1] += events.list[i].type == THRUM_EVENT_DUE;
		assert_false(events.list[i].flags & THRUM_EVENT_REMEMBERED);
	}
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	events_free(&events);
}

static void texts_of_any_length(void **state)
{
	static const char *const labels[] = {"", "x", "fifteen letters", "sixteen letters!",
		"forty-six letters, which is nearly as it goes..",
		"fifty and more, which is more than there is any room for",
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3"
		"\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"};
	enum {
		COUNT = sizeof labels / sizeof *labels
	};
	thrum_task tasks[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++)
		tasks[i] = thrum_task_create(THRUM_KIND_TASK, labels[i]);
	wrap();
	struct events events = finish();

	assert_null(find(&events, THRUM_EVENT_LABEL, tasks[0]));
	for (int i = 1; i < COUNT; i++) {
		const struct thrum_event *e = find_remembered(&events, THRUM_EVENT_LABEL, tasks[i]);
		bool cut = strlen(labels[i]) >= sizeof((struct thrum__live_task *)0)->label;
		size_t same = cut ? e->text_size - strlen("\xe2\x80\xa6") : e->text_size;

		if (!cut)
			assert_int_equal(same, strlen(labels[i]));
		assert_in_range(same, cut ? 40 : 1, strlen(labels[i]));
		assert_memory_equal(e->text, labels[i], same);
		/* The label is cut between two characters. */
		assert_true(((unsigned char)labels[i][same] & 0xc0) != 0x80);
	}
	events_free(&events);
}

/* Tasks without a cell are counted, and those with one are right. */
static void more_tasks_than_room(void **state)
{
	enum {
		COUNT = 3000
	};
	static thrum_task tasks[COUNT];
	uint64_t room = ((const struct thrum__header *)memory)->live_tasks.size /
		sizeof(struct thrum__live_task);
	uint64_t remembered = 0;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		tasks[i] = thrum_task_create(THRUM_KIND_TASK, "one of many");
	wrap();
	struct events events = finish();

	for (int i = 0; i < COUNT; i++)
		remembered += find(&events, THRUM_EVENT_CREATE, tasks[i]) != NULL;
	assert_in_range(remembered, 16, room);
	/* Tasks without cells are counted when their block of ids is taken. */
	assert_in_range(remembered + events.info.lost[THRUM__LOST_LIVE_TASKS], COUNT, COUNT + 64);
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
}

/* When tasks end, there is room for others; an old task keeps its cell. */
static void room_is_used_again(void **state)
{
	thrum_task old = thrum_task_create(THRUM_KIND_TASK, "old");

	(void)state;
	for (int i = 0; i < 20000; i++)
		thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, "short-lived"));
	thrum_task recent = thrum_task_create(THRUM_KIND_TASK, "recent");

	wrap();
	struct events events = finish();

	assert_non_null(find_remembered(&events, THRUM_EVENT_CREATE, old));
	assert_non_null(find_remembered(&events, THRUM_EVENT_CREATE, recent));
	assert_string_equal(find(&events, THRUM_EVENT_LABEL, old)->text, "old");
	assert_string_equal(find(&events, THRUM_EVENT_LABEL, recent)->text, "recent");
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
}

/* No two threads give the same id, and other threads may resolve a task. */
#define THREADS 4
#define EACH 5000
static thrum_task made[THREADS][EACH];

static void *make(void *number)
{
	for (int i = 0; i < EACH; i++) {
		made[(uintptr_t)number][i] = thrum_task_create(THRUM_KIND_TASK, "made");
		if (i > 0)
			thrum_task_resolve(made[(uintptr_t)number][i - 1]);
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const thrum_task *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void ids_are_unique(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	thrum_task *all = &made[0][0];

	qsort(all, (size_t)THREADS * EACH, sizeof *all, by_id);
	assert_true(all[0] != THRUM_TASK_NONE);
	for (size_t i = 1; i < (size_t)THREADS * EACH; i++)
		assert_true(all[i] != all[i - 1]);
}

static void without_a_table(void **state)
{
	void *bare = shared_memory(SIZE);

	(void)state;
	thrum_stop();
	assert_int_equal(thrum_start(&(struct thrum_config){.memory = bare,
				 .size = SIZE,
				 .no_live_tasks = true}),
		0);
	memory = bare;
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "forgotten");

	thrum_task_wait(task, task);
	wrap();
	struct events events = finish();

	assert_null(find(&events, THRUM_EVENT_CREATE, task));
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_waits_is_remembered, start, stop),
		cmocka_unit_test_setup_teardown(who_is_done_is_forgotten, start, stop),
		cmocka_unit_test_setup_teardown(who_holds_a_lock_is_remembered, start, stop),
		cmocka_unit_test_setup_teardown(holders_that_ended_are_remembered, start, stop),
		cmocka_unit_test_setup_teardown(when_a_timer_is_due_is_remembered, start, stop),
		cmocka_unit_test_setup_teardown(notes_are_told_once, start, stop),
		cmocka_unit_test_setup_teardown(texts_of_any_length, start, stop),
		cmocka_unit_test_setup_teardown(more_tasks_than_room, start, stop),
		cmocka_unit_test_setup_teardown(room_is_used_again, start, stop),
		cmocka_unit_test_setup_teardown(ids_are_unique, start, stop),
		cmocka_unit_test_setup_teardown(without_a_table, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
