/* SPDX-License-Identifier: ISC */
/* Processes and signals. */
#include "uv_helper.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct thrum_process *spawn(struct world *world, const char *script)
{
	char text[64];
	char *arguments[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
	uv_process_options_t options = {.file = "/bin/sh", .args = arguments};
	struct thrum_process *process = NULL;

	snprintf(text, sizeof(text), "%s", script);
	assert_int_equal(thrum_process_spawn(world->loop, &options, &process), 0);
	assert_true(thrum_process_pid(process) > 0);
	return process;
}

static struct thrum_exit exit_of(struct thrum_promise *wait)
{
	struct thrum_exit *end;
	struct thrum_exit copy;

	assert_int_equal(settle(thrum_promise_ref(wait)), 0);
	end = thrum_promise_value(wait);
	assert_non_null(end);
	copy = *end;
	thrum_promise_unref(wait);
	return copy;
}

static void test_exit(void **state)
{
	struct thrum_promise *wait[3];
	struct thrum_process *process;
	struct world world;
	struct thrum_exit end;

	world_init(&world);
	process = spawn(&world, "exit 7");
	for (int i = 0; i < 3; i++)
		wait[i] = thrum_process_wait(process);
	thrum_promise_cancel(wait[1]);
	assert_int_equal(code_of(wait[1]), THRUM_CANCELED);
	thrum_promise_unref(wait[1]);
	assert_int_equal(exit_of(wait[0]).status, 7);
	assert_int_equal(exit_of(wait[2]).status, 7);
	end = exit_of(thrum_process_wait(process));
	assert_int_equal(end.status, 7);
	assert_int_equal(end.signal, 0);
	assert_int_equal(thrum_process_kill(process, SIGTERM), -ESRCH);
	thrum_process_destroy(process);

	process = spawn(&world, "sleep 1000");
	wait[0] = thrum_process_wait(process);
	assert_int_equal(thrum_process_kill(process, SIGTERM), 0);
	end = exit_of(wait[0]);
	assert_int_equal(end.signal, SIGTERM);
	thrum_process_destroy(process);
	world_finish(&world);
}

static void test_refused(void **state)
{
	char *arguments[] = {(char[]){"none"}, NULL};
	uv_process_options_t options = {.file = scratch("none"), .args = arguments};
	struct thrum_process *process = NULL;
	struct world world;

	world_init(&world);
	assert_int_equal(thrum_process_spawn(world.loop, &options, &process), -ENOENT);
	assert_null(process);
	assert_int_equal(thrum_process_spawn(world.loop, NULL, &process), -EINVAL);
	assert_null(thrum_process_wait(NULL));
	world_finish(&world);
}

static void destroy_it(struct thrum_loop *loop, void *value, void *data)
{
	thrum_process_destroy(data);
}

/* Destroyed while the process runs, and by one of those who wait for it. */
static void test_destroy(void **state)
{
	struct thrum_promise *wait[2];
	struct thrum_process *process;
	struct world world;

	world_init(&world);
	process = spawn(&world, "exit 0");
	wait[0] = thrum_process_wait(process);
	thrum_process_destroy(process);
	assert_int_equal(code_of(wait[0]), THRUM_BROKEN);
	thrum_promise_unref(wait[0]);
	process = spawn(&world, "exit 0");
	thrum_promise_on_success(thrum_process_wait(process), destroy_it, process, NULL);
	wait[1] = thrum_process_wait(process);
	assert_int_equal(settle(wait[1]), THRUM_BROKEN);
	process = spawn(&world, "exit 0");
	wait[0] = thrum_process_wait(process);
	world_finish(&world);
}

static void test_signals(void **state)
{
	struct thrum_promise *wait[3];
	struct world world;

	world_init(&world);
	for (int i = 0; i < 3; i++)
		wait[i] = thrum_signal_wait(world.loop, SIGUSR1);
	thrum_promise_cancel(wait[1]);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(settle(thrum_promise_ref(wait[0])), 0);
	assert_int_equal(settle(thrum_promise_ref(wait[2])), 0);
	assert_int_equal(thrum_int(thrum_promise_value(wait[0])), SIGUSR1);
	assert_int_equal(code_of(wait[1]), THRUM_CANCELED);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(wait[i]);
	assert_int_equal(settle(thrum_signal_wait(world.loop, SIGKILL)), -EINVAL);
	assert_int_equal(settle(thrum_signal_wait(world.loop, 0)), -EINVAL);
	thrum_promise_unref(thrum_signal_wait(world.loop, SIGUSR2));
	world_finish(&world);
}

static void test_trace(void **state)
{
	const struct seen_task *process_task, *wait;
	struct thrum_process *process;
	struct thrum_promise *signal;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	process = spawn(&world, "exit 0");
	(void)exit_of(thrum_process_wait(process));
	thrum_process_destroy(process);
	signal = thrum_signal_wait(world.loop, SIGUSR1);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(settle(signal), 0);
	world_finish(&world);
	seen = seen_all();
	process_task = seen_task(&seen, THRUM_KIND_HANDLE, "process /bin/sh");
	wait = seen_task(&seen, THRUM_KIND_REQUEST, "process wait");
	assert_int_equal(process_task->end, THRUM_EVENT_RESOLVE);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, wait->id, process_task->id), 1);
	assert_int_equal(seen_task(&seen, THRUM_KIND_REQUEST, "signal USR1")->end,
		THRUM_EVENT_RESOLVE);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
