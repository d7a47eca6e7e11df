/* SPDX-License-Identifier: ISC */
/* The effect of each event on the model: tasks, runs, and the beginnings of tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model_helper.h"

#define CREATE(when, parent, child, what) \
	EVENT(CREATE, when, PAIR(parent, child), .kind = THRUM_KIND_##what)
#define THREAD(when, id) EVENT(CREATE, when, OTHER(id), .kind = THRUM_KIND_THREAD)

static void assert_run(const struct thrum__model *m, uint32_t run, uint64_t id, int64_t start,
	int64_t end)
{
	assert_true(thrum__model_has_row(&m->runs, run));
	assert_int_equal(THRUM__TASK(m, THRUM__RUN(m, run, task), id), id);
	assert_int_equal(THRUM__RUN(m, run, start), start);
	assert_int_equal(THRUM__RUN(m, run, end), end);
}

static uint64_t id_of(const struct thrum__model *m, uint32_t task)
{
	return task == THRUM__NONE ? 0 : THRUM__TASK(m, task, id);
}

#define OF(m, number, member) THRUM__TASK(m, thrum__model_find(m, number), member)

static void assert_name(const struct thrum__model *m, uint64_t id, const char *expected)
{
	size_t size;

	assert_string_equal(thrum__model_task_name(m, thrum__model_find(m, id), &size), expected);
	assert_int_equal(size, strlen(expected));
}

/* ---- thrum's rules ------------------------------------------------------------------------- */

static void only_switches_and_suspensions_change_what_runs(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, TASK),
		CREATE(2, 1, 3, TASK), EVENT(SWITCH, 10, TASK(2)), EVENT(READ, 11, PAIR(3, 2)),
		EVENT(SIGNAL, 12, PAIR(2, 3)), EVENT(SUSPEND, 20, TEXT("poll")),
		EVENT(RESUME, 50, TEXT("poll")), EVENT(BECOME, 55, PAIR(2, 3)),
		EVENT(SWITCH, 60, TASK(1)), EVENT(SWITCH, 61, TASK(1)),
		EVENT(RESOLVE, 70, PAIR(1, 1)));

	assert_int_equal(m->runs.count, 4);
	assert_run(m, 0, 1, 0, 10);
	assert_run(m, 1, 2, 10, 20);
	assert_run(m, 2, 2, 50, 60);
	/* A thread that ends runs no more. */
	assert_run(m, 3, 1, 60, 70);
	assert_int_equal(m->lanes[0].running, THRUM__NONE);
	assert_int_equal(m->lanes[0].task, 0);
	assert_true(OF(m, 1, flags) & THRUM__TASK_LANE);
	/* Its own task's time doesn't count. */
	assert_int_equal(m->lanes[0].ran, 20);
	assert_int_equal(m->suspensions.count, 1);
	assert_int_equal(THRUM__SUSPENSION(m, 0, start), 20);
	assert_int_equal(THRUM__SUSPENSION(m, 0, end), 50);
	assert_string_equal(thrum__model_string(m, THRUM__SUSPENSION(m, 0, text), NULL), "poll");
	assert_int_equal(m->lanes[0].suspended_ns, 30);
	thrum__model_destroy(m);
}

static void a_suspension_may_lack_an_end_or_a_beginning(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), EVENT(RESUME, 30, TEXT("a")),
		EVENT(SUSPEND, 40, TEXT("b")), EVENT(SUSPEND, 50, TEXT("c")));

	assert_int_equal(m->suspensions.count, 3);
	assert_int_equal(THRUM__SUSPENSION(m, 0, start), 0);
	assert_int_equal(THRUM__SUSPENSION(m, 0, end), 30);
	assert_int_equal(THRUM__SUSPENSION(m, 1, end), 50);
	assert_int_equal(THRUM__SUSPENSION(m, 2, end), THRUM__OPEN);
	assert_int_equal(m->lanes[0].suspended, 2);
	assert_int_equal(m->lanes[0].run, THRUM__NONE);
	thrum__model_destroy(m);
}

