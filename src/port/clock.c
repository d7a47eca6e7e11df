/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

#if defined(__x86_64__)
#include <cpuid.h>

bool thrum__port_tsc_is_trusted(void)
{
	unsigned a, b, c, d;
	char source[16] = "";

	/* The bit says that the counter is invariant: AMD64 Architecture Programmer's Manual 3,
	 * CPUID Fn8000_0007_EDX[8]; Intel SDM 2 says the same. */
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return false;
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, source, sizeof source - 1);

	close(fd);
	return n > 0 && strcmp(source, "tsc\n") == 0;
}

uint64_t thrum__port_tsc_frequency(void)
{
	return 0;
}
#elif defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)
/* One counter of the whole machine, with a fixed frequency: Arm ARM D12.1 (the system counter);
 * RISC-V Unprivileged ISA, Zicntr. */
bool thrum__port_tsc_is_trusted(void)
{
	return true;
}

uint64_t thrum__port_tsc_frequency(void)
{
	uint64_t frequency = 0;

#if defined(__aarch64__)
	__asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
#endif
	return frequency & UINT32_MAX;
}
#else
bool thrum__port_tsc_is_trusted(void)
{
	return false;
}

uint64_t thrum__port_tsc_frequency(void)
{
	return 0;
}
#endif

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t thrum__port_monotonic(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t thrum__port_realtime(void)
{
	return read_clock(CLOCK_REALTIME);
}

static bool has_filter(void)
{
	static const char wanted[] = "\nSeccomp:\t";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[2048];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, wanted);

	return !at || at[sizeof wanted - 1] != '0';
}

bool thrum__port_realtime_error(uint32_t *most, uint32_t *estimate)
{
	struct timex t = {.modes = 0};

	if (has_filter() || adjtimex(&t) < 0 || (t.status & STA_UNSYNC) || t.maxerror < 0 ||
		t.maxerror > INT32_MAX || t.esterror < 0 || t.esterror > INT32_MAX)
		return false;
	/* A clock that was set just now may have an error of 0. */
	*most = t.maxerror > 0 ? (uint32_t)t.maxerror : 1;
	*estimate = (uint32_t)t.esterror;
	return true;
}
