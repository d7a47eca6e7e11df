/* SPDX-License-Identifier: ISC */
/* Tasks whose packets are overwritten, and that the table of live tasks remembers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "thrum_helper.h"

#define START 1000000u /* ticks; one is 10 ns */

static struct thrum__live_task *cell(const struct recording *recording, uint64_t id)
{
	const struct thrum__header *h = recording->header;
	struct thrum__live_task *cells = (void *)(recording->bytes + h->live_tasks.offset);

	return &cells[id & (h->live_tasks.size / sizeof *cells - 1)];
}

/* Puts a task into the table, created `ticks` after the start. */
static struct thrum__live_task *remember(const struct recording *recording, uint64_t id,
	uint64_t parent, uint64_t ticks, const char *label)
{
	struct thrum__live_task *task = cell(recording, id);

	task->id_high = (uint32_t)(id >> 32);
	task->parent = parent;
	task->created = START + ticks;
	task->kind = THRUM_KIND_PROMISE;
	strcpy(task->label, label);
	atomic_store(&task->flags, label[0] ? THRUM__LIVE_LABELLED : 0);
	atomic_store(&task->tag, (uint32_t)id);
	return task;
}

static void wait_for(struct thrum__live_task *task, uint64_t source, uint64_t ticks)
{
	atomic_store(&task->waiting, source);
	atomic_store(&task->waited, START + ticks);
}

static void add(struct packet_writer *writer, uint64_t ticks, struct thrum__record record)
{
	assert_true(packet_writer_add(writer, &record, START + ticks));
}

static void remembers_what_is_overwritten(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct thrum__live_task *own = remember(&recording, 1, 0, 0, "main");

	own->kind = THRUM_KIND_THREAD;
	atomic_fetch_or(&own->flags, THRUM__LIVE_LANE);
	struct thrum__live_task *task = remember(&recording, 70, 1, 10, "the one that hangs");

	atomic_fetch_or(&task->flags, THRUM__LIVE_SHOULD_RESOLVE);
	task->site = 4;
	wait_for(task, 71, 30);
	task = remember(&recording, 71, 0, 20, "");
	task->lane = 3;
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 17, START + 100);

	add(&t, 100, (struct thrum__record){.type = THRUM__R_LOG, .text = "now"});
	t = packet_writer_begin(&recording, 1, 5, 0, START + 15);
	add(&t, 15, (struct thrum__record){.type = THRUM__R_LOG, .text = "between"});
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_int_equal(thrum_trace_info(trace)->clock_first, START);
	assert_int_equal(thrum_trace_info(trace)->start, INT64_C(1700000000123456789));
	assert_int_equal(thrum_trace_info(trace)->lanes, 3);
	assert_int_equal(thrum_trace_lane(trace, 1)->number, 3);
	assert_int_equal(thrum_trace_lane(trace, 1)->packets, 0);
	thrum_helper_assert_more(trace,
		"0 0 create* - 1 - thread\n"
		"0 0 label* 1 - - main\n"
		"100 0 create* 1 70 - promise at 4\n"
		"100 0 label* 70 - - the one that hangs\n"
		"100 0 should-resolve* 70 - - -\n"
		"150 2 log 6 - - between\n"
		"200 1 create* - 71 - promise\n"
		"300 0 wait* 70 71 - -\n"
		"1000 0 log 1 - - now\n");
	/* Remembered events don't count as records. */
	assert_int_equal(thrum_trace_info(trace)->records, 2);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void tells_nothing_twice(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	wait_for(remember(&recording, 70, 1, 10, "old"), 71, 30);
	wait_for(remember(&recording, 71, 1, 20, "new"), 70, 25);
	wait_for(remember(&recording, 72, 1, 25, "at once"), 70, 25);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 1, START + 15);

	add(&t, 20,
		(struct thrum__record){.type = THRUM__R_CREATE,
			.other = 71,
			.kind = 15,
			.text = "new"});
	add(&t, 25,
		(struct thrum__record){.type = THRUM__R_CREATE_WAITING,
			.other = 72,
			.source = 70,
			.kind = 15,
			.text = "at once"});
	/* Not the last wait: that one was later. */
	add(&t, 26, (struct thrum__record){.type = THRUM__R_WAIT, .task = 70, .other = 71});
	add(&t, 40, (struct thrum__record){.type = THRUM__R_LOG, .text = "end"});
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - promise\n"
		"0 0 label* 70 - - old\n"
		"100 0 create+ 1 71 - promise\n"
		"100 0 label 71 - - new\n"
		"150 0 create+ 1 72 - promise\n"
		"150 0 label 72 - - at once\n"
		"150 0 wait 72 70 - -\n"
		"150 0 wait* 71 70 - -\n"
		"160 0 wait 70 71 - -\n"
		"200 0 wait* 70 71 - -\n"
		"300 0 log 1 - - end\n");
	recording_finish(&recording);
}