/* Events were lost, and then not recorded: the next event that names who acts tells who runs. */
static void who_runs_is_known_again(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, TASK),
		EVENT(LOST, 5, TEXT("full")), EVENT(CATEGORY, 10, TEXT("switch"), .value = 2),
		EVENT(CATEGORY, 20, TEXT("switch"), .value = 3), EVENT(RESOLVE, 30, PAIR(1, 2)));

	assert_int_equal(m->lanes[0].running, thrum__model_find(m, 1));
	assert_run(m, OF(m, 1, run), 1, 30, THRUM__OPEN);
	/* The first stretch has an end of its own. */
	const struct thrum_event again[] = {EVENT(CATEGORY, 40, TEXT("switch"), .value = 2),
		EVENT(CATEGORY, 50, TEXT("switch"), .value = 3), EVENT(LOG, 60, TEXT("said"))};

	assert_int_equal(thrum__model_append(m, again, 3), 0);
	assert_int_equal(m->unrecorded_count, 2);
	assert_int_equal(m->unrecorded[0].end, 20);
	assert_int_equal(m->unrecorded[1].end, 50);
	thrum__model_destroy(m);
}

/* Events of other lanes may come late, as clocks differ a little. */
static void late_events_make_no_nonsense(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), EVENT(RESOLVE, 5, PAIR(1, 2)),
		CREATE(9, 1, 2, TASK), EVENT(WAIT, 9, PAIR(1, 4)),
		EVENT(CREATE, 3, PAIR(2, 3), .kind = THRUM_KIND_TASK, .lane = 1),
		EVENT(SWITCH, 10, TASK(4), .lane = 1));

	assert_int_equal(OF(m, 2, start), 9);
	assert_int_equal(OF(m, 2, end), 9);
	assert_int_equal(OF(m, 3, created), 3);
	assert_int_equal(OF(m, 3, start), 9);
	/* It was never created: it is of the lane where it runs. */
	assert_int_equal(OF(m, 4, lane), 1);
	assert_true(thrum__model_is_valid(m));
	thrum__model_destroy(m);
}

/* A task that goes on with its creator's work begins at its creation, whatever it reads later. */
static void an_heir_does_not_wake(void **state)
{
	for (int becomes = 0; becomes < 2; becomes++) {
		struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, PROMISE),
			CREATE(2, 2, 3, BIND), CREATE(3, 1, 4, PROMISE));
		const struct thrum_event events[] = {EVENT(BECOME, 4, PAIR(2, 3), .text = ""),
			EVENT(READ, 10, PAIR(3, 4), .text = "")};

		assert_int_equal(thrum__model_append(m, events + !becomes, 1 + becomes), 0);
		assert_int_equal(OF(m, 3, start), becomes ? 2 : 10);
		assert_int_equal(id_of(m, OF(m, 3, parent)), becomes ? 2 : 4);
		thrum__model_destroy(m);
	}
}

/* Several changes at one time take effect together. */
static void parts_are_off_together(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1),
		EVENT(CATEGORY, 10, TEXT("wait"), .value = 1),
		EVENT(CATEGORY, 10, TEXT("switch"), .value = 1), EVENT(LOG, 20, TEXT("hidden")));

	assert_int_equal(m->unrecorded_count, 2);
	assert_int_equal(thrum__model_unrecorded_until(m, THRUM__PART_WAIT), THRUM__OPEN);
	assert_int_equal(thrum__model_unrecorded_until(m, THRUM__PART_SWITCH), THRUM__OPEN);
	assert_int_equal(thrum__model_unrecorded_until(m, THRUM__PART_LIFE), -1);
	thrum__model_destroy(m);
}

