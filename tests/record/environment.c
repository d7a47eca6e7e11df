/* SPDX-License-Identifier: ISC */
/* The environment variables that configure a recording when the library is loaded. This program
 * starts itself, in the roles below. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"
#include "record_helper.h"

#define NOBODY 65534

/* ---- Roles --------------------------------------------------------------------------------- */

enum {
	OFF = 10,
	ON = 11,
	NOT_SETUID = 12
};

/* Logs a line. Returns ON if it is recorded. */
static int say(const char *line)
{
	thrum_log(line);
	return thrum_enabled() ? ON : OFF;
}

/* Logs a line, then becomes other programs that log others. */
static int say_twice(const char *line)
{
	bool is_first = strcmp(line, "and again") != 0;

	thrum_log(line);
	execl("/proc/self/exe", "again", is_first ? "say twice" : "say",
		is_first ? "and again" : "and at last", (char *)NULL);
	return 1;
}

static int say_setuid(const char *line)
{
	return getauxval(AT_SECURE) ? say(line) : NOT_SETUID;
}

/* Calls thrum_start(NULL). */
static int start_by_hand(const char *line)
{
	int error = thrum_start(NULL);

	thrum_log(line);
	return -error;
}

THRUM_CATEGORY(own, "own");
THRUM_TAG(step, &own, "step", 1);

/* Logs a line, and something of a category that is new. */
static int say_more(const char *line)
{
	thrum_log(line);
	thrum_tag(&step);
	return ON;
}

static int play(const char *role, const char *line)
{
	static const struct {
		const char *name;
		int (*play)(const char *line);
	} roles[] = {{"say", say}, {"say twice", say_twice}, {"say setuid", say_setuid},
		{"say more", say_more}, {"start", start_by_hand}};

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (strcmp(role, roles[i].name) == 0)
			return roles[i].play(line);
	return 1;
}

/* ---- Starting ourselves -------------------------------------------------------------------- */

/* NULL: not set. */
struct environment {
	const char *trace, *size, *full, *reserve, *enable;
};

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static int run(const char *program, const char *role, const char *line, struct environment e)
{
	pid_t child = fork_child();

	if (child == 0) {
		set("THRUM_TRACE", e.trace);
		set("THRUM_SIZE", e.size);
		set("THRUM_FULL", e.full);
		set("THRUM_RESERVE", e.reserve);
		set("THRUM_ENABLE", e.enable);
		/* A folder of our own. */
		set("XDG_RUNTIME_DIR", scratch("runtime"));
		execl(program, program, role, line, (char *)NULL);
		_exit(1);
	}
	return child_result(child);
}

static int run_self(const char *role, const char *line, struct environment e)
{
	return run("/proc/self/exe", role, line, e);
}

static struct events check_line(const char *file, const char *line)
{
	struct events events = events_of_file(file);

	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), 1);
	assert_string_equal(events_find(&events, THRUM_EVENT_LOG, 0)->text, line);
	assert_string_equal(events.info.state, "stopped");
	return events;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void others_are_off_too(void **state)
{
	static const char *const enable[] = {"none,log", "none,log,own"};
	const char *file = scratch("levels.thrum");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct environment e = {.trace = file, .enable = enable[i]};

		assert_int_equal(run_self("say more", "hello", e), ON);
		struct events events = check_line(file, "hello");

		assert_int_equal(events_count(&events, THRUM_EVENT_TAG), i);
		events_free(&events);
	}
}

static void a_file_is_named(void **state)
{
	const char *file = scratch("named.thrum");

	(void)state;
	assert_int_equal(run_self("say", "hello", (struct environment){.trace = file}), ON);
	struct events events = check_line(file, "hello");

	assert_int_equal(events.info.file_size, THRUM__SIZE_DEFAULT / 4096 * 4096);
	events_free(&events);
}

static void nothing_is_asked(void **state)
{
	(void)state;
	assert_int_equal(run_self("say", "", (struct environment){0}), OFF);
	assert_int_equal(run_self("say", "", (struct environment){.trace = ""}), OFF);
	assert_int_equal(run_self("say", "", (struct environment){.trace = "0"}), OFF);
	assert_int_equal(run_self("say", "", (struct environment){.size = "1M"}), OFF);
}

static void one_means_the_default_folder(void **state)
{
	(void)state;
	assert_int_equal(run_self("say", "x", (struct environment){.trace = "1"}), ON);
	assert_int_equal(access(scratch("runtime/thrum"), X_OK), 0);
}

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {{"256K", 256 << 10}, {"1M", 1 << 20}, {"2097152", 2 << 20}, {"", 16 << 20}};
	static const char *const bad[] = {"1", "12", "255K", "65G", "16MB", "M", "-1M", "1.5M",
		"99999999999999999999", "99999999999G", "1M ", "garbage"};
	const char *file = scratch("size.thrum");

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct environment e = {.trace = file, .size = good[i].text};

		assert_int_equal(run_self("say", "fits", e), ON);
		struct events events = check_line(file, "fits");

		assert_in_range(events.info.file_size, good[i].size / 10 * 9, good[i].size);
		events_free(&events);
		assert_int_equal(unlink(file), 0);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct environment e = {.trace = file, .size = bad[i]};

		assert_int_equal(run_self("say", "doesn't", e), OFF);
		assert_int_equal(access(file, F_OK), -1);
		int error = run_self("start", "doesn't", e);

		assert_true(error == THRUM_E_SIZE || error == THRUM_E_ARGUMENT);
	}
}

