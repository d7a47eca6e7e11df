/* SPDX-License-Identifier: ISC */
/*
 * Programs that limit their own system calls (seccomp). A filter may kill whoever makes a call that it
 * doesn't know, and the adapters make calls that the program itself never makes. So the recording ends
 * before such a filter, and from then on the adapters make no calls of their own. A filter that lets these
 * calls fail changes nothing, as all can cope with that, except for those that stand in for a call of the
 * program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/base.h"
#include "adapt/base/process.h"

REAL(prctl)

/* ---- The calls ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#elif defined(__i386__)
#define OWN_ARCH AUDIT_ARCH_I386
#elif defined(__arm__)
#define OWN_ARCH AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_ARCH AUDIT_ARCH_RISCV64
#endif

/* Those that the recorder and the adapters make on their own account. tests/check/own_calls.py tells if some
 * are missing. */
static const uint16_t own_calls[] = {
	SYS_brk,
	SYS_clock_gettime,
	SYS_close,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_faccessat,
	SYS_fallocate,
	SYS_fcntl,
	SYS_flock,
	SYS_fstat,
	SYS_ftruncate,
	SYS_futex,
	SYS_getdents64,
	SYS_geteuid,
	SYS_getitimer,
	SYS_getpeername,
	SYS_getpgid,
	SYS_getpid,
	SYS_getppid,
	SYS_getrandom,
	SYS_getsockname,
	SYS_getsockopt,
	SYS_gettid,
	SYS_ioctl,
	SYS_kill,
	SYS_madvise,
	SYS_mkdirat,
	SYS_mlock2,
	SYS_mprotect,
	SYS_mq_getsetattr,
	SYS_mremap,
	SYS_msgctl,
	SYS_munlock,
	SYS_munmap,
	SYS_openat,
	SYS_pidfd_getfd,
	SYS_pidfd_open,
	SYS_prctl,
	SYS_preadv2,
	SYS_prlimit64,
	SYS_process_vm_readv,
	SYS_pwrite64,
	SYS_pwritev2,
	SYS_read,
	SYS_readlinkat,
	SYS_recvfrom,
	SYS_renameat2,
	SYS_rt_sigaction,
	SYS_rt_sigpending,
	SYS_rt_sigprocmask,
	SYS_sched_getaffinity,
	SYS_semctl,
	SYS_sendto,
	SYS_sigaltstack,
	SYS_signalfd4,
	SYS_socket,
	SYS_statx,
	SYS_tgkill,
	SYS_timerfd_gettime,
	SYS_uname,
	SYS_unlinkat,
#ifdef SYS_clock_gettime64
	SYS_clock_gettime64,
#endif
#ifdef SYS_mmap2
	SYS_fcntl64,
	SYS_fstat64,
	SYS_fstatat64,
	SYS_mmap2,
#else
	SYS_mmap,
	SYS_newfstatat,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_access
	SYS_access,
	SYS_getpgrp,
	SYS_mkdir,
	SYS_readlink,
#endif
};
/* Those that the program itself may not make, and that stand in for its own. */
static const uint16_t other_calls[] = {
	SYS_clock_nanosleep,
	SYS_mq_timedreceive,
	SYS_mq_timedsend,
	SYS_nanosleep,
	SYS_ppoll,
	SYS_rt_sigtimedwait,
	SYS_waitid,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_semtimedop
	SYS_semtimedop,
#else
	SYS_semtimedop_time64,
#endif
};

/* ---- Filters ------------------------------------------------------------------------------------ */

/* The accumulator in front of each step, as far as it is known. Jumps lead forward only, so each step is
 * looked at once. */
static struct {
	uint32_t value;
	bool is_reached, is_known;
} states[BPF_MAXINSNS];
static struct sock_filter steps[BPF_MAXINSNS];

static void reach(uint32_t at, uint32_t count, uint32_t value, bool is_known)
{
	if (at >= count)
		return;
	states[at].is_known = states[at].is_reached
		? states[at].is_known && is_known && states[at].value == value
		: is_known;
	states[at].value = value;
	states[at].is_reached = true;
}

static bool load(const struct sock_filter *step, uint32_t number, uint32_t *value)
{
	bool is_absolute = BPF_MODE(step->code) == BPF_ABS;

	*value = number;
	if (is_absolute && step->k == offsetof(struct seccomp_data, nr))
		return true;
#ifdef OWN_ARCH
	*value = OWN_ARCH;
	return is_absolute && step->k == offsetof(struct seccomp_data, arch);
#else
	return false;
#endif
}

/* Returns whether the result is known. */
static bool calculate(const struct sock_filter *step, uint32_t *value)
{
	if (BPF_SRC(step->code) != BPF_K)
		return false;
	switch (BPF_OP(step->code)) {
	case BPF_AND: *value &= step->k; return true;
	case BPF_OR: *value |= step->k; return true;
	case BPF_ADD: *value += step->k; return true;
	case BPF_SUB: *value -= step->k; return true;
	case BPF_XOR: *value ^= step->k; return true;
	default: return false;
	}
}