/* A name is that of all tasks that go on with the work. */
static void a_name_is_inherited_again(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, PROMISE),
		EVENT(LABEL, 1, TASK(2), TEXT("work")), CREATE(2, 1, 3, PROMISE),
		CREATE(3, 1, 4, PROMISE), EVENT(BECOME, 4, PAIR(2, 3)),
		EVENT(BECOME, 5, PAIR(3, 4)));

	assert_name(m, 3, "work");
	assert_name(m, 4, "work");
	thrum__model_destroy(m);
}

/* Until 50 nobody knows who ran, nor whether the lane was suspended. */
static void a_suspension_begins_when_it_is_known(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1),
		EVENT(CATEGORY, 10, TEXT("switch"), .value = 2), EVENT(LOG, 20, TEXT("hidden")),
		EVENT(CATEGORY, 50, TEXT("switch"), .value = 3), EVENT(RESUME, 60, TEXT("poll")));

	assert_int_equal(m->suspensions.count, 1);
	assert_int_equal(THRUM__SUSPENSION(m, 0, start), 50);
	assert_int_equal(THRUM__SUSPENSION(m, 0, end), 60);
	thrum__model_destroy(m);
}

/* More waits than can be counted: then it doesn't begin later. */
static void so_many_waits_for_a_task(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, BIND));

	for (uint32_t i = 0; i < UINT16_MAX; i++) {
		struct thrum_event event = EVENT(WAIT, 2, PAIR(1, 2), .text = "");

		assert_false(OF(m, 2, flags) & THRUM__TASK_SETTLED);
		assert_int_equal(thrum__model_append(m, &event, 1), 0);
	}
	assert_true(OF(m, 2, flags) & THRUM__TASK_SETTLED);
	thrum__model_destroy(m);
}

static void states_and_ends(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, TASK),
		CREATE(1, 1, 3, TASK), CREATE(1, 1, 4, TASK), CREATE(1, 1, 5, TASK),
		EVENT(RESOLVE, 5, PAIR(1, 2)), EVENT(FAIL, 6, PAIR(1, 3), TEXT("no route")),
		EVENT(CANCEL, 7, PAIR(1, 4)), EVENT(RESOLVE, 9, PAIR(1, 3)),
		EVENT(FAIL, 9, PAIR(1, 3), TEXT("again")), EVENT(RESOLVE, 9, OTHER(77)),
		EVENT(DUE, 10, TASK(5), .value = INT64_MAX), EVENT(SHOULD_RESOLVE, 10, TASK(5)));

	assert_int_equal(OF(m, 2, state), THRUM__STATE_RESOLVED);
	assert_int_equal(OF(m, 2, end), 5);
	/* The first end counts. */
	assert_int_equal(OF(m, 3, state), THRUM__STATE_FAILED);
	assert_int_equal(OF(m, 3, end), 6);
	assert_string_equal(thrum__model_string(m, OF(m, 3, failure), NULL), "no route");
	assert_int_equal(OF(m, 4, state), THRUM__STATE_CANCELLED);
	assert_string_equal(thrum__model_state_name(OF(m, 4, state)), "cancelled");
	assert_int_equal(OF(m, 5, end), THRUM__OPEN);
	assert_true(thrum__model_is_stuck(m, thrum__model_find(m, 5)));
	assert_false(thrum__model_is_stuck(m, thrum__model_find(m, 4)));
	assert_int_equal(THRUM__NOTE(m, 0, kind), THRUM__NOTE_DUE);
	assert_int_equal(THRUM__NOTE(m, 0, value), THRUM__OPEN);
	/* It was never created, and no task resolved it. */
	assert_true(OF(m, 77, flags) & THRUM__TASK_PREEXISTING);
	assert_int_equal(OF(m, 77, start), 0);
	assert_int_equal(THRUM__EDGE(m, OF(m, 77, edge_in), from), THRUM__NONE);
	thrum__model_destroy(m);
}

