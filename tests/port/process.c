/* SPDX-License-Identifier: ISC */
/* Questions about processes and threads: whether they live, and when they started. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"

static void this_process(void **state)
{
	char name[100];

	(void)state;
	assert_int_equal(thrum__port_pid(), getpid());
	assert_int_equal(thrum__port_tid(), getpid());
	assert_true(thrum__port_process_start(0) > 0);
	assert_int_equal(thrum__port_process_start((uint32_t)getpid()),
		thrum__port_process_start(0));
	thrum__port_program(name, sizeof name);
	assert_string_equal(name, program_invocation_short_name);
	thrum__port_program(name, 4);
	assert_int_equal(strlen(name), 3);
	assert_memory_equal(name, program_invocation_short_name, 3);
}

/* A program's name may hold the characters that separate the fields of /proc/PID/stat. */
static void a_strange_name(void **state)
{
	char name[THRUM__PORT_NAME];
	uint64_t start = thrum__port_process_start(0);

	(void)state;
	prctl(PR_SET_NAME, ") R 1 (x) 7");
	assert_int_equal(thrum__port_process_start(0), start);
	thrum__port_thread_name(name);
	assert_string_equal(name, ") R 1 (x) 7");
	prctl(PR_SET_NAME, "exactly 15 char");
	thrum__port_thread_name(name);
	assert_string_equal(name, "exactly 15 char");
}

/* Servers write over their arguments. */
static void a_title(void **state)
{
	char before[100], name[THRUM__PORT_NAME], *arguments = program_invocation_name;
	size_t size = strlen(arguments) + 1;

	(void)state;
	thrum__port_program(before, sizeof before);
	char *kept = strdup(arguments);
	memset(arguments, ' ', size - 1);
	memcpy(arguments, "x: y", 4);
	thrum__port_thread_name(name);
	assert_string_equal(name, "x: y");
	thrum__port_program(name, sizeof name);
	assert_string_equal(name, before);
	memcpy(arguments, kept, size);
	free(kept);
}

static void a_process_that_is_no_more(void **state)
{
	(void)state;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(thrum__port_process_start((uint32_t)child), 0);
	assert_false(thrum__port_process_lives((uint32_t)child, 0));
	assert_false(thrum__port_process_lives((uint32_t)child, 1));
	assert_false(thrum__port_thread_lives((uint32_t)child, (uint32_t)child));
}

static void *tell(void *tid)
{
	*(uint32_t *)tid = thrum__port_tid();
	return NULL;
}

static void threads(void **state)
{
	uint32_t tid = 0;
	pthread_t thread;

	(void)state;
	assert_true(thrum__port_thread_lives(thrum__port_pid(), thrum__port_tid()));
	assert_int_equal(pthread_create(&thread, NULL, tell, &tid), 0);
	pthread_join(thread, NULL);
	assert_int_not_equal(tid, thrum__port_tid());
	/* The kernel may take a moment after the join. */
	while (thrum__port_thread_lives(thrum__port_pid(), tid))
		usleep(100);
}

/* The same process id may belong to another process by now. */
static void which_process_lives(void **state)
{
	uint32_t pid = thrum__port_pid();
	uint64_t start = thrum__port_process_start(0);

	(void)state;
	assert_true(thrum__port_process_lives(pid, start));
	assert_false(thrum__port_process_lives(pid, start + 1));
	assert_true(thrum__port_process_lives(pid, 0));
}

/* A thread that waits for a lock sleeps, so that a holder of a lower priority gets the processor. */
static void to_yield_is_to_sleep(void **state)
{
	struct rusage before, after;

	(void)state;
	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < 3; i++)
		thrum__port_yield();
	getrusage(RUSAGE_THREAD, &after);
	assert_true(after.ru_nvcsw - before.ru_nvcsw >= 3);
}

/* Some filters kill the process for the question. */
static void a_filter_lets_nobody_ask_for_errors(void **state)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_adjtimex, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_adjtime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	uint32_t most = 7, estimate = 8;
	int status;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(77);
		_exit(thrum__port_realtime_error(&most, &estimate) || most != 7 || estimate != 8);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: no filters of system calls here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void tells_the_error_that_the_kernel_states(void **state)
{
	struct timex before = {.modes = 0}, after = {.modes = 0};
	uint32_t most = 0, estimate = 0;
	bool is_known;

	(void)state;
	if (prctl(PR_GET_SECCOMP) != 0) {
		print_message("skipped: system calls are filtered here\n");
		skip();
	}
	adjtimex(&before);
	is_known = thrum__port_realtime_error(&most, &estimate);
	adjtimex(&after);
	if (!((before.status ^ after.status) & STA_UNSYNC))
		assert_int_equal(is_known, !(after.status & STA_UNSYNC));
	if (!is_known)
		return;
	assert_int_equal(estimate, after.esterror);
	assert_in_range(most, before.maxerror, after.maxerror + 1);
}

static void random_bytes(void **state)
{
	uint8_t a[16] = {0}, b[16] = {0}, zeros[16] = {0};

	(void)state;
	thrum__port_random(a, sizeof a);
	thrum__port_random(b, sizeof b);
	assert_memory_not_equal(a, b, sizeof a);
	assert_memory_not_equal(a, zeros, sizeof a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process),
		cmocka_unit_test(a_strange_name),
		cmocka_unit_test(a_title),
		cmocka_unit_test(a_process_that_is_no_more),
		cmocka_unit_test(threads),
		cmocka_unit_test(which_process_lives),
		cmocka_unit_test(to_yield_is_to_sleep),
		cmocka_unit_test(a_filter_lets_nobody_ask_for_errors),
		cmocka_unit_test(tells_the_error_that_the_kernel_states),
		cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
