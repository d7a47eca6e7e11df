/* SPDX-License-Identifier: ISC */
/*
 * Converts recordings that are made by hand: intact ones, damaged ones, and ones with each type of
 * record. Here babeltrace2 only has to accept the directories; babeltrace*.sh test that it reads
 * the same events.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thrum/trace.h>
#include <cmocka.h>

#include "format/scan.h"
#include "recording.h"

#define SIZE THRUM__SIZE_MIN
#define BEGIN UINT64_C(2000000)

struct fixture {
	char folder[64], file[96], directory[96];
	struct recording recording;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	strcpy(f->folder, "/tmp/thrum-convert-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof f->file, "%s/recording", f->folder);
	snprintf(f->directory, sizeof f->directory, "%s/ctf", f->folder);
	recording_init(&f->recording, SIZE);
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

static int convert(struct fixture *f, uint64_t *left_out, struct thrum_error_info *info)
{
	assert_true(recording_save(&f->recording, f->file));
	return thrum_trace_convert(f->file, f->directory, left_out, info);
}

/*
 * Fails the test if babeltrace2 is installed and complains, except in a message with the given
 * word.
 */
static void assert_readable(const struct fixture *f, const char *complaint)
{
	char command[256], line[400];
	if (system("command -v babeltrace2 >/dev/null 2>&1") != 0)
		return;
	snprintf(command, sizeof command, "babeltrace2 --output=/dev/null '%s' 2>&1; echo $?",
		f->directory);
	FILE *output = popen(command, "r");
	assert_non_null(output);
	while (fgets(line, sizeof line, output)) {
		if (strcmp(line, "0\n") != 0 && !(complaint && strstr(line, complaint)))
			fail_msg("babeltrace2: %s", line);
	}
	pclose(output);
}

/* ---- Looking at a lane's file ---------------------------------------------------------------- */

struct lane_file {
	uint8_t bytes[SIZE];
	size_t size, at;
	struct thrum__packet packet; /* the one found last */
};

static struct lane_file lane_file;

/* false: there is no such file. */
static bool open_lane(const struct fixture *f, unsigned lane)
{
	char name[128];
	snprintf(name, sizeof name, "%s/lane-%u", f->directory, lane);
	FILE *file = fopen(name, "rb");
	memset(&lane_file, 0, sizeof lane_file);
	if (!file)
		return false;
	lane_file.size = fread(lane_file.bytes, 1, sizeof lane_file.bytes, file);
	fclose(file);
	return true;
}

/*
 * Finds the next packet, checks that it is whole, and returns how many events it has; -1: at the
 * end.
 */
static int next_packet(void)
{
	if (lane_file.at == lane_file.size)
		return -1;
	assert_true(lane_file.size - lane_file.at >= sizeof lane_file.packet);
	const uint8_t *packet = lane_file.bytes + lane_file.at;
	memcpy(&lane_file.packet, packet, sizeof lane_file.packet);
	size_t size = lane_file.packet.packet_size / 8;
	size_t content = atomic_load(&lane_file.packet.content_size) / 8;
	assert_int_equal(size, (content + 7) / 8 * 8);
	assert_true(size <= lane_file.size - lane_file.at);
	struct thrum__format_scan scan;
	thrum__format_scan_init(&scan, packet, content);
	int events = 0, result;
	while ((result = thrum__format_scan_next(&scan)) == 1)
		events++;
	assert_int_equal(result, 0);
	lane_file.at += size;
	return events;
}

static void add_waits(struct packet_writer *writer, uint64_t from, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct thrum__record wait = {.type = THRUM__R_WAIT, .task = i, .other = i + 1};
		assert_true(packet_writer_add(writer, &wait, from + i));
	}
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void puts_lanes_into_files_and_packets_in_order(void **state)
{
	struct fixture *f = *state;
	uint64_t left_out = 77;
	for (unsigned i = 0; i < 3; i++) {
		struct packet_writer writer = packet_writer_begin(&f->recording, 5 - i, 7, i,
			BEGIN + 1000 * (uint64_t)i);
		writer.packet->discarded = i;
		add_waits(&writer, BEGIN + 1000 * (uint64_t)i, 5 + i);
	}
	struct packet_writer writer = packet_writer_begin(&f->recording, 0, 2, 9, BEGIN);
	add_waits(&writer, BEGIN, 3);
	assert_int_equal(convert(f, &left_out, NULL), 0);
	assert_int_equal(left_out, 0);
	assert_true(open_lane(f, 7));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(next_packet(), 5 + i);
		assert_int_equal(lane_file.packet.seq, i);
		assert_int_equal(lane_file.packet.discarded, i);
	}
	assert_int_equal(next_packet(), -1);
	assert_true(open_lane(f, 2));
	assert_int_equal(next_packet(), 3);
	assert_int_equal(next_packet(), -1);
	assert_false(open_lane(f, 0));
	assert_readable(f, "iscarded"); /* lane 7 says so */
}