static void ready_is_an_edge_and_runs_nothing(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, TASK),
		EVENT(READY, 5, PAIR(1, 2)), EVENT(SWITCH, 8, TASK(2)));
	uint32_t edge = OF(m, 2, edge_in);

	assert_int_equal(THRUM__EDGE(m, edge, kind), THRUM__EDGE_READY);
	assert_int_equal(THRUM__EDGE(m, edge, time), 5);
	assert_int_equal(id_of(m, THRUM__EDGE(m, edge, from)), 1);
	assert_int_equal(OF(m, 2, last), 8);
	assert_int_equal(THRUM__RUN(m, OF(m, 2, run), start), 8);
	assert_string_equal(thrum__model_edge_name(THRUM__EDGE_READY), "makes ready");
	thrum__model_destroy(m);
}

static void the_end_may_come_after_the_last_event(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), CREATE(1, 1, 2, TASK),
		EVENT(SWITCH, 5, TASK(2)));
	struct thrum_trace_info info = {.end = 200000000,
		.ending = THRUM_ENDING_KILLED,
		.ending_code = 9};

	assert_int_equal(m->end, 5);
	thrum__model_note_end(m, &info);
	assert_int_equal(m->last, 5);
	assert_int_equal(m->end, 200000000);
	assert_int_equal(m->ending, THRUM_ENDING_KILLED);
	assert_int_equal(m->ending_code, 9);
	/* It still runs at the end. */
	assert_int_equal(thrum__model_task_end_time(m, thrum__model_find(m, 2)), 200000000);
	info = (struct thrum_trace_info){.end = 2, .ending_code = -1};
	thrum__model_note_end(m, &info);
	assert_int_equal(m->end, 200000000);
	thrum__model_destroy(m);
}

/* The system needs time to end a process. It is no time in which the process did nothing. */
static void dying_takes_time(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), EVENT(SWITCH, 5, TASK(1)));
	struct thrum_trace_info info = {.end = 60000000, .ending = THRUM_ENDING_KILLED};

	thrum__model_note_end(m, &info);
	assert_int_equal(m->end, 5);
	info.ending = THRUM_ENDING_RUNNING;
	thrum__model_note_end(m, &info);
	assert_int_equal(m->end, 60000000);
	thrum__model_destroy(m);
}

static void a_creation_may_come_after_what_needs_it(void **state)
{
	struct thrum__model *m = MODEL(false, THREAD(0, 1), EVENT(WAIT, 5, PAIR(1, 2), .lane = 1),
		CREATE(6, 1, 2, PROMISE), CREATE(9, 1, 2, TASK),
		EVENT(CREATE, 3, PAIR(1, 3), .kind = THRUM_KIND_TIMER, .lane = 1));

	assert_int_equal(OF(m, 2, kind), THRUM_KIND_PROMISE);
	assert_int_equal(OF(m, 2, created), 6);
	assert_int_equal(id_of(m, OF(m, 2, parent)), 1);
	/* It was created twice. */
	assert_true(OF(m, 2, flags) & THRUM__TASK_UNSURE);
	assert_false(OF(m, 2, flags) & THRUM__TASK_PREEXISTING);
	assert_int_equal(m->late, 1);
	assert_int_equal(m->end, 9);
	assert_int_equal(OF(m, 3, created), 3);
	thrum__model_destroy(m);
}

static void what_is_remembered_moves_no_lane(void **state)
{
	struct thrum__model *m = MODEL(false,
		EVENT(CREATE, 2, .other = 1, .kind = THRUM_KIND_THREAD,
			.flags = THRUM_EVENT_HAS_OTHER | THRUM_EVENT_REMEMBERED),
		EVENT(CREATE, 3, .task = 1, .other = 2, .kind = THRUM_KIND_TIMER,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER |
				THRUM_EVENT_REMEMBERED),
		EVENT(RESOLVE, 50, PAIR(7, 2)), EVENT(SWITCH, 60, TASK(1)));

	assert_true(OF(m, 1, flags) & THRUM__TASK_REMEMBERED);
	assert_true(OF(m, 2, flags) & THRUM__TASK_REMEMBERED);
	assert_int_equal(m->lanes[0].first, 50);
	/* The task that resolves another one runs. No event has told before. */
	assert_run(m, 0, 7, 50, 60);
	thrum__model_destroy(m);
}

