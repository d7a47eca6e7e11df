/* SPDX-License-Identifier: ISC */
/*
 * core/: the recorder for machines without an operating system. record/ and format/ are compiled a
 * second time for it, with -DTHRUM_CORE and the headers in libc/ instead of those of libc.
 *
 *   libc/      declares the functions of libc that the recorder calls
 *   memory.c   memory and strings          print.c    formatting
 *   port.c     port/port.h without a system, and thrum_core_start
 *
 * All of it becomes one object file, libthrum-core.a, that defines the public names and needs no
 * other. tests/core/symbols.sh holds that.
 */
#include "port/port.h"

#include <errno.h>
#include <string.h>
#include <thrum/core.h>

#include "port/cpu.h"
#include "port/futex.h"

int thrum__core_errno;

/* The caller's machine. It is set while nothing is recorded. */
static struct thrum_core machine;
static uint8_t *free_from, *free_to; /* the memory that is neither recording nor allocated */
static int64_t realtime_offset;      /* added to the monotonic clock */

/* ---- Processors ----------------------------------------------------------------------------- */

unsigned thrum__port_cpu(void)
{
	unsigned cpu = machine.cpu ? machine.cpu() : 0;

	return cpu < THRUM_CORE_CPUS ? cpu : THRUM_CORE_CPUS - 1;
}

uint32_t thrum__port_pid(void)
{
	return 0;
}

uint32_t thrum__port_tid(void)
{
	return thrum__port_cpu() + 1;
}

bool thrum__port_thread_lives(uint32_t pid, uint32_t tid)
{
	(void)pid;
	(void)tid;
	return true;
}

void thrum__port_thread_name(char name[THRUM__PORT_NAME])
{
	unsigned cpu = thrum__port_cpu();
	char *p = name + 4;

	memset(name, 0, THRUM__PORT_NAME);
	memcpy(name, "cpu ", 4);
	if (cpu >= 10)
		*p++ = (char)('0' + cpu / 10);
	*p = (char)('0' + cpu % 10);
}

uint64_t thrum__port_process_start(uint32_t pid)
{
	(void)pid;
	return 0;
}

bool thrum__port_process_lives(uint32_t pid, uint64_t start)
{
	(void)pid;
	(void)start;
	return true;
}