static void jump(uint32_t at, uint32_t count)
{
	const struct sock_filter *step = &steps[at];
	uint32_t value = states[at].value;
	bool is_known = states[at].is_known, holds = false;
	bool is_decided = is_known && BPF_SRC(step->code) == BPF_K;

	if (BPF_OP(step->code) == BPF_JA) {
		if (step->k < count)
			reach(at + 1 + step->k, count, value, is_known);
		return;
	}
	switch (BPF_OP(step->code)) {
	case BPF_JEQ: holds = value == step->k; break;
	case BPF_JGT: holds = value > step->k; break;
	case BPF_JGE: holds = value >= step->k; break;
	case BPF_JSET: holds = (value & step->k) != 0; break;
	default: is_decided = false;
	}
	if (!is_decided || holds)
		reach(at + 1 + step->jt, count, value, is_known);
	if (!is_decided || !holds)
		reach(at + 1 + step->jf, count, value, is_known);
}

/* Whether it does harm that a call is answered so. */
static bool is_harmful(uint32_t action, bool stands_in)
{
	switch (action & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG: return false;
	case SECCOMP_RET_TRACE: /* fails without a tracer */
	case SECCOMP_RET_ERRNO: return stands_in;
	default: return true;
	}
}

/* Whether a filter may answer a call so, with whatever arguments. */
static bool harms(uint32_t count, uint32_t number, bool stands_in)
{
	memset(states, 0, count * sizeof *states);
	reach(0, count, 0, false);
	for (uint32_t at = 0; at < count; at++) {
		uint32_t value = states[at].value;
		bool is_known = states[at].is_known;

		if (!states[at].is_reached)
			continue;
		switch (BPF_CLASS(steps[at].code)) {
		case BPF_JMP: jump(at, count); continue;
		case BPF_RET:
			if (BPF_RVAL(steps[at].code) != BPF_K || is_harmful(steps[at].k, stands_in))
				return true;
			continue;
		case BPF_LD: is_known = load(&steps[at], number, &value); break;
		case BPF_ALU: is_known = is_known && calculate(&steps[at], &value); break;
		case BPF_MISC: is_known = is_known && BPF_MISCOP(steps[at].code) != BPF_TXA; break;
		}
		reach(at + 1, count, value, is_known);
	}
	return false;
}

static bool harms_any(uint32_t count)
{
	for (size_t i = 0; i < sizeof own_calls / sizeof *own_calls; i++)
		if (harms(count, own_calls[i], false))
			return true;
	for (size_t i = 0; i < sizeof other_calls / sizeof *other_calls; i++)
		if (harms(count, other_calls[i], true))
			return true;
	return false;
}

/* Whether a filter harms those who record. One that can't be read is refused by the kernel, too. */
static bool is_filter_harmful(uintptr_t address)
{
	static _Atomic bool is_busy;
	struct sock_fprog filter;
	pid_t self = (pid_t)syscall(SYS_getpid);
	bool result;

	if (!thrum__adapt_process_copy(self, address, &filter, sizeof filter) || filter.len == 0 ||
		filter.len > BPF_MAXINSNS)
		return false;
	/* Two threads at once are rare. */
	if (atomic_exchange(&is_busy, true))
		return true;
	result = thrum__adapt_process_copy(self, (uintptr_t)filter.filter, steps,
			 filter.len * sizeof *steps) &&
		harms_any(filter.len);
	atomic_store(&is_busy, false);
	return result;
}

static void limits(bool is_harmful)
{
	struct thrum__port_module program;
	int error = errno;

	/* Its path is read while that is allowed, and kept. */
	thrum__port_find_module((const void *)getauxval(AT_ENTRY), &program);
	if (is_harmful)
		thrum__adapt_limits();
	else
		thrum__adapt_forbids();
	errno = error;
}

void thrum__adapt_seccomp(unsigned long operation, const void *filter)
{
	if (atomic_load(&thrum__adapt_is_limited))
		return;
	if (operation == SECCOMP_SET_MODE_STRICT)
		limits(true);
	else if (operation == SECCOMP_SET_MODE_FILTER)
		limits(is_filter_harmful((uintptr_t)filter));
}

void thrum__adapt_prctl(unsigned long mode, const void *filter)
{
	if (mode == SECCOMP_MODE_STRICT)
		thrum__adapt_seccomp(SECCOMP_SET_MODE_STRICT, NULL);
	else if (mode == SECCOMP_MODE_FILTER)
		thrum__adapt_seccomp(SECCOMP_SET_MODE_FILTER, filter);
}

/* Its optional arguments are passed on as libc's function reads them. */
STAND_IN int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list rest;

	va_start(rest, option);
	a = va_arg(rest, unsigned long);
	b = va_arg(rest, unsigned long);
	c = va_arg(rest, unsigned long);
	d = va_arg(rest, unsigned long);
	va_end(rest);
	if (option == PR_SET_SECCOMP)
		thrum__adapt_prctl(a, (const void *)b);
	int result = real_prctl(CALLER)(option, a, b, c, d);

	if (option == PR_SET_NAME && result == 0 && is_on(ADAPTER_PTHREAD))
		thrum_lane_name((const char *)a);
	return result;
}