static void a_task_that_the_table_lacks_has_ended_unseen(void **state)
{
	struct thrum__model *m = MODEL(false,
		EVENT(CREATE, 2, .task = 1, .other = 2, .kind = THRUM_KIND_TASK,
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER | THRUM_EVENT_LIVE),
		CREATE(3, 1, 3, TASK), CREATE(30, 1, 4, TASK), CREATE(3, 1, 5, TASK),
		EVENT(SHOULD_RESOLVE, 4, TASK(2)), EVENT(SHOULD_RESOLVE, 4, TASK(3)),
		EVENT(RESOLVE, 5, PAIR(1, 5)));
	const uint32_t held = thrum__model_find(m, 2), lacked = thrum__model_find(m, 3);

	assert_false(thrum__model_is_gone(m, lacked));
	m->whole = 20; /* another lane's events before this time are overwritten */
	assert_true(m->has_live);
	assert_true(thrum__model_is_gone(m, lacked));
	assert_false(thrum__model_is_stuck(m, lacked));
	assert_false(thrum__model_is_gone(m, held));
	assert_true(thrum__model_is_stuck(m, held));
	assert_false(thrum__model_is_gone(m, thrum__model_find(m, 4)));
	assert_false(thrum__model_is_gone(m, thrum__model_find(m, 5)));
	m->has_live = false;
	assert_false(thrum__model_is_gone(m, lacked));
	thrum__model_destroy(m);
}

/* ---- mirage's rules ------------------------------------------------------------------------ */

static void mirage_runs_who_reads_is_signalled_or_goes_on(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(1, 0, 1, CONDITION),
		CREATE(1, 0, 2, BIND), CREATE(1, 0, 3, TASK), EVENT(READ, 10, PAIR(2, 3)),
		EVENT(SIGNAL, 20, PAIR(2, 1)), EVENT(READ, 30, PAIR(2, 3)), CREATE(31, 2, 4, BIND),
		EVENT(BECOME, 40, PAIR(2, 4)), EVENT(SWITCH, 50, TASK(UINT64_MAX)),
		EVENT(SWITCH, 55, TASK(UINT64_MAX)), EVENT(SWITCH, 90, TASK(2)),
		EVENT(RESOLVE, 95, PAIR(4, 4)), EVENT(SWITCH, 97, TASK(4)),
		EVENT(SWITCH, 99, TASK(0)));

	assert_int_equal(m->runs.count, 7);
	assert_run(m, 0, 0, 0, 10);
	assert_run(m, 1, 2, 10, 20);
	assert_run(m, 2, 1, 20, 30);
	assert_run(m, 3, 2, 30, 40);
	assert_run(m, 4, 4, 40, 50);
	/* A switch to a task that became another one is one to its heir, which runs until it
	 * ends. */
	assert_run(m, 5, 4, 90, 95);
	assert_run(m, 6, 0, 99, THRUM__OPEN);
	assert_int_equal(m->suspensions.count, 1);
	assert_int_equal(THRUM__SUSPENSION(m, 0, start), 50);
	assert_int_equal(THRUM__SUSPENSION(m, 0, end), 90);
	assert_name(m, 0, "main context");
	assert_int_equal(thrum__model_find(m, UINT64_MAX), THRUM__NONE);
	thrum__model_destroy(m);
}

static void mirage_needs_no_first_switch(void **state)
{
	struct thrum__model *m = MODEL(true, CREATE(5, 7, 8, TASK), EVENT(SWITCH, 9, TASK(0)));

	assert_run(m, 0, 7, 5, 9);
	thrum__model_destroy(m);
}