/* The table also remembers events that lie in a gap or in a damaged packet. */
static void remembers_what_is_damaged(void **state)
{
	struct recording recording;
	struct thrum__record create = {.type = THRUM__R_CREATE,
		.other = 70,
		.kind = 15,
		.text = "in a bad packet"};

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	remember(&recording, 70, 1, 2, "in a bad packet");
	remember(&recording, 71, 1, 6, "in a gap");
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, START);

	add(&t, 0, (struct thrum__record){.type = THRUM__R_LOG, .text = "a"});
	size_t bad = t.at;

	add(&t, 2, create);
	t = packet_writer_begin(&recording, 1, 0, 2, START + 9);
	add(&t, 9, (struct thrum__record){.type = THRUM__R_LOG, .text = "b"});
	((uint8_t *)recording.bytes)[recording.header->packet.offset + bad] = 30;
	struct thrum_trace *trace = thrum_helper_open(&recording);
	char *list = thrum_helper_list(trace);

	assert_non_null(strstr(list, "20 0 create* 1 70 - promise\n20 0 label* 70"));
	assert_non_null(strstr(list, "60 0 create* 1 71 - promise\n60 0 label* 71"));
	assert_int_equal(thrum_trace_info(trace)->damaged, 1);
	assert_int_equal(thrum_trace_info(trace)->gaps, 1);
	free(list);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void shows_that_labels_are_cut(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct thrum__live_task *task = remember(&recording, 70, 1, 0, "long");

	atomic_fetch_or(&task->flags, THRUM__LIVE_CUT);
	/* A label without a NUL. */
	task = remember(&recording, 71, 1, 1, "x");
	memset(task->label, 'x', sizeof task->label);
	atomic_fetch_or(&task->flags, THRUM__LIVE_CUT);
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - promise\n"
		"0 0 label* 70 - - long…\n"
		"10 0 create* 1 71 - promise\n"
		"10 0 label* 71 - - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\n");
	recording_finish(&recording);
}

/* Notes in a lock's cell that a task holds it, with its kind and the beginning of its label. */
static struct thrum__live_task *hold(const struct recording *recording, uint64_t lock,
	uint64_t holder, unsigned kind, const char *label)
{
	struct thrum__live_task *task = remember(recording, lock, 1, 5, "lock");
	uint64_t words[THRUM__LIVE_HOLDER_WORDS] = {0};

	memcpy(words, label, strlen(label));
	memcpy(task->label + sizeof task->label - sizeof words, words, sizeof words);
	task->kind = THRUM_KIND_LOCK;
	wait_for(task,
		THRUM__LIVE_HELD | holder | (uint64_t)kind << THRUM__LIVE_HOLDER_KIND |
			thrum__format_live_sum(words) << THRUM__LIVE_HOLDER_SUM,
		10);
	atomic_fetch_or(&task->waited, THRUM__LIVE_NOTED);
	return task;
}

static void remembers_who_holds_locks(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	hold(&recording, 70, 9, THRUM_KIND_FIBER, "ended");
	hold(&recording, 71, 9, THRUM_KIND_FIBER, "ended");
	hold(&recording, 72, 71, THRUM__LIVE_NO_KIND, "");
	/* It was created no later than it took the first of its locks. */
	hold(&recording, 74, 9, THRUM_KIND_FIBER, "ended");
	atomic_store(&cell(&recording, 74)->waited, (START + 7) | THRUM__LIVE_NOTED);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, START);

	/* It is told in the packet. */
	hold(&recording, 73, 8, THRUM_KIND_FIBER, "told");
	add(&t, 8,
		(struct thrum__record){.type = THRUM__R_CREATE,
			.task = 1,
			.other = 8,
			.kind = THRUM_KIND_FIBER,
			.text = ""});
	add(&t, 9, (struct thrum__record){.type = THRUM__R_SWITCH, .task = 8});
	add(&t, 10, (struct thrum__record){.type = THRUM__R_LOCK, .other = 73});
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - lock\n"
		"0 0 label* 70 - - lock\n"
		"0 0 create* 1 71 - lock\n"
		"0 0 label* 71 - - lock\n"
		"0 0 create* 1 72 - lock\n"
		"0 0 label* 72 - - lock\n"
		"0 0 create* 1 73 - lock\n"
		"0 0 label* 73 - - lock\n"
		"0 0 create* 1 74 - lock\n"
		"0 0 label* 74 - - lock\n"
		"20 0 create* - 9 - fiber\n"
		"20 0 label* 9 - - ended\n"
		"20 0 lock* 9 74 - -\n"
		"30 0 create 1 8 - fiber\n"
		"40 0 switch 8 - - -\n"
		"50 0 lock 8 73 - -\n"
		"50 0 lock* 9 70 - -\n"
		"50 0 lock* 9 71 - -\n"
		"50 0 lock* 71 72 - -\n");
	recording_finish(&recording);
}

