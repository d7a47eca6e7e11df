/* SPDX-License-Identifier: ISC */
/* port/futex over Linux's futex, not FUTEX_PRIVATE, so that it works between processes. */
#define _GNU_SOURCE
#include "port/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(_Atomic uint32_t) == 4, "a futex is a plain 32-bit word");

void thrum__port_wait(_Atomic uint32_t *word, uint32_t seen, int ms)
{
	struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

	if (ms > 0)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}

void thrum__port_wake(_Atomic uint32_t *word)
{
	int before = errno;

	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = before;
}
