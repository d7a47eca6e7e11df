/* SPDX-License-Identifier: ISC */
/* Copies stretches of a recording's time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thrum/trace.h>
#include <cmocka.h>

#include "recording.h"
#include "source/input.h"

#define START 1000000u /* ticks */
#define ROOM 4096

static void add(struct packet_writer *writer, uint64_t ticks, struct thrum__record record)
{
	assert_true(packet_writer_add(writer, &record, START + ticks));
}

/* Puts a task into the table, with what it waits for since `waited`, or a note. */
static void remember(const struct recording *recording, uint64_t id, uint64_t waiting,
	uint64_t waited)
{
	const struct thrum__header *h = recording->header;
	struct thrum__live_task *cells = (void *)(recording->bytes + h->live_tasks.offset);
	struct thrum__live_task *task = &cells[id & (h->live_tasks.size / sizeof *cells - 1)];

	task->created = START + 1;
	task->kind = THRUM_KIND_PROMISE;
	atomic_store(&task->waiting, waiting);
	atomic_store(&task->waited, START + waited);
	atomic_store(&task->tag, (uint32_t)id);
}

/* Lists the events of the stretch from … until, a line each: the event, its tasks, its text. */
static void assert_copy(struct recording *recording, bool by_ticks, uint64_t from, uint64_t until,
	const char *expected)
{
	char name[] = "/tmp/thrum-cut-XXXXXX", text[ROOM];
	struct thrum__input input = recording_input(recording);
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count, size = 0;
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(by_ticks
			? thrum__source_copy_between(&input, fd, START + from, START + until)
			: thrum__source_copy_times(&input, fd, (int64_t)from, (int64_t)until, NULL),
		0);
	assert_int_equal(thrum_trace_open(name, &trace, NULL), 0);
	text[0] = '\0';
	while (thrum_trace_next(trace, &events, &count, NULL) > 0)
		for (const struct thrum_event *e = events; e < events + count; e++)
			size += (size_t)snprintf(text + size, sizeof text - size,
				"%s %llu %llu %s\n", thrum_event_name(e->type),
				(unsigned long long)e->task, (unsigned long long)e->other, e->text);
	assert_string_equal(text, expected);
	thrum_trace_close(trace);
	close(fd);
	unlink(name);
}

static void assert_stretch(struct recording *recording, uint64_t from, uint64_t until,
	const char *expected)
{
	assert_copy(recording, true, from, until, expected);
}

/* The table leaves out what came after the end, and nothing else. */
static void keeps_waits_and_notes(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	remember(&recording, 70, 71, 30);
	remember(&recording, 71, 70, 70);
	remember(&recording, 72, THRUM__LIVE_HELD | 70, THRUM__LIVE_NOTED + 30);
	remember(&recording, 73, THRUM__LIVE_HELD | 70, THRUM__LIVE_NOTED + 70);
	remember(&recording, 74, THRUM__LIVE_DUE | 500, THRUM__LIVE_NOTED + 35);
	struct packet_writer t = packet_writer_begin(&recording, 0, 0, 17, START + 40);

	packet_writer_log(&t, START + 40, "within");
	assert_stretch(&recording, 20, 60,
		"create 0 70 \ncreate 0 71 \ncreate 0 72 \ncreate 0 73 \ncreate 0 74 \n"
		"wait 70 71 \nlock 70 72 \ndue 74 0 \nlog 1 0 within\n");
	recording_finish(&recording);
}

/* A record that is left out may tell what the first one that stays needs. */
static void keeps_what_was_told_before(void **state)
{
	struct recording recording;
	struct packet_writer t;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	t = packet_writer_begin(&recording, 0, 0, 0, START + 10);
	add(&t, 10, (struct thrum__record){.type = THRUM__R_SWITCH, .task = 5});
	packet_writer_log(&t, START + 15, "before");
	add(&t, 20, (struct thrum__record){.type = THRUM__R_NAME, .text = "a tag"});
	add(&t, 21, (struct thrum__record){.type = THRUM__R_TAG});
	packet_writer_log(&t, START + 60, "at the end");
	packet_writer_log(&t, START + 61, "after");
	assert_stretch(&recording, 21, 60, "tag 5 0 a tag\nlog 5 0 at the end\n");
	recording_finish(&recording);
}

