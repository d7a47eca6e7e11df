/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/port.h"

#define SIGNAL_FRAME 512     /* bytes: no system's frame of a signal handler is smaller */
#define STACK_SIZE (8 << 20) /* bytes: what lies farther apart is hardly on one stack */

unsigned thrum__port_idle_processors(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	long all = sysconf(_SC_NPROCESSORS_ONLN), busy;
	cpu_set_t set;

	if (!file)
		return 0;
	/* This thread is one of those that run. */
	if (fscanf(file, "%*s %*s %*s %ld/", &busy) != 1)
		busy = all;
	fclose(file);
	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < all)
		all = CPU_COUNT(&set);
	return all > busy ? (unsigned)(all - busy) : 0;
}

uint32_t thrum__port_pid(void)
{
	return (uint32_t)getpid();
}

uint32_t thrum__port_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

void thrum__port_yield(void)
{
	/* sched_yield() would let nobody of a lower priority run, such as the holder of a lock. This is
	 * the kernel's own struct timespec, which isn't the C library's on every system. */
	static const long moment[2] = {0, 100000};

	syscall(SYS_nanosleep, moment, NULL);
}

void thrum__port_block_signals(struct thrum__port_signals *signals)
{
	_Static_assert(sizeof(sigset_t) <= sizeof signals->before, "a mask fits");
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, (sigset_t *)(void *)signals->before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &signals->cancelling);
}

void thrum__port_restore_signals(const struct thrum__port_signals *signals)
{
	pthread_setcancelstate(signals->cancelling, NULL);
	pthread_sigmask(SIG_SETMASK, (const sigset_t *)(const void *)signals->before, NULL);
}

bool thrum__port_thread_lives(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

bool thrum__port_stack_is_left(uintptr_t frame, uintptr_t here)
{
	stack_t other;

	/* This is so in nearly all handlers. */
	if (frame - here - SIGNAL_FRAME < STACK_SIZE)
		return false;
	if (sigaltstack(NULL, &other))
		return false;
	bool is_there = !(other.ss_flags & SS_DISABLE) &&
		frame - (uintptr_t)other.ss_sp < other.ss_size;
	bool are_we = other.ss_flags & SS_ONSTACK;

	/* From a handler on a stack of its own, nothing is known of the other stack. */
	if (is_there != are_we)
		return is_there;
	return here + SIGNAL_FRAME - frame < STACK_SIZE;
}

static void copy_name(char *to, size_t size, const char *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

/* The program's arguments as the process began. Servers write what each of their processes is for over
 * them: its title. */
static struct {
	const char *arguments, *short_name;
	char program[64];
} at_start;

__attribute__((constructor)) static void keep_program(void)
{
	at_start.arguments = program_invocation_name;
	at_start.short_name = program_invocation_short_name;
	copy_name(at_start.program, sizeof at_start.program, at_start.short_name);
}

static bool has_title(void)
{
	return at_start.short_name &&
		strncmp(at_start.short_name, at_start.program, sizeof at_start.program - 1) != 0;
}

void thrum__port_program(char *name, size_t size)
{
	copy_name(name, size, has_title() ? at_start.program : program_invocation_short_name);
}

void thrum__port_thread_name(char name[THRUM__PORT_NAME])
{
	memset(name, 0, THRUM__PORT_NAME);
	/* Programs that hide their arguments leave none. */
	if (!has_title() || !*at_start.arguments || thrum__port_tid() != thrum__port_pid()) {
		prctl(PR_GET_NAME, name);
		return;
	}
	copy_name(name, THRUM__PORT_NAME, at_start.arguments);
	for (size_t i = strlen(name); i > 0 && name[i - 1] == ' '; i--)
		name[i - 1] = '\0';
}

uint64_t thrum__port_process_start(uint32_t pid)
{
	char file[48], text[1024];

	pid = pid ? pid : thrum__port_pid();
	/* The first thread began with the process. QEMU has a /proc/PID/stat of its own for each
	 * process that it runs, with another time. */
	snprintf(file, sizeof file, "/proc/%u/task/%u/stat", pid, pid);
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	/* Field 2 is the program's name in parentheses and may itself hold spaces and parentheses.
	 * Field 22 is the 20th after it. */
	const char *p = strrchr(text, ')');

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

void thrum__port_host(char *name, size_t size)
{
	char host[256] = "";

	gethostname(host, sizeof host - 1);
	copy_name(name, size, host);
}

uint64_t thrum__port_boot(void)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	uint64_t boot = 0;

	if (fd >= 0)
		close(fd);
	/* Hex digits with hyphens between them. Half of them suffice. */
	for (ssize_t i = 0, digits = 0; i < n && digits < 16; i++) {
		unsigned c = (unsigned char)text[i];
		unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' + 10;

		if (digit >= 16)
			continue;
		boot = boot << 4 | digit;
		digits++;
	}
	return boot;
}

bool thrum__port_process_lives(uint32_t pid, uint64_t start)
{
	uint64_t now = thrum__port_process_start(pid);

	if (now && start)
		return now == start;
	/* One of the two start times is unknown: the process is gone, or /proc is hidden. */
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

void thrum__port_random(void *to, size_t size)
{
	if (getrandom(to, size, GRND_NONBLOCK) != (ssize_t)size) {
		uint64_t seed = thrum__port_realtime() ^ (uint64_t)getpid() << 32;

		for (size_t i = 0; i < size; i++)
			((uint8_t *)to)[i] = (uint8_t)((seed = seed * 6364136223846793005u +
								       1442695040888963407u) >>
				56);
	}
}