/* ---- Beginnings of tasks ------------------------------------------------------------------- */

static void a_bind_begins_where_it_wakes(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(1, 0, 1, TASK),
		CREATE(2, 0, 2, BIND), EVENT(WAIT, 3, PAIR(2, 1)), CREATE(4, 0, 3, TASK),
		EVENT(WAIT, 4, PAIR(3, 1)), EVENT(RESOLVE, 9, PAIR(0, 1)),
		EVENT(READ, 10, PAIR(2, 1)), EVENT(READ, 11, PAIR(3, 1)));

	assert_int_equal(OF(m, 2, created), 2);
	assert_int_equal(OF(m, 2, start), 10);
	assert_int_equal(id_of(m, OF(m, 2, creator)), 0);
	assert_int_equal(id_of(m, OF(m, 2, parent)), 1);
	/* A task of kind TASK doesn't wake. */
	assert_int_equal(OF(m, 3, start), 4);
	thrum__model_destroy(m);
}

static void a_bind_begins_where_it_was_created_if_it_showed_itself(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(1, 0, 1, TASK),
		CREATE(2, 0, 2, BIND), EVENT(LABEL, 3, TASK(2), TEXT("x")),
		EVENT(READ, 10, PAIR(2, 1)),
		/* 4 waits for 3 and doesn't read it. 6 waits for 5 and then reads it at once. */
		CREATE(12, 0, 3, BIND), CREATE(12, 0, 4, BIND), EVENT(WAIT, 13, PAIR(4, 3)),
		EVENT(READ, 20, PAIR(3, 1)), CREATE(22, 0, 5, MAP), CREATE(22, 0, 6, MAP),
		EVENT(WAIT, 23, PAIR(6, 5)), EVENT(READ, 30, PAIR(5, 1)),
		EVENT(READ, 31, PAIR(6, 5)),
		/* 7 is the task that its creator becomes. */
		CREATE(40, 4, 7, TRY), EVENT(READ, 50, PAIR(7, 1)), EVENT(BECOME, 51, PAIR(4, 7)));

	assert_int_equal(OF(m, 2, start), 2);
	assert_int_equal(id_of(m, OF(m, 2, parent)), 0);
	assert_int_equal(OF(m, 3, start), 12);
	assert_int_equal(OF(m, 5, start), 30);
	assert_int_equal(id_of(m, OF(m, 5, parent)), 1);
	assert_int_equal(OF(m, 6, start), 31);
	assert_int_equal(id_of(m, OF(m, 6, parent)), 5);
	assert_int_equal(OF(m, 7, start), 40);
	assert_int_equal(id_of(m, OF(m, 7, parent)), 4);
	thrum__model_destroy(m);
}

static void only_those_count_who_waited_before_it_woke(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(1, 0, 1, TASK),
		CREATE(2, 0, 2, BIND), EVENT(WAIT, 3, PAIR(8, 2)), EVENT(READ, 10, PAIR(2, 1)),
		EVENT(WAIT, 11, PAIR(9, 2)), EVENT(READ, 12, PAIR(9, 2)));

	assert_int_equal(OF(m, 2, start), 2);
	thrum__model_destroy(m);
}

static void parents_make_no_circle(void **state)
{
	/* 1 and 2 each wake by reading the other, at one time, when no task waits for them any
	 * more. */
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(0, 0, 1, BIND),
		CREATE(0, 0, 2, BIND), EVENT(WAIT, 0, PAIR(0, 1)), EVENT(WAIT, 0, PAIR(9, 2)),
		EVENT(READ, 0, PAIR(1, 2)), EVENT(READ, 0, PAIR(2, 1)), EVENT(READ, 0, PAIR(0, 1)),
		EVENT(READ, 0, PAIR(9, 2)), CREATE(0, 5, 5, BIND), EVENT(READ, 0, PAIR(5, 5)));

	assert_int_equal(id_of(m, OF(m, 1, parent)), 2);
	assert_int_not_equal(id_of(m, OF(m, 2, parent)), 1);
	assert_int_equal(OF(m, 5, parent), THRUM__NONE);
	thrum__model_destroy(m);
}

