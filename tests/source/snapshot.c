/* SPDX-License-Identifier: ISC */
/* Writes snapshots to file descriptors of all kinds, and cuts off the unused end of recordings. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
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

#include "port/port.h"
#include "recording.h"

#define SIZE THRUM__SIZE_MIN
#define PACKETS 5u

struct fixture {
	char folder[64], file[96], copy[96];
	struct recording recording;
	uint64_t copy_size;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	strcpy(f->folder, "/tmp/thrum-snapshot-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof f->file, "%s/recording", f->folder);
	snprintf(f->copy, sizeof f->copy, "%s/copy", f->folder);
	recording_init(&f->recording, SIZE);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct thrum__record record = {.type = THRUM__R_LOG, .text = "said"};
		struct packet_writer writer = packet_writer_begin(&f->recording, i, 0, i,
			2000000 + i);
		assert_true(packet_writer_add(&writer, &record, 2000000 + i));
	}
	const struct thrum__header *header = f->recording.header;
	f->copy_size = header->packet.offset + (uint64_t)PACKETS * header->packet_size;
	assert_true(recording_save(&f->recording, f->file));
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

/* Reads a file; returns its size. */
static size_t load(const char *name, uint8_t *to, size_t room)
{
	FILE *file = fopen(name, "rb");
	assert_non_null(file);
	size_t size = fread(to, 1, room, file);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	return size;
}

/*
 * The bytes at `offset` of a file, up to its end, are a whole snapshot of the fixture's recording.
 */
static void assert_copy(const struct fixture *f, const char *name, size_t offset)
{
	static uint8_t bytes[2 * SIZE];
	struct thrum__header header;
	const char *what = NULL;
	uint64_t place;
	uint64_t size = f->copy_size - f->recording.header->witness.size;
	assert_int_equal(load(name, bytes, sizeof bytes), offset + size);
	memcpy(&header, bytes + offset, sizeof header);
	assert_int_equal(thrum__format_check_header(&header, &what, &place), 0);
	assert_int_equal(header.size, size);
	assert_int_equal(header.packets, PACKETS);
	assert_int_equal(atomic_load(&header.state), THRUM__SNAPSHOT);
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct thrum__packet packet;
		memcpy(&packet, bytes + offset + header.packet.offset + i * header.packet_size,
			sizeof packet);
		assert_int_equal(packet.seq, i);
	}
	/* The tables are the same. */
	size_t tables = header.packet.offset - header.definitions.offset;
	assert_memory_equal(bytes + offset + header.definitions.offset,
		f->recording.bytes + header.definitions.offset, tables);
}

static void snapshot(const struct fixture *f, int fd)
{
	uint64_t overwritten = 77;
	struct thrum_error_info info = {0};
	if (thrum_trace_snapshot(f->file, fd, &overwritten, &info) != 0)
		fail_msg("%s", info.message);
	assert_int_equal(overwritten, 0);
}

/* ---- Snapshots -------------------------------------------------------------------------- */

static void writes_to_a_new_file(void **state)
{
	struct fixture *f = *state;
	int fd = open(f->copy, O_WRONLY | O_CREAT, 0600);
	snapshot(f, fd);
	close(fd);
	assert_copy(f, f->copy, 0);
}

static void goes_on_behind_what_is_there(void **state)
{
	struct fixture *f = *state;
	for (int append = 0; append < 2; append++) {
		int fd = open(f->copy, O_WRONLY | O_CREAT | O_TRUNC | (append ? O_APPEND : 0),
			0600);
		assert_int_equal(write(fd, "head", 4), 4);
		snapshot(f, fd);
		close(fd);
		assert_copy(f, f->copy, 4);
	}
	/* Empty, but not written from its beginning. */
	int ahead = open(f->copy, O_WRONLY | O_TRUNC, 0600);
	assert_int_equal(lseek(ahead, 4, SEEK_SET), 4);
	snapshot(f, ahead);
	close(ahead);
	assert_copy(f, f->copy, 4);
	/* A file with other content. */
	int full = open(f->copy, O_WRONLY, 0600);
	for (uint64_t at = 0; at < f->copy_size; at += 64)
		assert_int_equal(pwrite(full, "..........................................", 40,
					 (off_t)at),
			40);
	snapshot(f, full);
	assert_int_equal(ftruncate(full, (off_t)(f->copy_size - f->recording.header->witness.size)),
		0);
	close(full);
	assert_copy(f, f->copy, 0);
	/* Opened for appending, and empty. */
	int fd = open(f->copy, O_WRONLY | O_APPEND | O_TRUNC, 0600);
	snapshot(f, fd);
	close(fd);
	assert_copy(f, f->copy, 0);
}

