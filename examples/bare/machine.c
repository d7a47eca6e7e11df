/* SPDX-License-Identifier: ISC */
#include "machine.h"

#define SERIAL 0x3f8
#define TIMER_VECTOR 32
#define TIMER_HZ 1193182 /* of the 8254 */

/* In boot.S: they save the registers and call the functions below. */
void timer_entry(void);
void fault_entry(void);
void machine_timer(void);
void machine_fault(void);

struct gate {
	uint16_t low, segment, type, middle;
	uint32_t high, reserved;
};

static struct gate gates[256];
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

void machine_print_number(uint64_t number)
{
	char digits[21] = "", *at = digits + 20;

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	machine_print(at);
}

uint64_t machine_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

void machine_allow_interrupts(void)
{
	__asm__ volatile("sti" : : : "memory");
}

void machine_forbid_interrupts(void)
{
	__asm__ volatile("cli" : : : "memory");
}

void machine_sleep(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

/* ---- Interrupts ----------------------------------------------------------------------------- */

void machine_timer(void)
{
	on_tick();
	out(0x20, 0x20);
}

void machine_fault(void)
{
	machine_print("bare: the processor reports a fault\n");
	for (;;)
		__asm__ volatile("cli; hlt");
}

static void set_gate(unsigned number, void (*handler)(void))
{
	uintptr_t address = (uintptr_t)handler;

	gates[number] = (struct gate){.low = (uint16_t)address,
		.segment = 8,
		.type = 0x8e00,
		.middle = (uint16_t)(address >> 16),
		.high = (uint32_t)(address >> 32)};
}

void machine_start_timer(void (*tick)(void))
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) table = {sizeof gates - 1, (uintptr_t)gates};

	on_tick = tick;
	for (unsigned i = 0; i < 256; i++)
		set_gate(i, i == TIMER_VECTOR ? timer_entry : fault_entry);
	__asm__ volatile("lidt %0" : : "m"(table));
	/* The interrupt controllers: vectors from 32 on, and only the timer's. */
	static const uint8_t master[] = {0x11, 32, 4, 1}, slave[] = {0x11, 40, 2, 1};

	for (unsigned i = 0; i < 4; i++) {
		out(i ? 0x21 : 0x20, master[i]);
		out(i ? 0xa1 : 0xa0, slave[i]);
	}
	out(0x21, 0xfe);
	out(0xa1, 0xff);
	out(0x43, 0x34);
	out(0x40, TIMER_HZ / TICKS_A_SECOND & 255);
	out(0x40, TIMER_HZ / TICKS_A_SECOND >> 8);
}
