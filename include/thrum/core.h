/* SPDX-License-Identifier: ISC */
/*
 * thrum/core.h: record on a machine without an operating system: in a kernel, a unikernel, a boot
 * loader, firmware.
 *
 * libthrum-core.a holds the recorder for such machines, and calls nothing: it needs no other
 * library, no threads, no memory but that which the caller gives. The recording calls are those of
 * thrum.h. It records to memory, which somebody else reads: the host of a virtual machine, a
 * debugger, the next boot. `thrum snapshot --memory` finds the recording in a copy of a machine's
 * memory.
 *
 *   static uint8_t memory[1 << 20] __attribute__((aligned(4096)));
 *
 *   thrum_core_start(&(struct thrum_core){
 *           .memory = memory, .size = sizeof memory,
 *           .clock = {.frequency = cycles_per_second / 16},
 *           .program = "kernel"});
 *
 * Each processor has a lane. A handler that interrupts a call on its processor has one of its own,
 * and so has one that interrupts that; deeper nesting is counted as lost. The library has no vector
 * instructions and, on x86-64, no red zone.
 *
 * There is no thrum_snapshot. thrum_core_start takes the place of thrum_start.
 * thrum_log and thrum_task_createf format %s, %c, %d, %i, %u, %x, %p and %%, with width, precision
 * and the lengths of integers.
 */
#ifndef THRUM_CORE_H
#define THRUM_CORE_H

#include "thrum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most processors that may record. */
#define THRUM_CORE_CPUS 64

struct thrum_core {
	/* `size` bytes, aligned to 4096. The recorder owns them from now on: most are the recording,
	 * the rest is its own. At least 320 KiB; with less than 512 KiB there is no room for the values
	 * of counters, only for their changes. */
	void *memory;
	uint64_t size;
	/*
	 * As in struct thrum_config. Without `read` it is the processor's own counter, and `frequency`
	 * is in ticks a second: a sixteenth of the frequency of x86-64's time stamp counter, which
	 * must be invariant; or the frequency of aarch64's virtual counter, or of riscv64's time.
	 */
	struct thrum_clock clock;
	/* The time of day now, in ns from 1970; 0: unknown. */
	int64_t realtime;
	/*
	 * Returns the number of the processor that calls, below THRUM_CORE_CPUS. It is called at each
	 * event. A kernel that moves a thread to another processor in the middle of a recording call
	 * returns the number of the thread instead. NULL: there is one processor.
	 */
	unsigned (*cpu)(void);
	/* The name of the program. NULL: "core". */
	const char *program;
	/* As in struct thrum_config. */
	enum thrum_full full;
	bool no_live_tasks;
};

/*
 * Starts recording. If a recording runs already, changes nothing. Without `clock.read` it takes
 * 2 ms. Call it once the memory, and `cpu`, can be used; not from interrupt handlers.
 *
 * Returns 0 or, negated, THRUM_E_SIZE, _ARGUMENT or _MEMORY.
 */
THRUM__API int thrum_core_start(const struct thrum_core *);

#ifdef __cplusplus
}
#endif

#endif
