/* SPDX-License-Identifier: ISC */
/*
 * A kernel that hangs. It has no system below it, records with libthrum-core.a, and is read from
 * outside:
 *
 *   qemu-system-x86_64 -kernel bare.elf -nodefaults -display none -serial stdio -m 32 \
 *           -monitor unix:monitor,server,nowait
 *   echo 'pmemsave 0 0x2000000 "memory.bin"' | nc -U monitor
 *   thrum why --memory memory.bin
 *
 * Two tasks read blocks from a disk, which tells by interrupt that commands are done. The driver has
 * a bug. The disk has one register for its news, and when two commands end between two interrupts,
 * the driver sees the later one only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum/core.h>

#include "machine.h"

#define READERS 2
#define TICKS_A_SECOND 1000
#define BLOCKS 40   /* that each reader wants */
#define FAR 30      /* this block and those behind it take longer */
#define STALLED 500 /* ticks without a block: something is wrong */

static uint8_t memory[512 * 1024] __attribute__((aligned(4096)));

/* One of the tasks that take turns: it reads block after block. */
struct reader {
	thrum_task task, request, command;
	unsigned blocks; /* that it has read */
	bool is_ready;
};

static struct reader readers[READERS];
static thrum_task interrupts; /* what the timer's interrupt does */
static volatile uint64_t ticks;
static uint64_t last_block; /* the tick of the last block that a reader got */

static struct thrum_counter *uptime;

/* ---- The disk ------------------------------------------------------------------------------- */

static struct {
	uint64_t due[READERS]; /* the tick at which a reader's command ends; 0: none */
	int done;              /* the register: the reader whose command ended; -1: none */
} disk = {.done = -1};

/* The readers' commands end at even and at odd ticks. So the bug stays hidden as long as no block
 * lies farther out. */
static void disk_read(unsigned reader, unsigned block)
{
	uint64_t due = ticks + 2;

	due += (due + reader) % 2;
	if (reader == 0 && block >= FAR)
		due++;
	disk.due[reader] = due;
}

/* Ends the commands that are due. */
static void disk_work(void)
{
	for (int i = 0; i < READERS; i++) {
		if (disk.due[i] && disk.due[i] <= ticks) {
			disk.due[i] = 0;
			disk.done = i;
		}
	}
}

/* The driver's part: a command is done, so its reader can go on. */
static void disk_interrupt(void)
{
	if (disk.done < 0)
		return;
	struct reader *reader = &readers[disk.done];

	disk.done = -1;
	thrum_task_resolve(reader->command);
	reader->is_ready = true;
	thrum_task_ready(reader->task);
}

/* ---- Interrupts ----------------------------------------------------------------------------- */

static void tick(void)
{
	thrum_task before;

	ticks++;
	if (!interrupts) /* nothing is recorded yet */
		return;
	before = thrum_task_enter(interrupts);
	thrum_counter_add(uptime, 1);
	disk_work();
	disk_interrupt();
	thrum_task_leave(before);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

/* Ends the read that is under way, if any, and begins the next one. */
static void reader_run(unsigned number)
{
	struct reader *reader = &readers[number];

	reader->is_ready = false;
	if (reader->request) {
		thrum_task_read(reader->task, reader->command);
		thrum_task_resolve(reader->request);
		reader->request = THRUM_TASK_NONE;
		reader->blocks++;
		last_block = ticks;
	}
	if (reader->blocks == BLOCKS)
		return;
	reader->request = thrum_task_createf(THRUM_KIND_REQUEST, "read block %u of reader %u",
		reader->blocks, number);
	thrum_task_should_resolve(reader->request);
	reader->command = thrum_task_createf(THRUM_KIND_PROMISE, "disk command for block %u",
		reader->blocks);
	thrum_task_wait(reader->request, reader->command);
	thrum_task_wait(reader->task, reader->command);
	disk_read(number, reader->blocks);
}

/* Runs the tasks in turn, and sleeps while none is ready. Returns when no block has come for a long
 * time. */
static void run(void)
{
	machine_forbid_interrupts();
	while (ticks - last_block < STALLED) {
		bool was_ready = false;

		for (unsigned i = 0; i < READERS; i++) {
			if (!readers[i].is_ready)
				continue;
			was_ready = true;
			THRUM_RUN (readers[i].task) {
				machine_allow_interrupts();
				reader_run(i);
				machine_forbid_interrupts();
			}
		}
		if (!was_ready) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			machine_sleep();
			thrum_resume();
		}
	}
}

/* ---- Start ---------------------------------------------------------------------------------- */

/* Returns the cycles a second, counted over 20 ticks. */
static uint64_t measure_cycles(void)
{
	uint64_t from, first = ticks + 1;

	while (ticks < first)
		machine_sleep();
	from = machine_cycles();
	while (ticks < first + 20)
		machine_sleep();
	return (machine_cycles() - from) * TICKS_A_SECOND / 20;
}

void kernel_main(void);

void kernel_main(void)
{
	machine_start_timer(tick, TICKS_A_SECOND);
	int error = thrum_core_start(&(struct thrum_core){.memory = memory,
		.size = sizeof memory,
		.clock = {.frequency = measure_cycles() / 16},
		.program = "bare"});

	if (error) {
		machine_print(thrum_error_message(error));
		return;
	}
	uptime = thrum_counter_create("uptime", THRUM_COUNTER_CUMULATIVE);
	interrupts = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_HANDLE, "timer interrupt");
	for (unsigned i = 0; i < READERS; i++) {
		readers[i].task = thrum_task_createf(THRUM_KIND_FIBER, "reader %u", i);
		readers[i].is_ready = true;
	}
	last_block = ticks;
	run();
	machine_print("bare: hangs after ");
	machine_print_number(readers[0].blocks + readers[1].blocks);
	machine_print(" blocks; the recording is at ");
	machine_print_number((uintptr_t)memory);
	machine_print("\n");
	for (;;)
		machine_sleep();
}