static void copy_name(char *to, size_t size, const char *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

void thrum__port_program(char *name, size_t size)
{
	copy_name(name, size, machine.program ? machine.program : "core");
}

void thrum__port_host(char *name, size_t size)
{
	copy_name(name, size, "");
}

uint64_t thrum__port_boot(void)
{
	return 0;
}

/* ---- Clocks --------------------------------------------------------------------------------- */

uint64_t thrum__port_tsc_frequency(void)
{
	return 0;
}

bool thrum__port_tsc_is_trusted(void)
{
	return !machine.clock.read;
}

uint64_t thrum__port_monotonic(void)
{
	const struct thrum_clock *clock = &machine.clock;
	uint64_t ticks = clock->read ? clock->read(clock->context) >> 4 : read_tsc() >> 5;
	uint64_t seconds = ticks / clock->frequency;

	return seconds * 1000000000 + ticks % clock->frequency * 1000000000 / clock->frequency;
}

uint64_t thrum__port_realtime(void)
{
	return thrum__port_monotonic() + (uint64_t)realtime_offset;
}

bool thrum__port_realtime_error(uint32_t *most, uint32_t *estimate)
{
	(void)most, (void)estimate;
	return false;
}

/* Good enough to tell the recordings of a machine apart. */
void thrum__port_random(void *to, size_t size)
{
	uint64_t seed = thrum__port_realtime() ^ read_tsc() << 20 ^ (uintptr_t)machine.memory;

	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = (uint8_t)((seed = seed * 6364136223846793005u +
							       1442695040888963407u) >>
			56);
}

/* ---- Memory --------------------------------------------------------------------------------- */

void *thrum__port_allocate(size_t size)
{
	uint8_t *from = free_from;

	size = (size + 63) / 64 * 64;
	if (size > (size_t)(free_to - free_from))
		return NULL;
	free_from += size;
	return memset(from, 0, size);
}

/* The counters' memory: they may be made before the recording. It is given out once. */
void *thrum__port_allocate_shared(size_t size)
{
	static uint8_t pages[THRUM__PORT_SHARED_PAGES * 4096] __attribute__((aligned(4096)));
	static bool is_taken;

	if (size > sizeof pages || __atomic_test_and_set(&is_taken, __ATOMIC_RELAXED))
		return NULL;
	return pages;
}

size_t thrum__port_page_size(void)
{
	return 4096;
}

int thrum__port_populate(void *from, size_t size)
{
	(void)from;
	(void)size;
	return 0;
}

void thrum__port_detach(void *from, size_t size)
{
	(void)from;
	(void)size;
}

void *thrum__port_alias(void *from, size_t size, void *to)
{
	(void)from;
	(void)size;
	(void)to;
	return NULL;
}

void thrum__port_unlock(void *from, size_t size)
{
	(void)from, (void)size;
}

void thrum__port_unmap(void *from, size_t size)
{
	(void)from;
	(void)size;
}

void thrum__port_wipe_on_fork(void *page, size_t size)
{
	(void)page;
	(void)size;
}

void thrum__port_yield(void)
{
}

void thrum__port_block_signals(struct thrum__port_signals *signals)
{
	(void)signals;
}

void thrum__port_restore_signals(const struct thrum__port_signals *signals)
{
	(void)signals;
}

void thrum__port_wake(_Atomic uint32_t *word)
{
	(void)word;
}

bool thrum__port_find_module(const void *address, struct thrum__port_module *module)
{
	(void)address;
	(void)module;
	return false;
}

/* An interrupt always returns. */
bool thrum__port_stack_is_left(uintptr_t frame, uintptr_t here)
{
	(void)frame;
	(void)here;
	return false;
}

/* ---- Files: there are none ------------------------------------------------------------------ */

int thrum__port_file_create(struct thrum__port_file *file, const char *path, uint64_t size,
	thrum__port_look *look)
{
	(void)file;
	(void)path;
	(void)size;
	(void)look;
	return -THRUM_E_ARGUMENT;
}

void *thrum__port_file_map(const struct thrum__port_file *file, uint64_t size)
{
	(void)file;
	(void)size;
	return NULL;
}

bool thrum__port_file_map_at(const struct thrum__port_file *file, uint64_t offset, void *to,
	size_t size)
{
	(void)file;
	(void)offset;
	(void)to;
	(void)size;
	return false;
}

int thrum__port_file_reserve(const struct thrum__port_file *file, uint64_t size)
{
	(void)file;
	(void)size;
	return -THRUM_E_ARGUMENT;
}

uint64_t thrum__port_witness_begin(const struct thrum__port_file *file, uint64_t offset)
{
	(void)file;
	(void)offset;
	return 0;
}

void thrum__port_witness_end(void)
{
}

int thrum__port_file_commit(struct thrum__port_file *file)
{
	(void)file;
	return -THRUM_E_ARGUMENT;
}

void thrum__port_file_abandon(struct thrum__port_file *file)
{
	(void)file;
}

/* ---- Start ---------------------------------------------------------------------------------- */

/* The recorder needs at most so many bytes of its own beside a recording in `size` bytes: about 270
 * for each of at most 2,048 packets, and 256 KiB for the definitions' hash table. */
static uint64_t private_size(uint64_t size)
{
	uint64_t part = size / 10 < 900 * 1024 ? size / 10 : 900 * 1024;

	/* Counters that others read need 36 KiB, and as much for each processor that has room. */
	if (size >= 512 * 1024)
		part += 96 * 1024;
	return (part + 4095) / 4096 * 4096;
}

int thrum_core_start(const struct thrum_core *core)
{
	if (!core->memory || (uintptr_t)core->memory % 4096 || !core->clock.frequency)
		return -THRUM_E_ARGUMENT;
	if (core->size < 320 * 1024)
		return -THRUM_E_SIZE;
	if (thrum_enabled())
		return 0;
	uint64_t size = (core->size - private_size(core->size)) / 4096 * 4096;
	struct thrum_config config = {.size = size,
		.full = core->full,
		.no_live_tasks = core->no_live_tasks,
		.memory = core->memory,
		.clock = core->clock.read ? &core->clock : NULL};

	machine = *core;
	realtime_offset = 0;
	if (core->realtime)
		realtime_offset = core->realtime - (int64_t)thrum__port_monotonic();
	free_from = (uint8_t *)core->memory + size;
	free_to = (uint8_t *)core->memory + core->size;
	return thrum_start(&config);
}

#if defined(__arm__)
/* The compiler's divisions call these when the divisor is 0, which never happens. libgcc's would raise
 * a signal. */
int __aeabi_idiv0(int);
long long __aeabi_ldiv0(long long);

int __aeabi_idiv0(int result)
{
	return result;
}

long long __aeabi_ldiv0(long long result)
{
	return result;
}
#endif
