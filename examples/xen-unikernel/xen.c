/* SPDX-License-Identifier: ISC */
/*
 * The machine that Xen gives to a PVH guest. It has a processor, memory, and hypercalls for all
 * else. The structures are those of Xen's public headers.
 */
#include "xen.h"

#include <stddef.h>
#include <xen/xen.h>

#include <xen/event_channel.h>
#include <xen/grant_table.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/params.h>
#include <xen/io/console.h>
#include <xen/memory.h>
#include <xen/sched.h>
#include <xen/vcpu.h>

#include "machine.h"

#define PAGE 4096
#define WORD_BITS 64
#define CHANNELS 64 /* the example needs few */
#define GRANTS (PAGE / sizeof(struct grant_entry_v1))

/* Xen puts its own pages in the place of these. */
static uint8_t hypercalls[PAGE] __attribute__((aligned(PAGE)));
static union {
	struct shared_info info;
	uint8_t page[PAGE];
} shared __attribute__((aligned(PAGE)));
static struct grant_entry_v1 grants[GRANTS] __attribute__((aligned(PAGE)));

static unsigned grants_used = GNTTAB_NR_RESERVED_ENTRIES;
static struct xencons_interface *console;
static unsigned console_channel;
static void (*handlers[CHANNELS])(void); /* by event channel */
static void (*on_tick)(void);
static uint64_t tick_ns;

/* ---- Hypercalls ----------------------------------------------------------------------------- */

/* Calls Xen with up to three arguments, by the piece of code that it has put into the page. */
static long call(unsigned number, uintptr_t a, uintptr_t b, uintptr_t c)
{
	long result;

	__asm__ volatile("call *%[code]"
			 : "=a"(result), "+D"(a), "+S"(b), "+d"(c)
			 : [code] "r"(hypercalls + (size_t)number * 32)
			 : "rcx", "r8", "r9", "r10", "r11", "memory");
	return result;
}

void machine_stop(void)
{
	struct sched_shutdown shutdown = {.reason = SHUTDOWN_crash};

	for (;;)
		call(__HYPERVISOR_sched_op, SCHEDOP_shutdown, (uintptr_t)&shutdown, 0);
}

static void must(long result, const char *name)
{
	if (result >= 0)
		return;
	if (console) {
		machine_print(name);
		machine_print(": Xen refuses\n");
	}
	machine_stop();
}

static void cpuid(uint32_t leaf, uint32_t *eax, uint32_t *ebx)
{
	uint32_t ecx = 0, edx;

	__asm__("cpuid" : "=a"(*eax), "=b"(*ebx), "+c"(ecx), "=d"(edx) : "a"(leaf));
}

/* Asks Xen to fill the page of hypercalls. */
static void start_hypercalls(void)
{
	uint32_t unused, name, register_number;

	cpuid(0x40000000, &unused, &name);
	while (name != 0x566e6558) /* "XenV", the first letters of XenVMMXenVMM */
		machine_sleep();
	cpuid(0x40000002, &unused, &register_number);
	__asm__ volatile("wrmsr"
			 :
			 : "c"(register_number), "a"((uint32_t)(uintptr_t)hypercalls), "d"(0)
			 : "memory");
}

uint64_t xen_parameter(uint32_t number)
{
	struct xen_hvm_param parameter = {.domid = DOMID_SELF, .index = number};

	must(call(__HYPERVISOR_hvm_op, HVMOP_get_param, (uintptr_t)&parameter, 0), "get_param");
	return parameter.value;
}

void xen_yield(void)
{
	call(__HYPERVISOR_sched_op, SCHEDOP_yield, 0, 0);
}

/* Puts one of Xen's pages at an address of ours. */
static void map(unsigned space, void *page)
{
	struct xen_add_to_physmap add = {.domid = DOMID_SELF,
		.space = space,
		.gpfn = (uintptr_t)page / PAGE};

	must(call(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, (uintptr_t)&add, 0),
		"add_to_physmap");
}

/* ---- The console ---------------------------------------------------------------------------- */

void machine_print(const char *text)
{
	for (; *text; text++) {
		uint32_t put = console->out_prod;

		/* xenconsoled takes what lies there. */
		while (put - __atomic_load_n(&console->out_cons, __ATOMIC_ACQUIRE) ==
			sizeof console->out) {
			xen_notify(console_channel);
			xen_yield();
		}
		console->out[MASK_XENCONS_IDX(put, console->out)] = *text;
		__atomic_store_n(&console->out_prod, put + 1, __ATOMIC_RELEASE);
	}
	xen_notify(console_channel);
}

/* ---- Event channels ------------------------------------------------------------------------- */

void xen_notify(unsigned channel)
{
	struct evtchn_send send = {.port = channel};

	call(__HYPERVISOR_event_channel_op, EVTCHNOP_send, (uintptr_t)&send, 0);
}