static void converts_nothing_to_nothing(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(convert(f, NULL, NULL), 0);
	assert_false(open_lane(f, 0));
}

static void keeps_packets_without_events(void **state)
{
	struct fixture *f = *state;
	packet_writer_begin(&f->recording, 0, 0, 0, BEGIN);
	packet_writer_begin(&f->recording, 1, 0, 1, BEGIN);
	struct packet_writer writer = packet_writer_begin(&f->recording, 2, 0, 2, BEGIN);
	add_waits(&writer, BEGIN, 1);
	packet_writer_begin(&f->recording, 3, 0, 3, BEGIN + 5);
	assert_int_equal(convert(f, NULL, NULL), 0);
	assert_true(open_lane(f, 0));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(next_packet(), i == 2);
	assert_readable(f, NULL);
}

/* A record of each type, narrow and wide, with the extended header where its time needs it. */
static void converts_each_record(void **state)
{
	struct fixture *f = *state;
	static const enum thrum__record_type types[] = {
#define RECORD(id, NAME, name, runs, fields) THRUM__R_##NAME,
#include "format/records.def"
#undef RECORD
	};
	struct thrum__record record = {.task = 3,
		.other = 4,
		.source = 5,
		.value = -6,
		.monotonic = 7,
		.realtime = 8,
		.text = "te\"xt\n\xff",
		.key = (const uint8_t *)"\x00key",
		.tid = 9,
		.def = 2,
		.site = 1,
		.kind = THRUM_KIND_STREAM,
		.cause = THRUM__LOST_OVERWRITTEN,
		.key_size = 4};
	recording_define(&f->recording, 1, THRUM__DEFINES_SITE, 12, "main\0src/\"x\".c", 15);
	recording_define(&f->recording, 2, THRUM__DEFINES_TAG, 0, "t\xc3\xa4g\\\n", 7);
	recording_define(&f->recording, 3, THRUM__DEFINES_TAG, 0, "t\xc3\xa4g\\\n", 7);
	struct packet_writer writer = packet_writer_begin(&f->recording, 0, 0, 0, BEGIN);
	uint64_t time = BEGIN;
	int added = 0;
	for (unsigned pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < sizeof types / sizeof *types; i++, added++) {
			record.type = types[i];
			assert_true(packet_writer_add(&writer, &record, time));
			time += pass == 1 ? UINT64_C(1) << 27 : 5;
		}
		/* Ids behind the packet's 32 bits, then before them. */
		record.task = record.other = record.source = UINT64_C(1) << 40;
		record.value = INT64_MIN;
	}
	/* An hour of ticks has passed. */
	f->recording.header->latest[0].ticks = time;
	atomic_store(&f->recording.header->latest[0].ticket, 5);
	uint64_t left_out;
	assert_int_equal(convert(f, &left_out, NULL), 0);
	assert_int_equal(left_out, 0);
	assert_true(open_lane(f, 0));
	assert_int_equal(next_packet(), added);
	assert_readable(f, NULL);
}

static void leaves_out_what_is_damaged(void **state)
{
	struct fixture *f = *state;
	struct packet_writer tracks[6];
	for (unsigned i = 0; i < 6; i++) {
		tracks[i] = packet_writer_begin(&f->recording, i, 0, i, BEGIN + 1000 * (uint64_t)i);
		add_waits(&tracks[i], BEGIN + 1000 * (uint64_t)i, 4);
	}
	uint8_t *second = (uint8_t *)tracks[1].packet + sizeof(struct thrum__packet) + 12;
	second[0] = 30; /* no such record */
	tracks[2].packet->magic = 0;
	/* Cut in the middle of an event. */
	atomic_fetch_sub(&tracks[3].packet->content_size, 8);
	/* Begins before the one before it ends. */
	tracks[4].packet->begin = BEGIN;
	uint64_t left_out;
	assert_int_equal(convert(f, &left_out, NULL), 0);
	assert_int_equal(left_out, 4);
	assert_true(open_lane(f, 0));
	static const int events[] = {4, 1, 3, 4};
	static const uint64_t seqs[] = {0, 1, 3, 5};
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(next_packet(), events[i]);
		assert_int_equal(lane_file.packet.seq, seqs[i]);
	}
	assert_int_equal(next_packet(), -1);
	assert_readable(f, "packet");
}

