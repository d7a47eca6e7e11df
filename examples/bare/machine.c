/* SPDX-License-Identifier: ISC */
#include "machine.h"

#define VECTOR 32

/* In boot.S: they save the registers and call the functions below. */
void interrupt_entry(void);
void fault_entry(void);
void machine_interrupt(void);
void machine_fault(const uint64_t *stack);

struct gate {
	uint16_t low, segment, type, middle;
	uint32_t high, reserved;
};

static struct gate gates[256];
static void (*on_interrupt)(void);

char *machine_put_number(char *end, uint64_t number)
{
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

void machine_print_number(uint64_t number)
{
	char digits[21] = "";

	machine_print(machine_put_number(digits + 20, number));
}

uint64_t machine_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

void machine_allow_interrupts(void)
{
	/* sti allows them only after the instruction behind it. */
	__asm__ volatile("sti; nop" : : : "memory");
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

void machine_interrupt(void)
{
	on_interrupt();
}

/* The processor has put the place of the fault on the stack; before that, for some faults, a number. */
void machine_fault(const uint64_t *stack)
{
	machine_print("the processor reports a fault at ");
	machine_print_number(stack[0]);
	machine_print(" or ");
	machine_print_number(stack[1]);
	machine_print("\n");
	machine_stop();
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

unsigned machine_start_interrupts(void (*handler)(void))
{
	struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) table = {sizeof gates - 1, (uintptr_t)gates};

	on_interrupt = handler;
	for (unsigned i = 0; i < 256; i++)
		set_gate(i, i == VECTOR ? interrupt_entry : fault_entry);
	__asm__ volatile("lidt %0" : : "m"(table));
	return VECTOR;
}
