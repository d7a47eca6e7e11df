/* SPDX-License-Identifier: ISC */
/* The scheduler's events, as perf and babeltrace2 print them, become the records that they mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* These come before cmocka.h. */
#include <cmocka.h>

#include "helper.h"

/* One line of each tool. */
#define PERF(time, rest) "  100 [001] 5.00000" time ":  sched:sched_" rest "\n"
#define BLOCK(tid, time, rest) tid " [001] 5.00000" time ": block:block_rq_" rest " [a]\n"
#define IRQ(time, rest) "  100 [001] 5.00000" time ": irq:" rest "\n"
#define LTTNG(time, rest) "[5.00000" time "] alpha sched_" rest " }\n"
#define PERF_SWITCH(time, prev, state, next) \
	PERF(time, \
		"switch: prev_" prev " prev_prio=120 prev_state=" state " ==> next_" next \
		" next_prio=120")
#define LTTNG_SWITCH(time, prev_comm, prev, state, next_comm, next) \
	LTTNG(time, \
		"switch: { cpu_id = 1 }, { prev_comm = \"" prev_comm "\", prev_tid = " prev \
		", prev_prio = 20, prev_state = ( \"TASK_" state \
		"\" : container = 0 ), next_comm = \"" next_comm "\", next_tid = " next \
		", next_prio = 20")

/* Threads are tasks of a processor: one is preempted, one sleeps and is woken by the other. */
static const char events[] = "0 @0 create 1 thread\n"
			     "0 @0 label 1 \"CPU 1\n"
			     "0 @0 create 2 task\n"
			     "0 @0 label 2 \"web server 100\n"
			     "0 @0 create 3 task\n"
			     "0 @0 label 3 \"store 200\n"
			     "0 @0 switch 3\n"
			     "1000 @0 switch 2\n"
			     "2000 @0 ready 2 3\n"
			     "3000 @0 ready 2 2\n"
			     "3000 @0 switch 3\n"
			     "4000 @0 switch 1\n"
			     "4000 @0 suspend \"wait for work\n"
			     "5000 @0 resume \"wait for work\n"
			     "5000 @0 switch 2\n";

static void test_perf(void **state)
{
	(void)state;
	expect_lines(PERF_SWITCH("0000", "comm=web server prev_pid=100", "S",
			     "comm=store next_pid=200") PERF_SWITCH("1000",
			     "comm=store prev_pid=200", "D",
			     "comm=web server next_pid=100") PERF("2000",
			     "waking: comm=store pid=200 prio=120 target_cpu=001") PERF("2100",
			     "wakeup: comm=store pid=200 prio=120 target_cpu=001")
			     PERF_SWITCH("3000", "comm=web server prev_pid=100", "R+",
				     "comm=store next_pid=200") PERF_SWITCH("4000",
				     "comm=store prev_pid=200", "S", "comm=swapper/1 next_pid=0")
				     PERF_SWITCH("5000", "comm=swapper/1 prev_pid=0", "R",
					     "comm=web server next_pid=100"),
		events);
}

static void test_lttng(void **state)
{
	(void)state;
	expect_lines(LTTNG_SWITCH("0000", "web server", "100", "INTERRUPTIBLE", "store",
			     "200") LTTNG_SWITCH("1000", "store", "200", "INTERRUPTIBLE",
			     "web server", "100") LTTNG("2000",
			     "waking: { cpu_id = 1 }, { comm = \"store\", tid = 200, prio = 20")
			     LTTNG_SWITCH("3000", "web server", "100", "RUNNING", "store", "200")
				     LTTNG_SWITCH("4000", "store", "200", "INTERRUPTIBLE",
					     "swapper/1", "0") LTTNG_SWITCH("5000", "swapper/1",
					     "0", "RUNNING", "web server", "100"),
		events);
}

