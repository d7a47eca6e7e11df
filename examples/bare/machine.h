/* SPDX-License-Identifier: ISC */
/* The machine under the example: a PC with a serial port and a timer. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define TICKS_A_SECOND 1000

/* Prints on the serial port. */
void machine_print(const char *text);
void machine_print_number(uint64_t number);

/* Starts the timer, which calls `tick` as an interrupt TICKS_A_SECOND times a second. */
void machine_start_timer(void (*tick)(void));
/* Sleeps until the next interrupt. Interrupts are off before and after. */
void machine_sleep(void);
void machine_allow_interrupts(void);
void machine_forbid_interrupts(void);

/* Returns the time stamp counter. */
uint64_t machine_cycles(void);

#endif