/* Xen has set a bit for each channel that has events, and one for each word of such bits. */
static void on_events(void)
{
	struct vcpu_info *cpu = &shared.info.vcpu_info[0];
	uint64_t words, channels;

	__atomic_store_n(&cpu->evtchn_upcall_pending, 0, __ATOMIC_SEQ_CST);
	words = __atomic_exchange_n(&cpu->evtchn_pending_sel, 0, __ATOMIC_SEQ_CST);
	for (; words; words &= words - 1) {
		unsigned word = (unsigned)__builtin_ctzll(words);

		channels = __atomic_exchange_n(&shared.info.evtchn_pending[word], 0,
			__ATOMIC_SEQ_CST);
		for (; channels; channels &= channels - 1) {
			unsigned channel = word * WORD_BITS + (unsigned)__builtin_ctzll(channels);

			if (channel < CHANNELS && handlers[channel])
				handlers[channel]();
		}
	}
}

static void handle(unsigned channel, void (*handler)(void))
{
	must(channel < CHANNELS ? 0 : -1, "event channels");
	handlers[channel] = handler;
}

static void start_events(void)
{
	uint64_t vector = machine_start_interrupts(on_events);
	struct xen_hvm_param parameter = {.domid = DOMID_SELF,
		.index = HVM_PARAM_CALLBACK_IRQ,
		.value = (uint64_t)HVM_PARAM_CALLBACK_TYPE_VECTOR << 56 | vector};

	must(call(__HYPERVISOR_hvm_op, HVMOP_set_param, (uintptr_t)&parameter, 0), "set_param");
}

unsigned xen_event_channel(void (*handler)(void))
{
	struct evtchn_bind_ipi bind = {.vcpu = 0};

	must(call(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_ipi, (uintptr_t)&bind, 0),
		"bind_ipi");
	handle(bind.port, handler);
	return bind.port;
}

/* ---- Time ----------------------------------------------------------------------------------- */

/* Xen notes the time now and then, and how fast the time stamp counter runs from there. It makes
 * the version odd meanwhile. */
uint64_t xen_time(void)
{
	const volatile struct vcpu_time_info *time = &shared.info.vcpu_info[0].time;
	uint32_t version;
	uint64_t ns, cycles;

	do {
		version = time->version;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		cycles = machine_cycles() - time->tsc_timestamp;
		cycles = time->tsc_shift < 0 ? cycles >> -time->tsc_shift
					     : cycles << time->tsc_shift;
		ns = time->system_time +
			(uint64_t)((unsigned __int128)cycles * time->tsc_to_system_mul >> 32);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (version % 2 || version != time->version);
	return ns;
}

int64_t xen_time_of_day(void)
{
	const volatile struct shared_info *info = &shared.info;
	uint32_t version;
	uint64_t seconds, ns;

	do {
		version = info->wc_version;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		seconds = (uint64_t)info->wc_sec_hi << 32 | info->wc_sec;
		ns = info->wc_nsec;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (version % 2 || version != info->wc_version);
	return (int64_t)(seconds * 1000000000 + ns + xen_time());
}

/* Xen's periodic timer stands still while the processor sleeps. */
static void set_timer(void)
{
	struct vcpu_set_singleshot_timer timer = {.timeout_abs_ns = xen_time() + tick_ns};

	must(call(__HYPERVISOR_vcpu_op, VCPUOP_set_singleshot_timer, 0, (uintptr_t)&timer),
		"set_singleshot_timer");
}

static void timer_interrupt(void)
{
	set_timer();
	on_tick();
}

void machine_start_timer(void (*tick)(void), unsigned ticks_a_second)
{
	struct evtchn_bind_virq bind = {.virq = VIRQ_TIMER};

	on_tick = tick;
	tick_ns = 1000000000 / ticks_a_second;
	must(call(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_virq, (uintptr_t)&bind, 0),
		"bind_virq");
	handle(bind.port, timer_interrupt);
	set_timer();
}

/* ---- Shared memory -------------------------------------------------------------------------- */

unsigned xen_share(const void *memory, unsigned pages)
{
	unsigned first = grants_used;

	if (pages > GRANTS - grants_used)
		return 0;
	for (unsigned i = 0; i < pages; i++) {
		struct grant_entry_v1 *grant = &grants[grants_used++];

		grant->domid = 0;
		grant->frame = (uint32_t)((uintptr_t)memory / PAGE) + i;
		/* The flags make the rest count. */
		__atomic_store_n(&grant->flags, GTF_permit_access | GTF_readonly, __ATOMIC_RELEASE);
	}
	return first;
}

/* ---- Start ---------------------------------------------------------------------------------- */

void xen_start(void)
{
	start_hypercalls();
	console_channel = (unsigned)xen_parameter(HVM_PARAM_CONSOLE_EVTCHN);
	/* All memory below 4 GiB lies at its own address. */
	console = (void *)(xen_parameter(HVM_PARAM_CONSOLE_PFN) * PAGE);
	map(XENMAPSPACE_shared_info, &shared);
	map(XENMAPSPACE_grant_table, grants);
	start_events();
}