/* ---- Becoming ------------------------------------------------------------------------------ */

static void heirs_get_what_follows(void **state)
{
	struct thrum__model *m = MODEL(true, EVENT(SWITCH, 0, TASK(0)), CREATE(1, 0, 1, BIND),
		CREATE(1, 0, 2, BIND), CREATE(1, 0, 3, BIND), EVENT(LABEL, 2, TASK(1), TEXT("x")),
		EVENT(SHOULD_RESOLVE, 2, TASK(1)), EVENT(BECOME, 5, PAIR(1, 2)),
		EVENT(BECOME, 6, PAIR(1, 3)), EVENT(BECOME, 7, PAIR(3, 1)),
		EVENT(LABEL, 8, TASK(2), TEXT("y")), EVENT(BECOME, 9, PAIR(3, 3)));

	/* 1 had become 2, so it is 2 that becomes 3. The circle is ignored, and so is a task that
	 * becomes itself. */
	assert_int_equal(id_of(m, OF(m, 1, became)), 2);
	assert_int_equal(id_of(m, OF(m, 2, became)), 3);
	assert_int_equal(OF(m, 3, became), THRUM__NONE);
	assert_int_equal(OF(m, 3, state), THRUM__STATE_PENDING);
	assert_int_equal(id_of(m, thrum__model_heir(m, thrum__model_find(m, 1))), 3);
	assert_name(m, 1, "x");
	assert_name(m, 2, "x");
	assert_name(m, 3, "y");
	for (uint64_t id = 1; id <= 3; id++)
		assert_true(thrum__model_is_stuck(m, thrum__model_find(m, id)));
	thrum__model_destroy(m);
}

static void ids_may_be_anything(void **state)
{
	static const uint64_t ids[] = {1, 63, 64, UINT64_C(1) << 32, UINT64_C(1) << 63,
		UINT64_MAX - 1, UINT64_MAX};
	struct thrum__model *m;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct thrum_event event = CREATE((int64_t)i, 0, ids[i], TASK);

		assert_int_equal(thrum__model_append(m, &event, 1), 0);
	}
	assert_true(thrum__model_is_valid(m));
	for (uint32_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		assert_int_equal(thrum__model_find(m, ids[i]), i);
		assert_true(THRUM__TASK(m, i, id) == ids[i]);
	}
	assert_int_equal(thrum__model_find(m, 62), THRUM__NONE);
	assert_int_equal(thrum__model_find(m, 1000), THRUM__NONE);
	thrum__model_destroy(m);
}

/* 32 bits are enough for neither of the distances. */
static void times_may_lie_far_apart(void **state)
{
	const int64_t late = INT64_C(1) << 40, latest = INT64_MAX - 1, early = UINT32_MAX;
	struct thrum__model *m = MODEL(false, THREAD(late, 1), CREATE(late + 1, 1, 2, TASK),
		EVENT(SWITCH, late + 2, TASK(2)), EVENT(WAIT, early, PAIR(2, 3)),
		EVENT(LOG, early + 1, TASK(2), TEXT("early")), EVENT(SWITCH, latest, TASK(1)),
		CREATE(latest, 1, 4, TASK), EVENT(RESOLVE, latest, PAIR(1, 2)),
		EVENT(READ, 2 * late, PAIR(1, 2)));

	assert_true(thrum__model_is_valid(m));
	assert_int_equal(OF(m, 1, created), late);
	assert_int_equal(OF(m, 1, end), THRUM__OPEN);
	assert_int_equal(OF(m, 1, last), latest);
	assert_int_equal(OF(m, 2, start), late + 1);
	assert_int_equal(OF(m, 2, end), latest);
	assert_int_equal(OF(m, 3, created), early);
	assert_int_equal(OF(m, 3, start), 0);
	assert_int_equal(OF(m, 3, last), early);
	assert_int_equal(OF(m, 4, start), latest);
	assert_run(m, 0, 1, late, late + 2);
	assert_run(m, 1, 2, late + 2, latest);
	assert_run(m, 2, 1, latest, THRUM__OPEN);
	assert_int_equal(THRUM__EDGE(m, 0, time), early);
	assert_int_equal(THRUM__EDGE(m, 1, time), latest);
	assert_int_equal(THRUM__EDGE(m, 2, time), 2 * late);
	assert_int_equal(THRUM__NOTE(m, 0, time), early + 1);
	thrum__model_destroy(m);
}