/* If one event far in the future were kept, all events after it would be too early. */
static void believes_no_absurd_times(void **state)
{
	struct fixture *f = *state;
	static const struct thrum__record wait = {.type = THRUM__R_WAIT, .task = 1, .other = 2};
	struct packet_writer writer = packet_writer_begin(&f->recording, 0, 0, 0, BEGIN);
	add_waits(&writer, BEGIN, 2);
	assert_true(packet_writer_add(&writer, &wait, UINT64_C(1) << 62));
	writer = packet_writer_begin(&f->recording, 1, 0, 1, BEGIN + 100);
	add_waits(&writer, BEGIN + 100, 3);
	packet_writer_begin(&f->recording, 2, 0, 2, UINT64_C(1) << 62);
	writer = packet_writer_begin(&f->recording, 3, 0, 3, BEGIN + 200);
	add_waits(&writer, BEGIN + 200, 4);
	/* The last packet of a lane. */
	writer = packet_writer_begin(&f->recording, 4, 0, 4, BEGIN + 300);
	add_waits(&writer, BEGIN + 300, 5);
	assert_true(packet_writer_add(&writer, &wait, UINT64_C(1) << 62));
	uint64_t left_out;
	assert_int_equal(convert(f, &left_out, NULL), 0);
	assert_int_equal(left_out, 3);
	assert_true(open_lane(f, 0));
	static const int events[] = {2, 3, 4, 5};
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(next_packet(), events[i]);
	assert_int_equal(next_packet(), -1);
	assert_readable(f, "packet");
}

static void ends_a_packet_where_the_next_begins(void **state)
{
	struct fixture *f = *state;
	struct packet_writer writer = packet_writer_begin(&f->recording, 0, 0, 0, BEGIN);
	add_waits(&writer, BEGIN, 5);
	writer = packet_writer_begin(&f->recording, 1, 0, 1, BEGIN + 3);
	add_waits(&writer, BEGIN + 3, 5);
	/* Its number is that of another one. */
	writer = packet_writer_begin(&f->recording, 2, 0, 1, BEGIN + 100);
	add_waits(&writer, BEGIN + 100, 6);
	uint64_t left_out;
	assert_int_equal(convert(f, &left_out, NULL), 0);
	assert_int_equal(left_out, 2);
	assert_true(open_lane(f, 0));
	/* Its last event has the same time as the next packet's first. */
	assert_int_equal(next_packet(), 4);
	assert_int_equal(next_packet(), 5);
	assert_int_equal(next_packet(), -1);
	assert_readable(f, NULL);
}

static void lets_no_counter_run_back(void **state)
{
	struct fixture *f = *state;
	static const uint64_t given[] = {3, 1, 5};
	static const uint64_t written[] = {3, 3, 5};
	for (unsigned i = 0; i < 3; i++) {
		struct packet_writer writer = packet_writer_begin(&f->recording, i, 0, i,
			BEGIN + 1000 * (uint64_t)i);
		writer.packet->discarded = given[i];
	}
	assert_int_equal(convert(f, NULL, NULL), 0);
	assert_true(open_lane(f, 0));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(next_packet(), 0);
		assert_int_equal(lane_file.packet.discarded, written[i]);
	}
	assert_readable(f, "iscarded");
}

static void reads_to_the_end_of_a_truncated_file(void **state)
{
	struct fixture *f = *state;
	struct packet_writer writer = packet_writer_begin(&f->recording, 0, 0, 0, BEGIN);
	add_waits(&writer, BEGIN, 10);
	assert_true(recording_save(&f->recording, f->file));
	uint64_t left_out;
	off_t end = (off_t)(f->recording.header->packet.offset + sizeof(struct thrum__packet) + 30);
	assert_int_equal(truncate(f->file, end), 0);
	assert_int_equal(thrum_trace_convert(f->file, f->directory, &left_out, NULL), 0);
	assert_int_equal(left_out, 1);
	assert_true(open_lane(f, 0));
	assert_int_equal(next_packet(), 2);
	assert_int_equal(next_packet(), -1);
	assert_readable(f, NULL);
}

