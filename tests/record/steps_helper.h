/* SPDX-License-Identifier: ISC */
/*
 * Signal handlers that record after every single instruction: with the trap flag, the processor
 * raises SIGTRAP after each. The handler's events hold the number of the trap, and events of the
 * calls that are stepped through hold the number of the call, so that each can be found.
 */
#ifndef STEPS_HELPER_H
#define STEPS_HELPER_H

#include "record_helper.h"

#if defined(__x86_64__) && !SANITIZED
#define CAN_STEP 1
/* Pushes below the red zone, which the compiler may use. */
#define SET_FLAGS(instruction) \
	__asm__ volatile("subq $128, %%rsp\n\tpushfq\n\t" instruction \
			 "\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" :: \
				 : "memory", "cc")
#define STEP_ON() SET_FLAGS("orq $0x100, (%%rsp)")
#define STEP_OFF() SET_FLAGS("andq $~0x100, (%%rsp)")
#else
#define CAN_STEP 0
#define STEP_ON() ((void)0)
#define STEP_OFF() ((void)0)
#endif

/* A call's number is added to this in its ids. */
#define MAIN_NUMBERED 700000000u

/* The calls that can be stepped through. */
enum step_kind {
	STEP_WAIT,
	STEP_READ,
	STEP_READ_OWN,
	STEP_RESOLVE,
	STEP_SWITCH,
	STEP_ENTER_READING,
	STEP_CREATE,
	STEP_CREATE_IN,
	STEP_CREATE_WAITING,
	STEP_LOG,
	STEP_COUNTER,
	STEP_TAG,
	STEP_LABEL,
	STEP_KINDS,
};

/* Returns false if no steps can be made here, after printing so. */
bool steps_init(void);

/* Returns the number of traps since steps_begin. */
uint32_t steps_traps(void);

/*
 * Starts a recording of this size. In the handler, one of `every` events is stepped through, unless
 * that would be deeper than `levels` handlers, or very many have been.
 */
void steps_begin(uint64_t size, uint32_t levels, uint32_t every);
/* Stops, and checks that each trap's event is there once, or counted as lost if `may_lose`, and
 * that none is damaged or goes back in time. */
struct events steps_end(bool may_lose);
/* Checks that the calls of this kind, from number 0, are there once and in order. */
void steps_check(const struct events *, enum step_kind kind, uint32_t calls);

/* Does all of the above for a number of calls of one kind. */
void step_through(uint64_t size, uint32_t levels, uint32_t every, enum step_kind kind,
	uint32_t calls);

/*
 * As many calls as one has instructions, with one event of a handler in each, after another one. (A
 * handler that records after all of them would drive each call to the slow path, if it wrote to the
 * lane that the call is about to write to.)
 */
void step_to_each(uint64_t size, enum step_kind kind);

#endif