struct drain {
	int from, to;
};

static void *drain(void *argument)
{
	struct drain *d = argument;
	uint8_t bytes[4096];
	ssize_t got;
	while ((got = read(d->from, bytes, sizeof bytes)) > 0)
		if (write(d->to, bytes, (size_t)got) != got)
			break;
	return NULL;
}

static void writes_to_a_pipe(void **state)
{
	struct fixture *f = *state;
	int ends[2];
	pthread_t thread;
	assert_int_equal(pipe(ends), 0);
	struct drain d = {ends[0], open(f->copy, O_WRONLY | O_CREAT, 0600)};
	assert_int_equal(pthread_create(&thread, NULL, drain, &d), 0);
	snapshot(f, ends[1]);
	close(ends[1]);
	pthread_join(thread, NULL);
	close(ends[0]);
	close(d.to);
	assert_copy(f, f->copy, 0);
}

static void tells_what_went_wrong(void **state)
{
	struct fixture *f = *state;
	struct thrum_error_info info = {0};
	int full = open("/dev/full", O_WRONLY);
	assert_int_equal(thrum_trace_snapshot(f->file, full, NULL, &info), -THRUM_E_SPACE);
	assert_non_null(strstr(info.message, "no space left"));
	assert_int_equal(thrum_trace_snapshot(f->folder, full, NULL, &info), -THRUM_E_FORMAT);
	assert_int_equal(thrum_trace_snapshot("/no/such", full, NULL, &info), -THRUM_E_NOT_FOUND);
	assert_int_equal(thrum_trace_snapshot("/dev/null", full, NULL, &info), -THRUM_E_FORMAT);
	close(full);
}

/* ---- Trimming --------------------------------------------------------------------------- */

static void cuts_a_stopped_recording(void **state)
{
	struct fixture *f = *state;
	static uint8_t bytes[2 * SIZE];
	assert_int_equal(thrum_trace_trim(f->file, NULL), 0);
	assert_int_equal(load(f->file, bytes, sizeof bytes), f->copy_size);
	struct thrum__header header;
	const char *what = NULL;
	uint64_t place;
	memcpy(&header, bytes, sizeof header);
	assert_int_equal(thrum__format_check_header(&header, &what, &place), 0);
	assert_int_equal(header.size, f->copy_size);
	assert_int_equal(header.packets, PACKETS);
	assert_int_equal(header.packet.size, PACKETS * header.packet_size);
	assert_int_equal(atomic_load(&header.packets_used), PACKETS);
	assert_int_equal(atomic_load(&header.state), THRUM__STOPPED);
	assert_memory_equal(bytes + header.definitions.offset,
		f->recording.bytes + header.definitions.offset,
		f->copy_size - header.definitions.offset);
	/* There is nothing more to cut. */
	assert_int_equal(thrum_trace_trim(f->file, NULL), 0);
	assert_int_equal(load(f->file, bytes, sizeof bytes), f->copy_size);
}

static void set_process(struct fixture *f, uint32_t pid, uint64_t start)
{
	f->recording.header->pid = pid;
	f->recording.header->process_start = start;
	atomic_store(&f->recording.header->state, THRUM__RECORDING);
	assert_true(recording_save(&f->recording, f->file));
}

static off_t size_of(const char *name)
{
	struct stat status;
	assert_int_equal(stat(name, &status), 0);
	return status.st_size;
}

static void cuts_nothing_that_is_recorded_to(void **state)
{
	struct fixture *f = *state;
	struct thrum_error_info info = {0};
	uint64_t start = thrum__port_process_start(0);
	assert_true(start != 0);
	set_process(f, (uint32_t)getpid(), start);
	assert_int_equal(thrum_trace_trim(f->file, &info), -THRUM_E_ACCESS);
	assert_non_null(strstr(info.message, "still records"));
	/* A process that couldn't find out when it was started. */
	set_process(f, (uint32_t)getpid(), 0);
	assert_int_equal(thrum_trace_trim(f->file, &info), -THRUM_E_ACCESS);
	assert_int_equal(size_of(f->file), f->recording.header->size);
	/* Another process has its id now: this one. */
	set_process(f, (uint32_t)getpid(), start + 1);
	assert_int_equal(thrum_trace_trim(f->file, &info), 0);
	assert_int_equal(size_of(f->file), f->copy_size);
	/* No process has the id. */
	set_process(f, 0x7ffffff0, start);
	assert_int_equal(thrum_trace_trim(f->file, &info), 0);
	assert_int_equal(size_of(f->file), f->copy_size);
}