/* A thread makes another one, which executes a program and ends; its number is used again. */
static void test_lives(void **state)
{
	(void)state;
	expect_lines(PERF("0000", "process_fork: comm=sh pid=5 child_comm=sh child_pid=6")
			     PERF_SWITCH("1000", "comm=sh prev_pid=5", "S", "comm=ls next_pid=6")
				     PERF("2000", "process_exit: comm=ls pid=6 prio=120")
					     PERF_SWITCH("3000", "comm=ls prev_pid=6", "X",
						     "comm=new next_pid=6"),
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"CPU 1\n"
		"0 @0 create 2 task\n"
		"0 @0 label 2 \"sh 5\n"
		"0 @0 create 2 3 task\n"
		"0 @0 label 3 \"sh 6\n"
		"1000 @0 label 3 \"ls 6\n"
		"1000 @0 switch 3\n"
		"3000 @0 create 4 task\n"
		"3000 @0 label 4 \"new 6\n"
		"3000 @0 resolve 3 3\n"
		"3000 @0 switch 4\n");
}

/* A thread that makes another one keeps its name. LTTng also tells the numbers of their process. */
static void test_names_with_spaces(void **state)
{
	static const char lines[] = "0 @0 create 1 thread\n"
				    "0 @0 label 1 \"CPU 1\n"
				    "0 @0 create 2 task\n"
				    "0 @0 label 2 \"web server 5\n"
				    "0 @0 create 2 3 task\n"
				    "0 @0 label 3 \"web server 6\n";

	(void)state;
	expect_lines(
		PERF("0000",
			"process_fork: comm=web server pid=5 child_comm=web server child_pid=6"),
		lines);
	expect_lines(LTTNG("0000",
			     "process_fork: { cpu_id = 1 }, { parent_comm = \"web server\", "
			     "parent_tid = 5, parent_pid = 4, child_comm = \"web server\", "
			     "child_tid = 6, child_pid = 4"),
		lines);
}

/* Interrupts are spans. They, and not the thread below them, make others ready. */
static void test_interrupts(void **state)
{
	(void)state;
	expect_lines(PERF_SWITCH("0000", "comm=a prev_pid=5", "S", "comm=b next_pid=6")
			     IRQ("1000", "irq_handler_entry: irq=24 name=virtio") PERF("2000",
				     "waking: comm=a pid=5 prio=120 target_cpu=001")
				     IRQ("3000", "irq_handler_exit: irq=24 ret=handled") IRQ("4000",
					     "softirq_entry: vec=1 [action=TIMER]")
					     IRQ("5000", "softirq_exit: vec=1 [action=TIMER]"),
		"0 @0 create 1 thread\n"
		"0 @0 label 1 \"CPU 1\n"
		"0 @0 create 2 task\n"
		"0 @0 label 2 \"a 5\n"
		"0 @0 create 3 task\n"
		"0 @0 label 3 \"b 6\n"
		"0 @0 switch 3\n"
		"1000 @0 span-begin \"irq virtio\n"
		"2000 @0 switch 1\n"
		"2000 @0 ready 1 2\n"
		"2000 @0 switch 3\n"
		"3000 @0 span-end \"irq virtio\n"
		"4000 @0 span-begin \"softirq TIMER\n"
		"5000 @0 span-end \"softirq TIMER\n");
}

