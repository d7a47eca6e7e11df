/* SPDX-License-Identifier: ISC */
/*
 * Programs can't read Xen's time. But Xen tells when it last gave a virtual processor a real one. So
 * this sleeps for a moment, which gives the processor away: it came back between the readings of
 * CLOCK_MONOTONIC before and after.
 */
#define _GNU_SOURCE
#include "port/xen.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "port/port.h"

/* Xen's public headers xen.h, vcpu.h and sys/privcmd.h have these. */
#define HYPERVISOR_VCPU_OP 24
#define VCPUOP_GET_RUNSTATE_INFO 4
struct runstate {
	int32_t state;
	uint64_t since; /* ns of Xen's time */
	uint64_t time[4];
};
struct hypercall {
	uint64_t number, arguments[5];
};
#define PRIVCMD_HYPERCALL _IOC(_IOC_NONE, 'P', 0, sizeof(struct hypercall))

#define TRIES 30
#define GOOD_ENOUGH 20000 /* ns */

/* Asks Xen since when this virtual processor runs. `state` doesn't leave memory. */
static int ask(int fd, uint64_t cpu, struct runstate *state)
{
	struct hypercall call = {HYPERVISOR_VCPU_OP,
		{VCPUOP_GET_RUNSTATE_INFO, cpu, (uintptr_t)state}};

	return ioctl(fd, PRIVCMD_HYPERCALL, &call) < 0 ? -errno : 0;
}

/* Narrows *times down. */
static int try_once(int fd, uint64_t cpu, struct runstate *state,
	struct thrum__port_xen_times *times)
{
	struct timespec moment = {.tv_nsec = 1};
	uint64_t from = thrum__port_monotonic(), to, error, since;
	int result = ask(fd, cpu, state);

	since = state->since;
	if (result == 0)
		nanosleep(&moment, NULL);
	if (result == 0)
		result = ask(fd, cpu, state);
	to = thrum__port_monotonic();
	error = (to - from) / 2 + 1;
	/* If others used the processor meanwhile, Xen didn't take it. */
	if (result == 0 && state->since > since && error < times->error)
		*times = (struct thrum__port_xen_times){from + error, state->since, error};
	return result;
}

static int read_times(int fd, struct thrum__port_xen_times *times)
{
	struct thrum__port_xen_times best = {.error = UINT64_MAX};
	struct runstate *state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	cpu_set_t before, only;
	int cpu = sched_getcpu(), error = 0;

	if (state == MAP_FAILED)
		return -errno;
	CPU_ZERO(&only);
	if (cpu >= 0)
		CPU_SET(cpu, &only);
	if (cpu < 0 || sched_getaffinity(0, sizeof before, &before) ||
		sched_setaffinity(0, sizeof only, &only))
		error = -errno;
	for (int i = 0; i < TRIES && error == 0 && best.error > GOOD_ENOUGH; i++)
		error = try_once(fd, (uint64_t)cpu, state, &best);
	if (cpu >= 0)
		sched_setaffinity(0, sizeof before, &before);
	munmap(state, sizeof *state);
	if (error == 0 && best.error == UINT64_MAX)
		error = -EAGAIN;
	if (error == 0)
		*times = best;
	return error;
}

int thrum__port_xen_times(struct thrum__port_xen_times *times)
{
	int fd = open("/dev/xen/privcmd", O_RDWR | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	error = read_times(fd, times);
	close(fd);
	return error;
}