/* A thread that has ended and holds a lock isn't the lane's own task, nor one that lives. */
static void remembers_ended_holders_as_tasks(void **state)
{
	struct recording recording;
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	unsigned creations = 0;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	hold(&recording, 70, 9, THRUM_KIND_THREAD, "ended");
	/* Its label is longer than there is room for, and the room ends within a character. */
	atomic_fetch_or(
		&hold(&recording, 71, 8, THRUM_KIND_FIBER,
			"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
			"\xa4\xc3\xa4\xc3\xa4\xc3\xa4")
			 ->waiting,
		THRUM__LIVE_HOLDER_CUT);
	/* No recorder puts a task into another one's cell. */
	atomic_store(&remember(&recording, 72, 1, 5, "strange")->tag, 75);
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - lock\n"
		"0 0 label* 70 - - lock\n"
		"0 0 create* 1 71 - lock\n"
		"0 0 label* 71 - - lock\n"
		"50 0 create* - 8 - fiber\n"
		"50 0 label* 8 - - \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
		"\xa4\xc3\xa4\xc3\xa4\xe2\x80\xa6\n"
		"50 0 create* - 9 - task\n"
		"50 0 label* 9 - - ended\n"
		"50 0 lock* 9 70 - -\n"
		"50 0 lock* 8 71 - -\n");
	trace = thrum_helper_open(&recording);
	while (thrum_trace_next(trace, &events, &count, NULL) > 0)
		for (size_t i = 0; i < count; i++)
			if (events[i].type == THRUM_EVENT_CREATE) {
				assert_int_equal((events[i].flags & THRUM_EVENT_LIVE) != 0,
					events[i].other >= 70);
				creations++;
			}
	assert_int_equal(creations, 4);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void leaves_out_impossible_notes(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	/* The label is not that of the holder. */
	hold(&recording, 70, 9, THRUM_KIND_FIBER, "ended")->label[30] = 'x';
	/* Nobody can tell whether another task goes on for the holder. */
	hold(&recording, 71, 9, THRUM_KIND_PROMISE, "ended");
	hold(&recording, 72, 9, THRUM__LIVE_NO_KIND, "ended");
	hold(&recording, 73, 0, THRUM_KIND_FIBER, "nobody");
	hold(&recording, 74, 9, THRUM_KIND_FIBER, "");
	/* A lock that takes itself. */
	hold(&recording, 75, 75, THRUM_KIND_FIBER, "self");
	for (uint64_t id = 70; id < 76; id++)
		atomic_store(&cell(&recording, id)->flags, 0);
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - lock\n"
		"0 0 create* 1 71 - lock\n"
		"0 0 create* 1 72 - lock\n"
		"0 0 create* 1 73 - lock\n"
		"0 0 create* 1 74 - lock\n"
		"0 0 create* 1 75 - lock\n"
		"50 0 lock* 75 75 - -\n");
	recording_finish(&recording);
}

static void remembers_when_timers_are_due(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	wait_for(remember(&recording, 70, 1, 5, ""), THRUM__LIVE_DUE | 3000,
		10 | THRUM__LIVE_NOTED);
	wait_for(remember(&recording, 71, 1, 5, ""), THRUM__LIVE_DUE | 3000,
		UINT64_C(1) << 40 | THRUM__LIVE_NOTED);
	thrum_helper_assert_events(&recording,
		"0 0 create* 1 70 - promise\n"
		"0 0 create* 1 71 - promise\n"
		"50 0 due* 70 - 3000 -\n");
	recording_finish(&recording);
}

static void leaves_out_impossible_cells(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	remember(&recording, 70, 1, UINT64_C(1) << 40, "from the future");
	/* In a cell that isn't its own. */
	remember(&recording, 72, 1, 0, "wrong cell");
	atomic_store(&cell(&recording, 72)->tag, 73);
	/* Half a wait: its time isn't written yet. */
	atomic_store(&remember(&recording, 75, 1, 5, "")->waiting, 76);
	thrum_helper_assert_events(&recording, "0 0 create* 1 75 - promise\n");
	recording_finish(&recording);
}

static void knows_wide_ids(void **state)
{
	const uint64_t far = UINT64_C(1) << 40 | 77;
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	remember(&recording, far, 1, 5, "");
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 0, START);

	/* The low half of the id is the same, but it is another task. */
	add(&t, 5, (struct thrum__record){.type = THRUM__R_CREATE, .other = 77, .text = ""});
	thrum_helper_assert_events(&recording,
		"0 0 create 1 77 - wait\n"
		"0 0 create* 1 1099511627853 - promise\n");
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remembers_what_is_overwritten),
		cmocka_unit_test(tells_nothing_twice),
		cmocka_unit_test(remembers_what_is_damaged),
		cmocka_unit_test(shows_that_labels_are_cut),
		cmocka_unit_test(remembers_who_holds_locks),
		cmocka_unit_test(remembers_ended_holders_as_tasks),
		cmocka_unit_test(leaves_out_impossible_notes),
		cmocka_unit_test(remembers_when_timers_are_due),
		cmocka_unit_test(leaves_out_impossible_cells),
		cmocka_unit_test(knows_wide_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