/* xorshift64*: the same numbers on each machine. */
static uint64_t random_number(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* Packets of two lanes with events of all sizes. */
static void fill_with_everything(struct recording *recording)
{
	for (unsigned i = 0; i < 8; i++) {
		uint64_t time = BEGIN + 10000 * (uint64_t)i;
		struct packet_writer writer = packet_writer_begin(recording, i, i % 2, i / 2, time);
		struct thrum__record record = {.task = i,
			.text = "text",
			.key = (const uint8_t *)"key"};
		for (record.type = 0; record.type < 20; record.type++) {
			record.other = record.type % 4 == 0 ? UINT64_C(1) << 50 : record.type;
			record.key_size = 3;
			assert_true(packet_writer_add(&writer, &record, time += 100));
		}
	}
}

/* A reader of CTF can read the result, however a recording's packets are damaged. */
static void makes_good_traces_of_damaged_recordings(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 42;
	for (unsigned i = 0; i < 120; i++) {
		fill_with_everything(&f->recording);
		const struct thrum__header *header = f->recording.header;
		uint8_t *packets = f->recording.bytes + header->packet.offset;
		for (unsigned n = 0; n < 1 + i % 16; n++) {
			/* A packet's header, or its first events. */
			uint64_t at = random_number(&seed) % 8 * header->packet_size +
				random_number(&seed) % (i % 2 ? sizeof(struct thrum__packet) : 500);
			packets[at] = (uint8_t)random_number(&seed);
		}
		assert_int_equal(convert(f, NULL, NULL), 0);
		for (unsigned lane = 0; lane < 2; lane++) {
			if (!open_lane(f, lane))
				continue;
			while (next_packet() >= 0)
				;
		}
		assert_readable(f, "iscarded");
		remove_folder(f->directory);
	}
}

static void assert_refused(struct fixture *f, int code, const char *part)
{
	struct thrum_error_info info = {0};
	uint64_t left_out = 77;
	assert_int_equal(thrum_trace_convert(f->file, f->directory, &left_out, &info), code);
	assert_int_equal(info.code, code);
	assert_int_equal(left_out, 77);
	if (!strstr(info.message, part))
		fail_msg("the message \"%s\" lacks \"%s\"", info.message, part);
}

static void refuses_a_folder_that_is_in_use(void **state)
{
	struct fixture *f = *state;
	char name[128];
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(mkdir(f->directory, 0700), 0);
	snprintf(name, sizeof name, "%s/mine", f->directory);
	FILE *mine = fopen(name, "w");
	assert_non_null(mine);
	fclose(mine);
	assert_refused(f, -THRUM_E_EXISTS, "isn't empty");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(thrum_trace_convert(f->file, f->directory, NULL, NULL), 0);
	assert_refused(f, -THRUM_E_EXISTS, "isn't empty");
	strcpy(f->directory, f->file);
	assert_refused(f, -THRUM_E_EXISTS, "can't be opened");
	snprintf(f->directory, sizeof f->directory, "%s/no/such", f->folder);
	assert_refused(f, -THRUM_E_NOT_FOUND, "can't be made");
}

static void refuses_what_is_no_recording(void **state)
{
	struct fixture *f = *state;
	assert_refused(f, -THRUM_E_NOT_FOUND, "can't be opened");
	FILE *file = fopen(f->file, "wb");
	assert_non_null(file);
	fclose(file);
	assert_refused(f, -THRUM_E_FORMAT, "not a recording");
	/* The head of a mirage-profile packet. */
	static const uint8_t mirage[64] = {0xc1, 0x1f, 0xfc, 0xc1, 0x05, 0x88, 0x3b, 0x8d, 0x52,
		0x1a, 0x48, 0x7b, 0xb3, 0x97, 0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c, 0, 2};
	file = fopen(f->file, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(mirage, 1, sizeof mirage, file), sizeof mirage);
	fclose(file);
	assert_refused(f, -THRUM_E_FORMAT, "mirage-profile");
	f->recording.header->version++;
	assert_true(recording_save(&f->recording, f->file));
	assert_refused(f, -THRUM_E_VERSION, "newer");
	/* Nothing is left behind. */
	assert_int_equal(access(f->directory, F_OK), -1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(puts_lanes_into_files_and_packets_in_order),
		TEST(converts_nothing_to_nothing),
		TEST(keeps_packets_without_events),
		TEST(converts_each_record),
		TEST(leaves_out_what_is_damaged),
		TEST(believes_no_absurd_times),
		TEST(ends_a_packet_where_the_next_begins),
		TEST(lets_no_counter_run_back),
		TEST(reads_to_the_end_of_a_truncated_file),
		TEST(makes_good_traces_of_damaged_recordings),
		TEST(refuses_a_folder_that_is_in_use),
		TEST(refuses_what_is_no_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