static void cuts_recordings_only(void **state)
{
	struct fixture *f = *state;
	f->recording.header->magic[0] ^= 1;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum_trace_trim(f->file, NULL), -THRUM_E_FORMAT);
	assert_int_equal(size_of(f->file), f->recording.header->size);
	assert_int_equal(thrum_trace_trim("/no/such", NULL), -THRUM_E_NOT_FOUND);
	assert_int_equal(thrum_trace_trim(f->folder, NULL), -THRUM_E_FORMAT);
}

/* ---- The end ---------------------------------------------------------------------------- */

static void load_header(const struct fixture *f, struct thrum__header *header)
{
	static uint8_t bytes[2 * SIZE];
	load(f->file, bytes, sizeof bytes);
	memcpy(header, bytes, sizeof *header);
}

static void notes_the_end_of_a_process(void **state)
{
	struct fixture *f = *state;
	struct thrum__header *h = f->recording.header, now;
	h->start.monotonic = thrum__port_monotonic();
	set_process(f, 0x7ffffff0, 1);
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_KILLED, 6, NULL), 0);
	load_header(f, &now);
	assert_int_equal(now.ending, THRUM__ENDED_KILLED);
	assert_int_equal(now.ending_code, 6);
	assert_true(now.ended >= h->start.ticks);
	/* The first word counts. */
	uint64_t ended = now.ended;
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_EXITED, 0, NULL), 0);
	load_header(f, &now);
	assert_int_equal(now.ending, THRUM__ENDED_KILLED);
	assert_int_equal(now.ended, ended);
}

static void notes_the_status_of_an_exit(void **state)
{
	struct fixture *f = *state;
	struct thrum__header *h = f->recording.header, now;
	h->ended = h->start.ticks + 7;
	h->ending = THRUM__ENDED_EXITED;
	h->ending_code = -1;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_EXITED, 5, NULL), 0);
	load_header(f, &now);
	assert_int_equal(now.ending_code, 5);
	assert_int_equal(now.ended, h->ended);
	/* The program's later fate is no matter of a recording that it stopped. */
	h->ending = THRUM__ENDED_STOPPED;
	assert_true(recording_save(&f->recording, f->file));
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_KILLED, 9, NULL), 0);
	load_header(f, &now);
	assert_int_equal(now.ending, THRUM__ENDED_STOPPED);
	assert_int_equal(now.ending_code, -1);
}

static void notes_no_end_of_the_living(void **state)
{
	struct fixture *f = *state;
	set_process(f, (uint32_t)getpid(), thrum__port_process_start(0));
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_GONE, -1, NULL),
		-THRUM_E_ACCESS);
	assert_int_equal(thrum_trace_note_end(f->file, THRUM_ENDING_STOPPED, -1, NULL),
		-THRUM_E_ARGUMENT);
}

/* A process that lives has recorded until now; a copy keeps that. */
static void the_living_go_on_until_now(void **state)
{
	struct fixture *f = *state;
	struct thrum_trace *trace;
	f->recording.header->start.monotonic = thrum__port_monotonic() - 5000000000;
	set_process(f, (uint32_t)getpid(), thrum__port_process_start(0));
	assert_int_equal(thrum_trace_open(f->file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->ending, THRUM_ENDING_RUNNING);
	assert_true(thrum_trace_info(trace)->end > 4000000000);
	thrum_trace_close(trace);
	int to = open(f->copy, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(thrum_trace_snapshot(f->file, to, NULL, NULL), 0);
	close(to);
	assert_int_equal(thrum_trace_open(f->copy, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->ending, THRUM_ENDING_COPIED);
	assert_true(thrum_trace_info(trace)->end > 4000000000);
	thrum_trace_close(trace);
	/* If the process has ended, nobody knows when. */
	set_process(f, 0x7ffffff0, 1);
	assert_int_equal(thrum_trace_open(f->file, &trace, NULL), 0);
	assert_int_equal(thrum_trace_info(trace)->ending, THRUM_ENDING_GONE);
	assert_true(thrum_trace_info(trace)->end < 4000000000);
	thrum_trace_close(trace);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writes_to_a_new_file),
		TEST(goes_on_behind_what_is_there),
		TEST(writes_to_a_pipe),
		TEST(tells_what_went_wrong),
		TEST(cuts_a_stopped_recording),
		TEST(cuts_nothing_that_is_recorded_to),
		TEST(cuts_recordings_only),
		TEST(notes_the_end_of_a_process),
		TEST(notes_the_status_of_an_exit),
		TEST(notes_no_end_of_the_living),
		TEST(the_living_go_on_until_now),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
