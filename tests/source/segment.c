/* SPDX-License-Identifier: ISC */
/* Cuts a recording into segments: each packet is in one of them whole, and losses are counted. */
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
#include "source/segment.h"

#define START 2000000u /* ticks */

struct fixture {
	char folder[64], file[96];
	struct recording recording;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	strcpy(f->folder, "/tmp/thrum-segment-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof f->file, "%s/a.b.thrum", f->folder);
	recording_init(&f->recording, THRUM__SIZE_MIN);
	f->recording.header->state = THRUM__RECORDING;
	f->recording.header->pid = (uint32_t)getpid();
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	remove_folder(f->folder);
	recording_finish(&f->recording);
	free(f);
	return 0;
}

/* Writes the lane's packet number `seq`, with one record. */
static struct packet_writer packet(struct fixture *f, uint32_t index, uint64_t seq,
	const char *text)
{
	struct packet_writer writer = packet_writer_begin(&f->recording, index, 0, seq,
		START + 10 * seq);

	packet_writer_log(&writer, START + 10 * seq, text);
	return writer;
}

static void step(struct fixture *f, struct thrum__source_segments *segments)
{
	int pause = 0;

	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum__source_segments_step(segments, &pause, NULL), 0);
	assert_in_range(pause, 1, 1000);
}

/* Reads a segment, and checks the texts of its events and its losses. */
static void check_file(struct fixture *f, const char *end, const char *expected, uint64_t lost)
{
	const struct thrum_event *events;
	struct thrum_trace *trace;
	char file[128], texts[256] = "";
	size_t count;

	snprintf(file, sizeof file, "%s/%s", f->folder, end);
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			strcat(texts, events[i].text);
			strcat(texts, ";");
		}
	assert_string_equal(texts, expected);
	assert_string_equal(thrum_trace_info(trace)->state, "snapshot");
	assert_int_equal(thrum_trace_info(trace)->lost_total, lost);
	thrum_trace_close(trace);
}

static struct thrum__source_segments *create(struct fixture *f, uint64_t packets, uint64_t keep)
{
	const struct thrum__source_segments_options options = {.size = packets *
			f->recording.header->packet_size,
		.keep = keep};
	struct thrum__source_segments *segments;

	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum__source_segments_create(f->file, &options, &segments, NULL), 0);
	return segments;
}

static void counts_losses(void **state)
{
	struct fixture *f = *state;
	const struct thrum__source_segments_count *count;
	struct packet_writer last;

	packet(f, 0, 0, "zero");
	packet(f, 1, 1, "one");
	struct thrum__source_segments *segments = create(f, 4, 0);

	count = thrum__source_segments_count(segments);
	step(f, segments);
	assert_int_equal(count->files, 0);
	/* Number 3 takes the place of number 1 before that was copied. */
	packet(f, 2, 2, "two");
	packet(f, 1, 3, "three");
	last = packet(f, 3, 4, "four");
	step(f, segments);
	assert_int_equal(count->files, 1);
	assert_int_equal(count->overwritten, 1);
	check_file(f, "a.b.0001.thrum", "zero;1 packet overwritten;two;three;four;", 1);
	/* The packet that wasn't finished is in the next file, too, as it is then. */
	packet_writer_log(&last, START + 45, "more");
	packet(f, 4, 5, "five");
	step(f, segments);
	f->recording.header->state = THRUM__STOPPED;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum__source_segments_end(segments, NULL), 0);
	assert_int_equal(count->files, 2);
	assert_int_equal(count->overwritten, 1);
	check_file(f, "a.b.0002.thrum", "four;more;five;", 0);
	thrum__source_segments_destroy(segments);
}

static void keeps_the_newest(void **state)
{
	struct fixture *f = *state;
	const struct thrum__source_segments_count *count;
	struct thrum__source_segments *segments;
	char file[128];

	for (int run = 0; run < 2; run++) {
		packet(f, 0, 0, "zero");
		packet(f, 1, 1, "one");
		f->recording.header->state = THRUM__RECORDING;
		segments = create(f, 1, 2);
		count = thrum__source_segments_count(segments);
		step(f, segments);
		packet(f, 2, 2, "two");
		step(f, segments);
		f->recording.header->state = THRUM__STOPPED;
		assert_true(recording_save(&f->recording, f->file));
		assert_int_equal(thrum__source_segments_end(segments, NULL), 0);
		/* The second time all packets are there from the beginning. */
		assert_int_equal(count->files, run ? 2 : 3);
		assert_int_equal(count->removed, run ? 2 : 1);
		thrum__source_segments_destroy(segments);
	}
	snprintf(file, sizeof file, "%s/a.b.0003.thrum", f->folder);
	assert_int_not_equal(access(file, F_OK), 0);
	check_file(f, "a.b.0004.thrum", "zero;one;two;", 0);
	check_file(f, "a.b.0005.thrum", "two;", 0);
}

/* A hostile program may change the header while its recording is followed. */
static void refuses_another_count_of_packets(void **state)
{
	struct fixture *f = *state;

	packet(f, 0, 0, "zero");
	struct thrum__source_segments *segments = create(f, 1, 2);
	uint32_t packets = f->recording.header->packets;
	int pause;

	f->recording.header->packets--;
	assert_true(recording_save(&f->recording, f->file));
	for (int i = 0; i < 2; i++)
		assert_int_equal(thrum__source_segments_step(segments, &pause, NULL),
			-THRUM_E_DAMAGED);
	assert_int_equal(thrum__source_segments_end(segments, NULL), -THRUM_E_DAMAGED);
	f->recording.header->packets = packets;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum__source_segments_end(segments, NULL), 0);
	thrum__source_segments_destroy(segments);
}

static void refuses_copies(void **state)
{
	struct fixture *f = *state;
	const struct thrum__source_segments_options options = {.size = 1};
	struct thrum__source_segments *segments;

	f->recording.header->state = THRUM__SNAPSHOT;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum__source_segments_create(f->file, &options, &segments, NULL),
		-THRUM_E_ARGUMENT);
	thrum__source_segments_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_losses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_the_newest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_another_count_of_packets, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(refuses_copies, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