static void what_happens_when_it_is_full(void **state)
{
	const char *file = scratch("full.thrum");
	struct thrum__header header;

	(void)state;
	for (int discard = 0; discard < 2; discard++) {
		struct environment e = {.trace = file, .full = discard ? "discard" : "overwrite"};

		assert_int_equal(run_self("say", "x", e), ON);
		int fd = open(file, O_RDONLY);

		assert_int_equal(read(fd, &header, sizeof header), sizeof header);
		close(fd);
		assert_int_equal(header.full, discard ? THRUM_FULL_DISCARD : THRUM_FULL_OVERWRITE);
	}
	struct environment wrong = {.trace = file, .full = "explode"};

	assert_int_equal(run_self("say", "x", wrong), OFF);
	assert_int_equal(run_self("start", "x", wrong), THRUM_E_ARGUMENT);
}

/* All of the file is there from the beginning. (Old kernels do that always.) */
static void space_is_taken_at_the_start(void **state)
{
	const char *file = scratch("reserved.thrum");
	struct environment e = {.trace = file, .size = "4M", .reserve = "1"};
	struct stat st;

	(void)state;
	assert_int_equal(run_self("say", "x", e), ON);
	assert_int_equal(stat(file, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size);
}

/* The process that owns the recording goes on as another program. */
static void a_program_that_becomes_another(void **state)
{
	const char *file = scratch("exec.thrum");

	glob_t others;

	(void)state;
	assert_int_equal(run_self("say twice", "once", (struct environment){.trace = file}), ON);
	struct events events = events_of_file(file);

	/* It didn't end its first recording. */
	assert_non_null(events_find_text(&events, THRUM_EVENT_LOG, "once"));
	events_free(&events);
	assert_int_equal(glob(scratch("exec.thrum.*"), 0, NULL, &others), 0);
	assert_int_equal(others.gl_pathc, 2);
	events = events_of_file(others.gl_pathv[0]);
	assert_non_null(events_find_text(&events, THRUM_EVENT_LOG, "and again"));
	events_free(&events);
	events = check_line(others.gl_pathv[1], "and at last");
	events_free(&events);
	globfree(&others);
}

static void the_environment_comes_before_the_program(void **state)
{
	const char *file = scratch("before.thrum");

	(void)state;
	assert_int_equal(run_self("start", "here", (struct environment){.trace = file}), 0);
	struct events events = check_line(file, "here");

	events_free(&events);
}

/* ---- Set-uid ------------------------------------------------------------------------------- */

static void copy_self(const char *to)
{
	char buffer[65536];
	int from = open("/proc/self/exe", O_RDONLY), fd = open(to, O_WRONLY | O_CREAT, 0755);
	ssize_t n;

	assert_true(from >= 0 && fd >= 0);
	while ((n = read(from, buffer, sizeof buffer)) > 0)
		assert_int_equal(write(fd, buffer, (size_t)n), n);
	close(from);
	close(fd);
}

static int run_as_nobody(const char *program, const char *role, struct environment e)
{
	pid_t child = fork_child();

	if (child == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		_exit(run(program, role, "x", e));
	}
	return child_result(child);
}

static void a_setuid_program_ignores_it(void **state)
{
	const char *program = scratch("setuid"), *folder = scratch("anybody's");
	const char *file = scratch("anybody's/file");
	struct environment e = {.trace = file};

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can make a program that is root's\n");
		skip();
	}
	assert_int_equal(chmod(scratch(""), 0755), 0);
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	copy_self(program);
	/* Without the set-uid bit, the program records. */
	assert_int_equal(run_as_nobody(program, "say", e), ON);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(chmod(program, 04755), 0);
	int result = run_as_nobody(program, "say setuid", e);

	if (result == NOT_SETUID) {
		print_message("skipped: this file system ignores set-uid\n");
		skip();
	}
	assert_int_equal(result, OFF);
	assert_int_equal(access(file, F_OK), -1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_named),
		cmocka_unit_test(others_are_off_too),
		cmocka_unit_test(nothing_is_asked),
		cmocka_unit_test(one_means_the_default_folder),
		cmocka_unit_test(sizes),
		cmocka_unit_test(what_happens_when_it_is_full),
		cmocka_unit_test(space_is_taken_at_the_start),
		cmocka_unit_test(a_program_that_becomes_another),
		cmocka_unit_test(the_environment_comes_before_the_program),
		cmocka_unit_test(a_setuid_program_ignores_it),
	};

	if (argc == 3)
		return play(argv[1], argv[2]);
	mkdir(scratch("runtime"), 0700);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
