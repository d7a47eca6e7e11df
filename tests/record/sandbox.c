/* SPDX-License-Identifier: ISC */
/* A program that enters a sandbox after the start: a filter of system calls without madvise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/format.h"
#include "port/port.h"
#include "record_helper.h"

#define SIZE (1 << 20)
#define LINES 40000
#define NO_FILTER 3 /* exit status */

/* From now on madvise has this result, an action of seccomp. */
static void forbid_madvise(uint32_t action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(NO_FILTER);
}

/* Records in a child that enters the sandbox before the start or after it. Returns its result. */
static int record_in_sandbox(const char *file, uint32_t action, bool is_early, bool reserve)
{
	int child = fork_child();

	if (child)
		return child_result(child);
	if (is_early)
		forbid_madvise(action);
	if (thrum_start(&(struct thrum_config){.file = file, .size = SIZE, .reserve = reserve}))
		_exit(1);
	thrum_log("the first line");
	if (!is_early)
		forbid_madvise(action);
	for (int i = 1; i <= LINES; i++)
		thrum_logf("line %d", i);
	thrum_stop();
	_exit(0);
}

static void skip_without_filter(int result)
{
	if (SANITIZED || result == NO_FILTER) {
		print_message("skipped: no filter of system calls\n");
		skip();
	}
}

/* Whether a recording takes its pages one by one. */
static bool kernel_can_populate(void)
{
	return thrum__port_populate(thrum__port_allocate(4096), 4096) == 0;
}

/* The last lines are there, and so many packets that the ring is whole. */
static void check_whole(const char *file)
{
	struct events events = events_of_file(file);
	char text[20];

	snprintf(text, sizeof text, "line %d", LINES);
	assert_non_null(events_find_text(&events, THRUM_EVENT_LOG, text));
	assert_true(events_count(&events, THRUM_EVENT_LOG) > LINES / 2);
	assert_int_equal(events.info.lost_total, 0);
	events_free(&events);
}

static void a_reserved_recording_needs_no_call(void **state)
{
	const char *file = scratch("reserved");
	int result = record_in_sandbox(file, SECCOMP_RET_KILL_PROCESS, false, true);

	(void)state;
	skip_without_filter(result);
	assert_int_equal(result, 0);
	check_whole(file);
}

static void a_sandbox_from_the_beginning(void **state)
{
	const char *file = scratch("early");
	int result = record_in_sandbox(file, SECCOMP_RET_ERRNO | EPERM, true, false);

	(void)state;
	skip_without_filter(result);
	assert_int_equal(result, 0);
	check_whole(file);
}

static void a_later_sandbox_is_a_loss_of_its_own(void **state)
{
	const char *file = scratch("later");
	int result = record_in_sandbox(file, SECCOMP_RET_ERRNO | EPERM, false, false);
	char text[20];

	(void)state;
	skip_without_filter(result);
	assert_int_equal(result, 0);
	if (!kernel_can_populate()) {
		print_message("skipped: before Linux 5.14 all is reserved at the start\n");
		skip();
	}
	struct events events = events_of_file(file);

	snprintf(text, sizeof text, "line %d", LINES);
	assert_non_null(events_find_text(&events, THRUM_EVENT_LOG, text));
	assert_true(events.info.lost[THRUM__LOST_FORBIDDEN] > 0);
	assert_int_equal(events.info.lost[THRUM__LOST_NO_SPACE], 0);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reserved_recording_needs_no_call),
		cmocka_unit_test(a_sandbox_from_the_beginning),
		cmocka_unit_test(a_later_sandbox_is_a_loss_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
