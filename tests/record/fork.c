/* SPDX-License-Identifier: ISC */
/* All ways to make a child process: the child doesn't record, may start a recording of its own, and
 * leaves its parent's alone. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbers_helper.h"

extern char **environ;

/* ---- Ways of making a child ---------------------------------------------------------------- */

static pid_t without_handlers(void)
{
	return _Fork();
}

static pid_t by_system_call(void)
{
#ifdef SYS_fork
	return (pid_t)syscall(SYS_fork);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static const struct {
	const char *name;
	pid_t (*make)(void);
	bool raw; /* unknown to the C library and to sanitizers */
} ways[] = {
	{"fork", fork, false},
	{"_Fork", without_handlers, true},
	{"the system call fork", by_system_call, true},
	{"the system call clone", by_clone, true},
};
#define WAYS (UNDER_TSAN ? 1 : sizeof ways / sizeof *ways)

/* ---- Work of children: each returns 0 or the number of the failed check -------------------- */

THRUM_TAG(mark, NULL, "in the child", 0);
static struct thrum_counter *counter;

static int is_off(void)
{
	/* A child that was made without the handlers of fork() notices at its first call. */
	thrum_log("child");
	if (thrum_enabled())
		return 10;
	for (uint32_t i = 1; i < 2000; i++) {
		numbers_record(7, i);
		thrum_log("child");
		thrum_tag(&mark);
		thrum_counter_add(counter, 1);
		thrum_task_switch(5);
		if (thrum_task_create(THRUM_KIND_TASK, "child") || thrum_task_current())
			return 11;
	}
	return 0;
}

/* Calls that write more than events must not reach the parent's recording either. */
static int touches_everything(void)
{
	int wrong = is_off();

	thrum_level("log", 2);
	if (!wrong && thrum_enabled())
		return 20;
	if (!wrong)
		wrong = is_off();
	if (!wrong && thrum_snapshot(scratch("child.thrum")) != -THRUM_E_NOT_RECORDING)
		wrong = 21;
	thrum_stop();
	return wrong;
}

static int records_itself(void)
{
	struct events events;
	const char *file = scratch("own.thrum");
	int wrong = is_off();

	if (wrong)
		return wrong;
	if (thrum_start(&(struct thrum_config){.file = file, .size = 1 << 20}))
		return 30;
	if (!thrum_enabled() || !thrum_file() || strcmp(thrum_file(), file) != 0)
		return 31;
	thrum_log("the child's own");
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "own");
	thrum_stop();
	if (!task || events_read(&events, NULL, 0, file))
		return 32;
	bool found = events_find_text(&events, THRUM_EVENT_LOG, "the child's own") &&
		events_find_text(&events, THRUM_EVENT_LABEL, "own") &&
		events.info.pid == getpid() && events_count(&events, THRUM_EVENT_WAIT) == 0;

	events_free(&events);
	return found ? 0 : 33;
}

/* ---- The parent ---------------------------------------------------------------------------- */

static uint32_t number;
static const char *file;

static void record_some(void)
{
	for (int i = 0; i < 500; i++)
		numbers_record(0, ++number);
}

static int start(void **state)
{
	(void)state;
	file = strdup(scratch("parent.thrum"));
	number = 0;
	return thrum_start(&(struct thrum_config){.file = file, .size = 4 << 20});
}

/* Checks that the parent's recording goes on and has only the parent's events. */
static void check_recording(const char *way, const char *expected_state)
{
	struct thrum_trace *trace;
	struct numbers *numbers = numbers_create();

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(numbers_read(numbers, trace), 0);
	if (numbers_complaint(numbers) || numbers_last(numbers, 0) != number ||
		numbers_missing(numbers) || numbers_last(numbers, 7))
		fail_msg("%s: %s", way,
			numbers_complaint(numbers) ? numbers_complaint(numbers)
						   : "not the parent's events");
	assert_int_equal(thrum_trace_info(trace)->lost_total, 0);
	assert_string_equal(thrum_trace_info(trace)->state, expected_state);
	thrum_trace_close(trace);
	numbers_destroy(numbers);
}

static int stop(void **state)
{
	(void)state;
	thrum_stop();
	check_recording("at the end", "stopped");
	free((char *)(uintptr_t)file);
	return 0;
}