/* Those of the processor itself, and softirqs of which only the number is known. */
static void test_more_interrupts(void **state)
{
	static const char lines[] = "0 @0 create 1 thread\n"
				    "0 @0 label 1 \"CPU 1\n"
				    "0 @0 span-begin \"irq local_timer\n"
				    "1000 @0 span-end \"irq local_timer\n"
				    "2000 @0 span-begin \"softirq TIMER\n"
				    "3000 @0 span-end \"softirq TIMER\n"
				    "4000 @0 log 1 \"page fault\n";

	(void)state;
	expect_lines(
		"1 [001] 5.000000000: irq_vectors:local_timer_entry: vector=236\n"
		"1 [001] 5.000001000: irq_vectors:local_timer_exit: vector=236\n"
		"1 [001] 5.000002000: irq:softirq_entry: vec=1 [action=TIMER]\n"
		"1 [001] 5.000003000: irq:softirq_exit: vec=1 [action=TIMER]\n"
		"1 [001] 5.000004000: exceptions:page_fault_user: address=0x1 ip=0x2 error_code=0x6\n",
		lines);
	expect_lines("[5.000000000] alpha x86_irq_vectors_local_timer_entry: { cpu_id = 1 }, "
		     "{ vector = 236 }\n"
		     "[5.000001000] alpha x86_irq_vectors_local_timer_exit: { cpu_id = 1 }, "
		     "{ vector = 236 }\n"
		     "[5.000002000] alpha irq_softirq_entry: { cpu_id = 1 }, { vec = 1 }\n"
		     "[5.000003000] alpha irq_softirq_exit: { cpu_id = 1 }, { vec = 1 }\n"
		     "[5.000004000] alpha x86_exceptions_page_fault_user: { cpu_id = 1 }, "
		     "{ address = 0x1, ip = 0x2, error_code = 0x6 }\n",
		lines);
}

/* Requests are tasks of the thread that issued them. Those for which the device had no room are the same
 * when they are issued again, and an end without a beginning says nothing. */
static void test_block_devices(void **state)
{
	static const char lines[] = "0 @0 create 1 thread\n"
				    "0 @0 label 1 \"CPU 1\n"
				    "0 @0 create 3 task\n"
				    "0 @0 label 3 \"a 5\n"
				    "0 @0 switch 3\n"
				    "1000 @1 create 2 thread\n"
				    "1000 @1 label 2 \"8:16\n"
				    "1000 @1 create 2 4 handle\n"
				    "1000 @1 label 4 \"requests of 8:16\n"
				    "1000 @1 create 3 5 handle\n"
				    "1000 @1 label 5 \"8:16 write 4 KiB\n"
				    "1000 @1 switch 4\n"
				    "1500 @1 create 6 handle\n"
				    "1500 @1 label 6 \"8:16 flush\n"
				    "2000 @1 resolve 4 5\n"
				    "3000 @1 resolve 4 6\n"
				    "3000 @1 switch 2\n"
				    "3000 @1 suspend \"wait for work\n";

	static const char perf[] = PERF_SWITCH("0000", "comm=swapper/1 prev_pid=0", "R",
		"comm=a next_pid=5") BLOCK("5", "1000", "issue: 8,16 WS 4096 () 2048 + 8")
		BLOCK("5", "1050", "requeue: 8,16 WS () 2048 + 8")
			BLOCK("5", "1100", "issue: 8,16 WS 4096 () 2048 + 8")
				BLOCK("6", "1500", "issue: 8,16 FF 0 () 0 + 0") BLOCK("5", "2000",
					"complete: 8,16 WS () 2048 + 8") BLOCK("5", "3000",
					"complete: 8,16 FF () 18446744073709551615 + 0")
					BLOCK("5", "3100", "complete: 8,16 FF () 0 + 0");
	static const char lttng[] = LTTNG_SWITCH("0000", "swapper/1", "0", "RUNNING", "a",
		"5") "[5.000001000] alpha block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
		     "sector = 2048, bytes = 4096, tid = 5, rwbs = 33, comm = \"a\" }\n"
		     "[5.000001500] alpha block_rq_issue: { cpu_id = 1 }, { dev = 8388624, "
		     "sector = 0, bytes = 0, tid = 6, rwbs = 256, comm = \"k\" }\n"
		     "[5.000002000] alpha block_rq_complete: { cpu_id = 1 }, { dev = 8388624, "
		     "sector = 2048, error = 0, rwbs = 33 }\n"
		     "[5.000003000] alpha block_rq_complete: { cpu_id = 1 }, { dev = 8388624, "
		     "sector = 0, error = 0, rwbs = 256 }\n";

	(void)state;
	expect_lines(perf, lines);
	expect_lines(lttng, lines);
}

