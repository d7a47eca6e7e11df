/* SPDX-License-Identifier: ISC */
/* A PC's serial port and timer. */
#include "machine.h"

#define SERIAL 0x3f8
#define TIMER_HZ 1193182 /* of the 8254 */

static void (*on_tick)(void);

static void out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static uint8_t in(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

void machine_print(const char *text)
{
	for (; *text; text++) {
		while (!(in(SERIAL + 5) & 0x20))
			;
		out(SERIAL, (uint8_t)*text);
	}
}

void machine_stop(void)
{
	for (;;)
		__asm__ volatile("cli; hlt");
}

static void timer_interrupt(void)
{
	on_tick();
	out(0x20, 0x20);
}

void machine_start_timer(void (*tick)(void), unsigned ticks_a_second)
{
	uint8_t vector = (uint8_t)machine_start_interrupts(timer_interrupt);

	on_tick = tick;
	/* The interrupt controllers: vectors from this one on, and only the timer's. */
	const uint8_t master[] = {0x11, vector, 4, 1}, slave[] = {0x11, vector + 8, 2, 1};

	for (unsigned i = 0; i < 4; i++) {
		out(i ? 0x21 : 0x20, master[i]);
		out(i ? 0xa1 : 0xa0, slave[i]);
	}
	out(0x21, 0xfe);
	out(0xa1, 0xff);
	out(0x43, 0x34);
	out(0x40, TIMER_HZ / ticks_a_second & 255);
	out(0x40, (uint8_t)(TIMER_HZ / ticks_a_second >> 8));
}