/* Tasks that began before and still live keep their kind, their label and what they wait for. */
static void carries_tasks_over(void **state)
{
	struct recording recording;
	struct packet_writer t;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	remember(&recording, 24, 0, 0); /* it lives to the end of the recording */
	t = packet_writer_begin(&recording, 0, 0, 0, START + 10);
	add(&t, 10, (struct thrum__record){.type = THRUM__R_SWITCH, .task = 5});
	for (uint64_t task = 20; task < 24; task++)
		add(&t, task - 9,
			(struct thrum__record){.type = THRUM__R_CREATE,
				.other = task,
				.kind = task == 23 ? THRUM_KIND_LOCK : THRUM_KIND_REQUEST,
				.text = "GET /1"});
	add(&t, 20,
		(struct thrum__record){.type = THRUM__R_LABEL,
			.task = 20,
			.text = "a label of more than the bytes that a cell of the table has"});
	add(&t, 21, (struct thrum__record){.type = THRUM__R_SHOULD_RESOLVE, .task = 20});
	add(&t, 22, (struct thrum__record){.type = THRUM__R_WAIT, .task = 20, .other = 22});
	add(&t, 23, (struct thrum__record){.type = THRUM__R_RESOLVE, .other = 21});
	add(&t, 24, (struct thrum__record){.type = THRUM__R_BECOME, .task = 22, .other = 20});
	add(&t, 25, (struct thrum__record){.type = THRUM__R_SWITCH, .task = 20});
	add(&t, 26, (struct thrum__record){.type = THRUM__R_LOCK, .other = 23});
	packet_writer_log(&t, START + 40, "within");
	add(&t, 50, (struct thrum__record){.type = THRUM__R_RESOLVE, .other = 20});
	packet_writer_log(&t, START + 70, "after");
	/* In ns, 10 a tick, since the creation of 24, the first event. */
	assert_copy(&recording, false, 290, 590,
		"create 0 24 \ncreate 5 20 \n"
		"label 20 0 a label of more than the bytes that a cell of t…\n"
		"should-resolve 20 0 \ncreate 5 23 \nlabel 23 0 GET /1\nwait 20 22 \n"
		"lock 20 23 \nlog 20 0 within\nresolve 20 20 \n");
	recording_finish(&recording);
}

/* A task may have ended in a gap of a lane, or before its first packet; one that is created later can't
 * have. */
static void carries_no_task_whose_end_may_be_lost(void **state)
{
	(void)state;
	for (int has_beginning = 0; has_beginning < 2; has_beginning++) {
		struct recording recording;
		struct packet_writer t;

		recording_init(&recording, THRUM__SIZE_MIN);
		t = packet_writer_begin(&recording, 0, 0, 0, START);
		for (uint64_t task = 20; task < 22; task++)
			add(&t, task == 20 ? 0 : 30,
				(struct thrum__record){.type = THRUM__R_CREATE,
					.other = task,
					.kind = THRUM_KIND_REQUEST,
					.text = "GET /1"});
		if (has_beginning) {
			t = packet_writer_begin(&recording, 1, 1, 0, START + 10);
			packet_writer_log(&t, START + 10, "before");
		}
		t = packet_writer_begin(&recording, 2, 1, 2, START + 20);
		packet_writer_log(&t, START + 20, "behind");
		packet_writer_log(&t, START + 40, "within");
		assert_copy(&recording, false, 350, 590,
			"create 1 21 \nlabel 21 0 GET /1\nlog 2 0 within\n");
		recording_finish(&recording);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_waits_and_notes),
		cmocka_unit_test(keeps_what_was_told_before),
		cmocka_unit_test(carries_tasks_over),
		cmocka_unit_test(carries_no_task_whose_end_may_be_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