/* Two blocks of tasks: the model needs memory for reasons of failures only in the block that has one. */
static void what_few_tasks_have_takes_memory_only_there(void **state)
{
	const uint32_t failed = THRUM__BLOCK + 5, count = 2 * THRUM__BLOCK;
	const struct thrum_event failure = EVENT(FAIL, count, OTHER(failed + 1), TEXT("no room"));
	const struct thrum_event others[] = {
		EVENT(RESOLVE, count, OTHER(7)),
		EVENT(LOG, count, TASK(7), TEXT("another")),
	};
	struct thrum__model *m;
	size_t before, after;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	for (uint32_t i = 0; i < count; i++) {
		struct thrum_event event = CREATE(i, 0, i + 1, TASK);

		assert_int_equal(thrum__model_append(m, &event, 1), 0);
	}
	/* It has room for strings and edges from here on. */
	assert_int_equal(thrum__model_append(m, others, 2), 0);
	before = thrum__model_memory(m);
	assert_int_equal(thrum__model_append(m, &failure, 1), 0);
	after = thrum__model_memory(m);
	assert_int_equal(after - before, THRUM__COLUMN * sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t text = THRUM__TASK(m, i, failure);

		assert_string_equal(thrum__model_string(m, text, NULL),
			i == failed ? "no room" : "");
		assert_int_equal(THRUM__TASK(m, i, became), THRUM__NONE);
	}
	assert_true(thrum__model_is_valid(m));
	thrum__model_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_switches_and_suspensions_change_what_runs),
		cmocka_unit_test(a_suspension_may_lack_an_end_or_a_beginning),
		cmocka_unit_test(who_runs_is_known_again),
		cmocka_unit_test(late_events_make_no_nonsense),
		cmocka_unit_test(an_heir_does_not_wake),
		cmocka_unit_test(parts_are_off_together),
		cmocka_unit_test(a_name_is_inherited_again),
		cmocka_unit_test(a_suspension_begins_when_it_is_known),
		cmocka_unit_test(so_many_waits_for_a_task),
		cmocka_unit_test(states_and_ends),
		cmocka_unit_test(ready_is_an_edge_and_runs_nothing),
		cmocka_unit_test(the_end_may_come_after_the_last_event),
		cmocka_unit_test(dying_takes_time),
		cmocka_unit_test(a_creation_may_come_after_what_needs_it),
		cmocka_unit_test(what_is_remembered_moves_no_lane),
		cmocka_unit_test(a_task_that_the_table_lacks_has_ended_unseen),
		cmocka_unit_test(mirage_runs_who_reads_is_signalled_or_goes_on),
		cmocka_unit_test(mirage_needs_no_first_switch),
		cmocka_unit_test(a_bind_begins_where_it_wakes),
		cmocka_unit_test(a_bind_begins_where_it_was_created_if_it_showed_itself),
		cmocka_unit_test(only_those_count_who_waited_before_it_woke),
		cmocka_unit_test(parents_make_no_circle),
		cmocka_unit_test(heirs_get_what_follows),
		cmocka_unit_test(ids_may_be_anything),
		cmocka_unit_test(times_may_lie_far_apart),
		cmocka_unit_test(what_few_tasks_have_takes_memory_only_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