static int stop_quietly(void **state)
{
	(void)state;
	thrum_stop();
	free((char *)(uintptr_t)file);
	return 0;
}

static void check_children(int (*child)(void), void (*leave)(int))
{
	for (size_t i = 0; i < WAYS; i++) {
		record_some();
		pid_t pid = ways[i].make();

		if (pid == 0) {
			leave(child());
			_exit(99);
		}
		assert_int_not_equal(pid, -1);
		record_some();
		int wrong = child_result(pid);

		if (wrong)
			fail_msg("%s: %d", ways[i].name, wrong);
		record_some();
		check_recording(ways[i].name, "recording");
	}
}

static void a_child_is_off(void **state)
{
	(void)state;
	check_children(is_off, _exit);
}

static void a_child_touches_nothing(void **state)
{
	(void)state;
	check_children(touches_everything, _exit);
}

/* The child runs the handlers of exit(). */
static void a_child_exits(void **state)
{
	(void)state;
	check_children(is_off, exit);
}

static void a_child_may_record(void **state)
{
	(void)state;
	check_children(records_itself, _exit);
}

/* Records to a file of its own, and leaves without running any handlers. */
static int leaves(void)
{
	if (thrum_start(&(struct thrum_config){.file = scratch("left.thrum"), .size = 1 << 20}))
		return 40;
	thrum_log("the last");
	thrum__exits(7);
	_exit(0);
}

static void a_child_tells_how_it_exits(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		struct thrum_trace *trace;
		pid_t pid = ways[i].make();

		if (pid == 0)
			_exit(leaves());
		assert_int_equal(child_result(pid), 0);
		assert_int_equal(thrum_trace_open(scratch("left.thrum"), &trace, NULL), 0);
		assert_int_equal(thrum_trace_info(trace)->ending, THRUM_ENDING_EXITED);
		assert_int_equal(thrum_trace_info(trace)->ending_code, 7);
		thrum_trace_close(trace);
	}
	/* It says nothing of a recording that isn't there. */
	thrum_stop();
	thrum__exits(7);
}

static _Atomic bool enough;

static void *record_on(void *unused)
{
	while (!atomic_load(&enough))
		thrum_log("meanwhile");
	return unused;
}

static void a_child_of_many_threads(void **state)
{
	pthread_t threads[2];

	(void)state;
	atomic_store(&enough, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record_on, NULL), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(i % 2 ? records_itself() : is_off());
		assert_int_equal(child_result(pid), 0);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* The child shares the memory until it becomes another program; the parent waits until then. */
static pid_t vfork_and_leave(const char *program)
{
	pid_t pid = vfork();

	if (pid == 0) {
		if (program)
			execl(program, program, (char *)NULL);
		_exit(program ? 1 : 0);
	}
	return pid;
}

static void vfork_and_another_program(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		record_some();
		pid_t pid = vfork_and_leave(i % 2 ? "/bin/true" : NULL);

		record_some();
		assert_int_equal(child_result(pid), 0);
		check_recording("vfork", "recording");
	}
}

static void posix_spawn_goes_unnoticed(void **state)
{
	char *arguments[] = {(char *)(uintptr_t) "true", NULL};

	(void)state;
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		record_some();
		assert_int_equal(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ), 0);
		assert_int_equal(child_result(pid), 0);
		check_recording("posix_spawn", "recording");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_child_is_off, start, stop),
		cmocka_unit_test_setup_teardown(a_child_touches_nothing, start, stop),
		cmocka_unit_test_setup_teardown(a_child_exits, start, stop),
		cmocka_unit_test_setup_teardown(a_child_may_record, start, stop),
		cmocka_unit_test_setup_teardown(a_child_tells_how_it_exits, start, stop_quietly),
		cmocka_unit_test_setup_teardown(a_child_of_many_threads, start, stop_quietly),
		cmocka_unit_test_setup_teardown(vfork_and_another_program, start, stop),
		cmocka_unit_test_setup_teardown(posix_spawn_goes_unnoticed, start, stop),
	};

	scratch("");
	counter = thrum_counter_create("children", THRUM_COUNTER_GAUGE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
