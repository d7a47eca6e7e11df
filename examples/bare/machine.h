/* SPDX-License-Identifier: ISC */
/*
 * The machine under the examples: machine.c is the processor, pc.c a PC with a serial port and a
 * timer. ../xen-unikernel/xen.c stands in the place of pc.c for a guest of Xen.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

/* Prints on the console. */
void machine_print(const char *text);
void machine_print_number(uint64_t number);
/* Writes a number's digits before `end`. Returns the first of them. */
char *machine_put_number(char *end, uint64_t number);

/* Stops the machine for good. */
void machine_stop(void);

/* Starts the timer, which calls `tick` as an interrupt. */
void machine_start_timer(void (*tick)(void), unsigned ticks_a_second);
/* Sleeps until the next interrupt. Interrupts are off before and after. */
void machine_sleep(void);
void machine_allow_interrupts(void);
void machine_forbid_interrupts(void);

/* Returns the time stamp counter. */
uint64_t machine_cycles(void);

/* Calls `handler` at each interrupt. Returns the vector that interrupts must use. */
unsigned machine_start_interrupts(void (*handler)(void));

#endif
