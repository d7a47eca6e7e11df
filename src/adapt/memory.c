/* SPDX-License-Identifier: ISC */
/*
 * Programs that limit their memory. The recording's address space and pages are no part of what they need,
 * but the kernel counts them as theirs: so the recording gives back what it hasn't used, and isn't locked in
 * memory.
 */
#define _GNU_SOURCE
/* They would give functions that are defined here other names. */
#undef _FILE_OFFSET_BITS
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/base.h"
#include "adapt/base/process.h"

#define PART 16 /* of the address space */
#define LOCKED_MOST \
	(UINT64_C(64) << 20) /* the kernel finds pages for so much, and keeps none of them */

REAL(setrlimit)
REAL(setrlimit64)
REAL(prlimit)
REAL(prlimit64)
REAL(mlockall)

/* ---- Limits ------------------------------------------------------------------------------------- */

uint64_t thrum__adapt_size_within(uint64_t size)
{
	struct rlimit64 limit;
	uint64_t most = size;

	if (getrlimit64(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / PART < most)
		most = limit.rlim_cur / PART;
	if (getrlimit64(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most)
		most = limit.rlim_cur;
	return most;
}

/* The child of a vfork leaves its parent alone. */
static void before_limit(pid_t process, int resource, const struct rlimit64 *limit)
{
	int error = errno;

	if (limit && resource == RLIMIT_AS && limit->rlim_cur != RLIM64_INFINITY && !is_limited() &&
		own_pid() == thrum__adapt_known_pid() && (process == 0 || process == own_pid()) &&
		THRUM__ON(THRUM__BIT_STARTED))
		thrum__shrink(limit->rlim_cur / PART);
	errno = error;
}

static void before_short_limit(pid_t process, int resource, const struct rlimit *limit)
{
	struct rlimit64 wide = {RLIM64_INFINITY, RLIM64_INFINITY};

	if (limit && limit->rlim_cur != RLIM_INFINITY)
		wide.rlim_cur = limit->rlim_cur;
	before_limit(process, resource, &wide);
}

/* ThreadSanitizer calls it before the code that it compiles may run. */
#if !defined(__SANITIZE_THREAD__)
STAND_IN int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	before_short_limit(0, (int)resource, limit);
	return real_setrlimit(CALLER)(resource, limit);
}
#endif

STAND_IN int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	before_limit(0, (int)resource, limit);
	return real_setrlimit64(CALLER)(resource, limit);
}

STAND_IN int prlimit(pid_t process, __rlimit_resource_t resource, const struct rlimit *limit,
	struct rlimit *before)
{
	before_short_limit(process, (int)resource, limit);
	return real_prlimit(CALLER)(process, resource, limit, before);
}

STAND_IN int prlimit64(pid_t process, __rlimit_resource_t resource, const struct rlimit64 *limit,
	struct rlimit64 *before)
{
	before_limit(process, (int)resource, limit);
	return real_prlimit64(CALLER)(process, resource, limit, before);
}

/* ---- Pages locked in memory --------------------------------------------------------------------- */

struct mappings {
	const char *file; /* the recording; NULL: there is none */
	uintptr_t end;    /* of the last mapping of a library of the recorder's */
	uint64_t size;    /* of all others */
	bool locks;
	unsigned flags; /* of mlock2() */
};

static bool see_mapping(void *context, const char *line)
{
	struct mappings *all = context;
	char *end;
	uintptr_t from = strtoul(line, &end, 16), to = *end == '-' ? strtoul(end + 1, &end, 16) : 0;

	if (to <= from || strstr(line, "[vsyscall]") || (all->file && strstr(line, all->file)))
		return false;
	/* Their variables lie behind them, without a name. */
	if (strstr(line, "/libthrum") || from == all->end) {
		all->end = to;
		return false;
	}
	all->size += to - from;
	/* As mlockall(), this doesn't care for pages that can't be had. */
	if (all->locks)
		syscall(SYS_mlock2, from, to - from, all->flags);
	return false;
}

/* Locks all but what belongs to the recorder, if that alone is what exceeds the limit. Returns whether it
 * did. */
static bool lock_others(int flags, const void *caller)
{
	struct mappings all = {.file = thrum_file(),
		.flags = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0};
	struct rlimit64 limit;

	if (getrlimit64(RLIMIT_MEMLOCK, &limit) != 0)
		return false;
	thrum__adapt_each_line("/proc/self/maps", see_mapping, &all);
	if (all.size > limit.rlim_cur)
		return false;
	if (flags & MCL_FUTURE && real_mlockall(caller)(flags & ~MCL_CURRENT) != 0)
		return false;
	all.locks = true;
	thrum__adapt_each_line("/proc/self/maps", see_mapping, &all);
	return true;
}

/* A recording that began later would be locked from the beginning. */
STAND_IN int mlockall(int flags)
{
	int error = errno, result;

	if (is_limited())
		return real_mlockall(CALLER)(flags);
	if (flags & MCL_FUTURE)
		thrum__adapt_start();
	thrum__shrink(LOCKED_MOST);
	errno = error;
	result = real_mlockall(CALLER)(flags);
	if (result != 0)
		error = errno;
	if (result != 0 && error == ENOMEM && flags & MCL_CURRENT && lock_others(flags, CALLER))
		result = 0;
	thrum__shrink(LOCKED_MOST);
	errno = error;
	return result;
}
