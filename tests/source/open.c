/* SPDX-License-Identifier: ISC */
/* Opens files and pipes, follows a recording whose process lives or dies, and finds a process's
 * recording. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thrum/trace.h>
#include <cmocka.h>

#include "port/futex.h"
#include "port/port.h"
#include "recording.h"
#include "source/input.h"
#include "source/process.h"

struct fixture {
	char folder[64], file[96];
	struct recording recording;
	struct packet_writer writer;
};

static void add(struct fixture *f, uint64_t ticks, const char *text)
{
	struct thrum__record record = {.type = THRUM__R_LOG, .text = text};

	assert_true(packet_writer_add(&f->writer, &record, 1000000 + ticks));
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	strcpy(f->folder, "/tmp/thrum-open-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof f->file, "%s/recording.thrum", f->folder);
	recording_init(&f->recording, THRUM__SIZE_MIN);
	f->writer = packet_writer_begin(&f->recording, 0, 0, 0, 1000000);
	add(f, 0, "one");
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

static struct thrum_trace *open_trace(const char *file)
{
	struct thrum_error_info info = {0};
	struct thrum_trace *trace;

	if (thrum_trace_open(file, &trace, &info) != 0)
		fail_msg("%s: %s", file, info.message);
	return trace;
}

/* Reads on, and returns the events' texts, one after the other. */
static const char *texts(struct thrum_trace *trace)
{
	static char all[1000];
	const struct thrum_event *events;
	size_t count, at = 0;

	all[0] = '\0';
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count && at < sizeof all; i++)
			at += (size_t)snprintf(all + at, sizeof all - at, "%s;", events[i].text);
	return all;
}

static const char *state_of(const struct thrum_trace *trace)
{
	return thrum_trace_info(trace)->state;
}

/* ---- Files and pipes ----------------------------------------------------------------------- */

static void opens_files(void **state)
{
	struct fixture *f = *state;

	assert_true(recording_save(&f->recording, f->file));
	struct thrum_trace *trace = open_trace(f->file);

	assert_string_equal(texts(trace), "one;");
	assert_string_equal(thrum_trace_info(trace)->format, "thrum");
	assert_int_equal(thrum_trace_info(trace)->file_size, f->recording.header->size);
	thrum_trace_close(trace);
}

static void refuses(const char *file, int error)
{
	struct thrum_error_info info = {0};
	struct thrum_trace *trace = NULL;

	assert_int_equal(thrum_trace_open(file, &trace, &info), -error);
	assert_int_equal(info.code, -error);
	assert_true(info.message[0] != '\0');
	assert_null(trace);
}

static void refuses_what_is_no_file(void **state)
{
	struct fixture *f = *state;

	refuses(f->file, THRUM_E_NOT_FOUND);
	refuses(f->folder, THRUM_E_FORMAT);
	refuses("/dev/null", THRUM_E_FORMAT);
}

/* Runs `read` with standard input from a pipe into which a child writes the recording. */
static void reads_standard_input(void **state)
{
	struct fixture *f = *state;
	int ends[2], status, before = dup(STDIN_FILENO);

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		const uint8_t *p = f->recording.bytes, *end = p + f->recording.header->size;

		close(ends[0]);
		/* In pieces, so that no read gets it all. */
		for (ssize_t wrote = 1; wrote > 0 && p < end; p += wrote)
			wrote = write(ends[1], p, end - p < 1000 ? (size_t)(end - p) : 1000);
		_exit(p < end);
	}
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	struct thrum_trace *trace = open_trace("-");

	dup2(before, STDIN_FILENO);
	close(before);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_string_equal(texts(trace), "one;");
	thrum_trace_close(trace);
}

/* A file that becomes shorter while it is read is damaged, but reading doesn't crash. */
static void survives_truncation(void **state)
{
	struct fixture *f = *state;
	const struct thrum__header *h = f->recording.header;

	f->writer = packet_writer_begin(&f->recording, 1, 0, 1, 1000010);
	add(f, 10, "two");
	atomic_store(&f->recording.header->state, THRUM__RECORDING);
	assert_true(recording_save(&f->recording, f->file));
	struct thrum_trace *trace = open_trace(f->file);

	assert_int_equal(truncate(f->file, (off_t)(h->packet.offset + h->packet_size)), 0);
	assert_string_equal(texts(trace), "one;packet overwritten while reading;");
	assert_int_equal(truncate(f->file, 0), 0);
	assert_true(thrum_trace_refresh(trace, 1, NULL) < 0);
	thrum_trace_close(trace);
}