/* The kernel doesn't tell the end of all requests: at the latest it is before the next one of the sector. */
static void test_requests_end_before_others(void **state)
{
	static const char lines[] = "0 @0 create 2 thread\n"
				    "0 @0 label 2 \"8:16\n"
				    "0 @0 create 2 3 handle\n"
				    "0 @0 label 3 \"requests of 8:16\n"
				    "0 @0 create 4 handle\n"
				    "0 @0 label 4 \"8:16 write 4 KiB\n"
				    "0 @0 switch 3\n"
				    "1000 @0 create 5 handle\n"
				    "1000 @0 label 5 \"8:16 write 8 KiB\n"
				    "1000 @0 resolve 3 4\n"
				    "1000 @0 switch 2\n"
				    "1000 @0 suspend \"wait for work\n"
				    "1000 @0 resume \"wait for work\n"
				    "1000 @0 switch 3\n";

	(void)state;
	expect_lines(BLOCK("5", "1000", "issue: 8,16 W 4096 () 2048 + 8")
			     BLOCK("5", "2000", "issue: 8,16 W 8192 () 2048 + 16"),
		lines);
}

static void test_errors_tell_the_place(void **state)
{
	static const char text[] = PERF("0000", "waking: comm=a pid=5") "Dear diary,\n";
	struct thrum_error_info error = {0};
	struct thrum__import *import;

	(void)state;
	assert_int_equal(thrum__import_read(text, sizeof text - 1, &import, &error),
		-THRUM_E_DAMAGED);
	assert_int_equal(error.offset, strlen(text) - strlen("Dear diary,\n"));
	/* The last line may be cut. */
	assert_int_equal(thrum__import_read(text, sizeof text - 2, &import, &error), 0);
	assert_true(thrum__import_found(import).is_cut);
	thrum__import_destroy(import);
}

#define PROGRAM(time, pid, rest) \
	"[5.00000" time "] alpha " rest ": { cpu_id = 1 }, { vpid = 7, vtid = " pid \
	", procname = \"shop\" }, "

/* Events of a program are log lines of its threads, and its functions slices. */
static void test_programs(void **state)
{
	static const char text[] = PROGRAM("1000", "7",
		"shop:order") "{ item = 3, who = \"} \\\" {\" }\n" PROGRAM("2000", "8",
		"lttng_ust_cyg_profile:func_entry") "{ addr = 0x10, call_site = 0x2 }\n" PROGRAM("2500",
		"8", "shop:empty") "{ }\n" PROGRAM("2600", "8",
		"shop:cut") "{ text = \"no end\n" PROGRAM("3000", "8",
		"lttng_ust_cyg_profile:func_exit") "{ addr = 0x10, call_site = 0x2 }\n" PROGRAM("4000",
		"7", "lttng_ust_statedump:start") "{ }\n";
	char *lines = import_lines(text, sizeof text - 1);

	(void)state;
	assert_non_null(strstr(lines, "log 1 \"shop:order item = 3, who = \"} \\\" {\"\n"));
	assert_non_null(strstr(lines, "label 3 \"function 0x10\n"));
	assert_non_null(strstr(lines, "1500 @1 log 3 \"shop:empty \n"));
	assert_non_null(strstr(lines, "1600 @1 log 3 \"shop:cut text = \"no end\n"));
	assert_non_null(strstr(lines, "2000 @1 resolve 3 3\n"));
	assert_null(strstr(lines, "statedump"));
	assert_null(strstr(lines, "CPU"));
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf),
		cmocka_unit_test(test_lttng),
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_names_with_spaces),
		cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_more_interrupts),
		cmocka_unit_test(test_block_devices),
		cmocka_unit_test(test_requests_end_before_others),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_errors_tell_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