/* ---- Processes that record ------------------------------------------------------------------- */

/* Starts a child that has the file mapped, as recorders do, until its pipe is closed. */
static pid_t start_recorder(const char *file, int *until)
{
	int ready[2], stop[2];
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(stop), 0);
	pid_t child = fork();

	if (child == 0) {
		int fd = open(file, O_RDWR);
		struct thrum__header *h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);

		close(fd);
		close(stop[1]);
		if (h == MAP_FAILED)
			_exit(1);
		h->pid = thrum__port_pid();
		h->process_start = thrum__port_process_start(0);
		atomic_store(&h->state, THRUM__RECORDING);
		if (write(ready[1], "", 1) != 1 || read(stop[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(stop[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*until = stop[1];
	return child;
}

static void stop_recorder(pid_t child, int until)
{
	int status;

	close(until);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void notices_that_a_process_is_gone(void **state)
{
	struct fixture *f = *state;
	int until;

	assert_true(recording_save(&f->recording, f->file));
	pid_t child = start_recorder(f->file, &until);
	struct thrum_trace *trace = open_trace(f->file);

	assert_string_equal(state_of(trace), "recording");
	assert_string_equal(texts(trace), "one;");
	assert_int_equal(thrum_trace_refresh(trace, 1, NULL), 1);
	assert_string_equal(state_of(trace), "recording");
	assert_int_equal(kill(child, SIGKILL), 0);
	siginfo_t ended;

	/* A zombie doesn't run any more. */
	assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(thrum_trace_refresh(trace, 0, NULL), 1);
	assert_string_equal(state_of(trace), "killed");
	assert_string_equal(texts(trace), "");
	assert_int_equal(thrum_trace_refresh(trace, 60000, NULL), 0);
	thrum_trace_close(trace);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(until);
	trace = open_trace(f->file);
	assert_string_equal(state_of(trace), "killed");
	thrum_trace_close(trace);
}

static void tells_a_reused_pid(void **state)
{
	uint32_t self = thrum__port_pid();
	uint64_t start = thrum__port_process_start(0);

	(void)state;
	assert_true(thrum__source_process_lives(self, start));
	assert_true(thrum__source_process_lives(self, 0));
	assert_false(thrum__source_process_lives(self, start + 1));
	/* Beyond the largest pid. */
	assert_false(thrum__source_process_lives(0x7ffffffe, 0));
}

/* Waiting ends when a packet is finished: long before the time is over. */
static void is_woken_by_the_recorder(void **state)
{
	struct fixture *f = *state;
	int status;

	atomic_store(&f->recording.header->state, THRUM__RECORDING);
	f->recording.header->pid = thrum__port_pid();
	assert_true(recording_save(&f->recording, f->file));
	struct thrum_trace *trace = open_trace(f->file);
	int fd = open(f->file, O_RDWR);
	struct recording shared = {
		.bytes = mmap(NULL, THRUM__SIZE_MIN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)};

	close(fd);
	assert_true(shared.bytes != MAP_FAILED);
	shared.header = (void *)shared.bytes;
	assert_string_equal(texts(trace), "one;");
	pid_t child = fork();

	if (child == 0) {
		struct packet_writer writer;

		/* The recorder wakes readers only if one waits. */
		while (atomic_load(&shared.header->waiters) == 0)
			usleep(100);
		shared.tickets = 77;
		writer = packet_writer_begin(&shared, 1, 0, 1, 1000050);
		packet_writer_add(&writer,
			&(struct thrum__record){.type = THRUM__R_LOG, .text = "two"}, 1000050);
		atomic_fetch_add(&shared.header->progress, 1);
		thrum__port_wake(&shared.header->progress);
		_exit(0);
	}
	assert_int_equal(thrum_trace_refresh(trace, 60000, NULL), 1);
	assert_string_equal(texts(trace), "two;");
	assert_int_equal(atomic_load(&shared.header->waiters), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	munmap(shared.bytes, THRUM__SIZE_MIN);
	thrum_trace_close(trace);
}

/* ---- The file of a process ------------------------------------------------------------------- */

static void expect_recording(pid_t pid, int error, const char *file)
{
	struct thrum_error_info info = {0};
	char found[256] = "untouched";

	assert_int_equal(thrum_process_recording(pid, found, sizeof found, &info), -error);
	assert_string_equal(found, file);
	assert_int_equal(info.code, -error);
}

static void finds_the_recording_of_a_process(void **state)
{
	struct fixture *f = *state;
	int until;

	assert_true(recording_save(&f->recording, f->file));
	pid_t child = start_recorder(f->file, &until);

	expect_recording(child, 0, f->file);
	/* This process doesn't have it mapped. */
	expect_recording(getpid(), THRUM_E_NOT_RECORDING, "untouched");
	char small[8] = "small";

	assert_int_equal(thrum_process_recording(child, small, sizeof small, NULL), -THRUM_E_SIZE);
	assert_string_equal(small, "small");
	stop_recorder(child, until);
	expect_recording(child, THRUM_E_NOT_FOUND, "untouched");
}

static void finds_a_recording_with_a_newline_in_its_path(void **state)
{
	struct fixture *f = *state;
	char name[300];
	int until;

	snprintf(name, sizeof name, "%s\nand\nmore", f->file);
	assert_true(recording_save(&f->recording, name));
	pid_t child = start_recorder(name, &until);

	expect_recording(child, 0, name);
	stop_recorder(child, until);
	unlink(name);
}

static void says_that_a_recording_was_deleted(void **state)
{
	struct fixture *f = *state;
	char found[256];
	struct thrum_error_info info = {0};
	int until;

	assert_true(recording_save(&f->recording, f->file));
	pid_t child = start_recorder(f->file, &until);

	assert_int_equal(unlink(f->file), 0);
	int error = thrum_process_recording(child, found, sizeof found, &info);

	if (error == 0) { /* a privileged user can still open it */
		struct thrum_trace *trace = open_trace(found);

		assert_string_equal(texts(trace), "one;");
		thrum_trace_close(trace);
	} else {
		assert_int_equal(error, -THRUM_E_NOT_FOUND);
		assert_non_null(strstr(info.message, f->file));
	}
	stop_recorder(child, until);
}

/* A child has its parent's recording mapped, but that is not the child's recording. */
static void a_child_has_no_part_in_it(void **state)
{
	struct fixture *f = *state;

	f->recording.header->pid = thrum__port_pid();
	assert_true(recording_save(&f->recording, f->file));
	int fd = open(f->file, O_RDWR);
	void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	assert_true(mapped != MAP_FAILED);
	expect_recording(getpid(), 0, f->file);
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	expect_recording(child, THRUM_E_NOT_RECORDING, "untouched");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(mapped, 4096);
}

static void says_that_a_process_is_somebody_elses(void **state)
{
	int status;

	(void)state;
	if (getuid() != 0) {
		print_message("skipped: only root can become somebody else\n");
		skip();
	}
	pid_t child = fork();

	if (child == 0) {
		struct thrum_error_info info = {0};
		char found[256];

		if (setuid(65534) != 0)
			_exit(2);
		int error = thrum_process_recording(getppid(), found, sizeof found, &info);

		_exit(error != -THRUM_E_ACCESS || !strstr(info.message, "another user"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void names_hide_passwords(void **state)
{
	(void)state;
	assert_string_equal(thrum__source_name("a.thrum"), "a.thrum");
	assert_string_equal(thrum__source_name("/tmp/web@host.thrum"), "web@host.thrum");
	assert_string_equal(thrum__source_name("nats://host/web*"), "web*");
	assert_string_equal(thrum__source_name("nats://user:secret@host/web"), "web");
	assert_string_equal(thrum__source_name("nats://user:secret@host?last=1h"), "host?last=1h");
	assert_string_equal(thrum__source_name("tls://user:s@cret@host"), "host");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(opens_files),
		TEST(refuses_what_is_no_file),
		TEST(reads_standard_input),
		TEST(survives_truncation),
		TEST(notices_that_a_process_is_gone),
		TEST(tells_a_reused_pid),
		TEST(is_woken_by_the_recorder),
		TEST(finds_the_recording_of_a_process),
		TEST(finds_a_recording_with_a_newline_in_its_path),
		TEST(says_that_a_recording_was_deleted),
		TEST(a_child_has_no_part_in_it),
		TEST(says_that_a_process_is_somebody_elses),
		TEST(names_hide_passwords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
